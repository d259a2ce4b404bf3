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

use super::own::{may_be_in_parts, watch_buffer, watch_no_buffers};
use super::report::{self, Conflict, Reason, RecordedPair};
use super::stores::StoredPage;
use super::window::{AccessedBytes, ByteRun, CheckedWindow};
use super::{AccessKind, CallLine, CheckState, CheckedAccess, Checker, EpochKind, SITES};
use crate::call::Call;
use crate::prim::{Waiter, has_binding, line_by_binding};
use crate::shm::{Span, is_known_here, read_all_here, read_here, read_span};
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::{Arc, Weak};

/// Bytes of a buffer that are compared together.
const PIECE: usize = 4096;
/// Pieces and bytes that are read together.
const MOST_TOGETHER: usize = 256;
const MOST_BYTES_TOGETHER: usize = 1 << 16;
/// Pieces that are remembered.
const MOST_PIECES: usize = 1 << 14;
/// Pieces behind which a new one is looked for among those in order; farther ones are found by a tree.
const SEARCHED: usize = 8;
/// Bytes that a piece has itself.
const FEW: usize = 16;

/// A buffer of an operation in this process.
#[derive(Clone, Default)]
pub(crate) struct OwnBuffer {
    /// Address and bytes of each piece, ascending: of the first one, and of the others, if there are any.
    first: (usize, u64),
    others: Option<Box<[(usize, u64)]>>,
    is_written: bool,
}

impl OwnBuffer {
    /// Of one piece.
    #[inline]
    pub(crate) fn block(at: usize, bytes: u64, is_written: bool) -> OwnBuffer {
        OwnBuffer { first: (at, bytes), others: None, is_written }
    }

    /// Of these pieces, ascending.
    pub(crate) fn of(mut pieces: Vec<(usize, u64)>, is_written: bool) -> OwnBuffer {
        let first = if pieces.is_empty() { (0, 0) } else { pieces.remove(0) };
        let others = (!pieces.is_empty()).then(|| pieces.into());
        OwnBuffer { first, others, is_written }
    }

    #[inline]
    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let runs = std::iter::once(&self.first).chain(self.others.iter().flatten());
        runs.filter(|(_, bytes)| *bytes != 0).map(|(at, bytes)| *at..*at + *bytes as usize)
    }

    /// The only run, of most buffers.
    #[inline]
    fn only_run(&self) -> Option<Range<usize>> {
        let (at, bytes) = self.first;
        (self.others.is_none() && bytes != 0).then(|| at..at + bytes as usize)
    }

    #[inline]
    fn each_run(&self, mut each: impl FnMut(Range<usize>)) {
        match self.only_run() {
            Some(run) => each(run),
            None => self.runs().for_each(each),
        }
    }
}

/// The buffers of one operation, in no memory of the heap.
#[derive(Clone, Default)]
pub(crate) struct OwnBuffers {
    all: [OwnBuffer; OwnBuffers::MOST],
    count: usize,
}

impl OwnBuffers {
    /// Those of a compare_and_swap.
    const MOST: usize = 3;

    #[inline]
    pub(crate) fn push(&mut self, buffer: OwnBuffer) {
        self.all[self.count] = buffer;
        self.count += 1;
    }
}

impl Deref for OwnBuffers {
    type Target = [OwnBuffer];

    #[inline]
    fn deref(&self) -> &[OwnBuffer] {
        &self.all[..self.count]
    }
}

/// The buffers of operations that are not complete in this process.
#[derive(Default)]
pub(super) struct PendingBuffers {
    pieces: PendingPieces,
    operations: PendingOperations,
    issued: u64,
    /// Since there were none: the bytes of the longest piece, and whether an operation writes one.
    longest: usize,
    has_written: bool,
    /// Memory for what is in some pieces at the end.
    now: Vec<u8>,
}

/// The address of a piece's first byte, and a number.
type PieceKey = (usize, u64);

/// Pieces of buffers.
#[derive(Default)]
struct PendingPieces {
    /// In the order of their keys: most programs use one buffer behind the other, or few.
    in_order: Vec<(PieceKey, PendingPiece)>,
    others: BTreeMap<PieceKey, PendingPiece>,
}

