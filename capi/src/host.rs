//! The MPI of a program that has this library in `LD_PRELOAD` (`libonesided_node.so`).
//!
//! The other MPI has the program's handles, and begins and ends the job. The ranks of a node that have this library are a
//! job of it beside that. A window over a communicator of such ranks is one of this library; its handle is that of a
//! window of the other MPI without memory, so that names, attributes and error handlers are there.
//!
//! 1. Whether a window is one of this library is decided by what all ranks of its communicator know alike.
//! 2. Errors are raised by the other MPI, on the handler of its window or communicator, with the class of the ABI.
//! 3. Its functions are looked for in its library alone, because this one has functions of the same names: `MPI_…`, and
//!    `PMPI_…` for a program that puts itself in between.

mod datatype;
mod handles;
mod library;

use crate::abi::*;
use crate::arguments::{Address, Ptr};
use crate::comm::Communicator;
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::handle::{Handle, Object};
use crate::handler::HandlerRef;
use crate::raise::Owner;
use crate::window::Window;
use crate::{job, line};
use handles::Handles;
use library::{Keyval, checked};
use onesided::{Group, Info, Rank, Universe};
use std::ffi::c_int;
use std::io::Write;
use std::sync::OnceLock;

/// The windows of this library, by the other MPI's handles.
static WINDOWS: Handles = Handles::new();
/// The same of datatypes that the program has made.
static DATATYPES: Handles = Handles::new();
/// What this rank shares with others of its node.
static NODE: OnceLock<Node> = OnceLock::new();

struct Node {
    /// The other MPI's group of the ranks of this library's world.
    group: usize,
    /// The key of communicators by which the one of this library is found.
    comms: Keyval,
    /// The same of datatypes, which are forgotten when the program frees them.
    datatypes: Keyval,
}

/// The program has initialised the other MPI.
pub fn begin() {
    if onesided::launch::is_rank() {
        // The other MPI is this library, under rmarun.
        return;
    }
    match Universe::within() {
        Ok(Some(universe)) => {
            let Some(comm) = universe.host_comm() else { return };
            let node = library::comm_group(comm).and_then(|group| {
                Ok(Node { group, comms: keep_comms()?, datatypes: datatype::keep()? })
            });
            // A failure would be the same on all ranks: it comes of no argument.
            if let (Ok(node), Ok(())) = (node, job::begin_with(universe)) {
                NODE.get_or_init(|| node);
            }
        }
        Ok(None) => {}
        Err(why) => warn(&format!("libonesided_node.so does nothing: {why}")),
    }
}

/// The program finalizes the other MPI.
pub fn end() {
    if NODE.get().is_some() {
        // It is in the job.
        let _ = job::end();
    }
}

fn warn(text: &str) {
    let line = format!("onesided: {text}\n");
    // A program may have closed its standard error.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The key of the communicators of this library.
fn keep_comms() -> Outcome<Keyval> {
    extern "C" fn forget(_: usize, _: c_int, value: usize, _: usize) -> c_int {
        if let Ok(comm) = MPI_Comm::predefined(value).remove() {
            let _ = comm.comm.free();
        }
        MPI_SUCCESS
    }
    library::comm_keyval(forget)
}

/// The communicator of this library of the ranks of one of the other MPI, if they share memory.
///
/// Collective over it, if they do; blocks until every rank has called it.
pub fn native(comm: MPI_Comm) -> Outcome<Option<MPI_Comm>> {
    let Some(node) = NODE.get().filter(|_| !job::is_over()) else { return Ok(None) };
    if comm == Handle::NULL || library::is_between_groups(comm.value()).unwrap_or(true) {
        return Ok(None);
    }
    if let Some(known) = library::comm_attribute(comm.value(), node.comms)? {
        return Ok(Some(MPI_Comm::predefined(known)));
    }
    let group = library::comm_group(comm.value())?;
    let ranks = library::ranks_in(group, node.group);
    library::free_group(group)?;
    let Some(ranks) = ranks? else { return Ok(None) };
    let world = job::world()?;
    if ranks.len() == 1 {
        return Ok(Some(MPI_Comm::predefined(MPI_COMM_SELF)));
    }
    if ranks.iter().copied().eq(0..world.size()) && comm.value() == MPI_COMM_WORLD {
        return Ok(Some(MPI_Comm::predefined(MPI_COMM_WORLD)));
    }
    // Threads that do this at the same time have communicators of their own, and so numbers of their own.
    let number = library::number_of_first(comm.value())?;
    let made = world.create_group(&world.group().incl(&ranks)?, number)?;
    let ours = Handle::new(Communicator::new(made, HandlerRef::FATAL));
    library::set_comm_attribute(comm.value(), node.comms, ours.value())?;
    Ok(Some(ours))
}

/// Gives the program, for the new window `win` of this library, one of the other MPI over the communicator.
///
/// Collective; blocks until every rank has called it.
pub fn adopt(info: MPI_Info, comm: MPI_Comm, win: Ptr<MPI_Win>) -> Outcome {
    let ours = win.get()?;
    let theirs = library::create_window(info.value(), comm.value());
    let theirs = theirs.inspect_err(|_| {
        // The error is the one to report.
        let _ = ours.remove().map(|window| window.win.free());
    })?;
    WINDOWS.insert(theirs, ours.value());
    win.set(MPI_Win::predefined(theirs))
}

/// Whether the other MPI may succeed where the creation of a window has failed, on all ranks: memory of the segment is
/// short, or the kernel does not let ranks access each other's. If so, the first rank of the communicator reports it.
pub fn may_do(failure: &Failure, comm: MPI_Comm) -> bool {
    let may = matches!(failure.code, MPI_ERR_NO_MEM | MPI_ERR_OTHER) && failure.owner.is_none();
    if may && library::is_first(comm.value()) {
        warn(&format!("a window is left to the other MPI, which is slower: {}", failure.text));
    }
    may
}

/// The window of this library that a handle of the other MPI stands for.
#[inline]
pub fn ours(win: MPI_Win) -> Option<MPI_Win> {
    WINDOWS.find(win.value()).map(MPI_Win::predefined)
}

/// That window itself.
pub fn window(theirs: usize) -> Option<&'static Window> {
    ours(MPI_Win::predefined(theirs))?.find_made()
}

