//! The supervisor: watches the ranks, and ends them together.

use crate::args::Options;
use crate::guard;
use crate::output::{Output, STREAMS};
use crate::ranks::{self, Rank, Start};
use crate::report::{self, Cause, RankEnd, Refusal};
use crate::segment::NamedSegment;
use crate::signals::{self, GUARD_DIED, Taken};
use crate::tree;
use crate::watch::{Event, Watch};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use onesided::Call;
use onesided::launch::{Job, RankStatus};
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

/// How often ranks that run are asked whether they have joined, while one that has not is gone:
/// joining gives the launcher no event.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Pause between two rounds of SIGKILL: a process may have been born during the last one.
const KILL_EVERY: Duration = Duration::from_millis(10);
/// How long SIGKILL may take before the launcher gives up on a process (one that hangs in the
/// kernel, or belongs to another user).
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// How long the last word waits for the ranks' output to be passed on.
const TELL_AFTER: Duration = Duration::from_millis(500);
/// A signal is a second one only after this time: one Ctrl-C may come from the terminal and from
/// the guard.
const SECOND_AFTER: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// All processes have been asked to end; `killed`: not only asked.
    Ending {
        since: Instant,
        killed: bool,
    },
    /// No process is left; output may be.
    Draining {
        since: Instant,
    },
}

struct Supervisor<'a> {
    options: &'a Options,
    program: String,
    guard: Pid,
    job: &'a Job,
    ranks: Vec<Rank>,
    output: Output,
    watch: Watch,
    signals: SignalFd,
    cause: Option<Cause>,
    phase: Phase,
    told: bool,
    /// The user has lost patience with the output.
    abandoned: bool,
}

