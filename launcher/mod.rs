//! `rmarun`: starts the ranks of a job, passes their output on, and ends them together.
//!
//! Two processes, so that the loss of one of them leaves nothing behind:
//!
//! - The **guard** is the process that the user started. It owns the name of a named segment, passes
//!   signals on and waits for the supervisor. If the supervisor is killed, it ends what remains.
//! - The **supervisor** is its child: it creates the job, starts the ranks, watches them and decides
//!   the exit code. If the guard is killed, it ends the job.
//!
//! Both are subreapers: every process that a rank starts, in any session, stays their descendant. The
//! kernel kills each rank when the supervisor dies. A stopped half does not prevent the other from
//! ending the job: the guard's signals, and its death, continue the supervisor.
//!
//! Invariants:
//! 1. The exit code is zero only if every rank ended with code zero, and all or none of them joined
//!    and left the job. Otherwise it is that of the first cause (`report`).
//! 2. When the guard ends, no process of the job lives and no name of it is in /dev/shm. The same
//!    holds soon after one half was killed. (If both are killed together, the ranks die, but their
//!    children may not.)
//! 3. The supervisor's main thread waits in one place (`watch`) and never for a reader of the ranks'
//!    output; only the relays' threads do.
//! 4. The receivers of a signal are read from the kernel's process tree at that time. A stored
//!    process number is that of a rank that has not been waited for.
//! 5. Ranks do not inherit the launcher's own changes (signal mask, limit of descriptors).

mod args;
mod binding;
mod cargo;
mod deadlock;
mod debugger;
mod foreground;
mod foreign;
mod guard;
mod inquiry;
mod limits;
mod oom;
mod output;
mod panes;
mod python;
mod ranks;
mod relay;
mod report;
mod segment;
mod signals;
mod sink;
mod status;
mod supervise;
#[cfg(feature = "test")]
pub mod testing;
mod top;
mod trace;
mod tree;
mod watch;
mod words;

use args::{Options, Parsed, Readers};
use limits::Need;
use output::Output;
use panes::Panes;
use report::Refusal;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use supervise::Own;

/// Does what a command line, of which the first word is the name of the program, asks for; returns the exit code of the
/// process.
pub fn main(line: impl IntoIterator<Item = OsString>) -> u8 {
    let options = match args::parse(line) {
        Parsed::Run(options) => options,
        Parsed::Inquire(pid, calls) => return inquiry::answer(pid, calls),
        Parsed::Top(pid) => return top::show(pid),
        Parsed::Attach(pid, rank) => return debugger::attach(pid, rank),
        // The launcher reports it if that has failed; here no user would read why.
        Parsed::HoldPane(pipe, number) => return u8::from(panes::hold(&pipe, number).is_err()),
        Parsed::Printed(code) => return code,
    };
    launch(*options).unwrap_or_else(|refusal| {
        report::print(&refusal.to_string());
        refusal.code()
    })
}

/// Runs a job from beginning to end. In both halves the result is the exit code of the process.
fn launch(mut options: Options) -> Result<u8, Refusal> {
    if let Some(target) = &options.target {
        options.programs[0].arguments = cargo::build(target, &options.programs[0].arguments)?;
    }
    let library = foreign::Library::of(options.mpi_library);
    for program in &mut options.programs {
        let missing = library.missing_for(program).filter(|_| !options.quiet);
        if python::interpret(program)
            && let Some(note) = missing
        {
            report::print(&note);
        }
        library.serve(program, options.verbose)?;
    }
    let debugger = debugger::of(&options)?;
    if !options.debugged.is_empty() && io::stdin().is_terminal() {
        // The kernel would stop a rank that reads while another has the terminal.
        options.stdin = Readers::None;
    }
    let refused = |what| move |error| Refusal::system(what, error);
    Need::of(options.ranks, Output::pipes(&options)).check()?;
    let panes = Panes::open(&options)?;
    // Before a name exists that a signal could leave behind.
    let taken = signals::take().map_err(refused("cannot take over the signals"))?;
    let plan = segment::plan(&options)?;
    match guard::split().map_err(refused("cannot start the supervisor"))? {
        guard::Half::Guard(supervisor) => {
            // Dropped when the job is over.
            let _segment = plan.create().inspect_err(|refusal| report::print(&refusal.to_string()));
            Ok(guard::watch(supervisor, &taken, panes.as_ref()))
        }
        guard::Half::Supervisor(guard) => {
            let Some(mut segment) = plan.open()? else { return Ok(report::LAUNCHER_FAILED) };
            let own = Own { taken, guard, debugger, panes: panes.as_ref() };
            let code = supervise::run(&options, &segment, own);
            if guard::is_gone(guard) {
                segment.take_back();
                panes.iter().for_each(Panes::close);
            }
            let code = code.unwrap_or_else(|refusal| {
                report::print(&refusal.to_string());
                refusal.code()
            });
            panes.iter().for_each(Panes::print_how_to_leave);
            Ok(code)
        }
    }
}
