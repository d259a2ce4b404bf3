//! Broadcast, gather, allgather, reduce, allreduce (MPI-2.2 chapter 5).

use super::Comm;
use super::exchange::{CHUNK, Description};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;

/// Elements of `T` that fit a chunk.
const fn chunk_elements<T>() -> usize {
    CHUNK / size_of::<T>()
}

impl Comm {
    /// `MPI_Bcast`: `buffer` of the root replaces that of every rank. All lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Mismatch`] on all ranks if root or lengths differ;
    /// [`Error::RankFailed`].
    pub fn broadcast<T: Element>(&self, buffer: &mut [T], root: Rank) -> Result<()> {
        let _call = self.context().enter(Call::Broadcast, 0);
        self.check_root::<T>(Call::Broadcast, root, None, buffer.len())?;
        self.broadcast_within(Call::Broadcast, buffer, root)
    }

    /// The broadcast of another collective call, which the errors then name.
    pub(crate) fn broadcast_within<T: Element>(
        &self,
        call: Call,
        buffer: &mut [T],
        root: Rank,
    ) -> Result<()> {
        let mut what = Description::of::<T>(call, root, None, buffer.len());
        for part in chunks_mut(buffer) {
            let mine: &[T] = if self.rank() == root.0 { part } else { &[] };
            let staged = self.exchange(what, bytemuck::cast_slice(mine))?;
            staged.read(root.0, bytemuck::cast_slice_mut(part))?;
            what.next_chunk();
        }
        Ok(())
    }

    /// `MPI_Gather`: the contributions of all ranks in rank order at the root, `None` elsewhere.
    /// All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// As [`Comm::broadcast`].
    pub fn gather<T: Element>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<T>>> {
        let _call = self.context().enter(Call::Gather, 0);
        self.check_root::<T>(Call::Gather, root, None, mine.len())?;
        let keep = self.rank() == root.0;
        let all =
            self.collect(Description::of::<T>(Call::Gather, root, None, mine.len()), mine, keep)?;
        Ok(keep.then_some(all))
    }

    /// `MPI_Allgather`: the contributions of all ranks in rank order, on every rank. All
    /// contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks if lengths differ; [`Error::RankFailed`].
    pub fn allgather<T: Element>(&self, mine: &[T]) -> Result<Vec<T>> {
        let _call = self.context().enter(Call::Allgather, 0);
        self.allgather_within(Call::Allgather, mine)
    }

    /// The allgather of another collective call, which the errors then name.
    pub(crate) fn allgather_within<T: Element>(&self, call: Call, mine: &[T]) -> Result<Vec<T>> {
        self.collect(Description::of::<T>(call, Rank(0), None, mine.len()), mine, true)
    }

    /// `MPI_Reduce`: element by element, `op` over the contributions of all ranks in rank order,
    /// at the root; `None` elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// As [`Comm::broadcast`]; [`Error::Operation`] if `op` is not defined for `T` or not for
    /// reductions.
    pub fn reduce<T: Element>(&self, mine: &[T], op: Op, root: Rank) -> Result<Option<Vec<T>>> {
        let _call = self.context().enter(Call::Reduce, 0);
        self.check_root::<T>(Call::Reduce, root, Some(op), mine.len())?;
        let keep = self.rank() == root.0;
        let result = self.combine(Call::Reduce, root, mine, op, keep)?;
        Ok(keep.then_some(result))
    }

    /// `MPI_Allreduce`: as [`Comm::reduce`], with the same result, to the last bit, on every rank.
    ///
    /// # Errors
    /// As [`Comm::reduce`].
    pub fn allreduce<T: Element>(&self, mine: &[T], op: Op) -> Result<Vec<T>> {
        let _call = self.context().enter(Call::Allreduce, 0);
        self.combine(Call::Allreduce, Rank(0), mine, op, true)
    }

    fn combine<T: Element>(
        &self,
        call: Call,
        root: Rank,
        mine: &[T],
        op: Op,
        keep: bool,
    ) -> Result<Vec<T>> {
        let mut what = Description::of::<T>(call, root, Some(op), mine.len());
        let Some(function) = T::function(op).filter(|_| op.is_reduction()) else {
            let (at, op, datatype) = (self.place(call), op.name(), T::DATATYPE.name());
            return Err(self.refuse(what, Error::Operation { at, op, datatype }));
        };
        let mut result = mine.to_vec();
        let mut theirs = vec![T::zeroed(); mine.len().min(chunk_elements::<T>())];
        for (part, result) in chunks(mine).zip(chunks_mut(&mut result)) {
            let staged = self.exchange(what, bytemuck::cast_slice(part))?;
            what.next_chunk();
            if !keep {
                continue;
            }
            staged.read(0, bytemuck::cast_slice_mut(result))?;
            for rank in 1..self.size() {
                let theirs = &mut theirs[..part.len()];
                staged.read(rank, bytemuck::cast_slice_mut(theirs))?;
                for (value, other) in result.iter_mut().zip(theirs) {
                    *value = function(*value, *other);
                }
            }
        }
        Ok(result)
    }

    fn collect<T: Element>(&self, mut what: Description, mine: &[T], keep: bool) -> Result<Vec<T>> {
        let mut all = vec![T::zeroed(); if keep { mine.len() * self.size() as usize } else { 0 }];
        for (k, part) in chunks(mine).enumerate() {
            let staged = self.exchange(what, bytemuck::cast_slice(part))?;
            what.next_chunk();
            let ranks = if keep { self.size() } else { 0 };
            for rank in 0..ranks {
                let start = rank as usize * mine.len() + k * chunk_elements::<T>();
                let to = &mut all[start..start + part.len()];
                staged.read(rank, bytemuck::cast_slice_mut(to))?;
            }
        }
        Ok(all)
    }

    fn check_root<T: Element>(
        &self,
        call: Call,
        root: Rank,
        op: Option<Op>,
        elements: usize,
    ) -> Result<()> {
        if root.0 < self.size() {
            return Ok(());
        }
        let what = Description::of::<T>(call, root, op, elements);
        let error = Error::Root { at: self.place(call), root: root.0, ranks: self.size() };
        Err(self.refuse(what, error))
    }
}

/// The chunks of `all`; one empty chunk if it is empty, because the ranks meet all the same.
fn chunks<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    let empty = all.is_empty().then_some(&[][..]);
    all.chunks(chunk_elements::<T>()).chain(empty)
}

/// As [`chunks`], mutable.
fn chunks_mut<T>(all: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    let empty = all.is_empty().then_some(&mut [][..]);
    all.chunks_mut(chunk_elements::<T>()).chain(empty)
}
