//! Signals that are read from a descriptor.
#![allow(unsafe_code, reason = "puts SIGCHLD back to its default")]

use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Signals that end a job.
const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// The kernel's signal to the supervisor that the guard is dead. It also continues a stopped process. It
/// is not one of [`ENDING`], because those may be ignored.
pub const GUARD_DIED: Signal = Signal::SIGCONT;

/// Asks for the state of the ranks, and their last calls.
pub const ASKS: Signal = Signal::SIGUSR1;

/// A signal counts as a second one only after this time, because one Ctrl-C may come from both the
/// terminal and the guard.
pub const SECOND_AFTER: Duration = Duration::from_millis(100);

/// The blocked signals, which are read instead, and the mask before that.
pub struct Taken {
    signals: SigSet,
    before: SigSet,
    asks_by_quit: bool,
}

impl Taken {
    /// The mask of the ranks.
    pub fn before(&self) -> SigSet {
        self.before
    }

    /// Whether SIGQUIT, which the terminal sends at Ctrl-\\, asks for the state of the ranks. Elsewhere it ends
    /// the job.
    pub fn asks_by_quit(&self) -> bool {
        self.asks_by_quit
    }

    /// A source of the taken signals of this process.
    pub fn source(&self) -> nix::Result<SignalFd> {
        SignalFd::with_flags(&self.signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
    }
}

/// Whether a signal asks this process to end.
pub fn is_ending(signal: &Signal) -> bool {
    ENDING.contains(signal)
}

/// Blocks the signals that will be read. One that was ignored from the start (`nohup`, a background job
/// of a script) stays ignored.
pub fn take() -> io::Result<Taken> {
    // A parent may have ignored it, and then dead children would vanish unnoticed.
    // SAFETY: the default action is no handler that could break an invariant.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
    let ignored = ignored()?;
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(GUARD_DIED);
    for read in ENDING.into_iter().chain([ASKS]) {
        if ignored & (1 << (read as u32 - 1)) == 0 {
            signals.add(read);
        }
    }
    let before = SigSet::thread_get_mask()?;
    signals.thread_block()?;
    let asks_by_quit = signals.contains(Signal::SIGQUIT) && io::stdin().is_terminal();
    Ok(Taken { signals, before, asks_by_quit })
}

/// The next pending signal.
pub fn next(source: &SignalFd) -> Option<Signal> {
    let info = source.read_signal().ok().flatten()?;
    Signal::try_from(info.ssi_signo as i32).ok()
}

/// Bit n-1 is set if signal n is ignored.
fn ignored() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| {
        let why = format!("/proc/self/status cannot be read, is /proc mounted? {error}");
        io::Error::new(error.kind(), why)
    })?;
    let field = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = field.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.ok_or_else(|| io::Error::other("/proc/self/status has no SigIgn"))
}
