//! How often each rank of a job that `rmarun --stats` or `--report` has started makes which calls, what it moves to and
//! from each rank, and for how long it waits, and why; with `rmarun --trace`, when.
//!
//! In such a job every call takes its slow path, as in a checked one, so the fast paths know nothing of this. A call is
//! counted where its record in the rank's slot begins and ends (`context.rs`), a wait in the one loop that waits
//! (`prim/wait.rs`). Of calls that a call of the library makes itself only the outer one is counted. `causes.rs` finds
//! out which rank a wait was for.

mod causes;

use crate::call::Call;
use crate::error::Result;
use crate::mixer::Mixer;
use crate::prim::{
    Account, AwaitedKind, AwaitedWords, WaitLog, event_time, has_binding, line_by_binding,
    monotonic,
};
use crate::rank::Rank;
use crate::shm::{
    CallStatisticsWords, CallWord, CauseWords, HoldStatisticsWords, Placed, PlacedSlice, Segment,
    StatisticsWords, TextWords, TraceEvent, TrafficWords, WaitStatisticsWords, WindowHeader,
    WindowStatisticsWords,
};
use crate::trace::EventLog;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In nanoseconds. A binding finds the line of a call by unwinding the stack, and the cause of a wait is looked for at all
/// other ranks, both of which take microseconds: shorter waits have no line in a binding, and no cause.
const LONG: u64 = 50_000;

thread_local! {
    /// How many calls this thread is in, each inside the one before.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The outermost of them, or the last one.
    static CURRENT: Cell<CurrentCall> =
        const { Cell::new(CurrentCall { what: 0, bytes: 0, others: 0, begun: 0, peer: None }) };
}

#[derive(Clone, Copy)]
struct CurrentCall {
    /// [`CallWord::of`] the call and its window.
    what: u64,
    bytes: u64,
    /// Bytes of messages that it has received, or of a collective: of no pair of ranks, or counted there by the sender.
    others: u64,
    begun: u64,
    /// The world's rank to or from which the bytes go.
    peer: Option<u32>,
}

/// What this process counts and publishes.
pub(crate) struct Statistics {
    segment: Arc<Segment>,
    /// In a job that counts.
    counts: Option<Counts>,
    places: Mutex<Places>,
    /// In a job that is traced.
    log: Option<Arc<EventLog>>,
}

/// Where a rank of a job that counts does.
struct Counts {
    words: Placed<StatisticsWords>,
    /// One record for each rank.
    traffic: PlacedSlice<TrafficWords>,
    rank: u32,
}

/// Where the records are.
#[derive(Default)]
struct Places {
    calls: HashMap<u64, usize, BuildHasherDefault<Mixer>>,
    waits: HashMap<(u64, AwaitedKind, LineOfWait), usize>,
    holds: HashMap<HeldLock, usize>,
    /// Since when this rank has each lock.
    held: HashMap<HeldLock, u64>,
    /// A window or communicator was freed, and its arrivals are still recorded.
    has_freed: bool,
}

/// The mark of a window, and the rank of the world that a lock is of; `None` for all.
type HeldLock = (u64, Option<u32>);

/// A line of the program.
#[derive(PartialEq, Eq, Hash)]
enum LineOfWait {
    At(&'static Location<'static>),
    /// As a binding has found it; empty if it is unknown.
    Text(String),
}

impl Counts {
    fn join(segment: &Arc<Segment>, rank: u32) -> Result<Option<Counts>> {
        let layout = segment.layout();
        let Some((at, row)) = layout.statistics_of(rank).zip(layout.traffic_of(rank)) else {
            return Ok(None);
        };
        let words: Placed<StatisticsWords> = segment.place(at)?;
        let traffic = segment.place_all(row, layout.ranks as usize)?;
        words.joined.store(monotonic());
        Ok(Some(Counts { words, traffic, rank }))
    }
}

impl Statistics {
    /// Those of a rank, if its job has them. `look` ends the process if the launcher is dead; `may_prefer`: a mutex may
    /// prefer this thread.
    pub(crate) fn join(
        segment: &Arc<Segment>,
        rank: u32,
        may_prefer: bool,
        look: impl Fn() + Send + Sync + 'static,
    ) -> Result<Option<Arc<Statistics>>> {
        let counts = Counts::join(segment, rank)?;
        let log = EventLog::join(segment, rank, may_prefer, look)?;
        if counts.is_none() && log.is_none() {
            return Ok(None);
        }
        let (segment, places) = (segment.clone(), Mutex::default());
        Ok(Some(Arc::new(Statistics { segment, counts, places, log })))
    }

