//! What all collectives have in common. A function of `calls` checks the arguments, and passes what starts the
//! collective to its [`Form`]. The blocking function starts it once and waits, the nonblocking one returns
//! a request, and the persistent one returns a request that starts it at each `MPI_Start`.
//!
//! Where the data may be short, the function begins with the usual case of the blocking form: predefined
//! datatypes, one group, and nothing in place.

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number, Ptr};
use crate::calls::{check_buffer, elements};
use crate::comm::{Communicator, rank_of};
use crate::datatype::{Kind, known, usable};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::op::{Operation, Reduction};
use crate::raise::Owner;
use crate::request::{Request, Work};
use onesided::engine::{Bridge, CollectiveRequest, Combine, Origin, OriginMut, Root};
use onesided::{Comm, CommittedDatatype, Rank};
use std::borrow::Cow;
use std::ffi::c_int;

/// How a collective is started among its ranks.
pub trait Begin:
    Fn(Over<'_>) -> onesided::Result<CollectiveRequest> + Send + Sync + 'static
{
}

impl<F> Begin for F where
    F: Fn(Over<'_>) -> onesided::Result<CollectiveRequest> + Send + Sync + 'static
{
}

/// What a function of C does with a collective.
pub trait Form: Sized {
    /// The communicator of a blocking call between the ranks of one group. Its collectives are complete
    /// when they have been started.
    #[inline(always)]
    fn waiting(&self, _comm: MPI_Comm) -> Option<&'static Comm> {
        None
    }

    /// Starts a collective whose arguments were checked.
    fn start(self, comm: &'static Communicator, begin: impl Begin) -> Outcome;
}

/// It starts the collective and waits.
pub struct Blocking;

impl Form for Blocking {
    #[inline(always)]
    fn waiting(&self, comm: MPI_Comm) -> Option<&'static Comm> {
        comm.find().filter(|comm| comm.inter.is_none()).map(|comm| &comm.waiting)
    }

    fn start(self, comm: &'static Communicator, begin: impl Begin) -> Outcome {
        Ok(begin(comm.blocking())?.finish()?)
    }
}

/// It returns a request (MPI-4.1 §6.12).
pub struct Nonblocking(pub MPI_Comm, pub Ptr<MPI_Request>);

impl Form for Nonblocking {
    fn start(self, comm: &'static Communicator, begin: impl Begin) -> Outcome {
        let work = Work::Collective(begin(comm.over())?);
        self.1.set(Handle::new(Request::new(Owner::Comm(self.0), work)))
    }
}

/// It returns a request that starts the collective (MPI-4.1 §6.13). All ranks initialise it alike.
pub struct Persistent(pub MPI_Comm, pub Ptr<MPI_Request>);

impl Form for Persistent {
    fn start(self, comm: &'static Communicator, begin: impl Begin) -> Outcome {
        let begin: Box<dyn Fn() -> Outcome<Work> + Send + Sync> = match comm.over() {
            Over::One(comm) => {
                begin(Over::One(&comm.agreeing()))?.wait()?;
                let comm = comm.for_persistent_collective();
                Box::new(move || Ok(Work::Collective(begin(Over::One(&comm))?)))
            }
            Over::Two(bridge) => {
                begin(Over::Two(&bridge.agreeing()))?.wait()?;
                let bridge = bridge.for_persistent_collective();
                Box::new(move || Ok(Work::Collective(begin(Over::Two(&bridge))?)))
            }
        };
        self.1.set(Handle::new(Request::persistent(Owner::Comm(self.0), begin)))
    }
}

/// The outcome of a blocking call.
#[inline(always)]
pub fn outcome(mut done: onesided::Result<CollectiveRequest>) -> Outcome {
    // Usually it is complete, and stays in its place: a copy would wait for what has just been stored.
    if let Ok(request) = &mut done
        && request.is_over()
    {
        return Ok(());
    }
    Ok(done?.finish()?)
}

/// A buffer of predefined elements that is read, and their kind; `None` for others, and for addresses that
/// have to be looked at.
#[inline(always)]
pub fn origin<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<(Origin<'static>, u16)> {
    let ((datatype, kind), count) = (known(datatype)?, usize::try_from(count.wide()).ok()?);
    if start.is_memory() { Some((start.origin(count, datatype), kind)) } else { None }
}

/// The same of one that is written.
#[inline(always)]
pub fn origin_mut<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<OriginMut<'static>> {
    let ((datatype, _), count) = (known(datatype)?, usize::try_from(count.wide()).ok()?);
    if start.is_memory() { Some(start.origin_mut(count, datatype)) } else { None }
}

