//! What all collectives have in common. A function of `calls` checks the arguments and returns what
//! starts the collective. The blocking function starts it once and waits, the nonblocking one returns a
//! request, and the persistent one returns a request that starts it at each `MPI_Start`.

use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Number, Ptr};
use crate::calls::{check_buffer, elements};
use crate::comm::rank_of;
use crate::datatype::usable;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::op::{Operation, Reduction};
use crate::raise::Owner;
use crate::request::{Request, Work};
use onesided::engine::{Bridge, CollectiveRequest, Combine, Origin, OriginMut, Root};
use onesided::{Comm, CommittedDatatype, Rank};
use std::borrow::Cow;
use std::ffi::c_int;

/// Starts a collective whose arguments were checked.
pub struct Start(Box<dyn Startable>);

trait Startable: Send + Sync {
    fn start(&self) -> onesided::Result<CollectiveRequest>;

    /// From now on it is one persistent collective, which all ranks initialise alike.
    fn persist(&mut self) -> onesided::Result<()>;

    /// Starts it, waits until it is complete, and returns its outcome.
    fn finish(self: Box<Self>) -> onesided::Result<()>;
}

/// The ranks of a collective, and how it is started among them.
struct Among<T, F> {
    ranks: T,
    start: F,
}

impl<T, F> Startable for Among<T, F>
where
    T: Ranks,
    F: Fn(&T) -> onesided::Result<CollectiveRequest> + Send + Sync,
{
    fn start(&self) -> onesided::Result<CollectiveRequest> {
        (self.start)(&self.ranks)
    }

    fn persist(&mut self) -> onesided::Result<()> {
        (self.start)(&self.ranks.agreeing())?.wait()?;
        self.ranks = self.ranks.persisted();
        Ok(())
    }

    fn finish(self: Box<Self>) -> onesided::Result<()> {
        (self.start)(&self.ranks.waiting())?.wait()
    }
}

/// What collectives are started on.
pub trait Ranks: Send + Sync + 'static {
    /// The same for one persistent collective ([`Comm::for_persistent_collective`]).
    fn persisted(&self) -> Self;

    /// The same for its initialisation ([`Comm::agreeing`]).
    fn agreeing(&self) -> Self;

    /// The same for blocking calls ([`Comm::waiting`]).
    fn waiting(self) -> Self;
}

impl Ranks for Comm {
    fn persisted(&self) -> Comm {
        self.for_persistent_collective()
    }

    fn agreeing(&self) -> Comm {
        Comm::agreeing(self)
    }

    fn waiting(self) -> Comm {
        Comm::waiting(self)
    }
}

impl Ranks for Bridge {
    fn persisted(&self) -> Bridge {
        self.for_persistent_collective()
    }

    fn agreeing(&self) -> Bridge {
        Bridge::agreeing(self)
    }

    fn waiting(self) -> Bridge {
        Bridge::waiting(self)
    }
}

impl Start {
    pub fn new<T: Ranks>(
        ranks: T,
        start: impl Fn(&T) -> onesided::Result<CollectiveRequest> + Send + Sync + 'static,
    ) -> Outcome<Start> {
        Ok(Start(Box::new(Among { ranks, start })))
    }

    fn begin(&self) -> Outcome<Work> {
        Ok(Work::Collective(self.0.start()?))
    }
}

/// The blocking form.
pub fn finish(start: Start) -> Outcome {
    Ok(start.0.finish()?)
}

/// The nonblocking form (MPI-4.1 §6.12).
pub fn begin(start: Start, comm: MPI_Comm, request: Ptr<MPI_Request>) -> Outcome {
    request.set(Handle::new(Request::new(Owner::Comm(comm), start.begin()?)))
}

/// The persistent form (MPI-4.1 §6.13).
pub fn persist(mut start: Start, comm: MPI_Comm, request: Ptr<MPI_Request>) -> Outcome {
    start.0.persist()?;
    let begin = Box::new(move || start.begin());
    request.set(Handle::new(Request::persistent(Owner::Comm(comm), begin)))
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
        over: &Over,
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
pub enum Over {
    /// The ranks of a communicator.
    One(Comm),
    /// The two groups of an intercommunicator (MPI-4.1 §6.2.2).
    Two(Bridge),
}

/// The ranks of a collective on a communicator.
pub fn over(comm: MPI_Comm) -> Outcome<Over> {
    let comm = comm.get()?;
    Ok(match &comm.inter {
        None => Over::One(comm.comm.clone()),
        Some(inter) => Over::Two(inter.bridge.clone()),
    })
}

/// The ranks of a collective, and its root.
pub fn rooted(comm: MPI_Comm, root: c_int) -> Outcome<(Over, Root)> {
    let over = over(comm)?;
    let root = over.root(root)?;
    Ok((over, root))
}

impl Ranks for Over {
    fn persisted(&self) -> Over {
        match self {
            Over::One(comm) => Over::One(comm.persisted()),
            Over::Two(bridge) => Over::Two(bridge.persisted()),
        }
    }

    fn agreeing(&self) -> Over {
        match self {
            Over::One(comm) => Over::One(comm.agreeing()),
            Over::Two(bridge) => Over::Two(bridge.agreeing()),
        }
    }

    fn waiting(self) -> Over {
        match self {
            Over::One(comm) => Over::One(comm.waiting()),
            Over::Two(bridge) => Over::Two(bridge.waiting()),
        }
    }
}

impl Over {
    /// The number of ranks whose parts this rank has.
    pub fn parts(&self) -> usize {
        match self {
            Over::One(comm) => comm.size() as usize,
            Over::Two(bridge) => bridge.remote_size() as usize,
        }
    }

    /// The number of ranks that divide a result, and this rank's number among them.
    pub fn group(&self) -> (usize, usize) {
        match self {
            Over::One(comm) => (comm.size() as usize, comm.rank().index()),
            Over::Two(bridge) => (bridge.size() as usize, bridge.rank() as usize),
        }
    }

    fn root(&self, root: c_int) -> Outcome<Root> {
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
    pub fn takes_part(&self, root: Root) -> bool {
        matches!(self, Over::One(_)) || matches!(root, Root::There(_))
    }

    /// Whether a buffer is `MPI_IN_PLACE`, which is an error between two groups.
    pub fn is_in_place(&self, start: Address) -> Outcome<bool> {
        if matches!(self, Over::Two(_)) && start.is_in_place() {
            let why = "MPI_IN_PLACE is not for intercommunicators";
            return Err(Failure::new(MPI_ERR_BUFFER, why));
        }
        Ok(start.is_in_place())
    }

    /// What this rank itself sends or receives, unless it is in place.
    pub fn own<C: Number>(
        &self,
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
