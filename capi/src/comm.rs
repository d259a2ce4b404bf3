//! Communicators and groups, as C has them.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object, Table};
use crate::handler::{Handler, HandlerOf, HandlerRef};
use crate::topology::Topology;
use onesided::engine::{Bridge, Status};
use onesided::{Comm, Group, Rank};
use std::ffi::c_int;

/// What an `MPI_Comm` stands for.
pub struct Communicator {
    /// Of an intercommunicator, the communicator of the local group.
    pub comm: Comm,
    /// The same for blocking collectives.
    pub waiting: Comm,
    pub errhandler: HandlerOf,
    pub topology: Option<Topology>,
    /// What makes it an intercommunicator.
    pub inter: Option<Inter>,
}

/// The other side of an intercommunicator (MPI-4.1 §7.6).
pub struct Inter {
    /// Both groups in one communicator, in no common order: look up a rank of either group by its rank in
    /// the job.
    pub both: Comm,
    pub remote: Group,
    /// Whether the local group comes first where the standard leaves it open; it does on one of the two
    /// sides.
    pub first: bool,
    /// The ranks of collectives.
    pub bridge: Bridge,
    /// The same for blocking ones.
    pub waiting: Bridge,
}

impl Inter {
    pub fn new(local: &Comm, both: Comm, remote: Group, first: bool) -> Outcome<Inter> {
        let bridge = Bridge::new(&both, &local.group(), &remote)?;
        let waiting = bridge.clone().waiting();
        Ok(Inter { both, remote, first, bridge, waiting })
    }

    pub fn sides(&self) -> Sides {
        Sides { both: self.both.group(), remote: self.remote.clone() }
    }

    /// [`Communicator::peer`]
    #[inline(never)]
    fn peer(&self, rank: c_int) -> Outcome<Rank> {
        match rank_of(rank, self.remote.size())? {
            Rank::NULL => Ok(Rank::NULL),
            Rank(rank) => Ok(self.remote.translate(&[rank], &self.both.group())?[0]),
        }
    }

    /// [`Communicator::translated`]
    #[inline(never)]
    fn translated(&self, status: Status) -> Status {
        self.sides().translated(status)
    }
}

/// The numbers of an intercommunicator's ranks: in both groups, and for the program.
pub struct Sides {
    both: Group,
    remote: Group,
}

impl Sides {
    pub fn translated(&self, status: Status) -> Status {
        let Rank(rank) = status.source;
        if status.source == Rank::NULL {
            return status;
        }
        let translated = self.both.translate(&[rank], &self.remote);
        Status { source: translated.map_or(Rank::NULL, |ranks| ranks[0]), ..status }
    }
}

impl Communicator {
    /// With the error handler of the communicator that it is made from.
    pub fn new(comm: Comm, handler: HandlerRef) -> Communicator {
        let (waiting, errhandler) = (comm.clone().waiting(), HandlerOf::new(handler));
        Communicator { comm, waiting, errhandler, topology: None, inter: None }
    }

    /// A communicator that is made from this one, as a handle; null for none.
    pub fn child(&self, comm: Option<Comm>) -> MPI_Comm {
        comm.map_or(Handle::NULL, |comm| {
            Handle::new(Communicator::new(comm, self.errhandler.share()))
        })
    }

    /// What a duplicate of this one inherits.
    pub fn heritage(&self) -> Heritage {
        Heritage {
            handler: self.errhandler.share(),
            topology: self.topology.clone(),
            inter: self.inter.as_ref().map(|inter| (inter.remote.clone(), inter.first)),
        }
    }

    pub fn handler(&self) -> Handler {
        self.errhandler.get()
    }

    /// The rank that an argument names, or `Rank::NULL` for `MPI_PROC_NULL`.
    #[inline]
    pub fn rank(&self, rank: c_int) -> Outcome<Rank> {
        rank_of(rank, self.comm.size())
    }

    /// The communicator of its messages.
    #[inline]
    pub fn messages(&self) -> &Comm {
        self.inter.as_ref().map_or(&self.comm, |inter| &inter.both)
    }

    /// The rank in [`Communicator::messages`] of a peer that an argument names. In an intercommunicator
    /// it is one of the other group (MPI-4.1 §7.6).
    #[inline]
    pub fn peer(&self, rank: c_int) -> Outcome<Rank> {
        match &self.inter {
            None => self.rank(rank),
            Some(inter) => inter.peer(rank),
        }
    }