/// What all ranks together get, of `count` elements each.
#[inline(always)]
pub fn of_all<C: Number>(count: C, comm: &Comm) -> Option<Count> {
    count.wide().checked_mul(comm.size().into())
}

/// Elements of the program, by their address. It is valid until the collective is complete or, if it is
/// persistent, until its request is freed (promise 3 of [`crate::arguments`]).
#[derive(Clone)]
pub struct Block {
    start: Address,
    pub count: usize,
    pub datatype: Cow<'static, CommittedDatatype>,
}

impl Block {
    pub fn new<C: Number>(start: Address, count: C, datatype: MPI_Datatype) -> Outcome<Block> {
        let lasts = datatype.get()?.lasts();
        let (count, datatype) = (elements(count)?, usable(datatype)?);
        check_buffer(start, count, datatype)?;
        let datatype = match lasts {
            true => Cow::Borrowed(datatype),
            false => Cow::Owned(datatype.clone()),
        };
        Ok(Block { start, count, datatype })
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

/// Parts of a rank's buffer, one for each rank that it communicates with.
pub enum Parts {
    /// All of them, one behind the other, with the same number of elements each.
    Equal(Block),
    Listed(Vec<Block>),
}

impl Parts {
    /// Parts of `count` elements, one behind the other.
    pub fn equal<C: Number>(
        over: Over<'_>,
        start: Address,
        count: C,
        datatype: MPI_Datatype,
    ) -> Outcome<Parts> {
        let parts = over.parts();
        if let Over::Two(_) = over {
            return Ok(Parts::Listed(Block::equal(start, count, datatype, parts)?));
        }
        let all = (elements(count)?).checked_mul(parts).and_then(|all| Count::try_from(all).ok());
        let too_many =
            || Failure::new(MPI_ERR_COUNT, "the parts of all ranks have too many elements");
        Ok(Parts::Equal(Block::new(start, all.ok_or_else(too_many)?, datatype)?))
    }

    /// One block for each part.
    pub fn list(&self) -> &[Block] {
        match self {
            Parts::Equal(all) => std::slice::from_ref(all),
            Parts::Listed(list) => list,
        }
    }
}

/// All of some blocks, to be read.
pub fn read(blocks: &[Block]) -> Vec<Origin<'_>> {
    blocks.iter().map(Block::read).collect()
}

/// All of some blocks, to be written.
pub fn write(blocks: &[Block]) -> Vec<OriginMut<'_>> {
    blocks.iter().map(Block::write).collect()
}

/// The ranks of a collective.
#[derive(Clone, Copy)]
pub enum Over<'a> {
    /// The ranks of a communicator.
    One(&'a Comm),
    /// The two groups of an intercommunicator (MPI-4.1 §6.2.2).
    Two(&'a Bridge),
}

impl Communicator {
    /// The ranks of its collectives.
    pub fn over(&self) -> Over<'_> {
        match &self.inter {
            None => Over::One(&self.comm),
            Some(inter) => Over::Two(&inter.bridge),
        }
    }

    /// The same in calls that return when the collective is complete.
    fn blocking(&self) -> Over<'_> {
        match &self.inter {
            None => Over::One(&self.waiting),
            Some(inter) => Over::Two(&inter.waiting),
        }
    }
}

/// The communicator of a collective, and its root.
pub fn rooted(comm: MPI_Comm, root: c_int) -> Outcome<(&'static Communicator, Root)> {
    let of = comm.get()?;
    Ok((of, of.over().root(root)?))
}

