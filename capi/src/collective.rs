//! What all collectives have in common: a function of `calls` checks the arguments and gives what
//! starts the collective; of that, the blocking function is one start and a wait, the nonblocking one
//! a request, and the persistent one a request that starts it again and again.

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number, Ptr};
use crate::calls::{check_buffer, elements};
use crate::comm::rank_of;
use crate::datatype::usable;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::op::Reduction;
use crate::raise::Owner;
use crate::request::{Request, Work};
use onesided::engine::{CollectiveRequest, Combine, Origin, OriginMut};
use onesided::{Comm, CommittedDatatype, Rank};
use std::ffi::c_int;
use std::sync::Arc;

/// Starts a collective whose arguments have been found right.
pub struct Start(Box<dyn Fn() -> onesided::Result<CollectiveRequest> + Send + Sync>);

impl Start {
    pub fn new(
        start: impl Fn() -> onesided::Result<CollectiveRequest> + Send + Sync + 'static,
    ) -> Outcome<Start> {
        Ok(Start(Box::new(start)))
    }

    fn begin(&self) -> Outcome<Work> {
        Ok(Work::Collective((self.0)()?))
    }
}

/// The blocking form.
pub fn finish(start: Start) -> Outcome {
    Ok((start.0)()?.wait()?)
}

/// The nonblocking form (MPI-4.1 §6.12).
pub fn begin(start: Start, comm: MPI_Comm, request: Ptr<MPI_Request>) -> Outcome {
    request.set(Handle::new(Request::new(Owner::Comm(comm), start.begin()?)))
}

/// The persistent form (MPI-4.1 §6.13).
pub fn persist(start: Start, comm: MPI_Comm, request: Ptr<MPI_Request>) -> Outcome {
    let begin = Box::new(move || start.begin());
    request.set(Handle::new(Request::persistent(Owner::Comm(comm), begin)))
}

/// Elements of the program, kept by address until the collective is complete, and if it is persistent
/// until its request is freed (promise 3 of [`crate::arguments`]).
#[derive(Clone)]
pub struct Block {
    start: Address,
    pub count: usize,
    pub datatype: CommittedDatatype,
}

impl Block {
    pub fn new<C: Number>(start: Address, count: C, datatype: MPI_Datatype) -> Outcome<Block> {
        let (count, datatype) = (elements(count)?, usable(datatype)?);
        check_buffer(start, count, datatype)?;
        Ok(Block { start, count, datatype: datatype.clone() })
    }

    /// Unless it is `MPI_IN_PLACE`, which means that there is none.
    pub fn unless_in_place<C: Number>(
        start: Address,
        count: C,
        datatype: MPI_Datatype,
    ) -> Outcome<Option<Block>> {
        if start.is_in_place() {
            return Ok(None);
        }
        Block::new(start, count, datatype).map(Some)
    }

    pub fn read(&self) -> Origin<'_> {
        self.start.origin(self.count, &self.datatype)
    }

    pub fn write(&self) -> OriginMut<'_> {
        self.start.origin_mut(self.count, &self.datatype)
    }

    /// Blocks of `count` elements, one behind the other.
    pub fn equal<C: Number>(
        start: Address,
        count: C,
        datatype: MPI_Datatype,
        blocks: usize,
    ) -> Outcome<Vec<Block>> {
        let step = extent(datatype)?.wrapping_mul(count.wide() as isize);
        let place = |k: usize| start.offset(step.wrapping_mul(k as isize));
        (0..blocks).map(|k| Block::new(place(k), count, datatype)).collect()
    }

    /// Blocks of `counts` elements at `displs`, in extents of the datatype.
    pub fn placed<C: Number, D: Number>(
        start: Address,
        counts: ConstPtr<C>,
        displs: ConstPtr<D>,
        datatype: MPI_Datatype,
        blocks: usize,
    ) -> Outcome<Vec<Block>> {
        let (counts, displs) = (counts.list(blocks)?, displs.list(blocks)?);
        let extent = extent(datatype)?;
        let place = |at: D| start.offset(extent.wrapping_mul(at.wide() as isize));
        let pairs = counts.into_iter().zip(displs);
        pairs.map(|(count, at)| Block::new(place(at), count, datatype)).collect()
    }

    /// Blocks of `counts` elements of `datatypes` at `displs`, in bytes.
    pub fn mixed<C: Number, D: Number>(
        start: Address,
        counts: ConstPtr<C>,
        displs: ConstPtr<D>,
        datatypes: ConstPtr<MPI_Datatype>,
        blocks: usize,
    ) -> Outcome<Vec<Block>> {
        let block = |k: usize| {
            let place = start.offset(displs.get_at(k)?.wide() as isize);
            Block::new(place, counts.get_at(k)?, datatypes.get_at(k)?)
        };
        (0..blocks).map(block).collect()
    }
}

fn extent(datatype: MPI_Datatype) -> Outcome<isize> {
    Ok(usable(datatype)?.datatype().extent() as isize)
}

/// All of some blocks, to be read.
pub fn read(blocks: &[Block]) -> Vec<Origin<'_>> {
    blocks.iter().map(Block::read).collect()
}

/// All of some blocks, to be written.
pub fn write(blocks: &[Block]) -> Vec<OriginMut<'_>> {
    blocks.iter().map(Block::write).collect()
}

/// The communicator of a collective, and how many ranks it has.
pub fn group(comm: MPI_Comm) -> Outcome<(Comm, usize)> {
    let comm = comm.get()?.intra()?.clone();
    let ranks = comm.size() as usize;
    Ok((comm, ranks))
}

/// The root of a collective.
pub fn root_of(root: c_int, ranks: usize) -> Outcome<Rank> {
    let wrong = || {
        let why =
            format!("there is no rank {root} to be the root; the ranks are 0 to {}", ranks - 1);
        Failure::new(MPI_ERR_ROOT, why)
    };
    rank_of(root, ranks as u32).ok().filter(|root| *root != Rank::NULL).ok_or_else(wrong)
}

/// What a reduction does, for as long as it may go on.
pub fn combine(op: MPI_Op, datatype: MPI_Datatype) -> Outcome<Combine> {
    let reduction = Reduction::new(op, datatype)?.kept()?;
    Ok(Arc::new(move |lower, upper, count| {
        let combined = reduction.combine(Address::of(lower), Address::of(upper), count);
        combined.expect("what is not defined has been refused");
    }))
}
