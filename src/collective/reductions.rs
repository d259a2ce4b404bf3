//! Collectives that combine: reduce, allreduce, reduce_scatter.
//!
//! Contributions are always combined in rank order, and in the same groups for every root. So the result
//! has the same bits every time, also for operations that are not commutative.

use super::buffer::{Buffer, BufferMut, Combine};
use super::form::ShortForm;
use super::plan::Plan;
use super::running::Running;
use super::staged::{Give, Take};
use crate::call::Call;
use crate::error::Result;
use crate::group::Rank;
use std::ops::Range;

/// Contributions of this many bytes are divided, and each rank combines one part of all.
const CUT: u64 = 16 * 1024;

/// Parts of that many instances, one behind the other, and where the last one ends.
pub(super) fn ranges(counts: &[usize]) -> (Vec<Range<usize>>, usize) {
    let mut end = 0usize;
    let part = |count: &usize| {
        let start = end;
        end = end.saturating_add(*count);
        start..end
    };
    let parts = counts.iter().map(part).collect();
    (parts, end)
}

impl Plan<'_> {
    pub(super) fn reduce(
        &mut self,
        mine: Option<Buffer>,
        result: Option<BufferMut>,
        combine: Combine,
        root: Rank,
    ) -> Result<()> {
        self.check_root(root, self.ranks)?;
        self.combine_by(combine.clone());
        let result = result.filter(|_| self.rank == root.0);
        if self.rank == root.0 && result.is_none() {
            return Err(self.no_buffer("the root gives no buffer"));
        }
        let (mine, space) = match (mine, &result) {
            (Some(mine), Some(result)) => {
                self.check_contribution(&mine, result.count())?;
                (mine, Some(result.clone()))
            }
            (Some(mine), None) => (mine, None),
            (None, Some(result)) => (result.read(), None),
            (None, None) => return Err(self.no_buffer("a rank gives no contribution")),
        };
        self.agree_on_contribution(&mine, root)?;
        let short = |comm: &_, call| {
            let (mine, result) = (mine.clone(), result.clone());
            ShortForm::reduction(comm, call, mine, result, combine.clone(), root)
        };
        if self.has_short(short) {
            return Ok(());
        }
        if self.has_pieces_to_combine(&mine, result.as_ref()) {
            self.reduce_by_pieces(mine, result, combine);
            return Ok(());
        }
        let bytes = self.bytes(&mine)?;
        if bytes >= CUT && mine.count >= self.ranks as usize {
            return self.reduce_by_parts(&mine, result, space.is_none(), root.0);
        }
        if self.is_small() {
            return self.combine_at(root.0, mine, result);
        }
        let mut running = Running::new(mine, space);
        self.reduce_range(&mut running, 0..self.ranks, root.0)?;
        if let Some(result) = result {
            running.finish(self, result);
        }
        Ok(())
    }

    /// Combines the contributions of the ranks `range` at the root or, if it is not among them, at the
    /// first.
    fn reduce_range(&mut self, running: &mut Running, range: Range<u32>, root: u32) -> Result<()> {
        if range.len() < 2 || !range.contains(&self.rank) {
            return Ok(());
        }
        // Cut in the same place for every root.
        let middle = range.start + (range.len() as u32).next_power_of_two() / 2;
        let (lower, upper) = (range.start..middle, middle..range.end);
        self.reduce_range(running, lower.clone(), root)?;
        self.reduce_range(running, upper.clone(), root)?;
        let at = |part: &Range<u32>| if part.contains(&root) { root } else { part.start };
        let (to, from) = match upper.contains(&root) {
            true => (at(&upper), at(&lower)),
            false => (at(&lower), at(&upper)),
        };
        if self.rank == from {
            self.send(to, running.value());
            self.wait();
        } else if self.rank == to {
            let received = running.space(self)?;
            self.receive(from, received.clone());
            self.wait();
            running.absorb(self, received, from < to)?;
        }
        Ok(())
    }

    pub(super) fn allreduce(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        combine: Combine,
    ) -> Result<()> {
        self.combine_by(combine.clone());
        let space = mine.is_some().then(|| result.clone());
        let mine = mine.unwrap_or_else(|| result.read());
        self.check_contribution(&mine, result.count())?;
        self.agree_on_contribution(&mine, Rank(0))?;
        let short = |comm: &_, call| {
            let (mine, result) = (mine.clone(), Some(result.clone()));
            ShortForm::reduction(comm, call, mine, result, combine.clone(), Rank(0))
        };
        if self.has_short(short) {
            return Ok(());
        }
        if self.has_pieces_to_combine(&mine, Some(&result)) && mine.count >= self.ranks as usize {
            self.allreduce_by_pieces(mine, result, combine);
            return Ok(());
        }
        let bytes = self.bytes(&mine)?;
        if bytes < CUT || mine.count < self.ranks as usize {
            if self.is_small() {
                let at_first = (self.rank == 0).then(|| result.clone());
                self.combine_at(0, mine, at_first)?;
                if self.rank == 0 {
                    self.others().for_each(|rank| self.send(rank, result.read()));
                } else {
                    self.wait();
                    self.receive(0, result);
                }
                return Ok(());
            }
            let mut running = Running::new(mine, space);
            self.allreduce_by_pairs(&mut running)?;
            running.finish(self, result);
            return Ok(());
        }
        let parts = self.cut(mine.count);
        let own = parts[self.rank as usize].clone();
        let part = result.part(own.start, own.len());
        self.combine_parts(&mine, &parts, part, space.is_none())?;
        let part = |rank: u32| result.part(parts[rank as usize].start, parts[rank as usize].len());
        self.others_back().for_each(|rank| self.receive(rank, part(rank)));
        self.others().for_each(|rank| self.send(rank, part(self.rank).read()));
        Ok(())
    }

    /// The root, which alone has a result, combines all contributions.
    fn combine_at(&mut self, root: u32, mine: Buffer, result: Option<BufferMut>) -> Result<()> {
        let Some(result) = result else {
            self.send(root, mine);
            return Ok(());
        };
        let mut contributions = Vec::new();
        for rank in 0..self.ranks {
            let contribution = self.scratch(mine.count, &mine.datatype)?;
            match rank == root {
                true => self.copy(mine.clone(), contribution.clone()),
                false => self.receive(rank, contribution.clone()),
            }
            contributions.push(contribution);
        }
        self.wait();
        let mut lower = contributions.remove(0);
        for upper in contributions {
            self.combine(lower.read(), upper.clone());
            lower = upper;
        }
        self.copy(lower.read(), result);
        Ok(())
    }

    /// Ranks at a distance of 2ᵏ exchange what they have. If their number is no power of two, each
    /// surplus rank sends its contribution to the next one, and gets the result from it.
    fn allreduce_by_pairs(&mut self, running: &mut Running) -> Result<()> {
        let paired = 1 << self.ranks.ilog2();
        let surplus = self.ranks - paired;
        let (rank, first) = (self.rank, self.rank < 2 * surplus);
        let mut own = rank - surplus.min(rank);
        if first {
            if rank % 2 == 0 {
                let result = running.space(self)?;
                self.receive(rank + 1, result.clone());
                self.send(rank + 1, running.value());
                self.wait();
                running.replace(result);
                return Ok(());
            }
            own = rank / 2;
            self.take_in(running, rank - 1, None)?;
        }
        let number = |own: u32| if own < surplus { 2 * own + 1 } else { own + surplus };
        let mut distance = 1;
        while distance < paired {
            let other = number(own ^ distance);
            self.take_in(running, other, Some(other))?;
            distance *= 2;
        }
        if first {
            self.send(rank - 1, running.value());
        }
        Ok(())
    }

    /// Combines what `from` sends with what this rank has, which goes to `to` meanwhile.
    fn take_in(&mut self, running: &mut Running, from: u32, to: Option<u32>) -> Result<()> {
        let received = running.space(self)?;
        self.receive(from, received.clone());
        if let Some(to) = to {
            self.send(to, running.value());
        }
        self.wait();
        running.absorb(self, received, from < self.rank)
    }

    /// Rank `k` combines part `k`, which goes to the root.
    fn reduce_by_parts(
        &mut self,
        mine: &Buffer,
        result: Option<BufferMut>,
        is_in_place: bool,
        root: u32,
    ) -> Result<()> {
        let parts = self.cut(mine.count);
        let own = parts[self.rank as usize].clone();
        let part = |result: &BufferMut, rank: u32| {
            result.part(parts[rank as usize].start, parts[rank as usize].len())
        };
        let Some(result) = result else {
            let part = self.scratch(own.len(), &mine.datatype)?;
            self.combine_parts(mine, &parts, part.clone(), false)?;
            self.send(root, part.read());
            return Ok(());
        };
        self.combine_parts(mine, &parts, part(&result, self.rank), is_in_place)?;
        self.others_back().for_each(|rank| self.receive(rank, part(&result, rank)));
        Ok(())
    }

    /// As many parts as there are ranks, of nearly equal length.
    fn cut(&self, count: usize) -> Vec<Range<usize>> {
        let (ranks, length) = (self.ranks as usize, count / self.ranks as usize);
        // The first ones have one more, if something is left.
        let start = |k: usize| k * length + k.min(count % ranks);
        (0..ranks).map(|k| start(k)..start(k + 1)).collect()
    }

    pub(super) fn reduce_scatter(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        counts: &[usize],
        combine: Combine,
    ) -> Result<()> {
        self.combine_by(combine.clone());
        self.check_count("list of counts", counts.len(), self.ranks as usize)?;
        let (parts, end) = ranges(counts);
        let own = parts[self.rank as usize].len();
        let is_in_place = mine.is_none();
        let mine = mine.unwrap_or_else(|| result.read());
        self.check_contribution(&mine, end)?;
        if !is_in_place {
            self.check_count("result", result.count(), own)?;
        }
        self.bytes(&result.read())?;
        self.agree_on_contribution(&mine, Rank(0))?;
        if self.call == Call::ReduceScatter {
            self.agree_on_counts(counts);
        }
        let bytes = self.bytes(&mine)?;
        if self.is_short_to_combine(bytes) {
            let first = self.bytes(&mine.part(0, parts[self.rank as usize].start))?;
            self.give = Give::Combined(mine);
            self.take = Take::Combined(self.ranks, first, result.part(0, own), combine);
            return Ok(());
        }
        self.combine_parts(&mine, &parts, result.part(0, own), is_in_place)
    }

    /// Combines part `rank` of what all ranks contribute to `result`, which shares memory with the
    /// contribution of this rank if that is in place. The contribution can be written afterwards.
    fn combine_parts(
        &mut self,
        mine: &Buffer,
        parts: &[Range<usize>],
        result: BufferMut,
        is_in_place: bool,
    ) -> Result<()> {
        let part = |rank: u32| {
            let range = &parts[rank as usize];
            mine.part(range.start, range.len())
        };
        let (own, last) = (part(self.rank), self.ranks - 1);
        // The own part is only read: as the first, or if operands can be exchanged.
        let is_first = self.rank == 0 && last > 0;
        let is_read = is_first || self.rank > 0 && self.exchanges_operands();
        // What comes last becomes the result; the own part becomes a part of what comes before it.
        let last = if is_read && self.rank == last { last - 1 } else { last };
        // Of each rank in order.
        let mut contributions = Vec::new();
        for rank in 0..self.ranks {
            contributions.push(match rank {
                _ if is_read && rank == self.rank => BufferMut::empty(),
                _ if rank == last && !is_in_place => result.clone(),
                _ => self.scratch(own.count, &own.datatype)?,
            });
        }
        for rank in self.others_back() {
            self.receive(rank, contributions[rank as usize].clone());
        }
        self.others().for_each(|rank| self.send(rank, part(rank)));
        if !is_read {
            self.copy(own.clone(), contributions[self.rank as usize].clone());
        }
        self.wait();
        let mut lower = if is_first { own.clone() } else { contributions[0].read() };
        for (rank, upper) in (1..).zip(&contributions[1..]) {
            if is_read && rank == self.rank {
                self.combine(own.clone(), contributions[rank as usize - 1].clone());
            } else {
                self.combine(lower, upper.clone());
                lower = upper.read();
            }
        }
        if is_in_place {
            self.copy(contributions[last as usize].read(), result);
        }
        Ok(())
    }

    /// Whether the operation gives the same whatever operand comes first: one of the standard's.
    fn exchanges_operands(&self) -> bool {
        self.combine.as_ref().is_some_and(Combine::is_predefined)
    }

    /// [`Plan::agree_on`] what this rank contributes: as much as it gets, or more.
    pub(super) fn agree_on_contribution(&mut self, mine: &Buffer, root: Rank) -> Result<()> {
        self.moves(self.bytes(mine)?, 0);
        self.agree_on(mine, root)
    }

    pub(super) fn check_contribution(&self, mine: &Buffer, needed: usize) -> Result<()> {
        self.bytes(mine)?;
        self.check_count("contribution, in instances of its datatype,", mine.count, needed)
    }
}
