//! `--top`: the state of a running job's ranks, drawn every second at the terminal.
//!
//! What is shown is read as for `--status`, and the job is not affected. Rates are differences between two looks.

use crate::launch::{Observed, View};
use crate::launcher::inquiry;
use crate::launcher::report::live::{Done, Look, Screen};
use crate::launcher::report::standing::Row;
use crate::launcher::report::{self, Refusal};
use crate::launcher::signals;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Between two looks at the job.
const PERIOD: Duration = Duration::from_secs(1);

/// Why the view has ended.
enum End {
    /// The user has left it.
    Left,
    Job,
    Signal(Signal),
}

/// Shows the job of process `pid`, which is its launcher or one of its ranks, or the only job of this user; returns
/// the exit code.
pub fn show(pid: Option<u32>) -> u8 {
    match attended(pid) {
        Ok(End::Left) => 0,
        Ok(End::Job) => {
            report::print("the job has ended");
            0
        }
        Ok(End::Signal(signal)) => 128 + signal as u8,
        Err(refusal) => {
            report::print(&refusal.to_string());
            refusal.code()
        }
    }
}

fn attended(pid: Option<u32>) -> Result<End, Refusal> {
    let (observed, process) = inquiry::job(pid)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let why = "--top needs a terminal; rmarun --status prints the state of the ranks once";
        return Err(Refusal::Launcher(why.to_owned()));
    }
    let refused = |error: io::Error| Refusal::system("--top", error);
    let process =
        Pid::from_raw(process as i32).ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    let job = pidfd_open(process, PidfdFlags::empty()).map_err(|error| refused(error.into()))?;
    let asked = signals::take().and_then(|taken| Ok(taken.source()?)).map_err(refused)?;
    let mut terminal = ManuallyDrop::new(ratatui::try_init().map_err(refused)?);
    let end = Attendance { observed, job, asked }.run(&mut terminal);
    // If the terminal is gone, to drop this would panic.
    if ratatui::try_restore().is_ok() {
        drop(ManuallyDrop::into_inner(terminal));
    }
    match end {
        // It may go while something is drawn there.
        Err(_) if is_gone(io::stdin()) => Ok(End::Signal(Signal::SIGHUP)),
        end => end.map_err(refused),
    }
}

/// Whether a terminal has been closed.
fn is_gone(terminal: impl AsFd) -> bool {
    let mut looked = [PollFd::new(terminal.as_fd(), PollFlags::empty())];
    matches!(poll(&mut looked, PollTimeout::ZERO), Ok(1))
}

/// What a view of a job needs.
struct Attendance {
    observed: Observed,
    /// The process that holds the segment of the job.
    job: OwnedFd,
    asked: SignalFd,
}

impl Attendance {
    fn run(&self, terminal: &mut DefaultTerminal) -> io::Result<End> {
        let view = self.observed.view();
        let mut screen = Screen::default();
        loop {
            screen.update(look(view));
            let due = Instant::now() + PERIOD;
            while Instant::now() < due {
                terminal.draw(|frame| screen.draw(frame))?;
                if let Some(end) = self.next(&mut screen, due)? {
                    return Ok(end);
                }
            }
        }
    }

    /// Waits for a key or until `due`.
    fn next(&self, screen: &mut Screen, due: Instant) -> io::Result<Option<End>> {
        let (input, left) = (io::stdin(), due.saturating_duration_since(Instant::now()));
        let sources = [input.as_fd(), self.job.as_fd(), self.asked.as_fd()];
        let mut sources = sources.map(|source| PollFd::new(source, PollFlags::POLLIN));
        match poll(&mut sources, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)) {
            // The terminal has another size.
            Err(Errno::EINTR) => return Ok(None),
            polled => polled?,
        };
        let [keys, job, asked] =
            sources.map(|source| source.revents().unwrap_or(PollFlags::empty()));
        if keys.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
            // The terminal is gone; to read keys from it would never end.
            return Ok(Some(End::Signal(Signal::SIGHUP)));
        }
        if !asked.is_empty()
            && let Some(signal) = signals::next(&self.asked).filter(signals::is_ending)
        {
            return Ok(Some(End::Signal(signal)));
        }
        if !job.is_empty() {
            return Ok(Some(End::Job));
        }
        while keys.contains(PollFlags::POLLIN) && event::poll(Duration::ZERO)? {
            if matches!(event::read()?, Event::Key(key) if !screen.pressed(key)) {
                return Ok(Some(End::Left));
            }
        }
        Ok(None)
    }
}

/// What the ranks do now, and have done so far.
fn look(view: View<'_>) -> Look {
    let done = |row: &Row| {
        let counted = view.statistics(row.rank).ok().flatten();
        Done {
            processor: row.pid.and_then(inquiry::processor_time),
            calls: view.calls(row.rank).unwrap_or_default(),
            bytes: counted.map(|counted| counted.calls.iter().map(|call| call.bytes).sum()),
        }
    };
    let ranks = inquiry::rows(view).into_iter().map(|row| (done(&row), row));
    Look { at: Instant::now(), ranks: ranks.collect() }
}
