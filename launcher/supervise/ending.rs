//! The end of a job, from the first cause to the last message.

use super::Supervisor;
use crate::launch::{Conflicts, OnFailure, RankStatistics};
use crate::launcher::args::{Check, OnDeadlock, Options};
use crate::launcher::foreground::Foreground;
use crate::launcher::report::page::{self, RunFacts};
use crate::launcher::report::{self, Cause, How, conflicts, digest, last_calls, statistics};
use crate::launcher::signals::{ASKS, GUARD_DIED, SECOND_AFTER};
use crate::launcher::{guard, inquiry, ranks, tree};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How often running ranks are checked for joining while one has ended without: joining causes no event
/// for the launcher.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Pause between two rounds of SIGKILL: a process may have been forked during the last one.
const KILL_EVERY: Duration = Duration::from_millis(10);
/// How long SIGKILL may take before the launcher gives up, unless a process is dying. The remaining ones
/// hang in the kernel, or belong to another user.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// How often a delayed message about a loss is retried.
const REPORT_EVERY: Duration = Duration::from_millis(10);
/// How long ending the children of a lost rank may take: they may hang in the kernel.
const ORPHANS_LIMIT: Duration = Duration::from_millis(500);
/// How long it may take while they are dying, on a loaded machine.
const DYING_LIMIT: Duration = Duration::from_secs(10);
/// How long the last message waits for the ranks' output.
const REPORT_AFTER: Duration = Duration::from_millis(500);

/// How many of a rank's last calls are printed when the job fails.
const SHOWN_CALLS: u32 = 8;
/// Of a deadlock of more ranks the last calls are only printed if the user asks.
const MOST_NAMED: usize = 8;

/// The phase of a job.
#[derive(Clone, Copy)]
pub enum Phase {
    Running,
    /// All processes have got SIGTERM, or SIGKILL if `killed`.
    Ending {
        since: Instant,
        killed: bool,
    },
    /// No process is left; there may be output.
    Draining {
        since: Instant,
    },
}

