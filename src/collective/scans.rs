//! Collectives that combine what the ranks before this one contribute: scan and exscan.
//! Contributions are combined in rank order, from the lowest rank on.

use super::buffer::{Buffer, BufferMut, Combine};
use super::plan::Plan;
use super::staged::{Give, Take};
use crate::error::Result;
use crate::group::Rank;

impl Plan<'_> {
    /// Each rank combines what the one before it sends with its own contribution, and sends that to the
    /// next.
    pub(super) fn scan(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        combine: Combine,
    ) -> Result<()> {
        self.combine_by(combine.clone());
        self.bytes(&result.read())?;
        if let Some(mine) = &mine {
            self.check_contribution(mine, result.count())?;
        }
        let gives = mine.clone().unwrap_or_else(|| result.read());
        if self.scan_short(gives, self.rank + 1, &result, combine)? {
            return Ok(());
        }
        if let Some(mine) = mine {
            self.copy(mine, result.clone());
        }
        if self.rank > 0 {
            let lower = self.scratch(result.count(), &result.read().datatype)?;
            self.receive(self.rank - 1, lower.clone());
            self.wait();
            self.combine(lower.read(), result.clone());
        }
        if self.rank + 1 < self.ranks {
            self.send(self.rank + 1, result.read());
        }
        Ok(())
    }

    /// Whether it is short: `result` is then the combination of what the first `ranks` ranks give.
    fn scan_short(
        &mut self,
        gives: Buffer,
        ranks: u32,
        result: &BufferMut,
        combine: Combine,
    ) -> Result<bool> {
        self.agree_on_contribution(&gives, Rank(0))?;
        let bytes = self.bytes(&gives)?;
        let is_short = self.is_short_to_combine(bytes);
        if is_short {
            self.give = Give::Combined(gives);
            self.take = Take::Combined(ranks, 0, result.clone(), combine);
        }
        Ok(is_short)
    }

    /// A scan in which a rank sends more than it returns.
    pub(super) fn exscan(
        &mut self,
        mine: Option<Buffer>,
        result: BufferMut,
        combine: Combine,
    ) -> Result<()> {
        self.combine_by(combine.clone());
        self.bytes(&result.read())?;
        if let Some(mine) = &mine {
            self.check_contribution(mine, result.count())?;
        }
        let gives = mine.clone().unwrap_or_else(|| result.read());
        if self.scan_short(gives, self.rank, &result, combine)? {
            return Ok(());
        }
        let mine = mine.unwrap_or_else(|| result.read());
        let sum = self.copied(&mine)?;
        if self.rank > 0 {
            self.receive(self.rank - 1, result.clone());
            self.wait();
            self.combine(result.read(), sum.clone());
        }
        if self.rank + 1 < self.ranks {
            self.send(self.rank + 1, sum.read());
        }
        Ok(())
    }
}
