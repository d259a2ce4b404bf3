//! Reads and writes of files, and file pointers (MPI-4.1 §14.4). Each function stands for those of C that differ in
//! direction, pointer, and whether the standard calls them collective.

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::failure::Outcome;
use crate::file::{Buffer, Direction, Pointer};
use crate::handle::Handle;
use crate::raise::Owner;
use crate::request::{Request, Work};
use crate::status;
use std::ffi::c_int;

/// `MPI_File_read` and its like
pub fn file_access<C: Number>(
    direction: Direction,
    pointer: Pointer,
    fh: MPI_File,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    status: Ptr<MPI_Status>,
) -> Outcome {
    let file = fh.get()?;
    status::conclude(status, file.access(direction, pointer, Buffer::new(buf, count, datatype)))
}

/// `MPI_File_read_at` and its like
pub fn file_access_at<C: Number>(
    direction: Direction,
    fh: MPI_File,
    offset: Count,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    status: Ptr<MPI_Status>,
) -> Outcome {
    file_access(direction, Pointer::At(offset), fh, buf, count, datatype, status)
}

/// `MPI_File_iread` and its like: complete when they return.
pub fn file_start<C: Number>(
    direction: Direction,
    pointer: Pointer,
    fh: MPI_File,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let file = fh.get()?;
    let done = file.access(direction, pointer, Buffer::new(buf, count, datatype))?;
    request.set(Handle::new(Request::new(Owner::File(fh), Work::Done(done))))
}

/// `MPI_File_iread_at` and its like
pub fn file_start_at<C: Number>(
    direction: Direction,
    fh: MPI_File,
    offset: Count,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    request: Ptr<MPI_Request>,
) -> Outcome {
    file_start(direction, Pointer::At(offset), fh, buf, count, datatype, request)
}

/// `MPI_File_read_all_begin` and its like
pub fn file_begin<C: Number>(
    direction: Direction,
    pointer: Pointer,
    fh: MPI_File,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Outcome {
    let file = fh.get()?;
    file.begin_split(direction, pointer, buf, Buffer::new(buf, count, datatype))
}

/// `MPI_File_read_at_all_begin` and its like
pub fn file_begin_at<C: Number>(
    direction: Direction,
    fh: MPI_File,
    offset: Count,
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Outcome {
    file_begin(direction, Pointer::At(offset), fh, buf, count, datatype)
}

/// `MPI_File_read_all_end` and its like
pub fn file_end(
    direction: Direction,
    pointer: Pointer,
    fh: MPI_File,
    buf: Address,
    status: Ptr<MPI_Status>,
) -> Outcome {
    status::conclude(status, fh.get()?.end_split(direction, pointer, buf))
}

/// `MPI_File_seek`
pub fn file_seek(fh: MPI_File, offset: Count, whence: c_int) -> Outcome {
    fh.get()?.seek(offset, whence)
}

/// `MPI_File_get_position`
pub fn file_get_position(fh: MPI_File, offset: Ptr<Count>) -> Outcome {
    offset.set(fh.get()?.position()? as Count)
}

/// `MPI_File_seek_shared`
pub fn file_seek_shared(fh: MPI_File, offset: Count, whence: c_int) -> Outcome {
    fh.get()?.seek_shared(offset, whence)
}

/// `MPI_File_get_position_shared`
pub fn file_get_position_shared(fh: MPI_File, offset: Ptr<Count>) -> Outcome {
    let file = fh.get()?;
    file.check_random()?;
    offset.set(file.shared.get()? as Count)
}
