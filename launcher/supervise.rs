//! The supervisor: watches the ranks, and ends them together.

mod ending;

use crate::Call;
use crate::launch::{Job, RankStatus, SegmentKind};
use crate::launcher::args::Options;
use crate::launcher::binding::Binding;
use crate::launcher::deadlock::Detector;
use crate::launcher::foreground::Foreground;
use crate::launcher::guard;
use crate::launcher::limits::Need;
use crate::launcher::oom::OutOfMemory;
use crate::launcher::output::{Output, STREAMS, Streams, TerminalOf};
use crate::launcher::panes::Panes;
use crate::launcher::ranks::{self, Rank, Start};
use crate::launcher::report::file::ReportFile;
use crate::launcher::report::{self, Cause, RankEnd, Refusal};
use crate::launcher::segment::NamedSegment;
use crate::launcher::signals::{self, Taken};
use crate::launcher::trace::Tracer;
use crate::launcher::tree;
use crate::launcher::watch::{Event, Watch};
use ending::Phase;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// How often the children are listed while ranks run, to reap orphans of the ranks.
const REAP_EVERY: Duration = Duration::from_millis(100);

struct Supervisor<'a> {
    options: &'a Options,
    guard: Pid,
    job: &'a Job,
    ranks: Vec<Rank>,
    panes: Option<&'a Panes>,
    /// The terminal that a rank below a debugger has for itself.
    foreground: Option<Foreground>,
    /// How many ranks have not ended.
    running: usize,
    /// Ranks that have ended without joining, while it is unknown whether that is a failure.
    unjoined: Vec<usize>,
    /// When that was last checked.
    asked: Instant,
    /// The rank of a process, until it has been reaped.
    rank_of: HashMap<Pid, usize>,
    output: Output,
    watch: Watch,
    signals: SignalFd,
    /// Whether SIGQUIT asks for the state of the ranks, and when it last did.
    asks_by_quit: bool,
    asked_by_quit: Option<Instant>,
    /// Children may have died since the last reaping.
    children_died: bool,
    /// When the children were last listed for reaping.
    listed: Instant,
    /// Some ranks have no descriptor that reports their death.
    is_untold: bool,
    /// When SIGKILL is sent again.
    kill_again: Instant,
    out_of_memory: OutOfMemory,
    deadlocks: Detector,
    cause: Option<Cause>,
    /// Lost ranks of a job that continues: the first cause, and their number.
    lost: Option<(Cause, usize)>,
    /// The last calls of ranks at the first failure.
    last_calls: Option<String>,
    phase: Phase,
    began: Instant,
    began_at: SystemTime,
    /// When the job has lasted for its limit.
    deadline: Option<Instant>,
    files: ReportFiles,
    /// Writes the trace until no rank is left.
    tracer: Option<Tracer>,
    /// Messages for the end of the job, besides the cause.
    notes: Vec<String>,
    reported: bool,
    /// A second signal has cancelled the rest of the output.
    abandoned: bool,
}

/// What the launcher has besides the options before the job exists.
pub struct Own<'a> {
    pub taken: Taken,
    pub guard: Pid,
    /// The words before the program of a rank that has a debugger.
    pub debugger: Vec<OsString>,
    pub panes: Option<&'a Panes>,
}

/// What is written to files.
struct ReportFiles {
    /// The conflicts of a checked job.
    conflicts: Option<ReportFile>,
    /// The page about the run.
    page: Option<ReportFile>,
    /// The trace, until its thread has it.
    trace: Option<ReportFile>,
}

impl ReportFiles {
    fn create(options: &Options) -> Result<ReportFiles, Refusal> {
        let create = |what, path: &Option<PathBuf>| {
            path.as_deref().map(|path| ReportFile::create(what, path)).transpose()
        };
        Ok(ReportFiles {
            conflicts: create("report", &options.check_report)?,
            page: create("report", &options.report)?,
            trace: create("trace", &options.trace)?,
        })
    }
}

/// Runs the job; returns the exit code.
pub fn run(options: &Options, segment: &NamedSegment, own: Own<'_>) -> Result<u8, Refusal> {
    let refused = |what| move |error| Refusal::system(what, error);
    own.panes.map_or(Ok(()), Panes::enter).map_err(refused("cannot use the pane of tmux"))?;
    let bytes = segment.bytes().or(options.segment_size);
    let observed = options.observation();
    let files = ReportFiles::create(options)?;
    let job = Job::create(options.ranks, &options.segment, bytes, options.on_failure, observed)
        .map_err(Refusal::job)?;
    let mut supervisor =
        Supervisor::new(options, &job, &own, files).map_err(refused("cannot prepare the job"))?;
    if options.has_foreground() {
        supervisor.foreground = Some(Foreground::of_this_process()?);
    }
    let binding =
        Binding::new(&options.placing).map_err(refused("cannot bind the ranks to processors"))?;
    let start = Start::new(&job, options, &own, binding);
    supervisor.start(start.map_err(refused("cannot prepare the ranks"))?);
    loop {
        if let Err(error) = supervisor.wait(supervisor.timeout()) {
            supervisor.end(Cause::Refused(Refusal::system("cannot watch the ranks", error)));
        }
        if let Some(code) = supervisor.step() {
            return Ok(code);
        }
    }
}

