//! Communicators and groups, as C has them.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use crate::handler::Handler;
use onesided::{Comm, Group, Rank};
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// What an `MPI_Comm` stands for.
pub struct Communicator {
    pub comm: Comm,
    handler: Mutex<Handler>,
}

impl Communicator {
    /// With the error handler of the communicator that it is made from.
    pub fn new(comm: Comm, handler: Handler) -> Communicator {
        Communicator { comm, handler: Mutex::new(handler) }
    }

    pub fn handler(&self) -> Handler {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_handler(&self, handler: Handler) {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = handler;
    }

    /// The rank that an argument names, or `Rank::NULL` for `MPI_PROC_NULL`.
    pub fn rank(&self, rank: c_int) -> Outcome<Rank> {
        rank_of(rank, self.comm.size())
    }
}

/// The rank of so many that an argument names, or `Rank::NULL` for `MPI_PROC_NULL`.
#[inline]
pub fn rank_of(rank: c_int, size: u32) -> Outcome<Rank> {
    match u32::try_from(rank) {
        Ok(rank) if rank < size => Ok(Rank(rank)),
        _ if rank == MPI_PROC_NULL => Ok(Rank::NULL),
        _ => {
            let why = format!("there is no rank {rank}; the ranks are 0 to {}", size - 1);
            Err(Failure::new(MPI_ERR_RANK, why))
        }
    }
}

impl Object for Communicator {
    const NAME: &'static str = "MPI_Comm";
    const NULL: usize = MPI_COMM_NULL;
    const CLASS: c_int = MPI_ERR_COMM;
    const KIND: usize = 1;

    fn table() -> &'static Table<Communicator> {
        static TABLE: Table<Communicator> = Table::new();
        &TABLE
    }

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
