//! Named regions of the program in a trace (`rmarun --trace`), by [`region`]; inside, a rank's half of a trace.
//!
//! A rank publishes events, which the launcher writes to a file.
//! The events come from where calls and waits are counted (`statistics.rs`). One thread at a time publishes. Texts are
//! published once, before the first event that has their number.

use crate::call::Call;
use crate::error::Result;
use crate::mixer::Mixer;
use crate::prim::{Backoff, FailedWord, Waiter, Word32, event_time};
use crate::rank::Rank;
use crate::shm::{
    BiasedGuard, BiasedMutex, Placed, Segment, TraceBlock, TraceEvent, TracePlace, TraceRing,
    thread_id,
};
use crate::sync::MAX_RANKS;
use crate::sync::channel::MailWords;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, Weak};

thread_local! {
    /// The number of this thread in the log, from 1 on; zero before its first event.
    static THREAD: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread is in a call that has begun in the log.
    static IS_IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// The events of this process, for regions, which belong to no handle.
static LOG: OnceLock<Weak<EventLog>> = OnceLock::new();

/// A region of the program, until it is dropped: see [`region`].
///
/// ```
/// let solving = onesided::trace::region("solve");
/// // Calls, and what the program computes itself.
/// drop(solving);
/// ```
#[derive(Debug)]
#[must_use = "the region ends when it is dropped"]
pub struct TracedRegion {
    /// Whether its beginning is in the trace.
    has_begun: bool,
    /// The thread that has begun it ends it.
    _of_thread: PhantomData<*const ()>,
}

/// Begins a region of that name, which a trace shows as a slice of this thread with its calls inside, until the value is
/// dropped: regions of a thread end in the opposite order. Without a trace, and where it is switched off, nothing
/// happens. Local; does not block.
///
/// ```
/// fn solve() {
///     let _region = onesided::trace::region("solve");
/// }
/// # solve();
/// ```
pub fn region(name: &str) -> TracedRegion {
    let log = LOG.get().and_then(Weak::upgrade).filter(|log| log.is_on());
    let has_begun = log.is_some();
    log.into_iter().for_each(|log| log.begin_region(name));
    TracedRegion { has_begun, _of_thread: PhantomData }
}

impl Drop for TracedRegion {
    fn drop(&mut self) {
        let log = LOG.get().filter(|_| self.has_begun).and_then(Weak::upgrade);
        log.into_iter().for_each(|log| log.end_region());
    }
}

/// Bytes that a call moves at most which is published when it has ended: the counter of bytes in flight is late by no more
/// than its duration.
const MOST_IN_ONE: u64 = 1 << 20;

/// Bits for the number of a message's arrow among those of its rank. The highest bits of others have their kind.
const ARROW_BITS: u32 = 48;
const POST: u64 = 1;
const COMPLETE: u64 = 2;
const NOTIFICATION: u64 = 3;
/// Of a release, whose arrow has its mark in the lower bits.
const RELEASE: u64 = 3 << 60;
/// Where the time begins in the mark of a release; the rank is below.
const RANK_BITS: u32 = 12;
const _: () = assert!(MAX_RANKS <= 1 << RANK_BITS);

/// The arrow of the release with that mark. A later one may have the same, after three days.
fn arrow_of_release(mark: u64) -> u64 {
    RELEASE | (mark % (1 << 60))
}

/// The events of this process.
pub(crate) struct EventLog {
    ring: Placed<TraceRing>,
    /// Rung when as many blocks as one bell is for are full.
    launcher: Placed<MailWords>,
    writer: BiasedMutex<EventWriter>,
    /// How this process waits for the launcher: not counted, because each of these waits is in an event.
    backoff: Backoff,
    /// Never set: the launcher returns blocks also when the job has failed.
    deaf: FailedWord,
    rank: u32,
    /// 1 while the program has switched the log off.
    is_off: Word32,
}

/// The next place, and what has a number.
#[derive(Default)]
struct EventWriter {
    block: usize,
    place: usize,
    /// The state of the call that is open in that place; zero if none is.
    open: u32,
    threads: u32,
    /// How many arrows begin in this rank.
    arrows: u64,
    /// How often this rank has completed at each target, and has waited for each origin.
    completes: CompleteCounts,
    awaited: CompleteCounts,
    /// How many long messages this rank has sent to each rank, and has found from each: they are found in their order.
    long_sent: HashMap<u32, u64>,
    long_found: HashMap<u32, u64>,
    texts: HashMap<String, u32>,
    /// The name of each window, by its mark.
    windows: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
    /// The bytes of this rank's part of each window, by its mark.
    parts: HashMap<u64, u64, BuildHasherDefault<Mixer>>,
    /// The window of the latest call, and the number of its name.
    latest: (u64, u32),
}

/// What identifies the long message of that number from one rank to another.
fn long_message(numbers: &mut HashMap<u32, u64>, other: u32, from: u32, to: u32) -> u64 {
    let number = numbers.entry(other).or_default();
    *number += 1;
    let number = u64::from(*number as u32);
    1 << 61 | u64::from(from) << 44 | u64::from(to) << 32 | number
}

/// Numbers of completes, by the words of the target and the origin.
type CompleteCounts = HashMap<(u64, u32), u32, BuildHasherDefault<Mixer>>;

/// What identifies the next complete of an origin at the target with words at that offset: the same on both sides, which
/// count alike.
fn of_complete(counts: &mut CompleteCounts, words: u64, origin: u32) -> u64 {
    let number = counts.entry((words, origin)).or_default();
    *number = number.wrapping_add(1) % (1 << 20);
    arrow_at(COMPLETE, words, origin << 20 | *number)
}

/// What identifies the change with that number of words at that offset. A later change may have the same, in a segment of
/// more than 64 GiB also one of other words: an arrow is wrong then.
fn arrow_at(kind: u64, words: u64, number: u32) -> u64 {
    kind << 62 | (words / 64 % (1 << 30)) << 32 | u64::from(number)
}

impl EventLog {
    /// That of a rank, if its job is traced. `look` ends the process if the launcher is dead; `may_prefer`: a mutex may
    /// prefer this thread.
    pub(crate) fn join(
        segment: &Arc<Segment>,
        rank: u32,
        may_prefer: bool,
        look: impl Fn() + Send + Sync + 'static,
    ) -> Result<Option<Arc<EventLog>>> {
        let layout = segment.layout();
        let (Some(mail), Some(ring)) = (layout.trace_mail(), layout.trace_of(rank)) else {
            return Ok(None);
        };
        let log = Arc::new(EventLog {
            ring: segment.place(ring)?,
            launcher: segment.place(mail)?,
            writer: BiasedMutex::new(EventWriter::default(), may_prefer),
            // More ranks than cores: it yields for a moment, and sleeps.
            backoff: Backoff::new(2, 1).looking(look),
            deaf: FailedWord::default(),
            rank,
            is_off: Word32::default(),
        });
        // A process joins once.
        let _ = LOG.set(Arc::downgrade(&log));
        Ok(Some(log))
    }

    fn begin_region(&self, name: &str) {
        let mut writer = self.writer();
        let name = self.text(&mut writer, if name.is_empty() { "region" } else { name });
        self.publish(&mut writer, &TraceEvent::BeginRegion { time: event_time(), name });
    }

    fn end_region(&self) {
        self.publish(&mut self.writer(), &TraceEvent::EndRegion { time: event_time() });
    }

    /// This thread begins a call on the window with that mark (zero for none), of which `name` is the name.
    pub(crate) fn begin(
        &self,
        time: u64,
        (call, window): (Call, u64),
        operation: Option<(Rank, u64)>,
        name: impl FnOnce() -> String,
    ) {
        if self.is_off.load() != 0 {
            return;
        }
        IS_IN_CALL.set(true);
        self.writer.with(|writer| {
            let window = self.window(writer, window, name);
            let bytes = operation.map_or(0, |(_, bytes)| bytes);
            let operation = operation.map(|(target, bytes)| (Some(target.0), bytes));
            let begin = TraceEvent::Begin { time, call, window, operation };
            match TraceEvent::sends(call) || bytes > MOST_IN_ONE {
                true => self.publish(writer, &begin),
                false => self.open(writer, &begin),
            }
        });
    }

    /// Its call has ended.
    pub(crate) fn end(&self, time: u64) {
        if IS_IN_CALL.replace(false) {
            self.writer.with(|writer| self.close(writer, time));
        }
    }

    /// The call of this thread waits: its beginning is published at the latest now.
    pub(crate) fn waits(&self) {
        if IS_IN_CALL.get() {
            self.settle(&mut self.writer());
        }
    }

    /// This rank's part of the window with that mark has `by` bytes more than before.
    pub(crate) fn resized(&self, mark: u64, by: i64) {
        let mut writer = self.writer();
        let part = writer.parts.entry(mark).or_default();
        *part = part.saturating_add_signed(by);
        self.publish_memory(&mut writer);
    }

    /// The window with that mark is freed.
    pub(crate) fn freed(&self, mark: u64) {
        let mut writer = self.writer();
        if writer.parts.remove(&mark).is_some() {
            self.publish_memory(&mut writer);
        }
    }

    fn publish_memory(&self, writer: &mut EventWriter) {
        let bytes = writer.parts.values().sum();
        self.publish(writer, &TraceEvent::Memory { time: event_time(), bytes });
    }

    /// Calls that begin from now on are in the log, or are not.
    pub(crate) fn switch(&self, is_on: bool) {
        self.is_off.store((!is_on).into());
    }

    /// Whether calls that begin now are in the log.
    pub(crate) fn is_on(&self) -> bool {
        self.is_off.load() == 0
    }

    /// It has waited in that line of the program.
    pub(crate) fn waited(&self, (begun, ended): (u64, u64), line: &str) {
        if !IS_IN_CALL.get() {
            return;
        }
        let mut writer = self.writer();
        let line = self.text(&mut writer, line);
        self.publish(&mut writer, &TraceEvent::Wait { begun, ended, line });
    }

    /// The call of this thread sends a message: returns what identifies it in the job, zero if the call is not in the
    /// log.
    pub(crate) fn sent(&self) -> u64 {
        if !IS_IN_CALL.get() {
            return 0;
        }
        let mut writer = self.writer();
        writer.arrows += 1;
        let arrow = u64::from(self.rank + 1) << ARROW_BITS | writer.arrows;
        self.publish(&mut writer, &TraceEvent::Sent { arrow });
        arrow
    }

    /// This thread sends a long message to that rank; its call is shown with an arrow, or is not.
    pub(crate) fn long_sent(&self, to: u32, is_shown: bool) {
        let mut writer = self.writer();
        let arrow = long_message(&mut writer.long_sent, to, self.rank, to);
        if is_shown && IS_IN_CALL.get() {
            self.publish(&mut writer, &TraceEvent::Sent { arrow });
        }
    }

    /// Returns what identifies the long message that this rank has found next from that one.
    pub(crate) fn long_found(&self, from: u32) -> u64 {
        long_message(&mut self.writer().long_found, from, from, self.rank)
    }

    /// It has posted that number of times in the slot at that offset.
    pub(crate) fn posted(&self, slot: u64, number: u32) {
        self.sent_at(POST, slot, number);
    }

    /// It has seen that post.
    pub(crate) fn started(&self, slot: u64, number: u32) {
        self.received(arrow_at(POST, slot, number));
    }

    /// It has counted that notification in the counter at that offset.
    pub(crate) fn notified(&self, counter: u64, number: u32) {
        self.sent_at(NOTIFICATION, counter, number);
    }

    /// It has consumed that notification.
    pub(crate) fn consumed(&self, counter: u64, number: u32) {
        self.received(arrow_at(NOTIFICATION, counter, number));
    }

    /// This rank is about to release a lock: returns the mark to leave with it, if the call is in the log. Later marks
    /// are greater.
    pub(crate) fn released(&self) -> Option<u64> {
        IS_IN_CALL.get().then(|| {
            let mark = event_time() << RANK_BITS | u64::from(self.rank);
            self.publish(&mut self.writer(), &TraceEvent::Sent { arrow: arrow_of_release(mark) });
            mark
        })
    }

    /// The lock call that has begun then was granted after a wait, and finds that mark of a release: an older one was
    /// not what it waited for.
    pub(crate) fn granted(&self, mark: u64, begun: u64) {
        if mark >= begun << RANK_BITS {
            self.received(arrow_of_release(mark));
        }
    }

    fn sent_at(&self, kind: u64, words: u64, number: u32) {
        if IS_IN_CALL.get() {
            let arrow = arrow_at(kind, words, number);
            self.publish(&mut self.writer(), &TraceEvent::Sent { arrow });
        }
    }

    /// It completes, as that origin, at the target with words at that offset.
    pub(crate) fn completed(&self, words: u64, origin: u32) {
        let mut writer = self.writer();
        let arrow = of_complete(&mut writer.completes, words, origin);
        if IS_IN_CALL.get() {
            self.publish(&mut writer, &TraceEvent::Sent { arrow });
        }
    }

    /// It has waited for the complete of that origin, by the words of this rank at that offset.
    pub(crate) fn waited_for(&self, words: u64, origin: u32) {
        let mut writer = self.writer();
        let arrow = of_complete(&mut writer.awaited, words, origin);
        if IS_IN_CALL.get() {
            self.publish(&mut writer, &TraceEvent::Received { arrow });
        }
    }

    /// It has received that.
    pub(crate) fn received(&self, arrow: u64) {
        if IS_IN_CALL.get() {
            self.publish(&mut self.writer(), &TraceEvent::Received { arrow });
        }
    }

    fn writer(&self) -> BiasedGuard<'_, EventWriter> {
        self.writer.lock()
    }

    /// The number of a window's name.
    fn window(&self, writer: &mut EventWriter, mark: u64, name: impl FnOnce() -> String) -> u32 {
        if mark == 0 || mark == writer.latest.0 {
            return if mark == 0 { 0 } else { writer.latest.1 };
        }
        let known = writer.windows.get(&mark).copied();
        let text = known.unwrap_or_else(|| self.text(writer, &name()));
        writer.windows.insert(mark, text);
        writer.latest = (mark, text);
        text
    }

    /// The number of a text; zero for an empty one.
    fn text(&self, writer: &mut EventWriter, all: &str) -> u32 {
        if let Some(known) = writer.texts.get(all) {
            return *known;
        }
        if all.is_empty() {
            return 0;
        }
        let text = writer.texts.len() as u32 + 1;
        writer.texts.insert(all.to_owned(), text);
        // With the zero byte at the end.
        for at in (0..=all.len()).step_by(TraceEvent::TEXT_BYTES) {
            let mut bytes = [0; TraceEvent::TEXT_BYTES];
            let part = &all.as_bytes()[at..];
            let len = part.len().min(bytes.len());
            bytes[..len].copy_from_slice(&part[..len]);
            self.publish(writer, &TraceEvent::Text { text, bytes });
        }
        text
    }

    /// Publishes an event of this thread.
    fn publish(&self, writer: &mut EventWriter, event: &TraceEvent) {
        let thread = self.thread(writer);
        self.append(writer, thread, event);
    }

    /// A call of this thread begins, which usually ends before the next event: then one event has both.
    #[inline(always)]
    fn open(&self, writer: &mut EventWriter, begin: &TraceEvent) {
        let thread = self.thread(writer);
        let places = &self.ring.blocks[writer.block].places;
        let (here, behind) = (&places[writer.place], &places[writer.place + 1]);
        writer.open = here.open(behind, thread, begin);
        TracePlace::expect(places, writer.place);
    }

    /// The call of this thread has ended.
    #[inline(always)]
    fn close(&self, writer: &mut EventWriter, time: u64) {
        let here = &self.ring.blocks[writer.block].places[writer.place];
        let is_open = TracePlace::thread_of(writer.open) == THREAD.get();
        if is_open && here.close(writer.open, time) {
            writer.open = 0;
            self.advance(writer);
        } else {
            self.publish(writer, &TraceEvent::End { time });
        }
    }

    /// Publishes the beginning of the call that is open.
    #[inline(always)]
    fn settle(&self, writer: &mut EventWriter) {
        if writer.open != 0 {
            self.ring.blocks[writer.block].places[writer.place].settle(writer.open);
            writer.open = 0;
            self.advance(writer);
        }
    }

    /// The number of this thread, whose next event can be written now.
    #[inline(always)]
    fn thread(&self, writer: &mut EventWriter) -> u32 {
        self.settle(writer);
        if THREAD.get() == 0 {
            self.begin_thread(writer);
        }
        THREAD.get()
    }

    /// The first event of a thread is its number.
    #[cold]
    fn begin_thread(&self, writer: &mut EventWriter) {
        if writer.threads == 0 {
            self.ring.blocks[0].words.lend();
        }
        writer.threads += 1;
        THREAD.set(writer.threads);
        self.append(writer, writer.threads, &TraceEvent::Thread { id: thread_id() });
    }

    #[inline(always)]
    fn append(&self, writer: &mut EventWriter, thread: u32, event: &TraceEvent) {
        let places = &self.ring.blocks[writer.block].places;
        places[writer.place].publish(&places[writer.place + 1], thread, event);
        self.advance(writer);
    }

    #[inline(always)]
    fn advance(&self, writer: &mut EventWriter) {
        writer.place += 1;
        if writer.place == TraceBlock::PLACES - 1 {
            self.begin_next_block(writer);
        }
    }

    /// Blocks while the launcher reads the next block.
    #[cold]
    fn begin_next_block(&self, writer: &mut EventWriter) {
        let full = &self.ring.blocks[writer.block];
        let at = (writer.block + 1) % TraceRing::BLOCKS;
        let next = &self.ring.blocks[at];
        let returned = &self.ring.returned;
        loop {
            let seen = returned.look();
            if next.words.is_free() {
                break;
            }
            // No failure ends the wait.
            let _ = self.waiter().until(returned.bell(), |rung| rung != seen);
        }
        next.words.lend();
        next.places[0].state.clear();
        full.places[writer.place].state.publish(None, TracePlace::LINK, || ());
        if TraceRing::is_bell_due(at) {
            self.launcher.ring();
        }
        (writer.block, writer.place) = (at, 0);
    }

    fn waiter(&self) -> Waiter<'_> {
        let (failed, backoff) = (&self.deaf, &self.backoff);
        Waiter { rank: self.rank, failed, backoff, account: None, progress: None }
    }
}