impl<'a> Over<'a> {
    /// The number of ranks whose parts this rank has.
    pub fn parts(self) -> usize {
        match self {
            Over::One(comm) => comm.ranks().len(),
            Over::Two(bridge) => bridge.remote_ranks().len(),
        }
    }

    /// The number of ranks that divide a result, and this rank's number among them.
    pub fn group(self) -> (usize, usize) {
        match self {
            Over::One(comm) => (comm.ranks().len(), comm.rank().index()),
            Over::Two(bridge) => (bridge.ranks().len(), bridge.rank().index()),
        }
    }

    /// The communicator with all ranks, for what makes no difference between groups.
    pub fn all(self) -> &'a Comm {
        match self {
            Over::One(comm) => comm,
            Over::Two(bridge) => bridge.comm(),
        }
    }

    fn root(self, root: c_int) -> Outcome<Root> {
        let is_two = matches!(self, Over::Two(_));
        match (rank_of(root, self.parts() as u32), self) {
            _ if is_two && root == MPI_ROOT => Ok(Root::Here),
            (Ok(Rank::NULL), Over::Two(_)) => Ok(Root::Elsewhere),
            (Ok(rank), Over::One(comm)) if comm.rank().0 == rank.0 => Ok(Root::Here),
            (Ok(rank), _) if rank != Rank::NULL => Ok(Root::There(rank)),
            _ => {
                let or = if is_two { ", or MPI_ROOT, or MPI_PROC_NULL" } else { "" };
                let last = self.parts() - 1;
                let why = format!(
                    "there is no rank {} to be the root; it is 0 to {last}{or}",
                    OneOf(root, RANKS)
                );
                Err(Failure::new(MPI_ERR_ROOT, why))
            }
        }
    }

    /// Whether this rank is one of those that the root has to do with, of which it may be one itself.
    pub fn takes_part(self, root: Root) -> bool {
        matches!(self, Over::One(_)) || matches!(root, Root::There(_))
    }

    /// Whether a buffer is `MPI_IN_PLACE`, which is an error between two groups.
    pub fn is_in_place(self, start: Address) -> Outcome<bool> {
        if matches!(self, Over::Two(_)) && start.is_in_place() {
            let why = "MPI_IN_PLACE is not for intercommunicators";
            return Err(Failure::new(MPI_ERR_BUFFER, why));
        }
        Ok(start.is_in_place())
    }

    /// What this rank itself sends or receives, unless it is in place.
    pub fn own<C: Number>(
        self,
        start: Address,
        count: C,
        datatype: MPI_Datatype,
    ) -> Outcome<Option<Block>> {
        let given = !self.is_in_place(start)?;
        given.then(|| Block::new(start, count, datatype)).transpose()
    }
}

/// The root, as a rank of the communicator.
pub fn among(comm: &Comm, root: Root) -> Rank {
    match root {
        Root::Here => comm.rank(),
        Root::There(rank) => rank,
        Root::Elsewhere => Rank::NULL,
    }
}

/// A predefined reduction on elements of that kind.
#[inline(always)]
pub fn known_combine(op: MPI_Op, kind: u16) -> Option<Combine> {
    let op = Operation::known(op, kind).filter(|op| op.is_reduction())?;
    // Those of Fortran are combined by a function of this library.
    (kind != Kind::FortranPair as u16).then(|| Combine::of(op))
}

/// The function of a reduction, valid until the reduction ends.
pub fn combine(op: MPI_Op, datatype: MPI_Datatype) -> Outcome<Combine> {
    let reduction = Reduction::new(op, datatype)?;
    let (operation, fortran) = reduction.operation();
    if let (Operation::Predefined(op), false) = (operation, fortran) {
        return Ok(Combine::of(op));
    }
    let reduction = reduction.owned()?;
    let combine = move |lower: *const u8, upper: *mut u8, count| {
        let combined = reduction.combine(Address::of(lower), Address::of(upper), count);
        combined.expect("what is not defined has been refused");
    };
    Ok(match operation {
        Operation::Predefined(op) => Combine::predefined(op, combine),
        Operation::User { commutative, .. } => Combine::user(commutative, combine),
    })
}
