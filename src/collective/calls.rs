//! The collective calls on a communicator, in the standard's order (MPI-4.1 chapter 6): blocking ones,
//! nonblocking ones that own their buffers, those of untyped buffers, and what is made of these.
//!
//! Where lengths differ from rank to rank, no rank has to know in advance how much it receives: the ranks
//! exchange the lengths first. A list of slices, one for each rank, replaces the standard's counts and
//! displacements.

use super::buffer::{self, Buffer, BufferMut, Combine};
use super::duplicate::DuplicateRequest;
use super::form::LentForm;
use super::partitioned::{PartitionSide, Partitioned};
use super::plan;
use super::request::CollectiveRequest;
use super::staged::BufferParts;
use crate::call::Call;
use crate::comm::{Comm, Reduction};
use crate::datatype::Element;
#[allow(unused_imports, reason = "the documentation names its variants")]
use crate::error::Error;
use crate::error::Result;
use crate::group::Rank;
use crate::ops::{Origin, OriginMut};
use bytemuck::Pod;

/// Collectives of slices. All contributions have the same length, except in the calls whose names end
/// with `v`.
impl Comm {
    /// `MPI_Barrier` (MPI-2.2 §5.3): what any rank wrote before its call is visible to every rank
    /// after its own.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// Those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Barrier")]
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        plan::short_or(self, Call::Barrier, Some(LentForm::barrier()), |plan| {
            plan.barrier();
            Ok(())
        })
    }

    /// `MPI_Bcast` (MPI-2.2 §5.4): `buffer` of the root replaces that of every rank. All lengths
    /// are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let mut numbers = if me == 1 { [5, 7] } else { [0, 0] };
    /// world.broadcast(&mut numbers, Rank(1))?;
    /// assert_eq!(numbers, [5, 7]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Bcast")]
    #[track_caller]
    pub fn broadcast<T: Pod>(&self, buffer: &mut [T], root: Rank) -> Result<()> {
        let buffer = BufferMut::slice(buffer);
        let lent = LentForm::broadcast(self, Call::Broadcast, buffer.lend(), root);
        plan::short_or_of::<T>(self, Call::Broadcast, lent, |plan| {
            plan.broadcast(buffer.clone(), root)
        })
    }

    /// `MPI_Bcast` of a length that only the root knows: `buffer` of the root replaces that of
    /// every rank, whatever its length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let mut numbers = if me == 1 { vec![5, 7] } else { Vec::new() };
    /// world.broadcast_vec(&mut numbers, Rank(1))?;
    /// assert_eq!(numbers, [5, 7]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Bcast")]
    #[track_caller]
    pub fn broadcast_vec<T: Pod>(&self, buffer: &mut Vec<T>, root: Rank) -> Result<()> {
        self.collectively(Call::Broadcast, |all| {
            let mut length = [buffer.len() as u64];
            all.lengths::<T>(|plan| plan.broadcast(BufferMut::slice(&mut length), root))?;
            all.run::<T>(|plan| {
                if plan.rank != root.0 && buffer.len() as u64 != length[0] {
                    *buffer = plan.zeroed(length[0])?;
                }
                plan.broadcast(BufferMut::slice(buffer), root)
            })
        })
    }

    /// `MPI_Gather` (MPI-2.2 §5.5): the contributions of all ranks in rank order at the root,
    /// `None` elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let all = world.gather(&[me, 10 * me], Rank(0))?;
    /// assert_eq!(all, (me == 0).then(|| vec![0, 0, 1, 10, 2, 20]));
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Gather")]
    #[track_caller]
    pub fn gather<T: Pod>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<T>>> {
        let is_root = self.rank() == root;
        let mut all = zeroed::<T>(self, if is_root { mine.len() } else { 0 });
        self.collectively(Call::Gather, |gather| {
            let parts = is_root.then(|| BufferParts::elements(&mut all, mine.len()));
            gather.run::<T>(|plan| plan.gather(Some(Buffer::slice(mine)), parts, root))
        })?;
        Ok(is_root.then_some(all))
    }

    /// `MPI_Gatherv` (MPI-2.2 §5.5): the contribution of each rank in rank order at the root,
    /// `None` elsewhere.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let all = world.gatherv(&vec![me; me as usize], Rank(0))?;
    /// assert_eq!(all, (me == 0).then(|| vec![vec![], vec![1], vec![2, 2]]));
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Gatherv")]
    #[track_caller]
    pub fn gatherv<T: Pod>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<Vec<T>>>> {
        let is_root = self.rank() == root;
        self.collectively(Call::Gatherv, |gather| {
            let (own, mut lengths) = ([mine.len() as u64], zeroed(self, usize::from(is_root)));
            let places = is_root.then(|| BufferParts::elements(&mut lengths, 1));
            gather.lengths::<T>(|plan| plan.gather(Some(Buffer::slice(&own)), places, root))?;
            let mut all = Vec::new();
            gather.run::<T>(|plan| {
                all = plan.vectors::<T>(&lengths)?;
                let parts = is_root.then(|| BufferParts::vectors(&mut all));
                plan.gather(Some(Buffer::slice(mine)), parts, root)
            })?;
            Ok(is_root.then_some(all))
        })
    }

    /// `MPI_Scatter` (MPI-2.2 §5.6): cuts `all` of the root into as many equal parts as there are
    /// ranks; each rank gets its part. What other ranks give as `all` means nothing.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; At the root [`Error::Buffer`] without elements, [`Error::Count`] for elements
    /// that cannot be divided equally; the other ranks then get [`Error::Mismatch`]. Those of any
    /// collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let all = [0, 10, 20];
    /// let mine = world.scatter((me == 0).then_some(&all[..]), Rank(0))?;
    /// assert_eq!(mine, [10 * me]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Scatter")]
    #[track_caller]
    pub fn scatter<T: Pod>(&self, all: Option<&[T]>, root: Rank) -> Result<Vec<T>> {
        let all = all.filter(|_| self.rank() == root);
        self.collectively(Call::Scatter, |scatter| {
            let mut total = [all.map_or(0, <[T]>::len) as u64];
            scatter.lengths::<T>(|plan| {
                plan.check_root_gives(root, all.is_some())?;
                all.map_or(Ok(()), |all| plan.equal_parts(Buffer::slice(all)).map(drop))?;
                plan.broadcast(BufferMut::slice(&mut total), root)
            })?;
            let mut own = Vec::new();
            scatter.run::<T>(|plan| {
                own = plan.zeroed::<T>(total[0] / u64::from(plan.ranks))?;
                let parts = all.map(|all| BufferParts::Equal(Buffer::slice(all), own.len()));
                plan.scatter(parts, Some(BufferMut::slice(&mut own)), root)
            })?;
            Ok(own)
        })
    }

    /// `MPI_Scatterv` (MPI-2.2 §5.6): each rank gets that slice of the root's `parts` which has
    /// its number. What other ranks give as `parts` means nothing.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; At the root [`Error::Buffer`] without slices, [`Error::Count`] unless there is
    /// one slice for each rank; the other ranks then get [`Error::Mismatch`]. Those of any collective
    /// ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let parts: [&[u32]; 3] = [&[], &[1], &[2, 2]];
    /// let mine = world.scatterv((me == 0).then_some(&parts[..]), Rank(0))?;
    /// assert_eq!(mine, vec![me; me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Scatterv")]
    #[track_caller]
    pub fn scatterv<T: Pod>(&self, parts: Option<&[&[T]]>, root: Rank) -> Result<Vec<T>> {
        let parts = parts.filter(|_| self.rank() == root);
        self.collectively(Call::Scatterv, |scatter| {
            let (lengths, mut own) = (lengths(parts.unwrap_or_default()), [0u64]);
            scatter.lengths::<T>(|plan| {
                plan.check_root_gives(root, parts.is_some())?;
                parts.map_or(Ok(()), |parts| plan.check_slices(parts.len()))?;
                let lengths = parts.map(|_| BufferParts::Equal(Buffer::slice(&lengths), 1));
                plan.scatter(lengths, Some(BufferMut::slice(&mut own)), root)
            })?;
            let (length, mut own) = (own[0], Vec::new());
            scatter.run::<T>(|plan| {
                own = plan.zeroed::<T>(length)?;
                let parts = parts.map(BufferParts::slices);
                plan.scatter(parts, Some(BufferMut::slice(&mut own)), root)
            })?;
            Ok(own)
        })
    }

    /// `MPI_Allgather` (MPI-2.2 §5.7): the contributions of all ranks in rank order, on every
    /// rank. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// Those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// assert_eq!(world.allgather(&[10 * me])?, [0, 10, 20]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Allgather")]
    #[track_caller]
    pub fn allgather<T: Pod>(&self, mine: &[T]) -> Result<Vec<T>> {
        let mut all = zeroed::<T>(self, mine.len());
        let (buffer, count, mine) = (BufferMut::slice(&mut all), mine.len(), Buffer::slice(mine));
        let lent = LentForm::allgather(self, mine.lend(), buffer.lend());
        plan::short_or_of::<T>(self, Call::Allgather, lent, |plan| {
            plan.allgather(Some(mine.clone()), BufferParts::Equal(buffer.clone(), count))
        })?;
        Ok(all)
    }

    /// `MPI_Allgatherv` (MPI-2.2 §5.7): the contribution of each rank in rank order, on every
    /// rank.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// Those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let all = world.allgatherv(&vec![me; me as usize])?;
    /// assert_eq!(all, [vec![], vec![1], vec![2, 2]]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Allgatherv")]
    #[track_caller]
    pub fn allgatherv<T: Pod>(&self, mine: &[T]) -> Result<Vec<Vec<T>>> {
        self.collectively(Call::Allgatherv, |gather| {
            let (own, mut lengths) = ([mine.len() as u64], zeroed(self, 1));
            let places = BufferParts::elements(&mut lengths, 1);
            gather.lengths::<T>(|plan| plan.allgather(Some(Buffer::slice(&own)), places))?;
            let mut all = Vec::new();
            gather.run::<T>(|plan| {
                all = plan.vectors::<T>(&lengths)?;
                plan.allgather(Some(Buffer::slice(mine)), BufferParts::vectors(&mut all))
            })?;
            Ok(all)
        })
    }

    /// `MPI_Alltoall` (MPI-2.2 §5.8): every rank divides its `mine` into equal parts, one for each rank,
    /// and gets from each rank, in rank order, the part with its own number. All lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] if the elements cannot be cut equally; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// // One number for each rank.
    /// let from_all = world.alltoall(&[10 * me, 10 * me + 1, 10 * me + 2])?;
    /// assert_eq!(from_all, [me, 10 + me, 20 + me]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Alltoall")]
    #[track_caller]
    pub fn alltoall<T: Pod>(&self, mine: &[T]) -> Result<Vec<T>> {
        let mut all = vec![T::zeroed(); mine.len()];
        let (outgoing, incoming) = (Buffer::slice(mine), BufferMut::slice(&mut all));
        let lent = LentForm::alltoall(self, outgoing.lend(), incoming.lend());
        plan::short_or_of::<T>(self, Call::Alltoall, lent, |plan| {
            let outgoing = plan.equal_parts(outgoing.clone())?;
            let incoming = plan.equal_parts(incoming.clone())?;
            plan.alltoall(Some(outgoing), incoming)
        })?;
        Ok(all)
    }

    /// `MPI_Alltoallv` (MPI-2.2 §5.8): every rank gives one slice for each rank, and gets from
    /// each, in rank order, the one that is for it.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] on a rank that gives not one slice for each (the
    /// others then get [`Error::Mismatch`]); those of any collective
    /// ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// // Something for rank 0, nothing for the others.
    /// let from_all = world.alltoallv(&[&[me, me], &[], &[]])?;
    /// assert_eq!(from_all.concat(), if me == 0 { vec![0, 0, 1, 1, 2, 2] } else { vec![] });
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Alltoallv")]
    #[track_caller]
    pub fn alltoallv<T: Pod>(&self, parts: &[&[T]]) -> Result<Vec<Vec<T>>> {
        self.collectively(Call::Alltoallv, |alltoall| {
            let (given, mut taken) = (lengths(parts), zeroed(self, 1));
            alltoall.lengths::<T>(|plan| {
                plan.check_slices(parts.len())?;
                let incoming = BufferParts::elements(&mut taken, 1);
                plan.alltoall(Some(BufferParts::Equal(Buffer::slice(&given), 1)), incoming)
            })?;
            let mut all = Vec::new();
            alltoall.run::<T>(|plan| {
                all = plan.vectors::<T>(&taken)?;
                plan.alltoall(Some(BufferParts::slices(parts)), BufferParts::vectors(&mut all))
            })?;
            Ok(all)
        })
    }
}