impl PendingPieces {
    #[inline]
    fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.others.is_empty()
    }

    fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    #[inline]
    fn add(&mut self, key: PieceKey, piece: PendingPiece) {
        if self.in_order.last().is_none_or(|(last, _)| *last < key) {
            return self.in_order.push((key, piece));
        }
        let behind = self.in_order.iter().rev().take_while(|(other, _)| *other > key);
        match behind.take(SEARCHED).count() {
            SEARCHED => drop(self.others.insert(key, piece)),
            few => self.in_order.insert(self.in_order.len() - few, (key, piece)),
        }
    }

    /// Removes those with such keys of which `is_taken` holds, which is called once for each.
    #[inline]
    fn take(
        &mut self,
        keys: &Range<PieceKey>,
        mut is_taken: impl FnMut(&PieceKey, &PendingPiece) -> bool,
    ) {
        let at = |key: &PieceKey| self.in_order.partition_point(|(other, _)| other < key);
        let near = at(&keys.start)..at(&keys.end);
        self.in_order.extract_if(near, |(key, piece)| is_taken(key, piece)).for_each(drop);
        if !self.others.is_empty() {
            let taken = self.others.extract_if(keys.clone(), |key, piece| is_taken(key, piece));
            taken.for_each(drop);
        }
    }

    /// Keeps those of which `stays` holds, which is called once for each.
    #[inline]
    fn retain(&mut self, mut stays: impl FnMut(&PieceKey, &PendingPiece) -> bool) {
        self.in_order.retain(|(key, piece)| stays(key, piece));
        if !self.others.is_empty() {
            self.others.retain(|key, piece| stays(key, piece));
        }
    }
}

/// A piece of a buffer, of at most [`PIECE`] bytes.
#[derive(Clone)]
struct PendingPiece {
    /// The number of its operation.
    of: u32,
    bytes: u32,
    /// The address of the buffer's first byte.
    buffer: usize,
    contents: PieceContents,
}

/// What an operation reads in a piece.
#[derive(Clone)]
enum PieceContents {
    /// Nothing: it writes the piece.
    None,
    /// A few bytes.
    Few([u8; FEW]),
    /// Bytes of a copy, from that one on.
    OfCopy(Arc<Vec<u8>>, u32),
}

impl PendingPiece {
    #[inline]
    fn contents(&self) -> Option<&[u8]> {
        let bytes = self.bytes as usize;
        match &self.contents {
            PieceContents::None => None,
            PieceContents::Few(all) => Some(&all[..bytes]),
            PieceContents::OfCopy(copy, at) => Some(&copy[*at as usize..][..bytes]),
        }
    }

    /// Whether this process's memory from `start` on, in `part` or not, still has what the operation reads, as is known without
    /// the kernel.
    #[inline]
    fn is_known(&self, start: usize, part: Span) -> bool {
        self.contents().is_none_or(|contents| is_known_here(start, contents, part))
    }
}

/// Operations that are not complete in this process.
#[derive(Default)]
struct PendingOperations {
    all: Vec<(PendingOperation, u32)>,
    /// Numbers of which there is no piece.
    free: Vec<u32>,
    latest: u32,
}

impl PendingOperations {
    /// The number of an operation, which it has until [`PendingOperations::end`] as often. Calls of one line behind each other
    /// share theirs.
    #[inline]
    fn begin(&mut self, operation: &PendingOperation) -> u32 {
        match self.all.get_mut(self.latest as usize) {
            Some((latest, pieces)) if *pieces != 0 && *latest == *operation => *pieces += 1,
            _ => self.begin_other(operation),
        }
        self.latest
    }

    #[inline(never)]
    fn begin_other(&mut self, operation: &PendingOperation) {
        let of = (*operation, 1);
        self.latest = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = of;
                number
            }
            None => {
                self.all.push(of);
                self.all.len() as u32 - 1
            }
        };
    }

    /// There is a piece of it more.
    #[inline]
    fn retain(&mut self, number: u32) {
        self.all[number as usize].1 += 1;
    }

    #[inline]
    fn at(&self, number: u32) -> &PendingOperation {
        &self.all[number as usize].0
    }

    /// A piece of it is gone, or the call that has begun it ends.
    #[inline]
    fn end(&mut self, number: u32) {
        let pieces = &mut self.all[number as usize].1;
        *pieces -= 1;
        if *pieces == 0 {
            self.free.push(number);
        }
    }
}

/// An operation that is not complete in this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingOperation {
    key: PendingKey,
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
    #[inline]
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
    of: PendingOperation,
    /// From the beginning of the buffer.
    bytes: Range<u64>,
    /// Their addresses.
    at: Range<usize>,
}

