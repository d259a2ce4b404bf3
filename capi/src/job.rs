//! This process as a rank: from `MPI_Init` to `MPI_Finalize`.

use crate::abi::*;
use crate::arguments::Address;
use crate::comm::Communicator;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object};
use crate::handler::Handler;
use onesided::{Memory, Universe};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// How far this process is.
enum Phase {
    Before,
    Running { universe: Universe, main: ThreadId, level: c_int },
    After,
}

static PHASE: Mutex<Phase> = Mutex::new(Phase::Before);

thread_local! {
    /// The last error of this thread, for `MPI_Error_string`.
    static LAST: RefCell<Option<(c_int, String)>> = const { RefCell::new(None) };
}

fn phase() -> MutexGuard<'static, Phase> {
    PHASE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Init_thread`
pub fn begin(level: c_int) -> Outcome {
    let mut phase = phase();
    if !matches!(*phase, Phase::Before) {
        return Err(Failure::new(MPI_ERR_OTHER, "MPI has been initialised before"));
    }
    let universe = Universe::init()?;
    // The first two places of the table: see `predefined`.
    for comm in [universe.world(), universe.self_comm()] {
        Handle::new(Communicator::new(comm.clone(), Handler::Fatal));
    }
    *phase = Phase::Running { universe, main: std::thread::current().id(), level };
    Ok(())
}

/// `MPI_Finalize`: whatever the program has not freed goes with it.
pub fn end() -> Outcome {
    let running = std::mem::replace(&mut *phase(), Phase::After);
    let Phase::Running { universe, .. } = running else {
        *phase() = running;
        return Err(not_running());
    };
    drop(crate::window::Window::table().clear());
    drop(Communicator::table().clear());
    drop(universe);
    Ok(())
}

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF`, between `MPI_Init` and `MPI_Finalize`.
pub fn predefined(value: usize) -> Option<&'static Communicator> {
    let place = value.checked_sub(MPI_COMM_WORLD)?;
    (place < 2).then(|| Communicator::table().first(place as u32))?
}

pub fn has_begun() -> bool {
    !matches!(*phase(), Phase::Before)
}

pub fn is_over() -> bool {
    matches!(*phase(), Phase::After)
}

/// The level of thread support, and whether this thread is the one that initialised.
pub fn threads() -> Outcome<(c_int, bool)> {
    match &*phase() {
        Phase::Running { main, level, .. } => Ok((*level, *main == std::thread::current().id())),
        _ => Err(not_running()),
    }
}

fn not_running() -> Failure {
    Failure::new(MPI_ERR_OTHER, "MPI is not initialised, or finalised already")
}

/// Memory that the program has asked for (`MPI_Alloc_mem`), by its address.
static ALLOCATED: Mutex<BTreeMap<usize, Memory<u8>>> = Mutex::new(BTreeMap::new());

fn allocated() -> MutexGuard<'static, BTreeMap<usize, Memory<u8>>> {
    ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Alloc_mem`
pub fn allocate(bytes: usize) -> Outcome<Address> {
    let memory = match &*phase() {
        Phase::Running { universe, .. } => universe.alloc_mem::<u8>(bytes)?,
        _ => return Err(not_running()),
    };
    let address = Address::of(memory.as_ptr());
    allocated().insert(address.value(), memory);
    Ok(address)
}

/// `MPI_Free_mem`
pub fn free(base: Address) -> Outcome {
    match allocated().remove(&base.value()) {
        Some(memory) => {
            drop(memory);
            Ok(())
        }
        None => {
            let why = format!("{base} is no address that MPI_Alloc_mem has given");
            Err(Failure::new(MPI_ERR_BASE, why))
        }
    }
}

/// Keeps an error that the program is told, for `MPI_Error_string`.
pub fn remember(code: c_int, text: String) {
    LAST.with(|last| *last.borrow_mut() = Some((code, text)));
}

/// The sentence of this thread's last error, if it had that code.
pub fn recall(code: c_int) -> Option<String> {
    LAST.with(|last| last.borrow().clone()).filter(|(last, _)| *last == code).map(|(_, text)| text)
}

/// Ends this process as failed, with a sentence; the launcher then ends the job.
#[expect(clippy::disallowed_methods, reason = "a fatal error ends the rank, and so the job")]
pub fn abort(text: &str, code: c_int) -> ! {
    eprintln!("{text}");
    // What the shell sees is one byte, and zero would be no failure.
    std::process::exit(if code & 0xFF == 0 { 1 } else { code & 0xFF })
}
