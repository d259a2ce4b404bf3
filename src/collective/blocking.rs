//! The collectives that return when they are complete, for programs (MPI-4.1 chapter 6).
//!
//! Where lengths differ from rank to rank, no rank has to know in advance how much it gets: the ranks
//! exchange the lengths first. A list of slices, one for each rank, stands for what the standard
//! describes by counts and displacements.

use super::buffer::{Buffer, BufferMut};
use super::plan::Plan;
use super::staged::BufferParts;
use crate::call::Call;
use crate::comm::{Collective, Comm, Description, Reduction};
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;

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
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.collectively(Call::Barrier, |barrier| {
            barrier.meet(|plan| {
                plan.barrier();
                Ok(())
            })
        })
    }

    /// `MPI_Bcast` (MPI-2.2 §5.4): `buffer` of the root replaces that of every rank. All lengths
    /// are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); those of any collective ([`Comm`]).
    #[track_caller]
    pub fn broadcast<T: Element>(&self, buffer: &mut [T], root: Rank) -> Result<()> {
        self.collectively(Call::Broadcast, |all| {
            all.run::<T>(|plan| plan.broadcast(BufferMut::slice(buffer), root))
        })
    }

    /// `MPI_Bcast` of a length that only the root knows: `buffer` of the root replaces that of
    /// every rank, whatever its length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); those of any collective ([`Comm`]).
    #[track_caller]
    pub fn broadcast_vec<T: Element>(&self, buffer: &mut Vec<T>, root: Rank) -> Result<()> {
        self.collectively(Call::Broadcast, |all| {
            let mut length = [buffer.len() as u64];
            all.lengths::<T>(|plan| plan.broadcast(BufferMut::slice(&mut length), root))?;
            buffer.resize(length[0] as usize, T::zeroed());
            all.run::<T>(|plan| plan.broadcast(BufferMut::slice(buffer), root))
        })
    }

    /// `MPI_Gather` (MPI-2.2 §5.5): the contributions of all ranks in rank order at the root,
    /// `None` elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); those of any collective ([`Comm`]).
    #[track_caller]
    pub fn gather<T: Element>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<T>>> {
        let is_root = self.rank() == root;
        let mut all = self.zeroed::<T>(if is_root { mine.len() } else { 0 });
        self.collectively(Call::Gather, |gather| {
            let parts = is_root.then(|| BufferParts::Equal(BufferMut::slice(&mut all), mine.len()));
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
    /// [`Error::Root`](crate::Error::Root); those of any collective ([`Comm`]).
    #[track_caller]
    pub fn gatherv<T: Element>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<Vec<T>>>> {
        let is_root = self.rank() == root;
        self.collectively(Call::Gatherv, |gather| {
            let (own, mut lengths) = ([mine.len() as u64], self.zeroed(usize::from(is_root)));
            let places = is_root.then(|| BufferParts::Equal(BufferMut::slice(&mut lengths), 1));
            gather.lengths::<T>(|plan| plan.gather(Some(Buffer::slice(&own)), places, root))?;
            let mut all = vectors::<T>(&lengths);
            let parts = is_root.then(|| written(&mut all));
            gather.run::<T>(|plan| plan.gather(Some(Buffer::slice(mine)), parts, root))?;
            Ok(is_root.then_some(all))
        })
    }

    /// `MPI_Scatter` (MPI-2.2 §5.6): cuts `all` of the root into as many equal parts as there are
    /// ranks; each rank gets its part. What other ranks give as `all` means nothing.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Buffer`](crate::Error::Buffer) at a root that gives nothing, [`Error::Count`](crate::Error::Count) at one
    /// whose elements cannot be shared out equally (the others then get [`Error::Mismatch`](crate::Error::Mismatch));
    /// those of any collective ([`Comm`]).
    #[track_caller]
    pub fn scatter<T: Element>(&self, all: Option<&[T]>, root: Rank) -> Result<Vec<T>> {
        let all = all.filter(|_| self.rank() == root);
        self.collectively(Call::Scatter, |scatter| {
            let mut total = [all.map_or(0, <[T]>::len) as u64];
            scatter.lengths::<T>(|plan| {
                plan.check_root_gives(root, all.is_some())?;
                all.map_or(Ok(()), |all| plan.equal_parts(Buffer::slice(all)).map(drop))?;
                plan.broadcast(BufferMut::slice(&mut total), root)
            })?;
            let mut own = vec![T::zeroed(); total[0] as usize / self.size() as usize];
            let parts = all.map(|all| BufferParts::Equal(Buffer::slice(all), own.len()));
            scatter.run::<T>(|plan| plan.scatter(parts, Some(BufferMut::slice(&mut own)), root))?;
            Ok(own)
        })
    }

    /// `MPI_Scatterv` (MPI-2.2 §5.6): each rank gets that slice of the root's `parts` which has
    /// its number. What other ranks give as `parts` means nothing.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Buffer`](crate::Error::Buffer) at a root that
    /// gives nothing, [`Error::Count`](crate::Error::Count) at one that gives not one slice for
    /// each rank (the others then get [`Error::Mismatch`](crate::Error::Mismatch)); those of any
    /// collective ([`Comm`]).
    #[track_caller]
    pub fn scatterv<T: Element>(&self, parts: Option<&[&[T]]>, root: Rank) -> Result<Vec<T>> {
        let parts = parts.filter(|_| self.rank() == root);
        self.collectively(Call::Scatterv, |scatter| {
            let (lengths, mut own) = (lengths(parts.unwrap_or_default()), [0u64]);
            scatter.lengths::<T>(|plan| {
                plan.check_root_gives(root, parts.is_some())?;
                parts.map_or(Ok(()), |parts| plan.check_slices(parts.len()))?;
                let lengths = parts.map(|_| BufferParts::Equal(Buffer::slice(&lengths), 1));
                plan.scatter(lengths, Some(BufferMut::slice(&mut own)), root)
            })?;
            let mut own = vec![T::zeroed(); own[0] as usize];
            let parts = parts.map(read);
            scatter.run::<T>(|plan| plan.scatter(parts, Some(BufferMut::slice(&mut own)), root))?;
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
    #[track_caller]
    pub fn allgather<T: Element>(&self, mine: &[T]) -> Result<Vec<T>> {
        let mut all = self.zeroed::<T>(mine.len());
        self.collectively(Call::Allgather, |gather| {
            let parts = BufferParts::Equal(BufferMut::slice(&mut all), mine.len());
            gather.run::<T>(|plan| plan.allgather(Some(Buffer::slice(mine)), parts))
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
    #[track_caller]
    pub fn allgatherv<T: Element>(&self, mine: &[T]) -> Result<Vec<Vec<T>>> {
        self.collectively(Call::Allgatherv, |gather| {
            let (own, mut lengths) = ([mine.len() as u64], self.zeroed(1));
            let places = BufferParts::Equal(BufferMut::slice(&mut lengths), 1);
            gather.lengths::<T>(|plan| plan.allgather(Some(Buffer::slice(&own)), places))?;
            let mut all = vectors::<T>(&lengths);
            let parts = written(&mut all);
            gather.run::<T>(|plan| plan.allgather(Some(Buffer::slice(mine)), parts))?;
            Ok(all)
        })
    }

    /// `MPI_Alltoall` (MPI-2.2 §5.8): every rank cuts its `mine` into as many equal parts as there
    /// are ranks, and gets that part of each rank which has its own number, in rank order. All
    /// lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`](crate::Error::Count) if the elements cannot be cut equally; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn alltoall<T: Element>(&self, mine: &[T]) -> Result<Vec<T>> {
        let mut all = vec![T::zeroed(); mine.len()];
        self.collectively(Call::Alltoall, |alltoall| {
            alltoall.run::<T>(|plan| {
                let outgoing = plan.equal_parts(Buffer::slice(mine))?;
                let incoming = plan.equal_parts(BufferMut::slice(&mut all))?;
                plan.alltoall(Some(outgoing), incoming)
            })
        })?;
        Ok(all)
    }

    /// `MPI_Alltoallv` (MPI-2.2 §5.8): every rank gives one slice for each rank, and gets from
    /// each, in rank order, the one that is for it.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`](crate::Error::Count) on a rank that gives not one slice for each (the
    /// others then get [`Error::Mismatch`](crate::Error::Mismatch)); those of any collective
    /// ([`Comm`]).
    #[track_caller]
    pub fn alltoallv<T: Element>(&self, parts: &[&[T]]) -> Result<Vec<Vec<T>>> {
        self.collectively(Call::Alltoallv, |alltoall| {
            let (given, mut taken) = (lengths(parts), self.zeroed(1));
            alltoall.lengths::<T>(|plan| {
                plan.check_slices(parts.len())?;
                let incoming = BufferParts::Equal(BufferMut::slice(&mut taken), 1);
                plan.alltoall(Some(BufferParts::Equal(Buffer::slice(&given), 1)), incoming)
            })?;
            let mut all = vectors::<T>(&taken);
            let incoming = written(&mut all);
            alltoall.run::<T>(|plan| plan.alltoall(Some(read(parts)), incoming))?;
            Ok(all)
        })
    }
}

/// All reductions combine element by element, over the contributions of the ranks in rank order:
/// the same bits every time, for operations that are not commutative too.
impl Comm {
    /// `MPI_Reduce` (MPI-2.2 §5.9): `op` over the contributions of all ranks at the root; `None`
    /// elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for reductions;
    /// those of any collective ([`Comm`]).
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
        root: Rank,
    ) -> Result<Option<Vec<T>>> {
        let is_root = self.rank() == root;
        let mut result = vec![T::zeroed(); if is_root { mine.len() } else { 0 }];
        self.collectively(Call::Reduce, |reduce| {
            reduce.run::<T>(|plan| {
                let combine = plan.function(&op)?;
                let result = is_root.then(|| BufferMut::slice(&mut result));
                plan.reduce(Some(Buffer::slice(mine)), result, combine, root)
            })
        })?;
        Ok(is_root.then_some(result))
    }

    /// `MPI_Allreduce` (MPI-2.2 §5.9.6): as [`Comm::reduce`], with the result on every rank.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
    #[track_caller]
    pub fn allreduce<T: Element>(&self, mine: &[T], op: impl Reduction<T>) -> Result<Vec<T>> {
        let mut result = vec![T::zeroed(); mine.len()];
        self.collectively(Call::Allreduce, |all| {
            all.run::<T>(|plan| {
                let combine = plan.function(&op)?;
                plan.allreduce(Some(Buffer::slice(mine)), BufferMut::slice(&mut result), combine)
            })
        })?;
        Ok(result)
    }

    /// `MPI_Reduce_scatter_block` (MPI-2.2 §5.10.1): cuts what [`Comm::reduce`] gives into as many
    /// equal parts as there are ranks; each rank gets its part. All lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`](crate::Error::Count) if the elements cannot be cut equally; [`Error::Operation`](crate::Error::Operation) if `op` is not
    /// defined for `T` or not for reductions; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn reduce_scatter_block<T: Element>(
        &self,
        mine: &[T],
        op: impl Reduction<T>,
    ) -> Result<Vec<T>> {
        let counts = vec![mine.len() / self.size() as usize; self.size() as usize];
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
    /// [`Error::Count`](crate::Error::Count) unless there is one count for each rank and they add up to the length of
    /// `mine`; [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for reductions; those of
    /// any collective ([`Comm`]).
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
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
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
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for reductions; those of any
    /// collective ([`Comm`]).
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

impl Comm {
    /// That many elements of each rank.
    fn zeroed<T: Element>(&self, each: usize) -> Vec<T> {
        vec![T::zeroed(); each * self.size() as usize]
    }
}

impl Collective<'_> {
    /// [`Collective::meet`] of elements of one type.
    fn run<T: Element>(&self, plan: impl FnOnce(&mut Plan<'_>) -> Result<()>) -> Result<()> {
        self.meet(|planned| {
            plan(planned)?;
            planned.what = planned.what.map(|what| what.elements::<T>());
            Ok(())
        })
    }

    /// Runs what `plan` puts together, to its end. If this rank is refused the others learn it, because
    /// they would wait for ever.
    fn meet(&self, plan: impl FnOnce(&mut Plan<'_>) -> Result<()>) -> Result<()> {
        let mut planned = Plan::waiting(self.comm(), self.call());
        match plan(&mut planned) {
            Ok(()) => planned.complete(self.at()),
            Err(error) => {
                planned.refused();
                // The error of this rank itself is the more exact one.
                let _ = planned.complete(self.at());
                Err(error)
            }
        }
    }

    /// The round before, of lengths: only the datatype of the elements has to be the same.
    fn lengths<T: Element>(&self, plan: impl FnOnce(&mut Plan<'_>) -> Result<()>) -> Result<()> {
        self.meet(|planned| {
            planned.is_equal = true;
            plan(planned)?;
            planned.what = Some(Description::typed::<T>(self.call()));
            Ok(())
        })
    }
}

impl Plan<'_> {
    /// Refuses a root that is no rank of the communicator, or that gives nothing.
    fn check_root_gives(&self, root: Rank, gives: bool) -> Result<()> {
        self.check_root(root, self.ranks)?;
        if gives || self.rank != root.0 {
            return Ok(());
        }
        Err(self.no_buffer("the root gives no buffer"))
    }

    fn check_slices(&self, found: usize) -> Result<()> {
        self.check_count("list of slices", found, self.ranks as usize)
    }
}

fn lengths<T>(parts: &[&[T]]) -> Vec<u64> {
    parts.iter().map(|part| part.len() as u64).collect()
}

fn vectors<T: Element>(lengths: &[u64]) -> Vec<Vec<T>> {
    lengths.iter().map(|length| vec![T::zeroed(); *length as usize]).collect()
}

fn read<T: Element>(parts: &[&[T]]) -> BufferParts<Buffer> {
    BufferParts::Listed(parts.iter().map(|part| Buffer::slice(part)).collect())
}

fn written<T: Element>(parts: &mut [Vec<T>]) -> BufferParts<BufferMut> {
    BufferParts::Listed(parts.iter_mut().map(|part| BufferMut::slice(part)).collect())
}
