//! The terminal that the one rank below a debugger has for itself while it runs.
//!
//! Its process group is in the foreground then, so that Ctrl-C and Ctrl-\ reach the debugger alone, which gives
//! the terminal to its program and takes it back as it does in a shell.

use crate::launcher::report::Refusal;
use crate::launcher::tree;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg};
use nix::unistd::{Pid, getpgrp, setpgid};
use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp,
};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// As a character of a terminal: none (`_POSIX_VDISABLE` of Linux).
const DISABLED: u8 = 0;

/// The terminal, to be returned to the launcher's process group when the debugger has ended.
pub struct Foreground {
    terminal: File,
    before: Termios,
}

impl Foreground {
    /// The terminal of this process, if its group is in the foreground there.
    pub fn of_this_process() -> Result<Foreground, Refusal> {
        let refused = |why: &str| Refusal::Launcher(format!("--gdb needs a terminal: {why}"));
        let terminal = File::options().read(true).write(true).open("/dev/tty");
        let terminal =
            terminal.map_err(|_| refused("this process has none (setsid, cron, a pipe of ssh)"))?;
        if holder(&terminal) != Some(getpgrp()) {
            return Err(refused("this job is in its background; start it without '&'"));
        }
        let before = tcgetattr(&terminal).map_err(|error| refused(&error.to_string()))?;
        let mut modes = before.clone();
        // The shell would not continue a debugger that Ctrl-Z has stopped, because this job still runs.
        modes.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
        tcsetattr(&terminal, OptionalActions::Now, &modes)
            .map_err(|error| refused(&error.to_string()))?;
        Ok(Foreground { terminal, before })
    }

    /// The three streams of the debugger.
    pub fn streams(&self) -> io::Result<[Option<OwnedFd>; 3]> {
        let one = || self.terminal.try_clone().map(|file| Some(file.into()));
        Ok([one()?, one()?, one()?])
    }

    /// Takes the terminal back, with the modes that it had, if the debugger or a process of it has it.
    pub fn take_back(&self) {
        let Some(holder) = holder(&self.terminal) else { return };
        // Not from the shell, which has it if the user has stopped this job.
        let is_free = killpg(holder, None) == Err(Errno::ESRCH);
        if is_free || tree::descendants().contains(&holder) {
            let _ = set_foreground(&self.terminal, getpgrp());
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

/// The group in the foreground.
fn holder(terminal: &File) -> Option<Pid> {
    tcgetpgrp(terminal).ok().map(|group| Pid::from_raw(group.as_raw_nonzero().get()))
}

/// Makes this process a group of its own, in the foreground of its terminal. Makes system calls and nothing else.
pub fn enter(terminal: impl AsFd) -> io::Result<()> {
    let own = Pid::this();
    setpgid(own, own)?;
    set_foreground(terminal, own)
}

/// The kernel stops a process of the background that does this, unless it blocks the signal.
fn set_foreground(terminal: impl AsFd, group: Pid) -> io::Result<()> {
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTOU);
    let before = stops.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let number = rustix::process::Pid::from_raw(group.as_raw()).ok_or(Errno::ESRCH)?;
    let set = tcsetpgrp(terminal, number);
    before.thread_set_mask()?;
    Ok(set?)
}
