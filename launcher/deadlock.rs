//! Finds deadlocks: jobs in which no rank can ever continue. It proves them; it does not guess.
//!
//! A rank that sleeps in the library records in one word of the segment the number of its sleep, and of
//! its complete looks that have failed (`src/prim/account.rs`). A look is complete when the rank has
//! found its condition false, has slept, and has found no progress work. The launcher reads that word of
//! every remaining rank twice. If each rank is in the same sleep at the second reading, at least
//! [`LOOKS`] looks later, then
//!
//! 1. no rank has left its wait in between, so none has done anything but look, and the awaited state
//!    has not changed;
//! 2. each rank has made one complete look in between, because the second of two looks counted after the
//!    first reading has begun after it; it has found that it must wait and can do nothing;
//! 3. so every later look finds the same, on all ranks, for ever.
//!
//! The proof needs that only those threads change the awaited state. So a rank does not count as blocked
//! while its process has several threads or a debugger. Nor does it while more processes have the segment
//! mapped than ranks sleep, because a rank has forked. These are checked before the first of the two
//! readings, and none of them can appear while all ranks sleep.
//!
//! A signal handler might change it, too. It runs in a sleeping thread, and may notify this rank, send to
//! it, or complete its generalized request. When it returns, the thread sleeps again. So where a process
//! handles a signal, except those of [`NOT_AWAITED`], a deadlock is only suspected, much later, and the
//! job continues. While a rank waits for a generalized request, which only the program completes, every
//! handler counts, except those of [`FAULTS`].
//!
//! A rank that has left the job does nothing any more. So a wait that needs it never ends either. That
//! is proven in the same way, for that rank alone.
//!
//! The proof does not depend on time: ranks that are stopped, or wait for a processor, do not look.

use crate::launch::{AwaitedKind, Sleep, Standing, View};
use crate::launcher::report::deadlock::{Deadlock, Waiting};
use crate::launcher::tree;
use nix::libc::{
    SIGABRT, SIGBUS, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGPIPE, SIGQUIT, SIGSEGV, SIGSYS,
    SIGTERM, SIGTRAP, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGXCPU, SIGXFSZ, c_int,
};
use std::collections::HashSet;
use std::fs;
use std::os::fd::RawFd;
use std::os::linux::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Looks between two readings that prove a deadlock.
const LOOKS: u32 = 2;
/// Looks between two readings for a suspected deadlock, which a signal might end: five seconds.
const LOOKS_TO_SUSPECT: u32 = 50;
/// Signals of a fault of the thread itself, and the C library's own: no program completes a request in
/// their handlers.
const FAULTS: &[c_int] = &[SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, 32, 33];
/// Signals whose handlers end no wait except one for a generalized request. They are those of [`FAULTS`],
/// requests to end or stop, and signals of terminals and pipes.
const NOT_AWAITED: &[c_int] = &[
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ, SIGHUP, SIGINT,
    SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH, SIGPIPE, 32, 33,
];
/// How often the ranks are read normally.
const READ_EVERY: Duration = Duration::from_millis(200);
/// How often they are read after a possible first reading of a proof. Ranks look ten times a second, in
/// a job of more than 256 ranks less often.
const READ_AGAIN: Duration = Duration::from_millis(25);

/// The pause after a reading that proves nothing, in multiples of its duration. Such a reading of
/// thousands of sleeping processes reads all of /proc.
const REST: u32 = 10;

/// The readings of a job's ranks.
pub struct Detector {
    /// The descriptor of the segment, whose mappings are counted.
    segment: RawFd,
    /// Other programs may write to the segment, which has a name.
    is_open_to_others: bool,
    due: Instant,
    /// The first reading of ranks that all sleep.
    all: Vec<(u32, Sleep)>,
    /// Handlers of signals might wake one of them.
    all_by_handlers: bool,
    /// The first reading of ranks that sleep while others have left.
    some: Vec<(u32, Sleep)>,
    left: Vec<u32>,
    /// The sleeps of the latest deadlock that was reported.
    reported: Vec<(u32, u32)>,
}

impl Detector {
    pub fn new(segment: RawFd, is_open_to_others: bool) -> Detector {
        let (all, some, left, reported) = Default::default();
        Detector {
            segment,
            is_open_to_others,
            due: Instant::now() + READ_EVERY,
            all,
            all_by_handlers: false,
            some,
            left,
            reported,
        }
    }

