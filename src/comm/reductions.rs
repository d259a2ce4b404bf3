//! Reduce, allreduce, reduce_scatter, scan (MPI-2.2 §5.9 to §5.11), in rank order.

use super::Comm;
use super::description::Description;
use super::exchange::{Collective, chunk_elements};
use super::reduction::{Reduction, sealed::Combine};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::group::Rank;
use std::ops::Range;

/// All reductions combine element by element, over the contributions of the ranks in rank order:
/// the same bits every time, for operations that are not commutative too.
impl Comm {
    /// `MPI_Reduce` (MPI-2.2 §5.9): `op` over the contributions of all ranks at the root; `None`
    /// elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Operation`] if `op` is not defined for `T` or not for reductions;
    /// those of any collective ([`Comm`]).
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
        root: Rank,
    ) -> Result<Option<Vec<T>>> {
        let call = Call::Reduce;
        self.collectively(call, |reduce| {
            let what = Description::of::<T>(call, mine.len()).op(op.kind());
            reduce.check_root(root, what)?;
            let keep = self.rank().0 == root.0;
            let ranks = if keep { self.size() } else { 0 };
            let result = reduce.combine(what.root(root), mine, &op, ranks, 0..mine.len())?;
            Ok(keep.then_some(result))
        })
    }

    /// `MPI_Allreduce` (MPI-2.2 §5.9.6): as [`Comm::reduce`], with the result on every rank.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    #[track_caller]
    pub fn allreduce<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Vec<T>> {
        let what = Description::of::<T>(Call::Allreduce, mine.len()).op(op.kind());
        self.collectively(Call::Allreduce, |reduce| {
            reduce.combine(what, mine, &op, self.size(), 0..mine.len())
        })
    }

    /// `MPI_Scan` (MPI-2.2 §5.11.1): `op` over the contributions of ranks 0 to this one.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    #[track_caller]
    pub fn scan<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Vec<T>> {
        let what = Description::of::<T>(Call::Scan, mine.len()).op(op.kind());
        self.collectively(Call::Scan, |scan| {
            scan.combine(what, mine, &op, self.rank().0 + 1, 0..mine.len())
        })
    }

    /// `MPI_Exscan` (MPI-2.2 §5.11.2): `op` over the contributions of the ranks before this one;
    /// `None` on rank 0, which has none before it.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    #[track_caller]
    pub fn exscan<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Option<Vec<T>>> {
        let what = Description::of::<T>(Call::Exscan, mine.len()).op(op.kind());
        self.collectively(Call::Exscan, |scan| {
            let result = scan.combine(what, mine, &op, self.rank().0, 0..mine.len())?;
            Ok((self.rank() != 0).then_some(result))
        })
    }

    /// `MPI_Reduce_scatter_block` (MPI-2.2 §5.10.1): cuts what [`Comm::reduce`] gives into as many
    /// equal parts as there are ranks; each rank gets its part. All lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] if the elements cannot be cut equally; [`Error::Operation`] if `op` is not
    /// defined for `T` or not for reductions; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn reduce_scatter_block<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
    ) -> Result<Vec<T>> {
        let what = Description::of::<T>(Call::ReduceScatterBlock, mine.len()).op(op.kind());
        self.collectively(Call::ReduceScatterBlock, |reduce| {
            reduce.check_parts(what, mine.len())?;
            let len = mine.len() / self.size() as usize;
            let start = len * self.rank().index();
            reduce.combine(what, mine, &op, self.size(), start..start + len)
        })
    }

    /// `MPI_Reduce_scatter` (MPI-2.2 §5.10.2): as [`Comm::reduce_scatter_block`], with parts of
    /// `counts` elements, one for each rank, which all ranks give alike.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] unless there is one count for each rank and they add up to the length of
    /// `mine`; [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of
    /// any collective ([`Comm`]).
    #[track_caller]
    pub fn reduce_scatter<T: Element>(
        &self,
        mine: &[T],
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<Vec<T>> {
        let what = Description::of::<T>(Call::ReduceScatter, mine.len()).op(op.kind());
        let what = what.counts(counts);
        self.collectively(Call::ReduceScatter, |reduce| {
            reduce.check_count(what, "list of counts", counts.len(), self.size() as usize)?;
            let total = counts.iter().fold(0, |sum: usize, count| sum.saturating_add(*count));
            reduce.check_count(what, "buffer", mine.len(), total)?;
            let (before, from) = counts.split_at(self.rank().index());
            let start = before.iter().sum();
            reduce.combine(what, mine, &op, self.size(), start..start + from[0])
        })
    }
}

impl Collective<'_> {
    /// Combines elements `wanted` of the contributions of ranks `0..ranks`.
    fn combine<T: Element>(
        &mut self,
        what: Description,
        mine: &[T],
        op: &impl Reduction<T>,
        ranks: u32,
        wanted: Range<usize>,
    ) -> Result<Vec<T>> {
        let Some(function) = op.combine() else {
            let (at, op) = (self.comm.place(self.call), op.name());
            let datatype = T::DATATYPE.name();
            return Err(self.refuse(what, Error::Operation { at, op, datatype }));
        };
        let function: &Combine<'_, T> = &function;
        let mut result = vec![T::zeroed(); if ranks == 0 { 0 } else { wanted.len() }];
        let mut next = vec![T::zeroed(); result.len().min(chunk_elements::<T>())];
        self.chunks(what, mine.len(), mine, |staged, chunk| {
            let part = chunk.start.max(wanted.start)..chunk.end.min(wanted.end);
            if ranks == 0 || part.is_empty() {
                return Ok(());
            }
            let result = &mut result[part.start - wanted.start..part.end - wanted.start];
            let next = &mut next[..part.len()];
            staged.read(0, part.start - chunk.start, result)?;
            for rank in 1..ranks {
                staged.read(rank, part.start - chunk.start, next)?;
                function.fold(result, next);
            }
            Ok(())
        })?;
        Ok(result)
    }
}
