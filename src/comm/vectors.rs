//! The v-forms (MPI-2.2 chapter 5): contributions whose lengths differ from rank to rank.
//!
//! Nobody has to say in advance how much it gets: the lengths are exchanged first. A list of
//! slices, one for each rank, stands for what the standard describes by counts and displacements.

use super::Comm;
use super::description::Description;
use super::exchange::Collective;
use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;

impl Comm {
    /// `MPI_Gatherv` (MPI-2.2 §5.5): the contribution of each rank in rank order at the root,
    /// `None` elsewhere.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root); those of any collective ([`Comm`]).
    #[track_caller]
    pub fn gatherv<T: Element>(&self, mine: &[T], root: Rank) -> Result<Option<Vec<Vec<T>>>> {
        self.collectively(Call::Gatherv, |gather| {
            let what = Description::typed::<T>(Call::Gatherv);
            gather.check_root(root, what)?;
            let keep = self.rank().0 == root.0;
            let all = gather.collectv(what.root(root), mine, keep)?;
            Ok(keep.then_some(all))
        })
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
        let what = Description::typed::<T>(Call::Allgatherv);
        self.collectively(Call::Allgatherv, |gather| gather.collectv(what, mine, true))
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
        let call = Call::Scatterv;
        self.collectively(call, |scatter| {
            let what = Description::typed::<T>(call).root(root);
            scatter.check_root(root, what)?;
            let mut lengths = vec![0; self.size() as usize];
            let mut mine = Vec::new();
            if self.rank().0 == root.0 {
                let parts = parts.ok_or_else(|| scatter.no_buffer(what))?;
                (lengths, mine) = scatter.concatenate(what, parts)?;
            }
            scatter.chunks(what, lengths.len(), &lengths.clone(), |staged, chunk| {
                staged.read(root.0, 0, &mut lengths[chunk])
            })?;
            let (start, len) = part_of(&lengths, self.rank().0);
            let mut own = vec![T::zeroed(); len];
            scatter.chunks(what, total(&lengths), &mine, |staged, chunk| {
                staged.read_part(root.0, chunk, start, &mut own)
            })?;
            Ok(own)
        })
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
        let call = Call::Alltoallv;
        self.collectively(call, |alltoall| {
            let what = Description::typed::<T>(call);
            let (lengths, mine) = alltoall.concatenate(what, parts)?;
            let lengths = alltoall.collect(what, &lengths, true)?;
            let of = |rank: u32| &lengths[rank as usize * parts.len()..][..parts.len()];
            let places = (0..self.size()).map(|rank| part_of(of(rank), self.rank().0));
            let places: Vec<(usize, usize)> = places.collect();
            let mut all: Vec<Vec<T>> = places.iter().map(|p| vec![T::zeroed(); p.1]).collect();
            let longest = (0..self.size()).map(|rank| total(of(rank))).max().unwrap_or(0);
            alltoall.chunks(what, longest, &mine, |staged, chunk| {
                for (rank, (own, place)) in all.iter_mut().zip(&places).enumerate() {
                    staged.read_part(rank as u32, chunk.clone(), place.0, own)?;
                }
                Ok(())
            })?;
            Ok(all)
        })
    }
}

impl Collective<'_> {
    /// The contributions of all ranks in rank order, empty unless this rank keeps them.
    fn collectv<T: Element>(
        &mut self,
        what: Description,
        mine: &[T],
        keep: bool,
    ) -> Result<Vec<Vec<T>>> {
        let lengths = self.collect(what, &[mine.len() as u64], true)?;
        let longest = lengths.iter().max().map_or(0, |longest| *longest as usize);
        let kept = lengths.iter().filter(|_| keep);
        let mut all: Vec<Vec<T>> = kept.map(|len| vec![T::zeroed(); *len as usize]).collect();
        self.chunks(what, longest, mine, |staged, chunk| {
            for (rank, theirs) in all.iter_mut().enumerate() {
                staged.read_part(rank as u32, chunk.clone(), 0, theirs)?;
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The lengths of `parts`, one for each rank, and their elements side by side.
    fn concatenate<T: Element>(
        &mut self,
        what: Description,
        parts: &[&[T]],
    ) -> Result<(Vec<u64>, Vec<T>)> {
        self.check_count(what, "list of slices", parts.len(), self.comm.size() as usize)?;
        Ok((parts.iter().map(|part| part.len() as u64).collect(), parts.concat()))
    }
}

fn total(lengths: &[u64]) -> usize {
    lengths.iter().sum::<u64>() as usize
}

/// Where the part of `rank` starts, and how long it is.
fn part_of(lengths: &[u64], rank: u32) -> (usize, usize) {
    let (before, from) = lengths.split_at(rank as usize);
    (total(before), from[0] as usize)
}
