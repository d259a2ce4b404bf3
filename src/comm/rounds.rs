//! The order of a communicator's collectives, and their slots of its staging area.
//!
//! Every collective has a number, in the order in which it is started, which is the same on all ranks
//! (MPI-4.1 §6.12). Each rank enters them in that order, and number n only when it has left all up to n -
//! [`UNDER_WAY`]; until then it waits for that, or has started n without its slot and enters when it makes
//! progress. In its slot a rank stages, publishes that by a word beside it, and arrives at a barrier. A few
//! ranks arrive by these words alone, unless the job continues after failures ([`Arrivals`]).
//!
//! A blocking call need not wait for all to arrive: the root of a broadcast waits for no rank, the others
//! for the root's word alone. Such a rank *goes ahead*, and *settles* later: it sees that all have arrived,
//! and compares what all have called. It settles in time to use the memory again:
//!
//! * A rank stages number n when it has settled all up to n - slots / 2. So when all have arrived there, all
//!   have settled those up to n - slots, and its slot is free (models/collective.rs, `ahead`).
//! * A buffer beside the slots, last used for number n, it uses again when it has settled all up to n + [`UNDER_WAY`]: all
//!   have arrived there, and left those up to n, which read it last. Short ones are used in turn. Of those for longer data
//!   it takes the one used least recently, or another one if that is not free: so few have pages, unless it goes far ahead.
//! * A collective that does not wait is started when all before it have been settled.
//! * When all have arrived at a number, they have arrived at all before: what waits for that settles those.
//! * A short collective that blocks stages a *chain*, too: a hash of what it calls and of the chain before. Where the
//!   chains of all ranks are equal, the calls are equal that they cover, and a rank settles them by one look at each
//!   other rank. Two different sequences of calls have one chain with a probability of 2⁻²⁹.

use super::description::Description;
use super::exchange::{CHUNK, INSIDE, Staged};
use super::shared::SharedBlock;
use super::{Comm, Purpose};
use crate::call::Call;
use crate::check::{Checker, Frequency};
use crate::context::Rest;
use crate::error::{Error, Result};
use crate::prim::{Awaited, JobFailed, ParkWord, WaitRecord, Word64};
use crate::shm::{BiasedGuard, SLOTS, Segment, StagingBuffer, StagingSlot, is_forked};
use crate::sync::{self, Arrivals, Round, clock};
use std::panic::Location;

/// Collectives that a rank can have entered and not left.
const UNDER_WAY: u64 = 2;

/// A chain begins with each number that this divides: after a call that the ranks may make in different ways, their
/// chains differ until then.
const CHAINED: u64 = 1024;

/// The most ranks of a communicator without a counter of arrivals: each looks at the slots of all others.
const MOST_WITHOUT_COUNTER: usize = 8;

/// Where this rank is in the communicator's sequence of collectives.
pub(super) struct Sequence {
    /// The number of the next collective, and the first that has not been entered, left, settled.
    next: u64,
    entered: u64,
    left: u64,
    settled: u64,
    /// Whether the one after the first that has not been left has been left.
    is_second_left: bool,
    /// Whether one that was started alone is under way.
    is_alone: bool,
    /// Of each slot after the latest collective that this rank has left. Not beside each other: both are loaded from an
    /// [`CollectiveEntry`] at once, and then one load would follow two stores.
    rounds: [Round; SLOTS],
    marks: [SlotMarks; SLOTS],
    longs: BuffersInUse,
    /// The hash of the calls since number `chained_from`.
    chain: u64,
    chained_from: u64,
    /// The first error that has been found in settling, until a call reports it.
    mismatch: Option<Error>,
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            next: 0,
            entered: 0,
            left: 0,
            settled: 0,
            is_second_left: false,
            is_alone: false,
            rounds: [Round::default(); SLOTS],
            marks: [SlotMarks::default(); SLOTS],
            longs: BuffersInUse::default(),
            chain: 0,
            chained_from: 0,
            mismatch: None,
        }
    }
}

