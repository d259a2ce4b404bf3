//! Collectives that combine what the ranks before this one contribute: scan and exscan.

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
        self.scan_from(0, &result)
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

    /// Of the ranks from `first` on: round k combines what the 2ᵏ ranks before this one have.
    fn scan_from(&mut self, first: u32, result: &BufferMut) -> Result<()> {
        let mut received = None;
        let mut reach = 1;
        while reach < self.ranks - first {
            if self.rank >= first + reach {
                if received.is_none() {
                    let shape = result.read();
                    received = Some(self.scratch(shape.count, &shape.datatype)?);
                }
                self.receive(self.rank - reach, received.clone().expect("made above"));
            }
            if self.rank + reach < self.ranks {
                self.send(self.rank + reach, result.read());
            }
            self.wait();
            if let (true, Some(received)) = (self.rank >= first + reach, &received) {
                self.combine(received.read(), result.clone());
            }
            reach *= 2;
        }
        Ok(())
    }

    /// Each rank gives its contribution to the next one; those scan what they have got.
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
        let mine = match mine {
            Some(mine) => mine,
            None => self.copied(&result.read())?.read(),
        };
        if self.rank > 0 {
            self.receive(self.rank - 1, result.clone());
        }
        if self.rank + 1 < self.ranks {
            self.send(self.rank + 1, mine);
        }
        self.wait();
        if self.rank > 0 { self.scan_from(1, &result) } else { Ok(()) }
    }
}