/// All reductions combine element by element, over the contributions in rank order. So the result has the
/// same bits every time, also for operations that are not commutative.
impl Comm {
    /// `MPI_Reduce` (MPI-2.2 §5.9): `op` over the contributions of all ranks at the root; `None`
    /// elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Operation`] if `op` is not defined for `T` or not for reductions;
    /// those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let largest = world.reduce(&[me, 10 - me], Op::Max, Rank(0))?;
    /// assert_eq!(largest, (me == 0).then(|| vec![2, 10]));
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Reduce")]
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
        root: Rank,
    ) -> Result<Option<Vec<T>>> {
        let is_root = self.rank() == root;
        let mut result = vec![T::zeroed(); if is_root { mine.len() } else { 0 }];
        let (mine, combine) = (Buffer::slice(mine), Combine::by::<T>(&op));
        let buffer = is_root.then(|| BufferMut::slice(&mut result));
        let lent = combine.as_ref().filter(|combine| combine.is_predefined()).and_then(|combine| {
            let (mine, result) = (mine.lend(), buffer.as_ref().map(BufferMut::lend));
            LentForm::reduction(self, Call::Reduce, mine, result, combine, root)
        });
        plan::short_or_of::<T>(self, Call::Reduce, lent, |plan| {
            let combine = plan.function(&op)?;
            plan.reduce(Some(mine.clone()), buffer.clone(), combine, root)
        })?;
        Ok(is_root.then_some(result))
    }

    /// `MPI_Allreduce` (MPI-2.2 §5.9.6): as [`Comm::reduce`], with the result on every rank.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// assert_eq!(world.allreduce(&[me, 1], Op::Sum)?, [0 + 1 + 2, 3]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Allreduce")]
    #[track_caller]
    pub fn allreduce<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Vec<T>> {
        let mut result = vec![T::zeroed(); mine.len()];
        let (mine, buffer) = (Buffer::slice(mine), BufferMut::slice(&mut result));
        let combine = Combine::by::<T>(&op);
        let lent = combine.as_ref().filter(|combine| combine.is_predefined()).and_then(|combine| {
            let (mine, result) = (mine.lend(), Some(buffer.lend()));
            LentForm::reduction(self, Call::Allreduce, mine, result, combine, Rank(0))
        });
        plan::short_or_of::<T>(self, Call::Allreduce, lent, |plan| {
            let combine = plan.function(&op)?;
            plan.allreduce(Some(mine.clone()), buffer.clone(), combine)
        })?;
        Ok(result)
    }

    /// `MPI_Reduce_scatter_block` (MPI-2.2 §5.10.1): cuts what [`Comm::reduce`] gives into as many
    /// equal parts as there are ranks; each rank gets its part. All lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] if the elements cannot be cut equally; [`Error::Operation`] if `op` is not
    /// defined for `T` or not for reductions; those of any collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// // The sums of all contributions, one for each rank.
    /// assert_eq!(world.reduce_scatter_block(&[me, me + 1, me + 2], Op::Sum)?, [3 + 3 * me]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Reduce_scatter_block")]
    #[track_caller]
    pub fn reduce_scatter_block<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
    ) -> Result<Vec<T>> {
        let counts = vec![mine.len() / self.ranks().len(); self.ranks().len()];
        let mut result = vec![T::zeroed(); counts[0]];
        self.collectively(Call::ReduceScatterBlock, |reduce| {
            reduce.run::<T>(|plan| {
                let (own, combine) = (Buffer::slice(mine), plan.function(&op)?);
                plan.equal_parts(own.clone())?;
                plan.reduce_scatter(Some(own), BufferMut::slice(&mut result), &counts, combine)
            })
        })?;
        Ok(result)
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
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// // Of the sums of all contributions, one for rank 0 and two for rank 2.
    /// let sums = world.reduce_scatter(&[1, me, 10], &[1, 0, 2], Op::Sum)?;
    /// assert_eq!(sums, [vec![3], vec![], vec![3, 30]][me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Reduce_scatter")]
    #[track_caller]
    pub fn reduce_scatter<T: Element>(
        &self,
        mine: &[T],
        counts: &[usize],
        op: impl Reduction<T>,
    ) -> Result<Vec<T>> {
        let own = counts.get(self.rank().index()).copied().unwrap_or_default();
        let mut result = vec![T::zeroed(); own.min(mine.len())];
        self.collectively(Call::ReduceScatter, |reduce| {
            reduce.run::<T>(|plan| {
                let (own, combine) = (Buffer::slice(mine), plan.function(&op)?);
                plan.reduce_scatter(Some(own), BufferMut::slice(&mut result), counts, combine)
            })
        })?;
        Ok(result)
    }

    /// `MPI_Scan` (MPI-2.2 §5.11.1): `op` over the contributions of ranks 0 to this one.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// assert_eq!(world.scan(&[me + 1], Op::Sum)?, [[1], [3], [6]][me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Scan")]
    #[track_caller]
    pub fn scan<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Vec<T>> {
        let mut result = vec![T::zeroed(); mine.len()];
        self.collectively(Call::Scan, |all| {
            all.run::<T>(|plan| {
                let combine = plan.function(&op)?;
                plan.scan(Some(Buffer::slice(mine)), BufferMut::slice(&mut result), combine)
            })
        })?;
        Ok(result)
    }

    /// `MPI_Exscan` (MPI-2.2 §5.11.2): `op` over the contributions of the ranks before this one;
    /// `None` on rank 0, which has none before it.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// // Where each rank's numbers begin in an array of all.
    /// let count = me + 1;
    /// let begin = world.exscan(&[count], Op::Sum)?.map_or(0, |begin| begin[0]);
    /// assert_eq!(begin, [0, 1, 3][me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Exscan")]
    #[track_caller]
    pub fn exscan<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Option<Vec<T>>> {
        let mut result = vec![T::zeroed(); mine.len()];
        self.collectively(Call::Exscan, |all| {
            all.run::<T>(|plan| {
                let combine = plan.function(&op)?;
                plan.exscan(Some(Buffer::slice(mine)), BufferMut::slice(&mut result), combine)
            })
        })?;
        Ok((self.rank() != Rank(0)).then_some(result))
    }
}

