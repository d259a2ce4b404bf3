//! Buffers of this rank's operations that are not complete: what a put reads must not change, and what a get writes
//! must not be accessed, before a call completes the operation in this process (MPI-4.1 §12.3).
//!
//! 1. What an operation reads is copied when it is issued, and compared when it is complete. The kernel reads it
//!    then, because the program may have unmapped it; when it is issued, only if it also reads it for the operation.
//! 2. What another operation of this rank accesses meanwhile is compared by address.
//! 3. A buffer in a part of this rank is also an access to that part, which those of other ranks and threads may conflict
//!    with.
//!
//! A binding alone has such buffers: the slices of Rust's calls are the program's again when the call returns.

use super::own::{watch_buffer, watch_no_buffers};
use super::report::{self, Conflict, Reason, RecordedPair};
use super::stores::StoredPage;
use super::window::{AccessedBytes, ByteRun, CheckedWindow};
use super::{AccessKind, CallLine, CheckState, CheckedAccess, Checker, EpochKind, SITES};
use crate::call::Call;
use crate::prim::{Waiter, has_binding, line_by_binding};
use crate::shm::{Span, is_known_here, read_all_here, read_here, read_span};
use std::collections::BTreeMap;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

/// Bytes of a buffer that are compared together.
const PIECE: usize = 4096;
/// Pieces that are read together.
const MOST_TOGETHER: usize = 256;
/// Pieces that are remembered.
const MOST_PIECES: usize = 1 << 14;
/// Pieces that are searched one by one; more are found by their addresses.
const SEARCHED: usize = 8;
/// Bytes that a piece has itself.
const FEW: usize = 16;

/// A buffer of an operation in this process.
#[derive(Clone)]
pub(crate) struct OwnBuffer {
    /// Address and bytes of each piece, ascending: of the first one, and of the others.
    first: (usize, u64),
    others: Vec<(usize, u64)>,
    is_written: bool,
}

impl OwnBuffer {
    /// Of one piece.
    #[inline]
    pub(crate) fn block(at: usize, bytes: u64, is_written: bool) -> OwnBuffer {
        OwnBuffer { first: (at, bytes), others: Vec::new(), is_written }
    }

    /// Of these pieces, ascending.
    pub(crate) fn of(mut pieces: Vec<(usize, u64)>, is_written: bool) -> OwnBuffer {
        let first = if pieces.is_empty() { (0, 0) } else { pieces.remove(0) };
        OwnBuffer { first, others: pieces, is_written }
    }

    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let runs = std::iter::once(&self.first).chain(&self.others);
        runs.filter(|(_, bytes)| *bytes != 0).map(|(at, bytes)| *at..*at + *bytes as usize)
    }
}

/// The buffers of operations that are not complete in this process.
#[derive(Default)]
pub(super) struct PendingBuffers {
    pieces: PendingPieces,
    issued: u64,
    /// Since there were none: the bytes of the longest piece, and whether an operation writes one.
    longest: usize,
    has_written: bool,
}

/// The address of a piece's first byte, and a number.
type PieceKey = (usize, u64);

/// Pieces of buffers. Mostly there are few.
#[derive(Default)]
struct PendingPieces {
    few: Vec<(PieceKey, PendingPiece)>,
    others: BTreeMap<PieceKey, PendingPiece>,
}

impl PendingPieces {
    fn is_empty(&self) -> bool {
        self.few.is_empty() && self.others.is_empty()
    }

    fn len(&self) -> usize {
        self.few.len() + self.others.len()
    }

    fn add(&mut self, key: PieceKey, piece: PendingPiece) {
        match self.few.len() < SEARCHED {
            true => self.few.push((key, piece)),
            false => drop(self.others.insert(key, piece)),
        }
    }

    /// Removes those of which `is_one` holds, which have such keys.
    fn take<'p>(
        &'p mut self,
        keys: impl RangeBounds<PieceKey> + 'p,
        is_one: &'p impl Fn(&PieceKey, &PendingPiece) -> bool,
    ) -> impl Iterator<Item = (PieceKey, PendingPiece)> + 'p {
        let few = self.few.extract_if(.., |(key, piece)| is_one(key, piece));
        few.chain(self.others.extract_if(keys, |key, piece| is_one(key, piece)))
    }
}

/// A piece of a buffer, of at most [`PIECE`] bytes.
struct PendingPiece {
    of: Arc<PendingOperation>,
    /// The address of the buffer's first byte.
    buffer: usize,
    end: usize,
    contents: PieceContents,
}

