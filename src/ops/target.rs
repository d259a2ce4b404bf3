//! From (rank, displacement, bytes) to checked memory: every range check of the operations.

use super::late::{LateOperation, Lateness};
use super::layout::LocalLayout;
use crate::call::Call;
use crate::check::{AccessKind, AccessedBytes, ByteRun, CheckedAccess, CheckedWindow, Checker};
use crate::check::{EpochKind, OwnBuffer, OwnBuffers};
use crate::datatype::{Datatype, TransferSide, zip_sides};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::has_binding;
use crate::shm::{Direction, ONE_STORE, PartOf, is_one_store};
use crate::window::{Communication, Target};
use std::cell::Cell;
use std::ops::Range;
use std::panic::Location;

/// Whether `bytes` bytes at `a` and at `b` do not overlap.
#[inline(always)]
pub(super) fn are_disjoint(a: *const u8, b: *const u8, bytes: usize) -> bool {
    let (a, b) = (a as usize, b as usize);
    match is_one_store(bytes) {
        // The same in one comparison: `a` is none of the addresses from 7 before `b` to 7 behind.
        true => a.wrapping_sub(b).wrapping_add(ONE_STORE - 1) >= 2 * ONE_STORE - 1,
        false => a.abs_diff(b) >= bytes,
    }
}

thread_local! {
    /// Memory for the runs of an operation of a checked job.
    static RUNS: Cell<Vec<ByteRun>> = const { Cell::new(Vec::new()) };
}

/// The buffers of an operation in this process, if the program must not use them yet when its call returns.
#[inline]
pub(super) fn pending_buffers<'a>(
    own: impl Iterator<Item = (LocalLayout<'a>, Direction)>,
) -> OwnBuffers {
    let mut buffers = OwnBuffers::default();
    if has_binding() {
        own.for_each(|(own, direction)| {
            let is_written = direction == Direction::Get;
            buffers.push(match own.layout.plain() {
                Some(bytes) => {
                    OwnBuffer::block(own.zero.expose_provenance(), bytes as u64, is_written)
                }
                None => OwnBuffer::of(own.layout.pieces(own.zero), is_written),
            });
        });
    }
    buffers
}

/// The same of elements at some addresses.
#[inline]
pub(super) fn pending_elements<T>(own: impl Iterator<Item = (*const T, Direction)>) -> OwnBuffers {
    let mut buffers = OwnBuffers::default();
    if has_binding() {
        own.for_each(|(at, direction)| {
            let (at, bytes) = (at.expose_provenance(), size_of::<T>() as u64);
            buffers.push(OwnBuffer::block(at, bytes, direction == Direction::Get));
        });
    }
    buffers
}

/// An operation for the check of a job: see [`Communication::report`].
type Described<'s, const N: usize, I> = (CheckedAccess, ([TransferSide<'s>; N], usize), I);

/// The bytes of an operation whose sides are all as many, one behind the other.
#[inline]
fn bytes_of_all(sides: &[TransferSide<'_>]) -> Option<u64> {
    let bytes = |side: &TransferSide<'_>| match side {
        TransferSide::Packed(bytes) => Some(*bytes),
        TransferSide::Typed(datatype, count) => datatype.plain(*count),
    };
    let first = bytes(sides.first()?)?;
    sides.iter().all(|side| bytes(side) == Some(first)).then_some(first)
}