/// Nonblocking collectives. The request owns the buffers, and gives back what has become of them.
///
/// All ranks of the communicator start the same ones in the same order, blocking collectives included.
/// They wait for them in any order, and make any other calls in between. All contributions have the same
/// length in elements. A call that is refused for this rank's arguments has sent nothing; the other ranks
/// wait in vain for it, unless theirs are refused, too.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::Op;
/// let world = universe.world();
/// let sum = world.iallreduce(vec![world.rank().0; 3], Op::Sum)?;
/// let met = world.ibarrier()?;
/// println!("{:?}", sum.wait()?);
/// met.wait()?;
/// # Ok(()) }
/// ```
impl Comm {
    /// `MPI_Ibarrier` (MPI-4.1 §6.12.1): complete when all ranks have started it; what any rank wrote
    /// before is then visible to this one.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// Those of any call on a communicator ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let arrived = world.ibarrier()?;
    /// // Work that needs no other rank.
    /// arrived.wait()?;
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Ibarrier")]
    pub fn ibarrier(&self) -> Result<CollectiveRequest> {
        self.start_barrier()
    }

    /// `MPI_Ibcast` (MPI-4.1 §6.12.2): gives every rank the elements of the root's `buffer`. All
    /// lengths are equal.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Root`].
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let numbers = if me == 1 { vec![5, 7] } else { vec![0; 2] };
    /// assert_eq!(world.ibroadcast(numbers, Rank(1))?.wait()?, [5, 7]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Ibcast")]
    pub fn ibroadcast<T: Pod + Send>(
        &self,
        mut buffer: Vec<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        let whole = BufferMut::slice(&mut buffer);
        plan::begin(self, Call::Broadcast, |plan| {
            plan.keep((), buffer);
            plan.broadcast(whole, root)
        })
    }

