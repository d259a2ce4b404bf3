//! Error handlers (MPI-4.1 §9.3).

use crate::abi::*;
use crate::arguments::{Function, Ptr};
use crate::errors;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::handler::{Held, Kind, OF_FILES};
use crate::raise::{self, Owner};
use std::ffi::c_int;

/// Makes a handler of a function.
fn create(kind: Kind, function: Function, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    errhandler.set(Held::new(kind, function)?.give())
}

/// Calls the handler of `owner`, as the program asks for.
fn call(owner: Owner, name: &str, code: c_int) -> Outcome {
    raise::handle(owner, code, format!("{name}: {} ({})", errors::text(code)?, errors::name(code)));
    Ok(())
}

/// `MPI_Comm_create_errhandler`
pub fn comm_create_errhandler(
    comm_errhandler_fn: Function,
    errhandler: Ptr<MPI_Errhandler>,
) -> Outcome {
    create(Kind::Comm, comm_errhandler_fn, errhandler)
}

/// `MPI_Comm_set_errhandler`
pub fn comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) -> Outcome {
    comm.get()?.errhandler.set(Held::by(errhandler, Kind::Comm)?);
    Ok(())
}

/// `MPI_Comm_get_errhandler`
pub fn comm_get_errhandler(comm: MPI_Comm, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    errhandler.set(comm.get()?.errhandler.share().give())
}

/// `MPI_Comm_call_errhandler`
pub fn comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) -> Outcome {
    comm.get()?;
    call(Owner::Comm(comm), "MPI_Comm_call_errhandler", errorcode)
}

/// `MPI_Win_create_errhandler`
pub fn win_create_errhandler(
    win_errhandler_fn: Function,
    errhandler: Ptr<MPI_Errhandler>,
) -> Outcome {
    create(Kind::Win, win_errhandler_fn, errhandler)
}

/// `MPI_Win_set_errhandler`
pub fn win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) -> Outcome {
    win.get()?.errhandler.set(Held::by(errhandler, Kind::Win)?);
    Ok(())
}

/// `MPI_Win_get_errhandler`
pub fn win_get_errhandler(win: MPI_Win, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    errhandler.set(win.get()?.errhandler.share().give())
}

/// `MPI_Win_call_errhandler`
pub fn win_call_errhandler(win: MPI_Win, errorcode: c_int) -> Outcome {
    win.get()?;
    call(Owner::Win(win), "MPI_Win_call_errhandler", errorcode)
}

/// `MPI_File_create_errhandler`
pub fn file_create_errhandler(
    file_errhandler_fn: Function,
    errhandler: Ptr<MPI_Errhandler>,
) -> Outcome {
    create(Kind::File, file_errhandler_fn, errhandler)
}

/// `MPI_File_set_errhandler`, which for `MPI_FILE_NULL` is about files that are opened later
pub fn file_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) -> Outcome {
    check_file(file)?;
    OF_FILES.set(Held::by(errhandler, Kind::File)?);
    Ok(())
}

/// `MPI_File_get_errhandler`
pub fn file_get_errhandler(file: MPI_File, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    check_file(file)?;
    errhandler.set(OF_FILES.share().give())
}

/// `MPI_File_call_errhandler`, which for `MPI_FILE_NULL` calls that of files that are opened later
pub fn file_call_errhandler(fh: MPI_File, errorcode: c_int) -> Outcome {
    check_file(fh)?;
    call(Owner::File, "MPI_File_call_errhandler", errorcode)
}

fn check_file(file: MPI_File) -> Outcome {
    match file == Handle::NULL {
        true => Ok(()),
        false => Err(Failure::new(MPI_ERR_FILE, "this library opens no files")),
    }
}

/// `MPI_Session_create_errhandler`
pub fn session_create_errhandler(
    session_errhandler_fn: Function,
    errhandler: Ptr<MPI_Errhandler>,
) -> Outcome {
    create(Kind::Session, session_errhandler_fn, errhandler)
}

/// `MPI_Session_set_errhandler`
pub fn session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) -> Outcome {
    session.get()?.errhandler.set(Held::by(errhandler, Kind::Session)?);
    Ok(())
}

/// `MPI_Session_get_errhandler`
pub fn session_get_errhandler(session: MPI_Session, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    errhandler.set(session.get()?.errhandler.share().give())
}

/// `MPI_Session_call_errhandler`
pub fn session_call_errhandler(session: MPI_Session, errorcode: c_int) -> Outcome {
    session.get()?;
    call(Owner::Session(session), "MPI_Session_call_errhandler", errorcode)
}

/// `MPI_Errhandler_free`
pub fn errhandler_free(errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    drop(Held::take(errhandler.get()?)?);
    errhandler.set(Handle::NULL)
}