    /// The rank leaves the job.
    pub(crate) fn leave(&self) {
        self.counts.iter().for_each(|counts| counts.words.left.store(monotonic()));
    }

    /// This thread begins a call on the window with that mark (zero for none); an operation on a rank has that many
    /// bytes.
    #[cold]
    pub(crate) fn begin(&self, call: Call, window: u64, operation: Option<(Rank, u64)>) {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth > 0 {
            return;
        }
        self.forget_if_created(call);
        let (what, bytes) = (CallWord::of(call, window), operation.map_or(0, |(_, bytes)| bytes));
        let begun = event_time();
        CURRENT.set(CurrentCall { what, bytes, others: 0, begun, peer: None });
        if let Some(log) = &self.log {
            log.begin(begun, (call, window), operation, || self.name_of(what));
        }
    }

    /// The bytes of the call that this thread has begun go to that rank of the world, or come from it.
    #[cold]
    pub(crate) fn reaches(&self, peer: Option<u32>) {
        if DEPTH.get() == 1 {
            CURRENT.set(CurrentCall { peer, ..CURRENT.get() });
        }
    }

    /// The call that this thread is in has created a window with that mark.
    #[cold]
    pub(crate) fn created(&self, mark: u64, bytes: u64, name: &str, hints: &str) {
        self.log.iter().for_each(|log| log.resized(mark, bytes.cast_signed()));
        let Some(Counts { words, .. }) = &self.counts else { return };
        let _places = self.places();
        let number = words.created.load();
        words.created.store(number + 1);
        if let Some(record) = words.windows.get(number as usize) {
            record.bytes.store(bytes);
            record.name.set(name);
            record.hints.set(hints);
            record.what.store(CallWord::of(CallWord::read(CURRENT.get().what).0, mark));
        }
    }

    /// This rank has given a window another name.
    #[cold]
    pub(crate) fn renamed(&self, mark: u64, name: &str) {
        self.change(mark, |window| window.name.set(name));
    }

    /// Other hints of a window are in force.
    #[cold]
    pub(crate) fn hinted(&self, mark: u64, hints: &str) {
        self.change(mark, |window| window.hints.set(hints));
    }

    /// Changes the record of a window.
    fn change(&self, mark: u64, change: impl FnOnce(&WindowStatisticsWords)) {
        let Some(Counts { words, .. }) = &self.counts else { return };
        let _places = self.places();
        let is_it = |window: &&WindowStatisticsWords| CallWord::read(window.what.load()).1 == mark;
        // A later window may have the mark of one that was freed.
        if let Some(window) = words.windows.iter().rfind(is_it) {
            change(window);
        }
    }

    /// A call of this thread has ended. It is counted unless it was made inside another one.
    #[cold]
    pub(crate) fn end(&self) {
        let depth = DEPTH.get().saturating_sub(1);
        DEPTH.set(depth);
        if depth == 0 {
            let now = event_time();
            self.counts.iter().for_each(|counts| self.count(counts, now));
            self.log.iter().for_each(|log| log.end(now));
        }
    }

    /// The call of this thread sends what another call receives: returns what identifies it in the job. Zero if it has
    /// no arrow.
    pub(crate) fn sent(&self) -> u64 {
        let sends = TraceEvent::sends(CallWord::read(CURRENT.get().what).0);
        self.log.as_ref().filter(|_| sends).map_or(0, |log| log.sent())
    }

    /// The call of this thread sends a message to that rank that is not in its record.
    pub(crate) fn long_sent(&self, to: u32) {
        let is_shown = TraceEvent::sends(CallWord::read(CURRENT.get().what).0);
        self.log.iter().for_each(|log| log.long_sent(to, is_shown));
    }

    /// This rank has found such a message: returns what identifies it in the job.
    pub(crate) fn long_found(&self, from: u32) -> u64 {
        self.log.as_ref().map_or(0, |log| log.long_found(from))
    }

    /// The call of this thread has received that.
    pub(crate) fn received(&self, arrow: u64) {
        self.log.iter().filter(|_| arrow != 0).for_each(|log| log.received(arrow));
    }

    /// The lock call that this thread is in was granted after a wait. `mark` reads the mark of the release.
    pub(crate) fn granted(&self, mark: impl FnOnce() -> u64) {
        if let Some(log) = &self.log {
            log.granted(mark(), CURRENT.get().begun);
        }
    }

