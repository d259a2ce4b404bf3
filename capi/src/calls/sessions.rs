//! Sessions (MPI-4.1 §11.3, §11.4), the ABI's version and facts (MPI-5.0 chapter 20), and
//! `MPI_Pcontrol`.

use super::groups::give;
use super::intercommunicators::tag_of;
use crate::abi::*;
use crate::arguments::{Address, Ptr, Text, TextBuffer};
use crate::comm::Communicator;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object};
use crate::handler::{HandlerOf, HandlerRef, Kind};
use crate::info::{InfoObject, hints};
use crate::job;
use crate::raise::Owner;
use crate::region;
use crate::session::{SETS, Session, processes};
use onesided::Info;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// A new info object of some pairs.
fn pairs(list: &[(&str, String)]) -> Outcome<MPI_Info> {
    let mut info = Info::new();
    for (key, value) in list {
        info.set(key, value)?;
    }
    Ok(Handle::new(InfoObject::new(info)))
}

/// Creates an object with an error handler, which already handles the errors of its creation (with a null
/// handle).
pub(super) fn asked<T: Object>(
    errhandler: MPI_Errhandler,
    kind: Kind,
    null: Handle<T>,
    make: impl FnOnce(HandlerRef) -> Outcome,
) -> Outcome {
    let handler = HandlerRef::by(errhandler, kind)?;
    let owner = Owner::Freed { handler: handler.handler(), handle: null.value() };
    // The program has the handler, too, until the failure is raised.
    make(handler).map_err(|failure| failure.of(owner))
}

/// `MPI_Session_init`
pub fn session_init(
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    session: Ptr<MPI_Session>,
) -> Outcome {
    asked(errhandler, Kind::Session, Handle::<Session>::NULL, |handler| {
        hints(info)?;
        job::open_session()?;
        session.set(Handle::new(Session { errhandler: HandlerOf::new(handler) }))
    })
}

/// `MPI_Session_finalize`
pub fn session_finalize(session: Ptr<MPI_Session>) -> Outcome {
    session.get()?.remove()?;
    session.set(Handle::NULL)?;
    job::close_session();
    Ok(())
}

/// `MPI_Session_get_info`
pub fn session_get_info(session: MPI_Session, info_used: Ptr<MPI_Info>) -> Outcome {
    session.get()?;
    info_used.set(pairs(&[("thread_level", "MPI_THREAD_MULTIPLE".into())])?)
}

/// `MPI_Session_get_num_psets`
pub fn session_get_num_psets(
    session: MPI_Session,
    info: MPI_Info,
    npset_names: Ptr<c_int>,
) -> Outcome {
    session.get()?;
    hints(info)?;
    npset_names.set(SETS.len() as c_int)
}

/// `MPI_Session_get_nth_pset`: `pset_len` counts the null character, and zero asks for the length.
pub fn session_get_nth_pset(
    session: MPI_Session,
    info: MPI_Info,
    n: c_int,
    pset_len: Ptr<c_int>,
    pset_name: TextBuffer,
) -> Outcome {
    session.get()?;
    hints(info)?;
    let Some(set) = usize::try_from(n).ok().and_then(|n| SETS.get(n)) else {
        let why = format!("there is no set of processes {n}; there are {}", SETS.len());
        return Err(Failure::new(MPI_ERR_ARG, why));
    };
    pset_name.write(set, usize::try_from(pset_len.get()?).unwrap_or(0))?;
    pset_len.set(set.len() as c_int + 1)
}

/// `MPI_Session_get_pset_info`
pub fn session_get_pset_info(
    session: MPI_Session,
    pset_name: Text,
    info: Ptr<MPI_Info>,
) -> Outcome {
    session.get()?;
    let size = processes(&pset_name.read()?)?.size();
    info.set(pairs(&[("mpi_size", size.to_string())])?)
}

/// `MPI_Group_from_session_pset`
pub fn group_from_session_pset(
    session: MPI_Session,
    pset_name: Text,
    newgroup: Ptr<MPI_Group>,
) -> Outcome {
    session.get()?;
    newgroup.set(give(processes(&pset_name.read()?)?))
}

