//! The order of a communicator's collectives, and their slots of its staging area.
//!
//! Every collective has a number, in the order in which it is started, which is the same on all ranks
//! (MPI-4.1 §6.12). Each rank enters them in that order, and number n only when it has left all up to n -
//! [`UNDER_WAY`]; until then it waits for that, or has started n without its slot and enters when it makes
//! progress. In its slot a rank stages, publishes that by a word beside it, and arrives at a barrier. Two
//! ranks arrive by these words alone, unless the job continues after failures ([`Arrivals`]).
//!
//! A blocking call need not wait for all to arrive: the root of a broadcast waits for no rank, the others
//! for the root's word alone. Such a rank *goes ahead*, and *settles* later: it sees that all have arrived,
//! and compares what all have called. It settles in time to use the memory again:
//!
//! * A rank stages number n when it has settled all up to n - slots / 2. So when all have arrived there, all
//!   have settled those up to n - slots, and its slot is free (models/collective.rs, `ahead`).
//! * In a buffer beside the slots it stages number n when it has settled all up to n - [`UNDER_WAY`]: all
//!   have left those up to n - 2 * [`UNDER_WAY`], which read it last.
//! * A collective that does not wait is started when all before it have been settled.
//! * When all have arrived at a number, they have arrived at all before: what waits for that settles those.

use super::description::Description;
use super::exchange::{HEAD, INSIDE, Staged};
use super::shared::SharedBlock;
use super::{Comm, Purpose};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::prim::{Awaited, AwaitedKind, JobFailed, WaitRecord};
use crate::shm::{BiasedGuard, SLOTS, Segment, StagingBuffer, is_forked};
use crate::sync::{self, Arrivals, BarrierWords, Round};
use std::panic::Location;

/// Collectives that a rank can have entered and not left.
const UNDER_WAY: u64 = 2;

/// Where this rank is in the communicator's sequence of collectives.
#[derive(Default)]
pub(super) struct Sequence {
    /// The number of the next collective, and the first that has not been entered, left, settled.
    next: u64,
    entered: u64,
    left: u64,
    settled: u64,
    /// Whether the one after the first that has not been left has been left.
    is_second_left: bool,
    slots: [CollectiveSlot; SLOTS],
    /// The first error that has been found in settling, until a call reports it.
    mismatch: Option<Error>,
}

/// A slot after the latest collective that this rank has left.
#[derive(Clone, Copy, Debug, Default)]
struct CollectiveSlot {
    round: Round,
    /// Whether this rank has gone ahead and not settled it.
    is_ahead: bool,
    /// Whether it has reported that it does not agree with another rank.
    is_reported: bool,
}

/// A collective that has entered its slot. Given back by [`Comm::leave`].
#[derive(Debug)]
pub(crate) struct CollectiveEntry {
    /// Which of the communicator's collectives it is.
    pub(crate) number: u64,
    /// The first one that this rank had not settled when it entered.
    settled: u64,
    slot: usize,
    state: CollectiveSlot,
    /// Whether no other collective of this rank is under way.
    is_alone: bool,
    /// Whether this rank has arrived last, and has not rung the bells of those that do not wait there.
    is_last: bool,
}

impl Sequence {
    fn can_enter(&self, number: u64) -> bool {
        number == self.entered && number < self.left + UNDER_WAY
    }

    fn enter(&mut self, number: u64, slots: u64) -> Option<CollectiveEntry> {
        if !self.can_enter(number) {
            return None;
        }
        self.entered += 1;
        let slot = (number & (slots - 1)) as usize;
        let round = self.slots[slot].round;
        Some(CollectiveEntry {
            number,
            settled: self.settled,
            slot,
            state: CollectiveSlot { round, ..CollectiveSlot::default() },
            is_alone: number == self.left,
            is_last: false,
        })
    }

    fn leave(&mut self, entry: &CollectiveEntry) {
        self.slots[entry.slot] = entry.state;
        if entry.number != self.left {
            self.is_second_left = true;
            return;
        }
        self.left += 1 + u64::from(std::mem::take(&mut self.is_second_left));
        if self.settled == entry.number && !entry.state.is_ahead {
            // A rank goes ahead in no collective beside one that is under way.
            self.settled = self.left;
        }
    }
}

