//! The plan of a collective.

use super::buffer::{self, Buffer, BufferMut, Combine, HeldDatatype};
use super::form::{Awaits, CollectiveForm, Completion, Entered, LentForm, Pieces, ShortForm};
use super::request::CollectiveRequest;
use super::schedule::{PlanStep, Retained, Schedule, ScheduleStage};
use super::short::{self, COMBINED_BY_ALL};
use super::staged::{Give, Take};
use crate::call::Call;
use crate::comm::{CHUNK, Collective, CollectiveEntry, Comm, Description, Reduction, part_digest};
use crate::datatype::{CommittedDatatype, Element};
use crate::error::{Error, Result};
use crate::group::Rank;
use bytemuck::Pod;
use std::any::Any;
use std::panic::Location;

/// A collective that has not begun: nothing was sent, so it can still be refused.
pub(super) struct Plan<'c> {
    pub(super) comm: &'c Comm,
    pub(super) call: Call,
    /// This rank, and how many there are.
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// The number of ranks in the other group of a collective between two groups. They are numbered after
    /// those of the own group.
    pub(super) remote: u32,
    /// These in the communicator.
    pub(super) across: Vec<Rank>,
    pub(super) root: Rank,
    /// Whether the call returns when the collective is complete on this rank.
    waits: bool,
    /// Whether all parts of all ranks have the same length.
    pub(super) is_equal: bool,
    /// What all ranks have to agree on. If `None`, every part that this rank sends or receives.
    pub(super) what: Option<Description>,
    /// The short form.
    pub(super) give: Give,
    pub(super) take: Take,
    pub(super) awaits: Awaits,
    /// Whether ranks only know after the barrier if it is short: it then has both forms.
    pub(super) is_open: bool,
    /// The long form.
    pub(super) steps: Vec<PlanStep>,
    /// What follows the short form, in a call that waits.
    pub(super) pieces: Option<Pieces>,
    pub(super) combine: Option<Combine>,
    pub(super) retained: Retained,
}

/// Starts the collective of `plan`, and on a handle for blocking calls waits for it.
#[track_caller]
pub(super) fn begin<B: Any>(
    comm: &Comm,
    call: Call,
    plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
) -> Result<CollectiveRequest<B>> {
    let at = Location::caller();
    comm.within(call, || {
        let mut planned = Plan::new(comm, call, comm.rank().0, comm.size());
        plan(&mut planned)?;
        planned.start(at)
    })
}

/// [`begin`] of a collective that has a short form, if the data are short and the call is not refused.
#[track_caller]
#[inline(always)]
pub(super) fn begin_short<'d>(
    comm: &Comm,
    call: Call,
    short: impl FnOnce() -> Option<LentForm<'d>>,
    plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
) -> Result<CollectiveRequest> {
    if comm.is_waiting()
        && !comm.is_agreeing()
        && let Some(done) = short::run(comm, &mut short(), Location::caller())
    {
        return done.map(|()| CollectiveRequest::done(comm, call, None));
    }
    begin(comm, call, plan)
}

/// A call that is complete when it returns, by its short form if that is given and no other collective is under
/// way, otherwise by `plan`. No short form is given for a function of the program: a [`Collective`] refuses what that
/// function may call on this communicator.
#[track_caller]
#[inline(always)]
pub(super) fn short_or(
    comm: &Comm,
    call: Call,
    mut lent: Option<LentForm<'_>>,
    plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
) -> Result<()> {
    match short::run(comm, &mut lent, Location::caller()) {
        Some(done) => done,
        None => comm.collectively(call, |all| all.meet(plan)),
    }
}

/// [`short_or`] of elements of one type.
#[track_caller]
#[inline(always)]
pub(super) fn short_or_of<T: Pod>(
    comm: &Comm,
    call: Call,
    lent: Option<LentForm<'_>>,
    plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
) -> Result<()> {
    short_or(comm, call, lent.map(LentForm::elements::<T>), |planned| {
        plan(planned)?;
        planned.are_elements::<T>();
        Ok(())
    })
}