    /// `MPI_Igather` (MPI-4.1 §6.12.3): gives the root the contributions of all ranks in rank order,
    /// and the others `None`.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Root`].
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let all = world.igather(vec![10 * me], Rank(0))?.wait()?;
    /// assert_eq!(all, (me == 0).then(|| vec![0, 10, 20]));
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Igather")]
    pub fn igather<T: Pod + Send>(
        &self,
        mut mine: Vec<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        plan::begin(self, Call::Gather, |plan| {
            let (own, length) = (BufferMut::slice(&mut mine), mine.len());
            let mut all = (plan.rank == root.0).then(|| zeroed::<T>(self, length));
            let parts = all.as_mut().map(|all| BufferParts::elements(all, length));
            plan.keep(mine, all);
            plan.gather(Some(own.read()), parts, root)
        })
    }

    /// `MPI_Iscatter` (MPI-4.1 §6.12.4): cuts `all` of the root into parts of `length` elements and
    /// gives each rank its part. What other ranks give as `all` means nothing.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Root`]; at the root, [`Error::Buffer`] if it
    /// gives nothing, [`Error::Count`] if it does not give that many elements.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let mine = world.iscatter((me == 0).then(|| vec![0, 10, 20]), 1, Rank(0))?.wait()?;
    /// assert_eq!(mine, [10 * me]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iscatter")]
    pub fn iscatter<T: Pod + Send>(
        &self,
        all: Option<Vec<T>>,
        length: usize,
        root: Rank,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        plan::begin(self, Call::Scatter, |plan| {
            let (mut all, mut mine) =
                (all.filter(|_| plan.rank == root.0), plan.zeroed::<T>(length as u64)?);
            if let Some(all) = &all {
                let needed = length.saturating_mul(plan.ranks as usize);
                plan.check_count("buffer to be cut", all.len(), needed)?;
            }
            let parts = all.as_mut().map(|all| BufferParts::elements(all, length));
            let parts = parts.map(|parts| parts.read());
            let own = BufferMut::slice(&mut mine);
            plan.keep(all, mine);
            plan.scatter(parts, Some(own), root)
        })
    }