impl FoundBuffer {
    fn new(of: PendingOperation, piece: &PendingPiece, bytes: Range<usize>) -> FoundBuffer {
        let by = |at: usize| (at - piece.buffer) as u64;
        FoundBuffer { of, bytes: by(bytes.start)..by(bytes.end), at: bytes }
    }
}

impl PendingBuffers {
    /// Accesses the bytes at some addresses, to write them or not. Returns the earlier operations to whose buffers
    /// that is too early, and forgets those.
    #[inline]
    pub(super) fn access(&mut self, bytes: &Range<usize>, is_written: bool) -> Vec<FoundBuffer> {
        match self.pieces.is_empty() || !(is_written || self.has_written) {
            true => Vec::new(),
            false => self.access_pieces(bytes, is_written),
        }
    }

    #[inline(never)]
    fn access_pieces(&mut self, bytes: &Range<usize>, is_written: bool) -> Vec<FoundBuffer> {
        let near = (bytes.start.saturating_sub(self.longest), 0)..(bytes.end, 0);
        let conflicts = |(start, _): &PieceKey, piece: &PendingPiece| {
            start + piece.bytes as usize > bytes.start
                && *start < bytes.end
                && (is_written || piece.contents().is_none())
        };
        let (mut found, operations) = (Vec::new(), &mut self.operations);
        self.pieces.take(&near, |key, piece| {
            if !conflicts(key, piece) {
                return false;
            }
            let shared = key.0.max(bytes.start)..(key.0 + piece.bytes as usize).min(bytes.end);
            found.push((*key, FoundBuffer::new(*operations.at(piece.of), piece, shared)));
            operations.end(piece.of);
            true
        });
        if found.is_empty() {
            return Vec::new();
        }
        found.sort_unstable_by_key(|(key, _)| *key);
        self.end_if_empty();
        found.into_iter().map(|(_, found)| found).collect()
    }

    /// If there are no pieces, no address is looked at.
    #[inline]
    fn end_if_empty(&mut self) {
        if self.pieces.is_empty() {
            (self.longest, self.has_written) = (0, false);
            watch_no_buffers();
        }
    }

    /// Remembers a buffer of operation `of`, which reads it by instructions or by the kernel, or writes it. Returns whether all of
    /// it is compared from now on.
    #[inline]
    fn add(&mut self, of: u32, buffer: &OwnBuffer, by_instructions: bool) -> bool {
        let Some(run) = buffer.only_run().filter(|run| run.len() <= FEW) else {
            return self.add_long(of, buffer, by_instructions);
        };
        if self.pieces.len() >= MOST_PIECES {
            return false;
        }
        let mut few = [0; FEW];
        let contents = match buffer.is_written {
            true => PieceContents::None,
            false if read_run(&run, &mut few[..run.len()], by_instructions) => {
                PieceContents::Few(few)
            }
            // A device's memory, which the kernel does not read.
            false => return false,
        };
        self.add_piece((of, run.start), &run, contents);
        watch_buffer(&run);
        true
    }

    /// The same of several runs, or of more bytes: all have one copy.
    #[inline(never)]
    fn add_long(&mut self, of: u32, buffer: &OwnBuffer, by_instructions: bool) -> bool {
        let runs = first_pieces(buffer.runs(), MOST_PIECES.saturating_sub(self.pieces.len()));
        let bytes = bytes_of(runs.iter().cloned());
        let mut all = vec![0; if buffer.is_written { 0 } else { bytes }];
        if !buffer.is_written && !read_runs(&runs, &mut all, by_instructions) {
            // As above.
            return false;
        }
        let (all, mut at) = (Arc::new(all), 0);
        for run in &runs {
            for piece in divided(run) {
                let contents = match buffer.is_written {
                    true => PieceContents::None,
                    false => PieceContents::OfCopy(all.clone(), at),
                };
                at += piece.len() as u32;
                self.add_piece((of, buffer.first.0), &piece, contents);
            }
            watch_buffer(run);
        }
        bytes == bytes_of(buffer.runs())
    }

    #[inline]
    fn add_piece(
        &mut self,
        (of, buffer): (u32, usize),
        piece: &Range<usize>,
        contents: PieceContents,
    ) {
        self.issued += 1;
        self.longest = self.longest.max(piece.len());
        self.has_written |= matches!(contents, PieceContents::None);
        self.operations.retain(of);
        let (key, bytes) = ((piece.start, self.issued), piece.len() as u32);
        self.pieces.add(key, PendingPiece { of, bytes, buffer, contents });
    }

