//! Requests, as C has them (MPI-4.1 §3.7).

use crate::abi::*;
use crate::handle::{Object, Table};
use crate::raise::Owner;
use std::ffi::c_int;

/// What an `MPI_Request` stands for.
pub struct Request {
    /// On whose error handler an error of it is raised.
    pub owner: Owner,
}

impl Request {
    /// An operation that is complete when its call returns.
    pub fn complete(owner: Owner) -> Request {
        Request { owner }
    }

    /// An operation on a window, which is complete at the origin when its call returns.
    pub fn complete_operation(win: MPI_Win) -> Request {
        Request { owner: Owner::Win(win) }
    }
}

impl Object for Request {
    const NAME: &'static str = "MPI_Request";
    const NULL: usize = MPI_REQUEST_NULL;
    const CLASS: c_int = MPI_ERR_REQUEST;
    const KIND: usize = 8;

    fn table() -> &'static Table<Request> {
        static TABLE: Table<Request> = Table::new();
        &TABLE
    }
}