impl<'a> Supervisor<'a> {
    fn new(
        options: &'a Options,
        job: &'a Job,
        own: &Own<'a>,
        files: ReportFiles,
    ) -> io::Result<Supervisor<'a>> {
        let supervisor = Supervisor {
            options,
            guard: own.guard,
            job,
            ranks: Vec::with_capacity(options.ranks as usize),
            panes: own.panes,
            foreground: None,
            running: 0,
            unjoined: Vec::new(),
            asked: Instant::now(),
            rank_of: HashMap::new(),
            output: Output::new(options)?,
            watch: Watch::new()?,
            signals: own.taken.source()?,
            asks_by_quit: own.taken.asks_by_quit(),
            asked_by_quit: None,
            children_died: false,
            listed: Instant::now(),
            is_untold: false,
            kill_again: Instant::now(),
            out_of_memory: OutOfMemory::watch(),
            deadlocks: Detector::new(
                job.descriptors()[0],
                matches!(options.segment, SegmentKind::Named(_)),
            ),
            cause: None,
            lost: None,
            last_calls: None,
            phase: Phase::Running,
            began: Instant::now(),
            began_at: SystemTime::now(),
            deadline: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            files,
            tracer: None,
            notes: Vec::new(),
            reported: false,
            abandoned: false,
        };
        supervisor.watch.add(&supervisor.signals, Event::Signal)?;
        Ok(supervisor)
    }

    /// Starts all ranks, and then the threads: the child that becomes a rank has a copy of the memory, where another
    /// thread might hold the lock of the allocator.
    fn start(&mut self, mut start: Start<'_>) {
        for rank in 0..self.options.ranks {
            if let Err(refusal) = self.start_rank(&mut start, rank) {
                self.end(Cause::Refused(refusal));
            }
            self.take_signals();
            // A rank may have failed, and then the others need not be started.
            if self.children_died
                && let Err(error) = self.wait(Some(Duration::ZERO))
            {
                self.end(Cause::Refused(Refusal::system("cannot watch the ranks", error)));
            }
            if self.cause.is_some() {
                break;
            }
        }
        // Its reserved descriptors may be the last rank's pipes.
        drop(start);
        if let Err(error) = self.start_output() {
            self.end(Cause::Refused(Refusal::system("cannot pass output on", error)));
        }
        if let Err(refusal) = self.start_trace() {
            self.end(Cause::Refused(refusal));
        }
        if guard::is_gone(self.guard) {
            self.end(Cause::GuardDied);
        }
    }

    fn start_rank(&mut self, start: &mut Start<'_>, rank: u32) -> Result<(), Refusal> {
        let ranks = self.options.ranks;
        let need = Need::of(ranks, Output::pipes(self.options));
        let cannot = |error: io::Error| Refusal::rank(rank, ranks, need, error);
        let streams = self.streams(rank).map_err(cannot)?;
        let started = start.rank(rank, streams, cannot)?;
        let processors = start.processors(rank);
        match (self.options.verbose, self.options.report_bindings) {
            (true, _) => {
                let (pid, program) = (started.pid, self.options.program(rank).name());
                let what = format!("process {pid}, '{program}', processors {processors}");
                report::print(&format!("rank {rank}: {what}"));
            }
            (false, true) => report::print(&format!("rank {rank}: processors {processors}")),
            (false, false) => {}
        }
        let watched = match &started.pidfd {
            Some(pidfd) => self.watch.add(pidfd, Event::Rank(rank)),
            None => Ok(()),
        };
        self.rank_of.insert(started.pid, self.ranks.len());
        self.is_untold |= started.pidfd.is_none();
        self.ranks.push(started);
        self.running += 1;
        watched.map_err(cannot)
    }

    fn streams(&mut self, rank: u32) -> io::Result<Streams> {
        if let Some(files) = self.panes.map_or(Ok(None), |panes| panes.streams(rank))? {
            return Ok(Streams::of_terminal(files, TerminalOf::Pane));
        }
        match &self.foreground {
            Some(foreground) if self.options.debugged.contains(&rank) => {
                Ok(Streams::of_terminal(foreground.streams()?, TerminalOf::Foreground))
            }
            _ => self.output.of_rank(rank),
        }
    }

    fn start_output(&mut self) -> io::Result<()> {
        let started = self.output.start();
        // Also if only one relay could be started, because its end is awaited.
        for stream in 0..STREAMS.len() {
            if let Some(alive) = self.output.alive(stream) {
                self.watch.add(alive, Event::Relay(stream))?;
            }
        }
        started
    }

    /// Starts the thread that writes the trace, if one is asked for.
    fn start_trace(&mut self) -> Result<(), Refusal> {
        let refused = |error| Refusal::system("cannot write the trace", error);
        let reader = self.job.trace_reader().map_err(Refusal::job)?;
        if let Some((file, reader)) = self.files.trace.take().zip(reader) {
            let tracer = Tracer::start(file, reader).map_err(refused)?;
            self.watch.add(tracer.alive(), Event::Trace).map_err(refused)?;
            self.tracer = Some(tracer);
        }
        Ok(())
    }

    /// Waits for an event and records it.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let mut events = self.watch.wait(timeout)?;
        // The end of a relay is the cause of deaths by SIGPIPE, although these may be noticed first if
        // the relay was not watched yet.
        events.sort_by_key(|event| !matches!(event, Event::Relay(_)));
        // Before the ranks, because a Ctrl-C at the terminal kills them too and is the cause.
        self.take_signals();
        for event in events {
            match event {
                Event::Signal | Event::Over => {}
                Event::Rank(rank) => self.rank_ended(rank as usize),
                Event::Relay(stream) => self.relay_ended(stream),
                Event::Trace => self.trace_ended(),
            }
        }
        if self.children_died && self.reaping_is_due() {
            self.reap_others();
        }
        Ok(())
    }

    fn take_signals(&mut self) {
        while let Some(signal) = signals::next(&self.signals) {
            match signal {
                Signal::SIGCHLD => self.children_died = true,
                other => self.signalled(other),
            }
        }
    }

    fn rank_ended(&mut self, at: usize) {
        let Some(how) = ranks::reap(self.ranks[at].pid) else { return };
        let rank = &mut self.ranks[at];
        self.rank_of.remove(&rank.pid);
        if let Some(pidfd) = rank.pidfd.take() {
            // Closing it does the same.
            let _ = self.watch.remove(pidfd);
        }
        if self.options.debugged.contains(&(at as u32)) {
            self.foreground.iter().for_each(Foreground::take_back);
        }
        let status = status(self.job, at as u32);
        let out_of_memory = how.is_kill() && self.out_of_memory.has_happened();
        let end = RankEnd { rank: at as u32, pid: rank.pid.as_raw(), how, status, out_of_memory };
        let cause = Cause::of(&end);
        if cause.is_none() && !end.status.joined {
            self.unjoined.push(at);
        }
        rank.end = Some(end);
        self.running -= 1;
        if let Some(cause) = cause {
            self.failed(at as u32, cause);
        }
    }

    fn relay_ended(&mut self, stream: usize) {
        if let Some(alive) = self.output.alive(stream) {
            let _ = self.watch.remove(alive);
        }
        if let Err(error) = self.output.ended(stream) {
            self.end(Cause::Output(STREAMS[stream], error));
        }
    }

    fn trace_ended(&mut self) {
        let Some(tracer) = self.tracer.take() else { return };
        let _ = self.watch.remove(tracer.alive());
        let Some(failure) = tracer.ended() else { return };
        match self.phase {
            // Ranks would wait for it for ever.
            Phase::Running => self.end(Cause::Refused(Refusal::Launcher(failure))),
            _ if self.reported => report::print(&failure),
            _ => self.notes.push(failure),
        }
    }

    /// Whether to reap dead children without descriptors now. The kernel lists all children, so in a
    /// large job this is not done at each death.
    fn reaping_is_due(&self) -> bool {
        !matches!(self.phase, Phase::Running)
            || self.listed.elapsed() >= REAP_EVERY
            || self.is_untold
    }

    /// Reaps dead children without descriptors: orphans of ranks, and ranks where the system denies
    /// descriptors.
    fn reap_others(&mut self) {
        (self.children_died, self.listed) = (false, Instant::now());
        for pid in tree::children() {
            match self.rank_of.get(&pid) {
                Some(&at) if self.ranks[at].pidfd.is_none() => self.rank_ended(at),
                Some(_) => {}
                None => drop(ranks::reap(pid)),
            }
        }
    }
}

fn status(job: &Job, rank: u32) -> RankStatus {
    // A damaged segment has no information on the rank.
    let unknown = RankStatus {
        joined: false,
        finished: false,
        has_left: false,
        call: Call::None,
        window: None,
        since: None,
    };
    job.status(rank).unwrap_or(unknown)
}