    /// `MPI_Iallgather` (MPI-4.1 §6.12.5): gives every rank the contributions of all in rank order.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// Those of any call on a communicator ([`Comm`]).
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// assert_eq!(world.iallgather(vec![10 * me])?.wait()?, [0, 10, 20]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iallgather")]
    pub fn iallgather<T: Pod + Send>(&self, mut mine: Vec<T>) -> Result<CollectiveRequest<Vec<T>>> {
        plan::begin(self, Call::Allgather, |plan| {
            let (own, length) = (BufferMut::slice(&mut mine), mine.len());
            let mut all = zeroed::<T>(self, length);
            let parts = BufferParts::elements(&mut all, length);
            plan.keep(mine, all);
            plan.allgather(Some(own.read()), parts)
        })
    }

    /// `MPI_Ialltoall` (MPI-4.1 §6.12.6): every rank divides its `mine` into equal parts, one for each
    /// rank, and gets from each rank, in rank order, the part with its own number.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Count`] if the elements cannot be cut equally.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let from_all = world.ialltoall(vec![10 * me, 10 * me + 1, 10 * me + 2])?.wait()?;
    /// assert_eq!(from_all, [me, 10 + me, 20 + me]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Ialltoall")]
    pub fn ialltoall<T: Pod + Send>(&self, mut mine: Vec<T>) -> Result<CollectiveRequest<Vec<T>>> {
        plan::begin(self, Call::Alltoall, |plan| {
            let (found, ranks) = (mine.len(), plan.ranks as usize);
            plan.check_count("buffer to be cut", found, found.next_multiple_of(ranks))?;
            let mut all = zeroed::<T>(self, found / ranks);
            let outgoing = BufferParts::elements(&mut mine, found / ranks);
            let outgoing = outgoing.read();
            let incoming = BufferParts::elements(&mut all, found / ranks);
            plan.keep(mine, all);
            plan.alltoall(Some(outgoing), incoming)
        })
    }

    /// `MPI_Ireduce` (MPI-4.1 §6.12.7): gives the root `op` over the contributions of all ranks, in
    /// rank order, and the others `None`.
    ///
    /// Collective; does not block. A function of the program runs in whatever call of this rank finds
    /// the contributions.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Operation`] if `op` is
    /// not defined for `T` or not for reductions.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let largest = world.ireduce(vec![me], Op::Max, Rank(0))?.wait()?;
    /// assert_eq!(largest, (me == 0).then(|| vec![2]));
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Ireduce")]
    pub fn ireduce<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        plan::begin(self, Call::Reduce, |plan| {
            let (own, combine) = (BufferMut::slice(&mut mine), plan.function(&op)?);
            if plan.rank == root.0 {
                plan.keep((), Some(mine));
                return plan.reduce(None, Some(own), combine, root);
            }
            plan.keep(mine, None::<Vec<T>>);
            plan.reduce(Some(own.read()), None, combine, root)
        })
    }

    /// `MPI_Iallreduce` (MPI-4.1 §6.12.8): as [`Comm::ireduce`], with the result on every rank.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for
    /// reductions.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let sum = world.iallreduce(vec![me], Op::Sum)?;
    /// // Work that does not need the sum.
    /// assert_eq!(sum.wait()?, [3]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iallreduce")]
    pub fn iallreduce<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        plan::begin(self, Call::Allreduce, |plan| {
            let (own, combine) = (BufferMut::slice(&mut mine), plan.function(&op)?);
            plan.keep((), mine);
            plan.allreduce(None, own, combine)
        })
    }

    /// `MPI_Iscan` (MPI-4.1 §6.12.11): gives `op` over the contributions of ranks 0 to this one.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for
    /// reductions.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// assert_eq!(world.iscan(vec![me + 1], Op::Sum)?.wait()?, [[1], [3], [6]][me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iscan")]
    pub fn iscan<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        plan::begin(self, Call::Scan, |plan| {
            let (own, combine) = (BufferMut::slice(&mut mine), plan.function(&op)?);
            plan.keep((), mine);
            plan.scan(None, own, combine)
        })
    }

    /// `MPI_Iexscan` (MPI-4.1 §6.12.12): gives `op` over the contributions of the ranks below this one;
    /// `None` on rank 0.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Operation`] if `op` is not defined for `T` or not for
    /// reductions.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let me = world.rank().0;
    /// let begin = world.iexscan(vec![me + 1], Op::Sum)?.wait()?;
    /// assert_eq!(begin.map_or(0, |begin| begin[0]), [0, 1, 3][me as usize]);
    /// # Ok(())
    /// # });
    /// ```
    #[doc(alias = "MPI_Iexscan")]
    pub fn iexscan<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        plan::begin(self, Call::Exscan, |plan| {
            let (own, combine) = (BufferMut::slice(&mut mine), plan.function(&op)?);
            if plan.rank == 0 {
                plan.keep(mine, None::<Vec<T>>);
            } else {
                plan.keep((), Some(mine));
            }
            plan.exscan(None, own, combine)
        })
    }
}