    /// Some operations by a window whose part is `own` are complete in this process. Returns those whose buffers have changed.
    fn complete(&mut self, own: Span, is_one: impl Fn(&PendingKey) -> bool) -> Vec<FoundBuffer> {
        if self.pieces.is_empty() {
            return Vec::new();
        }
        let (mut unknown, operations) = (Vec::new(), &mut self.operations);
        self.pieces.retain(|(start, _), piece| {
            let of = operations.at(piece.of);
            if !is_one(&of.key) {
                return true;
            }
            // What is there without doubt needs no kernel.
            if !piece.is_known(*start, own) {
                unknown.push((*start, *of, piece.clone()));
            }
            operations.end(piece.of);
            false
        });
        self.end_if_empty();
        if unknown.is_empty() {
            return Vec::new();
        }
        unknown.sort_by_key(|(start, ..)| *start);
        let (mut found, mut rest) = (Vec::new(), &unknown[..]);
        while !rest.is_empty() {
            let (some, behind) = rest.split_at(together(rest));
            found.extend(changed_in(some, &mut self.now));
            rest = behind;
        }
        found
    }
}

/// Reads the bytes of a run by instructions or by the kernel. Returns whether that was possible.
#[inline]
fn read_run(run: &Range<usize>, to: &mut [u8], by_instructions: bool) -> bool {
    match by_instructions {
        true => {
            let at = std::ptr::with_exposed_provenance_mut(run.start);
            read_span(Span::new(at, to.len() as u64), 0, to)
        }
        false => read_here(run.start, to),
    }
}

fn bytes_of(runs: impl Iterator<Item = Range<usize>>) -> usize {
    runs.map(|run| run.len()).sum()
}

/// [`read_run`] of several runs, one behind the other.
fn read_runs(runs: &[Range<usize>], to: &mut [u8], by_instructions: bool) -> bool {
    if !by_instructions {
        return read_all_here(runs.iter().cloned(), to);
    }
    let mut rest = to;
    runs.iter().all(|run| {
        let (copy, behind) = std::mem::take(&mut rest).split_at_mut(run.len());
        rest = behind;
        read_run(run, copy, true)
    })
}

/// As much of some runs as lies in the first `most` pieces of them.
fn first_pieces(runs: impl Iterator<Item = Range<usize>>, mut most: usize) -> Vec<Range<usize>> {
    let first = runs.map_while(|run| {
        let pieces = most.min(run.len().div_ceil(PIECE));
        most -= pieces;
        (pieces != 0).then(|| run.start..run.end.min(run.start + pieces * PIECE))
    });
    first.collect()
}

/// A piece of an operation that may have changed, from that address on.
type UnknownPiece = (usize, PendingOperation, PendingPiece);

/// How many of some pieces are read together.
fn together(pieces: &[UnknownPiece]) -> usize {
    let mut bytes = 0;
    let fit = pieces.iter().take(MOST_TOGETHER).take_while(|(_, _, piece)| {
        bytes += piece.bytes as usize;
        bytes <= MOST_BYTES_TOGETHER
    });
    fit.count().max(1)
}