    /// The time until the next reading.
    pub fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Reads the ranks, if that is due; `is_alive` returns whether a rank's process has not ended.
    pub fn look(&mut self, view: View<'_>, is_alive: impl Fn(u32) -> bool) -> Option<Deadlock> {
        if !self.due_in().is_zero() {
            return None;
        }
        let began = Instant::now();
        self.due = began + READ_EVERY;
        let now = Reading::of(view, is_alive)?;
        let proven = match now.all_sleep {
            true => self.all_sleep(view, &now),
            false => {
                self.all.clear();
                self.some_wait_for_those_that_left(view, &now)
            }
        };
        let is_new = |deadlock: &Deadlock| !sleeps(deadlock).all(|s| self.reported.contains(&s));
        let found = proven.filter(is_new);
        if !self.all.is_empty() && !self.all_by_handlers && self.reported.is_empty() {
            self.due = Instant::now() + READ_AGAIN;
        } else {
            // A reading of thousands of processes takes long.
            self.due = self.due.max(Instant::now() + began.elapsed() * REST);
        }
        found
    }

    /// Records that the latest deadlock has been reported.
    pub fn reported(&mut self, deadlock: &Deadlock) {
        self.reported = sleeps(deadlock).collect();
    }

    fn all_sleep(&mut self, view: View<'_>, now: &Reading) -> Option<Deadlock> {
        if !same_sleeps(&self.all, &now.asleep) {
            // Read before and after the check of the processes: its result has held ever since.
            self.all.clear();
            if let Some(handlers) = self.beside_ranks(view, now)
                && let Some(again) = Reading::of(view, |rank| now.is_alive(rank))
                && same_sleeps(&now.asleep, &again.asleep)
            {
                self.all = again.asleep;
                self.all_by_handlers = handlers;
            }
            return None;
        }
        let is_suspected = self.all_by_handlers;
        let looks = if is_suspected { LOOKS_TO_SUSPECT } else { LOOKS };
        let mut pairs = self.all.iter().zip(&now.asleep);
        pairs.all(|(first, now)| has_looked(first, now, looks)).then(|| {
            let found = Deadlock::read(view, now.asleep.iter().copied(), &now.left);
            Deadlock { is_suspected, ..found }
        })
    }

    fn some_wait_for_those_that_left(&mut self, view: View<'_>, now: &Reading) -> Option<Deadlock> {
        let before = std::mem::take(&mut self.some);
        let have_left_before = std::mem::replace(&mut self.left, now.left.clone()) == now.left;
        let first_of = |(rank, sleep): &(u32, Sleep)| {
            let first = before.binary_search_by_key(rank, |(rank, _)| *rank).ok();
            let first =
                first.map(|at| before[at]).filter(|(_, first)| first.number == sleep.number);
            first.filter(|_| have_left_before).unwrap_or((*rank, *sleep))
        };
        if now.left.is_empty() {
            return None;
        }
        self.some = now.asleep.iter().map(first_of).collect();
        let proven = self.some.iter().zip(&now.asleep);
        let proven =
            proven.filter(|(first, now)| has_looked(first, now, LOOKS)).map(|(_, now)| *now);
        Deadlock::read(view, proven, &now.left).of_those_that_need_who_left()
    }

    /// Whether signal handlers could change the awaited state; `None` if anything else could, besides the
    /// sleeping threads.
    fn beside_ranks(&self, view: View<'_>, now: &Reading) -> Option<bool> {
        let is_value = |rank: u32| {
            let awaited = view.awaited(rank).ok().flatten();
            awaited.is_none_or(|awaited| awaited.kind == AwaitedKind::Value)
        };
        let is_program = |rank: u32| {
            let awaited = view.awaited(rank).ok().flatten();
            awaited.is_some_and(|awaited| awaited.kind == AwaitedKind::Program)
        };
        let by_program = now.asleep.iter().any(|(rank, _)| is_program(*rank));
        let not_awaited = if by_program { FAULTS } else { NOT_AWAITED };
        let idle = |(rank, _): &(u32, Sleep)| {
            view.standing(*rank).map_or(0, |standing| standing.idle_threads)
        };
        let idle = now.asleep.iter().map(idle).fold(0, u32::saturating_add);
        // As many as ranks sleep, so they are those ranks. The process numbers in the segment may be
        // damaged or belong to another namespace.
        let have = have_mapped(self.segment)?;
        let outsiders =
            self.is_open_to_others && now.asleep.iter().any(|(rank, _)| is_value(*rank));
        if outsiders || have.len() != now.asleep.len() {
            return None;
        }
        let others: Option<Vec<(u32, bool)>> =
            have.iter().map(|id| threads_and_handlers(*id, not_awaited)).collect();
        let others = others?;
        // Each idle thread is one of these.
        let besides = others.iter().map(|(threads, _)| threads.saturating_sub(1)).sum::<u32>();
        (besides <= idle).then(|| others.iter().any(|(_, handles)| *handles))
    }
}

/// One reading of all ranks.
struct Reading {
    /// Sleeping ranks with at least one failed look, in order.
    asleep: Vec<(u32, Sleep)>,
    /// Ranks that have left the job.
    left: Vec<u32>,
    /// Whether all remaining ranks sleep.
    all_sleep: bool,
    ended: Vec<bool>,
}

