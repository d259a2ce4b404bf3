//! Handles as integers (MPI-5.0 §20.4), for Fortran and other languages.

use crate::abi::*;
use crate::handle::Handle;
use std::ffi::c_int;

/// `MPI_Comm_toint`
pub fn comm_toint(comm: MPI_Comm) -> c_int {
    comm.to_int()
}

/// `MPI_Comm_fromint`
pub fn comm_fromint(comm: c_int) -> MPI_Comm {
    Handle::from_int(comm)
}

/// `MPI_Errhandler_toint`
pub fn errhandler_toint(errhandler: MPI_Errhandler) -> c_int {
    errhandler.to_int()
}

/// `MPI_Errhandler_fromint`
pub fn errhandler_fromint(errhandler: c_int) -> MPI_Errhandler {
    Handle::from_int(errhandler)
}

/// `MPI_File_toint`
pub fn file_toint(file: MPI_File) -> c_int {
    file.to_int()
}

/// `MPI_File_fromint`
pub fn file_fromint(file: c_int) -> MPI_File {
    Handle::from_int(file)
}

/// `MPI_Group_toint`
pub fn group_toint(group: MPI_Group) -> c_int {
    group.to_int()
}

/// `MPI_Group_fromint`
pub fn group_fromint(group: c_int) -> MPI_Group {
    Handle::from_int(group)
}

/// `MPI_Info_toint`
pub fn info_toint(info: MPI_Info) -> c_int {
    info.to_int()
}

/// `MPI_Info_fromint`
pub fn info_fromint(info: c_int) -> MPI_Info {
    Handle::from_int(info)
}

/// `MPI_Message_toint`
pub fn message_toint(message: MPI_Message) -> c_int {
    message.to_int()
}

/// `MPI_Message_fromint`
pub fn message_fromint(message: c_int) -> MPI_Message {
    Handle::from_int(message)
}

/// `MPI_Op_toint`
pub fn op_toint(op: MPI_Op) -> c_int {
    op.to_int()
}

/// `MPI_Op_fromint`
pub fn op_fromint(op: c_int) -> MPI_Op {
    Handle::from_int(op)
}

/// `MPI_Request_toint`
pub fn request_toint(request: MPI_Request) -> c_int {
    request.to_int()
}

/// `MPI_Request_fromint`
pub fn request_fromint(request: c_int) -> MPI_Request {
    Handle::from_int(request)
}

/// `MPI_Session_toint`
pub fn session_toint(session: MPI_Session) -> c_int {
    session.to_int()
}

/// `MPI_Session_fromint`
pub fn session_fromint(session: c_int) -> MPI_Session {
    Handle::from_int(session)
}

/// `MPI_Type_toint`
pub fn type_toint(datatype: MPI_Datatype) -> c_int {
    datatype.to_int()
}

/// `MPI_Type_fromint`
pub fn type_fromint(datatype: c_int) -> MPI_Datatype {
    Handle::from_int(datatype)
}

/// `MPI_Win_toint`
pub fn win_toint(win: MPI_Win) -> c_int {
    win.to_int()
}

/// `MPI_Win_fromint`
pub fn win_fromint(win: c_int) -> MPI_Win {
    Handle::from_int(win)
}
