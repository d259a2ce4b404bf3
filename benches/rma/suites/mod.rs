//! What is measured, by the number of ranks that it needs.

mod alignment;
pub mod collectives;
pub mod contended;
pub mod datatypes;
pub mod disturbed;
pub mod epochs;
mod flavours;
pub mod foreign;
pub mod layouts;
mod memory;
pub mod messages;
pub mod moves;
mod paging;
pub mod programs;
mod startup;
pub mod trace;
pub mod waiting;

use crate::Options;
use clap::ValueEnum;
use onesided::{ThreadLevel, Universe};

/// A program that the driver starts under rmarun, or, of those with another MPI, by its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Suite {
    /// Rank 0 moves data and locks, while the others wait.
    Moves,
    /// Rank 0 works on windows over memory of each kind.
    Flavours,
    /// Rank 0 works on memory of every alignment, while the others wait.
    Alignment,
    /// Rank 0 puts by derived datatypes, while the others wait.
    Layouts,
    /// Rank 0 touches and uses windows whose pages were asked for in different ways.
    Paging,
    /// One rank copies by derived datatypes.
    Datatypes,
    /// All ranks synchronise.
    Epochs,
    /// All ranks want the same word or lock.
    Contended,
    /// Fences one by one, beside busy processes and after; waiting for long.
    Waiting,
    /// Collectives of all ranks.
    Collectives,
    /// Ranks synchronise after something has disturbed them.
    Disturbed,
    /// Ranks send and receive, in pairs and round all of them.
    Messages,
    /// All ranks look at the memory that they use.
    Memory,
    /// Whole programs.
    Programs,
    /// Whole programs by this library alone, in jobs that are checked and others.
    Check,
    /// Rank 0 puts, where MPICH's launcher has started the job, on ranks of one node.
    Foreign,
    /// The same as on two nodes.
    ForeignFar,
    /// Ranks of one node that MPICH's launcher has started put, accumulate and fence; and under rmarun.
    ForeignNode,
    /// The same on one of two nodes; runs with it.
    ForeignNodes,
    /// One rank puts, in a job that is traced and in another.
    Trace,
    /// Joins the job, allocates a window, fences once, and ends.
    Startup,
    /// Ends at once, without joining any job.
    Nothing,
}

impl Suite {
    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no suite is hidden").get_name().to_owned()
    }
}

/// Beside a program in C that calls `MPI_Init`, one thread at a time, unless MPICH's variable asks for more.
#[allow(clippy::disallowed_methods, reason = "a variable of another MPI")]
fn threads(suite: Suite) -> ThreadLevel {
    let asked = std::env::var("MPIR_CVAR_DEFAULT_THREAD_LEVEL");
    match (suite, asked.as_deref()) {
        (_, Ok("MPI_THREAD_MULTIPLE")) => ThreadLevel::Multiple,
        (Suite::Foreign | Suite::ForeignFar, _) => ThreadLevel::Serialized,
        _ => ThreadLevel::Multiple,
    }
}

/// Runs a suite as one rank of its job.
pub fn run(suite: Suite, options: &Options) {
    if suite == Suite::Nothing {
        return;
    }
    let universe = Universe::init_thread(threads(suite)).expect("a rank joins its job");
    let world = universe.world();
    match suite {
        Suite::Moves => moves::run(world, options),
        Suite::Flavours => flavours::run(&universe, options),
        Suite::Alignment => alignment::run(world, options),
        Suite::Layouts => layouts::run(world, options),
        Suite::Paging => paging::run(world, options),
        Suite::Datatypes => datatypes::run(options),
        Suite::Epochs => epochs::run(world, options),
        Suite::Contended => contended::run(world, options),
        Suite::Waiting => waiting::run(world, options),
        Suite::Collectives => collectives::run(world, options),
        Suite::Disturbed => disturbed::run(world, options),
        Suite::Messages => messages::run(world, options),
        Suite::Memory => memory::run(world),
        Suite::Programs => programs::run(world, options),
        Suite::Check => programs::run_alone(world, options),
        Suite::Foreign => foreign::run(world, foreign::NEAR, options),
        Suite::ForeignFar => foreign::run(world, foreign::FAR, options),
        Suite::ForeignNode => foreign::run_near(world, options),
        Suite::ForeignNodes => foreign::run_on_nodes(world, options),
        Suite::Trace => trace::run(world, options),
        Suite::Startup => startup::run(world, options),
        Suite::Nothing => {}
    }
}
