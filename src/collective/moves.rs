//! Collectives that move: barrier, broadcast, gather, scatter, allgather, alltoall, and those of
//! neighbours.

use super::buffer::{Buffer, BufferMut, read, written};
use super::plan::Plan;
use super::request::CollectiveRequest;
use crate::call::Call;
use crate::comm::Comm;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};

/// Up to so many ranks, one of them tells all others itself what they wait for: that is quicker than
/// by several rounds, in each of which ranks wait for one another, and where ranks share cores much
/// quicker. A longer message is fetched by all at the same time in any case.
const NEAR: u32 = 16;
/// Bytes from which on messages are fetched by their receivers.
const LONG: u64 = 8 * 1024;

/// The collectives of untyped buffers (MPI-4.1 §6.12). All have these rules:
///
/// * All ranks of the communicator start the same collectives on it in the same order, whether they
///   then wait for them at once or not; several may be under way, and be complete in any order.
/// * Starting one is local and does not block, except while another rank allocates.
/// * What was promised of a buffer to [`Origin::new`] or [`OriginMut::new`] has to hold until the
///   request is complete; and if the request is given up, until every rank has left the job.
/// * Buffers that meet have the same bytes, in any two layouts.
/// * A call that is refused for what this rank gives has sent nothing, and does not count as one of
///   the collectives of the communicator. The other ranks, if they were not refused too, wait for it
///   (MPI-4.1 §9.3).
impl Comm {
    /// `MPI_Ibarrier` (MPI-4.1 §6.12.1): complete when all ranks have started it.
    ///
    /// # Errors
    /// Those of any call on a communicator ([`Comm`]).
    pub fn start_barrier(&self) -> Result<CollectiveRequest> {
        self.start_planned(Call::Barrier, |plan| {
            plan.barrier();
            Ok(())
        })
    }

    /// `MPI_Ibcast` (MPI-4.1 §6.12.2): `buffer` of the root replaces that of every rank.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach) for elements
    /// farther apart than 2⁶³ - 1 bytes.
    pub fn start_broadcast(&self, buffer: OriginMut<'_>, root: Rank) -> Result<CollectiveRequest> {
        let buffer = BufferMut::of(&buffer);
        self.start_planned(Call::Broadcast, |plan| plan.broadcast(buffer, root))
    }

