//! Why the operating system has refused a call, as an error class (MPI-4.1 §14.8).

use crate::abi::*;
use crate::failure::Failure;
use std::ffi::c_int;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The failure of a call for a file.
#[cold]
pub fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(class(error.kind()), format!("{}: {error}", path.display()))
}

fn class(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::NotFound => MPI_ERR_NO_SUCH_FILE,
        ErrorKind::AlreadyExists => MPI_ERR_FILE_EXISTS,
        ErrorKind::PermissionDenied => MPI_ERR_ACCESS,
        ErrorKind::ReadOnlyFilesystem => MPI_ERR_READ_ONLY,
        ErrorKind::StorageFull => MPI_ERR_NO_SPACE,
        ErrorKind::QuotaExceeded => MPI_ERR_QUOTA,
        ErrorKind::OutOfMemory => MPI_ERR_NO_MEM,
        ErrorKind::ExecutableFileBusy | ErrorKind::ResourceBusy => MPI_ERR_FILE_IN_USE,
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            MPI_ERR_BAD_FILE
        }
        _ => MPI_ERR_IO,
    }
}