    /// The call of this thread has received a message of that many bytes.
    #[cold]
    pub(crate) fn received_bytes(&self, bytes: u64) {
        if DEPTH.get() > 0 {
            let current = CURRENT.get();
            CURRENT.set(CurrentCall { others: current.others + bytes, ..current });
        }
    }

    /// The program gives the collective that this thread is in that many bytes, and gets that many: the larger number
    /// counts. Of several rounds the last one counts, which has the data.
    #[cold]
    pub(crate) fn moves(&self, gives: u64, gets: u64) {
        if DEPTH.get() > 0 {
            CURRENT.set(CurrentCall { others: gives.max(gets), ..CURRENT.get() });
        }
    }

    /// Whether the job counts.
    pub(crate) fn counts(&self) -> bool {
        self.counts.is_some()
    }

    /// The events of this rank, in a job that is traced.
    pub(crate) fn log(&self) -> Option<&EventLog> {
        self.log.as_deref()
    }

    /// The call of this thread has ended.
    fn count(&self, Counts { words, traffic, .. }: &Counts, now: u64) {
        let call = CURRENT.get();
        let lasted = now.saturating_sub(call.begun);
        let mut places = self.places();
        let number = places.calls.len();
        let at = *places.calls.entry(call.what).or_insert(number);
        let record = words.record(&words.calls, at);
        if at == number {
            record.what.store(call.what);
            record.window.set(&self.name_of(call.what));
        }
        record.lasted.add(lasted);
        record.moved(call.bytes + call.others, lasted);
        let (name, mark) = CallWord::read(call.what);
        let (lock, ended) = ((mark, call.peer), call.begun + lasted);
        match name {
            Call::WinFree | Call::CommFree => places.has_freed = true,
            Call::Lock | Call::LockAll => drop(places.held.insert(lock, ended)),
            Call::Unlock | Call::UnlockAll => {
                if let Some(since) = places.held.remove(&lock) {
                    self.held(words, &mut places, lock, ended.saturating_sub(since));
                }
            }
            _ => {
                if let Some(reached) = call.peer.and_then(|peer| traffic.get(peer as usize)) {
                    words.has_traffic.store(1);
                    reached.add(call.bytes);
                }
            }
        }
    }

    /// This rank has held that lock for that long.
    fn held(&self, words: &StatisticsWords, places: &mut Places, lock: HeldLock, lasted: u64) {
        let (mark, of) = lock;
        let number = places.holds.len();
        let at = *places.holds.entry(lock).or_insert(number);
        let record = words.record(&words.holds, at);
        if at == number {
            record.of.store(of.map_or(0, |rank| u64::from(rank) + 1));
            record.window.set(&self.name_of(CallWord::of(Call::Lock, mark)));
        }
        record.lasted.add(lasted);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of a call's window; empty without one.
    fn name_of(&self, what: u64) -> String {
        let block = WindowHeader::block_of(CallWord::read(what).1);
        let header = self.segment.mapping().view::<WindowHeader>(block).ok();
        header.filter(|_| block != 0).map(WindowHeader::name).unwrap_or_default()
    }
}

impl WaitLog for Statistics {
    fn awaits(&self, account: &Account<'_>) -> AwaitedWords {
        let Some(awaited) = self.awaited_by(account) else { return AwaitedWords::default() };
        if awaited.kind == AwaitedKind::Arrival {
            self.arrived(awaited);
        }
        self.log.iter().for_each(|log| log.waits());
        awaited
    }

