//! Collectives between two groups, as intercommunicators have them (MPI-4.1 §6.2.2, §6.2.3).

use super::buffer::{Buffer, BufferMut, Combine, read, written};
use super::plan::Plan;
use super::request::CollectiveRequest;
use crate::call::Call;
use crate::comm::{ANY_ROOT, Comm};
use crate::error::{Error, Result};
use crate::group::{Group, Rank};
use crate::ops::{Origin, OriginMut};
use std::panic::Location;
use std::sync::Arc;

/// Two groups of a communicator, for collectives in which each group's data is for the other group (an
/// intercommunicator, MPI-4.1 §6.2.2). Cheap to clone.
///
/// The rules of [`Comm::start_barrier`] hold. *All ranks* are those of both groups, and the collectives
/// are those of the communicator. A part belongs to a rank of the other group. The arguments are those of
/// [`Comm`]'s calls, but nothing can be in place: `None` for a buffer in place is refused with
/// [`Error::Buffer`].
///
/// ```
/// use onesided::engine::{Bridge, Combine, Origin, OriginMut};
/// use onesided::{Datatype, Op, Rank};
///
/// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (first, others) = (world.group().incl(&[0])?, world.group().excl(&[0])?);
/// let bridge = match world.rank() {
///     Rank(0) => Bridge::new(world, &first, &others)?,
///     _ => Bridge::new(world, &others, &first)?,
/// };
/// let (mine, mut sum) = (1 + world.rank().0, 0);
/// // SAFETY: nothing else uses the two numbers until the reduction is complete.
/// let origin = unsafe { Origin::new((&raw const mine).cast(), 1, Datatype::U32) };
/// // SAFETY: the same.
/// let into = unsafe { OriginMut::new((&raw mut sum).cast(), 1, Datatype::U32) };
/// bridge.start_allreduce(Some(origin), into, Combine::of(Op::Sum))?.wait()?;
/// // Of the other group.
/// assert_eq!(sum, if world.rank() == 0 { 2 + 3 } else { 1 });
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Bridge {
    comm: Comm,
    /// In the communicator: the ranks of the own group, behind them those of the other.
    places: Arc<[Rank]>,
    rank: u32,
    ranks: u32,
}

/// The root of a collective between two groups (MPI-4.1 §6.2.3).
///
/// ```
/// use onesided::engine::{Bridge, OriginMut, Root};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (first, others) = (world.group().incl(&[0])?, world.group().excl(&[0])?);
/// let (bridge, root) = match world.rank() {
///     Rank(0) => (Bridge::new(world, &first, &others)?, Root::Here),
///     _ => (Bridge::new(world, &others, &first)?, Root::There(Rank(0))),
/// };
/// let mut number = if root == Root::Here { 7_u32 } else { 0 };
/// // SAFETY: nothing else uses `number` until the broadcast is complete.
/// let buffer = unsafe { OriginMut::new((&raw mut number).cast(), 1, Datatype::U32) };
/// bridge.start_broadcast(Some(buffer), root)?.wait()?;
/// assert_eq!(number, 7);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// This rank (`MPI_ROOT`).
    Here,
    /// A rank of the other group.
    There(Rank),
    /// Another rank of this rank's group; this rank does not take part (`MPI_PROC_NULL`).
    Elsewhere,
}

impl Bridge {
    /// Between `local`, the group of this rank, and `remote`. Ranks of one group pass the same two
    /// groups, ranks of the other pass them exchanged.
    ///
    /// Local; does not block.
    ///
    /// # Errors
    /// [`Error::Communicator`] if a rank of a group is not in the communicator or is in both groups, or
    /// if this rank is not in `local`.
    pub fn new(comm: &Comm, local: &Group, remote: &Group) -> Result<Bridge> {
        let wrong = |problem: &str| {
            let (at, problem) = (comm.place(Call::Group), problem.into());
            Error::Communicator { at, problem }
        };
        let (all, own) = (comm.group(), comm.group().members()[comm.rank().index()]);
        let rank = local.rank_of_world(own);
        let Rank(rank) = rank.ok_or_else(|| wrong("this rank is not in the local group"))?;
        if !local.intersection(remote).is_empty() {
            return Err(wrong("the two groups have a member in common"));
        }
        let members = local.members().iter().chain(remote.members());
        let places: Option<Arc<[Rank]>> = members.map(|world| all.rank_of_world(*world)).collect();
        let places = places.ok_or_else(|| wrong("a member of a group is not in it"))?;
        Ok(Bridge { comm: comm.clone(), places, rank, ranks: local.size() })
    }

