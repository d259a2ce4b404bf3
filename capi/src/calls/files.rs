//! Files: opening and closing, sizes, hints, consistency (MPI-4.1 §14.2 and §14.6).

use crate::abi::*;
use crate::arguments::{Ptr, Text};
use crate::failure::{Failure, Outcome};
use crate::file::{self, File, agree, by_one, same};
use crate::handle::Handle;
use crate::info::{InfoObject, hints};
use crate::raise::Owner;
use onesided::Info;
use std::ffi::c_int;

/// `MPI_File_open`
pub fn file_open(
    comm: MPI_Comm,
    filename: Text,
    amode: c_int,
    info: MPI_Info,
    fh: Ptr<MPI_File>,
) -> Outcome {
    let comm = comm.get()?.intra()?;
    // No hint changes anything.
    let name = hints(info).and_then(|_| filename.bytes());
    fh.set(Handle::new(file::open(comm, name, amode)?))
}

/// `MPI_File_close`
pub fn file_close(fh: Ptr<MPI_File>) -> Outcome {
    let handle = fh.get()?;
    let file = handle.get()?;
    if file.has_split() {
        return Err(Failure::new(MPI_ERR_IO, "a split collective of the file has not ended"));
    }
    let owner = Owner::Freed { handler: file.handler(), handle: handle.value() };
    let file = handle.remove()?;
    fh.set(Handle::NULL)?;
    file::close(file).map_err(|failure| failure.of(owner))
}

/// `MPI_File_delete`
pub fn file_delete(filename: Text, info: MPI_Info) -> Outcome {
    hints(info)?;
    file::delete(filename.bytes()?)
}

/// A size that all ranks give, of a file that they may change.
fn new_size(file: &File, size: Count) -> Outcome<u64> {
    let checked = file.check_writes().and_then(|()| file.check_random()).and_then(|()| {
        u64::try_from(size)
            .map_err(|_| Failure::new(MPI_ERR_ARG, format!("the size {size} is negative")))
    });
    let size = agree(&file.comm, checked)?;
    same(&file.comm, "size", size as i64)?;
    Ok(size)
}

/// `MPI_File_set_size`
pub fn file_set_size(fh: MPI_File, size: Count) -> Outcome {
    let file = fh.get()?;
    let size = new_size(file, size)?;
    by_one(&file.comm, || file.set_size(size))
}

/// `MPI_File_preallocate`
pub fn file_preallocate(fh: MPI_File, size: Count) -> Outcome {
    let file = fh.get()?;
    let size = new_size(file, size)?;
    by_one(&file.comm, || file.reserve(size))
}

/// `MPI_File_get_size`
pub fn file_get_size(fh: MPI_File, size: Ptr<Count>) -> Outcome {
    size.set(fh.get()?.size()? as Count)
}

/// `MPI_File_get_group`
pub fn file_get_group(fh: MPI_File, group: Ptr<MPI_Group>) -> Outcome {
    group.set(Handle::new(fh.get()?.comm.group()))
}

/// `MPI_File_get_amode`
pub fn file_get_amode(fh: MPI_File, amode: Ptr<c_int>) -> Outcome {
    amode.set(fh.get()?.mode.value())
}

/// `MPI_File_set_info`: no hint changes anything.
pub fn file_set_info(fh: MPI_File, info: MPI_Info) -> Outcome {
    fh.get()?;
    hints(info).map(drop)
}

/// `MPI_File_get_info`
pub fn file_get_info(fh: MPI_File, info_used: Ptr<MPI_Info>) -> Outcome {
    fh.get()?;
    info_used.set(Handle::new(InfoObject::new(Info::new())))
}

/// `MPI_File_set_atomicity`
pub fn file_set_atomicity(fh: MPI_File, flag: c_int) -> Outcome {
    let file = fh.get()?;
    same(&file.comm, "flag", (flag != 0).into())?;
    file.set_atomic(flag != 0);
    Ok(())
}

/// `MPI_File_get_atomicity`
pub fn file_get_atomicity(fh: MPI_File, flag: Ptr<c_int>) -> Outcome {
    flag.set(fh.get()?.is_atomic().into())
}

/// `MPI_File_sync`
pub fn file_sync(fh: MPI_File) -> Outcome {
    let file = fh.get()?;
    agree(&file.comm, file.synchronise())
}
