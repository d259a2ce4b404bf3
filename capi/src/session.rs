//! Sessions (MPI-4.1 §11.3).

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use crate::handler::{Handler, HandlerOf};
use onesided::Group;
use std::ffi::c_int;

/// What an `MPI_Session` stands for.
pub struct Session {
    pub errhandler: HandlerOf,
}

impl Session {
    pub fn handler(&self) -> Handler {
        self.errhandler.get()
    }
}

/// The sets of processes that every session has.
pub const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The processes of a set, whose name may be in any case (MPI-4.1 §11.3.2).
pub fn processes(set: &str) -> Outcome<Group> {
    let world = crate::job::world()?;
    match SETS.iter().position(|known| known.eq_ignore_ascii_case(set)) {
        Some(0) => Ok(world.group()),
        Some(_) => Ok(world.group().incl(&[world.rank().0])?),
        None => {
            let why = format!("there is no set of processes {set:?}");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

impl Object for Session {
    const NAME: &'static str = "MPI_Session";
    const NULL: usize = MPI_SESSION_NULL;
    const CLASS: c_int = MPI_ERR_SESSION;
    const KIND: usize = 9;

    fn table() -> &'static Table<Session> {
        static TABLE: Table<Session> = Table::new();
        &TABLE
    }
}
