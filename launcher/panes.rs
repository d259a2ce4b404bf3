//! Panes of tmux: a terminal for each rank (`--tmux`), or for each of several debuggers (`--gdb 1,2`), and one for
//! the launcher, where its messages and the output of all other ranks appear.
//!
//! The guard starts a server of tmux, with a name of its own, before it splits, and a client at the user's terminal.
//! So these are no descendants of the supervisor, which signals all of its. In each pane a process of `rmarun` gives
//! up the pane's terminal, reports which it is, and stays until it is hung up. A rank of the supervisor makes that
//! terminal its own: Ctrl-C in a pane reaches what runs there.
#![allow(unsafe_code, reason = "gives up a controlling terminal")]

use crate::launcher::args::Options;
use crate::launcher::report::{self, Refusal};
use nix::libc::TIOCNOTTY;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use rustix::ioctl::{NoArg, Opcode, ioctl};
use rustix::process::ioctl_tiocsctty;
use rustix::termios::tcgetwinsize;
use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The hidden option of what runs in a pane first.
pub const HOLD: &str = "--hold-pane";
/// How long tmux may take to start what runs in a pane.
const START_LIMIT: u16 = 20_000;

/// The panes of a job.
pub struct Panes {
    /// The name of tmux's socket.
    name: String,
    /// The terminal of the launcher, then those of ranks.
    terminals: Vec<PathBuf>,
    ranks: Vec<u32>,
    client: Child,
    guard: Pid,
}

impl Panes {
    /// Opens the panes that the job needs, if it does, and shows them to the user.
    pub fn open(options: &Options) -> Result<Option<Panes>, Refusal> {
        let ranks: Vec<u32> = (0..options.ranks).filter(|rank| options.has_pane(*rank)).collect();
        if ranks.is_empty() {
            return Ok(None);
        }
        let what = if options.tmux { "--tmux" } else { "--gdb of several ranks" };
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            let why = "standard input and output have to be one";
            return Err(Refusal::Launcher(format!("{what} needs a terminal: {why}")));
        }
        let guard = Pid::this();
        let name = format!("onesided-{guard}");
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                Refusal::Launcher(format!("{what} needs tmux: install the package tmux"))
            }
            _ => Refusal::system(&format!("{what}: cannot open panes of tmux"), error),
        };
        let terminals = start(&name, &ranks).inspect_err(|_| kill(&name)).map_err(cannot)?;
        let client = tmux(&name).arg("attach-session").spawn();
        let client = client.inspect_err(|_| kill(&name)).map_err(cannot)?;
        Ok(Some(Panes { name, terminals, ranks, client, guard }))
    }

    /// The launcher's own terminal is the first pane from now on.
    pub fn enter(&self) -> io::Result<()> {
        let terminal = opened(&self.terminals[0])?;
        setsid()?;
        ioctl_tiocsctty(&terminal)?;
        dup2_stdin(&terminal)?;
        dup2_stdout(&terminal)?;
        dup2_stderr(&terminal)?;
        Ok(())
    }

    /// The three streams of that rank, if it has a pane.
    pub fn streams(&self, rank: u32) -> io::Result<Option<[Option<OwnedFd>; 3]>> {
        let Some(at) = self.ranks.iter().position(|one| *one == rank) else { return Ok(None) };
        let one = || opened(&self.terminals[at + 1]).map(|file| Some(file.into()));
        Ok(Some([one()?, one()?, one()?]))
    }

    /// Prints in the launcher's pane how to leave.
    pub fn print_how_to_leave(&self) {
        report::print(
            "the panes stay until you leave tmux: Ctrl-b d, or the prefix of your own configuration",
        );
    }

    /// Whether `process` is what shows the panes to the user, who has left them then.
    pub fn are_left_by(&self, process: Pid) -> bool {
        process.as_raw() as u32 == self.client.id()
    }

    /// How to see the panes again.
    pub fn note(&self) -> String {
        let name = &self.name;
        format!("the job goes on; 'tmux -L {name} attach' shows its panes again, Ctrl-C ends it")
    }

    /// Ends all panes.
    pub fn close(&self) {
        kill(&self.name);
    }
}

impl Drop for Panes {
    fn drop(&mut self) {
        // The supervisor has a copy of this.
        if Pid::this() == self.guard {
            self.close();
            // It restores the modes of the user's terminal before it ends.
            let _ = self.client.wait();
        }
    }
}