    fn waited(&self, account: Option<&Account<'_>>, awaited: AwaitedWords, nanoseconds: u64) {
        let what = CURRENT.get().what;
        if DEPTH.get() == 0 {
            // A thread of the library, which serves other ranks.
            return;
        }
        let line = match account {
            Some(account) if !has_binding() => LineOfWait::At(account.at),
            _ if nanoseconds < LONG => LineOfWait::Text(String::new()),
            _ => LineOfWait::Text(line_by_binding().unwrap_or_default()),
        };
        let text = line.text();
        if let Some(log) = &self.log {
            let now = event_time();
            log.waited((now - nanoseconds, now), &text);
        }
        let Some(Counts { words, .. }) = &self.counts else { return };
        let cause = account.filter(|_| nanoseconds >= LONG).map(|of| self.cause(of, awaited));
        let mut places = self.places();
        let number = places.waits.len();
        let at = *places.waits.entry((what, awaited.kind, line)).or_insert(number);
        let record = words.record(&words.waits, at);
        if at == number {
            record.what.store(what);
            record.window.set(&self.name_of(what));
            record.line.set(&text);
            record.awaited.store(awaited.kind as u32);
        }
        record.lasted.add(nanoseconds);
        if let Some(cause) = cause.filter(|cause| *cause != WaitCause::default()) {
            record.caused_by(CauseWords::pack(cause.late, cause.lock_of), nanoseconds);
        }
    }
}

impl LineOfWait {
    fn text(&self) -> String {
        match self {
            LineOfWait::At(at) => format!("{}:{}", at.file(), at.line()),
            LineOfWait::Text(text) => text.clone(),
        }
    }
}

/// The rank that a wait was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitCause {
    /// The rank that was late, or that held the lock when the wait began; `None` if that is unknown.
    pub late: Option<u32>,
    /// In a wait for a lock, the rank whose lock it was.
    pub lock_of: Option<u32>,
}

/// What a rank has counted, as the launcher reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankStatistics {
    /// From joining to leaving, or until now, in nanoseconds; zero for a rank that has not joined.
    pub nanoseconds: u64,
    /// Its calls on each window.
    pub calls: Vec<CallStatistics>,
    /// Its waits by call, window, line and what was awaited.
    pub waits: Vec<WaitStatistics>,
    /// The locks that it has held.
    pub holds: Vec<HoldStatistics>,
    /// What it has moved to and from other ranks, and itself, in ascending order of these.
    pub traffic: Vec<Traffic>,
    /// The first windows that it has taken part in, in the order of their creation, and how many there were.
    pub windows: Vec<WindowStatistics>,
    /// See above.
    pub created: u64,
    /// One of its tables was full: the last record has the sum of several.
    pub is_full: bool,
}

/// How often a rank has made a call on a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStatistics {
    /// The call.
    pub call: Call,
    /// The mark of its window ([`WindowStatistics::mark`]); zero without one.
    pub mark: u64,
    /// The name of its window at the first of these calls; empty without one.
    pub window: String,
    /// How often, and how long all of them and the longest lasted.
    pub lasted: Times,
    /// The bytes of all operations together.
    pub bytes: u64,
    /// Of the calls that have moved bytes, those of each size, in ascending order.
    pub sizes: Vec<SizeStatistics>,
}

/// How often calls have moved data of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeStatistics {
    /// The size is from 2 to this power to less than twice that, in bytes; from the power 40 on it has no end.
    pub power: u32,
    /// How often.
    pub times: u64,
    /// All these calls together.
    pub nanoseconds: u64,
}

/// The operations of a rank on the memory of another, and the messages that it has sent there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The other one, by its rank in the world.
    pub rank: u32,
    /// How many.
    pub operations: u64,
    /// Their bytes, to or from that rank.
    pub bytes: u64,
}

/// A window of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowStatistics {
    /// What all ranks of a window have in common; a later window may have it, too.
    pub mark: u64,
    /// The latest name that this rank has given it.
    pub name: String,
    /// The call that has created it.
    pub call: Call,
    /// The bytes of this rank's part.
    pub bytes: u64,
    /// The hints in force that are not the default ones, as `no_locks=true`.
    pub hints: String,
}

/// How often, and for how long, a rank has held a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldStatistics {
    /// The name of the window at the first unlock.
    pub window: String,
    /// The rank of the world whose part it is of; `None` for all parts.
    pub of: Option<u32>,
    /// From the end of a lock to the end of its unlock.
    pub lasted: Times,
}

/// How often a rank has waited in a call on a window in one line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStatistics {
    /// The call.
    pub call: Call,
    /// The mark of its window, as above.
    pub mark: u64,
    /// The name of its window, as above.
    pub window: String,
    /// File and line; empty if they are unknown.
    pub line: String,
    /// What was awaited when each wait began.
    pub awaited: AwaitedKind,
    /// How often, and how long.
    pub lasted: Times,
    /// For which ranks, in nanoseconds, where that is known; of more than eight those with the most.
    pub causes: Vec<(WaitCause, u64)>,
}

/// How often, and for how long in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How often.
    pub times: u64,
    /// All together.
    pub nanoseconds: u64,
    /// The longest.
    pub longest: u64,
}

impl Times {
    /// Of both.
    pub fn and(self, other: Times) -> Times {
        Times {
            times: self.times + other.times,
            nanoseconds: self.nanoseconds + other.nanoseconds,
            longest: self.longest.max(other.longest),
        }
    }
}