/// The buffers for longer data that this rank has used, of a limited number: the number for which each was used last.
#[derive(Default)]
struct BuffersInUse(Vec<u64>);

/// A rank uses all its buffers in turn for data of at least this number of bytes. Less would stay in the reader's own cache.
const CYCLED: usize = 32 << 10;
/// It then takes another buffer at most once in this number of collectives: new pages take time.
const GROWTH: u64 = 8;
/// For other data it waits rather than use more than this number of buffers.
const FEW: u64 = 8;

/// Whether a rank uses all its buffers in turn for data of that many bytes.
fn cycles(comm: &Comm, length: usize) -> bool {
    length >= CYCLED && comm.context().cycles_buffers()
}

impl BuffersInUse {
    /// The one that was used least recently, and the number up to which this rank has to settle before it uses it again.
    fn oldest(&self) -> Option<(usize, u64)> {
        let (oldest, last) = self.0.iter().enumerate().min_by_key(|(_, last)| **last)?;
        Some((oldest, sync::first_unsettled_buffer(*last, UNDER_WAY)))
    }

    fn is_another(&self, most: u64) -> bool {
        (self.0.len() as u64) < most
    }

    /// The number up to which this rank has to settle before it can take one; zero if it need not wait.
    fn first_unsettled(&self, most: u64) -> u64 {
        if self.is_another(most) { 0 } else { self.oldest().map_or(0, |(_, first)| first) }
    }

    /// Takes one for number `number`, of `most`: the oldest if that is free, otherwise another one, if there is any. `cycles`:
    /// uses all in turn, as [`Context::cycles_buffers`](crate::context::Context::cycles_buffers).
    fn take(&mut self, number: u64, settled: u64, (most, cycles): (u64, bool)) -> Option<u64> {
        let is_another = self.is_another(most);
        if let Some((oldest, first)) = self.oldest()
            && settled >= first
            && !(is_another && cycles && number.is_multiple_of(GROWTH))
        {
            self.0[oldest] = number;
            return Some(oldest as u64);
        }
        is_another.then(|| {
            self.0.push(number);
            self.0.len() as u64 - 1
        })
    }
}

/// What this rank remembers of a collective until it has settled it: the chain that it has staged, or zero, and whether it
/// has [`SlotMarks::AHEAD`], [`SlotMarks::REPORTED`]. One word, as a [`Round`] is.
#[derive(Clone, Copy, Debug, Default)]
struct SlotMarks(u64);

impl SlotMarks {
    /// It has gone ahead and not settled it.
    const AHEAD: u64 = 1 << 32;
    /// It has reported that it does not agree with another rank.
    const REPORTED: u64 = 1 << 33;

    fn chain(self) -> u32 {
        self.0 as u32
    }

    fn has(self, mark: u64) -> bool {
        self.0 & mark != 0
    }
}

/// A collective that has entered its slot. Given back by [`CollectiveEntry::leave`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CollectiveEntry {
    /// Which of the communicator's collectives it is.
    pub(crate) number: u64,
    /// The first one that this rank had not settled when it entered.
    settled: u64,
    slot: usize,
    round: Round,
    marks: SlotMarks,
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
        (self.chain, self.chained_from) = (0, number + 1);
        Some(self.entry(number, slots).begun(0))
    }

    /// The entry of a collective, with what its slot has.
    #[inline]
    fn entry(&self, number: u64, slots: u64) -> CollectiveEntry {
        let slot = (number & (slots - 1)) as usize;
        CollectiveEntry {
            number,
            settled: self.settled,
            slot,
            round: self.rounds[slot],
            marks: self.marks[slot],
            is_alone: number == self.left,
            is_last: false,
        }
    }

    /// Makes `entry` that of the next collective, with its chain, if no other is under way; whether it has.
    #[inline(always)]
    fn enter_alone(&mut self, what: &Description, slots: u64, entry: &mut CollectiveEntry) -> bool {
        debug_assert!(!what.is_paired(), "equal descriptions of pairs need not match");
        let number = self.next;
        if number != self.left || !self.can_enter(number) {
            return false;
        }
        (self.next, self.entered, self.is_alone) = (number + 1, number + 1, true);
        if number.is_multiple_of(CHAINED) {
            (self.chain, self.chained_from) = (0, number);
        }
        self.chain = what.chained(self.chain);
        *entry = self.entry(number, slots).begun(Description::link(self.chain));
        true
    }

    fn leave(&mut self, entry: &CollectiveEntry) {
        (self.rounds[entry.slot], self.marks[entry.slot]) = (entry.round, entry.marks);
        self.is_alone &= !entry.is_alone;
        if entry.number != self.left {
            self.is_second_left = true;
            return;
        }
        self.left += 1 + u64::from(std::mem::take(&mut self.is_second_left));
        if self.settled == entry.number && !entry.marks.has(SlotMarks::AHEAD) {
            // A rank goes ahead in no collective beside one that is under way.
            self.settled = self.left;
        }
    }
}