impl Supervisor<'_> {
    /// When the next action is due without an event.
    pub fn timeout(&self) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match (self.phase, left) {
            (Phase::Running, Some(left)) => {
                Some(self.next_look().map_or(left, |look| look.min(left)))
            }
            _ => self.next_look(),
        }
    }

    /// [`Supervisor::timeout`] of a job without a limit of time.
    fn next_look(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running if !self.notes.is_empty() => {
                Some(self.deadlocks.due_in().min(REPORT_EVERY))
            }
            Phase::Running if !self.unjoined.is_empty() => {
                Some(self.deadlocks.due_in().min(ASK_EVERY))
            }
            Phase::Running => Some(self.deadlocks.due_in()),
            Phase::Ending { since, killed: false } => {
                Some(self.options.grace.saturating_sub(since.elapsed()))
            }
            Phase::Ending { killed: true, .. } => Some(KILL_EVERY),
            Phase::Draining { since } if !self.reported => {
                Some(REPORT_AFTER.saturating_sub(since.elapsed()).max(KILL_EVERY))
            }
            Phase::Draining { .. } => None,
        }
    }

    /// A signal other than that of a child's death.
    pub fn signalled(&mut self, signal: Signal) {
        match (signal, self.phase) {
            (GUARD_DIED, _) if !guard::is_gone(self.guard) => {}
            (GUARD_DIED, _) => self.end(Cause::GuardDied),
            (Signal::SIGQUIT, Phase::Running) if self.asks_by_quit => self.print_state(0),
            (ASKS, Phase::Running) => self.print_state(SHOWN_CALLS),
            (ASKS, _) => {}
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

    /// Prints the state of the ranks, and of each the last `calls` calls unless the user has asked for another
    /// number. One Ctrl-\\ arrives twice, from the terminal and from the guard.
    fn print_state(&mut self, calls: u32) {
        if self.asked_by_quit.is_none_or(|before| before.elapsed() >= SECOND_AFTER) {
            self.asked_by_quit = Some(Instant::now());
            self.notes.push(inquiry::tables(self.job.view(), self.options.calls.unwrap_or(calls)));
            self.report_losses();
        }
    }

    /// A rank has failed: the job ends, or continues without it.
    pub fn failed(&mut self, rank: u32, cause: Cause) {
        // A rank that finds the damage itself exits before the launcher looks.
        let has_exited = matches!(&cause, Cause::Rank(end) if matches!(end.how, How::Exited(_)));
        if has_exited && !self.job.is_whole() {
            return self.end(Cause::Damaged);
        }
        let goes_on = self.options.on_failure == OnFailure::Continue;
        if !goes_on || !matches!(self.phase, Phase::Running) {
            return self.end(cause);
        }
        self.end_what_was_started_by(rank);
        self.job.fail(rank);
        self.keep_last_calls(&cause);
        self.notes.push(cause.loss(&self.program(cause.rank()), self.joined(), self.options.ranks));
        self.report_losses();
        self.lost.get_or_insert((cause, 0)).1 += 1;
    }

    /// Ends the orphans of a rank. Otherwise a fork, or the rank itself below a wrapper that has ended,
    /// could still write to windows that the survivors use.
    fn end_what_was_started_by(&self, rank: u32) {
        let variables = self.job.environment(rank, Pid::this().as_raw() as u32);
        let is_strange = |pid: &Pid| !self.rank_of.contains_key(pid);
        let (began, mut killed) = (Instant::now(), HashSet::new());
        loop {
            // Their descendants follow, because this process then becomes their parent.
            let mut is_sure = true;
            let mut is_its = |pid: &Pid| {
                let is_its = tree::has_variables(*pid, &variables);
                is_sure &= is_its.is_some();
                is_its == Some(true)
            };
            let children = tree::children().into_iter().filter(is_strange);
            let orphans: Vec<Pid> = children.filter(|pid| is_its(pid)).collect();
            if orphans.is_empty() && is_sure {
                return;
            }
            // On a loaded machine the limit may pass before a process has had the time to die, or to become
            // an orphan.
            let is_new = orphans.iter().filter(|pid| killed.insert(**pid)).count() > 0;
            let goes_on = is_new || orphans.iter().any(|pid| tree::is_dying(*pid));
            let limit = if goes_on { DYING_LIMIT } else { ORPHANS_LIMIT };
            if began.elapsed() >= limit {
                return;
            }
            orphans.into_iter().for_each(|orphan| ranks::kill_and_await(orphan, ORPHANS_LIMIT));
        }
    }

    /// Prints the failed ranks in order; later, if a relay is writing.
    fn report_losses(&mut self) {
        let messages: Vec<&str> = self.notes.iter().map(String::as_str).collect();
        if !messages.is_empty() && self.output.print(&messages) {
            self.notes.clear();
        }
    }

    /// Records the first cause, and sends SIGTERM to all processes.
    pub fn end(&mut self, cause: Cause) {
        if self.cause.is_some() {
            return;
        }
        self.keep_last_calls(&cause);
        let rank = cause.rank();
        // Killing the launcher means to kill the job.
        let killed = matches!(cause, Cause::GuardDied);
        self.cause = Some(cause);
        if let Phase::Running = self.phase {
            self.phase = Phase::Ending { since: Instant::now(), killed };
            self.signal_all(if killed { Signal::SIGKILL } else { Signal::SIGTERM });
        }
        // Only now, so that ranks ended by SIGTERM do not report it as an error.
        self.job.end();
        if let Some(rank) = rank {
            self.job.fail(rank);
        }
    }

    /// Signals every process of the job; ranks even if /proc does not list them.
    fn signal_all(&self, signal: Signal) {
        let signalled = tree::signal_all(signal);
        for rank in self.ranks.iter().filter(|rank| rank.end.is_none()) {
            if !signalled.contains(&rank.pid) {
                // Not waited for yet, so the number is still its own.
                let _ = kill(rank.pid, signal);
            }
        }
    }

    fn kill(&mut self, since: Instant) {
        let began = Instant::now();
        self.signal_all(Signal::SIGKILL);
        // Finding all processes may take longer than the pause, and dying processes need the processor.
        self.kill_again = Instant::now() + KILL_EVERY.max(began.elapsed() * 2);
        self.phase = Phase::Ending { since, killed: true };
    }

    /// Takes the next due action; returns the exit code at the end.
    pub fn step(&mut self) -> Option<u8> {
        if let Phase::Running = self.phase {
            self.report_losses();
            if !self.job.is_whole() {
                self.end(Cause::Damaged);
            }
            self.look_for_strangers();
            self.look_for_deadlock();
            self.look_at_the_time();
            if self.all_ended() && self.cause.is_none() {
                self.leave();
            }
        }
        if let Phase::Ending { since, killed } = self.phase {
            let (waited, grace) = (since.elapsed(), self.options.grace);
            let is_due = if killed { Instant::now() >= self.kill_again } else { waited >= grace };
            if self.all_ended() && tree::children().is_empty() {
                self.drain();
            } else if waited >= grace + KILL_LIMIT && !tree::is_any_dying() {
                // What is not dying any more may have died since the last wait.
                let _ = self.wait(Some(Duration::ZERO));
                self.reap_others();
                if !(self.all_ended() && tree::children().is_empty()) {
                    self.notes.push("some processes of the job could not be ended".to_owned());
                }
                self.drain();
            } else if is_due {
                self.kill(since);
            }
        }
        match self.phase {
            Phase::Draining { since } => self.finish(since),
            _ => None,
        }
    }

    fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// After a normal end of all ranks: ends the processes that they have left behind.
    fn leave(&mut self) {
        self.reap_others();
        match tree::children().len() {
            0 => self.drain(),
            n => {
                let note = format!("note: {n} process(es) that ranks left behind had to be ended");
                self.notes.push(note);
                self.phase = Phase::Ending { since: Instant::now(), killed: false };
                self.signal_all(Signal::SIGTERM);
            }
        }
    }

    fn drain(&mut self) {
        // Processes of a debugger that was killed may have had it until now.
        self.foreground.iter().for_each(Foreground::take_back);
        self.output.stop();
        self.tracer.iter_mut().for_each(|tracer| tracer.stop(self.job));
        self.phase = Phase::Draining { since: Instant::now() };
    }

    /// Checks for a rank that has ended without joining a job that another one has joined: the others
    /// would wait for it for ever.
    fn look_for_strangers(&mut self) {
        let is_due = self.all_ended() || self.asked.elapsed() >= ASK_EVERY;
        if self.unjoined.is_empty() || !is_due {
            return;
        }
        self.asked = Instant::now();
        if self.joined() == 0 {
            return;
        }
        for at in std::mem::take(&mut self.unjoined) {
            let end = self.ranks[at].end.clone();
            end.into_iter().for_each(|end| self.failed(end.rank, Cause::NotJoined(end)));
        }
    }

    /// Looks at what each rank does, for the times of its calls, and checks for ranks that wait for one another or for one that
    /// has left.
    fn look_for_deadlock(&mut self) {
        if self.deadlocks.due_in().is_zero() {
            self.job.view().look();
        }
        let ranks = &self.ranks;
        let is_alive = |rank: u32| ranks.get(rank as usize).is_some_and(|rank| rank.end.is_none());
        let Some(deadlock) = self.deadlocks.look(self.job.view(), is_alive) else { return };
        match self.options.deadlock {
            OnDeadlock::End if !deadlock.is_suspected => self.end(Cause::Deadlock(deadlock)),
            OnDeadlock::End | OnDeadlock::Report => {
                // If a relay is writing, the deadlock is found again soon.
                if self.output.print(&[&deadlock.lines(report::JOB_GOES_ON)]) {
                    self.deadlocks.reported(&deadlock);
                }
            }
        }
    }

    /// Ends the job if its time is over.
    fn look_at_the_time(&mut self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) && !self.all_ended() {
            let table = inquiry::table(self.job.view());
            self.end(Cause::Timeout(self.options.timeout.unwrap_or_default(), table));
        }
    }

    fn joined(&self) -> usize {
        let view = self.job.view();
        let has_joined = |rank: &u32| view.standing(*rank).is_ok_and(|standing| standing.joined);
        (0..self.options.ranks).filter(has_joined).count()
    }

    /// Prints the last message when the output has been passed on, or has taken too long; returns the
    /// exit code at the end.
    fn finish(&mut self, since: Instant) -> Option<u8> {
        let is_written = self.output.is_drained() && self.tracer.is_none();
        let drained = is_written || self.abandoned;
        let (code, word) = self.verdict();
        if !self.reported && (drained || since.elapsed() >= REPORT_AFTER) {
            let counted = self.counted();
            self.write_files(&counted, code, word.as_deref());
            let seconds = self.began.elapsed().as_secs_f64();
            let took = format!("the job took {seconds:.2} s; exit code {code}");
            let took = Some(took).filter(|_| self.options.verbose);
            let check = self.conflicts().and_then(|found| conflicts::summary(found, code));
            let is_shown = self.options.stats && digest::has_joined(&counted);
            let counts = is_shown.then(|| statistics::table(&counted));
            let last = self.last_calls.iter().chain(&counts).chain(&check).chain(&word);
            let is_wanted = |text: &&String| !self.options.quiet || !text.starts_with("note:");
            let messages = self.notes.iter().chain(last).chain(&took).filter(is_wanted);
            let messages: Vec<&str> = messages.map(String::as_str).collect();
            self.reported = self.output.print(&messages);
        }
        drained.then_some(code)
    }

    /// What the ranks have counted; none in a job that counts nothing.
    fn counted(&self) -> Vec<RankStatistics> {
        (0..self.options.ranks).filter_map(|rank| self.job.statistics(rank)).collect()
    }

    /// Writes the files that the user has asked for, once.
    fn write_files(&mut self, counted: &[RankStatistics], code: u8, word: Option<&str>) {
        let ranks = self.options.ranks;
        if let Some(file) = self.files.conflicts.take() {
            self.notes.extend(file.write(&conflicts::text(self.job, ranks, code)));
        }
        if let Some(file) = self.files.page.take() {
            let run =
                RunFacts::new(self.options, (code, word), self.began_at, self.began.elapsed());
            self.notes.extend(file.write(&page::text(&run, counted)));
        }
    }

    /// At the first failure: keeps the last calls of the ranks that the message about it names, or of all if the
    /// user has asked.
    fn keep_last_calls(&mut self, cause: &Cause) {
        if self.last_calls.is_some() {
            return;
        }
        let ranks: Vec<u32> = match (self.options.calls, cause) {
            (Some(_), _) => (0..self.options.ranks).collect(),
            (None, _) if self.options.quiet => Vec::new(),
            (None, Cause::Deadlock(deadlock)) if deadlock.waiting.len() > MOST_NAMED => Vec::new(),
            (None, Cause::Deadlock(deadlock)) => {
                deadlock.waiting.iter().map(|waiting| waiting.rank).collect()
            }
            (None, cause) => cause.rank().into_iter().collect(),
        };
        let most = self.options.calls.unwrap_or(SHOWN_CALLS) as usize;
        let view = self.job.view();
        let is_there = |rank: &u32| {
            view.standing(*rank).is_ok_and(|standing| standing.joined && !standing.finished)
        };
        let table = last_calls::table(view, ranks.into_iter().filter(is_there), most);
        // Set off from the messages.
        let indented =
            |table: String| table.lines().map(|line| format!("  {line}\n")).collect::<String>();
        self.last_calls = table.map(indented);
    }

    /// The name of that rank's program; of the first rank's by default.
    fn program(&self, rank: Option<u32>) -> String {
        self.options.program(rank.unwrap_or(0)).name()
    }

    /// The exit code and its message.
    fn verdict(&self) -> (u8, Option<String>) {
        let Options { ranks, require_join, .. } = *self.options;
        let joined = self.joined();
        match (&self.cause, &self.lost) {
            (Some(cause), _) => {
                (cause.code(), Some(cause.sentence(&self.program(cause.rank()), joined, ranks)))
            }
            (None, Some((first, lost))) => {
                (first.code(), Some(report::went_on(*lost, ranks, first)))
            }
            (None, None) if joined == 0 => {
                let word = report::none_joined(&self.program(None), ranks, require_join);
                (if require_join { report::LAUNCHER_FAILED } else { 0 }, Some(word))
            }
            (None, None) => (self.code_of_check(), None),
        }
    }

    /// What the ranks of a checked job have found.
    fn conflicts(&self) -> Option<Conflicts> {
        self.job.conflicts()
    }

    /// The code of a job without failures.
    fn code_of_check(&self) -> u8 {
        match (self.options.check, self.conflicts()) {
            (Some(Check { only_reports: false, .. }), Some(found)) if found.pairs > 0 => {
                report::CONFLICTS
            }
            _ => 0,
        }
    }
}
