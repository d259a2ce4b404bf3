//! The tool interface (MPI-4.1 §15.3): its initialisation, its categories and its handles. It has no events, sources
//! and enumerations.

pub mod control;
pub mod performance;

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object, Table};
use control::Control;
use performance::{Bound, Performance};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of initialisations that are not finalised yet (MPI-4.1 §15.3.4).
static INITIALISED: Mutex<u64> = Mutex::new(0);

fn initialised() -> MutexGuard<'static, u64> {
    INITIALISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_T_init_thread`
pub fn begin() {
    *initialised() += 1;
}

/// `MPI_T_finalize`: the last one frees the sessions.
pub fn end() -> Outcome {
    running()?;
    let mut times = initialised();
    *times -= 1;
    if *times == 0 {
        drop(Session::table().clear());
        drop((ReadHandle::table().clear(), ControlHandle::table().clear()));
    }
    Ok(())
}

/// Returns an error for a call outside initialisation and finalisation.
pub fn running() -> Outcome {
    match *initialised() {
        0 => Err(Failure::new(
            MPI_T_ERR_NOT_INITIALIZED,
            "the tool interface is not initialised (MPI_T_init_thread)",
        )),
        _ => Ok(()),
    }
}

/// The code of a failure, which the tool interface gives in its own classes (MPI-4.1 §15.3.10).
pub fn code(failure: &Failure) -> c_int {
    let is_own = crate::errors::name(failure.code).starts_with("MPI_T_");
    if is_own { failure.code } else { MPI_T_ERR_INVALID }
}

/// A category of variables. None has another inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Calls,
    Bytes,
    Times,
    Waits,
    Memory,
    Process,
    Objects,
    Settings,
}

impl Category {
    /// All of them, by their indices.
    pub const ALL: [Category; 8] = [
        Category::Calls,
        Category::Bytes,
        Category::Times,
        Category::Waits,
        Category::Memory,
        Category::Process,
        Category::Objects,
        Category::Settings,
    ];

    /// Its name, and what it is.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Category::Calls => ("calls", "how often the rank has made which calls"),
            Category::Bytes => ("bytes", "what its operations and sends have moved"),
            Category::Times => ("times", "how long it has been in calls and waits"),
            Category::Waits => ("waits", "its waits, and what waits for it"),
            Category::Memory => ("memory", "the memory of the job and of the process"),
            Category::Process => ("process", "what the kernel has counted of the process"),
            Category::Objects => ("objects", "handles that the program has not freed"),
            Category::Settings => {
                ("settings", "limits of the library, and how the job was started")
            }
        }
    }

    /// The indices of its performance variables.
    pub fn performance(self) -> impl Iterator<Item = usize> {
        let all = performance::ALL.iter().enumerate();
        all.filter(move |(_, one)| one.category == self).map(|(index, _)| index)
    }

    /// Those of its control variables.
    pub fn control(self) -> impl Iterator<Item = usize> {
        (0..control::ALL.len()).filter(move |_| self == Category::Settings)
    }
}

/// What an `MPI_T_pvar_session` stands for: its handles.
#[derive(Default)]
pub struct Session(Mutex<Vec<MPI_T_pvar_handle>>);

impl Session {
    fn handles(&self) -> MutexGuard<'_, Vec<MPI_T_pvar_handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new handle of a variable in this session.
    pub fn add(&self, variable: &'static Performance, bound: Bound) -> MPI_T_pvar_handle {
        let handle = Handle::new(ReadHandle { variable, bound });
        self.handles().push(handle);
        handle
    }

    /// What a handle of this session stands for.
    pub fn find(&self, handle: MPI_T_pvar_handle) -> Outcome<&'static ReadHandle> {
        let found = handle.get()?;
        match self.handles().contains(&handle) {
            true => Ok(found),
            false => Err(Failure::new(MPI_T_ERR_INVALID_HANDLE, "it is of another session")),
        }
    }

    /// Frees a handle of this session.
    pub fn free(&self, handle: MPI_T_pvar_handle) -> Outcome {
        self.find(handle)?;
        self.handles().retain(|one| *one != handle);
        handle.remove().map(drop)
    }

    /// Frees all of them.
    pub fn free_all(&self) {
        // A handle that cannot be removed is none any more.
        std::mem::take(&mut *self.handles()).into_iter().for_each(|one| drop(one.remove()));
    }
}

impl Object for Session {
    const NAME: &'static str = "MPI_T_pvar_session";
    const NULL: usize = MPI_T_PVAR_SESSION_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_SESSION;
    const KIND: usize = 12;

    fn table() -> &'static Table<Session> {
        static TABLE: Table<Session> = Table::new();
        &TABLE
    }
}

/// What an `MPI_T_pvar_handle` stands for.
pub struct ReadHandle {
    pub variable: &'static Performance,
    pub bound: Bound,
}

impl Object for ReadHandle {
    const NAME: &'static str = "MPI_T_pvar_handle";
    const NULL: usize = MPI_T_PVAR_HANDLE_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_HANDLE;
    const KIND: usize = 14;

    fn table() -> &'static Table<ReadHandle> {
        static TABLE: Table<ReadHandle> = Table::new();
        &TABLE
    }
}

/// What an `MPI_T_cvar_handle` stands for.
pub struct ControlHandle(pub &'static Control);

impl Object for ControlHandle {
    const NAME: &'static str = "MPI_T_cvar_handle";
    const NULL: usize = MPI_T_CVAR_HANDLE_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_HANDLE;
    const KIND: usize = 15;

    fn table() -> &'static Table<ControlHandle> {
        static TABLE: Table<ControlHandle> = Table::new();
        &TABLE
    }
}

/// What a handle of an enumeration or an event would stand for.
pub enum Nothing {}

impl Object for Nothing {
    const NAME: &'static str = "handle of the tool interface";
    const NULL: usize = MPI_T_ENUM_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_HANDLE;
    const KIND: usize = 13;

    fn table() -> &'static Table<Nothing> {
        static TABLE: Table<Nothing> = Table::new();
        &TABLE
    }
}

#[cfg(all(test, not(mpich)))]
mod tests;