impl Collective<'_> {
    /// [`Collective::meet`] of elements of one type.
    pub(super) fn run<T: Pod>(&self, plan: impl FnOnce(&mut Plan<'_>) -> Result<()>) -> Result<()> {
        self.meet(|planned| {
            plan(planned)?;
            planned.are_elements::<T>();
            Ok(())
        })
    }

    /// Runs a collective to its end. If this rank is refused, it notifies the others, because they would wait for
    /// ever.
    pub(super) fn meet(&self, plan: impl FnOnce(&mut Plan<'_>) -> Result<()>) -> Result<()> {
        let mut planned = Plan::waiting(self.comm(), self.call());
        match plan(&mut planned) {
            Ok(()) => planned.complete(self.at()),
            Err(error) => {
                planned.refused();
                // This rank's own error is more exact.
                let _ = planned.complete(self.at());
                Err(error)
            }
        }
    }

    /// The round before, of lengths: only the datatype of the elements has to be the same.
    pub(super) fn lengths<T: Pod>(
        &self,
        plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
    ) -> Result<()> {
        self.meet(|planned| {
            planned.is_equal = true;
            plan(planned)?;
            // Ranks that do not agree do not come to the round that follows.
            planned.awaits = Awaits::All;
            planned.what = Some(Description::typed::<T>(self.call()));
            Ok(())
        })
    }
}

impl Plan<'_> {
    pub(super) fn new(comm: &Comm, call: Call, rank: u32, ranks: u32) -> Plan<'_> {
        let retained = Retained { result: Some(Box::new(())), ..Retained::default() };
        Plan {
            comm,
            call,
            rank,
            ranks,
            remote: 0,
            across: Vec::new(),
            root: Rank(0),
            waits: comm.is_waiting(),
            is_equal: matches!(
                call,
                Call::Gather | Call::Scatter | Call::Allgather | Call::Alltoall
            ),
            what: None,
            give: Give::Nothing,
            take: Take::Nothing,
            awaits: Awaits::All,
            is_open: false,
            steps: Vec::new(),
            pieces: None,
            combine: None,
            retained,
        }
    }

    /// Of all ranks of a communicator, in a call that returns when it is complete.
    pub(super) fn waiting(comm: &Comm, call: Call) -> Plan<'_> {
        Plan { waits: true, ..Plan::new(comm, call, comm.rank().0, comm.size()) }
    }

    /// This rank's call is refused; the others are notified.
    pub(super) fn refused(&mut self) {
        self.what = Some(Description::bare(self.call).refused());
        self.only_compare();
    }

    /// The ranks compare their calls, and nothing is moved.
    fn only_compare(&mut self) {
        (self.give, self.take, self.is_open) = (Give::Nothing, Take::Nothing, false);
        self.awaits = Awaits::All;
        self.pieces = None;
        self.steps.clear();
    }

    /// All ranks have the data of `buffer`, and the same root; 0 for a call without a root.
    pub(super) fn agree_on(&mut self, buffer: &Buffer, root: Rank) -> Result<()> {
        self.root = root;
        let bytes = self.bytes(buffer)?;
        let (datatype, sequence) = buffer.datatype.signature(buffer.count);
        self.what = Some(Description::bare(self.call).data(bytes, datatype, sequence));
        Ok(())
    }

    /// What all ranks have agreed on is of elements of that type.
    fn are_elements<T: Pod>(&mut self) {
        self.what = self.what.map(|what| what.elements::<T>());
    }

    /// All ranks make the same call without data.
    pub(super) fn agree_on_nothing(&mut self) {
        self.what = Some(Description::bare(self.call));
    }

    /// All ranks have these counts of such data.
    pub(super) fn agree_on_counts(&mut self, counts: &[usize]) {
        self.what = self.what.map(|what| what.counts(counts));
    }

    /// Whether contributions of that many bytes each are short, as all ranks know.
    pub(super) fn is_short(&self, bytes: u64) -> bool {
        bytes <= self.comm.longest_staged() && self.is_staged()
    }

    /// Whether it has a short form, as all ranks know. That is then the plan.
    pub(super) fn has_short(
        &mut self,
        form: impl FnOnce(&Comm, Call) -> Option<ShortForm>,
    ) -> bool {
        let form = if self.is_staged() { form(self.comm, self.call) } else { None };
        let Some(ShortForm { what, give, take, awaits, .. }) = form else { return false };
        (self.what, self.give, self.take, self.awaits) = (Some(what), give, take, awaits);
        true
    }

    /// Whether the ranks use the staging area, also for the data.
    pub(super) fn is_staged(&self) -> bool {
        // The other MPI's allgather may need a second one for data, which only a call that waits makes.
        let may_stage = self.waits || self.comm.foreign().is_none();
        let is_persistent = self.comm.persistent_number().is_some();
        self.remote == 0 && self.comm.has_staging() && may_stage && !is_persistent
    }

    /// [`Plan::is_short`] where the ranks combine all contributions themselves.
    pub(super) fn is_short_to_combine(&self, bytes: u64) -> bool {
        self.is_short(bytes) && bytes * u64::from(self.ranks) <= COMBINED_BY_ALL
    }

    /// Whether the call returns when the collective is complete on this rank.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// What all ranks have to agree on.
    pub(super) fn description(&self) -> Description {
        let what = match self.what {
            Some(what) => what,
            None => self.described_by_steps(),
        };
        let what = what.root(self.root);
        match &self.combine {
            Some(combine) if self.remote == 0 => what.op(combine.kind),
            _ => what,
        }
    }

    /// Each part that is sent is received with the same length.
    fn described_by_steps(&self) -> Description {
        let (own, mut sent, mut received) = (self.comm.rank().0, 0u64, 0u64);
        let mut datatypes = Vec::new();
        for step in &self.steps {
            let (buffer, peer, sum) = match step {
                PlanStep::Send(to, from) => (from.clone(), to.0, &mut sent),
                PlanStep::Receive(from, into) => (into.read(), from.0, &mut received),
                _ => continue,
            };
            let bytes = buffer.bytes().unwrap_or(u64::MAX);
            let (from, to) =
                if matches!(step, PlanStep::Send(..)) { (own, peer) } else { (peer, own) };
            *sum = sum.wrapping_add(part_digest(from, to, bytes));
            datatypes.push(buffer.datatype.signature(buffer.count).0);
        }
        let first = datatypes.first().copied().flatten();
        let datatype = first.filter(|_| datatypes.iter().all(|one| *one == first));
        Description::bare(self.call).data(0, datatype, 0).paired(sent, received)
    }

    /// The ranks whose data this one gets. Only what they did before the call is ordered before what this rank does
    /// after it, whatever this library waits for: other ranks may be late (MPI-4.1 §6.1).
    fn sources(&self) -> Vec<u32> {
        let (own, root) = (self.comm.rank().0, self.root.0);
        let mut all: Vec<u32> = match self.remote {
            0 => (0..self.comm.size()).collect(),
            _ => self.across.iter().map(|rank| rank.0).collect(),
        };
        match self.call {
            Call::Broadcast | Call::Scatter => all.retain(|rank| *rank == root),
            Call::Gather | Call::Reduce if root != own => all.clear(),
            Call::Scan => all.retain(|rank| *rank <= own),
            Call::Exscan => all.retain(|rank| *rank < own),
            // These may get nothing from a rank.
            Call::Neighbours | Call::Alltoallv | Call::Gatherv | Call::Scatterv => {
                all.retain(|rank| self.steps.iter().any(|step| step.gets_from(*rank)));
            }
            _ => {}
        }
        all
    }

    /// The buffers of the program may be those of operations that are not complete.
    fn pass_buffers(&self) {
        let pass = |buffer: &Buffer, is_written: bool| {
            self.comm.context().passed(self.call, buffer.range(), is_written);
        };
        self.give.buffers().iter().for_each(|buffer| pass(buffer, false));
        self.take.buffers().iter().for_each(|buffer| pass(buffer.as_read(), true));
        for step in &self.steps {
            match step {
                PlanStep::Send(_, from) => pass(from, false),
                PlanStep::Receive(_, into) => pass(into.as_read(), true),
                PlanStep::Copy(from, into) => {
                    pass(from, false);
                    pass(into.as_read(), true);
                }
                PlanStep::Await | PlanStep::Combine(..) => {}
            }
        }
    }

    /// The collective of a complete plan.
    fn form(self) -> CollectiveForm {
        let what = self.description();
        let is_checked = self.comm.context().checker().is_some();
        let sources = if is_checked { self.sources() } else { Vec::new() };
        if is_checked {
            self.pass_buffers();
        }
        let Plan { call, give, take, awaits, is_open, steps, pieces, combine, retained, .. } = self;
        let (length, has_steps) = (give.length(), !steps.is_empty() && pieces.is_none());
        let short = ShortForm { call, what, give, length, take, awaits, has_steps, is_open };
        CollectiveForm { short, steps, pieces, combine, retained, sources }
    }

    /// Translates every rank to its number in the communicator.
    pub(super) fn rename(&mut self, places: &[Rank]) {
        for step in &mut self.steps {
            if let PlanStep::Send(rank, _) | PlanStep::Receive(rank, _) = step {
                *rank = places[rank.index()];
            }
        }
    }

    /// Starts it and waits until it is complete on this rank, in a call that the program has made at `at`.
    pub(super) fn complete(self, at: &'static Location<'static>) -> Result<()> {
        let request = self.start::<()>(at)?;
        request.outcome().unwrap_or(Ok(()))
    }

    /// Starts it, in a call that the program has made at `at`; in a call that waits also waits for it.
    pub(super) fn start<B: Any>(
        self,
        at: &'static Location<'static>,
    ) -> Result<CollectiveRequest<B>> {
        let (comm, call, waits) = (self.comm, self.call, self.waits);
        let mut form = self.form();
        if comm.is_agreeing() {
            form.only_compare();
        }
        let alone = || ScheduleStage::Moving(None);
        if comm.persistent_number().is_some() {
            return CollectiveRequest::start(Schedule::new(comm, form, alone(), 0), waits, at);
        }
        if let Some(foreign) = comm.foreign() {
            return form.start_by(comm, foreign, waits, at);
        }
        let (number, entry) = CollectiveEntry::start(comm, waits);
        if !comm.has_staging() {
            // One rank agrees with itself.
            entry.into_iter().for_each(|entry| entry.leave(comm));
            let schedule = Schedule::new(comm, form, alone(), number);
            return CollectiveRequest::start(schedule, waits, at);
        }
        let mut stage = None;
        if let Some(entry) = entry.filter(|_| waits) {
            let each = CHUNK as u64 / u64::from(comm.size());
            let is_long = form.short.has_steps && form.short.what.is_longer(each);
            let has_longs = is_long && comm.take_longs();
            form.short.what = form.short.what.with_longs(has_longs);
            let mut entered = Entered::new(comm, entry);
            let rest = entered.entry().publish_before(comm, call, at)?;
            let completion = form.short.meet(comm, entered.entry(), at)?;
            drop(rest);
            entered.entry().merge_clocks(comm, form.sources.iter().copied())?;
            match completion {
                Completion::Done => {
                    drop(entered);
                    form.take_pieces(comm, at)?;
                    CollectiveEntry::report_earlier(comm)?;
                    return Ok(CollectiveRequest::complete(comm, form));
                }
                Completion::Long => {
                    if has_longs {
                        entered.entry().staged(comm).learn_longs()?;
                    }
                    stage = Some(ScheduleStage::Moving(entered.keep().keep_to_close(comm)))
                }
            }
        } else {
            // It may enter its slot later, when no call of this rank can wait.
            CollectiveEntry::settle(comm, number, call, at)?;
        }
        let waiting = || ScheduleStage::Waiting(CollectiveEntry::own_clock(comm));
        let schedule = Schedule::new(comm, form, stage.unwrap_or_else(waiting), number);
        let request = CollectiveRequest::start(schedule, waits, at)?;
        if waits { CollectiveEntry::report_earlier(comm).map(|()| request) } else { Ok(request) }
    }

    pub(super) fn send(&mut self, to: u32, from: Buffer) {
        self.steps.push(PlanStep::Send(Rank(to), from));
    }

    pub(super) fn receive(&mut self, from: u32, into: BufferMut) {
        self.steps.push(PlanStep::Receive(Rank(from), into));
    }

    /// Ends a round: the next steps need its messages or buffers.
    pub(super) fn wait(&mut self) {
        self.steps.push(PlanStep::Await);
    }

    pub(super) fn copy(&mut self, from: Buffer, to: BufferMut) {
        self.steps.push(PlanStep::Copy(from, to));
    }

    pub(super) fn combine(&mut self, lower: Buffer, upper: BufferMut) {
        self.steps.push(PlanStep::Combine(lower, upper));
    }

    /// What [`Plan::combine`] does.
    pub(super) fn combine_by(&mut self, combine: Combine) {
        self.combine = Some(combine);
    }

    /// What a reduction does.
    pub(super) fn function<T: Element>(&self, op: &impl Reduction<T>) -> Result<Combine> {
        Combine::by(op).ok_or_else(|| self.no_operation(op.name(), T::DATATYPE.name()))
    }

    /// What the request owns, and what it returns.
    pub(super) fn keep(&mut self, given: impl Any + Send, result: impl Any + Send) {
        self.retained.given = Some(Box::new(given));
        self.retained.result = Some(Box::new(result));
    }

    /// Memory for `count` instances of a datatype that fit into an address space.
    pub(super) fn scratch(&mut self, count: usize, of: &HeldDatatype) -> Result<BufferMut> {
        let (memory, buffer) = buffer::scratch(count, of).ok_or_else(|| self.too_far(of))?;
        self.retained.scratch.push(memory);
        Ok(buffer)
    }

    /// A copy of the contents of `buffer` after the steps so far.
    pub(super) fn copied(&mut self, buffer: &Buffer) -> Result<BufferMut> {
        let copy = self.scratch(buffer.count, &buffer.datatype)?;
        self.copy(buffer.clone(), copy.clone());
        Ok(copy)
    }

    /// All ranks but this one, from the next one on, so that not all begin with the same.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, ranks) = (self.rank, self.ranks);
        (1..ranks).map(move |k| (rank + k) % ranks)
    }

    /// The same, beginning with the one before, which sends to this rank first.
    pub(super) fn others_back(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, ranks) = (self.rank, self.ranks);
        (1..ranks).map(move |k| (rank + ranks - k) % ranks)
    }

    /// The bytes of a buffer that reaches no farther than can be represented.
    pub(super) fn bytes(&self, buffer: &Buffer) -> Result<u64> {
        buffer.bytes().ok_or_else(|| self.too_far(&buffer.datatype))
    }

    /// In a job that counts: the bytes that this rank's program gives to the collective, and those that it gets.
    pub(super) fn moves(&self, gives: u64, gets: u64) {
        if let Some(statistics) = self.comm.context().statistics() {
            statistics.moves(gives, gets);
        }
    }

    /// That many elements, which another rank has asked for.
    pub(super) fn zeroed<T: Pod>(&self, length: u64) -> Result<Vec<T>> {
        let zeroed = bytemuck::allocation::try_zeroed_slice_box(length as usize);
        zeroed.map(Vec::from).map_err(|()| Error::NoMemory {
            at: self.comm.place(self.call),
            requested: length.saturating_mul(size_of::<T>() as u64),
            available: 0,
            limit: "the memory of this process, for what the other ranks send",
        })
    }

    /// One of each length.
    pub(super) fn vectors<T: Pod>(&self, lengths: &[u64]) -> Result<Vec<Vec<T>>> {
        lengths.iter().map(|length| self.zeroed(*length)).collect()
    }

    pub(super) fn check_root(&self, root: Rank, ranks: u32) -> Result<()> {
        if root.0 < ranks {
            return Ok(());
        }
        Err(Error::Root { at: self.comm.place(self.call), root, ranks })
    }

    /// Refuses a root that is no rank of the communicator, or that has no data.
    pub(super) fn check_root_gives(&self, root: Rank, gives: bool) -> Result<()> {
        self.check_root(root, self.ranks)?;
        if gives || self.rank != root.0 {
            return Ok(());
        }
        Err(self.no_buffer("the root gives no buffer"))
    }

    pub(super) fn check_slices(&self, found: usize) -> Result<()> {
        self.check_count("list of slices", found, self.ranks as usize)
    }

    pub(super) fn check_peer(&self, peer: Rank) -> Result<()> {
        if peer.0 < self.ranks {
            return Ok(());
        }
        Err(Error::Peer { at: self.comm.place(self.call), peer, ranks: self.ranks })
    }

    pub(super) fn check_count(
        &self,
        what: &'static str,
        found: usize,
        needed: usize,
    ) -> Result<()> {
        if found == needed {
            return Ok(());
        }
        Err(Error::Count { at: self.comm.place(self.call), what, found, needed })
    }

    /// Refuses two buffers of this rank of which one is to be copied to the other.
    pub(super) fn check_same(&self, from: &Buffer, to: &BufferMut) -> Result<()> {
        let (from, to) = (self.bytes(from)?, self.bytes(&to.read())?);
        self.check_count("own part, in bytes,", from as usize, to as usize)
    }

    pub(super) fn no_buffer(&self, problem: &'static str) -> Error {
        Error::Buffer { at: self.comm.place(self.call), problem }
    }

    pub(super) fn no_operation(&self, op: &'static str, datatype: &'static str) -> Error {
        Error::Operation { at: self.comm.place(self.call), op, datatype }
    }

    #[cold]
    fn too_far(&self, datatype: &CommittedDatatype) -> Error {
        let buffer = format!("a buffer of {datatype:?}");
        Error::Reach { at: self.comm.place(self.call), buffer }
    }
}
