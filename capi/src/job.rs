//! This process as a rank: from `MPI_Init`, or its first session, to `MPI_Finalize`.

use crate::abi::*;
use crate::arguments::Address;
use crate::attribute;
use crate::comm::Communicator;
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::file::File;
use crate::handle::{Handle, Object};
use crate::handler::HandlerRef;
use crate::message::MessageObject;
use crate::request::Request;
use crate::window::Window;
use onesided::engine::{Waits, numbers_of};
use onesided::launch::{Figures, RankStatistics};
use onesided::{Comm, Error, Memory, Universe};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

/// This process in its job. It joins with `MPI_Init` or its first session. It leaves with `MPI_Finalize`
/// or, if that comes later, its last session; without `MPI_Init`, when the process ends.
struct Job {
    universe: Option<Universe>,
    world: World,
    sessions: usize,
    /// A fatal error ends the process.
    has_failed: bool,
}

/// The state of the world model (MPI-4.1 §11.2).
enum World {
    Before,
    Running { main: ThreadId, level: c_int },
    After,
}

static JOB: Mutex<Job> =
    Mutex::new(Job { universe: None, world: World::Before, sessions: 0, has_failed: false });

thread_local! {
    /// The last error of this thread, for `MPI_Error_string`.
    static LAST: RefCell<Option<(c_int, String)>> = const { RefCell::new(None) };
}

fn job() -> MutexGuard<'static, Job> {
    JOB.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    fn join(&mut self) -> Outcome {
        if self.universe.is_none() {
            self.enter(Universe::init()?);
        }
        Ok(())
    }

    fn enter(&mut self, universe: Universe) {
        // The first two places of the table: see `predefined`.
        for comm in [universe.world(), universe.self_comm()] {
            Handle::new(Communicator::new(comm.clone(), HandlerRef::FATAL));
        }
        Request::table().prefer(universe.may_prefer());
        Request::settle();
        crate::datatype::prepare();
        universe.find_lines_by(
            crate::line::of_program,
            crate::line::of_caller,
            crate::line::program(),
        );
        self.universe = Some(universe);
    }

    fn universe(&self) -> Outcome<&Universe> {
        self.universe.as_ref().ok_or_else(not_running)
    }
}

/// Leaves the job in `call`. Frees what the program has not freed, and reports what it should have
/// completed (MPI-4.1 §11.2.4). Nothing is locked meanwhile, because a delete function that has failed is
/// called once more.
fn leave(job: MutexGuard<'_, Job>, call: &str) {
    let Ok(universe) = job.universe() else { return };
    let (world, sessions) = (universe.world().clone(), job.sessions);
    drop(job);
    if let Err(Error::Forked { .. }) = world.await_all_fetched() {
        // The parent process is still in it.
        return;
    }
    let (unfreed, unread) = (unfreed(), world.not_received());
    let mut open = Request::end_all();
    let messages = MessageObject::table().clear();
    let (windows, files) = (Window::table().clear(), File::table().clear());
    open.extend(messages.iter().map(|_| "matched message"));
    let in_epoch = windows.iter().filter(|window| !window.win.may_be_freed());
    open.extend(in_epoch.map(|_| "window epoch"));
    open.extend(files.iter().map(|_| "open file"));
    open.extend((0..sessions).map(|_| "session"));
    report(call, "completed", &open);
    unread.into_iter().for_each(|what| report_list(call, "received", &what));
    // All ranks mostly leave the same.
    if world.rank().0 == 0 || is_strict() {
        report(call, "freed", &unfreed);
    }
    drop((messages, windows, files, world));
    drop(Communicator::table().clear());
    let universe = self::job().universe.take();
    universe.into_iter().for_each(Universe::leave);
}

/// Reports what is left, if there is any.
fn report(call: &str, how: &str, left: &[&str]) {
    if !left.is_empty() {
        report_list(call, how, &numbers_of(left));
    }
}

/// Reports what is left; under `--strict` that is an error.
fn report_list(call: &str, how: &str, left: &str) {
    warn(&format!("{call} leaves the job before the rank has {how} {left}"));
    // What the end of the process calls must not end it.
    if is_strict() && call.starts_with("MPI_") {
        abort("onesided: this is an error under rmarun --strict", MPI_ERR_PENDING);
    }
}

/// What the program has made and not freed. What is wrong with a window in an epoch is reported anyway.
fn unfreed() -> Vec<&'static str> {
    let mut unfreed = Vec::new();
    Window::table().each(|one| unfreed.extend(one.win.may_be_freed().then_some("window")));
    Datatype::table().each(|one| unfreed.extend((!one.lasts()).then_some("datatype")));
    if cfg!(node) {
        // The program has those of another MPI.
        return unfreed;
    }
    let first = unfreed.len();
    Communicator::table().each(|_| unfreed.push("communicator"));
    // The first two are the world and the rank alone.
    unfreed.drain(first..unfreed.len().min(first + 2));
    unfreed
}

/// `MPI_Init_thread`
pub fn begin(level: c_int) -> Outcome {
    let mut job = job();
    if !matches!(job.world, World::Before) {
        return Err(Failure::new(MPI_ERR_OTHER, "MPI has been initialised before"));
    }
    job.join()?;
    job.world = World::Running { main: std::thread::current().id(), level };
    Ok(())
}

/// The other MPI's `MPI_Init_thread` has begun the job of `universe`.
#[cfg(node)]
pub fn begin_with(universe: Universe) -> Outcome {
    let mut job = job();
    job.enter(universe);
    job.world = World::Running { main: std::thread::current().id(), level: MPI_THREAD_MULTIPLE };
    Ok(())
}

