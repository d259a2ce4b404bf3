//! Finds deadlocks: jobs in which nobody can ever go on, shown and not suspected.
//!
//! A rank that sleeps in a wait of the library says so in one word of the segment: which sleep it
//! is, and how many complete looks of it have failed (`src/prim/account.rs`). A look is complete
//! when the rank has found its condition false, has slept, and has found nothing else to do about
//! it. Let the launcher have read that word of every rank that is left, then again, and let each
//! rank be in the same sleep still, at least [`LOOKS`] looks later. Then
//!
//! 1. no rank has left its wait in between, so none has done anything but look: what they look at
//!    has been the same all the time;
//! 2. each has looked at it once from beginning to end (of two looks that were counted after the
//!    first reading, the second has begun after it), and has found that it must go on waiting and
//!    can do nothing about it;
//! 3. so it will find the same every other time, and so will they all, for ever.
//!
//! That holds if only those threads change what the ranks wait for. Therefore a rank is not taken
//! for blocked while its process has several threads or is traced by a debugger, nor while more
//! processes have the segment mapped than there are ranks that sleep (a rank has forked); these are
//! looked for before the first of the two readings, and none of them can come up while all sleep.
//!
//! The handler of a signal is one more that might: it runs in a thread that sleeps, may notify this rank,
//! send to it, or complete its generalized request, and sleeps again when it has returned. So where a
//! process handles a signal, other than those of [`NOT_AWAITED`], a deadlock is only suspected, much
//! later, and the job goes on.
//!
//! A rank that has left the job does nothing any more. So a wait that needs it never ends either,
//! whatever the others do: that is shown in the same way, for that rank alone.
//!
//! Time plays no part: ranks that are stopped, or wait for a processor, do not look.

use crate::report::deadlock::{Deadlock, Waiting};
use crate::tree;
use nix::libc::{
    SIGABRT, SIGBUS, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGPIPE, SIGQUIT, SIGSEGV, SIGSYS,
    SIGTERM, SIGTRAP, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGXCPU, SIGXFSZ, c_int,
};
use onesided::launch::{AwaitedKind, Sleep, Standing, View};
use std::collections::HashSet;
use std::fs;
use std::os::fd::RawFd;
use std::os::linux::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Looks between two readings that prove something.
const LOOKS: u32 = 2;
/// Looks between two readings by which a deadlock is suspected that a signal might end: five seconds.
const LOOKS_TO_SUSPECT: u32 = 50;
/// Signals that programs handle, and that no wait counts on: faults of the thread itself, wishes that the
/// program end or stop, news of its terminal and of pipes, and what the C library keeps for itself.
const NOT_AWAITED: &[c_int] = &[
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ, SIGHUP, SIGINT,
    SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH, SIGPIPE, 32, 33,
];
/// How often the ranks are read in general.
const READ_EVERY: Duration = Duration::from_millis(200);
/// How often once a first reading may be the beginning of a proof. Ranks look ten times a
/// second, in a job of more than 256 ranks less often.
const READ_AGAIN: Duration = Duration::from_millis(25);

/// What has been read of the ranks of a job.
pub struct Detector {
    /// The descriptor of the segment, whose mappings are looked for.
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

    /// How long until the ranks are to be read again.
    pub fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Reads the ranks, if it is time; `is_alive` says of each whether its process has not ended.
    pub fn look(&mut self, view: View<'_>, is_alive: impl Fn(u32) -> bool) -> Option<Deadlock> {
        if !self.due_in().is_zero() {
            return None;
        }
        self.due = Instant::now() + READ_EVERY;
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
        }
        found
    }

    /// The deadlock that was found last has been reported.
    pub fn told(&mut self, deadlock: &Deadlock) {
        self.reported = sleeps(deadlock).collect();
    }

    fn all_sleep(&mut self, view: View<'_>, now: &Reading) -> Option<Deadlock> {
        if !same_sleeps(&self.all, &now.asleep) {
            // Read before and after the processes were looked at: what was true of them then has
            // been true ever since.
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

    /// Whether handlers of signals could change what the ranks wait for; `None` if somebody else could,
    /// beside the threads that sleep.
    fn beside_ranks(&self, view: View<'_>, now: &Reading) -> Option<bool> {
        let is_value = |rank: u32| {
            let awaited = view.awaited(rank).ok().flatten();
            awaited.is_none_or(|awaited| awaited.kind == AwaitedKind::Value)
        };
        let vouches = |(rank, _): &(u32, Sleep)| {
            view.standing(*rank).is_ok_and(|standing| standing.one_thread)
        };
        let vouched = now.asleep.iter().all(vouches);
        // As many as there are ranks that sleep, so it is they. What they call themselves may be
        // damaged, or be numbers of another namespace.
        let have = have_mapped(self.segment)?;
        let outsiders =
            self.is_open_to_others && now.asleep.iter().any(|(rank, _)| is_value(*rank));
        if outsiders || have.len() != now.asleep.len() {
            return None;
        }
        let handlers: Option<Vec<bool>> =
            have.iter().map(|process| alone_but_for_handlers(*process, vouched)).collect();
        Some(handlers?.contains(&true))
    }
}

/// One reading of all ranks.
struct Reading {
    /// Those that sleep and have looked again at least once, in order.
    asleep: Vec<(u32, Sleep)>,
    /// Those that have left the job.
    left: Vec<u32>,
    /// Whether all that can still do something sleep.
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

/// The sleeps that a deadlock is made of.
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

/// Whether a process handles signals that a wait may count on; `None` if it has several threads and
/// does not vouch for the others, or has a debugger that could make it do something.
fn alone_but_for_handlers(pid: u32, vouches: bool) -> Option<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let is_alone = (vouches || field("Threads:") == Some("1")) && field("TracerPid:") == Some("0");
    let handled = u64::from_str_radix(field("SigCgt:")?, 16).ok()?;
    let not_awaited = NOT_AWAITED.iter().fold(0, |mask, signal| mask | 1u64 << (signal - 1));
    is_alone.then_some(handled & !not_awaited != 0)
}

/// The processes below this one that have the file behind the descriptor mapped; `None` if that
/// cannot be found out.
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
    /// All that sleep now, whether they will be woken or not.
    pub fn of_all(view: View<'_>) -> Deadlock {
        let standings =
            (0..view.ranks()).filter_map(|rank| Some((rank, view.standing(rank).ok()?)));
        let standings: Vec<(u32, Standing)> = standings.collect();
        let left = standings.iter().filter(|(_, standing)| standing.finished);
        let left: Vec<u32> = left.map(|(rank, _)| *rank).collect();
        let asleep = standings.iter().filter(|(_, s)| s.joined && !s.finished && s.sleep.lasts());
        Deadlock::read(view, asleep.map(|(rank, standing)| (*rank, standing.sleep)), &left)
    }

    /// What the ranks say that are in these sleeps.
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