/// The words of a slot. Of a few ranks each waits for the words that the others publish; with survivors,
/// all ranks pass a barrier or none does, which needs its counter.
#[inline]
fn arrivals<'s>(comm: &Comm, shared: &'s SharedBlock, number: u64) -> Arrivals<'s, StagingSlot> {
    arrivals_by(comm, shared, shared.slots(number), number)
}

/// The same, where the ranks stage in these `slots`.
#[inline]
fn arrivals_by<'s>(
    comm: &Comm,
    shared: &'s SharedBlock,
    slots: &'s [StagingSlot],
    number: u64,
) -> Arrivals<'s, StagingSlot> {
    let (own, words) = (comm.rank().0, &shared.words);
    let slot = (number & (shared.stages.slots() - 1)) as usize;
    if slots.len() <= MOST_WITHOUT_COUNTER && !comm.keeps_to_close() {
        let asleep = &words.barriers[slot];
        let all_take_part = comm.context().all_take_part();
        return Arrivals::Each { own, all: slots, rings: &words.rings, asleep, all_take_part };
    }
    Arrivals::Counted(shared.barrier(slot, own))
}

impl CollectiveEntry {
    /// The same of a collective that begins in that slot, with the chain that it stages, or zero.
    #[inline]
    fn begun(self, chain: u32) -> CollectiveEntry {
        CollectiveEntry { marks: SlotMarks(chain.into()), ..self }
    }