    /// [`Comm::agreeing`] of both groups.
    pub fn agreeing(&self) -> Bridge {
        Bridge { comm: self.comm.agreeing(), ..self.clone() }
    }

    /// [`Comm::waiting`] of both groups.
    pub fn waiting(self) -> Bridge {
        Bridge { comm: self.comm.waiting(), ..self }
    }

    /// [`Comm::for_persistent_collective`] of both groups.
    pub fn for_persistent_collective(&self) -> Bridge {
        Bridge { comm: self.comm.for_persistent_collective(), ..self.clone() }
    }

    /// The communicator with both groups.
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// The ranks of the own group, in ascending order.
    pub fn ranks(&self) -> impl DoubleEndedIterator<Item = Rank> + ExactSizeIterator + use<> {
        (0..self.ranks).map(Rank)
    }

    /// Those of the other group.
    pub fn remote_ranks(
        &self,
    ) -> impl DoubleEndedIterator<Item = Rank> + ExactSizeIterator + use<> {
        (0..self.places.len() as u32 - self.ranks).map(Rank)
    }

    /// This rank, in its group.
    pub fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    /// Starts the collective of `plan`, with ranks numbered as in `places`.
    #[track_caller]
    fn start_planned(
        &self,
        call: Call,
        root: Option<Root>,
        plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
    ) -> Result<CollectiveRequest> {
        let at = Location::caller();
        self.comm.within(call, || {
            let mut planned = Plan::new(&self.comm, call, self.rank, self.ranks);
            planned.remote = self.remote_ranks().len() as u32;
            planned.across = self.places[self.ranks as usize..].to_vec();
            plan(&mut planned)?;
            planned.rename(&self.places);
            planned.what = None;
            planned.root = match root {
                None => Rank(0),
                Some(Root::Here) => self.places[self.rank as usize],
                // The plan has checked that the rank exists.
                Some(Root::There(root)) => self.places[(self.ranks + root.0) as usize],
                Some(Root::Elsewhere) => Rank(ANY_ROOT),
            };
            planned.start(at)
        })
    }

    /// `MPI_Ibcast` (MPI-4.1 §6.12.2): `buffer` of the root replaces that of every rank of the other
    /// group. That of the other ranks of the root's group can be `None`.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] if a buffer is missing; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes.
    #[doc(alias = "MPI_Ibcast")]
    #[track_caller]
    pub fn start_broadcast(
        &self,
        buffer: Option<OriginMut<'_>>,
        root: Root,
    ) -> Result<CollectiveRequest> {
        let buffer = buffer.as_ref().map(BufferMut::of);
        self.start_planned(Call::Broadcast, Some(root), |plan| plan.broadcast_across(buffer, root))
    }