/// Runs the job; returns the exit code.
pub fn run(
    options: &Options,
    command: &[OsString],
    segment: &NamedSegment,
    taken: Taken,
    guard: Pid,
) -> Result<u8, Refusal> {
    let bytes = segment.bytes().or(options.segment_size);
    let job = Job::create(options.ranks, &options.segment, bytes).map_err(Refusal::job)?;
    let mut supervisor = Supervisor::new(options, command, &job, &taken, guard)
        .map_err(|error| Refusal::system("cannot prepare the job", error))?;
    supervisor.start(&Start::new(&job, command, &taken));
    loop {
        if let Err(error) = supervisor.wait() {
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
        command: &[OsString],
        job: &'a Job,
        taken: &Taken,
        guard: Pid,
    ) -> io::Result<Supervisor<'a>> {
        let supervisor = Supervisor {
            options,
            program: command[0].to_string_lossy().into_owned(),
            guard,
            job,
            ranks: Vec::with_capacity(options.ranks as usize),
            output: Output::new(options.ranks, options.tag_output)?,
            watch: Watch::new()?,
            signals: taken.source()?,
            cause: None,
            phase: Phase::Running,
            told: false,
            abandoned: false,
        };
        supervisor.watch.add(&supervisor.signals, Event::Signal)?;
        Ok(supervisor)
    }

    /// Starts all ranks and the relays of their output.
    fn start(&mut self, start: &Start<'_>) {
        for rank in 0..self.options.ranks {
            if let Err(refusal) = self.start_rank(start, rank) {
                self.end(Cause::Refused(refusal));
                break;
            }
        }
        if let Err(error) = self.start_output() {
            self.end(Cause::Refused(Refusal::system("cannot pass output on", error)));
        }
        if guard::is_gone(self.guard) {
            self.end(Cause::GuardDied);
        }
    }

    fn start_rank(&mut self, start: &Start<'_>, rank: u32) -> Result<(), Refusal> {
        let cannot = |error| Refusal::system("cannot prepare a rank", error);
        let stdio = self.output.of_rank(rank).map_err(cannot)?;
        let started = start.rank(rank, stdio)?;
        if let Some(pidfd) = &started.pidfd {
            self.watch.add(pidfd, Event::Rank(rank)).map_err(cannot)?;
        }
        self.ranks.push(started);
        Ok(())
    }

    fn start_output(&mut self) -> io::Result<()> {
        self.output.start()?;
        for stream in 0..STREAMS.len() {
            if let Some(alive) = self.output.alive(stream) {
                self.watch.add(alive, Event::Relay(stream))?;
            }
        }
        Ok(())
    }

    /// Waits for something to happen, and takes note of it.
    fn wait(&mut self) -> io::Result<()> {
        let events = self.watch.wait(self.timeout())?;
        // Before the ranks: a Ctrl-C at the terminal kills them too, and is the cause.
        let mut children = false;
        while let Some(signal) = signals::next(&self.signals) {
            children |= signal == Signal::SIGCHLD;
            self.signalled(signal);
        }
        for event in events {
            match event {
                Event::Signal => {}
                Event::Rank(rank) => self.rank_ended(rank as usize),
                Event::Relay(stream) => self.relay_ended(stream),
            }
        }
        if children {
            self.reap_others();
        }
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running if self.ranks.iter().any(left_unjoined) => Some(ASK_EVERY),
            Phase::Running => None,
            Phase::Ending { since, killed: false } => {
                Some(self.options.grace.saturating_sub(since.elapsed()))
            }
            Phase::Ending { killed: true, .. } => Some(KILL_EVERY),
            Phase::Draining { since } if !self.told => {
                Some(TELL_AFTER.saturating_sub(since.elapsed()).max(KILL_EVERY))
            }
            Phase::Draining { .. } => None,
        }
    }

    fn signalled(&mut self, signal: Signal) {
        match (signal, self.phase) {
            (Signal::SIGCHLD, _) => {}
            (GUARD_DIED, _) if !guard::is_gone(self.guard) => {}
            (GUARD_DIED, _) => self.end(Cause::GuardDied),
            (_, Phase::Running) => self.end(Cause::Signal(signal)),
            (_, Phase::Ending { since, .. }) if since.elapsed() >= SECOND_AFTER => {
                self.kill(since);
            }
            (_, Phase::Ending { .. }) => {}
            (_, Phase::Draining { .. }) => {
                self.cause.get_or_insert(Cause::Signal(signal));
                self.abandoned = true;
            }
        }
    }

    fn rank_ended(&mut self, at: usize) {
        let Some(how) = ranks::reap(self.ranks[at].pid) else { return };
        let rank = &mut self.ranks[at];
        if let Some(pidfd) = rank.pidfd.take() {
            // Closing it does the same.
            let _ = self.watch.remove(pidfd);
        }
        let status = status(self.job, at as u32);
        let end = RankEnd { rank: at as u32, pid: rank.pid.as_raw(), how, status };
        let cause = Cause::of(&end);
        rank.end = Some(end);
        if let Some(cause) = cause {
            self.end(cause);
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

    /// Waits for dead children that no descriptor tells of: orphans that ranks have left, and
    /// ranks where the system denies descriptors.
    fn reap_others(&mut self) {
        for pid in tree::children() {
            match self.ranks.iter().position(|rank| rank.pid == pid && rank.end.is_none()) {
                Some(at) if self.ranks[at].pidfd.is_none() => self.rank_ended(at),
                Some(_) => {}
                None => drop(ranks::reap(pid)),
            }
        }
    }

    /// Takes note of the first cause, and asks all processes to end.
    fn end(&mut self, cause: Cause) {
        if self.cause.is_some() {
            return;
        }
        let rank = cause.rank();
        self.cause = Some(cause);
        if let Phase::Running = self.phase {
            self.phase = Phase::Ending { since: Instant::now(), killed: false };
            tree::signal_all(Signal::SIGTERM);
        }
        // Only now, so that ranks that SIGTERM ends have no time to complain of it.
        if let Some(rank) = rank {
            self.job.fail(rank);
        }
    }

    fn kill(&mut self, since: Instant) {
        tree::signal_all(Signal::SIGKILL);
        self.phase = Phase::Ending { since, killed: true };
    }

    /// Goes on with what has become due; the exit code when all is done.
    fn step(&mut self) -> Option<u8> {
        match self.phase {
            Phase::Running => {
                self.look_for_strangers();
                if self.all_ended() && self.cause.is_none() {
                    self.leave();
                }
            }
            Phase::Ending { since, killed } => {
                let waited = since.elapsed();
                if self.all_ended() && tree::children().is_empty() {
                    self.drain();
                } else if waited >= self.options.grace + KILL_LIMIT {
                    self.output.say("some processes of the job could not be ended");
                    self.drain();
                } else if killed || waited >= self.options.grace {
                    self.kill(since);
                }
            }
            Phase::Draining { since } => return self.finish(since),
        }
        match self.phase {
            Phase::Draining { since } => self.finish(since),
            _ => None,
        }
    }

    fn all_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.end.is_some())
    }

    /// After a good end of all ranks: what they have left behind is asked to end too.
    fn leave(&mut self) {
        self.reap_others();
        match tree::children().len() {
            0 => self.drain(),
            n => {
                self.output.say(&format!("note: ending {n} process(es) that ranks left behind"));
                self.phase = Phase::Ending { since: Instant::now(), killed: false };
                tree::signal_all(Signal::SIGTERM);
            }
        }
    }

    fn drain(&mut self) {
        self.output.stop();
        self.phase = Phase::Draining { since: Instant::now() };
    }

    /// A rank that has gone without joining a job that another has joined: the others would wait
    /// for it for ever.
    fn look_for_strangers(&mut self) {
        let stranger = self.ranks.iter().find(|rank| left_unjoined(rank));
        if let Some(end) = stranger.and_then(|rank| rank.end.clone())
            && self.joined() > 0
        {
            self.end(Cause::NotJoined(end));
        }
    }

    fn joined(&self) -> usize {
        (0..self.options.ranks).filter(|rank| status(self.job, *rank).joined).count()
    }

    /// Says the last word when the output has been passed on, or has taken too long; the exit
    /// code when there is nothing left to wait for.
    fn finish(&mut self, since: Instant) -> Option<u8> {
        let drained = self.output.is_drained() || self.abandoned;
        let joined = self.joined();
        let (code, word) = match &self.cause {
            Some(cause) => {
                (cause.code(), Some(cause.sentence(&self.program, joined, self.options.ranks)))
            }
            None if joined == 0 => self.nobody_joined(),
            None => (0, None),
        };
        if !self.told && (drained || since.elapsed() >= TELL_AFTER) {
            self.told = word.is_none_or(|word| self.output.say(&word));
        }
        drained.then_some(code)
    }

    fn nobody_joined(&self) -> (u8, Option<String>) {
        let Options { ranks, require_join, .. } = *self.options;
        let word = report::nobody_joined(&self.program, ranks, require_join);
        (if require_join { report::LAUNCHER_FAILED } else { 0 }, Some(word))
    }
}

/// Whether a rank has ended without having joined.
fn left_unjoined(rank: &Rank) -> bool {
    rank.end.as_ref().is_some_and(|end| !end.status.joined)
}

fn status(job: &Job, rank: u32) -> RankStatus {
    // A damaged segment says nothing of the rank.
    let unknown = RankStatus { joined: false, finished: false, call: Call::None, window: None };
    job.status(rank).unwrap_or(unknown)
}