impl<'w> Communication<'w> {
    /// The part of `rank` if an operation on it is allowed now: the hot path. Otherwise
    /// [`Communication::target`] finds the reason. An operation that passes all its checks is then
    /// counted (`Epochs::operated`).
    #[inline(always)]
    pub(super) fn reach(self, rank: Rank) -> Option<PartOf<'w>> {
        self.calls.epochs.reaches(rank.0).then(|| self.memory.part_of(rank.0))
    }

    /// [`Communication::reach`] within a call that is recorded: also of a job that counts or traces its calls, in which
    /// the hot paths find nothing, but not of one that is checked.
    #[inline]
    pub(super) fn reach_in_call(self, rank: Rank) -> Option<PartOf<'w>> {
        self.calls.check().is_none().then(|| self.reach_at_once(rank))?
    }

    /// The same also of a job that is checked, if its operations do not take effect late.
    #[inline]
    pub(super) fn reach_at_once(self, rank: Rank) -> Option<PartOf<'w>> {
        let may = self.memory.late_parts().is_none() && self.calls.epochs.reaches(rank.0);
        may.then(|| self.memory.mapped_part_of(rank.0))
    }

    /// The hot path of put and get: the bytes of the target, which has been reached as `part`, if the `bytes` bytes at
    /// `origin` do not overlap them. Counts the operation then. Otherwise [`Communication::target`] finds the reason.
    #[inline(always)]
    pub(super) fn mapped(
        self,
        part: Option<PartOf<'w>>,
        disp: u64,
        bytes: usize,
        origin: *const u8,
    ) -> Option<*mut u8> {
        let at = part?.at(disp, bytes as u64)?;
        are_disjoint(origin, at, bytes).then(|| {
            self.calls.epochs.operated();
            at
        })
    }

    /// The bytes around displacement `disp` of a target, after every check of rank, epoch and range; the
    /// address is that of the displacement. `None` if there is nothing to do: for [`Rank::NULL`], and of no
    /// bytes, which fit anywhere.
    #[inline(always)]
    pub(super) fn target(
        self,
        call: Call,
        target: Rank,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Target<'w>>> {
        match self.reach(target).and_then(|part| part.around(disp, bytes)) {
            Some(at) => Ok(Some(self.memory.mapped(target.0, disp, at))),
            None => self.target_slowly(call, target, disp, bytes),
        }
    }

    /// [`Communication::target`] for unmapped or no bytes.
    #[cold]
    fn target_slowly(
        self,
        call: Call,
        target: Rank,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Target<'w>>> {
        if target == Rank::NULL {
            return self.null_target(call);
        }
        self.calls.check_rank(call, target)?;
        self.calls.check_operation(call, target.0)?;
        if bytes.is_empty() {
            self.calls.epochs.operated();
            return Ok(None);
        }
        self.memory.around(self.calls, call, target.0, disp, bytes).map(Some)
    }

    /// MPI-2.2 §11.3: an operation on MPI_PROC_NULL does nothing, but needs an epoch.
    pub(super) fn null_target(self, call: Call) -> Result<Option<Target<'w>>> {
        self.calls.check_any_access(call)?;
        Ok(None)
    }

    /// Refuses an origin buffer that overlaps the target bytes of the same operation.
    pub(super) fn check_disjoint(
        self,
        call: Call,
        target: &Target<'_>,
        disp: u64,
        origin: *const u8,
        bytes: usize,
    ) -> Result<()> {
        match self.memory.address_of(target, disp, || 0..bytes as i64) {
            Some(at) if !are_disjoint(origin, at, bytes) => {
                Err(self.conflict(call, target.rank, disp, bytes as u64))
            }
            _ => Ok(()),
        }
    }

    /// Does by `act` an operation that has passed all checks. If the job is checked, `describe` describes it before:
    /// the access; the sides, of which it accesses the entries that they have in common, and which of them is the
    /// target's; the buffers of this process. If operations take effect late, what `delayed` returns does instead of
    /// `act`.
    #[inline(always)]
    pub(super) fn report<'a, 's, const N: usize, I>(
        self,
        target: &Target<'_>,
        describe: impl FnOnce() -> Described<'s, N, I>,
        delayed: impl FnOnce(&Lateness<'_>) -> Option<LateOperation>,
        act: impl FnOnce() -> Result<()>,
    ) -> Result<()>
    where
        I: Iterator<Item = (LocalLayout<'a>, Direction)>,
    {
        match self.calls.check() {
            None => act(),
            Some(check) => self.report_to(check, target, describe(), delayed, act),
        }
    }

    /// [`Communication::report`] in a checked job, out of line.
    #[cold]
    fn report_to<'a, const N: usize>(
        self,
        (checker, window): (&'w Checker, &'w CheckedWindow),
        target: &Target<'_>,
        (access, (sides, side), own): Described<
            '_,
            N,
            impl Iterator<Item = (LocalLayout<'a>, Direction)>,
        >,
        delayed: impl FnOnce(&Lateness<'_>) -> Option<LateOperation>,
        act: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let bytes = bytes_of_all(&sides).unwrap_or(0);
        let bytes = bytes.min(self.size_of(target).saturating_sub(target.start));
        let (mut act, mut done) = (Some(act), Ok(()));
        let mut once = || done = act.take().map_or(Ok(()), |act| act());
        window.expect_access(target.rank, target.start);
        let buffers = pending_buffers(own);
        let of = (bytes, &*buffers);
        if !self.report_short((checker, window), &access, target, of, &mut once) {
            let described = (access, (sides, side), buffers);
            self.report_any((checker, window), target, described, delayed, &mut once)?;
        }
        done
    }

    /// [`Communication::report`] of an operation on that many bytes of a target in a checked job, if it is a short one
    /// ([`CheckedWindow::access_short`]). Returns whether it is done.
    #[inline]
    pub(super) fn report_short(
        self,
        (checker, window): (&'w Checker, &'w CheckedWindow),
        access: &CheckedAccess,
        target: &Target<'_>,
        (bytes, buffers): (u64, &[OwnBuffer]),
        act: &mut dyn FnMut(),
    ) -> bool {
        let waiter = self.calls.excluded();
        checker.settle(&waiter);
        let run = (ByteRun { start: target.start, bytes }, self.epoch_kind(), buffers);
        // A pair of this datatype has padding between its numbers.
        access.datatype != Datatype::ShortInt as u8
            && self.memory.late_parts().is_none()
            && window.access_short((checker, &waiter), (access, target.rank), run, act)
    }

    /// How operations reach their targets.
    #[inline]
    fn epoch_kind(self) -> EpochKind {
        if self.calls.epochs.is_used() { EpochKind::Fence } else { EpochKind::Other }
    }

    /// The bytes that a target may have, from the beginning of its part on.
    #[inline]
    fn size_of(self, target: &Target<'_>) -> u64 {
        match self.memory.attached() {
            Some(_) => u64::MAX,
            None => self.memory.bytes_of(target.rank),
        }
    }

    /// [`Communication::report`] of any operation in a checked job, after [`Communication::report_short`].
    #[inline(never)]
    pub(super) fn report_any<const N: usize>(
        self,
        (checker, window): (&'w Checker, &'w CheckedWindow),
        target: &Target<'_>,
        (access, (sides, side), buffers): Described<'_, N, OwnBuffers>,
        delayed: impl FnOnce(&Lateness<'_>) -> Option<LateOperation>,
        act: impl FnOnce(),
    ) -> Result<()> {
        let read = self.reading(access.call, target);
        let (epoch, size) = (self.epoch_kind(), self.size_of(target));
        let mut accessed =
            AccessedBytes { runs: RUNS.take(), read: &read, buffers, epoch, buffer_of: None };
        zip_sides(sides, |strip| {
            for block in 0..strip.blocks {
                let start = target.start.wrapping_add_signed(strip.patterns[side].block(block));
                // The padding of the last element may lie behind the part.
                let bytes = (strip.bytes as u64).min(size.saturating_sub(start));
                accessed.push(ByteRun { start, bytes });
            }
            true
        });
        leave_out_padding(&mut accessed.runs, &access);
        let (of, waiter) = ((&access, target.rank), self.calls.excluded());
        let Some(parts) = self.memory.late_parts() else {
            window.access_any((checker, &waiter), of, &accessed, act);
            accessed.runs.clear();
            RUNS.set(accessed.runs);
            return Ok(());
        };
        if let Some(operation) = delayed(&Lateness { parts, checker }) {
            let runs = accessed.runs.clone();
            window.access_any((checker, &waiter), of, &accessed, || ());
            window.delay(of, Box::new(operation.accessing(runs)));
            return Ok(());
        }
        if access.kind.is_accumulate() {
            // Accumulates of one origin take effect in their order (MPI-4.1 §12.7.2).
            window.late_accumulates(target.rank);
        }
        window.access_any((checker, &waiter), of, &accessed, act);
        Ok(())
    }

    /// Reads runs of the part of a target.
    fn reading<'t>(
        self,
        call: Call,
        target: &'t Target<'_>,
    ) -> impl Fn(&[ByteRun], &mut [u8]) -> bool + use<'w, 't> {
        move |runs, to| {
            let runs = runs.iter().map(|run| (run.start, run.bytes as usize));
            self.memory.read(self.calls, call, target, runs, to)
        }
    }

    /// Does by `act` an operation that was reported before, on these bytes of the target.
    pub(super) fn take_effect(
        self,
        (call, kind): (Call, AccessKind),
        target: &Target<'_>,
        runs: Vec<ByteRun>,
        act: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some((checker, window)) = self.calls.check() else { return act() };
        let (read, epoch) = (self.reading(call, target), EpochKind::Other);
        let accessed = AccessedBytes {
            runs,
            read: &read,
            buffers: OwnBuffers::default(),
            epoch,
            buffer_of: None,
        };
        window.take_effect(checker, &self.calls.excluded(), (kind, target.rank), &accessed, act)
    }

    /// Reports that an accumulate is about to update elements around the beginning of `target`.
    pub(super) fn report_updating(self, target: &Target<'_>, bytes: Range<i64>) {
        let part = part_around(target, &bytes);
        // Under the lock of the part, so the program's own accesses are no longer looked for.
        if let Some((checker, window)) = self.calls.check() {
            window.updating(checker, target.rank, part);
        }
    }

    /// Reports that an accumulate has fetched elements around the beginning of `target`.
    pub(super) fn report_fetched(self, target: &Target<'_>, bytes: Range<i64>) {
        let part = part_around(target, &bytes);
        if let Some((checker, window)) = self.calls.check() {
            window.fetched(checker, target.rank, part);
        }
    }

    /// [`Communication::report`] of a load or a store of this rank itself.
    pub(super) fn report_local(
        self,
        kind: AccessKind,
        target: &Target<'_>,
        bytes: usize,
        at: &'static Location<'static>,
        act: impl FnOnce(),
    ) -> Result<()> {
        let describe = || {
            let access = CheckedAccess { call: Call::LocalAccess, kind, datatype: 0, op: 0, at };
            (access, ([TransferSide::Packed(bytes as u64)], 0), std::iter::empty())
        };
        let act = || {
            act();
            Ok(())
        };
        self.report(target, describe, |_| None, act)
    }

    #[cold]
    pub(super) fn conflict(self, call: Call, target: u32, displacement: u64, bytes: u64) -> Error {
        Error::Conflict { at: self.calls.place(call), target: Rank(target), displacement, bytes }
    }
}

/// Accumulates of pairs do not change the padding, which is among the bytes of each element.
fn leave_out_padding(runs: &mut Vec<ByteRun>, access: &CheckedAccess) {
    if !access.kind.is_accumulate() {
        return;
    }
    let datatype = Datatype::of_number(access.datatype.into()).filter(|one| one.is_padded());
    let Some(datatype) = datatype else { return };
    let size = datatype.size();
    let numbers = datatype.numbers(size).map(|(at, bytes)| (at as u64, bytes as u64));
    let of_element = |start: u64| {
        let numbers = numbers.into_iter().filter(|(_, bytes)| *bytes != 0);
        numbers.map(move |(at, bytes)| ByteRun { start: start + at, bytes })
    };
    let of_run = |run: &ByteRun| {
        let elements = (run.start..run.start + run.bytes).step_by(size);
        elements.flat_map(of_element).collect::<Vec<_>>()
    };
    *runs = runs.iter().flat_map(of_run).collect();
}

/// Bytes around the beginning of a target.
fn part_around(target: &Target<'_>, bytes: &Range<i64>) -> ByteRun {
    let start = target.start.wrapping_add_signed(bytes.start);
    ByteRun { start, bytes: bytes.end.wrapping_sub(bytes.start) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn apart_are_addresses_whose_distance_is_no_less_than_the_length(
            a in prop_oneof![0..40usize, any::<usize>()],
            distance in prop_oneof![4 => -20..20isize, 1 => any::<isize>()],
            bytes in prop_oneof![4 => 0..20usize, 2 => Just(8), 1 => any::<usize>()],
        ) {
            let Some(b) = a.checked_add_signed(distance) else { return Ok(()) };
            let pointer = std::ptr::without_provenance;
            prop_assert_eq!(are_disjoint(pointer(a), pointer(b), bytes), a.abs_diff(b) >= bytes);
        }
    }
}
