//! Broadcast, gather, scatter, allgather, alltoall (MPI-2.2 chapter 5): contributions of equal
//! length.

use super::Comm;
use super::description::Description;
use super::exchange::Collective;
use crate::call::Call;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::group::Rank;

impl Comm {
    /// `MPI_Bcast` (MPI-2.2 §5.4): `buffer` of the root replaces that of every rank. All lengths
    /// are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn broadcast<T: Element>(&self, buffer: &mut [T], root: Rank) -> Result<()> {
        let call = Call::Broadcast;
        self.collectively(call, |broadcast| {
            broadcast.check_root(root, Description::of::<T>(call, buffer.len()))?;
            broadcast.broadcast(buffer, root)
        })
    }

    /// `MPI_Bcast` of a length that only the root knows: `buffer` of the root replaces that of
    /// every rank, whatever its length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn broadcast_vec<T: Element>(&self, buffer: &mut Vec<T>, root: Rank) -> Result<()> {
        let call = Call::Broadcast;
        self.collectively(call, |broadcast| {
            let what = Description::typed::<T>(call);
            broadcast.check_root(root, what)?;
            let len = broadcast.number_of_root(what.root(root), root, buffer.len())?;
            buffer.resize(len, T::zeroed());
            broadcast.broadcast(buffer, root)
        })
    }

    /// `MPI_Gather` (MPI-2.2 §5.5): the contributions of all ranks in rank order at the root,
    /// `None` elsewhere. All contributions have the same length.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn gather<T: Element>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<T>>> {
        let call = Call::Gather;
        self.collectively(call, |gather| {
            let what = Description::of::<T>(call, mine.len());
            gather.check_root(root, what)?;
            let keep = self.rank().0 == root.0;
            let all = gather.collect(what.root(root), mine, keep)?;
            Ok(keep.then_some(all))
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
        self.collectively(Call::Allgather, |allgather| allgather.allgather(mine))
    }

    /// `MPI_Scatter` (MPI-2.2 §5.6): cuts `all` of the root into as many equal parts as there are
    /// ranks; each rank gets its part. What other ranks give as `all` means nothing.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`]; [`Error::Buffer`] at a root that gives nothing, [`Error::Count`] at one
    /// whose elements cannot be shared out equally (the others then get [`Error::Mismatch`]);
    /// those of any collective ([`Comm`]).
    #[track_caller]
    pub fn scatter<T: Element>(&self, all: Option<&[T]>, root: Rank) -> Result<Vec<T>> {
        let call = Call::Scatter;
        self.collectively(call, |scatter| {
            let what = Description::typed::<T>(call).root(root);
            scatter.check_root(root, what)?;
            let mut mine: &[T] = &[];
            if self.rank().0 == root.0 {
                mine = all.ok_or_else(|| scatter.no_buffer(what))?;
                scatter.check_parts(what, mine.len())?;
            }
            let total = scatter.number_of_root(what, root, mine.len())?;
            let len = total / self.size() as usize;
            let mut own = vec![T::zeroed(); len];
            let start = len * self.rank().index();
            let what = Description::of::<T>(call, total).root(root);
            scatter.chunks(what, total, mine, |staged, chunk| {
                staged.read_part(root.0, chunk, start, &mut own)
            })?;
            Ok(own)
        })
    }

    /// `MPI_Alltoall` (MPI-2.2 §5.8): every rank cuts its `mine` into as many equal parts as there
    /// are ranks, and gets that part of each rank which has its own number, in rank order. All
    /// lengths are equal.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Count`] if the elements cannot be cut equally; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn alltoall<T: Element>(&self, mine: &[T]) -> Result<Vec<T>> {
        let call = Call::Alltoall;
        self.collectively(call, |alltoall| {
            let what = Description::of::<T>(call, mine.len());
            alltoall.check_parts(what, mine.len())?;
            let mut all = vec![T::zeroed(); mine.len()];
            let len = mine.len() / self.size() as usize;
            let start = len * self.rank().index();
            alltoall.chunks(what, mine.len(), mine, |staged, chunk| {
                for rank in 0..self.size() {
                    let part = len * rank as usize..len * (rank as usize + 1);
                    staged.read_part(rank, chunk.clone(), start, &mut all[part])?;
                }
                Ok(())
            })?;
            Ok(all)
        })
    }
}

impl Collective<'_> {
    /// `buffer` of the root, a rank of the communicator, replaces that of every rank.
    #[track_caller]
    pub(crate) fn broadcast<T: Element>(&mut self, buffer: &mut [T], root: Rank) -> Result<()> {
        let what = Description::of::<T>(self.call, buffer.len()).root(root);
        if self.comm.rank().0 == root.0 {
            return self.chunks(what, buffer.len(), buffer, |_, _| Ok(()));
        }
        self.chunks::<T>(what, buffer.len(), &[], |staged, chunk| {
            staged.read(root.0, 0, &mut buffer[chunk])
        })
    }

    /// The contributions of all ranks, of equal length, in rank order.
    #[track_caller]
    pub(crate) fn allgather<T: Element>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        self.collect(Description::of::<T>(self.call, mine.len()), mine, true)
    }

    /// Like [`Collective::allgather`], but empty unless this rank keeps it.
    pub(super) fn collect<T: Element>(
        &mut self,
        what: Description,
        mine: &[T],
        keep: bool,
    ) -> Result<Vec<T>> {
        let ranks = if keep { self.comm.size() } else { 0 };
        let mut all = vec![T::zeroed(); mine.len() * ranks as usize];
        self.chunks(what, mine.len(), mine, |staged, chunk| {
            for rank in 0..ranks {
                let start = rank as usize * mine.len();
                let to = &mut all[start + chunk.start..start + chunk.end];
                staged.read(rank, 0, to)?;
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The number that the root gives.
    fn number_of_root(&mut self, what: Description, root: Rank, mine: usize) -> Result<usize> {
        let staged = self.exchange(&what, bytemuck::bytes_of(&(mine as u64)))?;
        let mut number = 0u64;
        staged.read(root.0, 0, std::slice::from_mut(&mut number))?;
        Ok(number as usize)
    }

    pub(super) fn check_root(&mut self, root: Rank, what: Description) -> Result<()> {
        let ranks = self.comm.size();
        if root.0 < ranks {
            return Ok(());
        }
        let error = Error::Root { at: self.comm.place(self.call), root: root.0, ranks };
        Err(self.refuse(what.root(root), error))
    }

    /// Refuses a buffer that cannot be cut into as many parts as there are ranks.
    pub(super) fn check_parts(&mut self, what: Description, found: usize) -> Result<()> {
        let needed = found.next_multiple_of(self.comm.size() as usize);
        self.check_count(what, "buffer to be cut", found, needed)
    }

    pub(super) fn check_count(
        &mut self,
        description: Description,
        what: &'static str,
        found: usize,
        needed: usize,
    ) -> Result<()> {
        if found == needed {
            return Ok(());
        }
        let at = self.comm.place(self.call);
        Err(self.refuse(description, Error::Count { at, what, found, needed }))
    }

    pub(super) fn no_buffer(&mut self, what: Description) -> Error {
        let (at, problem) = (self.comm.place(self.call), "the root gives no buffer");
        self.refuse(what, Error::Buffer { at, problem })
    }
}
