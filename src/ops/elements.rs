//! The updates of elements under every accumulate.
//!
//! The fast path updates one element by an instruction, which the thread announces (`sync/shards.rs`). It updates
//! several contiguous elements of one shard by a vectorised loop, while no other thread updates elements there.
//! Each of its functions returns whether it is done; if it is not, nothing has changed.
//!
//! The slow path, [`Blocks`], uses strips: equal blocks of the origin, the target and the result. Elements
//! that an instruction can update are updated while no other thread is in their shards, and all others under
//! the target's exclusion. Blocks that are not contiguous are gathered first and put back afterwards.
//! [`super::update`] defines which elements those are.
//!
//! So no call sees a part of 16 aligned bytes that another call updates. Programs rely on that where they update
//! a small struct as bytes. The standard promises it only for each element.
#![allow(unsafe_code, reason = "updates checked target memory")]

use super::buffer::{load, store};
use super::late::{LateOperation, Lateness};
use super::layout::LocalLayout;
use super::target::{are_disjoint, pending_buffers, pending_elements};
use super::update::Update;
use crate::call::Call;
use crate::check::{AccessKind, CheckedAccess, CheckedWindow, Checker, OwnBuffers};
use crate::datatype::{Carrier, Element, Integer, Operation, TransferSide, update_native};
use crate::error::Result;
use crate::foreign::Results;
use crate::group::Rank;
use crate::op::Op;
use crate::prim::{Site, Step, step};
use crate::shm::{Direction, PartOf, Pattern, Piece, Steps, Strip, copy, copy_strip};
use crate::sync::shards::MOST;
use crate::window::{Atomicity, Communication, Target};
use bytemuck::must_cast;
use std::ops::Range;
use std::panic::Location;
use std::ptr::{from_mut, from_ref};
use std::slice;

/// Most elements that the fast path updates. It is low in test builds, so that every random program takes the
/// slow path, too.
const MOST_FIRST: usize = if cfg!(feature = "test-hooks") { 24 } else { usize::MAX };
/// Elements updated under one grant of the exclusion. A long accumulate then does not exclude short ones for its
/// whole length, and the values that it has read are still in the cache when it updates them.
const BATCH: usize = 512;
/// Elements of a batch that no kernel copies: each may have a cache line of its own, and all of these
/// are still in the nearest cache when they are put back.
const CLOSE: usize = 128;
/// Elements that one loop over origin and target updates, where no value of the target is kept. Test builds stop in the middle
/// of a long one.
const IN_PLACE: usize = if cfg!(feature = "test-hooks") { BATCH + BATCH / 2 } else { usize::MAX };
/// Most elements, each a block of its own, that are updated in place: gathering them costs more.
const SCATTERED: usize = 32;
/// Bytes that no grant of the exclusion divides, where they are aligned and contiguous.
const WHOLE: usize = 16;
/// The sides of a strip.
const ORIGIN: usize = 0;
const TARGET: usize = 1;
const RESULT: usize = 2;

impl<'w> Communication<'w> {
    /// The fast path of an accumulate.
    #[inline(always)]
    pub(super) fn try_accumulate<T: Element>(
        self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        match origin {
            [value] => {
                self.fetch_element(call, *value, [from_ref(value)], op, target, disp).is_some()
            }
            _ => self.try_accumulate_few(call, origin, op, target, disp),
        }
    }

    #[inline(always)]
    fn try_accumulate_few<T: Element>(
        self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let Some(at) = self.elements(self.reach(target), disp, origin.len(), [origin.as_ptr()])
        else {
            return false;
        };
        let Some(operation) = T::operation(op) else { return false };
        self.exclusively((call, target), at.cast(), size_of_val(origin), move || {
            // SAFETY: 1. by `elements` and the slice. 2. No other thread updates them; they are disjoint
            // from the slice, by `elements`, and no Rust reference names them, by invariant 4 of `shm`.
            unsafe { (operation.many)(at.cast(), origin) };
        })
        .is_some()
    }

    /// The fast path of a get_accumulate.
    #[inline(always)]
    pub(super) fn try_fetch<T: Element>(
        self,
        call: Call,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        if let ([value], [before]) = (origin, &mut *result) {
            let buffers = [from_ref(value), from_ref(before)];
            let old = self.fetch_element(call, *value, buffers, op, target, disp);
            return old.map(|old| *before = old).is_some();
        }
        self.try_fetch_few(call, origin, result, op, target, disp)
    }

