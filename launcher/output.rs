//! The ranks' output.

use crate::relay::{Inlet, Relay};
use crate::report;
use crate::sink::{Sink, Source};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::fstat;
use onesided::launch;
use std::io::{self, IsTerminal, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A running relay.
struct Running {
    alive: PipeReader,
    thread: JoinHandle<io::Result<()>>,
}

/// The output of all ranks.
pub struct Output {
    /// Standard output and standard error of the launcher; one sink if they are one file.
    sinks: [Arc<Sink>; 2],
    /// The only rank writes to the launcher's output itself.
    direct: bool,
    /// Standard error is a terminal on which rank 0 may draw.
    draws: bool,
    inlets: [Vec<Option<Inlet>>; 2],
    relays: [Option<Running>; 2],
    stop: Option<PipeWriter>,
}

/// The output streams of a rank.
pub struct Streams {
    /// Standard output and standard error; `None` for those of the launcher.
    pub pipes: Option<[PipeWriter; 2]>,
    /// The variable that announces the terminal behind its standard error to the rank.
    pub terminal: Option<(&'static str, String)>,
}

/// The names of the streams in messages.
pub const STREAMS: [&str; 2] = ["standard output", "standard error"];

impl Output {
    pub fn new(ranks: u32, tag: bool) -> io::Result<Output> {
        let stdout = Arc::new(Sink::new(io::stdout(), tag)?);
        let stderr = match same_file(io::stdout().as_fd(), io::stderr().as_fd()) {
            true => stdout.clone(),
            false => Arc::new(Sink::new(io::stderr(), tag)?),
        };
        Ok(Output {
            sinks: [stdout, stderr],
            direct: !Output::reads(ranks, tag),
            // A tag would be overwritten with the line.
            draws: !tag && launch::is_terminal(io::stderr()),
            inlets: [Vec::new(), Vec::new()],
            relays: [None, None],
            stop: None,
        })
    }

    /// Whether the launcher reads what the ranks write. The only rank of a job writes to the launcher's
    /// output itself, unless each line begins with a tag.
    pub fn reads(ranks: u32, tag: bool) -> bool {
        ranks != 1 || tag
    }

    /// The output streams of one rank; called once for each before [`start`].
    ///
    /// [`start`]: Output::start
    pub fn of_rank(&mut self, rank: u32) -> io::Result<Streams> {
        if self.direct {
            return Ok(Streams { pipes: None, terminal: None });
        }
        // Two progress bars would hide each other.
        let draws = self.draws && rank == 0;
        let mut pipe = |error: bool| -> io::Result<PipeWriter> {
            let (reader, writer) = io::pipe()?;
            fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            let inlet = Inlet::new(Source::Rank { rank, error }, reader, draws && error);
            self.inlets[usize::from(error)].push(Some(inlet));
            Ok(writer)
        };
        let (stdout, stderr) = (pipe(false)?, pipe(true)?);
        let terminal = draws.then(|| launch::terminal_behind(&stderr)).transpose()?;
        Ok(Streams { pipes: Some([stdout, stderr]), terminal })
    }

    /// Starts the relays.
    pub fn start(&mut self) -> io::Result<()> {
        if self.direct {
            return Ok(());
        }
        let (stop, stopper) = io::pipe()?;
        self.stop = Some(stopper);
        for (stream, terminal) in
            [io::stdout().is_terminal(), io::stderr().is_terminal()].into_iter().enumerate()
        {
            let (alive, mark) = io::pipe()?;
            let relay = Relay {
                inlets: std::mem::take(&mut self.inlets[stream]),
                sink: self.sinks[stream].clone(),
                stop: stop.try_clone()?,
                alive: mark,
                prompts: terminal && io::stdin().is_terminal(),
            };
            let thread = std::thread::Builder::new().spawn(move || relay.run())?;
            self.relays[stream] = Some(Running { alive, thread });
        }
        Ok(())
    }

    /// A descriptor that becomes readable when the relay of a stream ends.
    pub fn alive(&self, stream: usize) -> Option<BorrowedFd<'_>> {
        self.relays[stream].as_ref().map(|relay| relay.alive.as_fd())
    }

    /// The result of a relay that has ended.
    pub fn ended(&mut self, stream: usize) -> io::Result<()> {
        match self.relays[stream].take().map(|relay| relay.thread.join()) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the thread that passes it on has panicked")),
            None => Ok(()),
        }
    }

    /// Whether everything has been passed on.
    pub fn is_drained(&self) -> bool {
        self.relays.iter().all(Option::is_none)
    }

    /// Stops the relays when all writers have ended.
    pub fn stop(&mut self) {
        self.stop = None;
    }

    /// Prints messages on standard error, each on a line of its own; returns `false` if a relay is
    /// writing there.
    pub fn print(&self, messages: &[&str]) -> bool {
        let lines: String = messages.iter().map(|message| report::line(message)).collect();
        match self.sinks[1].try_write(Source::Launcher, lines.as_bytes()) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(()) => true,
        }
    }
}

fn same_file(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    match (fstat(a), fstat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}