/// Whether a window of the program is one of this library.
#[inline]
pub fn is_ours(win: MPI_Win) -> bool {
    ours(win).is_some()
}

/// Whether `keyval` is that of an attribute of which this library knows the value.
pub fn has_attribute(keyval: c_int) -> bool {
    (MPI_WIN_BASE..=MPI_WIN_MODEL).contains(&keyval)
}

/// A datatype that the program has made in the other MPI.
pub fn datatype(theirs: usize) -> Option<&'static Datatype> {
    let node = NODE.get()?;
    let known = DATATYPES.find(theirs).map(MPI_Datatype::predefined);
    known.or_else(|| datatype::translate(theirs, node.datatypes).ok())?.find_made()
}

/// `MPI_Win_free`: the other MPI calls the delete functions of attributes while the window is there.
pub fn win_free(win: Ptr<MPI_Win>) -> Outcome {
    let theirs = win.get()?.value();
    let Some(ours) = ours(win.get()?) else { return Ok(()) };
    let window = ours.get()?;
    window.win.agree_to_free(Ok(()))?;
    library::free_window(theirs)?;
    WINDOWS.remove(theirs);
    let freed = ours.remove()?.win.free();
    win.set(Handle::NULL)?;
    // The window's error handler is not there any more.
    freed.map_err(|error| Failure::from(error).of(Owner::None))
}

/// A group of the other MPI, in this library's world.
pub fn group(group: MPI_Group) -> Outcome<Group> {
    let node = NODE.get().ok_or_else(|| Failure::new(MPI_ERR_OTHER, "MPI is not initialised"))?;
    if group == Handle::NULL {
        return Err(Failure::new(MPI_ERR_GROUP, "the MPI_Group is null"));
    }
    match library::ranks_in(group.value(), node.group)? {
        Some(ranks) => Ok(job::world()?.group().incl(&ranks)?),
        None => {
            let why = "the group has ranks that are not in the window";
            Err(Failure::new(MPI_ERR_GROUP, why))
        }
    }
}

/// The hints of an info of the other MPI. Those that this library cannot have are left out.
pub fn hints(info: MPI_Info) -> Outcome<Info> {
    let mut hints = Info::new();
    for (key, value) in library::pairs(info.value())? {
        let _ = hints.set(&key, &value);
    }
    Ok(hints)
}

/// A new info of the other MPI.
pub fn info(hints: &Info) -> Outcome<MPI_Info> {
    Ok(MPI_Info::predefined(library::new_info(hints)?))
}

/// Completes an operation, and gives the program a request of the other MPI that is complete.
pub fn request(operation: onesided::Request<'static>, request: Ptr<MPI_Request>) -> Outcome {
    drop(operation);
    request.set(MPI_Request::predefined(library::complete_request()?))
}

/// Memory of the segment, which other ranks of the node reach; `None` if there is none.
pub fn allocate(size: Aint) -> Option<Address> {
    let bytes = usize::try_from(size).ok().filter(|bytes| *bytes != 0)?;
    NODE.get().filter(|_| !job::is_over())?;
    job::allocate(bytes).ok()
}

/// Frees memory of [`allocate`]; whether it is that.
pub fn free(base: Address) -> bool {
    job::free(base).is_ok()
}

/// Raises an error by the other MPI, by a code of its own for the class, which has the sentence; the code.
pub fn raise(owner: Owner, class: c_int, sentence: String) -> c_int {
    let (of, handle) = match owner {
        // It is the code.
        Owner::Raised => return class,
        Owner::Win(win) => (library::Of::Window, win.value()),
        Owner::Comm(comm) => (library::Of::Communicator, comm.value()),
        _ => (library::Of::Communicator, MPI_COMM_SELF),
    };
    let code = library::error_code(class, &(sentence + &line::behind_a_sentence()));
    library::raise(of, handle, code);
    code
}

/// The failure of a call of the other MPI, which has raised it.
fn raised(code: c_int) -> Failure {
    Failure::new(code, "the other MPI reports it").of(Owner::Raised)
}
