//! The buffers of buffered sends (MPI-4.1 §3.6). The library needs none, because a buffered send is
//! complete when it returns; but it checks that the program has attached one with room, without which
//! it would fail elsewhere.

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::failure::{Failure, Outcome};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is attached: where, and how many bytes.
type Attached = Option<(Address, i64)>;

static ATTACHED: Mutex<Attached> = Mutex::new(None);

fn attached() -> MutexGuard<'static, Attached> {
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a buffered send of so many bytes, if no buffer has room for it.
pub(super) fn check_room(bytes: Option<u64>) -> Outcome {
    let needed = bytes.map_or(i64::MAX, |bytes| bytes as i64);
    let needed = needed.saturating_add(MPI_BSEND_OVERHEAD.into());
    match *attached() {
        Some((start, _)) if start.value() == MPI_BUFFER_AUTOMATIC => Ok(()),
        Some((_, size)) if needed <= size => Ok(()),
        Some((_, size)) => {
            let why = format!("the message needs {needed} bytes of the buffer, which has {size}");
            Err(Failure::new(MPI_ERR_BUFFER, why))
        }
        None => Err(Failure::new(MPI_ERR_BUFFER, "no buffer is attached for buffered sends")),
    }
}

/// `MPI_Buffer_attach`
pub fn buffer_attach<C: Number>(buffer: Address, size: C) -> Outcome {
    let mut attached = attached();
    if attached.is_some() {
        return Err(Failure::new(MPI_ERR_BUFFER, "a buffer is attached already"));
    }
    if size.wide() < 0 {
        return Err(Failure::new(MPI_ERR_ARG, format!("the size {size} is negative")));
    }
    if buffer.is_null() {
        return Err(Failure::new(MPI_ERR_BUFFER, "the buffer is null"));
    }
    *attached = Some((buffer, size.wide()));
    Ok(())
}

/// `MPI_Buffer_detach`
pub fn buffer_detach<C: Number>(buffer_addr: Address, size: Ptr<C>) -> Outcome {
    let mut attached = attached();
    let Some((start, bytes)) = *attached else {
        return Err(Failure::new(MPI_ERR_BUFFER, "no buffer is attached"));
    };
    let bytes = super::narrow(bytes)?;
    buffer_addr.place().set(start)?;
    size.set(bytes)?;
    *attached = None;
    Ok(())
}

/// `MPI_Buffer_flush`: every buffered send is complete already.
pub fn buffer_flush() -> Outcome {
    Ok(())
}
