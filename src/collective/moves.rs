//! Collectives that move: barrier, broadcast, gather, scatter, allgather, alltoall, and those of
//! neighbours.

use super::buffer::{Buffer, BufferMut, read, written};
use super::plan::Plan;
use super::request::CollectiveRequest;
use super::staged::{BufferParts, Cut, Give, Take};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};

/// Up to that many ranks, one of them sends all others itself what they wait for: that is quicker than
/// by several rounds, in each of which ranks wait for one another, and where ranks share cores much
/// quicker. A longer message is fetched by all at the same time in any case.
const NEAR: u32 = 16;
/// Bytes from which on messages are fetched by their receivers.
const LONG: u64 = 8 * 1024;

/// The collectives of untyped buffers (MPI-4.1 §6.12). All have these rules:
///
/// * All ranks of the communicator start the same collectives on it in the same order, blocking ones
///   too; several may be under way, and be complete in any order. Ranks that do not agree get
///   [`Error::Mismatch`](crate::Error::Mismatch), all of them.
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
    #[track_caller]
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
    #[track_caller]
    pub fn start_broadcast(&self, buffer: OriginMut<'_>, root: Rank) -> Result<CollectiveRequest> {
        let buffer = BufferMut::of(&buffer);
        self.start_planned(Call::Broadcast, |plan| plan.broadcast(buffer, root))
    }

    /// `MPI_Igather` (MPI-4.1 §6.12.3): `mine` of each rank goes to its part of `all` at the root, which
    /// is cut into as many equal parts as there are ranks. `mine` of the root can be `None` if it is in
    /// its part already (`MPI_IN_PLACE`); what other ranks give as `all` means nothing.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach) for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`](crate::Error::Count) if the parts are not
    /// equal, or that of the root is not as long as its `mine`;
    /// [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing.
    #[track_caller]
    pub fn start_gather(
        &self,
        mine: Option<Origin<'_>>,
        all: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, all) = (mine.as_ref().map(Buffer::of), all.as_ref().map(BufferMut::of));
        self.start_planned(Call::Gather, |plan| {
            let parts = all.map(|all| plan.equal_parts(all)).transpose()?;
            plan.gather(mine, parts, root)
        })
    }

    /// `MPI_Igatherv` (MPI-4.1 §6.12.3): as [`Comm::start_gather`], with a list of parts, one for each
    /// rank.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach) for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`](crate::Error::Count) unless there is one
    /// part for each rank, of the right length; [`Error::Buffer`](crate::Error::Buffer) if a buffer
    /// is missing.
    #[track_caller]
    pub fn start_gatherv(
        &self,
        mine: Option<Origin<'_>>,
        parts: Option<&[OriginMut<'_>]>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), parts.map(written));
        self.start_planned(Call::Gatherv, |plan| {
            plan.gather(mine, parts.map(BufferParts::Listed), root)
        })
    }

    /// `MPI_Iscatter` (MPI-4.1 §6.12.4): each rank's part of `all` of the root goes to its `mine`. `mine`
    /// of the root can be `None`: its part stays where it is (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach) for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`](crate::Error::Count) if the parts are not
    /// equal, or that of the root is not as long as its `mine`;
    /// [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing.
    #[track_caller]
    pub fn start_scatter(
        &self,
        all: Option<Origin<'_>>,
        mine: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, all) = (mine.as_ref().map(BufferMut::of), all.as_ref().map(Buffer::of));
        self.start_planned(Call::Scatter, |plan| {
            let parts = all.map(|all| plan.equal_parts(all)).transpose()?;
            plan.scatter(parts, mine, root)
        })
    }

    /// `MPI_Iscatterv` (MPI-4.1 §6.12.4): as [`Comm::start_scatter`], with a list of parts.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Reach`](crate::Error::Reach) for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`](crate::Error::Count) unless there is one
    /// part for each rank, of the right length; [`Error::Buffer`](crate::Error::Buffer) if a buffer
    /// is missing.
    #[track_caller]
    pub fn start_scatterv(
        &self,
        parts: Option<&[Origin<'_>]>,
        mine: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(BufferMut::of), parts.map(read));
        self.start_planned(Call::Scatterv, |plan| {
            plan.scatter(parts.map(BufferParts::Listed), mine, root)
        })
    }

    /// `MPI_Iallgather` (MPI-4.1 §6.12.5): `mine` of each rank goes to its part of `all` on every rank,
    /// cut as in [`Comm::start_gather`]. `None`: it is in this rank's own part already (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`](crate::Error::Count) if the parts are not equal.
    #[track_caller]
    pub fn start_allgather(
        &self,
        mine: Option<Origin<'_>>,
        all: OriginMut<'_>,
    ) -> Result<CollectiveRequest> {
        let (mine, all) = (mine.as_ref().map(Buffer::of), BufferMut::of(&all));
        self.start_planned(Call::Allgather, |plan| {
            let parts = plan.equal_parts(all)?;
            plan.allgather(mine, parts)
        })
    }

    /// `MPI_Iallgatherv` (MPI-4.1 §6.12.5): as [`Comm::start_allgather`], with a list of parts.
    ///
    /// # Errors
    /// [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`](crate::Error::Count) unless there is one part for each rank, of the right
    /// length; [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing.
    #[track_caller]
    pub fn start_allgatherv(
        &self,
        mine: Option<Origin<'_>>,
        parts: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), written(parts));
        self.start_planned(Call::Allgatherv, |plan| {
            plan.allgather(mine, BufferParts::Listed(parts))
        })
    }

    /// `MPI_Ialltoall` (MPI-4.1 §6.12.6): part `k` of `outgoing` goes to rank `k`, to the part of its
    /// `incoming` that has this rank's number; both are cut as in [`Comm::start_gather`]. `None`: what
    /// is in `incoming` goes out, and is replaced (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`](crate::Error::Count) if the parts are not equal.
    #[track_caller]
    pub fn start_alltoall(
        &self,
        outgoing: Option<Origin<'_>>,
        incoming: OriginMut<'_>,
    ) -> Result<CollectiveRequest> {
        let (outgoing, incoming) = (outgoing.as_ref().map(Buffer::of), BufferMut::of(&incoming));
        self.start_planned(Call::Alltoall, |plan| {
            let outgoing = outgoing.map(|all| plan.equal_parts(all)).transpose()?;
            let incoming = plan.equal_parts(incoming)?;
            plan.alltoall(outgoing, incoming)
        })
    }

    /// `MPI_Ialltoallv`, `MPI_Ialltoallw` (MPI-4.1 §6.12.6): as [`Comm::start_alltoall`], with lists of
    /// parts.
    ///
    /// # Errors
    /// [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`](crate::Error::Count) unless there is one part for each rank, of the right
    /// length; [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing.
    #[track_caller]
    pub fn start_alltoallv(
        &self,
        outgoing: Option<&[Origin<'_>]>,
        incoming: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (outgoing, incoming) = (outgoing.map(read), written(incoming));
        self.start_planned(Call::Alltoallv, |plan| {
            plan.alltoall(outgoing.map(BufferParts::Listed), BufferParts::Listed(incoming))
        })
    }

    /// The neighbourhood collectives (MPI-4.1 §8.7): sends each of `outgoing` to its rank and receives
    /// each of `incoming` from its rank. Where two ranks are neighbours several times, the first that
    /// one sends is the first that the other receives, in the order of the lists. What goes to or
    /// comes from [`Rank::NULL`] is left out.
    ///
    /// # Errors
    /// [`Error::Peer`](crate::Error::Peer) and [`Error::Reach`](crate::Error::Reach).
    #[track_caller]
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

/// Whether that many ranks pass on what all of them get.
pub(super) fn is_by_tree(ranks: u32, bytes: u64) -> bool {
    ranks > NEAR && bytes < LONG
}

impl Plan<'_> {
    pub(super) fn barrier(&mut self) {
        self.agree_on_nothing();
        if self.is_short(0) {
            // The ranks meet.
        } else if !self.is_small() {
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

    /// Round k: a rank knows of the 2ᵏ - 1 ranks before it, and notifies the one 2ᵏ behind it.
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
        self.agree_on(&buffer.read(), root)?;
        if self.is_short(bytes) && is_root {
            self.give = Give::One(buffer.read());
        } else if self.is_short(bytes) {
            self.take = Take::From(root.0, 0, buffer);
        } else if is_by_tree(self.ranks, bytes) {
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
        parts: Option<BufferParts<BufferMut>>,
        root: Rank,
    ) -> Result<()> {
        self.check_root(root, self.ranks)?;
        let is_root = self.rank == root.0;
        let parts = parts.filter(|_| is_root);
        let (own, gives) = match (&parts, mine) {
            (Some(parts), mine) => {
                self.check_parts(&parts.read())?;
                let own = parts.of(self.rank);
                mine.iter().try_for_each(|mine| self.check_same(mine, &own))?;
                (Some(own.clone()), mine.unwrap_or_else(|| own.read()))
            }
            (None, _) if is_root => return Err(self.no_buffer("the root gives no buffer")),
            (None, mine) => (None, mine.ok_or_else(|| self.no_buffer("a rank gives no buffer"))?),
        };
        let bytes = self.bytes(&gives)?;
        let is_equal = self.is_equal;
        if is_equal {
            self.agree_on(&gives, root)?;
        }
        self.root = root;
        if !is_equal || !self.is_short(bytes) {
            match &parts {
                None => self.send(root.0, gives.clone()),
                Some(parts) => {
                    self.others_back().for_each(|rank| self.receive(rank, parts.of(rank)));
                    let own = own.expect("the root has a part");
                    self.copy_unless_there(gives.clone(), own);
                }
            }
        }
        if self.has_short_form(is_equal, bytes) {
            self.give = Give::One(gives);
            self.take = parts.map_or(Take::Nothing, |parts| Take::Each(self.ranks, 0, parts));
        }
        Ok(())
    }

    pub(super) fn scatter(
        &mut self,
        parts: Option<BufferParts<Buffer>>,
        mine: Option<BufferMut>,
        root: Rank,
    ) -> Result<()> {
        self.check_root(root, self.ranks)?;
        let is_root = self.rank == root.0;
        let parts = parts.filter(|_| is_root);
        let own = match (&parts, &mine) {
            (Some(parts), mine) => {
                self.check_parts(parts)?;
                let own = parts.of(self.rank);
                mine.iter().try_for_each(|mine| self.check_same(&own, mine))?;
                own
            }
            (None, _) if is_root => return Err(self.no_buffer("the root gives no buffer")),
            (None, Some(mine)) => mine.read(),
            (None, None) => return Err(self.no_buffer("a rank gives no buffer")),
        };
        let bytes = self.bytes(&own)?;
        let is_equal = self.is_equal;
        if is_equal {
            self.agree_on(&own, root)?;
        }
        self.root = root;
        let all = bytes.saturating_mul(u64::from(self.ranks));
        if !is_equal || !self.is_short(all) {
            match (&parts, &mine) {
                (None, Some(mine)) => self.receive(root.0, mine.clone()),
                (Some(parts), mine) => {
                    self.others().for_each(|rank| self.send(rank, parts.of(rank)));
                    mine.iter().for_each(|mine| self.copy(own.clone(), mine.clone()));
                }
                (None, None) => {}
            }
        }
        if !self.has_short_form(is_equal, all) {
            return Ok(());
        }
        if let Some(mine) = mine {
            self.take = match is_equal {
                true => Take::From(root.0, bytes * u64::from(self.rank), mine),
                false => {
                    Take::Listed(root.0..root.0 + 1, self.rank, BufferParts::Listed(vec![mine]))
                }
            };
        }
        if let Some(parts) = parts {
            self.give = Give::of(parts);
        }
        Ok(())
    }

    pub(super) fn allgather(
        &mut self,
        mine: Option<Buffer>,
        parts: BufferParts<BufferMut>,
    ) -> Result<()> {
        self.check_parts(&parts.read())?;
        let own = parts.of(self.rank);
        if let Some(mine) = &mine {
            self.check_same(mine, &own)?;
        }
        let gives = mine.unwrap_or_else(|| own.read());
        let (bytes, is_equal) = (self.bytes(&gives)?, self.is_equal);
        if is_equal {
            self.agree_on(&gives, Rank(0))?;
        }
        if !is_equal || !self.is_short(bytes) {
            self.others_back().for_each(|rank| self.receive(rank, parts.of(rank)));
            self.others().for_each(|rank| self.send(rank, gives.clone()));
            self.copy_unless_there(gives.clone(), own);
        }
        if self.has_short_form(is_equal, bytes) {
            (self.give, self.take) = (Give::One(gives), Take::Each(self.ranks, 0, parts));
        }
        Ok(())
    }

    pub(super) fn alltoall(
        &mut self,
        outgoing: Option<BufferParts<Buffer>>,
        incoming: BufferParts<BufferMut>,
    ) -> Result<()> {
        self.check_parts(&incoming.read())?;
        let (own, is_in_place) = (self.rank, outgoing.is_none());
        let outgoing = outgoing.unwrap_or_else(|| incoming.read());
        self.check_parts(&outgoing)?;
        self.check_same(&outgoing.of(own), &incoming.of(own))?;
        let (bytes, is_equal) = (self.bytes(&outgoing.of(own))?, self.is_equal);
        if is_equal {
            self.agree_on(&outgoing.of(own), Rank(0))?;
        }
        let all = bytes.saturating_mul(u64::from(self.ranks));
        if !is_equal || !self.is_short(all) {
            let mut sent: Vec<Buffer> = (0..self.ranks).map(|rank| outgoing.of(rank)).collect();
            if is_in_place {
                let copied = |part: &Buffer| Ok(self.copied(part)?.read());
                sent = sent.iter().map(copied).collect::<Result<_>>()?;
            }
            self.others_back().for_each(|rank| self.receive(rank, incoming.of(rank)));
            self.others().for_each(|rank| self.send(rank, sent[rank as usize].clone()));
            if !is_in_place {
                self.copy(sent[own as usize].clone(), incoming.of(own));
            }
        }
        if self.has_short_form(is_equal, all) {
            let first = bytes * u64::from(own);
            self.take = match is_equal {
                true => Take::Each(self.ranks, first, incoming),
                false => Take::Listed(0..self.ranks, own, incoming),
            };
            self.give = Give::of(outgoing);
        }
        Ok(())
    }

    /// Whether it has a short form, of that many bytes if all ranks know how many it has.
    fn has_short_form(&mut self, is_equal: bool, bytes: u64) -> bool {
        self.is_open = !is_equal && self.is_short(0) && self.comm.foreign().is_none();
        if is_equal { self.is_short(bytes) } else { self.is_open }
    }

    fn copy_unless_there(&mut self, from: Buffer, to: BufferMut) {
        if !from.is_at(&to) {
            self.copy(from, to);
        }
    }

    /// A buffer that is cut into as many equal parts as there are ranks.
    pub(super) fn equal_parts<B: Cut>(&self, all: B) -> Result<BufferParts<B>> {
        let (count, ranks) = (all.instances(), self.ranks as usize);
        self.check_count("buffer to be cut", count, count.next_multiple_of(ranks))?;
        Ok(BufferParts::Equal(all, count / ranks))
    }

    /// Refuses what is not one part for each rank, of which each can be.
    fn check_parts(&self, parts: &BufferParts<Buffer>) -> Result<()> {
        match parts {
            BufferParts::Equal(all, _) => self.bytes(all).map(drop),
            BufferParts::Listed(parts) => self.check_list(parts.iter().cloned(), self.ranks),
        }
    }

    /// Refuses what is not one part for each of that many ranks, of which each can be.
    pub(super) fn check_list(
        &self,
        mut parts: impl ExactSizeIterator<Item = Buffer>,
        ranks: u32,
    ) -> Result<()> {
        self.check_count("list of parts", parts.len(), ranks as usize)?;
        parts.try_for_each(|part| self.bytes(&part).map(drop))
    }
}