/// What an operation reads in a piece.
enum PieceContents {
    /// Nothing: it writes the piece.
    None,
    /// A few bytes.
    Few([u8; FEW], usize),
    /// Bytes of a run.
    OfRun(Arc<Vec<u8>>, Range<usize>),
}

impl PendingPiece {
    fn contents(&self) -> Option<&[u8]> {
        match &self.contents {
            PieceContents::None => None,
            PieceContents::Few(bytes, count) => Some(&bytes[..*count]),
            PieceContents::OfRun(run, at) => Some(&run[at.clone()]),
        }
    }
}

/// An operation that is not complete in this process.
pub(super) struct PendingOperation {
    key: PendingKey,
    /// The window's name.
    window: Arc<str>,
    site: u32,
    what: u32,
    /// Of the thread that has issued it.
    slot: u32,
}

/// Operations that a call completes together in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingKey {
    /// The block of the window.
    pub(super) window: u64,
    pub(super) target: u32,
    /// The number of the request; zero without one.
    pub(super) request: u64,
}

impl PendingKey {
    /// Whether they are on that target of a window, or on any.
    pub(super) fn is_at(&self, window: u64, target: Option<u32>) -> bool {
        self.window == window && target.is_none_or(|target| target == self.target)
    }

    /// Whether the program has this request of one.
    pub(super) fn has_request(&self, request: u64) -> bool {
        self.request == request
    }
}

/// Bytes of an operation's buffer that this rank has accessed too early.
pub(super) struct FoundBuffer {
    of: Arc<PendingOperation>,
    /// From the beginning of the buffer.
    bytes: Range<u64>,
}

impl FoundBuffer {
    fn new(piece: &PendingPiece, bytes: Range<usize>) -> FoundBuffer {
        let by = |at: usize| (at - piece.buffer) as u64;
        FoundBuffer { of: piece.of.clone(), bytes: by(bytes.start)..by(bytes.end) }
    }
}

impl PendingBuffers {
    /// Accesses the bytes at some addresses, to write them or not. Returns the earlier operations to whose buffers
    /// that is too early, and forgets those.
    pub(super) fn access(&mut self, bytes: &Range<usize>, is_written: bool) -> Vec<FoundBuffer> {
        if self.pieces.is_empty() || !(is_written || self.has_written) {
            return Vec::new();
        }
        let near = (bytes.start.saturating_sub(self.longest), 0)..(bytes.end, 0);
        let conflicts = |(start, _): &PieceKey, piece: &PendingPiece| {
            piece.end > bytes.start
                && *start < bytes.end
                && (is_written || piece.contents().is_none())
        };
        let found = |((start, _), piece): (PieceKey, PendingPiece)| {
            FoundBuffer::new(&piece, start.max(bytes.start)..piece.end.min(bytes.end))
        };
        let mut taken: Vec<_> = self.pieces.take(near, &conflicts).collect();
        if !taken.is_empty() {
            taken.sort_unstable_by_key(|(key, _)| *key);
            self.end_if_empty();
        }
        taken.into_iter().map(found).collect()
    }

    /// If there are no pieces, no address is looked at.
    fn end_if_empty(&mut self) {
        if self.pieces.is_empty() {
            (self.longest, self.has_written) = (0, false);
            watch_no_buffers();
        }
    }

    /// Remembers a run of bytes, which the operation reads by instructions or by the kernel; returns whether all of it is
    /// compared from now on.
    fn add(
        &mut self,
        (of, buffer): (&Arc<PendingOperation>, usize),
        run: Range<usize>,
        (is_written, by_instructions): (bool, bool),
    ) -> bool {
        let bytes_left = (MOST_PIECES - self.pieces.len().min(MOST_PIECES)) * PIECE;
        let bytes = run.start..run.end.min(run.start.saturating_add(bytes_left));
        let read = |to: &mut [u8]| {
            let at = std::ptr::with_exposed_provenance_mut(bytes.start);
            match by_instructions {
                true => read_span(Span::new(at, to.len() as u64), 0, to),
                false => read_here(bytes.start, to),
            }
        };
        let (mut few, mut long) = ([0; FEW], Vec::new());
        let is_read = match few.get_mut(..bytes.len()) {
            _ if is_written => true,
            Some(few) => read(few),
            None => {
                long.resize(bytes.len(), 0);
                read(&mut long)
            }
        };
        if !is_read {
            // A device's memory, which the kernel does not read.
            return false;
        }
        let long = (!long.is_empty()).then(|| Arc::new(long));
        for piece in divided(&bytes) {
            self.issued += 1;
            let at = piece.start - bytes.start..piece.end - bytes.start;
            let contents = match &long {
                _ if is_written => PieceContents::None,
                None => PieceContents::Few(few, piece.len()),
                Some(long) => PieceContents::OfRun(long.clone(), at),
            };
            self.longest = self.longest.max(piece.len());
            self.has_written |= is_written;
            let (key, of) = ((piece.start, self.issued), of.clone());
            self.pieces.add(key, PendingPiece { of, buffer, end: piece.end, contents });
        }
        watch_buffer(&bytes);
        bytes == run
    }