impl Reading {
    /// `None` if the segment is damaged.
    fn of(view: View<'_>, is_alive: impl Fn(u32) -> bool) -> Option<Reading> {
        let (mut asleep, mut left, mut awake) = (Vec::new(), Vec::new(), 0);
        let mut ended = Vec::new();
        for rank in 0..view.ranks() {
            let Standing { joined, finished, sleep, .. } = view.standing(rank).ok()?;
            let is_alive = is_alive(rank);
            ended.push(!is_alive);
            match () {
                () if finished => left.push(rank),
                () if !is_alive => {}
                () if joined && sleep.lasts() && sleep.looks > 0 => asleep.push((rank, sleep)),
                () => awake += 1,
            }
        }
        let all_sleep = awake == 0 && !asleep.is_empty();
        Some(Reading { asleep, left, all_sleep, ended })
    }

    fn is_alive(&self, rank: u32) -> bool {
        !self.ended[rank as usize]
    }
}

/// The sleeps of a deadlock.
fn sleeps(deadlock: &Deadlock) -> impl Iterator<Item = (u32, u32)> {
    deadlock.waiting.iter().map(|rank| (rank.rank, rank.sleep))
}

/// Whether the same ranks are in the same sleeps.
fn same_sleeps(first: &[(u32, Sleep)], now: &[(u32, Sleep)]) -> bool {
    let of = |reading: &[(u32, Sleep)]| -> Vec<(u32, u32)> {
        reading.iter().map(|(rank, sleep)| (*rank, sleep.number)).collect()
    };
    of(first) == of(now)
}

/// Whether a rank has looked between two readings of the same sleep.
fn has_looked(first: &(u32, Sleep), now: &(u32, Sleep), looks: u32) -> bool {
    now.1.looks.saturating_sub(first.1.looks) >= looks
}

/// The threads of a process, and whether it handles a signal that is none of `not_awaited`; `None` if that is
/// unknown, or a debugger might change what the process does.
fn threads_and_handlers(pid: u32, not_awaited: &[c_int]) -> Option<(u32, bool)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let threads: u32 = field("Threads:")?.parse().ok()?;
    let handled = u64::from_str_radix(field("SigCgt:")?, 16).ok()?;
    let not_awaited = not_awaited.iter().fold(0, |mask, signal| mask | 1u64 << (signal - 1));
    (field("TracerPid:")? == "0").then_some((threads, handled & !not_awaited != 0))
}

/// The descendants of this process that have the file behind the descriptor mapped; `None` if that is
/// unknown.
fn have_mapped(descriptor: RawFd) -> Option<HashSet<u32>> {
    let file = fs::metadata(format!("/proc/self/fd/{descriptor}")).ok()?;
    let (device, inode) = (file.st_dev(), file.st_ino());
    let device =
        format!("{:02x}:{:02x}", nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let file = (device.as_str(), inode.to_string());
    let mut found = HashSet::new();
    for process in tree::descendants() {
        let maps = match fs::read(format!("/proc/{process}/maps")) {
            Ok(maps) => maps,
            // It has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => continue,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        let is_of_file = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            let mut words = line.split(' ').skip(3);
            words.next() == Some(file.0) && words.next() == Some(&file.1)
        };
        if maps.split(|byte| *byte == b'\n').any(is_of_file) {
            found.insert(process.as_raw() as u32);
        }
    }
    Some(found)
}

impl Deadlock {
    /// All ranks that sleep now, whether they will be woken or not.
    pub fn of_all(view: View<'_>) -> Deadlock {
        let standings =
            (0..view.ranks()).filter_map(|rank| Some((rank, view.standing(rank).ok()?)));
        let standings: Vec<(u32, Standing)> = standings.collect();
        let left = standings.iter().filter(|(_, standing)| standing.finished);
        let left: Vec<u32> = left.map(|(rank, _)| *rank).collect();
        let asleep = standings.iter().filter(|(_, s)| s.joined && !s.finished && s.sleep.lasts());
        Deadlock::read(view, asleep.map(|(rank, standing)| (*rank, standing.sleep)), &left)
    }

    /// The records of the ranks in these sleeps.
    fn read(view: View<'_>, asleep: impl Iterator<Item = (u32, Sleep)>, left: &[u32]) -> Deadlock {
        let waiting = asleep.filter_map(|(rank, sleep)| {
            let awaited = view.awaited(rank).ok()??;
            let (call, window) = view.call_of(&awaited);
            Some(Waiting { rank, sleep: sleep.number, call, window, awaited })
        });
        let waiting = waiting.collect();
        Deadlock { waiting, left: left.to_vec(), ranks: view.ranks(), is_suspected: false }
    }
}