    /// `MPI_Igather`, `MPI_Igatherv` (MPI-4.1 §6.12.3): `mine` of each rank of the other group goes to
    /// its part of `parts` at the root. Buffers that a rank does not use can be `None`.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] if a buffer is missing; [`Error::Count`] unless there is
    /// one part for each rank of the other group; [`Error::Reach`] for elements farther apart than
    /// 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Igather", "MPI_Igatherv"))]
    #[track_caller]
    pub fn start_gather(
        &self,
        mine: Option<Origin<'_>>,
        parts: Option<&[OriginMut<'_>]>,
        root: Root,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), parts.map(written));
        self.start_planned(Call::Gather, Some(root), |plan| plan.gather_across(mine, parts, root))
    }

    /// `MPI_Iscatter`, `MPI_Iscatterv` (MPI-4.1 §6.12.4): each part of `parts` of the root goes to
    /// `mine` of its rank of the other group. What a rank neither gives nor gets can be `None`.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] if a buffer is missing; [`Error::Count`] unless there is
    /// one part for each rank of the other group; [`Error::Reach`] for elements farther apart than
    /// 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Iscatter", "MPI_Iscatterv"))]
    #[track_caller]
    pub fn start_scatter(
        &self,
        parts: Option<&[Origin<'_>]>,
        mine: Option<OriginMut<'_>>,
        root: Root,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(BufferMut::of), parts.map(read));
        self.start_planned(Call::Scatter, Some(root), |plan| plan.scatter_across(parts, mine, root))
    }

    /// `MPI_Iallgather`, `MPI_Iallgatherv` (MPI-4.1 §6.12.5): `mine` of each rank goes to its part of
    /// `parts` on every rank of the other group.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing; [`Error::Count`] unless there is one part for each
    /// rank of the other group; [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Iallgather", "MPI_Iallgatherv"))]
    #[track_caller]
    pub fn start_allgather(
        &self,
        mine: Option<Origin<'_>>,
        parts: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let outgoing = mine.map(|mine| vec![Buffer::of(&mine); self.remote_ranks().len()]);
        let incoming = written(parts);
        self.start_planned(Call::Allgather, None, |plan| plan.alltoall_across(outgoing, incoming))
    }

    /// `MPI_Ialltoall`, `MPI_Ialltoallv`, `MPI_Ialltoallw` (MPI-4.1 §6.12.6): part `k` of `outgoing` goes
    /// to rank `k` of the other group, into the part of its `incoming` with this rank's number.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing; [`Error::Count`] unless there is one part for each
    /// rank of the other group; [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Ialltoall", "MPI_Ialltoallv", "MPI_Ialltoallw"))]
    #[track_caller]
    pub fn start_alltoall(
        &self,
        outgoing: Option<&[Origin<'_>]>,
        incoming: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (outgoing, incoming) = (outgoing.map(read), written(incoming));
        self.start_planned(Call::Alltoall, None, |plan| plan.alltoall_across(outgoing, incoming))
    }

    /// `MPI_Ireduce` (MPI-4.1 §6.12.7): the combination of `mine` of the other group's ranks, in their
    /// order, goes to `result` of the root. What a rank neither gives nor gets can be `None`.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] if a buffer is missing; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes.
    #[doc(alias = "MPI_Ireduce")]
    #[track_caller]
    pub fn start_reduce(
        &self,
        mine: Option<Origin<'_>>,
        result: Option<OriginMut<'_>>,
        combine: Combine,
        root: Root,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), result.as_ref().map(BufferMut::of));
        self.start_planned(Call::Reduce, Some(root), |plan| {
            plan.reduce_across(mine, result, combine, root)
        })
    }

    /// `MPI_Iallreduce` (MPI-4.1 §6.12.8): the combination of `mine` of the other group's ranks goes to
    /// `result` of every rank.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing; [`Error::Count`] if the result does not have as
    /// many instances as the contribution; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[doc(alias = "MPI_Iallreduce")]
    #[track_caller]
    pub fn start_allreduce(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        self.start_planned(Call::Allreduce, None, |plan| {
            plan.allreduce_across(mine, result, combine)
        })
    }

    /// `MPI_Ireduce_scatter`, `MPI_Ireduce_scatter_block` (MPI-4.1 §6.12.9, §6.12.10): the combination of
    /// the other group's contributions is divided into parts of `counts` instances, one for each rank of
    /// the own group. All ranks of that group pass the same counts. The counts of both groups have the
    /// same sum.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing; [`Error::Count`] unless there is one count for
    /// each rank of the own group and they add up to the contribution; [`Error::Reach`] for
    /// elements farther apart than 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Ireduce_scatter", "MPI_Ireduce_scatter_block"))]
    #[track_caller]
    pub fn start_reduce_scatter(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        counts: &[usize],
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        self.start_planned(Call::ReduceScatter, None, |plan| {
            plan.reduce_scatter_across(mine, result, counts, combine)
        })
    }
}