    #[inline(never)]
    fn try_fetch_few<T: Element>(
        self,
        call: Call,
        origin: &[T],
        result: &mut [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let buffers = [origin.as_ptr(), result.as_ptr()];
        let Some(at) = self.elements(self.reach(target), disp, result.len(), buffers) else {
            return false;
        };
        let (n, fetches_only) = (result.len(), op == Op::NoOp);
        let Some(operation) = T::operation(op) else { return false };
        if origin.len() != n && !fetches_only {
            return false;
        }
        let bytes = size_of_val(result);
        self.exclusively((call, target), at.cast(), bytes, move || {
            // SAFETY: 1. by `elements` and the slice. 2. They are disjoint, by `elements`.
            unsafe { copy(at.cast(), result.as_mut_ptr().cast(), bytes) };
            if !fetches_only {
                // SAFETY: as in `try_accumulate_few`.
                unsafe { (operation.many)(at.cast(), origin) };
            }
        })
        .is_some()
    }

    /// Combines `origin` into one element, and returns what it was. The `buffers` are those of the call.
    #[inline(always)]
    pub(super) fn fetch_element<T: Element, const N: usize>(
        self,
        call: Call,
        origin: T,
        buffers: [*const T; N],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        let at = self.elements(self.reach(target), disp, 1, buffers)?;
        let operation = T::operation(op)?;
        // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
        self.announced((call, target), at, || unsafe { (operation.fetch)(at.cast(), origin) })
    }

    /// [`Communication::fetch_element`] in a shard where several elements are updated together, or have been, or of a job
    /// that counts its calls or is checked: the beginning of the slow path. The program has the buffers with a direction; `at` is its
    /// line, and the call is recorded if it `enters`. Blocks while they are.
    #[inline]
    pub(super) fn fetch_element_slowly<T: Element, const N: usize>(
        self,
        (call, op, at, enters): (Call, Op, &'static Location<'static>, bool),
        origin: T,
        (buffers, directions): ([*const T; N], [Option<Direction>; N]),
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        let element = self.elements(self.reach_at_once(target), disp, 1, buffers)?;
        self.expect_element(target, disp);
        let operation = T::operation(op)?;
        let bytes = size_of::<T>() as u64;
        let _call = enters.then(|| self.calls.enter_operation(call, target, bytes));
        // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
        let fetch = || unsafe { (operation.fetch)(element.cast(), origin) };
        self.calls.epochs.operated();
        if self.calls.check().is_none() {
            return self.by_instructions(call, element.cast(), fetch).ok();
        }
        let target = self.memory.mapped(target.0, disp, element.cast());
        self.fetch_element_checked((call, op, at), &target, (buffers, directions), || {
            self.by_instructions(call, element.cast(), fetch)
        })
    }

    /// What the check of a job knows of an element that exists comes into the cache.
    #[inline]
    fn expect_element(self, target: Rank, disp: u64) {
        if let Some((_, window)) = self.calls.check() {
            window.expect_access(target.0, self.memory.start_of(target.0, disp));
        }
    }

    /// [`Communication::update_slowly`] of a value, which fetches nothing.
    #[inline]
    #[track_caller]
    pub(super) fn value_slowly<T: Element>(
        self,
        call: Call,
        value: &T,
        op: Op,
        (target, disp): (Rank, u64),
    ) -> Result<()> {
        let of = (call, op, Location::caller(), false);
        self.calls.within_operation((call, target, size_of::<T>() as u64), || {
            let buffers = ([from_ref(value)], [Some(Direction::Put)]);
            if self.fetch_element_slowly(of, *value, buffers, target, disp).is_some() {
                return Ok(());
            }
            let slices = (slice::from_ref(value), None);
            let update = Update::slices(call, slices, op, (target, disp));
            self.update_in_call(&Update { at: of.2, ..update })
        })
    }

    /// Does by `fetch` what [`Communication::fetch_element_slowly`] does in a checked job.
    #[cold]
    #[inline(never)]
    fn fetch_element_checked<T: Element, const N: usize>(
        self,
        (call, op, at): (Call, Op, &'static Location<'static>),
        target: &Target<'_>,
        (buffers, directions): ([*const T; N], [Option<Direction>; N]),
        fetch: impl FnOnce() -> Result<T>,
    ) -> Option<T> {
        let check = self.calls.check()?;
        let kind = if op == Op::NoOp { AccessKind::Fetch } else { AccessKind::Update };
        let (datatype, op) = (T::DATATYPE as u8, op as u8 + 1);
        let access = CheckedAccess { call, kind, datatype, op, at };
        let fetches = directions.contains(&Some(Direction::Get));
        let own = buffers.into_iter().zip(directions);
        let own = own.filter_map(|(at, direction)| Some((at, direction?)));
        let own = pending_elements(own);
        self.report_element(check, target, (access, own, fetches), |_| None, fetch).ok()?
    }

    /// [`Communication::report`] of an accumulate of one element in a checked job, which `act` does; `fetches` if what that
    /// returns is the program's. Returns `None` if `delayed` does it.
    #[inline]
    fn report_element<T: Element>(
        self,
        check: (&'w Checker, &'w CheckedWindow),
        target: &Target<'_>,
        (access, buffers, fetches): (CheckedAccess, OwnBuffers, bool),
        delayed: impl FnOnce(&Lateness<'_>) -> Option<LateOperation>,
        act: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        let bytes = size_of::<T>();
        // No `Option`, which would be read as a whole right after its halves were written.
        let (mut found, mut is_done) = (T::zeroed(), false);
        let (mut act, mut failed) = (Some(act), Ok(()));
        let mut once = || match act.take().map(|act| act()) {
            Some(Ok(value)) => {
                (found, is_done) = (value, true);
                if fetches {
                    self.report_fetched(target, 0..bytes as i64);
                }
            }
            Some(Err(error)) => failed = Err(error),
            None => {}
        };
        let of = (bytes as u64, &*buffers);
        if !self.report_short(check, &access, target, of, &mut once) {
            let described = (access, ([TransferSide::Packed(bytes as u64)], 0), buffers);
            let act = || {
                self.report_updating(target, 0..bytes as i64);
                once();
            };
            self.report_any(check, target, described, delayed, act)?;
        }
        failed.map(|()| is_done.then_some(found))
    }

    /// Compares and swaps one element, and returns what it was; `buffers` as of [`Communication::fetch_element`].
    #[inline(always)]
    pub(super) fn swap_element<T: Integer, const N: usize>(
        self,
        (new, compare): (T, T),
        buffers: [*const T; N],
        target: Rank,
        disp: u64,
    ) -> Option<T> {
        let at = self.elements(self.reach(target), disp, 1, buffers)?;
        let (new, compare) = (must_cast(new), must_cast(compare));
        self.announced((Call::CompareAndSwap, target), at, || {
            // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
            must_cast(unsafe { T::Carrier::compare_exchange(at, compare, new) })
        })
    }

    /// The address of elements of a target, which has been reached as `part`. `None` unless
    /// instructions update such elements, and none of as many at each of `buffers` overlaps them. `None` for pairs with padding,
    /// because no operation changes padding.
    #[inline(always)]
    fn elements<T: Element, const N: usize>(
        self,
        part: Option<PartOf<'w>>,
        disp: u64,
        n: usize,
        buffers: [*const T; N],
    ) -> Option<*mut T::Carrier> {
        // Several elements are recorded where a rank may be left to ask.
        let is_first =
            n == 1 || (1..=MOST_FIRST).contains(&n) && self.calls.context().records().is_none();
        if !T::Carrier::IS_NATIVE || T::DATATYPE.is_padded() || !is_first {
            return None;
        }
        let (size, bytes) = (size_of::<T>(), n * size_of::<T>());
        let at = part?.at(disp, bytes as u64)?;
        for buffer in &buffers {
            // Of two such elements one is the other, or they share no byte.
            let is_disjoint = match n == 1 && align_of::<T>() == size {
                true => buffer.cast() != at.cast_const(),
                false => are_disjoint(buffer.cast(), at, bytes),
            };
            if !is_disjoint {
                return None;
            }
        }
        (at as usize).is_multiple_of(size).then_some(at.cast())
    }

    /// Runs `f`, which updates the element at `at` by an instruction, in a call that has passed its checks. Returns
    /// `None`, and does nothing, if several elements around it are updated together; the slow path is next.
    #[inline(always)]
    fn announced<T, R>(
        self,
        (call, target): (Call, Rank),
        at: *const T,
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        self.calls.epochs.operated();
        let context = self.calls.context();
        let in_call = self.calls.try_operation(call, target, size_of::<T>() as u64);
        let Some(announced) = context.shards.announce(at.cast()) else {
            in_call.begin_again();
            return None;
        };
        let result = f();
        announced.withdraw();
        in_call.end();
        Some(result)
    }

    /// Runs `f`, which updates the `bytes` bytes at `at` in any way, in a call that has passed its checks. Blocks while
    /// elements around them are updated. Returns `None`, and does nothing, if one grant does not cover them, the job
    /// has failed, or elements are updated by instructions only; the slow path is next.
    #[inline(always)]
    fn exclusively<R>(
        self,
        (call, target): (Call, Rank),
        at: *const u8,
        bytes: usize,
        f: impl FnMut() -> R,
    ) -> Option<R> {
        self.calls.epochs.operated();
        let context = self.calls.context();
        let in_call = self.calls.try_operation(call, target, bytes as u64);
        let updated = match context.shards.grants(at, bytes) {
            true => context.shards.exclusively(at, bytes, || context.excluded(), f),
            false => Ok(None),
        };
        let updated = updated.ok().flatten();
        if updated.is_some() {
            in_call.end()
        } else {
            in_call.begin_again()
        }
        updated
    }

    /// [`Communication::announced`] within a call that blocks while many are updated around them.
    #[inline(always)]
    pub(super) fn by_instructions<R>(
        self,
        call: Call,
        at: *const u8,
        mut f: impl FnMut() -> R,
    ) -> Result<R> {
        match self.calls.context().shards.announce(at) {
            Some(announced) => {
                let result = f();
                announced.withdraw();
                Ok(result)
            }
            None => self.by_instructions_slowly(call, at, f),
        }
    }

    #[cold]
    #[inline(never)]
    fn by_instructions_slowly<R>(
        self,
        call: Call,
        at: *const u8,
        f: impl FnMut() -> R,
    ) -> Result<R> {
        let context = self.calls.context();
        let updated = context.shards.slowly(at, || context.excluded(), f);
        updated.map_err(|failed| self.calls.job_failed(failed, call))
    }

    /// The slow path of a compare_and_swap of the new and the compared value, with the addresses of both and of the
    /// result; `buffers` are those that the program must not use yet. Returns what the element was; `None` if there is
    /// nothing to do, or `delayed` does it.
    #[cold]
    #[track_caller]
    pub(super) fn swap_slowly<T: Integer>(
        self,
        ((new, compare), places): ((T, T), [*const u8; 3]),
        (target, disp): (Rank, u64),
        buffers: &[(LocalLayout<'_>, Direction)],
        delayed: impl FnOnce(&Lateness<'_>) -> Option<LateOperation>,
    ) -> Result<Option<T>> {
        let (call, at) = (Call::CompareAndSwap, Location::caller());
        self.calls.within_operation((call, target, size_of::<T>() as u64), || {
            let bytes = size_of::<T>();
            let reached = self.reach_at_once(target);
            let target = match self.elements(reached, disp, 1, places.map(<*const u8>::cast::<T>)) {
                Some(element) => {
                    self.expect_element(target, disp);
                    self.memory.mapped(target.0, disp, element.cast())
                }
                None => {
                    let Some(target) = self.target(call, target, disp, &(0..bytes as i64))? else {
                        return Ok(None);
                    };
                    for place in places {
                        self.check_disjoint(call, &target, disp, place, bytes)?;
                    }
                    target
                }
            };
            self.calls.epochs.operated();
            let swap = || self.swap_at(&target, &new, &compare);
            let Some(check) = self.calls.check() else { return swap().map(Some) };
            let (kind, datatype) = (AccessKind::Update, T::DATATYPE as u8);
            let access = CheckedAccess { call, kind, datatype, op: 0, at };
            let of = (access, pending_buffers(buffers.iter().copied()), true);
            self.report_element(check, &target, of, delayed, swap)
        })
    }

    /// [`Communication::swap_element`] in a checked job, which records the call. `None` also if the job ends.
    #[track_caller]
    pub(super) fn swap_element_checked<T: Integer>(
        self,
        (new, compare): (T, T),
        buffers: [*const T; 3],
        (target, disp): (Rank, u64),
    ) -> Option<T> {
        let (call, at) = (Call::CompareAndSwap, Location::caller());
        let element = self.elements(self.reach_at_once(target), disp, 1, buffers)?;
        let check = self.calls.check()?;
        self.expect_element(target, disp);
        let _call = self.calls.enter_operation(call, target, size_of::<T>() as u64);
        self.calls.epochs.operated();
        let target = self.memory.mapped(target.0, disp, element.cast());
        let (kind, datatype) = (AccessKind::Update, T::DATATYPE as u8);
        let access = CheckedAccess { call, kind, datatype, op: 0, at };
        let directions = [Direction::Put, Direction::Put, Direction::Get];
        let own = pending_elements(buffers.into_iter().zip(directions));
        let (new, compare) = (must_cast(new), must_cast(compare));
        let swap = || {
            self.by_instructions(call, element.cast(), || {
                // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
                must_cast(unsafe { T::Carrier::compare_exchange(element, compare, new) })
            })
        };
        self.report_element(check, &target, (access, own, true), |_| None, swap).ok()?
    }

    /// Compares and swaps an element that was reported before; returns what it was.
    pub(super) fn swap_late<T: Integer>(
        self,
        target: &Target<'_>,
        new: &T,
        compare: &T,
    ) -> Result<T> {
        let range = 0..size_of::<T>() as i64;
        self.report_updating(target, range.clone());
        let before = self.swap_at(target, new, compare)?;
        self.report_fetched(target, range);
        Ok(before)
    }

    /// Compares and swaps an element, which has been checked; returns what it was.
    fn swap_at<T: Integer>(self, target: &Target<'_>, new: &T, compare: &T) -> Result<T> {
        let call = Call::CompareAndSwap;
        Ok(match target.native::<T>() {
            Some(at) => {
                let (compare, new) = (must_cast(*compare), must_cast(*new));
                // SAFETY: 1. and 2. by `native`; 3. by invariant 4 of `shm`.
                let swap = || unsafe { T::Carrier::compare_exchange(at, compare, new) };
                must_cast(self.by_instructions(call, at.cast(), swap)?)
            }
            None if target.atomicity() == Atomicity::Owner => {
                self.memory.swap_by_owner(self.calls, target, new, compare)?
            }
            None => self.swap_excluded(target, new, compare)?,
        })
    }

    /// Compares and swaps an element that no instruction updates.
    fn swap_excluded<T: Integer>(self, target: &Target<'_>, new: &T, compare: &T) -> Result<T> {
        let (calls, call, bytes) = (self.calls, Call::CompareAndSwap, size_of::<T>());
        let recording = self.record(call, target.rank, target.start, bytes as u64);
        let mut value = T::zeroed();
        let piece = |own: &mut T| [Piece { own: from_mut(own).cast(), other: target.at, bytes }];
        let swapped = self.excluded_at(call, target, || {
            // SAFETY: 1. `value`; `target` covers the element. 2. `value` is this function's own.
            unsafe {
                self.memory.move_pieces(
                    calls,
                    call,
                    (Direction::Get, target),
                    &piece(&mut value),
                    None,
                )
            }?;
            let (old, mut next) = (value, if value == *compare { *new } else { value });
            // SAFETY: as above.
            unsafe {
                self.memory.move_pieces(
                    calls,
                    call,
                    (Direction::Put, target),
                    &piece(&mut next),
                    None,
                )
            }?;
            Ok(old)
        });
        recording.end();
        swapped
    }
}

/// A checked accumulate. All blocks of its strips are entries of checked layouts; those of a side that does not
/// exist are never read.
pub(super) struct Blocks<'a, T> {
    pub(super) parts: Communication<'a>,
    /// Where the values before may wait, whose guard keeps the result borrowed.
    pub(super) results: Option<&'a Results>,
    pub(super) call: Call,
    pub(super) op: Op,
    /// What `op` is on these elements.
    pub(super) operation: &'a Operation<T>,
    pub(super) target: &'a Target<'a>,
    /// Where displacement 0 of the origin lies, if there is one; otherwise the operation is
    /// [`Op::NoOp`].
    pub(super) origin: Option<*const u8>,
    /// As much of the result.
    pub(super) result: Option<*mut u8>,
    /// Space for a batch of target values, and behind it for one of origin values.
    pub(super) scratch: Vec<T>,
    /// Elements that are done.
    pub(super) done: usize,
}

impl<T: Element> Blocks<'_, T> {
    /// Updates the blocks of a strip. Blocks while others update elements around them.
    pub(super) fn strip(&mut self, strip: &Strip<'_, 3>) -> Result<()> {
        let elements = strip.bytes / size_of::<T>();
        if self.target.atomicity() == Atomicity::Owner {
            return (0..strip.blocks).try_for_each(|block| self.by_owner(&strip.part(block, 1)));
        }
        if elements > BATCH || T::DATATYPE.is_padded() && elements > 1 {
            return each_alone(strip, size_of::<T>(), |alone| self.strip(alone));
        }
        let mut rest = *strip;
        loop {
            let done = match self.is_native(self.at(&rest, 0)) {
                true => self.native(&rest)?,
                false => self.excluded(&rest)?,
            };
            if done == rest.blocks {
                return Ok(());
            }
            rest = rest.part(done, rest.blocks - done);
        }
    }

    /// The address of a block at the target.
    #[inline(always)]
    fn at(&self, strip: &Strip<'_, 3>, block: usize) -> *mut u8 {
        self.target.at.wrapping_offset(strip.patterns[TARGET].block(block) as isize)
    }

    /// Whether the elements of a block at `at` are updated by instructions.
    #[inline(always)]
    fn is_native(&self, at: *mut u8) -> bool {
        let by_instructions = self.target.atomicity() == Atomicity::Instructions;
        T::Carrier::IS_NATIVE && by_instructions && (at as usize).is_multiple_of(size_of::<T>())
    }

    /// Has the owner of the memory update the only block of a strip.
    #[cold]
    fn by_owner(&mut self, strip: &Strip<'_, 3>) -> Result<()> {
        let n = strip.bytes / size_of::<T>();
        let [from, at, into] = strip.patterns.map(|pattern| pattern.block(0));
        let place = |base: *const u8, at: i64, i: usize| {
            base.wrapping_offset(at as isize).wrapping_add(i * size_of::<T>())
        };
        // SAFETY: an element of the origin.
        let value = |origin, i| unsafe { load::<T>(place(origin, from, i)) };
        let origin = self.origin.iter().flat_map(|origin| (0..n).map(|i| value(*origin, i)));
        let operands: Vec<T> = origin.collect();
        let target = self.target.part(at);
        let Communication { calls, memory } = self.parts;
        // A copy of pairs with padding writes it too.
        let results = self.results.filter(|_| !T::DATATYPE.is_padded());
        if let (Some(result), Some(results)) = (self.result, results) {
            let (at, to) = ((calls, self.call), place(result, into, 0).cast_mut());
            let buffers = (&operands[..], to, n);
            // SAFETY: `n` elements of the result, in a block; by `Update` the guard with the results keeps them
            // borrowed.
            return unsafe { memory.fetch_by_owner(at, self.op, &target, buffers, results) };
        }
        let mut before = vec![T::zeroed(); if self.result.is_some() { n } else { 0 }];
        let buffers = (&operands[..], &mut before[..]);
        memory.update_by_owner(calls, self.call, self.op, &target, buffers)?;
        for (i, value) in before.iter().enumerate() {
            let result = self.result.expect("there are values for it");
            // SAFETY: an element of the result; `before` is this function's own.
            unsafe { store(value, place(result, into, i).cast_mut()) };
        }
        Ok(())
    }

    /// Updates blocks that instructions update, from the first on; how many.
    fn native(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        let elements = strip.bytes / size_of::<T>();
        // A loop over the target would write the padding of pairs.
        if strip.blocks * elements == 1 || T::DATATYPE.is_padded() {
            return self.by_instructions(strip);
        }
        let (near, first, end) = self.near(strip);
        if near * elements <= 1 {
            return self.by_instructions(&strip.part(0, 1));
        }
        let part = strip.part(0, near);
        self.make_space(&part);
        let (calls, call) = (self.parts.calls, self.call);
        let (context, bytes) = (calls.context(), end as usize - first as usize);
        let waiter = || context.excluded();
        let updated = context.shards.exclusively(first, bytes, waiter, || self.batches(&part));
        match updated.map_err(|failed| calls.job_failed(failed, call))? {
            Some(updated) => updated.map(|()| near),
            None => self.by_instructions(&part),
        }
    }

    /// How many blocks, from the first on, instructions could update, all within the memory that one
    /// update of many elements reaches; where they begin, and where they end.
    fn near(&self, strip: &Strip<'_, 3>) -> (usize, *mut u8, *mut u8) {
        let at = self.at(strip, 0);
        let reach = self.parts.calls.context().shards.around(MOST, at);
        if is_dense(strip, TARGET) {
            let blocks = strip.blocks.min((reach.end - at as usize) / strip.bytes);
            return (blocks, at, at.wrapping_add(blocks * strip.bytes));
        }
        let (mut low, mut high) = (at as usize, at as usize);
        let is_near = |block: &usize| {
            let first = self.at(strip, *block);
            let (begin, end) = (first as usize, first as usize + strip.bytes);
            let near = reach.start <= begin && end <= reach.end && self.is_native(first);
            if near {
                (low, high) = (low.min(begin), high.max(end));
            }
            near
        };
        let blocks = (0..strip.blocks).take_while(is_near).count();
        (blocks, at.with_addr(low), at.with_addr(high))
    }

    /// Updates native blocks, the first and those that follow it, element by element, announced as
    /// long as they stay in one shard; how many.
    fn by_instructions(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        // Copies, which need not be read again behind every update.
        let (parts, call, strip, target) = (self.parts, self.call, *strip, self.target.at);
        let function = self.operation.one;
        let one = One { op: self.op, function, origin: self.origin, result: self.result };
        let place = |side: usize, block, within: usize| {
            (strip.patterns[side].block(block) as isize).wrapping_add(within as isize)
        };
        let done = self.done;
        let (mut block, mut within, mut is_native) = (0, 0, true);
        while block < strip.blocks && is_native {
            let first = target.wrapping_offset(place(TARGET, block, within));
            let shard = parts.calls.context().shards.around(1, first);
            parts.by_instructions(call, first, || {
                while block < strip.blocks {
                    let at = target.wrapping_offset(place(TARGET, block, within));
                    is_native = (at as usize).is_multiple_of(size_of::<T>());
                    if !is_native || !shard.contains(&(at as usize)) {
                        return;
                    }
                    let done = done + (block * strip.bytes + within) / size_of::<T>();
                    pass_middle(done..done + 1);
                    one.update(at.cast(), |side| place(side, block, within));
                    within += size_of::<T>();
                    if within == strip.bytes {
                        (block, within) = (block + 1, 0);
                    }
                }
            })?;
        }
        self.done += block * (strip.bytes / size_of::<T>());
        Ok(block)
    }

    /// Updates blocks that no instruction updates, from the first on, under one grant of the
    /// target's exclusion; how many. Blocks while it is held.
    fn excluded(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        let mut most = strip.blocks.min(BATCH / (strip.bytes / size_of::<T>()));
        if most < strip.blocks && is_dense(strip, TARGET) {
            // The next grant begins with whole bytes.
            most -= (self.at(strip, most) as usize % WHOLE / strip.bytes).min(most - 1);
        }
        let is_native = |block: &usize| self.is_native(self.at(strip, *block));
        let blocks = (1..most).find(is_native).unwrap_or(most);
        let part = strip.part(0, blocks);
        self.make_space(&part);
        let (parts, call, target) = (self.parts, self.call, self.target);
        parts.excluded_at(call, target, || self.batches(&part))?;
        Ok(blocks)
    }

    /// Before other ranks are excluded: nothing is allocated meanwhile.
    fn make_space(&mut self, strip: &Strip<'_, 3>) {
        let elements = (strip.blocks * strip.bytes / size_of::<T>()).min(BATCH);
        let needs_space = !self.is_scattered(&dense(strip)) && self.in_place(strip).is_none();
        if self.scratch.len() < 2 * elements && needs_space {
            self.scratch.resize(2 * elements, T::zeroed());
        }
    }

    /// The target's and the origin's values, if both lie behind one another where a loop can take them.
    fn in_place(&self, strip: &Strip<'_, 3>) -> Option<(*mut T, *const T)> {
        let at = self.at(strip, 0);
        let from = match self.origin {
            Some(origin) => {
                let from = origin.wrapping_offset(strip.patterns[ORIGIN].block(0) as isize);
                is_dense(strip, ORIGIN).then_some(from.cast::<T>())?
            }
            None => std::ptr::null(),
        };
        let is_native = self.is_native(at) && !T::DATATYPE.is_padded();
        (is_native && is_dense(strip, TARGET) && from.is_aligned()).then_some((at.cast(), from))
    }

    /// Updates blocks, a batch at a time, while no other thread updates their elements.
    fn batches(&mut self, strip: &Strip<'_, 3>) -> Result<()> {
        let is_near = self.target.is_addressed() && !is_dense(strip, TARGET);
        let most = match is_near {
            true => CLOSE,
            false if self.result.is_none() && self.in_place(strip).is_some() => IN_PLACE,
            false => BATCH,
        };
        let most = (most / (strip.bytes / size_of::<T>())).max(1);
        (0..strip.blocks).step_by(most).try_for_each(|first| {
            let part = strip.part(first, most.min(strip.blocks - first));
            let n = part.blocks * part.bytes / size_of::<T>();
            pass_middle(self.done..self.done + n);
            self.done += n;
            self.batch(&if T::DATATYPE.is_padded() { part } else { dense(&part) }, n)
        })
    }

    /// Whether the blocks are elements that are updated in place.
    fn is_scattered(&self, strip: &Strip<'_, 3>) -> bool {
        let are_elements = strip.bytes == size_of::<T>() && strip.blocks <= SCATTERED;
        are_elements && self.target.is_addressed() && !T::DATATYPE.is_padded()
    }

    /// Updates the elements of a strip in place.
    fn scattered(&self, strip: &Strip<'_, 3>) {
        // What the stores cannot change is loaded once.
        let ([from, at, into], one) = (strip.patterns, self.operation.one);
        let (target, result) = (self.target.at, self.result);
        let origin = self.origin.filter(|_| self.op != Op::NoOp);
        for block in 0..strip.blocks {
            let at = target.wrapping_offset(at.block(block) as isize);
            // SAFETY: an element of the target.
            let old = unsafe { load::<T>(at) };
            if let Some(result) = result {
                let into = result.wrapping_offset(into.block(block) as isize);
                // SAFETY: an element of the result; `old` is this function's own.
                unsafe { store(&old, into) };
            }
            if let Some(origin) = origin {
                let from = origin.wrapping_offset(from.block(block) as isize);
                // SAFETY: an element of the origin.
                let operand = unsafe { load::<T>(from) };
                // SAFETY: an element of the target, which no other thread updates.
                unsafe { store(&one(old, operand), at) };
            }
        }
    }

    /// Updates the `n` elements of a batch.
    fn batch(&mut self, strip: &Strip<'_, 3>, n: usize) -> Result<()> {
        if self.is_scattered(strip) {
            self.scattered(strip);
            return Ok(());
        }
        let in_place = self.in_place(strip);
        let [origin_pattern, pattern, result_pattern] = strip.patterns;
        let (bytes, blocks) = (strip.bytes, strip.blocks);
        let packed = Pattern::even(0, bytes as i64);
        let between = |from, to| Strip { patterns: [from, to], bytes, blocks };
        let own = between(packed, pattern);
        let (values, operands) = match in_place {
            Some(places) => places,
            None => {
                let half = self.scratch.len() / 2;
                let (values, operands) = self.scratch.split_at_mut(half);
                (values[..n].as_mut_ptr(), operands[..n].as_mut_ptr().cast_const())
            }
        };
        if in_place.is_none() {
            // SAFETY: 1. entries of the target; space for as many. 2. It is this process's own.
            unsafe { self.exchange(Direction::Get, values.cast(), &own) }?;
        }
        if let Some(result) = self.result {
            // SAFETY: 1. as above; entries of the result. 2. As above, or found disjoint.
            unsafe { copy_elements::<T>(values.cast(), result, &between(packed, result_pattern)) };
        }
        if self.op == Op::NoOp {
            return Ok(());
        }
        if let (Some(origin), None) = (self.origin, in_place) {
            let operands = operands.cast_mut().cast();
            // SAFETY: 1. entries of the origin; space for as many. 2. As above.
            unsafe { copy_elements::<T>(origin, operands, &between(origin_pattern, packed)) };
        }
        // SAFETY: `n` elements of the origin, aligned, or of a vector that only this thread has.
        let operands = unsafe { slice::from_raw_parts(operands, n) };
        // SAFETY: 1. as many of the target, likewise, and disjoint from those. 2. No other thread updates them.
        unsafe { (self.operation.many)(values, operands) };
        match in_place {
            Some(_) => Ok(()),
            // SAFETY: as of the other direction.
            None => unsafe { self.exchange(Direction::Put, values.cast(), &own) },
        }
    }

    /// Copies the elements of a strip between own memory and the target, whose patterns those are.
    ///
    /// # Safety
    /// The obligations of [`copy_elements`], in that direction.
    unsafe fn exchange(&self, direction: Direction, own: *mut u8, strip: &Strip<'_>) -> Result<()> {
        let (at, [own_pattern, pattern]) = (self.target.at, strip.patterns);
        if !self.target.is_addressed() {
            let Communication { calls, memory } = self.parts;
            let pieces = self.pieces(own, strip);
            // SAFETY: the caller's obligations.
            return unsafe {
                memory.move_pieces(calls, self.call, (direction, self.target), &pieces, None)
            };
        }
        match direction {
            // SAFETY: the caller's obligations.
            Direction::Put => unsafe { copy_elements::<T>(own, at, strip) },
            Direction::Get => {
                let strip = Strip { patterns: [pattern, own_pattern], ..*strip };
                // SAFETY: the caller's obligations.
                unsafe { copy_elements::<T>(at, own, &strip) }
            }
        }
        Ok(())
    }

    /// The numbers of such elements, block by block.
    fn pieces(&self, own: *mut u8, strip: &Strip<'_>) -> Vec<Piece> {
        let pieces = |block: usize| {
            let [own_at, at] = strip.patterns.map(|pattern| pattern.block(block) as isize);
            let (own, other) = (own.wrapping_offset(own_at), self.target.at.wrapping_offset(at));
            let numbers = T::DATATYPE.numbers(strip.bytes).into_iter();
            numbers.filter(|(_, bytes)| *bytes > 0).map(move |(at, bytes)| Piece {
                own: own.wrapping_add(at),
                other: other.wrapping_add(at),
                bytes,
            })
        };
        (0..strip.blocks).flat_map(pieces).collect()
    }
}

impl Communication<'_> {
    /// Runs `f`, which updates elements of `target` that no instruction updates. Blocks while others do.
    pub(super) fn excluded_at<R>(
        self,
        call: Call,
        target: &Target<'_>,
        f: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let sites = (Site::AccumulatePost, Site::AccumulatePre);
        let exclusion = self.memory.exclusion(target.rank);
        let updated = exclusion.run(sites, &self.calls.excluded(), f);
        updated.map_err(|failed| self.calls.job_failed(failed, call))?
    }
}

/// Whether the blocks of a side lie behind one another.
fn is_dense(strip: &Strip<'_, 3>, side: usize) -> bool {
    let dense = |stride| stride == strip.bytes as i64;
    strip.blocks == 1 || matches!(strip.patterns[side].steps, Steps::Even(stride) if dense(stride))
}

/// The same elements as one block, if they lie behind one another on all sides.
fn dense<'a>(strip: &Strip<'a, 3>) -> Strip<'a, 3> {
    match (0..3).all(|side| is_dense(strip, side)) {
        true => Strip { bytes: strip.bytes * strip.blocks, blocks: 1, ..*strip },
        false => *strip,
    }
}

