//! Info objects, as C has them (MPI-4.1 chapter 10).

use crate::abi::*;
use crate::failure::Outcome;
use crate::handle::{Object, Table};
use onesided::Info;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an `MPI_Info` stands for.
#[derive(Default)]
pub struct InfoObject(Mutex<Info>);

impl InfoObject {
    pub fn new(info: Info) -> InfoObject {
        InfoObject(Mutex::new(info))
    }

    pub fn pairs(&self) -> MutexGuard<'_, Info> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hints of an argument for which `MPI_INFO_NULL` is allowed.
pub fn hints(info: MPI_Info) -> Outcome<Info> {
    if info == MPI_Info::NULL {
        return Ok(Info::new());
    }
    Ok(info.get()?.pairs().clone())
}

impl Object for InfoObject {
    const NAME: &'static str = "MPI_Info";
    const NULL: usize = MPI_INFO_NULL;
    const CLASS: c_int = MPI_ERR_INFO;
    const KIND: usize = 6;

    fn table() -> &'static Table<InfoObject> {
        static TABLE: Table<InfoObject> = Table::new();
        &TABLE
    }
}