    /// Some operations are complete in this process. Returns those whose buffers have changed.
    fn complete(&mut self, is_one: impl Fn(&PendingKey) -> bool) -> Vec<FoundBuffer> {
        if self.pieces.is_empty() {
            return Vec::new();
        }
        let is_done = |_: &PieceKey, piece: &PendingPiece| is_one(&piece.of.key);
        let done = self.pieces.take(.., &is_done);
        // What is there without doubt needs no kernel.
        let is_known = |start: usize, piece: &PendingPiece| {
            piece.contents().is_none_or(|contents| is_known_here(start, contents))
        };
        let done = done.map(|((start, _), piece)| (start, piece));
        let mut done: Vec<_> = done.filter(|(start, piece)| !is_known(*start, piece)).collect();
        done.sort_by_key(|(start, _)| *start);
        self.end_if_empty();
        done.chunks(MOST_TOGETHER).flat_map(changed_in).collect()
    }
}

/// The pieces that have changed, of some.
fn changed_in(pieces: &[(usize, PendingPiece)]) -> Vec<FoundBuffer> {
    let read = || pieces.iter().filter_map(|(start, piece)| Some((*start, piece.contents()?)));
    let mut now = vec![0; read().map(|(_, before)| before.len()).sum()];
    if now.is_empty() {
        return Vec::new();
    }
    let is_read =
        read_all_here(read().map(|(start, before)| start..start + before.len()), &mut now);
    let mut rest = &now[..];
    let mut is_same = |before: &[u8]| {
        let (now, behind) = rest.split_at(before.len());
        rest = behind;
        now == before
    };
    match is_read && read().all(|(_, before)| is_same(before)) {
        true => Vec::new(),
        false => pieces.iter().filter_map(changed).collect(),
    }
}

/// What has changed of a piece.
fn changed((start, piece): &(usize, PendingPiece)) -> Option<FoundBuffer> {
    let before = piece.contents()?;
    let mut now = vec![0; before.len()];
    if !read_here(*start, &mut now) || before == now {
        return None;
    }
    let differs = |at: &usize| before[*at] != now[*at];
    let first = (0..before.len()).find(differs)?;
    let last = (first..before.len()).rfind(differs).unwrap_or(first);
    Some(FoundBuffer::new(piece, start + first..start + last + 1))
}

/// The pieces of a run of bytes, each of at most [`PIECE`].
fn divided(run: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = run.end;
    run.clone().step_by(PIECE).map(move |start| start..end.min(start + PIECE))
}

