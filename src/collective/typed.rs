//! The collectives that are started now and complete later, for programs (MPI-4.1 §6.12).

use super::buffer::{self, BufferMut, Combine};
use super::plan::Plan;
use super::request::CollectiveRequest;
use super::staged::BufferParts;
use crate::call::Call;
use crate::comm::{Comm, OpKind, Reduction};
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;

/// Nonblocking collectives. The request owns the buffers, and gives back what has become of them.
///
/// All ranks of the communicator start the same ones in the same order, blocking collectives among
/// them, wait for them in any order, and make any other calls in between. All contributions have the same length in elements. A call that is refused for what this
/// rank gives has sent nothing; the other ranks then wait in vain for it, unless they are refused too.
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
    pub fn ibarrier(&self) -> Result<CollectiveRequest> {
        self.start_barrier()
    }

    /// `MPI_Ibcast` (MPI-4.1 §6.12.2): gives every rank the elements of the root's `buffer`. All
    /// lengths are equal.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Root`](crate::Error::Root).
    pub fn ibroadcast<T: Element>(
        &self,
        mut buffer: Vec<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        let whole = BufferMut::slice(&mut buffer);
        self.start_planned(Call::Broadcast, |plan| {
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
    /// [`Error::Root`](crate::Error::Root).
    pub fn igather<T: Element>(
        &self,
        mut mine: Vec<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        self.start_planned(Call::Gather, |plan| {
            let (own, length) = (BufferMut::slice(&mut mine), mine.len());
            let mut all = (plan.rank == root.0).then(|| plan.zeroed::<T>(length));
            let parts = all.as_mut().map(|all| plan.parts(all, length));
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
    /// [`Error::Root`](crate::Error::Root); at the root, [`Error::Buffer`](crate::Error::Buffer) if it
    /// gives nothing, [`Error::Count`](crate::Error::Count) if it does not give that many elements.
    pub fn iscatter<T: Element>(
        &self,
        all: Option<Vec<T>>,
        length: usize,
        root: Rank,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        self.start_planned(Call::Scatter, |plan| {
            let (mut all, mut mine) =
                (all.filter(|_| plan.rank == root.0), vec![T::zeroed(); length]);
            if let Some(all) = &all {
                let needed = length.saturating_mul(plan.ranks as usize);
                plan.check_count("buffer to be cut", all.len(), needed)?;
            }
            let parts = all.as_mut().map(|all| plan.parts(all, length));
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
    pub fn iallgather<T: Element>(&self, mut mine: Vec<T>) -> Result<CollectiveRequest<Vec<T>>> {
        self.start_planned(Call::Allgather, |plan| {
            let (own, length) = (BufferMut::slice(&mut mine), mine.len());
            let mut all = plan.zeroed::<T>(length);
            let parts = plan.parts(&mut all, length);
            plan.keep(mine, all);
            plan.allgather(Some(own.read()), parts)
        })
    }

    /// `MPI_Ialltoall` (MPI-4.1 §6.12.6): every rank cuts its `mine` into as many equal parts as there
    /// are ranks, and is given that part of each rank which has its own number, in rank order.
    ///
    /// Collective; does not block.
    ///
    /// # Errors
    /// [`Error::Count`](crate::Error::Count) if the elements cannot be cut equally.
    pub fn ialltoall<T: Element>(&self, mut mine: Vec<T>) -> Result<CollectiveRequest<Vec<T>>> {
        self.start_planned(Call::Alltoall, |plan| {
            let (found, ranks) = (mine.len(), plan.ranks as usize);
            plan.check_count("buffer to be cut", found, found.next_multiple_of(ranks))?;
            let mut all = plan.zeroed::<T>(found / ranks);
            let outgoing = plan.parts(&mut mine, found / ranks);
            let outgoing = outgoing.read();
            let incoming = plan.parts(&mut all, found / ranks);
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
    /// [`Error::Root`](crate::Error::Root); [`Error::Operation`](crate::Error::Operation) if `op` is
    /// not defined for `T` or not for reductions.
    pub fn ireduce<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
        root: Rank,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        self.start_planned(Call::Reduce, |plan| {
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
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for
    /// reductions.
    pub fn iallreduce<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        self.start_planned(Call::Allreduce, |plan| {
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
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for
    /// reductions.
    pub fn iscan<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        self.start_planned(Call::Scan, |plan| {
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
    /// [`Error::Operation`](crate::Error::Operation) if `op` is not defined for `T` or not for
    /// reductions.
    pub fn iexscan<T: Element>(
        &self,
        mut mine: Vec<T>,
        op: impl Reduction<T>,
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        self.start_planned(Call::Exscan, |plan| {
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

impl Plan<'_> {
    /// `length` elements for each rank.
    fn zeroed<T: Element>(&self, length: usize) -> Vec<T> {
        vec![T::zeroed(); length * self.ranks as usize]
    }

    /// The part of each rank, of `length` elements.
    fn parts<T: Element>(&self, all: &mut [T], length: usize) -> BufferParts<BufferMut> {
        BufferParts::Equal(BufferMut::slice(all), length)
    }

    /// What a reduction does.
    pub(super) fn function<T: Element>(&self, op: &impl Reduction<T>) -> Result<Combine> {
        let function = match op.user() {
            Some(function) => {
                let commutative = op.kind() == OpKind::User { commutative: true };
                Some(buffer::user(function, commutative))
            }
            None => op.predefined().and_then(buffer::predefined::<T>),
        };
        function.ok_or_else(|| self.no_operation(op.name(), T::DATATYPE.name()))
    }
}