/// The pieces that have changed, of some; `memory` is for what is there now.
fn changed_in(pieces: &[UnknownPiece], memory: &mut Vec<u8>) -> Vec<FoundBuffer> {
    let read = || pieces.iter().filter_map(|(start, _, piece)| Some((*start, piece.contents()?)));
    let bytes = read().map(|(_, before)| before.len()).sum();
    if bytes == 0 {
        return Vec::new();
    }
    if memory.len() < bytes {
        memory.resize(bytes, 0);
    }
    let now = &mut memory[..bytes];
    let is_read = read_all_here(read().map(|(start, before)| start..start + before.len()), now);
    let mut rest = &*now;
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
fn changed((start, of, piece): &UnknownPiece) -> Option<FoundBuffer> {
    let before = piece.contents()?;
    let mut now = vec![0; before.len()];
    if !read_here(*start, &mut now) || before == now {
        return None;
    }
    let differs = |at: &usize| before[*at] != now[*at];
    let first = (0..before.len()).find(differs)?;
    let last = (first..before.len()).rfind(differs).unwrap_or(first);
    Some(FoundBuffer::new(*of, piece, start + first..start + last + 1))
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
        let (what, request) = (access.word(), state.requests.latest(access));
        let key = PendingKey { window: self.block, target, request };
        let by_instructions = self.span_here(target).len() != 0;
        let of = PendingOperation { key, site, what, slot: state.threads.current() as u32 };
        let (pending, mut found, mut taken) = (&mut state.pending, Vec::new(), 0u32);
        if !pending.pieces.is_empty() {
            // A bit for each buffer that is a part of another operation's. What a late result changes there is no store of the
            // program, and is reported once.
            for (at, buffer) in buffers.iter().enumerate() {
                let before = found.len();
                buffer.each_run(|run| found.extend(pending.access(&run, buffer.is_written)));
                taken |= u32::from(found.len() != before) << at;
            }
        }
        let number = pending.operations.begin(&of);
        for (_, buffer) in buffers.iter().enumerate().filter(|(at, _)| taken >> at & 1 == 0) {
            if !pending.add(number, buffer, by_instructions) {
                checker.words.is_full.store(1);
            }
        }
        pending.operations.end(number);
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
            buffer.each_run(|run| {
                if may_be_in_parts(&run) {
                    let of = (access, target, buffer.is_written);
                    self.access_run_in_parts((checker, waiter), of, &run);
                }
            });
        }
    }

    #[inline(never)]
    fn access_run_in_parts(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target, is_written): (&CheckedAccess, u32, bool),
        run: &Range<usize>,
    ) {
        let kind = if is_written { AccessKind::Result } else { AccessKind::Source };
        let access = CheckedAccess { kind, datatype: 0, op: 0, ..*access };
        for (window, rank, run) in checker.in_parts(run) {
            let of = (self.block, target);
            window.access_besides((checker, waiter), (&access, rank, run), of);
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
            buffers: OwnBuffers::default(),
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
        let is_one = |of: &PendingKey| of.is_at(self.block, target);
        self.completed_here((checker, waiter), call.name(), is_one, |state| {
            checker.complete_reads(state, |key| {
                key.window == self.block && target.is_none_or(|target| target == key.target)
            });
        });
    }

    /// Some of this rank's operations are complete in this process, by a call that is named so, and the state changes by `and`.
    /// Blocks while another rank uses the tables of the check.
    #[inline]
    pub(super) fn completed_here(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        name: &str,
        is_one: impl Fn(&PendingKey) -> bool,
        and: impl FnOnce(&mut CheckState),
    ) {
        let found = checker.with_state(|state| {
            let mut found = Vec::new();
            if has_binding() {
                checker.complete_fetches(state, &is_one);
                found = state.pending.complete(self.own, is_one);
            }
            and(state);
            found
        });
        if !found.is_empty() {
            record_changed((checker, waiter), name, &found);
        }
    }
}

/// The buffers of operations have changed before the call of that name that completes them.
#[cold]
#[inline(never)]
fn record_changed((checker, waiter): (&Checker, &Waiter<'_>), name: &str, found: &[FoundBuffer]) {
    // A binding may wait for locks of its language to find it.
    let line = line_by_binding().map_or_else(String::new, |line| format!(" at {line}"));
    let parts: Vec<_> = found.iter().map(|one| checker.in_parts(&one.at)).collect();
    let mut state = checker.state();
    let text = format!("before {name}{line}");
    let access = CheckedAccess::store();
    // If the job ends, so does the check.
    let new = checker.words.lock.0.run(SITES, waiter, |_| {
        let store = (checker.text(&mut state, &text), access.word());
        // In a part of this rank the operation of another one may have changed them, which is reported.
        let stored = found.iter().zip(&parts).filter(|(one, parts)| {
            let of = one.of.site;
            let is_it = |rank, run| report::is_changed_by_others(checker, of, rank, run);
            !parts.iter().any(|(_, rank, run)| is_it(*rank, *run))
        });
        let new = |(one, _): (&FoundBuffer, _)| record(checker, &mut state, one, (None, store));
        stored.filter_map(new).collect::<Vec<_>>()
    });
    drop(state);
    report::print(&new.unwrap_or_default());
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
    let of_block = |window: &Weak<CheckedWindow>| {
        window.upgrade().filter(|window| window.block == found.of.key.window)
    };
    let window = state.windows.iter().find_map(of_block);
    let window = window.map_or(0, |window| checker.text(state, &window.name()));
    let pair = RecordedPair {
        ranks: [checker.rank; 2],
        slots: [Some(found.of.slot), slot],
        calls: [(found.of.site, found.of.what), later],
    };
    let of = (window, found.of.key.target);
    report::record_pair(checker, &pair, of, Reason::Buffer, &found.bytes)
}