fn tmux(name: &str) -> Command {
    let mut command = Command::new("tmux");
    // Inside another tmux it would refuse.
    command.args(["-L", name]).env_remove("TMUX");
    command
}

fn kill(name: &str) {
    let _ = tmux(name).arg("kill-server").stderr(Stdio::null()).status();
}

/// Starts the server with the panes; returns their terminals.
fn start(name: &str, ranks: &[u32]) -> io::Result<Vec<PathBuf>> {
    let (reports, writer) = io::pipe()?;
    let pipe = format!("/proc/{}/fd/{}", Pid::this(), writer.as_raw_fd());
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or_else(|| io::Error::other("the path of rmarun is no text"))?;
    let size = tcgetwinsize(io::stdout())?;
    let [columns, rows] = [size.ws_col, size.ws_row].map(|n| n.max(1).to_string());
    let mut command = tmux(name);
    command.args(["new-session", "-d", "-s", "job", "-x", &columns, "-y", &rows]);
    command.args([own, HOLD, &pipe, "0"]);
    command.args([";", "set-option", "-p", "@title", "rmarun"]);
    command.args([";", "set-option", "-g", "remain-on-exit", "on"]);
    command.args([";", "set-option", "-g", "pane-border-status", "top"]);
    command.args([";", "set-option", "-g", "pane-border-format", " #{@title} "]);
    for (at, rank) in ranks.iter().enumerate() {
        command.args([";", "split-window", own, HOLD, &pipe, &(at + 1).to_string()]);
        command.args([";", "set-option", "-p", "@title", &format!("rank {rank}")]);
        command.args([";", "select-layout", "tiled"]);
    }
    // From the last pane past the launcher's to that of the first rank.
    command.args([";", "select-pane", "-t", ":.+", ";", "select-pane", "-t", ":.+"]);
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(why.trim().to_owned()));
    }
    // Older versions do not have it.
    let dead = ["set-option", "-g", "remain-on-exit-format", "#{@title} has ended"];
    let _ = tmux(name).args(dead).stderr(Stdio::null()).status();
    read_terminals(reports, ranks.len() + 1)
}

/// The terminals that the processes in the panes write into the pipe.
fn read_terminals(mut reports: PipeReader, panes: usize) -> io::Result<Vec<PathBuf>> {
    let mut text = String::new();
    while text.lines().count() < panes || !text.ends_with('\n') {
        let mut ready = [PollFd::new(reports.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(START_LIMIT))? == 0 {
            return Err(io::Error::other("it does not start what runs there"));
        }
        let mut buffer = [0; 4096];
        let read = reports.read(&mut buffer)?;
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    let mut terminals = vec![PathBuf::new(); panes];
    for (number, terminal) in text.lines().filter_map(|line| line.split_once(' ')) {
        let place = number.parse().ok().and_then(|number: usize| terminals.get_mut(number));
        *place.ok_or_else(|| io::Error::other("what runs there reports no pane"))? =
            terminal.into();
    }
    Ok(terminals)
}

/// The process in pane `number`: leaves the pane's terminal to another, writes its name into the pipe, and stays until it
/// is hung up, because tmux closes a pane whose process has ended.
pub fn hold(pipe: &Path, number: u32) -> io::Result<()> {
    let mut hang_up = SigSet::empty();
    hang_up.add(Signal::SIGHUP);
    hang_up.thread_block()?;
    let terminal = io::stdin();
    // SAFETY: the request has no argument.
    let gives_up = unsafe { NoArg::<{ TIOCNOTTY as Opcode }>::new() };
    // SAFETY: it changes nothing that Rust knows of.
    unsafe { ioctl(&terminal, gives_up) }?;
    let name = std::fs::read_link("/proc/self/fd/0")?;
    let mut pipe = File::options().write(true).open(pipe)?;
    pipe.write_all(format!("{number} {}\n", name.display()).as_bytes())?;
    drop(pipe);
    // Reports a hang-up alone.
    poll(&mut [PollFd::new(terminal.as_fd(), PollFlags::empty())], PollTimeout::NONE)?;
    Ok(())
}

/// The terminal of a pane, not yet that of this process.
fn opened(terminal: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NOCTTY;
    File::options().read(true).write(true).custom_flags(flags).open(terminal)
}

/// Makes a terminal that of this process alone, in a session of its own. Makes system calls and nothing else.
pub fn occupy(terminal: impl AsFd) -> io::Result<()> {
    setsid()?;
    Ok(ioctl_tiocsctty(terminal)?)
}