/// `MPI_Comm_create_from_group`
pub fn comm_create_from_group(
    group: MPI_Group,
    stringtag: Text,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newcomm: Ptr<MPI_Comm>,
) -> Outcome {
    asked(errhandler, Kind::Comm, Handle::<Communicator>::NULL, |handler| {
        let group = group.get()?;
        hints(info)?;
        if group.is_empty() {
            return newcomm.set(Handle::NULL);
        }
        let comm = job::world()?.create_group(group, tag_of(&stringtag.read()?))?;
        newcomm.set(Handle::new(Communicator::new(comm, handler)))
    })
}

/// `MPI_Abi_get_info`
pub fn abi_get_info(info: Ptr<MPI_Info>) -> Outcome {
    let bytes = |size: usize| size.to_string();
    info.set(pairs(&[
        ("mpi_aint_size", bytes(size_of::<Aint>())),
        ("mpi_count_size", bytes(size_of::<Count>())),
        ("mpi_offset_size", bytes(size_of::<Count>())),
    ])?)
}

/// What a program has set about its Fortran (MPI-5.0 §20.5); once, before or after `MPI_Init`.
struct Fortran {
    info: Option<Info>,
    /// The bytes of true and of false.
    booleans: Option<(Vec<u8>, Vec<u8>)>,
}

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran { info: None, booleans: None });

fn given_before(what: &str) -> Failure {
    Failure::new(MPI_ERR_ABI, format!("the {what} of Fortran have been given before"))
}

/// `MPI_Abi_set_fortran_info`
pub fn abi_set_fortran_info(info: MPI_Info) -> Outcome {
    let info = info.get()?.pairs().clone();
    let mut fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    if fortran.info.is_some() {
        return Err(given_before("properties"));
    }
    fortran.info = Some(info);
    Ok(())
}

/// `MPI_Abi_get_fortran_info`: null unless it has been set.
pub fn abi_get_fortran_info(info: Ptr<MPI_Info>) -> Outcome {
    let given = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner).info.clone();
    info.set(given.map_or(Handle::NULL, |given| Handle::new(InfoObject::new(given))))
}

/// The bytes of a logical.
fn logical_bytes(logical_size: c_int) -> Outcome<usize> {
    match logical_size {
        1 | 2 | 4 | 8 | 16 => Ok(logical_size as usize),
        _ => {
            let why = format!("{logical_size} is no size of a logical of Fortran");
            Err(Failure::new(MPI_ERR_ARG, why))
        }
    }
}

/// `MPI_Abi_set_fortran_booleans`
pub fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: Address,
    logical_false: Address,
) -> Outcome {
    let bytes = logical_bytes(logical_size)?;
    let booleans = (logical_true.read(bytes)?, logical_false.read(bytes)?);
    let mut fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    if fortran.booleans.is_some() {
        return Err(given_before("booleans"));
    }
    fortran.booleans = Some(booleans);
    Ok(())
}

/// `MPI_Abi_get_fortran_booleans`
pub fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: Address,
    logical_false: Address,
    is_set: Ptr<c_int>,
) -> Outcome {
    let bytes = logical_bytes(logical_size)?;
    let given = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner).booleans.clone();
    let given = given.filter(|(yes, _)| yes.len() == bytes);
    if let Some((yes, no)) = &given {
        logical_false.given()?;
        logical_true.place::<u8>().set_all(yes.iter().copied())?;
        logical_false.place::<u8>().set_all(no.iter().copied())?;
    }
    is_set.set(given.is_some().into())
}

/// `MPI_Pcontrol`: level 0 switches the trace off (`rmarun --trace`), 1 on; 2 would flush it, which it needs not. Level 3
/// begins a region of the program with the name that follows, a larger one `region 4` and so on; a level below zero
/// ends the latest region of the level without its sign.
pub fn pcontrol(level: c_int, more: Text) -> Outcome {
    match level {
        0 | 1 => crate::job::set_traced(level != 0),
        2 => {}
        3 => region::begin(level, &more.read()?),
        4.. => region::begin(level, &format!("region {level}")),
        _ => region::end(level.wrapping_neg()),
    }
    Ok(())
}
