//! The plans of collectives between two groups.
//!
//! Data that only moves goes directly from its sender to its receiver. Contributions are combined by the
//! collectives of their own group, at its first rank, and cross as one.

use super::bridge::Root;
use super::buffer::{Buffer, BufferMut, Combine};
use super::moves::is_by_tree;
use super::plan::Plan;
use super::reductions::ranges;
use super::staged::BufferParts;
use crate::error::Result;
use crate::group::Rank;

impl Plan<'_> {
    /// The number here of rank `k` of the other group.
    fn across(&self, k: u32) -> u32 {
        self.ranks + k
    }

    /// The numbers of the other group's ranks, from the own one on, so that not all begin with the same.
    fn all_across(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, remote) = (self.rank, self.remote);
        (0..remote).map(move |k| (first + k) % remote)
    }

    /// The number here of a root of the other group; refuses any other.
    fn root_across(&self, root: Rank) -> Result<u32> {
        self.check_root(root, self.remote)?;
        Ok(self.across(root.0))
    }

    /// A buffer that this rank must have.
    fn given<B>(&self, buffer: Option<B>) -> Result<B> {
        buffer.ok_or_else(|| self.no_buffer("a rank gives no buffer"))
    }

    /// To all ranks of the other group, or to its first rank, if the group forwards it.
    fn give_all(&mut self, buffer: &Buffer) -> Result<()> {
        let bytes = self.bytes(buffer)?;
        self.moves(bytes, 0);
        if is_by_tree(self.remote, bytes) {
            self.send(self.across(0), buffer.clone());
        } else {
            self.all_across().for_each(|k| self.send(self.across(k), buffer.clone()));
        }
        Ok(())
    }

    /// What `from` sends to all of this group.
    fn take_as_all(&mut self, buffer: BufferMut, from: u32) -> Result<()> {
        let bytes = self.bytes(&buffer.read())?;
        self.moves(0, bytes);
        if !is_by_tree(self.ranks, bytes) {
            self.receive(from, buffer);
            return Ok(());
        }
        if self.rank == 0 {
            self.receive(from, buffer.clone());
            self.wait();
        }
        self.broadcast(buffer, Rank(0))
    }

    pub(super) fn broadcast_across(&mut self, buffer: Option<BufferMut>, root: Root) -> Result<()> {
        match root {
            Root::Here => self.give_all(&self.given(buffer)?.read()),
            Root::There(root) => {
                let root = self.root_across(root)?;
                self.take_as_all(self.given(buffer)?, root)
            }
            Root::Elsewhere => Ok(()),
        }
    }

    pub(super) fn gather_across(
        &mut self,
        mine: Option<Buffer>,
        parts: Option<Vec<BufferMut>>,
        root: Root,
    ) -> Result<()> {
        match root {
            Root::Here => {
                let parts = self.given(parts)?;
                let gets = self.check_list(parts.iter().map(BufferMut::read), self.remote)?;
                self.moves(0, gets);
                self.receive_parts(parts);
            }
            Root::There(root) => {
                let (root, mine) = (self.root_across(root)?, self.given(mine)?);
                self.moves(self.bytes(&mine)?, 0);
                self.send(root, mine);
            }
            Root::Elsewhere => {}
        }
        Ok(())
    }

    pub(super) fn scatter_across(
        &mut self,
        parts: Option<Vec<Buffer>>,
        mine: Option<BufferMut>,
        root: Root,
    ) -> Result<()> {
        match root {
            Root::Here => {
                let parts = self.given(parts)?;
                let gives = self.check_list(parts.iter().cloned(), self.remote)?;
                self.moves(gives, 0);
                self.send_parts(parts);
            }
            Root::There(root) => {
                let (root, mine) = (self.root_across(root)?, self.given(mine)?);
                self.moves(0, self.bytes(&mine.read())?);
                self.receive(root, mine);
            }
            Root::Elsewhere => {}
        }
        Ok(())
    }

    pub(super) fn alltoall_across(
        &mut self,
        outgoing: Option<Vec<Buffer>>,
        incoming: Vec<BufferMut>,
    ) -> Result<()> {
        let outgoing = self.given(outgoing)?;
        let gets = self.check_list(incoming.iter().map(BufferMut::read), self.remote)?;
        let gives = self.check_list(outgoing.iter().cloned(), self.remote)?;
        self.moves(gives, gets);
        self.receive_parts(incoming);
        self.send_parts(outgoing);
        Ok(())
    }

    fn receive_parts(&mut self, parts: Vec<BufferMut>) {
        self.all_across().for_each(|k| self.receive(self.across(k), parts[k as usize].clone()));
    }

    fn send_parts(&mut self, parts: Vec<Buffer>) {
        self.all_across().for_each(|k| self.send(self.across(k), parts[k as usize].clone()));
    }

    /// What the ranks of this group contribute, combined at its first rank.
    fn combined(&mut self, mine: Buffer, combine: Combine) -> Result<Option<Buffer>> {
        self.moves(self.bytes(&mine)?, 0);
        if self.ranks == 1 {
            return Ok(Some(mine));
        }
        let space = match self.rank {
            0 => Some(self.scratch(mine.count, &mine.datatype)?),
            _ => None,
        };
        self.reduce(Some(mine), space.clone(), combine, Rank(0))?;
        self.wait();
        Ok(space.map(|space| space.read()))
    }

    pub(super) fn reduce_across(
        &mut self,
        mine: Option<Buffer>,
        result: Option<BufferMut>,
        combine: Combine,
        root: Root,
    ) -> Result<()> {
        match root {
            Root::Here => {
                let result = self.given(result)?;
                self.moves(0, self.bytes(&result.read())?);
                self.receive(self.across(0), result);
            }
            Root::There(root) => {
                let (root, mine) = (self.root_across(root)?, self.given(mine)?);
                if let Some(combined) = self.combined(mine, combine)? {
                    self.send(root, combined);
                }
            }
            Root::Elsewhere => {}
        }
        Ok(())
    }

    pub(super) fn allreduce_across(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        combine: Combine,
    ) -> Result<()> {
        let mine = self.given(mine)?;
        self.check_contribution(&mine, result.count())?;
        // Before the receive: the other group's first rank gives nothing while it waits for its own.
        if let Some(combined) = self.combined(mine, combine)? {
            self.give_all(&combined)?;
        }
        self.take_as_all(result, self.across(0))
    }

    /// The other group's ranks do not know the parts of this one, so its first rank cuts for all.
    pub(super) fn reduce_scatter_across(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        counts: &[usize],
        combine: Combine,
    ) -> Result<()> {
        let mine = self.given(mine)?;
        self.check_count("list of counts", counts.len(), self.ranks as usize)?;
        let (parts, total) = ranges(counts);
        self.check_contribution(&mine, total)?;
        self.check_count("result", result.count(), parts[self.rank as usize].len())?;
        let whole = match self.rank {
            0 => Some(self.scratch(total, &mine.datatype)?),
            _ => None,
        };
        let gives = self.bytes(&mine)?;
        if let Some(combined) = self.combined(mine, combine)? {
            self.send(self.across(0), combined);
        }
        let parts = whole.map(|whole| {
            self.receive(self.across(0), whole.clone());
            self.wait();
            parts.iter().map(|part| whole.part(part.start, part.len()).read()).collect()
        });
        self.scatter(parts.map(BufferParts::Listed), Some(result), Rank(0))?;
        self.moves(gives, 0);
        Ok(())
    }
}