impl CheckedWindow {
    /// An operation that was recorded with that line is about to use these buffers. Returns new conflicts.
    pub(super) fn use_buffers(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        state: &mut CheckState,
        (access, site, target): (&CheckedAccess, u32, u32),
        buffers: &[OwnBuffer],
    ) -> Vec<Conflict> {
        let what = access.word();
        let mut found = Vec::new();
        let mut is_free = |buffer: &&OwnBuffer| {
            let before = found.len();
            for run in buffer.runs() {
                found.extend(state.pending.access(&run, buffer.is_written));
            }
            found.len() == before
        };
        // What a late result changes in a buffer of another operation is no store of the program, and is reported once.
        let free: Vec<_> = buffers.iter().filter(&mut is_free).collect();
        let request = state.requests.latest(access);
        let key = PendingKey { window: self.block, target, request };
        let by_instructions = self.span_here(target).len() != 0;
        let (window, slot) = (self.name(), state.threads.current() as u32);
        let of = Arc::new(PendingOperation { key, window, site, what, slot });
        for buffer in free {
            let of = (&of, buffer.first.0);
            for run in buffer.runs() {
                if !state.pending.add(of, run, (buffer.is_written, by_instructions)) {
                    checker.words.is_full.store(1);
                }
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        checker.record_buffers(waiter, state, &found, (site, what))
    }

    /// An operation of this rank has these buffers. What of them lies in parts of windows is also accessed there, until
    /// the operation is complete in this process. Blocks while others access these parts.
    pub(super) fn access_buffers_in_parts(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        buffers: &[OwnBuffer],
    ) {
        for buffer in buffers {
            let kind = if buffer.is_written { AccessKind::Result } else { AccessKind::Source };
            let access = CheckedAccess { kind, datatype: 0, op: 0, ..*access };
            for run in buffer.runs() {
                for (window, rank, run) in checker.in_parts(&run) {
                    let of = (self.block, target);
                    window.access_besides((checker, waiter), (&access, rank, run), of);
                }
            }
        }
    }

    /// An operation on that target of another window also accesses a part of this one.
    pub(super) fn access_besides(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, rank, run): (&CheckedAccess, u32, ByteRun),
        of: (u64, u32),
    ) {
        let span = self.span_here(rank);
        let read = |runs: &[ByteRun], to: &mut [u8]| {
            let mut rest = to;
            runs.iter().all(|run| {
                let (now, behind) = std::mem::take(&mut rest).split_at_mut(run.bytes as usize);
                rest = behind;
                read_span(span, run.start, now)
            })
        };
        let accessed = AccessedBytes {
            runs: vec![run],
            read: &read,
            buffers: Vec::new(),
            epoch: EpochKind::Other,
            buffer_of: Some(of),
        };
        let line = line_by_binding();
        let judge = |stored: &[StoredPage]| {
            // The result is there already, and no store of the program.
            let stored = if access.kind == AccessKind::Result { &[] } else { stored };
            let line = CallLine { text: line.as_deref(), caller: None };
            self.judge((checker, waiter), (access, rank, line), &accessed, stored)
        };
        self.act(waiter, (access.kind, rank), &accessed, judge, || ());
    }

    /// [`CheckedWindow::flushed`] in this process alone. Blocks while another rank uses the tables of the check.
    pub(crate) fn flushed_here(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        call: Call,
        target: Option<u32>,
    ) {
        if checker.is_late {
            self.late_operations_here(target);
        }
        self.completed_here(checker, waiter, call.name(), |of| of.is_at(self.block, target));
        checker.complete_reads(|key| {
            key.window == self.block && target.is_none_or(|target| target == key.target)
        });
    }

    /// Some of this rank's operations are complete in this process, by a call that is named so. Blocks while another
    /// rank uses the tables of the check.
    pub(super) fn completed_here(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        name: &str,
        is_one: impl Fn(&PendingKey) -> bool,
    ) {
        if !has_binding() {
            return;
        }
        let mut state = checker.state();
        checker.complete_fetches(&mut state, &is_one);
        let found = state.pending.complete(is_one);
        if found.is_empty() {
            return;
        }
        drop(state);
        // A binding may wait for locks of its language to find it.
        let line = line_by_binding().map_or_else(String::new, |line| format!(" at {line}"));
        let mut state = checker.state();
        let text = format!("before {name}{line}");
        let access = CheckedAccess::store();
        // If the job ends, so does the check.
        let new = checker.words.lock.0.run(SITES, waiter, |_| {
            let store = (checker.text(&mut state, &text), access.word());
            let new = |one: &FoundBuffer| record(checker, &mut state, one, (None, store));
            found.iter().filter_map(new).collect::<Vec<_>>()
        });
        drop(state);
        report::print(&new.unwrap_or_default());
    }
}

impl Checker {
    /// Records that a later access of this thread, given by its line and its description, was too early. Returns new
    /// conflicts.
    pub(super) fn record_buffers(
        &self,
        waiter: &Waiter<'_>,
        state: &mut CheckState,
        found: &[FoundBuffer],
        later: (u32, u32),
    ) -> Vec<Conflict> {
        let later = (Some(state.threads.current() as u32), later);
        let new = |one: &FoundBuffer| record(self, state, one, later);
        self.exclusively(waiter, || found.iter().filter_map(new).collect()).unwrap_or_default()
    }
}

/// Records that a later access, given by the slot of its thread, its line and its description, was too early. Returns it
/// if its pair of lines is new.
fn record(
    checker: &Checker,
    state: &mut CheckState,
    found: &FoundBuffer,
    (slot, later): (Option<u32>, (u32, u32)),
) -> Option<Conflict> {
    let window = checker.text(state, &found.of.window);
    let pair = RecordedPair {
        ranks: [checker.rank; 2],
        slots: [Some(found.of.slot), slot],
        calls: [(found.of.site, found.of.what), later],
    };
    let of = (window, found.of.key.target);
    report::record_pair(checker, &pair, of, Reason::Buffer, &found.bytes)
}
