//! Files, as C has them (MPI-4.1 chapter 14). Every rank opens the file for itself, and reads and writes its own
//! data without the others.

mod access;
mod agreement;
mod callback;
mod cause;
mod conversion;
mod mode;
mod opening;
mod pointer;
mod representation;
mod sieve;
mod split;
mod tiles;
mod view;

pub use access::{Buffer, Direction, Pointer};
pub use agreement::{agree, by_one, same, same_name};
pub use callback::{ConversionFunction, ExtentFunction};
pub use mode::Mode;
pub use opening::{close, delete, open};
pub use representation::{Registered, Representation, register};
use view::Whence;
pub use view::{View, offset};

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use crate::handler::{Handler, HandlerOf};
use onesided::Comm;
use pointer::SharedPointer;
use split::Split;
use std::ffi::c_int;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an `MPI_File` stands for.
pub struct File {
    /// Of the ranks of the program's communicator, for the file alone.
    pub comm: Comm,
    pub errhandler: HandlerOf,
    pub mode: Mode,
    path: PathBuf,
    file: fs::File,
    pub shared: SharedPointer,
    state: Mutex<State>,
}

/// What the calls of a rank change.
struct State {
    view: Arc<View>,
    /// The individual file pointer, in etypes.
    position: u64,
    is_atomic: bool,
    /// Whether this rank has written since it last synchronised.
    is_dirty: bool,
    split: Option<Split>,
}

impl File {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn handler(&self) -> Handler {
        self.errhandler.get()
    }

    pub fn view(&self) -> Arc<View> {
        self.state().view.clone()
    }

    fn failure(&self, error: &Error) -> Failure {
        cause::failure(&self.path, error)
    }

    /// The bytes of the file.
    pub fn size(&self) -> Outcome<u64> {
        Ok(self.file.metadata().map_err(|error| self.failure(&error))?.len())
    }

    /// The individual file pointer, in etypes.
    pub fn position(&self) -> Outcome<u64> {
        self.check_random()?;
        Ok(self.state().position)
    }

    /// `MPI_File_seek`
    pub fn seek(&self, offset: i64, whence: c_int) -> Outcome {
        self.check_random()?;
        let (whence, size) = (Whence::new(whence)?, self.size()?);
        let mut state = self.state();
        state.position = state.view.sought(offset, whence, state.position, size)?;
        Ok(())
    }

    /// `MPI_File_seek_shared`. Collective.
    pub fn seek_shared(&self, offset: i64, whence: c_int) -> Outcome {
        let sought = || {
            self.check_random()?;
            self.view().sought(offset, Whence::new(whence)?, self.shared.get()?, self.size()?)
        };
        // No rank moves the pointer before all have looked at it.
        let to = agree(&self.comm, sought())?;
        same(&self.comm, "offset", offset)?;
        same(&self.comm, "new position", to as i64)?;
        self.shared.reset(&self.comm, to)
    }

    /// A view that has been checked takes effect. Collective.
    pub fn set_view(&self, view: Outcome<View>) -> Outcome {
        let view = agree(&self.comm, view)?;
        same_name(&self.comm, "data representation", view.representation().name())?;
        same(&self.comm, "number of bytes of an etype", view.unit() as i64)?;
        let mut state = self.state();
        (state.view, state.position) = (Arc::new(view), 0);
        drop(state);
        self.shared.reset(&self.comm, 0)
    }

    pub fn is_atomic(&self) -> bool {
        self.state().is_atomic
    }

    pub fn set_atomic(&self, is_atomic: bool) {
        self.state().is_atomic = is_atomic;
    }

    /// Lets the device have what this rank has written.
    pub fn synchronise(&self) -> Outcome {
        let was_dirty = std::mem::take(&mut self.state().is_dirty);
        let done = if was_dirty { self.file.sync_data() } else { Ok(()) };
        match done {
            // A device or a pipe without storage.
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
            done => done.map_err(|error| self.failure(&error)),
        }
    }

    /// `MPI_File_set_size`, by one rank.
    pub fn set_size(&self, bytes: u64) -> Outcome {
        self.state().is_dirty = true;
        self.file.set_len(bytes).map_err(|error| self.failure(&error))
    }

    /// `MPI_File_preallocate`, by one rank.
    pub fn reserve(&self, bytes: u64) -> Outcome {
        self.state().is_dirty = true;
        let reserved = onesided::engine::reserve(&self.file, bytes);
        reserved.map_err(|error| self.failure(&error))
    }

    /// Refuses what a file that is opened as sequential does not have (MPI-4.1 §14.2.1).
    pub fn check_random(&self) -> Outcome {
        if !self.mode.has(MPI_MODE_SEQUENTIAL) {
            return Ok(());
        }
        let why = "the file is opened with MPI_MODE_SEQUENTIAL, and has only a shared pointer";
        Err(Failure::new(MPI_ERR_UNSUPPORTED_OPERATION, why))
    }

    /// Refuses a change of a file that is opened for reading.
    pub fn check_writes(&self) -> Outcome {
        match self.mode.writes() {
            true => Ok(()),
            false => {
                let why = "the file is opened with MPI_MODE_RDONLY";
                Err(Failure::new(MPI_ERR_READ_ONLY, why))
            }
        }
    }

    /// Refuses to read a file that is opened for writing.
    fn check_reads(&self) -> Outcome {
        match self.mode.reads() {
            true => Ok(()),
            false => {
                let why = "the file is opened with MPI_MODE_WRONLY";
                Err(Failure::new(MPI_ERR_ACCESS, why))
            }
        }
    }
}

impl Object for File {
    const NAME: &'static str = "MPI_File";
    const NULL: usize = MPI_FILE_NULL;
    const CLASS: c_int = MPI_ERR_FILE;
    const KIND: usize = 10;

    fn label(&self) -> Option<String> {
        Some(self.path.display().to_string())
    }

    fn table() -> &'static Table<File> {
        static TABLE: Table<File> = Table::new();
        &TABLE
    }
}
