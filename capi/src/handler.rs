//! Error handlers (MPI-4.1 §9.3).
#![allow(unsafe_code, reason = "calls a function of the C program")]

use crate::abi::*;
use crate::arguments::Function;
use crate::comm::Communicator;
use crate::entry::calling_back;
use crate::failure::{Failure, Outcome};
use crate::file::File;
use crate::handle::{Handle, Object, Table};
use crate::raise::Owner;
use crate::session::Session;
use crate::window::Window;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An error handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`
    Fatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
    /// A function of the program.
    User { of: Kind, function: UserFunction },
}

/// The kind of object of a user-defined error handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Comm,
    Win,
    File,
    Session,
}

/// `MPI_Comm_errhandler_function` and those of other objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserFunction(pub Function);

impl UserFunction {
    /// Calls it with the handle and the code.
    pub fn call(self, owner: Owner, mut code: c_int) {
        let mut handle = match owner {
            Owner::Comm(comm) => comm.value(),
            Owner::Win(win) => win.value(),
            Owner::Session(session) => session.value(),
            Owner::File(file) => file.value(),
            Owner::Freed { handle, .. } => handle,
            Owner::Tool | Owner::None => MPI_COMM_SELF,
            #[cfg(node)]
            Owner::Raised => MPI_COMM_SELF,
        };
        // SAFETY: the C program gave the function as one of this type (MPI-4.1 §9.3.1 to §9.3.3), and
        // it lives as long as the program.
        let function: extern "C" fn(*mut usize, *mut c_int, ...) =
            unsafe { std::mem::transmute(self.0.address()) };
        calling_back(|| function(&mut handle, &mut code));
    }
}

/// One use of an error handler: by a handle in C, or by an object. A user-defined handler is freed with
/// its last use (MPI-4.1 §9.3.4).
pub struct HandlerRef(MPI_Errhandler);

/// The uses of user-defined handlers.
static USES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn uses() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    USES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HandlerRef {
    /// `MPI_ERRORS_ARE_FATAL`, the default of objects.
    pub const FATAL: HandlerRef = HandlerRef(MPI_Errhandler::predefined(MPI_ERRORS_ARE_FATAL));
    /// `MPI_ERRORS_RETURN`
    pub const RETURN: HandlerRef = HandlerRef(MPI_Errhandler::predefined(MPI_ERRORS_RETURN));

    /// A new user-defined handler.
    pub fn new(of: Kind, function: Function) -> Outcome<HandlerRef> {
        if function.address() == 0 {
            return Err(Failure::new(MPI_ERR_ARG, "the function is null"));
        }
        let handle = Handle::new(Handler::User { of, function: UserFunction(function) });
        uses().insert(handle.value(), 1);
        Ok(HandlerRef(handle))
    }

    /// A further use of an argument's handler, for an object of that kind.
    pub fn by(handle: MPI_Errhandler, kind: Kind) -> Outcome<HandlerRef> {
        match handle.get()? {
            Handler::User { of, .. } if *of != kind => {
                let why = format!("the error handler is for {of:?}, not for {kind:?}");
                Err(Failure::new(MPI_ERR_ERRHANDLER, why))
            }
            _ => Ok(HandlerRef::further(handle)),
        }
    }

    fn further(handle: MPI_Errhandler) -> HandlerRef {
        if let Some(count) = uses().get_mut(&handle.value()) {
            *count += 1;
        }
        HandlerRef(handle)
    }

    /// A further use.
    pub fn share(&self) -> HandlerRef {
        HandlerRef::further(self.0)
    }

    pub fn handler(&self) -> Handler {
        self.0.get().copied().unwrap_or(Handler::Fatal)
    }

    /// Lets C have this use.
    pub fn give(self) -> MPI_Errhandler {
        std::mem::ManuallyDrop::new(self).0
    }

    /// Takes back the use that C has of a handler.
    pub fn take(handle: MPI_Errhandler) -> Outcome<HandlerRef> {
        handle.get()?;
        Ok(HandlerRef(handle))
    }
}

impl Drop for HandlerRef {
    fn drop(&mut self) {
        let mut uses = uses();
        let Some(count) = uses.get_mut(&self.0.value()) else { return };
        *count -= 1;
        if *count == 0 {
            uses.remove(&self.0.value());
            // It exists as long as it has uses.
            let _ = self.0.remove();
        }
    }
}

/// The error handler of an object.
pub struct HandlerOf(Mutex<HandlerState>);

struct HandlerState {
    handler: HandlerRef,
    /// Whether the program has set it.
    chosen: bool,
}

impl HandlerOf {
    pub const fn new(handler: HandlerRef) -> HandlerOf {
        HandlerOf(Mutex::new(HandlerState { handler, chosen: false }))
    }

    fn state(&self) -> MutexGuard<'_, HandlerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self) -> Handler {
        self.state().handler.handler()
    }

    pub fn is_chosen(&self) -> bool {
        self.state().chosen
    }

    /// A further use of it.
    pub fn share(&self) -> HandlerRef {
        self.state().handler.share()
    }

    pub fn set(&self, new: HandlerRef) {
        let old =
            std::mem::replace(&mut *self.state(), HandlerState { handler: new, chosen: true });
        drop(old);
    }
}

/// The handler for opening files, and that of new files (MPI-4.1 §14.7): that of `MPI_FILE_NULL`.
pub static OF_FILES: HandlerOf = HandlerOf::new(HandlerRef::RETURN);

/// An object with an error handler.
pub trait Raises: Object {
    /// The handlers that it can have, beside the predefined ones.
    const OF: Kind;

    /// The place of an object's handler.
    fn errhandler(object: Handle<Self>) -> Outcome<&'static HandlerOf>;

    fn owner(object: Handle<Self>) -> Owner;
}

impl Raises for Communicator {
    const OF: Kind = Kind::Comm;

    fn errhandler(comm: MPI_Comm) -> Outcome<&'static HandlerOf> {
        Ok(&comm.get()?.errhandler)
    }

    fn owner(comm: MPI_Comm) -> Owner {
        Owner::Comm(comm)
    }
}

impl Raises for Window {
    const OF: Kind = Kind::Win;

    fn errhandler(win: MPI_Win) -> Outcome<&'static HandlerOf> {
        Ok(&win.get()?.errhandler)
    }

    fn owner(win: MPI_Win) -> Owner {
        Owner::Win(win)
    }
}

impl Raises for Session {
    const OF: Kind = Kind::Session;

    fn errhandler(session: MPI_Session) -> Outcome<&'static HandlerOf> {
        Ok(&session.get()?.errhandler)
    }

    fn owner(session: MPI_Session) -> Owner {
        Owner::Session(session)
    }
}

impl Raises for File {
    const OF: Kind = Kind::File;

    fn errhandler(file: MPI_File) -> Outcome<&'static HandlerOf> {
        match file == Handle::NULL {
            true => Ok(&OF_FILES),
            false => Ok(&file.get()?.errhandler),
        }
    }

    fn owner(file: MPI_File) -> Owner {
        Owner::File(file)
    }
}

impl Object for Handler {
    const NAME: &'static str = "MPI_Errhandler";
    const NULL: usize = MPI_ERRHANDLER_NULL;
    const CLASS: c_int = MPI_ERR_ERRHANDLER;
    const KIND: usize = 5;

    fn table() -> &'static Table<Handler> {
        static TABLE: Table<Handler> = Table::new();
        &TABLE
    }

    fn predefined(value: usize) -> Option<&'static Handler> {
        match value {
            MPI_ERRORS_ARE_FATAL => Some(&Handler::Fatal),
            MPI_ERRORS_ABORT => Some(&Handler::Abort),
            MPI_ERRORS_RETURN => Some(&Handler::Return),
            _ => None,
        }
    }
}