    #[inline]
    fn sequence(comm: &Comm) -> BiasedGuard<'_, Sequence> {
        comm.inner.sequence.lock()
    }

    /// Starts a collective and enters its slot, if no other of this rank is under way and a call with this
    /// handle is not refused; otherwise nothing is done. Makes `entry`, which stays in its place, and returns whether it
    /// has: a copy would load several fields at once that have just been stored one by one, as a [`Round`] explains.
    #[inline(always)]
    pub(crate) fn start_alone(
        comm: &Comm,
        what: &Description,
        entry: &mut CollectiveEntry,
    ) -> bool {
        let is_for_calls = matches!(comm.purpose, Purpose::Calls | Purpose::Waiting);
        let Some(shared) = &comm.inner.shared else { return false };
        let slots = shared.stages.slots();
        if !is_for_calls || comm.is_freed() || is_forked() || comm.context().checker().is_some() {
            return false;
        }
        comm.inner.sequence.with(|sequence| sequence.enter_alone(what, slots, entry))
    }

    /// Whether one that [`CollectiveEntry::start_alone`] has started is under way.
    pub(super) fn is_one_alone(comm: &Comm) -> bool {
        Self::sequence(comm).is_alone
    }

    /// The number of a collective that is started now; of one that waits, also its entry if its slot is free.
    pub(crate) fn start(comm: &Comm, waits: bool) -> (u64, Option<CollectiveEntry>) {
        let mut sequence = Self::sequence(comm);
        let number = sequence.next;
        sequence.next += 1;
        let entry = if waits { sequence.enter(number, Self::slots(comm)) } else { None };
        (number, entry)
    }

    /// Starts a collective that waits, and enters its slot when that is free.
    pub(crate) fn start_waiting(
        comm: &Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<CollectiveEntry> {
        let (number, entry) = CollectiveEntry::start(comm, true);
        entry.map_or_else(|| CollectiveEntry::enter_later(comm, number, call, at), Ok)
    }

    fn slots(comm: &Comm) -> u64 {
        comm.inner.shared.as_ref().map_or(1, |shared| shared.stages.slots())
    }

    /// Enters the slot of collective `number`, if that is free.
    pub(crate) fn enter(comm: &Comm, number: u64) -> Option<CollectiveEntry> {
        let mut sequence = Self::sequence(comm);
        let entry = sequence.enter(number, Self::slots(comm))?;
        let is_awaited = sequence.next > number + 1;
        drop(sequence);
        if is_awaited {
            Self::slot_is_free(comm);
        }
        Some(entry)
    }

    /// Enters it when it is free: when an earlier collective of this rank is complete that does not
    /// wait.
    #[cold]
    fn enter_later(
        comm: &Comm,
        number: u64,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<CollectiveEntry> {
        let slot = (number % Self::slots(comm)) as usize;
        let before = Self::sequence(comm).rounds[slot];
        let describe = |record: &WaitRecord| {
            if let Some(shared) = &comm.inner.shared {
                record.set(&Self::arrival_in(comm, shared, number, before));
            }
        };
        let waiter = comm.recording_waiter(at, &describe);
        let entered = waiter.until(&comm.inner.left, |_| Self::sequence(comm).can_enter(number));
        entered.map_err(|failed| comm.rank_failed(failed, comm.place(call)))?;
        Self::enter(comm, number)
            .ok_or(Error::Damaged { what: "order of a communicator's collectives" })
    }

    /// The collective needs its slot no more; what was staged for it has been read.
    #[inline(always)]
    pub(crate) fn leave(&self, comm: &Comm) {
        let is_awaited = comm.inner.sequence.with(|sequence| {
            sequence.leave(self);
            sequence.next > self.number + UNDER_WAY
        });
        if is_awaited {
            Self::slot_is_free(comm);
        }
    }

    /// [`CollectiveEntry::leave`], unless the ranks synchronise once more to see whether all live: then it stays.
    pub(crate) fn keep_to_close(self, comm: &Comm) -> Option<CollectiveEntry> {
        if comm.keeps_to_close() {
            return Some(self);
        }
        self.leave(comm);
        None
    }

    /// Wakes a thread that waits for the slot, or that waits for what does.
    #[cold]
    fn slot_is_free(comm: &Comm) {
        comm.inner.left.add_and_wake(1);
        if let Ok(mail) = comm.context().segment.mail(comm.context().here) {
            mail.ring();
        }
    }

    /// Waits until this rank can stage `length` bytes for the collective that it has entered.
    #[inline(always)]
    pub(crate) fn settle_for(
        &self,
        comm: &Comm,
        length: usize,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let mut first = sync::first_unsettled(self.number, Self::slots(comm));
        if let Some(shared) = &comm.inner.shared {
            first = first.max(self.first_unsettled_for(comm, shared, length));
        }
        if self.settled >= first {
            return Ok(());
        }
        // Once it has to wait, for half of those that it is ahead: otherwise it would look, before each of the next
        // ones, at a line that another rank is about to write.
        Self::settle(comm, first + (self.number - first) / 2, call, at)
    }

    /// The number up to which this rank has to settle before it has a buffer for that many bytes.
    #[inline]
    fn first_unsettled_for(&self, comm: &Comm, shared: &SharedBlock, length: usize) -> u64 {
        if length <= INSIDE {
            return 0;
        }
        if length > CHUNK {
            let all = shared.stages.buffers();
            let most = if cycles(comm, length) { all } else { all.min(FEW) };
            return Self::sequence(comm).longs.first_unsettled(most);
        }
        let last = self.number.checked_sub(shared.stages.buffers());
        last.map_or(0, |last| sync::first_unsettled_buffer(last, UNDER_WAY))
    }

    /// All ranks have arrived at the collective of `entry`, so at those before too: settles them.
    #[inline(always)]
    pub(crate) fn settle_before(
        &self,
        comm: &Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if self.settled < self.number { Self::settle(comm, self.number, call, at) } else { Ok(()) }
    }

    /// Waits, in a call that the program has made at `at`, until all ranks have arrived at the collectives
    /// before number `first`, all of which this rank has entered, and compares what they have called.
    pub(crate) fn settle(
        comm: &Comm,
        first: u64,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let slots = Self::slots(comm);
        let sequence = Self::sequence(comm);
        let first = first.min(sequence.left);
        if sequence.settled >= first {
            return Ok(());
        }
        let mut last = sequence.entry(first - 1, slots);
        drop(sequence);
        last.await_round(comm, call, at)?;
        let is_known = last.staged(comm).is_chain_of_all();
        let mut sequence = Self::sequence(comm);
        if is_known && sequence.chained_from <= sequence.settled {
            sequence.settled = first.max(sequence.settled);
            return Ok(());
        }
        drop(sequence);
        Self::settle_each(comm, first, call, at)
    }

    /// The same one after the other, where all ranks have arrived.
    #[inline(never)]
    fn settle_each(
        comm: &Comm,
        first: u64,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        loop {
            let sequence = Self::sequence(comm);
            let number = sequence.settled;
            if number >= first {
                return Ok(());
            }
            let mut entry = sequence.entry(number, Self::slots(comm));
            let is_reported = entry.marks.has(SlotMarks::REPORTED);
            drop(sequence);
            let compared = if entry.marks.has(SlotMarks::AHEAD) {
                entry.await_round(comm, call, at)?;
                let staged = entry.staged(comm);
                staged.own().and_then(|own| staged.check(&own))
            } else {
                Ok(())
            };
            let mut sequence = Self::sequence(comm);
            sequence.settled = sequence.settled.max(number + 1);
            if let Err(error) = compared
                && !is_reported
            {
                sequence.mismatch.get_or_insert(error);
                comm.inner.has_mismatch.store(1);
            }
        }
    }

    /// The error of an earlier collective that this rank went ahead in, once.
    #[inline]
    pub(crate) fn report_earlier(comm: &Comm) -> Result<()> {
        if comm.inner.has_mismatch.load() == 0 { Ok(()) } else { Self::take_mismatch(comm) }
    }

    #[cold]
    fn take_mismatch(comm: &Comm) -> Result<()> {
        comm.inner.has_mismatch.store(0);
        Self::sequence(comm).mismatch.take().map_or(Ok(()), Err)
    }

    /// Whether a rank may go ahead in that collective. With survivors a call succeeds on all ranks or on
    /// none, so all wait.
    #[inline(always)]
    pub(crate) fn may_go_ahead(&self, comm: &Comm) -> bool {
        self.is_alone && !comm.keeps_to_close()
    }

    /// This rank does not wait for all to arrive. `is_reported`: it will report that ranks do not agree.
    #[inline(always)]
    pub(crate) fn go_ahead(&mut self, comm: &Comm, is_reported: bool) -> Result<()> {
        let reported = if is_reported { SlotMarks::REPORTED } else { 0 };
        self.marks = SlotMarks(self.marks.0 | SlotMarks::AHEAD | reported);
        self.ring_others(comm)
    }

    /// Stages a description and a contribution of `length` bytes, of which `write` puts at most
    /// a chunk to the offset that is its argument; then arrives at the next barrier of the slot. What was in these
    /// buffers has been settled.
    #[inline(always)]
    pub(crate) fn arrive(
        &mut self,
        comm: &Comm,
        what: &Description,
        length: usize,
        write: impl FnOnce(&Segment, u64) -> Result<()>,
    ) -> Result<()> {
        let shared = comm.shared()?;
        let slots = shared.slots(self.number);
        let words = arrivals_by(comm, shared, slots, self.number);
        let lost = |failed| comm.rank_failed(failed, comm.place(what.call()));
        if words.is_given_up(comm.size(), self.round) {
            // No barrier of this slot is passed any more; and others may still read what this rank
            // has staged before.
            return Err(lost(JobFailed));
        }
        words.expect_arrival();
        let stage = StagingBuffer { rank: comm.rank().0, number: self.number };
        let (segment, slot) = (&comm.context().segment, &slots[stage.rank as usize]);
        let is_long = length > CHUNK && length as u64 <= shared.longest();
        let buffer = if is_long { self.take_long(comm, length)? } else { self.number };
        let chunk = shared.chunk(stage, length as u64, buffer);
        let stage_all = || {
            what.stage_in(slot, length, buffer, self.marks.chain());
            write(segment, chunk)?;
            if what.wants_ring() {
                sync::expect_ring(&shared.words.rings);
            }
            Ok(())
        };
        let (round, published) = (&mut self.round, Some(&slot.published));
        let arrived = words.stage_and_arrive(comm.size(), round, stage_all, published)?;
        self.is_last = arrived.map_err(lost)?;
        // The other ranks have read it; it arrives while this rank waits for them.
        shared.slot(StagingBuffer { number: self.number + 1, ..stage }).published.expect_update();
        Ok(())
    }

    /// A buffer for longer data, of that many bytes. There is one: this rank has settled what [`CollectiveEntry::settle_for`]
    /// asks for, or, if the collective does not wait, all before it.
    #[cold]
    fn take_long(&self, comm: &Comm, length: usize) -> Result<u64> {
        let mut sequence = Self::sequence(comm);
        let settled = sequence.settled;
        let among = (comm.shared()?.stages.buffers(), cycles(comm, length));
        let taken = sequence.longs.take(self.number, settled, among);
        taken.ok_or(Error::Damaged { what: "order of staging buffers" })
    }

    /// Arrives once more at the barrier of the slot, with what has been staged.
    pub(crate) fn arrive_again(&mut self, comm: &Comm, call: Call) -> Result<()> {
        let words = arrivals(comm, comm.shared()?, self.number);
        let arrived = words.arrive(comm.size(), &mut self.round, None);
        let lost = |failed| comm.rank_failed(failed, comm.place(call));
        self.is_last = arrived.map_err(lost)?;
        Ok(())
    }

    /// Waits until `rank` has staged, in a call that the program has made at `at`.
    #[inline(always)]
    pub(crate) fn await_rank(
        &self,
        comm: &Comm,
        rank: u32,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let shared = comm.shared()?;
        let stage = StagingBuffer { rank, number: self.number };
        let published = &shared.slot(stage).published;
        if sync::is_published(published, self.round) {
            // It is ahead, and its next one may be there, too.
            shared.slot(StagingBuffer { number: self.number + 1, ..stage }).published.expect_read();
            return Ok(());
        }
        // By value, as to each call that is seldom made: an entry whose address is taken does not stay in registers.
        (*self).await_published(comm, published, call, at)
    }

    #[inline(never)]
    fn await_published(
        self,
        comm: &Comm,
        published: &ParkWord,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let shared = comm.shared()?;
        let before = self.round.before();
        let describe =
            |record: &WaitRecord| record.set(&Self::arrival_in(comm, shared, self.number, before));
        let waiter = comm.recording_waiter(at, &describe);
        let passed = sync::await_published(published, self.round, &waiter);
        passed.map_err(|failed| comm.rank_failed(failed, comm.place(call)))
    }

    /// Waits until all ranks have arrived, in a call that the program has made at `at`.
    #[inline(always)]
    pub(crate) fn await_round(
        &mut self,
        comm: &Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if !self.round.is_open() {
            return self.ring_others(comm);
        }
        let words = arrivals(comm, comm.shared()?, self.number);
        let lost = |failed| comm.rank_failed(failed, comm.place(call));
        if let Some(passed) = words.try_pass(comm.size(), &mut self.round, false) {
            passed.map_err(lost)?;
            return self.ring_others(comm);
        }
        let passed;
        (self.round, passed) = (*self).await_arrivals(comm, call, at);
        passed?;
        self.ring_others(comm)
    }

    /// Returns its round after that, too.
    #[inline(never)]
    fn await_arrivals(
        self,
        comm: &Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> (Round, Result<()>) {
        let (mut round, number) = (self.round, self.number);
        let shared = match comm.shared() {
            Ok(shared) => shared,
            Err(error) => return (round, Err(error)),
        };
        let words = arrivals(comm, shared, number);
        let lost = |failed| comm.rank_failed(failed, comm.place(call));
        let before = round.before();
        let describe =
            |record: &WaitRecord| record.set(&Self::arrival_in(comm, shared, number, before));
        let waiter = comm.recording_waiter(at, &describe);
        let passed = words.pass(comm.size(), &mut round, &waiter).map_err(lost);
        (round, passed)
    }

    /// [`CollectiveEntry::await_round`] without waiting: `None` as long as some ranks have not arrived.
    pub(crate) fn poll_round(&mut self, comm: &Comm, call: Call) -> Option<Result<()>> {
        let words = match comm.shared() {
            Ok(shared) => arrivals(comm, shared, self.number),
            Err(error) => return Some(Err(error)),
        };
        let has_failed = comm.has_lost_any();
        let passed = words.try_pass(comm.size(), &mut self.round, has_failed)?;
        let passed = passed.map_err(|failed| comm.rank_failed(failed, comm.place(call)));
        Some(passed.and_then(|()| self.ring_others(comm)))
    }

    /// Records, for a report of a deadlock, which ranks have arrived at the barrier that this rank waits at.
    #[cold]
    pub(crate) fn describe_round(&self, comm: &Comm, record: &WaitRecord) {
        if let Some(shared) = &comm.inner.shared {
            let before = self.round.before();
            record.set(&Self::arrival_in(comm, shared, self.number, before));
        }
    }

    /// The last rank that has arrived rings the bells of those who do not wait at the barrier.
    #[inline(always)]
    fn ring_others(&mut self, comm: &Comm) -> Result<()> {
        let is_last = std::mem::take(&mut self.is_last);
        if !is_last || comm.shared()?.words.rings.load() == 0 { Ok(()) } else { (*self).ring(comm) }
    }

    #[cold]
    fn ring(self, comm: &Comm) -> Result<()> {
        let (staged, own) = (self.staged(comm), comm.rank().0);
        for rank in (0..comm.size()).filter(|rank| *rank != own) {
            if staged.description(rank)?.wants_ring() {
                let number = comm.context().number_of(comm.world_ranks()[rank as usize])?;
                comm.context().segment.mail(number)?.ring();
            }
        }
        Ok(())
    }

    fn arrival_in<'c>(
        comm: &'c Comm,
        shared: &SharedBlock,
        number: u64,
        before: Round,
    ) -> Awaited<'c> {
        let slot = (number & (shared.stages.slots() - 1)) as usize;
        let words = arrivals(comm, shared, number);
        comm.members().arrival(&shared.words.barriers[slot], words, before)
    }

    /// Before this rank arrives, in a call made at `at`: publishes its clock, in a checked job.
    pub(crate) fn publish_clock(&self, comm: &Comm, at: &'static Location<'static>) -> Result<()> {
        let publish = |checker: &Checker| {
            checker.publish(self.clock_of(comm, comm.rank().0)?);
            Ok(())
        };
        comm.context().synchronising(Some(at), Frequency::Seldom, publish).unwrap_or(Ok(()))
    }

    /// What a rank publishes that starts a collective now, in a checked job: for [`CollectiveEntry::write_clock`] later.
    pub(crate) fn own_clock(comm: &Comm) -> Option<Box<[Word64]>> {
        comm.context().synchronising(None, Frequency::Seldom, |checker| {
            let words: Box<[Word64]> = (0..checker.clocks()).map(|_| Word64::default()).collect();
            checker.publish(&words);
            words
        })
    }

    /// Before this rank arrives: publishes a clock that it has had.
    pub(crate) fn write_clock(&self, comm: &Comm, clock: &[Word64]) -> Result<()> {
        let words = self.clock_of(comm, comm.rank().0)?;
        words.iter().zip(clock).for_each(|(word, clock)| word.store(clock.load()));
        Ok(())
    }

    /// [`CollectiveEntry::publish_clock`] in a call that waits. In a barrier this rank rests until the value is dropped.
    pub(crate) fn publish_before<'c>(
        &self,
        comm: &'c Comm,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<Option<Rest<'c>>> {
        if call != Call::Barrier {
            return self.publish_clock(comm, at).map(|()| None);
        }
        let publish = |checker: &Checker| {
            checker.publish(self.clock_of(comm, comm.rank().0)?);
            Ok(())
        };
        let published = comm.context().resting(Some(at), Frequency::Seldom, publish);
        published.map(|(done, rest)| done.map(|()| rest)).transpose()
    }

    /// All of `ranks` have arrived, and this one waits for them: merges their clocks, in a checked job.
    pub(crate) fn merge_clocks(
        &self,
        comm: &Comm,
        ranks: impl IntoIterator<Item = u32>,
    ) -> Result<()> {
        let Some(checker) = comm.context().checker() else { return Ok(()) };
        ranks.into_iter().try_for_each(|rank| {
            checker.merge([self.clock_of(comm, rank)?]);
            Ok(())
        })
    }

    /// The clocks of `ranks` together, which have arrived, in a checked job: for [`Checker::merge`] later.
    pub(crate) fn read_clocks(&self, comm: &Comm, ranks: &[u32]) -> Result<Option<Box<[Word64]>>> {
        let Some(checker) = comm.context().checker() else { return Ok(None) };
        let mut clock = vec![0; checker.clocks()];
        for rank in ranks {
            clock::merge(&mut clock, self.clock_of(comm, *rank)?, |_, _| ());
        }
        let words: Box<[Word64]> = clock.iter().map(|_| Word64::default()).collect();
        clock::publish(&words, &clock);
        Ok(Some(words))
    }

    fn clock_of<'c>(&self, comm: &'c Comm, rank: u32) -> Result<&'c [Word64]> {
        let segment = &comm.context().segment;
        let at = comm.shared()?.stages.clock(StagingBuffer { rank, number: self.number });
        segment.mapping().views(at, segment.layout().clocks as usize)
    }

    /// What all ranks have staged for a collective that this rank has arrived at.
    #[inline(always)]
    pub(crate) fn staged<'c>(&self, comm: &'c Comm) -> Staged<'c> {
        let (number, round, chain) = (self.number, self.round.word(), self.marks.chain());
        Staged { comm, number, round, chain, alone: Vec::new(), stride: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 8;

    #[test]
    fn a_rank_takes_another_buffer_only_while_the_oldest_is_in_use() {
        let mut in_step = BuffersInUse::default();
        for number in 0..100 {
            // All before it have been settled.
            let taken = in_step.take(number, number, (MOST, false));
            assert!(in_step.first_unsettled(MOST) == 0 && taken.is_some_and(|taken| taken < 3));
        }
        let mut ahead = BuffersInUse::default();
        for number in 0..MOST {
            let taken = (ahead.first_unsettled(MOST), ahead.take(number, 0, (MOST, true)));
            assert_eq!(taken, (0, Some(number)));
        }
        let first = 1 + UNDER_WAY;
        assert_eq!(ahead.first_unsettled(MOST), first);
        assert_eq!(ahead.take(MOST, first - 1, (MOST, true)), None);
        assert_eq!(ahead.take(MOST, first, (MOST, true)), Some(0));
        assert_eq!(ahead.first_unsettled(MOST), first + 1);
    }

    #[test]
    fn a_rank_that_cycles_comes_to_use_all_buffers_in_turn() {
        let mut buffers = BuffersInUse::default();
        let mut take = |number| buffers.take(number, number, (MOST, true)).unwrap();
        let first: Vec<u64> = (0..MOST * GROWTH).map(&mut take).collect();
        assert!(first[..2 * GROWTH as usize].iter().all(|taken| *taken < 4), "few at first");
        let mut last: Vec<u64> = (MOST * GROWTH..).take(MOST as usize).map(take).collect();
        last.sort_unstable();
        assert!(last.into_iter().eq(0..MOST));
    }
}
