//! Collectives that combine what the ranks before this one contribute: scan and exscan.
//! Contributions are combined in rank order, from the lowest rank on.

use super::buffer::{Buffer, BufferMut, Combine};
use super::plan::Plan;
use super::request::CollectiveRequest;
use super::staged::{Give, Take};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};

/// The scans of untyped buffers (MPI-4.1 §6.12), with the rules of [`Comm::start_reduce`].
impl Comm {
    /// `MPI_Iscan` (MPI-4.1 §6.12.11): the combination of `mine` of ranks 0 to this one.
    ///
    /// # Errors
    /// [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing;
    /// [`Error::Count`](crate::Error::Count) if the result does not have as many instances as the
    /// contribution; [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[track_caller]
    pub fn start_scan(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        self.start_planned(Call::Scan, |plan| plan.scan(mine, result, combine))
    }

    /// `MPI_Iexscan` (MPI-4.1 §6.12.12): the combination of `mine` of the ranks below this one; `result`
    /// of rank 0 stays as it is.
    ///
    /// # Errors
    /// [`Error::Buffer`](crate::Error::Buffer) if a buffer is missing;
    /// [`Error::Count`](crate::Error::Count) if the result does not have as many instances as the
    /// contribution; [`Error::Reach`](crate::Error::Reach) for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[track_caller]
    pub fn start_exscan(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        self.start_planned(Call::Exscan, |plan| plan.exscan(mine, result, combine))
    }
}

impl Plan<'_> {
    /// Each rank combines what the one before it passes on with its own contribution, and passes that on.
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
        self.agree_on(&gives, Rank(0))?;
        let bytes = self.bytes(&gives)?;
        let is_short = self.is_short_to_combine(bytes);
        if is_short {
            self.give = Give::One(gives);
            self.take = Take::Combined(ranks, 0, result.clone(), combine);
        }
        Ok(is_short)
    }

    /// As the scan, but a rank passes on more than it gets.
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
