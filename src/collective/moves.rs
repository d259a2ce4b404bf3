//! Collectives that move: barrier, broadcast, gather, scatter, allgather, alltoall, and those of
//! neighbours.

use super::buffer::{Buffer, BufferMut};
use super::form::{Awaits, ShortForm};
use super::plan::Plan;
use super::short::stages_own;
use super::staged::{BufferParts, Cut, Give, Take};
use crate::error::Result;
use crate::group::Rank;
use crate::mail::longest_staged;
use crate::ops::{Origin, OriginMut};

/// With up to this many ranks, one of them sends to all others itself. That is faster than several
/// rounds, in each of which ranks wait for one another; much faster if ranks share cores. All ranks fetch
/// a longer message at the same time in any case.
const NEAR: u32 = 16;
/// Bytes from which on messages are fetched by their receivers.
const LONG: u64 = 8 * 1024;

/// Whether that many ranks forward what all of them get.
pub(super) fn is_by_tree(ranks: u32, bytes: u64) -> bool {
    ranks > NEAR && bytes < LONG
}

impl Plan<'_> {
    pub(super) fn barrier(&mut self) {
        self.agree_on_nothing();
        if self.is_short(0) {
            // The ranks synchronise in the staging area.
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

    /// Whether a barrier at one rank is faster than one of pairs. Two ranks are a pair.
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
        self.moves(bytes, 0);
        let is_root = self.rank == root.0;
        self.agree_on(&buffer.read(), root)?;
        let short = |comm: &_, call| ShortForm::broadcast(comm, call, buffer.clone(), root);
        if self.has_short(short) {
            return Ok(());
        }
        if self.has_pieces() {
            return self.broadcast_by_pieces(buffer, root);
        }
        if is_by_tree(self.ranks, bytes) {
            self.broadcast_by_tree(buffer, root.0);
        } else if is_root {
            self.others().for_each(|rank| self.send(rank, buffer.read()));
        } else {
            self.receive(root.0, buffer);
        }
        Ok(())
    }

    /// Ranks are counted from the root. Each gets the bytes from the rank without its lowest bit, and
    /// forwards them to the ranks with one more bit below that.
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
        let mut gets = 0;
        let (own, gives) = match (&parts, mine) {
            (Some(parts), mine) => {
                gets = self.check_parts(&parts.read())?;
                let own = parts.of(self.rank);
                mine.iter().try_for_each(|mine| self.check_same(mine, &own))?;
                (Some(own.clone()), mine.unwrap_or_else(|| own.read()))
            }
            (None, _) if is_root => return Err(self.no_buffer("the root gives no buffer")),
            (None, mine) => (None, mine.ok_or_else(|| self.no_buffer("a rank gives no buffer"))?),
        };
        let bytes = self.bytes(&gives)?;
        self.moves(bytes, gets);
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
            if is_equal && !is_root {
                self.awaits = Awaits::None;
            }
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
        let (own, gives) = match (&parts, &mine) {
            (Some(parts), mine) => {
                let gives = self.check_parts(parts)?;
                let own = parts.of(self.rank);
                mine.iter().try_for_each(|mine| self.check_same(&own, mine))?;
                (own, gives)
            }
            (None, _) if is_root => return Err(self.no_buffer("the root gives no buffer")),
            (None, Some(mine)) => (mine.read(), 0),
            (None, None) => return Err(self.no_buffer("a rank gives no buffer")),
        };
        let bytes = self.bytes(&own)?;
        self.moves(gives, bytes);
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
        if is_equal {
            self.awaits = if is_root { Awaits::None } else { Awaits::One(root.0) };
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
        let gets = self.check_parts(&parts.read())?;
        let own = parts.of(self.rank);
        if let Some(mine) = &mine {
            self.check_same(mine, &own)?;
        }
        let gives = mine.unwrap_or_else(|| own.read());
        let (bytes, is_equal) = (self.bytes(&gives)?, self.is_equal);
        self.moves(bytes, gets);
        if is_equal {
            self.agree_on(&gives, Rank(0))?;
        }
        if let BufferParts::Equal(all, _) = &parts
            && is_equal
            && !(stages_own(bytes, self.ranks) && self.is_short(bytes))
            && self.has_pieces()
        {
            return self.allgather_by_pieces(&gives, all.clone());
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
        let gets = self.check_parts(&incoming.read())?;
        let (own, is_in_place) = (self.rank, outgoing.is_none());
        let outgoing = outgoing.unwrap_or_else(|| incoming.read());
        let gives = self.check_parts(&outgoing)?;
        self.moves(gives, gets);
        self.check_same(&outgoing.of(own), &incoming.of(own))?;
        let (bytes, is_equal) = (self.bytes(&outgoing.of(own))?, self.is_equal);
        if is_equal {
            self.agree_on(&outgoing.of(own), Rank(0))?;
        }
        let all = bytes.saturating_mul(u64::from(self.ranks));
        if let (BufferParts::Equal(outgoing, _), BufferParts::Equal(incoming, _)) =
            (&outgoing, &incoming)
            && is_equal
            && !(stages_own(bytes, self.ranks) && self.is_short(all))
            && self.has_pieces()
            && self.keeps_step(all)
        {
            return self.alltoall_by_pieces(outgoing, incoming.clone());
        }
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

    /// Whether an alltoall in which each rank gives that many bytes goes in pieces, for each of which all wait for all. Where
    /// they share processors, they wait long; what the caches would not keep goes in messages, each of which one rank
    /// waits for.
    fn keeps_step(&self, all: u64) -> bool {
        let sharing = self.comm.agreed_sharing();
        sharing <= 1 || all <= longest_staged(sharing)
    }

    /// Each rank sends and receives the parts of its lists, in their order.
    pub(super) fn neighbours(
        &mut self,
        outgoing: &[(Rank, Origin<'_>)],
        incoming: &[(Rank, OriginMut<'_>)],
    ) -> Result<()> {
        let [mut gives, mut gets] = [0u64; 2];
        for (from, into) in incoming.iter().filter(|(from, _)| *from != Rank::NULL) {
            self.check_peer(*from)?;
            let into = BufferMut::of(into);
            gets = gets.saturating_add(self.bytes(&into.read())?);
            self.receive(from.0, into);
        }
        for (to, from) in outgoing.iter().filter(|(to, _)| *to != Rank::NULL) {
            self.check_peer(*to)?;
            let from = Buffer::of(from);
            gives = gives.saturating_add(self.bytes(&from)?);
            self.send(to.0, from);
        }
        self.moves(gives, gets);
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

    /// A buffer that is divided into equal parts, one for each rank.
    pub(super) fn equal_parts<B: Cut>(&self, all: B) -> Result<BufferParts<B>> {
        let (count, ranks) = (all.instances(), self.ranks as usize);
        self.check_count("buffer to be cut", count, count.next_multiple_of(ranks))?;
        Ok(BufferParts::Equal(all, count / ranks))
    }

    /// The bytes of all parts. Refuses any number of parts but one for each rank, and parts that are too large.
    fn check_parts(&self, parts: &BufferParts<Buffer>) -> Result<u64> {
        match parts {
            BufferParts::Equal(all, _) => self.bytes(all),
            BufferParts::Listed(parts) => self.check_list(parts.iter().cloned(), self.ranks),
        }
    }

    /// The bytes of all parts. Refuses any number of parts but one for each of that many ranks, and parts that are too
    /// large.
    pub(super) fn check_list(
        &self,
        mut parts: impl ExactSizeIterator<Item = Buffer>,
        ranks: u32,
    ) -> Result<u64> {
        self.check_count("list of parts", parts.len(), ranks as usize)?;
        parts.try_fold(0, |sum: u64, part| Ok(sum.saturating_add(self.bytes(&part)?)))
    }
}
