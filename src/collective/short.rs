//! The short forms of collectives, and how a rank that has no other collective under way runs one to its
//! end without a plan.

use super::buffer::{Buffer, BufferMut, Has};
use super::form::{Awaits, Entered, ShortForm};
use super::staged::{BufferParts, Give, Take};
use crate::call::Call;
use crate::comm::{CollectiveEntry, Comm, Description};
use crate::error::Result;
use crate::group::Rank;
use bytemuck::Pod;
use std::borrow::Borrow;
use std::panic::Location;

/// The most bytes of all contributions together if every rank combines all of them.
pub(super) const COMBINED_BY_ALL: u64 = 64 * 1024;

/// Whether a rank stages that many bytes for itself with what it gives to others. Longer ones are copied from where they
/// are ([`Plan::has_pieces`](super::plan::Plan::has_pieces)), unless they are a small part of what it gets.
pub(super) fn stages_own(bytes: u64, ranks: u32) -> bool {
    bytes <= 8 * 1024 || ranks > 4
}

/// Each is `None` if the data are not short, or the call may have to be refused.
impl<D: Has> ShortForm<D> {
    /// All ranks have the data of `buffer`, and the same root; 0 for a call without a root.
    #[inline(always)]
    fn agreeing(
        comm: &Comm,
        call: Call,
        buffer: &Buffer<D>,
        root: Rank,
    ) -> Option<(Description, u64)> {
        let bytes = buffer.bytes().filter(|bytes| *bytes <= comm.longest_staged())?;
        let (datatype, sequence) = buffer.datatype.signature(buffer.count);
        Some((Description::bare(call).data(bytes, datatype, sequence).root(root), bytes))
    }

    /// Of elements of one type, also where there are none.
    #[inline(always)]
    pub(super) fn elements<T: Pod>(mut self) -> ShortForm<D> {
        self.what = self.what.elements::<T>();
        self
    }

    #[inline(always)]
    pub(super) fn barrier() -> ShortForm<D> {
        ShortForm::new(Call::Barrier, Description::bare(Call::Barrier))
    }

    #[inline(always)]
    pub(super) fn broadcast(
        comm: &Comm,
        call: Call,
        buffer: BufferMut<D>,
        root: Rank,
    ) -> Option<ShortForm<D>> {
        let (what, bytes) = ShortForm::agreeing(comm, call, buffer.as_read(), root)?;
        if root.0 >= comm.size() {
            return None;
        }
        Some(ShortForm::broadcasting(call, what, (buffer, bytes), root, comm.rank() == root))
    }

    /// The bytes of `buffer` come from the root, which waits for none.
    #[inline(always)]
    pub(super) fn broadcasting(
        call: Call,
        what: Description,
        (buffer, bytes): (BufferMut<D>, u64),
        root: Rank,
        is_root: bool,
    ) -> ShortForm<D> {
        if is_root {
            let gives = (Give::One(buffer.into_read()), bytes as usize);
            return ShortForm::moving(call, what, gives, Take::Nothing, Awaits::None);
        }
        let (take, awaits) = (Take::From(root.0, 0, buffer), Awaits::One(root.0));
        ShortForm::moving(call, what, (Give::Nothing, 0), take, awaits)
    }

    #[inline(always)]
    pub(super) fn allgather(
        comm: &Comm,
        mine: Buffer<D>,
        all: BufferMut<D>,
    ) -> Option<ShortForm<D>> {
        let (what, bytes) = ShortForm::agreeing(comm, Call::Allgather, &mine, Rank(0))?;
        if !stages_own(bytes, comm.size()) {
            return None;
        }
        let take = Take::Each(comm.size(), 0, equal_parts(comm, all, bytes)?);
        let gives = (Give::One(mine), bytes as usize);
        Some(ShortForm::moving(Call::Allgather, what, gives, take, Awaits::All))
    }