impl RankStatistics {
    /// Those of a rank; `None` if its job has none.
    pub(crate) fn of(segment: &Segment, rank: u32) -> Result<Option<RankStatistics>> {
        let Some(at) = segment.layout().statistics_of(rank) else { return Ok(None) };
        let words: &StatisticsWords = segment.mapping().view(at)?;
        let (joined, left) = (words.joined.load(), words.left.load());
        let end = if left == 0 { monotonic() } else { left };
        let nanoseconds = if joined == 0 { 0 } else { end.saturating_sub(joined) };
        let calls = words.calls.iter().map(CallStatistics::of);
        let waits = words.waits.iter().map(WaitStatistics::of);
        let holds = words.holds.iter().map(HoldStatistics::of);
        let windows = words.windows.iter().filter(|window| window.what.load() != 0);
        Ok(Some(RankStatistics {
            traffic: Traffic::of(segment, rank, words.has_traffic.load() != 0)?,
            windows: windows.map(WindowStatistics::of).collect(),
            created: words.created.load(),
            nanoseconds,
            calls: calls.take_while(|call| call.lasted.times > 0).collect(),
            waits: waits.take_while(|wait| wait.lasted.times > 0).collect(),
            holds: holds.take_while(|hold| hold.lasted.times > 0).collect(),
            is_full: words.is_full.load() != 0,
        }))
    }
}

impl Traffic {
    /// The records of a rank that are in use. To read those of a rank without any would take memory.
    fn of(segment: &Segment, rank: u32, has_any: bool) -> Result<Vec<Traffic>> {
        let layout = segment.layout();
        let Some(row) = layout.traffic_of(rank).filter(|_| has_any) else { return Ok(Vec::new()) };
        let words: &[TrafficWords] = segment.mapping().views(row, layout.ranks as usize)?;
        let all = (0..).zip(words).map(|(rank, words)| {
            let (operations, bytes) = (words.operations.load(), words.bytes.load());
            Traffic { rank, operations, bytes }
        });
        Ok(all.filter(|one| one.operations > 0).collect())
    }
}

impl WindowStatistics {
    fn of(words: &WindowStatisticsWords) -> WindowStatistics {
        let (call, mark) = CallWord::read(words.what.load());
        let (name, hints) = (text(&words.name), text(&words.hints));
        WindowStatistics { mark, name, call, bytes: words.bytes.load(), hints }
    }
}

impl HoldStatistics {
    fn of(words: &HoldStatisticsWords) -> HoldStatistics {
        let of = words.of.load().checked_sub(1).map(|rank| rank as u32);
        HoldStatistics { window: text(&words.window), of, lasted: Times::of(&words.lasted) }
    }
}

impl CallStatistics {
    fn of(words: &CallStatisticsWords) -> CallStatistics {
        let (call, mark) = CallWord::read(words.what.load());
        let (window, lasted) = (text(&words.window), Times::of(&words.lasted));
        let sizes = (0..).zip(&words.sizes).map(|(power, size)| {
            let [times, nanoseconds] = [&size.times, &size.nanoseconds].map(|word| word.load());
            SizeStatistics { power, times, nanoseconds }
        });
        let sizes = sizes.filter(|size| size.times > 0).collect();
        CallStatistics { call, mark, window, lasted, bytes: words.bytes.load(), sizes }
    }
}

impl WaitStatistics {
    fn of(words: &WaitStatisticsWords) -> WaitStatistics {
        let (call, mark) = CallWord::read(words.what.load());
        let lasted = Times::of(&words.lasted);
        let awaited = AwaitedKind::of(words.awaited.load());
        let causes = words.causes.iter().map(|cause| {
            let (late, lock_of) = CauseWords::unpack(cause.ranks.load());
            (WaitCause { late, lock_of }, cause.nanoseconds.load())
        });
        let causes = causes.filter(|(_, nanoseconds)| *nanoseconds > 0).collect();
        let (window, line) = (text(&words.window), words.line.get());
        WaitStatistics { call, mark, window, line, awaited, lasted, causes }
    }
}

impl Times {
    fn of(words: &crate::shm::TimesWords) -> Times {
        let [times, nanoseconds, longest] =
            [&words.times, &words.nanoseconds, &words.longest].map(|word| word.load());
        Times { times, nanoseconds, longest }
    }
}

fn text<const N: usize>(words: &TextWords<N>) -> String {
    words.get()
}