/// The collectives of untyped buffers (MPI-4.1 §6.12). All have these rules:
///
/// * All ranks of the communicator start the same collectives on it in the same order, blocking ones
///   included. Several may be in progress, and complete in any order. Ranks that do not agree get
///   [`Error::Mismatch`], all of them.
/// * Starting one is local and does not block, except while another rank allocates.
/// * The promises of a buffer to [`Origin::new`] or [`OriginMut::new`] have to hold until the request is
///   complete. If the request is dropped before, they have to hold until every rank has left the job.
/// * On a handle for blocking calls ([`Comm::waiting`]) the call returns when the collective is complete.
/// * Buffers that meet have the same bytes, in any two layouts.
/// * A call that is refused for this rank's arguments has sent nothing, and does not count as a
///   collective of the communicator. The other ranks, if they were not refused too, wait for it (MPI-4.1
///   §9.3).
impl Comm {
    /// `MPI_Ibarrier` (MPI-4.1 §6.12.1): complete when all ranks have started it.
    ///
    /// # Errors
    /// Those of any call on a communicator ([`Comm`]).
    #[doc(alias = "MPI_Ibarrier")]
    #[track_caller]
    pub fn start_barrier(&self) -> Result<CollectiveRequest> {
        let lent = || Some(LentForm::barrier());
        plan::begin_short(self, Call::Barrier, lent, |plan| {
            plan.barrier();
            Ok(())
        })
    }

    /// `MPI_Ibcast` (MPI-4.1 §6.12.2): `buffer` of the root replaces that of every rank.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes.
    #[doc(alias = "MPI_Ibcast")]
    #[track_caller]
    pub fn start_broadcast(&self, buffer: OriginMut<'_>, root: Rank) -> Result<CollectiveRequest> {
        let lent = || LentForm::broadcast(self, Call::Broadcast, BufferMut::lent(&buffer), root);
        plan::begin_short(self, Call::Broadcast, lent, |plan| {
            plan.broadcast(BufferMut::of(&buffer), root)
        })
    }

