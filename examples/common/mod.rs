//! What the examples share: ranks that stop together, options, a progress bar, output.

mod bar;

pub use bar::progress;
use clap::Parser;
use indicatif::HumanCount;
use onesided::{Comm, Op, Rank, Universe};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a rank stops before its work is done.
pub enum Failure {
    /// This rank has found what is wrong, and reports it.
    Here(String),
    /// Another rank has found it; this one ends in silence, so that the job's verdict is that
    /// rank's.
    Elsewhere,
    /// What the argument parser has to tell: the help, or what is wrong with the options.
    Options(clap::Error),
    /// A call of the library failed.
    Library(onesided::Error),
}

impl From<onesided::Error> for Failure {
    fn from(error: onesided::Error) -> Self {
        Failure::Library(error)
    }
}

/// Joins the job, reads the options and runs the example's `body`; the exit code of its rank.
pub fn run<O: Parser>(body: impl FnOnce(&Comm, O) -> Result<(), Failure>) -> ExitCode {
    let outcome = Universe::init().map_err(Failure::from).and_then(|universe| {
        let world = universe.world();
        body(world, options(world)?)
    });
    exit(outcome)
}

/// Prints the error, if this rank is the one to report it, and returns the exit code.
pub fn exit(outcome: Result<(), Failure>) -> ExitCode {
    let sentence = match outcome {
        Ok(()) | Err(Failure::Elsewhere) => return ExitCode::SUCCESS,
        Err(Failure::Options(message)) => {
            // A closed stream is no reason to fail differently.
            let _ = message.print();
            return ExitCode::from(message.exit_code() as u8);
        }
        Err(Failure::Here(sentence)) => sentence,
        Err(Failure::Library(error)) => error.to_string(),
    };
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    eprintln!("{}: {sentence}", program.file_name().unwrap_or_default().display());
    ExitCode::FAILURE
}

/// The options of the command line. Every rank reads the same; only rank 0 talks about them.
pub fn options<O: Parser>(world: &Comm) -> Result<O, Failure> {
    O::try_parse().map_err(|message| match world.rank().0 {
        0 => Failure::Options(message),
        _ => Failure::Elsewhere,
    })
}

/// The same for a program that joins the job itself. This joins it only when there is something to
/// report, so that one rank reports it.
pub fn options_before_joining<O: Parser>() -> Result<O, Failure> {
    O::try_parse().or_else(|_| options(Universe::init()?.world()))
}

/// Ends a step that can fail on one rank alone: if it failed anywhere, no rank goes on, so none
/// waits for one that has left. The first rank that failed reports why; so a failure that all ranks
/// share is reported once.
///
/// Collective.
pub fn agree<T>(world: &Comm, outcome: Result<T, impl Into<Failure>>) -> Result<T, Failure> {
    let mine = if outcome.is_ok() { u32::MAX } else { world.rank().0 };
    let first = world.allreduce(&[mine], Op::Min)?[0];
    match outcome {
        Ok(_) if first != u32::MAX => Err(Failure::Elsewhere),
        Err(_) if first != world.rank().0 => Err(Failure::Elsewhere),
        outcome => outcome.map_err(Into::into),
    }
}

/// The bytes of rank 0, on every rank, which need not know how many there are.
///
/// Collective.
pub fn broadcast(world: &Comm, mut bytes: Vec<u8>) -> onesided::Result<Vec<u8>> {
    let mut length = [bytes.len() as u64];
    world.broadcast(&mut length, Rank(0))?;
    bytes.resize(length[0] as usize, 0);
    world.broadcast(&mut bytes, Rank(0))?;
    Ok(bytes)
}

/// A number of things, in words: "1 file", "6,295 files".
pub fn several(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", HumanCount(number))
}

/// Writes to standard output; a reader that has seen enough and left is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Here(format!("cannot write the results: {error}")))
        }
        _ => Ok(()),
    }
}
