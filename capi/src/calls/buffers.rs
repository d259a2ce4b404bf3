//! The buffers of buffered sends (MPI-4.1 §3.6). The library needs none, because a buffered send is
//! complete when it returns. But it checks that the program has attached a large enough one, because the
//! program would fail under another MPI otherwise.

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::failure::{Failure, Outcome};
use crate::raise::Owner;
use crate::request::Request;
use crate::settled;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a buffer is attached to: the process, or the handle of a communicator or session.
type Holder = usize;

const PROCESS: Holder = 0;

/// Where the attached buffers are, and how many bytes they have.
static ATTACHED: Mutex<BTreeMap<Holder, (Address, i64)>> = Mutex::new(BTreeMap::new());

fn attached() -> MutexGuard<'static, BTreeMap<Holder, (Address, i64)>> {
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a buffered send of that many bytes if they do not fit the buffer of its communicator or,
/// without one, that of the process (MPI-4.1 §3.6.1).
pub(super) fn check_space(comm: MPI_Comm, bytes: Option<u64>) -> Outcome {
    let needed = bytes.map_or(i64::MAX, |bytes| bytes as i64);
    let needed = needed.saturating_add(MPI_BSEND_OVERHEAD.into());
    let attached = attached();
    match attached.get(&comm.value()).or_else(|| attached.get(&PROCESS)) {
        Some((start, _)) if start.value() == MPI_BUFFER_AUTOMATIC => Ok(()),
        Some((_, size)) if needed <= *size => Ok(()),
        Some((_, size)) => {
            let why = format!("the message needs {needed} bytes of the buffer, which has {size}");
            Err(Failure::new(MPI_ERR_BUFFER, why))
        }
        None => Err(Failure::new(MPI_ERR_BUFFER, "no buffer is attached for buffered sends")),
    }
}

fn attach<C: Number>(holder: Holder, buffer: Address, size: C) -> Outcome {
    let mut attached = attached();
    if attached.contains_key(&holder) {
        return Err(Failure::new(MPI_ERR_BUFFER, "a buffer is attached already"));
    }
    if size.wide() < 0 {
        return Err(Failure::new(MPI_ERR_ARG, format!("the size {size} is negative")));
    }
    if buffer.is_null() {
        return Err(Failure::new(MPI_ERR_BUFFER, "the buffer is null"));
    }
    attached.insert(holder, (buffer, size.wide()));
    Ok(())
}

fn detach<C: Number>(holder: Holder, buffer_addr: Address, size: Ptr<C>) -> Outcome {
    let mut attached = attached();
    let Some((start, bytes)) = attached.get(&holder).copied() else {
        return Err(Failure::new(MPI_ERR_BUFFER, "no buffer is attached"));
    };
    let bytes = super::narrow(bytes)?;
    buffer_addr.place().set(start)?;
    size.set(bytes)?;
    attached.remove(&holder);
    Ok(())
}

/// `MPI_Buffer_attach`
pub fn buffer_attach<C: Number>(buffer: Address, size: C) -> Outcome {
    attach(PROCESS, buffer, size)
}

/// `MPI_Buffer_detach`
pub fn buffer_detach<C: Number>(buffer_addr: Address, size: Ptr<C>) -> Outcome {
    detach(PROCESS, buffer_addr, size)
}

/// `MPI_Buffer_flush`: every buffered send is complete already.
pub fn buffer_flush() -> Outcome {
    Ok(())
}

/// `MPI_Buffer_iflush`
pub fn buffer_iflush(request: Ptr<MPI_Request>) -> Outcome {
    request.set(Request::complete(&settled::OPERATIONS, Owner::None))
}

/// `MPI_Comm_attach_buffer`
pub fn comm_attach_buffer<C: Number>(comm: MPI_Comm, buffer: Address, size: C) -> Outcome {
    comm.get()?;
    attach(comm.value(), buffer, size)
}

/// `MPI_Comm_detach_buffer`
pub fn comm_detach_buffer<C: Number>(
    comm: MPI_Comm,
    buffer_addr: Address,
    size: Ptr<C>,
) -> Outcome {
    comm.get()?;
    detach(comm.value(), buffer_addr, size)
}

/// `MPI_Comm_flush_buffer`
pub fn comm_flush_buffer(comm: MPI_Comm) -> Outcome {
    comm.get().map(drop)
}

/// `MPI_Comm_iflush_buffer`
pub fn comm_iflush_buffer(comm: MPI_Comm, request: Ptr<MPI_Request>) -> Outcome {
    comm.get()?;
    request.set(Request::complete(&settled::OPERATIONS, Owner::Comm(comm)))
}

/// `MPI_Session_attach_buffer`
pub fn session_attach_buffer<C: Number>(session: MPI_Session, buffer: Address, size: C) -> Outcome {
    session.get()?;
    attach(session.value(), buffer, size)
}

/// `MPI_Session_detach_buffer`
pub fn session_detach_buffer<C: Number>(
    session: MPI_Session,
    buffer_addr: Address,
    size: Ptr<C>,
) -> Outcome {
    session.get()?;
    detach(session.value(), buffer_addr, size)
}

/// `MPI_Session_flush_buffer`
pub fn session_flush_buffer(session: MPI_Session) -> Outcome {
    session.get().map(drop)
}

/// `MPI_Session_iflush_buffer`
pub fn session_iflush_buffer(session: MPI_Session, request: Ptr<MPI_Request>) -> Outcome {
    session.get()?;
    request.set(Request::complete(&settled::OPERATIONS, Owner::None))
}
