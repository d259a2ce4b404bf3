//! The ranks' output.

use crate::launch;
use crate::launcher::args::{Destination, Options, Readers};
use crate::launcher::relay::{Inlet, Relay};
use crate::launcher::report;
use crate::launcher::sink::{Sink, Source};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::fstat;
use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
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
    /// Where each rank has a file of its own.
    files: Option<PathBuf>,
    readers: Readers,
    /// The other ends of the ranks' standard inputs, where all read a copy.
    copies: Vec<PipeWriter>,
    inlets: [Vec<Option<Inlet>>; 2],
    relays: [Option<Running>; 2],
    stop: Option<PipeWriter>,
}

/// The streams of a rank.
pub struct Streams {
    /// Standard input, output and error; `None` for those of the launcher, and for an empty input.
    pub files: [Option<OwnedFd>; 3],
    /// Whether the rank reads the launcher's standard input.
    pub reads: bool,
    /// The variable that announces the terminal behind its standard error to the rank.
    pub terminal: Option<(&'static str, String)>,
    /// What the terminal of the rank is.
    pub terminal_of: TerminalOf,
}

impl Streams {
    /// Those of a rank with a terminal of its own.
    pub fn of_terminal(files: [Option<OwnedFd>; 3], terminal_of: TerminalOf) -> Streams {
        Streams { files, reads: false, terminal: None, terminal_of }
    }
}

/// The controlling terminal of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalOf {
    /// The launcher's.
    Launcher,
    /// The launcher's, with the rank in the foreground.
    Foreground,
    /// A pane of tmux.
    Pane,
}

/// The names of the streams in messages.
pub const STREAMS: [&str; 2] = ["standard output", "standard error"];

impl Output {
    pub fn new(options: &Options) -> io::Result<Output> {
        let tag = options.output == Destination::Launcher { tag: true };
        let files = match &options.output {
            Destination::Files(directory) => {
                std::fs::create_dir_all(directory).map_err(|error| {
                    let what = format!("--output-filename {}: {error}", directory.display());
                    io::Error::new(error.kind(), what)
                })?;
                Some(directory.clone())
            }
            Destination::Launcher { .. } => None,
        };
        let stdout = Arc::new(Sink::new(io::stdout(), tag)?);
        let stderr = match same_file(io::stdout().as_fd(), io::stderr().as_fd()) {
            true => stdout.clone(),
            false => Arc::new(Sink::new(io::stderr(), tag)?),
        };
        Ok(Output {
            sinks: [stdout, stderr],
            direct: !Output::reads(options),
            // A tag would be overwritten with the line.
            draws: !tag && launch::is_terminal(io::stderr()),
            files,
            readers: options.stdin,
            copies: Vec::new(),
            inlets: [Vec::new(), Vec::new()],
            relays: [None, None],
            stop: None,
        })
    }

    /// Whether the launcher reads what the ranks write. The only rank of a job writes to the launcher's
    /// output itself, unless each line begins with a tag.
    fn reads(options: &Options) -> bool {
        match options.output {
            Destination::Files(_) => false,
            Destination::Launcher { tag } => options.ranks != 1 || tag,
        }
    }

    /// The pipes of each rank.
    pub fn pipes(options: &Options) -> u32 {
        let of_input = u32::from(options.stdin == Readers::All);
        of_input + if Output::reads(options) { 2 } else { 0 }
    }

    /// The output streams of one rank; called once for each before [`start`].
    ///
    /// [`start`]: Output::start
    pub fn of_rank(&mut self, rank: u32) -> io::Result<Streams> {
        let (input, reads) = self.input_of_rank(rank)?;
        if let Some(directory) = &self.files {
            let file = File::create(directory.join(format!("rank.{rank}")))?;
            let files = [input, Some(file.try_clone()?.into()), Some(file.into())];
            return Ok(Streams { files, reads, terminal: None, terminal_of: TerminalOf::Launcher });
        }
        if self.direct {
            return Ok(Streams {
                files: [input, None, None],
                reads,
                terminal: None,
                terminal_of: TerminalOf::Launcher,
            });
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
        Ok(Streams {
            files: [input, Some(stdout.into()), Some(stderr.into())],
            reads,
            terminal,
            terminal_of: TerminalOf::Launcher,
        })
    }

    /// The standard input of a rank, if it is not the launcher's; whether it is that.
    fn input_of_rank(&mut self, rank: u32) -> io::Result<(Option<OwnedFd>, bool)> {
        match self.readers {
            Readers::None => Ok((None, false)),
            Readers::Rank(reader) => Ok((None, reader == rank)),
            Readers::All => {
                let (reader, writer) = io::pipe()?;
                self.copies.push(writer);
                Ok((Some(reader.into()), false))
            }
        }
    }

    /// Starts the relays, and the copying of the input.
    pub fn start(&mut self) -> io::Result<()> {
        if !self.copies.is_empty() {
            let copies = std::mem::take(&mut self.copies);
            std::thread::Builder::new().spawn(move || copy_to_all(copies))?;
        }
        if self.direct || self.files.is_some() {
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
                prompts: match self.readers {
                    Readers::Rank(rank) if terminal && io::stdin().is_terminal() => Some(rank),
                    _ => None,
                },
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

/// Copies standard input to all of these until it ends, or no rank reads it. A rank that does not read holds up
/// the others when its pipe is full.
fn copy_to_all(mut copies: Vec<PipeWriter>) {
    let mut buffer = [0; 4096];
    let mut input = io::stdin().lock();
    while let Ok(read @ 1..) = input.read(&mut buffer) {
        copies.retain_mut(|copy| copy.write_all(&buffer[..read]).is_ok());
        if copies.is_empty() {
            break;
        }
    }
}

fn same_file(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    match (fstat(a), fstat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}