/// Calls `each` with strips of the same elements, each in a block of its own.
fn each_alone(
    strip: &Strip<'_, 3>,
    bytes: usize,
    mut each: impl FnMut(&Strip<'_, 3>) -> Result<()>,
) -> Result<()> {
    (0..strip.blocks).try_for_each(|block| {
        let patterns =
            strip.patterns.map(|pattern| Pattern::even(pattern.block(block), bytes as i64));
        each(&Strip { patterns, bytes, blocks: strip.bytes / bytes })
    })
}

/// Before elements of an accumulate: test builds pass the middle of a long one.
#[inline(always)]
fn pass_middle(elements: Range<usize>) {
    if cfg!(feature = "test-hooks") && elements.contains(&(BATCH + BATCH / 2)) {
        step(Step::MidAccumulate);
    }
}

/// [`copy_strip`] of elements. A pair with padding is a block of its own, and its padding is not copied.
///
/// # Safety
/// The obligations of [`copy_strip`], of the numbers of all elements.
#[inline(always)]
unsafe fn copy_elements<T: Element>(from: *const u8, to: *mut u8, strip: &Strip<'_>) {
    if !T::DATATYPE.is_padded() {
        // SAFETY: the caller's obligations.
        return unsafe { copy_strip(from, to, strip) };
    }
    for block in 0..strip.blocks {
        let [from_at, to_at] =
            strip.patterns.each_ref().map(|pattern| pattern.block(block) as isize);
        // SAFETY: the caller's obligation 1.
        let value = unsafe { load::<T>(from.wrapping_offset(from_at)) };
        // SAFETY: the caller's obligations 1 and 2.
        unsafe { store(&value, to.wrapping_offset(to_at)) };
    }
}

/// The update of one element by an instruction.
struct One<T> {
    op: Op,
    function: fn(T, T) -> T,
    /// As in [`Blocks`].
    origin: Option<*const u8>,
    result: Option<*mut u8>,
}

impl<T: Element> One<T> {
    /// Of the element at `at`, which is an entry of the target, announced and native; `place` returns
    /// where in the others it is.
    #[inline(always)]
    fn update(&self, at: *mut T::Carrier, place: impl Fn(usize) -> isize) {
        let operand = match self.origin {
            // SAFETY: an element of the origin.
            Some(origin) => unsafe { load(origin.wrapping_offset(place(ORIGIN))) },
            None => T::zeroed(),
        };
        // SAFETY: 1. and 2. an element of the target, native. 3. by invariant 4 of `shm`.
        let old = unsafe { update_native(at, self.op, self.function, operand) };
        if let Some(result) = self.result {
            // SAFETY: an element of the result; `old` is this function's own.
            unsafe { store(&old, result.wrapping_offset(place(RESULT))) };
        }
    }
}