    /// Each has as many bytes for every rank.
    #[inline(always)]
    pub(super) fn alltoall(
        comm: &Comm,
        outgoing: Buffer<D>,
        incoming: BufferMut<D>,
    ) -> Option<ShortForm<D>> {
        let (own, ranks) = (comm.rank().0, comm.size());
        let count = part_count(comm, outgoing.count)?;
        let (what, bytes) =
            ShortForm::agreeing(comm, Call::Alltoall, &outgoing.part(0, count), Rank(0))?;
        let incoming = equal_parts(comm, incoming, bytes)?;
        if !stages_own(bytes, ranks) || bytes * u64::from(ranks) > comm.longest_staged() {
            return None;
        }
        let gives = (Give::One(outgoing), (bytes * u64::from(ranks)) as usize);
        let take = Take::Each(ranks, bytes * u64::from(own), incoming);
        Some(ShortForm::moving(Call::Alltoall, what, gives, take, Awaits::All))
    }

    /// Of a reduction with a root, the other ranks have no result, and wait for none.
    #[inline(always)]
    pub(super) fn reduction(
        comm: &Comm,
        call: Call,
        mine: Buffer<D>,
        result: Option<BufferMut<D>>,
        combine: D::Combine,
        root: Rank,
    ) -> Option<ShortForm<D>> {
        let (what, bytes) = ShortForm::agreeing(comm, call, &mine, root)?;
        let (ranks, gets) = (comm.size(), root == comm.rank() || call == Call::Allreduce);
        let is_like = result.as_ref().is_none_or(|result| result.count() == mine.count);
        if gets != result.is_some()
            || !is_like
            || root.0 >= ranks
            || bytes * u64::from(ranks) > COMBINED_BY_ALL && call == Call::Allreduce
        {
            return None;
        }
        let what = what.op(combine.borrow().kind);
        Some(ShortForm::combining(call, what, ranks, (mine, bytes), result, combine))
    }

    /// A rank with a result waits for all contributions, which it combines.
    #[inline(always)]
    pub(super) fn combining(
        call: Call,
        what: Description,
        ranks: u32,
        (mine, bytes): (Buffer<D>, u64),
        result: Option<BufferMut<D>>,
        combine: D::Combine,
    ) -> ShortForm<D> {
        let gives = (Give::Combined(mine), bytes as usize);
        let Some(result) = result else {
            return ShortForm::moving(call, what, gives, Take::Nothing, Awaits::None);
        };
        let take = Take::Combined(ranks, 0, result, combine);
        ShortForm::moving(call, what, gives, take, Awaits::All)
    }

    /// Runs it to its end; it has entered its slot.
    #[inline(always)]
    pub(super) fn complete(
        &mut self,
        comm: &Comm,
        entered: &mut Entered<'_>,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.meet(comm, entered.entry(), at)?;
        entered.leave();
        CollectiveEntry::report_earlier(comm)
    }
}

/// Runs a short collective if no other of this rank is under way on the communicator; otherwise `None`.
#[inline(never)]
pub(super) fn run<D: Has>(
    comm: &Comm,
    form: &mut Option<ShortForm<D>>,
    at: &'static Location<'static>,
) -> Option<Result<()>> {
    let form = form.as_mut()?;
    let mut entered = Entered::none(comm);
    if !entered.start_alone(&form.what) {
        return None;
    }
    let done = comm.within(form.call, || {
        if let Some(statistics) = comm.context().statistics() {
            statistics.moves(form.length as u64, form.take.bytes());
        }
        form.complete(comm, &mut entered, at)
    });
    match done {
        Ok(()) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    }
}

/// A part of that many bytes for each rank.
fn equal_parts<D: Has>(
    comm: &Comm,
    all: BufferMut<D>,
    bytes: u64,
) -> Option<BufferParts<BufferMut<D>>> {
    let count = part_count(comm, all.count())?;
    let is_like = all.part(0, count).bytes() == Some(bytes);
    is_like.then(|| BufferParts::Equal(all, count))
}

/// The instances of each rank's part, if they have as many.
fn part_count(comm: &Comm, all: usize) -> Option<usize> {
    let ranks = comm.ranks().len();
    all.is_multiple_of(ranks).then_some(all / ranks)
}