    /// The group in which an argument names a peer.
    pub fn peers(&self) -> Group {
        self.inter.as_ref().map_or_else(|| self.comm.group(), |inter| inter.remote.clone())
    }

    /// A status of [`Communicator::messages`], with the source as the program names it.
    #[inline(always)]
    pub fn translated(&self, status: Status) -> Status {
        self.inter.as_ref().map_or(status, |inter| inter.translated(status))
    }

    /// The communicator, for calls that do not accept an intercommunicator.
    pub fn intra(&self) -> Outcome<&Comm> {
        match self.inter {
            None => Ok(&self.comm),
            Some(_) => {
                let why = "it is an intercommunicator, where the call needs an intracommunicator";
                Err(Failure::new(MPI_ERR_COMM, why))
            }
        }
    }

    /// The other side, for calls that need an intercommunicator.
    pub fn inter(&self) -> Outcome<&Inter> {
        self.inter.as_ref().ok_or_else(|| {
            let why = "it is an intracommunicator, where the call needs an intercommunicator";
            Failure::new(MPI_ERR_COMM, why)
        })
    }
}

/// What a duplicate inherits from its communicator, which may be freed before the duplicate exists.
pub struct Heritage {
    handler: HandlerRef,
    topology: Option<Topology>,
    /// Of an intercommunicator, the remote group, and whether the local one comes first.
    inter: Option<(Group, bool)>,
}

impl Heritage {
    /// The duplicate, from the duplicates of its communicators.
    pub fn with(&self, comm: Comm, both: Option<Comm>) -> Outcome<Communicator> {
        let Heritage { handler, topology, inter } = self;
        let inter = inter.clone().zip(both);
        let inter = inter.map(|((remote, first), both)| Inter::new(&comm, both, remote, first));
        let (inter, topology) = (inter.transpose()?, topology.clone());
        Ok(Communicator { topology, inter, ..Communicator::new(comm, handler.share()) })
    }
}

/// The rank that an argument names, below `ranks`, or `Rank::NULL` for `MPI_PROC_NULL`.
#[inline(always)]
pub fn rank_of(rank: c_int, size: u32) -> Outcome<Rank> {
    match u32::try_from(rank) {
        Ok(rank) if rank < size => Ok(Rank(rank)),
        _ if rank == MPI_PROC_NULL => Ok(Rank::NULL),
        _ => Err(no_rank(rank, size)),
    }
}

#[cold]
fn no_rank(rank: c_int, size: u32) -> Failure {
    let why = match size {
        0 => format!("there is no rank {rank}, because there are no ranks"),
        _ => format!("there is no rank {}; the ranks are 0 to {}", OneOf(rank, RANKS), size - 1),
    };
    Failure::new(MPI_ERR_RANK, why)
}

impl Object for Communicator {
    const NAME: &'static str = "MPI_Comm";
    const NULL: usize = MPI_COMM_NULL;
    const CLASS: c_int = MPI_ERR_COMM;
    const KIND: usize = 1;

    fn label(&self) -> Option<String> {
        Some(self.comm.name())
    }

    fn description(&self) -> Option<String> {
        let ranks = self.comm.size();
        Some(match &self.inter {
            None => format!("a communicator of {ranks} ranks"),
            Some(inter) => {
                let remote = inter.remote.size();
                format!("an intercommunicator of {ranks} and {remote} ranks")
            }
        })
    }

    fn table() -> &'static Table<Communicator> {
        static TABLE: Table<Communicator> = Table::new();
        &TABLE
    }

    #[inline(always)]
    fn predefined(value: usize) -> Option<&'static Communicator> {
        crate::job::predefined(value)
    }
}

impl Object for Group {
    const NAME: &'static str = "MPI_Group";
    const NULL: usize = MPI_GROUP_NULL;
    const CLASS: c_int = MPI_ERR_GROUP;
    const KIND: usize = 3;

    fn table() -> &'static Table<Group> {
        static TABLE: Table<Group> = Table::new();
        &TABLE
    }

    fn predefined(value: usize) -> Option<&'static Group> {
        static EMPTY: std::sync::OnceLock<Group> = std::sync::OnceLock::new();
        (value == MPI_GROUP_EMPTY).then(|| EMPTY.get_or_init(Group::empty))
    }
}