impl Comm {
    #[inline]
    fn sequence(&self) -> BiasedGuard<'_, Sequence> {
        self.inner.sequence.lock()
    }

    /// Starts a collective and enters its slot, if no other of this rank is under way and a call with this
    /// handle is not refused; otherwise nothing is done.
    #[inline]
    pub(crate) fn start_alone(&self) -> Option<CollectiveEntry> {
        let is_for_calls = matches!(self.purpose, Purpose::Calls | Purpose::Waiting);
        let slots = self.inner.shared.as_ref()?.stages.slots();
        if !is_for_calls || self.is_freed() || is_forked() {
            return None;
        }
        let mut sequence = self.sequence();
        let number = sequence.next;
        let entry = if number == sequence.left { sequence.enter(number, slots) } else { None };
        sequence.next += u64::from(entry.is_some());
        entry
    }

    /// The number of a collective that is started now; of one that waits, also its entry if its slot is free.
    pub(crate) fn start_round(&self, waits: bool) -> (u64, Option<CollectiveEntry>) {
        let mut sequence = self.sequence();
        let number = sequence.next;
        sequence.next += 1;
        let entry = if waits { sequence.enter(number, self.slots()) } else { None };
        (number, entry)
    }

    fn slots(&self) -> u64 {
        self.inner.shared.as_ref().map_or(1, |shared| shared.stages.slots())
    }

    /// Enters the slot of collective `number`, if that is free.
    pub(crate) fn try_enter(&self, number: u64) -> Option<CollectiveEntry> {
        let mut sequence = self.sequence();
        let entry = sequence.enter(number, self.slots())?;
        let is_awaited = sequence.next > number + 1;
        drop(sequence);
        if is_awaited {
            self.slot_is_free();
        }
        Some(entry)
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
        let slot = (number % self.slots()) as usize;
        let before = self.sequence().slots[slot].round;
        let describe = |record: &WaitRecord| {
            if let Some(shared) = &self.inner.shared {
                record.set(&self.arrival_in(shared, slot, before));
            }
        };
        let waiter = self.recording_waiter(at, &describe);
        let entered = waiter.until(&self.inner.left, |_| self.sequence().can_enter(number));
        entered.map_err(|failed| self.rank_failed(failed, self.place(call)))?;
        self.try_enter(number)
            .ok_or(Error::Damaged { what: "order of a communicator's collectives" })
    }

    /// The collective needs its slot no more; what was staged for it has been read.
    #[inline]
    pub(crate) fn leave(&self, entry: CollectiveEntry) {
        let mut sequence = self.sequence();
        sequence.leave(&entry);
        let is_awaited = sequence.next > entry.number + UNDER_WAY;
        drop(sequence);
        if is_awaited {
            self.slot_is_free();
        }
    }

    /// [`Comm::leave`], unless the ranks synchronise once more to see whether all live: then it stays.
    pub(crate) fn keep_to_close(&self, entry: CollectiveEntry) -> Option<CollectiveEntry> {
        if self.keeps_to_close() {
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

    /// Waits until this rank can stage `length` bytes for the collective that it has entered.
    #[inline]
    pub(crate) fn settle_for(
        &self,
        entry: &CollectiveEntry,
        length: usize,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let reach = if length <= INSIDE { self.slots() / 2 } else { UNDER_WAY };
        let first = (entry.number + 1).saturating_sub(reach);
        if entry.settled < first { self.settle(first, call, at) } else { Ok(()) }
    }

    /// All ranks have arrived at the collective of `entry`, so at those before too: settles them.
    #[inline]
    pub(crate) fn settle_before(
        &self,
        entry: &CollectiveEntry,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if entry.settled < entry.number { self.settle(entry.number, call, at) } else { Ok(()) }
    }

    /// Waits, in a call that the program has made at `at`, until all ranks have arrived at the collectives
    /// before number `first`, all of which this rank has entered, and compares what they have called.
    pub(crate) fn settle(
        &self,
        first: u64,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        loop {
            let mut sequence = self.sequence();
            let number = sequence.settled;
            if number >= first.min(sequence.left) {
                return Ok(());
            }
            let slot = (number % self.slots()) as usize;
            let state = sequence.slots[slot];
            if !state.is_ahead {
                sequence.settled = number + 1;
                continue;
            }
            drop(sequence);
            let (settled, is_alone, is_last) = (number, false, false);
            let mut entry = CollectiveEntry { number, settled, slot, state, is_alone, is_last };
            self.await_round(&mut entry, call, at)?;
            let staged = self.staged(&entry);
            let compared = staged.own().and_then(|own| staged.check(&own));
            let mut sequence = self.sequence();
            sequence.slots[slot] = CollectiveSlot { is_ahead: false, ..entry.state };
            if let Err(error) = compared
                && !state.is_reported
            {
                sequence.mismatch.get_or_insert(error);
                self.inner.has_mismatch.store(1);
            }
        }
    }

    /// The error of an earlier collective that this rank went ahead in, once.
    #[inline]
    pub(crate) fn report_earlier(&self) -> Result<()> {
        if self.inner.has_mismatch.load() == 0 {
            return Ok(());
        }
        self.inner.has_mismatch.store(0);
        self.sequence().mismatch.take().map_or(Ok(()), Err)
    }

    /// Whether a rank may go ahead in that collective. With survivors a call succeeds on all ranks or on
    /// none, so all wait.
    #[inline]
    pub(crate) fn may_go_ahead(&self, entry: &CollectiveEntry) -> bool {
        entry.is_alone && !self.keeps_to_close()
    }

    /// Whether the ranks arrive once more at the end of what is long, to see whether all live.
    #[inline]
    pub(crate) fn keeps_to_close(&self) -> bool {
        self.context().records().is_some()
    }

    /// This rank does not wait for all to arrive. `is_reported`: it will report that ranks do not agree.
    pub(crate) fn go_ahead(&self, entry: &mut CollectiveEntry, is_reported: bool) -> Result<()> {
        (entry.state.is_ahead, entry.state.is_reported) = (true, is_reported);
        self.ring_others(entry)
    }

    /// The words of a slot. Of two ranks each waits for the word that the other publishes; with survivors,
    /// all ranks pass a barrier or none does, which needs its counter.
    #[inline]
    fn arrivals<'s>(&'s self, shared: &'s SharedBlock, slot: usize) -> Result<Arrivals<'s>> {
        if self.size() != 2 || self.keeps_to_close() {
            return Ok(Arrivals::Counted(&shared.words.barriers[slot]));
        }
        let segment = &self.context().segment;
        let word = |rank| shared.published(segment, StagingBuffer { rank, number: slot as u64 });
        Ok(Arrivals::Pair { own: word(self.rank().0)?, other: word(1 - self.rank().0)? })
    }

    /// Stages a description and a contribution of `length` bytes, of which `write` puts at most
    /// a chunk to the offset that is its argument; then arrives at the next barrier of the slot. What was in these
    /// buffers has been settled.
    #[inline]
    pub(crate) fn arrive(
        &self,
        entry: &mut CollectiveEntry,
        what: &Description,
        length: usize,
        write: impl FnOnce(&Segment, u64) -> Result<()>,
    ) -> Result<()> {
        let shared = self.shared()?;
        let words = self.arrivals(shared, entry.slot)?;
        let lost = |failed| self.rank_failed(failed, self.place(what.call()));
        if words.is_given_up(entry.state.round) {
            // No barrier of this slot is passed any more; and others may still read what this rank
            // has staged before.
            return Err(lost(JobFailed));
        }
        words.expect_arrival();
        let stage = StagingBuffer { rank: self.rank().0, number: entry.number };
        let segment = &self.context().segment;
        let beginning = shared.stages.beginning(stage);
        segment.mapping().write(beginning, bytemuck::bytes_of(&what.staged(length)))?;
        write(
            segment,
            if length <= INSIDE { beginning + HEAD } else { shared.stages.rest(stage) },
        )?;
        if what.wants_ring() {
            shared.words.rings.store(1);
        }
        let word = entry.state.round.next(self.size()).word();
        let published = || shared.published(segment, stage);
        let publish = || published().into_iter().for_each(|own| own.store_and_wake(word));
        let arrived = words.arrive(self.size(), &mut entry.state.round, publish);
        entry.is_last = arrived.map_err(lost)?;
        Ok(())
    }

    /// Arrives once more at the barrier of the slot, with what has been staged.
    pub(crate) fn arrive_again(&self, entry: &mut CollectiveEntry, call: Call) -> Result<()> {
        let words = self.arrivals(self.shared()?, entry.slot)?;
        let arrived = words.arrive(self.size(), &mut entry.state.round, || ());
        let lost = |failed| self.rank_failed(failed, self.place(call));
        entry.is_last = arrived.map_err(lost)?;
        Ok(())
    }

    /// Waits until `rank` has staged, in a call that the program has made at `at`.
    pub(crate) fn await_rank(
        &self,
        entry: &CollectiveEntry,
        rank: u32,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let shared = self.shared()?;
        let stage = StagingBuffer { rank, number: entry.number };
        let published = shared.published(&self.context().segment, stage)?;
        let before = entry.state.round.before(self.size());
        let describe =
            |record: &WaitRecord| record.set(&self.arrival_in(shared, entry.slot, before));
        let waiter = self.recording_waiter(at, &describe);
        let passed = sync::await_published(published, entry.state.round, &waiter);
        passed.map_err(|failed| self.rank_failed(failed, self.place(call)))
    }

    /// Waits until all ranks have arrived, in a call that the program has made at `at`.
    pub(crate) fn await_round(
        &self,
        entry: &mut CollectiveEntry,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (shared, slot) = (self.shared()?, entry.slot);
        let words = self.arrivals(shared, slot)?;
        if let Some(Ok(())) = words.try_pass(self.size(), &mut entry.state.round, false) {
            return self.ring_others(entry);
        }
        let before = entry.state.round.before(self.size());
        let describe = |record: &WaitRecord| record.set(&self.arrival_in(shared, slot, before));
        let waiter = self.recording_waiter(at, &describe);
        let passed = words.pass(self.size(), &mut entry.state.round, &waiter);
        passed.map_err(|failed| self.rank_failed(failed, self.place(call)))?;
        self.ring_others(entry)
    }

    /// [`Comm::await_round`] without waiting: `None` as long as some ranks have not arrived.
    pub(crate) fn poll_round(&self, entry: &mut CollectiveEntry, call: Call) -> Option<Result<()>> {
        let words = match self.shared().and_then(|shared| self.arrivals(shared, entry.slot)) {
            Ok(words) => words,
            Err(error) => return Some(Err(error)),
        };
        let has_failed = self.has_lost_any();
        let passed = words.try_pass(self.size(), &mut entry.state.round, has_failed)?;
        let passed = passed.map_err(|failed| self.rank_failed(failed, self.place(call)));
        Some(passed.and_then(|()| self.ring_others(entry)))
    }

    /// Records, for a report of a deadlock, which ranks have arrived at the barrier that this rank waits at.
    #[cold]
    pub(crate) fn describe_round(&self, entry: &CollectiveEntry, record: &WaitRecord) {
        if let Some(shared) = &self.inner.shared {
            let before = entry.state.round.before(self.size());
            record.set(&self.arrival_in(shared, entry.slot, before));
        }
    }

    /// The last rank that has arrived rings the bells of those who do not wait at the barrier.
    #[inline]
    fn ring_others(&self, entry: &mut CollectiveEntry) -> Result<()> {
        if !std::mem::take(&mut entry.is_last) || self.shared()?.words.rings.load() == 0 {
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
        self.arrival_at(words, Arrivals::Counted(words), before)
    }

    fn arrival_in(&self, shared: &SharedBlock, slot: usize, before: Round) -> Awaited<'_> {
        let barrier = &shared.words.barriers[slot];
        let words = self.arrivals(shared, slot).unwrap_or(Arrivals::Counted(barrier));
        self.arrival_at(barrier, words, before)
    }

    fn arrival_at(
        &self,
        barrier: &BarrierWords,
        words: Arrivals<'_>,
        before: Round,
    ) -> Awaited<'_> {
        let (round, come) = words.count(before, self.size());
        Awaited {
            kind: AwaitedKind::Arrival,
            others: self.world_ranks(),
            come,
            awaited: self.size(),
            number: round.number().into(),
            object: self.context().object(barrier),
            ..Awaited::default()
        }
    }

    /// What all ranks have staged for a collective that this rank has arrived at.
    pub(crate) fn staged(&self, entry: &CollectiveEntry) -> Staged<'_> {
        let (number, round) = (entry.number, entry.state.round.word());
        Staged { comm: self, number, round, alone: Vec::new(), stride: 0 }
    }
}
