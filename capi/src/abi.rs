//! The constants and types of the ABI, by their names in C.
#![allow(non_camel_case_types, reason = "the standard's names")]

use crate::handle::Handle;
use std::ffi::c_int;
use std::fmt::{self, Display};

#[allow(dead_code, reason = "the table has all constants of the standard")]
mod constants {
    use super::{Count, c_int};
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}
pub use crate::form::MPI_Status;
pub use constants::*;

/// The name of a predefined handle of a type, which C names so too.
pub fn constant_name(kind: &str, value: usize) -> Option<&'static str> {
    let named = PREDEFINED.iter().find(|(of, number, _)| *of == kind && *number == value);
    named.map(|(.., name)| *name)
}

/// How a message shows a number that may be one of some constants.
pub struct OneOf(pub c_int, pub Constants);

/// Constants of a kind, by name.
pub type Constants = &'static [(&'static str, c_int)];

pub const RANKS: Constants =
    &[("MPI_ANY_SOURCE", MPI_ANY_SOURCE), ("MPI_PROC_NULL", MPI_PROC_NULL), ("MPI_ROOT", MPI_ROOT)];
pub const TAGS: Constants = &[("MPI_ANY_TAG", MPI_ANY_TAG)];
pub const LOCKS: Constants =
    &[("MPI_LOCK_EXCLUSIVE", MPI_LOCK_EXCLUSIVE), ("MPI_LOCK_SHARED", MPI_LOCK_SHARED)];

impl Display for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

/// `MPI_Aint`
pub type Aint = isize;
/// `MPI_Count` and `MPI_Offset`
pub type Count = i64;

pub type MPI_Comm = Handle<crate::comm::Communicator>;
pub type MPI_Win = Handle<crate::window::Window>;
pub type MPI_Group = Handle<onesided::Group>;
pub type MPI_Datatype = Handle<crate::datatype::Datatype>;
pub type MPI_Info = Handle<crate::info::InfoObject>;
pub type MPI_Op = Handle<crate::op::Operation>;
pub type MPI_Errhandler = Handle<crate::handler::Handler>;
pub type MPI_Session = Handle<crate::session::Session>;
pub type MPI_File = Handle<crate::file::File>;
pub type MPI_Message = Handle<crate::message::MessageObject>;
pub type MPI_Request = Handle<crate::request::Request>;

pub type MPI_T_enum = Handle<crate::tool::Nothing>;
pub type MPI_T_cvar_handle = Handle<crate::tool::ControlHandle>;
pub type MPI_T_pvar_handle = Handle<crate::tool::ReadHandle>;
pub type MPI_T_pvar_session = Handle<crate::tool::Session>;
pub type MPI_T_event_registration = Handle<crate::tool::Nothing>;
pub type MPI_T_event_instance = Handle<crate::tool::Nothing>;
