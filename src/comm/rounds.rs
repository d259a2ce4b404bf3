//! The order of a communicator's collectives, and their slots of its staging area.
//!
//! Collectives are numbered in the order of their starts, which is the same on all ranks (MPI-4.1 §6.12).
//! Collective n uses slot n mod [`SLOTS`], once this rank has left collective n - [`SLOTS`]. Until then
//! it waits, or is started without its slot and enters when the rank makes progress. A slot is a barrier
//! and two buffers for each rank, which alternate between consecutive barriers. Slots are independent, so
//! each of them is the protocol of models/collective.rs.

use super::Comm;
use super::description::Description;
use super::exchange::{HEAD, INSIDE, Staged};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::prim::{Awaited, AwaitedKind, JobFailed, WaitRecord};
use crate::shm::{SLOTS, Segment, StagingBuffer};
use crate::sync::{self, BarrierWords, Round};
use std::panic::Location;
use std::sync::{MutexGuard, PoisonError};

/// Where this rank is in the communicator's sequence of collectives.
#[derive(Default)]
pub(super) struct Sequence {
    /// The number of the next collective.
    next: u64,
    slots: [CollectiveSlot; SLOTS],
}

/// A slot between two collectives.
#[derive(Clone, Copy, Default)]
struct CollectiveSlot {
    /// Collectives that have left it.
    left: u64,
    round: Round,
    odd: bool,
}

/// A collective that has entered its slot. Given back by [`Comm::leave`].
#[derive(Debug)]
pub(crate) struct CollectiveEntry {
    /// Which of the communicator's collectives it is.
    pub(crate) number: u64,
    slot: usize,
    round: Round,
    odd: bool,
    /// Whether this rank has arrived last, and has not rung the bells of those that do not wait there.
    is_last: bool,
}

impl Sequence {
    fn enter(&self, number: u64) -> Option<CollectiveEntry> {
        let slot = (number % SLOTS as u64) as usize;
        let CollectiveSlot { left, round, odd } = self.slots[slot];
        (left == number / SLOTS as u64).then_some(CollectiveEntry {
            number,
            slot,
            round,
            odd,
            is_last: false,
        })
    }
}

impl Comm {
    fn sequence(&self) -> MutexGuard<'_, Sequence> {
        self.inner.sequence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a collective that is started now, and if its slot is free its entry.
    pub(crate) fn start_round(&self) -> (u64, Option<CollectiveEntry>) {
        let mut sequence = self.sequence();
        let number = sequence.next;
        sequence.next += 1;
        (number, sequence.enter(number))
    }

    /// Enters the slot of collective `number`, if that is free.
    pub(crate) fn try_enter(&self, number: u64) -> Option<CollectiveEntry> {
        self.sequence().enter(number)
    }