    /// `MPI_Igather` (MPI-4.1 §6.12.3): `mine` of each rank goes to its part of `all` at the root, which
    /// is cut into as many equal parts as there are ranks. `mine` of the root can be `None` if it is in
    /// its part already (`MPI_IN_PLACE`); what other ranks give as `all` means nothing.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`] if the parts are not
    /// equal, or that of the root is not as long as its `mine`;
    /// [`Error::Buffer`] if a buffer is missing.
    #[doc(alias = "MPI_Igather")]
    #[track_caller]
    pub fn start_gather(
        &self,
        mine: Option<Origin<'_>>,
        all: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, all) = (mine.as_ref().map(Buffer::of), all.as_ref().map(BufferMut::of));
        plan::begin(self, Call::Gather, |plan| {
            let parts = all.map(|all| plan.equal_parts(all)).transpose()?;
            plan.gather(mine, parts, root)
        })
    }

    /// `MPI_Igatherv` (MPI-4.1 §6.12.3): as [`Comm::start_gather`], with a list of parts, one for each
    /// rank.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`] unless there is one
    /// part for each rank, of the right length; [`Error::Buffer`] if a buffer
    /// is missing.
    #[doc(alias = "MPI_Igatherv")]
    #[track_caller]
    pub fn start_gatherv(
        &self,
        mine: Option<Origin<'_>>,
        parts: Option<&[OriginMut<'_>]>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), parts.map(buffer::written));
        plan::begin(self, Call::Gatherv, |plan| {
            plan.gather(mine, parts.map(BufferParts::Listed), root)
        })
    }

    /// `MPI_Iscatter` (MPI-4.1 §6.12.4): each rank's part of `all` of the root goes to its `mine`. `mine`
    /// of the root can be `None`: its part stays where it is (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`] if the parts are not
    /// equal, or that of the root is not as long as its `mine`;
    /// [`Error::Buffer`] if a buffer is missing.
    #[doc(alias = "MPI_Iscatter")]
    #[track_caller]
    pub fn start_scatter(
        &self,
        all: Option<Origin<'_>>,
        mine: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, all) = (mine.as_ref().map(BufferMut::of), all.as_ref().map(Buffer::of));
        plan::begin(self, Call::Scatter, |plan| {
            let parts = all.map(|all| plan.equal_parts(all)).transpose()?;
            plan.scatter(parts, mine, root)
        })
    }

    /// `MPI_Iscatterv` (MPI-4.1 §6.12.4): as [`Comm::start_scatter`], with a list of parts.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Reach`] for elements
    /// farther apart than 2⁶³ - 1 bytes; [`Error::Count`] unless there is one
    /// part for each rank, of the right length; [`Error::Buffer`] if a buffer
    /// is missing.
    #[doc(alias = "MPI_Iscatterv")]
    #[track_caller]
    pub fn start_scatterv(
        &self,
        parts: Option<&[Origin<'_>]>,
        mine: Option<OriginMut<'_>>,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(BufferMut::of), parts.map(buffer::read));
        plan::begin(self, Call::Scatterv, |plan| {
            plan.scatter(parts.map(BufferParts::Listed), mine, root)
        })
    }

    /// `MPI_Iallgather` (MPI-4.1 §6.12.5): `mine` of each rank goes to its part of `all` on every rank,
    /// cut as in [`Comm::start_gather`]. `None`: it is in this rank's own part already (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`] if the parts are not equal.
    #[doc(alias = "MPI_Iallgather")]
    #[track_caller]
    pub fn start_allgather(
        &self,
        mine: Option<Origin<'_>>,
        all: OriginMut<'_>,
    ) -> Result<CollectiveRequest> {
        let lent =
            || LentForm::allgather(self, mine.as_ref().map(Buffer::lent)?, BufferMut::lent(&all));
        plan::begin_short(self, Call::Allgather, lent, |plan| {
            let parts = plan.equal_parts(BufferMut::of(&all))?;
            plan.allgather(mine.as_ref().map(Buffer::of), parts)
        })
    }

    /// `MPI_Iallgatherv` (MPI-4.1 §6.12.5): as [`Comm::start_allgather`], with a list of parts.
    ///
    /// # Errors
    /// [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`] unless there is one part for each rank, of the right
    /// length; [`Error::Buffer`] if a buffer is missing.
    #[doc(alias = "MPI_Iallgatherv")]
    #[track_caller]
    pub fn start_allgatherv(
        &self,
        mine: Option<Origin<'_>>,
        parts: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (mine, parts) = (mine.as_ref().map(Buffer::of), buffer::written(parts));
        plan::begin(self, Call::Allgatherv, |plan| plan.allgather(mine, BufferParts::Listed(parts)))
    }

    /// `MPI_Ialltoall` (MPI-4.1 §6.12.6): part `k` of `outgoing` goes to rank `k`, into the part of its
    /// `incoming` with this rank's number. Both are divided as in [`Comm::start_gather`]. `None`: what is
    /// in `incoming` goes out, and is replaced (`MPI_IN_PLACE`).
    ///
    /// # Errors
    /// [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`] if the parts are not equal.
    #[doc(alias = "MPI_Ialltoall")]
    #[track_caller]
    pub fn start_alltoall(
        &self,
        outgoing: Option<Origin<'_>>,
        incoming: OriginMut<'_>,
    ) -> Result<CollectiveRequest> {
        let lent = || {
            let outgoing = outgoing.as_ref().map(Buffer::lent)?;
            LentForm::alltoall(self, outgoing, BufferMut::lent(&incoming))
        };
        plan::begin_short(self, Call::Alltoall, lent, |plan| {
            let outgoing = outgoing.as_ref().map(Buffer::of);
            let outgoing = outgoing.map(|all| plan.equal_parts(all)).transpose()?;
            let incoming = plan.equal_parts(BufferMut::of(&incoming))?;
            plan.alltoall(outgoing, incoming)
        })
    }

    /// `MPI_Ialltoallv`, `MPI_Ialltoallw` (MPI-4.1 §6.12.6): as [`Comm::start_alltoall`], with lists of
    /// parts.
    ///
    /// # Errors
    /// [`Error::Reach`] for elements farther apart than 2⁶³ - 1 bytes;
    /// [`Error::Count`] unless there is one part for each rank, of the right
    /// length; [`Error::Buffer`] if a buffer is missing.
    #[doc(alias("MPI_Ialltoallv", "MPI_Ialltoallw"))]
    #[track_caller]
    pub fn start_alltoallv(
        &self,
        outgoing: Option<&[Origin<'_>]>,
        incoming: &[OriginMut<'_>],
    ) -> Result<CollectiveRequest> {
        let (outgoing, incoming) = (outgoing.map(buffer::read), buffer::written(incoming));
        plan::begin(self, Call::Alltoallv, |plan| {
            plan.alltoall(outgoing.map(BufferParts::Listed), BufferParts::Listed(incoming))
        })
    }

    /// The neighbourhood collectives (MPI-4.1 §8.7): sends each of `outgoing` to its rank and receives
    /// each of `incoming` from its rank. Where two ranks are neighbours several times, the first that
    /// one sends is the first that the other receives, in the order of the lists. What goes to or
    /// comes from [`Rank::NULL`] is left out.
    ///
    /// # Errors
    /// [`Error::Peer`] and [`Error::Reach`].
    #[track_caller]
    pub fn start_neighbours(
        &self,
        outgoing: &[(Rank, Origin<'_>)],
        incoming: &[(Rank, OriginMut<'_>)],
    ) -> Result<CollectiveRequest> {
        plan::begin(self, Call::Neighbours, |plan| plan.neighbours(outgoing, incoming))
    }
}

/// The reductions of untyped buffers (MPI-4.1 §6.12). The rules of [`Comm::start_barrier`]'s kin hold,
/// and these:
///
/// * All contributions have the same number of instances of one datatype. `combine` gets buffers with the
///   layout of its datatype, and a number of instances: pieces of the contributions, or all of them. It
///   runs in whatever call of this rank finds the messages, and must not wait for one.
/// * `mine` is `None` where the contribution is in the buffer of the result (`MPI_IN_PLACE`).
impl Comm {
    /// `MPI_Ireduce` (MPI-4.1 §6.12.7): the combination of `mine` of all ranks goes to `result` of the
    /// root. What other ranks give as `result` means nothing.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] if a buffer is
    /// missing; [`Error::Count`] if the result does not have as many instances
    /// as the contribution; [`Error::Reach`] for elements farther apart than
    /// 2⁶³ - 1 bytes.
    #[doc(alias = "MPI_Ireduce")]
    #[track_caller]
    pub fn start_reduce(
        &self,
        mine: Option<Origin<'_>>,
        result: Option<OriginMut<'_>>,
        combine: Combine,
        root: Rank,
    ) -> Result<CollectiveRequest> {
        let lent = || {
            let result = result.as_ref().filter(|_| self.rank() == root).map(BufferMut::lent);
            let mine = mine.as_ref().map(Buffer::lent)?;
            LentForm::reduction(self, Call::Reduce, mine, result, &combine, root)
        };
        plan::begin_short(self, Call::Reduce, lent, |plan| {
            let (mine, result) = (mine.as_ref().map(Buffer::of), result.as_ref());
            plan.reduce(mine, result.map(BufferMut::of), combine.clone(), root)
        })
    }

    /// `MPI_Iallreduce` (MPI-4.1 §6.12.8): as [`Comm::start_reduce`], with the result on every rank.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing;
    /// [`Error::Count`] if the result does not have as many instances as the
    /// contribution; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[doc(alias = "MPI_Iallreduce")]
    #[track_caller]
    pub fn start_allreduce(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let lent = || {
            let mine = mine.as_ref().map(Buffer::lent)?;
            let result = Some(BufferMut::lent(&result));
            LentForm::reduction(self, Call::Allreduce, mine, result, &combine, Rank(0))
        };
        plan::begin_short(self, Call::Allreduce, lent, |plan| {
            let mine = mine.as_ref().map(Buffer::of);
            plan.allreduce(mine, BufferMut::of(&result), combine.clone())
        })
    }

    /// `MPI_Ireduce_scatter`, `MPI_Ireduce_scatter_block` (MPI-4.1 §6.12.9, §6.12.10): the combination of
    /// all contributions is divided into parts of `counts` instances, one for each rank. All ranks pass
    /// the same counts. With a contribution in place, `result` has all of it, and gets the own part at
    /// its beginning.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing;
    /// [`Error::Count`] unless there is one count for each rank and they add
    /// up to the contribution; [`Error::Reach`] for elements farther apart
    /// than 2⁶³ - 1 bytes.
    #[doc(alias("MPI_Ireduce_scatter", "MPI_Ireduce_scatter_block"))]
    #[track_caller]
    pub fn start_reduce_scatter(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        counts: &[usize],
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        plan::begin(self, Call::ReduceScatter, |plan| {
            plan.reduce_scatter(mine, result, counts, combine)
        })
    }
}

/// The scans of untyped buffers (MPI-4.1 §6.12), with the rules of [`Comm::start_reduce`].
impl Comm {
    /// `MPI_Iscan` (MPI-4.1 §6.12.11): the combination of `mine` of ranks 0 to this one.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing;
    /// [`Error::Count`] if the result does not have as many instances as the
    /// contribution; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[doc(alias = "MPI_Iscan")]
    #[track_caller]
    pub fn start_scan(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        plan::begin(self, Call::Scan, |plan| plan.scan(mine, result, combine))
    }

    /// `MPI_Iexscan` (MPI-4.1 §6.12.12): the combination of `mine` of the ranks below this one; `result`
    /// of rank 0 stays as it is.
    ///
    /// # Errors
    /// [`Error::Buffer`] if a buffer is missing;
    /// [`Error::Count`] if the result does not have as many instances as the
    /// contribution; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes.
    #[doc(alias = "MPI_Iexscan")]
    #[track_caller]
    pub fn start_exscan(
        &self,
        mine: Option<Origin<'_>>,
        result: OriginMut<'_>,
        combine: Combine,
    ) -> Result<CollectiveRequest> {
        let (mine, result) = (mine.as_ref().map(Buffer::of), BufferMut::of(&result));
        plan::begin(self, Call::Exscan, |plan| plan.exscan(mine, result, combine))
    }
}

/// What is made now and complete later: a duplicate, and partitioned messages.
impl Comm {
    /// `MPI_Comm_idup` (MPI-4.1 §7.4.2): as [`Comm::dup`], without waiting for the other ranks. The
    /// copy callbacks run in this call.
    ///
    /// Collective, counted with the nonblocking ones ([`Comm::iallgather`]); does not block.
    ///
    /// # Errors
    /// Those of any call on a communicator ([`Comm`]). Errors of the duplication are returned by
    /// [`DuplicateRequest::wait`].
    #[doc(alias = "MPI_Comm_idup")]
    pub fn idup(&self) -> Result<DuplicateRequest> {
        self.within(Call::CommDup, || DuplicateRequest::begin(self))
    }

    /// `MPI_Psend_init` (MPI-4.1 §4.2.1): a send of `origin`, in `partitions` parts of equal length, to
    /// rank `dest`. It goes to the receive that `dest` makes for this rank and tag with as many before
    /// it as this one has before it. Both sides have the same bytes, in any layouts and partitions.
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes; [`Error::Count`] if the elements cannot be cut into that many parts; [`Error::NoMemory`];
    /// [`Error::RankFailed`] if `dest` has failed.
    #[doc(alias = "MPI_Psend_init")]
    pub fn init_partitioned_send(
        &self,
        origin: Origin<'_>,
        partitions: u32,
        dest: Rank,
        tag: i32,
    ) -> Result<Partitioned> {
        let side = PartitionSide::Send(Buffer::of(&origin));
        Partitioned::new(self, Call::PartitionedSend, side, partitions, dest, tag)
    }

    /// `MPI_Precv_init` (MPI-4.1 §4.2.1): a receive into `into`, in `partitions` parts of equal length,
    /// from rank `source`; the counterpart of [`Comm::init_partitioned_send`].
    ///
    /// Local; does not block, except while another rank allocates.
    ///
    /// # Errors
    /// [`Error::Peer`]; [`Error::Tag`]; [`Error::Reach`] for elements farther apart than 2⁶³ - 1
    /// bytes; [`Error::Count`] if the elements cannot be cut into that many parts;
    /// [`Error::NoMemory`]; [`Error::RankFailed`] if `source` has failed.
    #[doc(alias = "MPI_Precv_init")]
    pub fn init_partitioned_receive(
        &self,
        into: OriginMut<'_>,
        partitions: u32,
        source: Rank,
        tag: i32,
    ) -> Result<Partitioned> {
        let side = PartitionSide::Receive(BufferMut::of(&into));
        Partitioned::new(self, Call::PartitionedReceive, side, partitions, source, tag)
    }
}

/// That many elements of each rank.
fn zeroed<T: Pod>(comm: &Comm, each: usize) -> Vec<T> {
    vec![T::zeroed(); each * comm.ranks().len()]
}

fn lengths<T>(parts: &[&[T]]) -> Vec<u64> {
    parts.iter().map(|part| part.len() as u64).collect()
}
