//! One element, or a few in one shard, by an instruction each: the first lines of every accumulate.
//!
//! A thread that updates elements so announces it, which keeps those from them that update many
//! (`sync/shards.rs`). Each function returns whether it is done; if not, nothing is.
#![allow(unsafe_code, reason = "updates checked target memory")]

use super::target::are_disjoint;
use crate::call::Call;
use crate::datatype::{Carrier, Element, Integer};
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::shm::Piece;
use crate::window::{Atomicity, Communication, Target};
use bytemuck::must_cast;
use std::ptr::{from_mut, from_ref};

/// Elements that an update here has at most: more make the fixed costs of the other half small.
const FEW: usize = 64;

impl<'w> Communication<'w> {
    /// The first lines of an accumulate.
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

    #[inline(never)]
    fn try_accumulate_few<T: Element>(
        self,
        call: Call,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> bool {
        let Some(at) = self.elements(target, disp, origin.len(), [origin.as_ptr()]) else {
            return false;
        };
        let Some(operation) = T::operation(op) else { return false };
        self.announced(call, at, || {
            // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
            unsafe { (operation.few)(at.cast(), origin.as_ptr(), origin.len()) };
        })
        .is_some()
    }

    /// The first lines of a get_accumulate.
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
        let Some(at) = self.elements(target, disp, result.len(), buffers) else { return false };
        let Some(operation) = T::operation(op).filter(|_| origin.len() == result.len()) else {
            return false;
        };
        self.announced(call, at, || {
            for (i, (value, before)) in origin.iter().zip(result).enumerate() {
                // SAFETY: 1. and 2. by `elements`; 3. by invariant 4 of `shm`.
                *before = unsafe { (operation.fetch)(at.wrapping_add(i).cast(), *value) };
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
        let at = self.elements(target, disp, 1, buffers)?;
        let operation = T::operation(op)?;
        // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
        self.announced(call, at, || unsafe { (operation.fetch)(at.cast(), origin) })
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
        let at = self.elements(target, disp, 1, buffers)?;
        let (new, compare) = (must_cast(new), must_cast(compare));
        self.announced(Call::CompareAndSwap, at, || {
            // SAFETY: 1. and 2. by `elements`, and by invariant 4 of `shm`.
            must_cast(unsafe { T::Carrier::compare_exchange(at, compare, new) })
        })
    }

    /// The address of a few elements of a target, in one shard, if they are mapped, the machine updates
    /// such elements, and none of as many at each of `buffers` overlaps them. Not of pairs with padding, which
    /// no operation touches.
    #[inline(always)]
    fn elements<T: Element, const N: usize>(
        self,
        target: Rank,
        disp: u64,
        n: usize,
        buffers: [*const T; N],
    ) -> Option<*mut T::Carrier> {
        // Several elements are recorded where a rank may be left to ask.
        let are_few = n == 1 || (1..=FEW).contains(&n) && self.calls.context().records().is_none();
        if !T::Carrier::IS_NATIVE || T::DATATYPE.is_padded() || !are_few {
            return None;
        }
        let (size, bytes) = (size_of::<T>(), n * size_of::<T>());
        let at = self.reach(target)?.at(disp, bytes as u64)?;
        // Of two such elements one is the other, or they share no byte.
        let is_disjoint = |buffer: *const T| match n == 1 && align_of::<T>() == size {
            true => buffer.cast() != at.cast_const(),
            false => are_disjoint(buffer.cast(), at, bytes),
        };
        let is_whole = (at as usize).is_multiple_of(size)
            && (n == 1 || bytes <= self.calls.context().shards.rest(at));
        (is_whole && buffers.into_iter().all(is_disjoint)).then_some(at.cast())
    }

    /// Runs `f`, which updates elements at `at`, all in one shard, by instructions: a call that has passed its
    /// checks. `None`, and nothing has been done, if many are updated around them; the other half of the call
    /// is then next.
    #[inline(always)]
    fn announced<T, R>(self, call: Call, at: *const T, f: impl FnOnce() -> R) -> Option<R> {
        self.calls.epochs.operated();
        let context = self.calls.context();
        let in_call = context.enter(call, self.calls.block());
        let announced = context.shards.announce(at.cast())?;
        let result = f();
        announced.withdraw();
        in_call.end();
        Some(result)
    }

    /// [`Communication::announced`] within a call that blocks while many are updated around them.
    #[inline(always)]
    pub(super) fn by_instructions<R>(
        self,
        call: Call,
        at: *const u8,
        f: impl FnOnce() -> R,
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
    fn by_instructions_slowly<R>(
        self,
        call: Call,
        at: *const u8,
        f: impl FnOnce() -> R,
    ) -> Result<R> {
        let context = self.calls.context();
        let updated = context.shards.slowly(at, &context.excluded(), f);
        updated.map_err(|failed| self.calls.job_failed(failed, call))
    }

    /// The other half of a compare_and_swap.
    #[cold]
    pub(super) fn swap_slowly<T: Integer>(
        self,
        new: &T,
        compare: &T,
        result: &mut T,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let call = Call::CompareAndSwap;
        self.calls.within(call, || {
            let bytes = size_of::<T>();
            let Some(target) = self.target(call, target, disp, &(0..bytes as i64))? else {
                return Ok(());
            };
            for buffer in [new, compare, &*result] {
                self.check_disjoint(call, &target, disp, from_ref(buffer).cast(), bytes)?;
            }
            self.calls.epochs.operated();
            *result = match target.native::<T>() {
                Some(at) => {
                    let (compare, new) = (must_cast(*compare), must_cast(*new));
                    // SAFETY: 1. and 2. by `native`; 3. by invariant 4 of `shm`.
                    let swap = || unsafe { T::Carrier::compare_exchange(at, compare, new) };
                    must_cast(self.by_instructions(call, at.cast(), swap)?)
                }
                None if target.atomicity() == Atomicity::Owner => {
                    self.memory.swap_by_owner(self.calls, &target, new, compare)?
                }
                None => self.swap_excluded(&target, new, compare)?,
            };
            Ok(())
        })
    }

    /// Compares and swaps an element that no instruction updates.
    fn swap_excluded<T: Integer>(self, target: &Target<'_>, new: &T, compare: &T) -> Result<T> {
        let (call, bytes) = (Call::CompareAndSwap, size_of::<T>());
        let recording = self.record(call, target.rank, target.start, bytes as u64);
        let mut value = T::zeroed();
        let piece = |own: &mut T| [Piece { own: from_mut(own).cast(), other: target.at, bytes }];
        let swapped = self.excluded_at(call, target, || {
            // SAFETY: 1. `value`; `target` covers the element. 2. `value` is this function's own.
            unsafe { self.memory.read_pieces(self.calls, call, target, &piece(&mut value)) }?;
            let (old, mut next) = (value, if value == *compare { *new } else { value });
            // SAFETY: as above.
            unsafe { self.memory.write_pieces(self.calls, call, target, &piece(&mut next)) }?;
            Ok(old)
        });
        recording.end();
        swapped
    }
}