    /// Enters it when it is free: when an earlier collective of this rank is complete that does not
    /// wait.
    #[cold]
    pub(super) fn enter_later(
        &self,
        number: u64,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<CollectiveEntry> {
        let slot = (number % SLOTS as u64) as usize;
        let before = self.sequence().slots[slot].round;
        let describe = |record: &WaitRecord| {
            if let Some(shared) = &self.inner.shared {
                record.set(&self.arrival(&shared.words.barriers[slot], before));
            }
        };
        let waiter = self.recording_waiter(at, &describe);
        let entered = waiter.until(&self.inner.left, |_| self.try_enter(number).is_some());
        entered.map_err(|failed| self.rank_failed(failed, self.place(call)))?;
        self.try_enter(number)
            .ok_or(Error::Damaged { what: "order of a communicator's collectives" })
    }

    /// The collective needs its slot no more; what was staged for it has been read.
    pub(crate) fn leave(&self, entry: CollectiveEntry) {
        let CollectiveEntry { number, slot, round, odd, .. } = entry;
        let mut sequence = self.sequence();
        sequence.slots[slot] = CollectiveSlot { left: number / SLOTS as u64 + 1, round, odd };
        let is_awaited = sequence.next > number + SLOTS as u64;
        drop(sequence);
        if is_awaited {
            self.slot_is_free();
        }
    }

    /// [`Comm::leave`], unless the ranks synchronise once more to see whether all live: then it stays.
    pub(crate) fn keep_to_close(&self, entry: CollectiveEntry) -> Option<CollectiveEntry> {
        if self.context().records().is_some() {
            return Some(entry);
        }
        self.leave(entry);
        None
    }

    /// Wakes a thread that waits for the slot, or that waits for what does.
    #[cold]
    fn slot_is_free(&self) {
        self.inner.left.add_and_wake(1);
        if let Ok(mail) = self.context().segment.mail(self.context().rank) {
            mail.ring();
        }
    }

    /// Stages a description and a contribution of `length` bytes, then arrives at the next barrier of the
    /// slot. `write` writes at most a chunk of the contribution to the offset that is its argument.
    pub(crate) fn arrive(
        &self,
        entry: &mut CollectiveEntry,
        what: &Description,
        length: usize,
        write: impl FnOnce(&Segment, u64) -> Result<()>,
    ) -> Result<()> {
        let shared = self.shared()?;
        let words = &shared.words.barriers[entry.slot];
        let lost = |failed| self.rank_failed(failed, self.place(what.call()));
        if words.is_given_up(entry.round) {
            // No barrier of this slot is passed any more; and others may still read what this rank
            // has staged before.
            return Err(lost(JobFailed));
        }
        entry.odd = !entry.odd;
        let stage = StagingBuffer { rank: self.rank().0, slot: entry.slot, odd: entry.odd };
        let segment = &self.context().segment;
        let beginning = shared.stages.beginning(stage);
        let staged = what.staged(length, entry.round.number());
        segment.mapping().write(beginning, bytemuck::bytes_of(&staged))?;
        write(
            segment,
            if length <= INSIDE { beginning + HEAD } else { shared.stages.rest(stage) },
        )?;
        words.expect_arrival();
        entry.is_last = sync::arrive(words, self.size(), &mut entry.round).map_err(lost)?;
        Ok(())
    }

    /// Waits until all ranks have arrived, in a call that the program has made at `at`.
    pub(crate) fn await_round(
        &self,
        entry: &mut CollectiveEntry,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let words = &self.shared()?.words.barriers[entry.slot];
        let before = entry.round.before(self.size());
        let describe = |record: &WaitRecord| record.set(&self.arrival(words, before));
        let waiter = self.recording_waiter(at, &describe);
        let passed = sync::pass(words, self.size(), &mut entry.round, &waiter);
        passed.map_err(|failed| self.rank_failed(failed, self.place(call)))?;
        self.ring_others(entry)
    }

    /// [`Comm::await_round`] without waiting: `None` as long as some ranks have not arrived.
    pub(crate) fn poll_round(&self, entry: &mut CollectiveEntry, call: Call) -> Option<Result<()>> {
        let words = match self.shared() {
            Ok(shared) => &shared.words.barriers[entry.slot],
            Err(error) => return Some(Err(error)),
        };
        let has_failed = self.has_lost_any();
        let passed = sync::try_pass(words, self.size(), &mut entry.round, has_failed)?;
        let passed = passed.map_err(|failed| self.rank_failed(failed, self.place(call)));
        Some(passed.and_then(|()| self.ring_others(entry)))
    }

    /// Records, for a report of a deadlock, which ranks have arrived at the barrier that this rank waits at.
    #[cold]
    pub(crate) fn describe_round(&self, entry: &CollectiveEntry, record: &WaitRecord) {
        if let Some(shared) = &self.inner.shared {
            let before = entry.round.before(self.size());
            record.set(&self.arrival(&shared.words.barriers[entry.slot], before));
        }
    }

    /// The last rank that has arrived rings the bells of those who do not wait at the barrier.
    #[inline]
    fn ring_others(&self, entry: &mut CollectiveEntry) -> Result<()> {
        if !std::mem::take(&mut entry.is_last) {
            return Ok(());
        }
        let (staged, own) = (self.staged(entry), self.rank().0);
        for rank in (0..self.size()).filter(|rank| *rank != own) {
            if staged.description(rank)?.wants_ring() {
                self.context().segment.mail(self.world_ranks()[rank as usize])?.ring();
            }
        }
        Ok(())
    }

    /// What a rank waits for at a barrier of all ranks that it has come to in round `before`.
    pub(crate) fn arrival(&self, words: &BarrierWords, before: Round) -> Awaited<'_> {
        let (round, come) = words.arrivals(before, self.size());
        Awaited {
            kind: AwaitedKind::Arrival,
            others: self.world_ranks(),
            come,
            awaited: self.size(),
            number: round.number().into(),
            object: self.context().object(words),
            ..Awaited::default()
        }
    }

    /// What all ranks have staged for a barrier that has been passed.
    pub(crate) fn staged(&self, entry: &CollectiveEntry) -> Staged<'_> {
        let round = entry.round.number().wrapping_sub(self.size());
        Staged { comm: self, slot: entry.slot, odd: entry.odd, round, alone: Vec::new(), stride: 0 }
    }
}