/// `MPI_Finalize` (MPI-4.1 §11.2.4). First the attributes of `MPI_COMM_SELF` are deleted, the latest
/// first, while everything still works. A function that fails does not stop this.
pub fn end() -> Outcome {
    threads()?;
    let myself = MPI_Comm::predefined(MPI_COMM_SELF);
    let comm = &myself.get()?.comm;
    let _ = attribute::about(myself, || comm.delete_attributes());
    let mut job = job();
    job.world = World::After;
    if job.sessions == 0 {
        leave(job, "MPI_Finalize");
    } else {
        // At the latest.
        crate::exit::leave_at_end();
    }
    Ok(())
}

/// `MPI_Session_init`
pub fn open_session() -> Outcome {
    let mut job = job();
    job.join()?;
    job.sessions += 1;
    crate::exit::leave_at_end();
    Ok(())
}

/// `MPI_Session_finalize`
pub fn close_session() {
    let mut job = job();
    job.sessions = job.sessions.saturating_sub(1);
    if matches!(job.world, World::After) && job.sessions == 0 {
        leave(job, "MPI_Session_finalize");
    }
}

/// Leaves the job at the end of the process, if only sessions have joined it.
pub fn leave_after_sessions() {
    let job = job();
    if !matches!(job.world, World::Running { .. }) && !job.has_failed {
        leave(job, "the end of the process");
    }
}

/// The communicator of all ranks, whether by `MPI_Init` or by a session.
pub fn world() -> Outcome<Comm> {
    Ok(job().universe()?.world().clone())
}

/// What tools read of this rank, while it is in its job.
pub fn figures() -> Outcome<Figures> {
    Ok(job().universe().map_err(not_accessible)?.figures()?)
}

/// What this rank has counted, if its job counts.
pub fn counted() -> Outcome<RankStatistics> {
    let counted = job().universe().map_err(not_accessible)?.statistics()?;
    let why = "the job does not count calls: rmarun --stats or --report";
    counted.ok_or_else(|| Failure::new(MPI_T_ERR_NOT_ACCESSIBLE, why))
}

/// The tool interface can be used outside the job, but then there is no rank.
fn not_accessible(failure: Failure) -> Failure {
    Failure::new(MPI_T_ERR_NOT_ACCESSIBLE, failure.text.clone())
}

/// Switches the trace of this rank off or on, while it is in its job.
pub fn set_traced(is_traced: bool) {
    job().universe.iter().for_each(|universe| universe.set_traced(is_traced));
}

/// The number of ranks of the job, at a fixed address.
pub fn ranks() -> Option<&'static c_int> {
    static RANKS: OnceLock<c_int> = OnceLock::new();
    Some(RANKS.get_or_init(|| world().map_or(0, |world| world.size() as c_int)))
}

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF`, between `MPI_Init` and `MPI_Finalize`.
#[inline(always)]
pub fn predefined(value: usize) -> Option<&'static Communicator> {
    let place = value.checked_sub(MPI_COMM_WORLD)?;
    (place < 2).then(|| Handle::first(place as u32))?
}

pub fn has_begun() -> bool {
    !matches!(job().world, World::Before)
}

pub fn is_over() -> bool {
    matches!(job().world, World::After)
}

/// The level of thread support, and whether this thread is the one that initialised.
pub fn threads() -> Outcome<(c_int, bool)> {
    match &job().world {
        World::Running { main, level } => Ok((*level, *main == std::thread::current().id())),
        _ => Err(not_running()),
    }
}

fn not_running() -> Failure {
    Failure::new(MPI_ERR_OTHER, "MPI is not initialised, or finalised already")
}

/// Memory of `MPI_Alloc_mem`, by its address.
static ALLOCATED: Mutex<BTreeMap<usize, Memory<u8>>> = Mutex::new(BTreeMap::new());

fn allocated() -> MutexGuard<'static, BTreeMap<usize, Memory<u8>>> {
    ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Alloc_mem`
pub fn allocate(bytes: usize) -> Outcome<Address> {
    let memory = job().universe()?.alloc_mem::<u8>(bytes)?;
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

/// Waits until `done` returns true, handling messages meanwhile; `waits` is what it waits for.
pub fn progress_until(waits: Waits, done: impl FnMut() -> bool) -> Outcome {
    let world = MPI_Comm::predefined(MPI_COMM_WORLD).get()?;
    Ok(world.comm.progress_for(waits, done)?)
}

/// Lets threads of this rank that wait in [`progress_until`] look again.
pub fn wake() -> Outcome {
    Ok(MPI_Comm::predefined(MPI_COMM_WORLD).get()?.comm.wake()?)
}

/// Whether calls that the standard forbids, but other libraries accept, are refused.
pub fn is_strict() -> bool {
    static STRICT: OnceLock<bool> = OnceLock::new();
    *STRICT.get_or_init(onesided::launch::is_strict)
}

/// Prints a warning for the user, in one line with rank and program.
pub fn warn(text: &str) {
    let rank = world().map_or_else(|_| String::new(), |world| format!("rank {} ", world.rank().0));
    let program = std::env::args_os().next().unwrap_or_default();
    let line = format!("onesided: {rank}({}): {text}\n", program.to_string_lossy());
    let line = crate::text::bytes_of(&line);
    // A program may have closed its standard error.
    let _ = std::io::stderr().write_all(&line);
}

/// [`warn`], with the program's line.
pub fn warn_with_line(text: &str) {
    warn(&format!("{text}{}", crate::line::behind_a_sentence()));
}

/// Stores an error that a call returns, for `MPI_Error_string`.
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
    let _ = std::io::stderr().write_all(&crate::text::bytes_of(&format!("{text}\n")));
    // Sessions do not end here.
    job().has_failed = true;
    // The shell sees one byte, and zero would mean success.
    std::process::exit(if code & 0xFF == 0 { 1 } else { code & 0xFF })
}