    /// `MPI_Igather`, `MPI_Igatherv` (MPI-4.1 §6.12.3): `mine` of each rank goes to its part of
    /// `parts` at the root, which has one for each rank. `mine` of the root can be `None` if it is in
    /// its part already (`MPI_IN_PLACE`); what other ranks give as `parts` means nothing.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach), as for a
    /// broadcast; [`Error::Count`](crate::Error::Count) if there is not one part for each rank, or
    /// that of the root is not as long as its `mine`; [`Error::Buffer`](crate::Error::Buffer) if a
    /// buffer is missing.
    pub fn start_gather(
        &self,
        mine: Option<Origin<'_>>,
        parts: Option<&[OriginMut<'_>]>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), parts.map(written));
        self.start_planned(Call::Gather, |plan| plan.gather(mine, parts, root))
    }

    /// `MPI_Iscatter`, `MPI_Iscatterv` (MPI-4.1 §6.12.4): each rank's part of `parts` of the root goes
    /// to its `mine`. `mine` of the root can be `None`: its part stays where it is (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// As [`Comm::start_gather`].
    pub fn start_scatter(
        &self,
        parts: Option<&[Origin<'_>]>,
        mine: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(BufferMut::of), parts.map(read));
        self.start_planned(Call::Scatter, |plan| plan.scatter(parts, mine, root))
    }

    /// `MPI_Iallgather`, `MPI_Iallgatherv` (MPI-4.1 §6.12.5): `mine` of each rank goes to its part of
    /// `parts` on every rank. `None`: it is in this rank's own part already (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Reach`](crate::Error::Reach) and [`Error::Count`](crate::Error::Count), as
    /// [`Comm::start_gather`].
    pub fn start_allgather(
        &self,
        mine: Option<Origin<'_>>,
        parts: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), written(parts));
        self.start_planned(Call::Allgather, |plan| plan.allgather(mine, parts))
    }

    /// `MPI_Ialltoall`, `MPI_Ialltoallv`, `MPI_Ialltoallw` (MPI-4.1 §6.12.6): part `k` of `outgoing`
    /// goes to rank `k`, to the part of its `incoming` that has this rank's number. `None`: what is in
    /// `incoming` goes out, and is replaced (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// As [`Comm::start_allgather`].
    pub fn start_alltoall(
        &self,
        outgoing: Option<&[Origin<'_>]>,
        incoming: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (outgoing, incoming) = (outgoing.map(read), written(incoming));
        self.start_planned(Call::Alltoall, |plan| plan.alltoall(outgoing, incoming))
    }

    /// The neighbourhood collectives (MPI-4.1 §8.7): sends each of `outgoing` to its rank and receives
    /// each of `incoming` from its rank. Where two ranks are neighbours several times, the first that
    /// one sends is the first that the other receives, in the order of the lists. What goes to or
    /// comes from [`Rank::NULL`] is left out.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer) and [`Error::Reach`](crate::Error::Reach).
    pub fn start_neighbours(
        &self,
        outgoing: &[(Rank, Origin<'_>)],
        incoming: &[(Rank, OriginMut<'_>)],
    ) -> Result<CollectiveRequest> {
        self.start_planned(Call::Neighbours, |plan| {
            for (from, into) in incoming.iter().filter(|(from, _)| *from != Rank::NULL) {
                plan.check_peer(*from)?;
                let into = BufferMut::of(into);
                plan.bytes(&into.read())?;
                plan.receive(from.0, into);
            }
            for (to, from) in outgoing.iter().filter(|(to, _)| *to != Rank::NULL) {
                plan.check_peer(*to)?;
                let from = Buffer::of(from);
                plan.bytes(&from)?;
                plan.send(to.0, from);
            }
            Ok(())
        })
    }
}

/// Whether so many ranks pass on what all of them get.
pub(super) fn is_by_tree(ranks: u32, bytes: u64) -> bool {
    ranks > NEAR && bytes < LONG
}

impl Plan<'_> {
    pub(super) fn barrier(&mut self) {
        if !self.is_small() {
            self.barrier_by_rounds();
        } else if self.rank == 0 {
            self.others().for_each(|rank| self.receive(rank, BufferMut::empty()));
            self.wait();
            self.others().for_each(|rank| self.send(rank, Buffer::empty()));
        } else {
            self.receive(0, BufferMut::empty());
            self.send(0, Buffer::empty());
        }
    }

    /// Whether the ranks do better to meet at one of them than in pairs, of which two ranks are one.
    pub(super) fn is_small(&self) -> bool {
        (3..=NEAR).contains(&self.ranks)
    }

    /// Round k: a rank knows of the 2ᵏ - 1 ranks before it, and tells the one 2ᵏ behind it.
    fn barrier_by_rounds(&mut self) {
        let (rank, ranks) = (self.rank, self.ranks);
        let mut reach = 1;
        while reach < ranks {
            self.receive((rank + ranks - reach) % ranks, BufferMut::empty());
            self.send((rank + reach) % ranks, Buffer::empty());
            self.wait();
            reach *= 2;
        }
    }

    pub(super) fn broadcast(&mut self, buffer: BufferMut, root: Rank) -> Result<()> {
        self.check_root(root, self.ranks)?;
        let bytes = self.bytes(&buffer.read())?;
        let is_root = self.rank == root.0;
        if is_by_tree(self.ranks, bytes) {
            self.broadcast_by_tree(buffer, root.0);
        } else if is_root {
            self.others().for_each(|rank| self.send(rank, buffer.read()));
        } else {
            self.receive(root.0, buffer);
        }
        Ok(())
    }

    /// A rank, counted from the root, gets the bytes from the one without its lowest bit, and passes
    /// them on to those with another bit below that.
    fn broadcast_by_tree(&mut self, buffer: BufferMut, root: u32) {
        let (ranks, own) = (self.ranks, (self.rank + self.ranks - root) % self.ranks);
        let rank = |counted: u32| (counted + root) % ranks;
        let mut bit = ranks.next_power_of_two();
        if own != 0 {
            bit = own & own.wrapping_neg();
            self.receive(rank(own - bit), buffer.clone());
            self.wait();
        }
        while bit > 1 {
            bit /= 2;
            if own + bit < ranks {
                self.send(rank(own + bit), buffer.read());
            }
        }
    }

    pub(super) fn gather(
        &mut self,
        mine: Option<Buffer>,
        parts: Option<Vec<BufferMut>>,
        root: Rank,
    ) -> Result<()> {
        self.check_root(root, self.ranks)?;
        if self.rank != root.0 {
            let mine = mine.ok_or_else(|| self.no_buffer("a rank gives no buffer"))?;
            self.bytes(&mine)?;
            self.send(root.0, mine);
            return Ok(());
        }
        let parts = parts.ok_or_else(|| self.no_buffer("the root gives no buffer"))?;
        self.check_parts(parts.iter().map(BufferMut::read), self.ranks)?;
        let own = &parts[self.rank as usize];
        if let Some(mine) = &mine {
            self.check_same(mine, own)?;
        }
        self.others_back().for_each(|rank| self.receive(rank, parts[rank as usize].clone()));
        if let Some(mine) = mine {
            self.copy(mine, own.clone());
        }
        Ok(())
    }

    pub(super) fn scatter(
        &mut self,
        parts: Option<Vec<Buffer>>,
        mine: Option<BufferMut>,
        root: Rank,
    ) -> Result<()> {
        self.check_root(root, self.ranks)?;
        if self.rank != root.0 {
            let mine = mine.ok_or_else(|| self.no_buffer("a rank gives no buffer"))?;
            self.bytes(&mine.read())?;
            self.receive(root.0, mine);
            return Ok(());
        }
        let parts = parts.ok_or_else(|| self.no_buffer("the root gives no buffer"))?;
        self.check_parts(parts.iter().cloned(), self.ranks)?;
        let own = &parts[self.rank as usize];
        if let Some(mine) = &mine {
            self.check_same(own, mine)?;
        }
        self.others().for_each(|rank| self.send(rank, parts[rank as usize].clone()));
        if let Some(mine) = mine {
            self.copy(own.clone(), mine);
        }
        Ok(())
    }

    pub(super) fn allgather(&mut self, mine: Option<Buffer>, parts: Vec<BufferMut>) -> Result<()> {
        self.check_parts(parts.iter().map(BufferMut::read), self.ranks)?;
        let own = parts[self.rank as usize].clone();
        if let Some(mine) = &mine {
            self.check_same(mine, &own)?;
        }
        let source = mine.clone().unwrap_or_else(|| own.read());
        self.others_back().for_each(|rank| self.receive(rank, parts[rank as usize].clone()));
        self.others().for_each(|rank| self.send(rank, source.clone()));
        if let Some(mine) = mine {
            self.copy(mine, own);
        }
        Ok(())
    }

    pub(super) fn alltoall(
        &mut self,
        outgoing: Option<Vec<Buffer>>,
        incoming: Vec<BufferMut>,
    ) -> Result<()> {
        self.check_parts(incoming.iter().map(BufferMut::read), self.ranks)?;
        let (own, is_in_place) = (self.rank as usize, outgoing.is_none());
        let outgoing = match outgoing {
            Some(outgoing) => outgoing,
            None => {
                let copy = |part: &BufferMut| Ok(self.copied(&part.read())?.read());
                incoming.iter().map(copy).collect::<Result<_>>()?
            }
        };
        self.check_parts(outgoing.iter().cloned(), self.ranks)?;
        self.check_same(&outgoing[own], &incoming[own])?;
        self.others_back().for_each(|rank| self.receive(rank, incoming[rank as usize].clone()));
        self.others().for_each(|rank| self.send(rank, outgoing[rank as usize].clone()));
        if !is_in_place {
            self.copy(outgoing[own].clone(), incoming[own].clone());
        }
        Ok(())
    }

    /// Refuses what is not one part for each of so many ranks, of which each can be.
    pub(super) fn check_parts(
        &self,
        mut parts: impl ExactSizeIterator<Item = Buffer>,
        ranks: u32,
    ) -> Result<()> {
        self.check_count("list of parts", parts.len(), ranks as usize)?;
        parts.try_for_each(|part| self.bytes(&part).map(drop))
    }
}
