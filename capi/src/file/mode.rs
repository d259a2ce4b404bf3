//! The access mode of a file (MPI-4.1 §14.2.1).

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use std::ffi::c_int;
use std::fs::OpenOptions;

/// The flags of `MPI_File_open`, which have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(c_int);

const FLAGS: [(c_int, &str); 9] = [
    (MPI_MODE_RDONLY, "MPI_MODE_RDONLY"),
    (MPI_MODE_RDWR, "MPI_MODE_RDWR"),
    (MPI_MODE_WRONLY, "MPI_MODE_WRONLY"),
    (MPI_MODE_CREATE, "MPI_MODE_CREATE"),
    (MPI_MODE_EXCL, "MPI_MODE_EXCL"),
    (MPI_MODE_DELETE_ON_CLOSE, "MPI_MODE_DELETE_ON_CLOSE"),
    (MPI_MODE_UNIQUE_OPEN, "MPI_MODE_UNIQUE_OPEN"),
    (MPI_MODE_SEQUENTIAL, "MPI_MODE_SEQUENTIAL"),
    (MPI_MODE_APPEND, "MPI_MODE_APPEND"),
];

impl Mode {
    pub fn new(amode: c_int) -> Outcome<Mode> {
        let mode = Mode(amode);
        let unknown = FLAGS.iter().fold(amode, |rest, (flag, _)| rest & !flag);
        let named = FLAGS.iter().filter(|(flag, _)| mode.has(*flag));
        let named = named.map(|(_, name)| *name).collect::<Vec<_>>().join(" | ");
        let ways = FLAGS[..3].iter().filter(|(flag, _)| mode.has(*flag)).count();
        let wrong = if unknown != 0 {
            format!("the access mode has the unknown flags {unknown:#x}")
        } else if ways != 1 {
            let need = "one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY is needed";
            format!("the access mode is {amode:#x} ({named}), but exactly {need}")
        } else if mode.has(MPI_MODE_RDONLY) && mode.has(MPI_MODE_CREATE | MPI_MODE_EXCL) {
            format!("the access mode is {named}, but a file that is only read is not created")
        } else if mode.has(MPI_MODE_RDWR) && mode.has(MPI_MODE_SEQUENTIAL) {
            format!("the access mode is {named}, but a sequential file is either read or written")
        } else {
            return Ok(mode);
        };
        Err(Failure::new(MPI_ERR_AMODE, wrong))
    }

    /// Whether it has one of the flags.
    pub fn has(self, flags: c_int) -> bool {
        self.0 & flags != 0
    }

    pub fn value(self) -> c_int {
        self.0
    }

    pub fn reads(self) -> bool {
        !self.has(MPI_MODE_WRONLY)
    }

    pub fn writes(self) -> bool {
        !self.has(MPI_MODE_RDONLY)
    }

    /// How the file is opened: by the rank that may create it, or by the others after it.
    pub fn options(self, creates: bool) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(self.reads()).write(self.writes());
        if creates && self.has(MPI_MODE_CREATE) {
            options.create(true).create_new(self.has(MPI_MODE_EXCL));
        }
        options
    }
}
