//! What a rank that sleeps for long checks besides its own wait: whether its job still exists.
//!
//! The launcher ends a job if its segment is damaged or if one half of the launcher has died. When the
//! supervisor dies, the kernel ends the ranks that it has started. That does not cover a launcher that is
//! stopped, slow or completely dead, nor a rank below a shell or a debugger, which is not the
//! supervisor's child. So a sleeping rank checks by itself, and ends if the fault lasts. Where another MPI's launcher
//! has started the ranks, it also looks whether these still exist: that launcher may leave the others alone.

use super::{JobLauncher, Sharers};
use crate::shm::{NoticeBoard, STAT_BYTES, Segment, kill_this_process, stat_of, takes_output};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time that the launcher has to act first.
const LASTS: Duration = Duration::from_secs(1);
/// How often a rank looks for the launcher. (It looks at the segment each time.)
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// Ranks that are looked at with another MPI's launcher, in turn.
const RANKS_AT_ONCE: u32 = 16;

/// What a rank can see of its job.
pub(crate) struct JobWatch {
    rank: u32,
    sharers: Sharers,
    segment: Arc<Segment>,
    /// `None` if it cannot be seen: without a launcher, without /proc, or in another namespace.
    launcher: Option<Launcher>,
    /// Whether no launcher of this library reports ranks that fail.
    looks_at_ranks: bool,
    seen: Mutex<Seen>,
}

struct Seen {
    /// When the launcher was looked for.
    looked: Instant,
    /// The number of the rank that is looked at next.
    next: u32,
    /// Since when the job has had a fault, and which.
    fault: Option<(Instant, LauncherFault)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LauncherFault {
    Damaged,
    SupervisorDied,
    GuardDied,
    OtherDied,
    RankDied(u32),
}

impl LauncherFault {
    fn sentence(self) -> String {
        let sentence = match self {
            LauncherFault::Damaged => {
                "the job's segment is damaged: something, most likely a rank that writes where it \
                 should not, has written over its beginning, and the launcher does not end the job"
            }
            LauncherFault::SupervisorDied => "the launcher of the job was killed (its supervisor)",
            LauncherFault::GuardDied => {
                "the launcher of the job was killed (its guard), and its supervisor does not end \
                 the job"
            }
            LauncherFault::OtherDied => "the launcher of the job has ended",
            LauncherFault::RankDied(rank) => {
                return format!("rank {rank} has ended without leaving the job");
            }
        };
        sentence.to_owned()
    }
}

impl JobWatch {
    /// The watch of the rank `rank`.
    pub(crate) fn new(
        rank: u32,
        sharers: &Sharers,
        segment: &Arc<Segment>,
        notice: &NoticeBoard,
        launcher: Option<JobLauncher>,
    ) -> JobWatch {
        let looks_at_ranks = matches!(launcher, Some(JobLauncher::Other(_)));
        let launcher = launcher.and_then(|launcher| Launcher::find(launcher, notice.began()));
        let seen = Mutex::new(Seen { looked: Instant::now(), next: 0, fault: None });
        let (sharers, segment) = (sharers.clone(), segment.clone());
        JobWatch { rank, sharers, segment, launcher, looks_at_ranks, seen }
    }

    /// Ends this process if the job has had a fault for so long that no other process will end it.
    pub(crate) fn look(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match self.segment.is_whole() {
            false => Some(LauncherFault::Damaged),
            true if seen.fault.is_none() && seen.looked.elapsed() < LOOKS_EVERY => None,
            true => {
                seen.looked = Instant::now();
                let of_launcher = self.launcher.as_ref().and_then(Launcher::fault);
                of_launcher.or_else(|| self.dead_rank(&mut seen).map(LauncherFault::RankDied))
            }
        };
        seen.fault = fault.map(|now| match seen.fault {
            Some((since, before)) if before == now => (since, before),
            _ => (Instant::now(), now),
        });
        if let Some((since, fault)) = seen.fault
            && since.elapsed() >= LASTS
        {
            self.end(fault);
        }
    }

    /// The number of a rank that has ended without leaving the job: of the next ones, or the one that was found before.
    fn dead_rank(&self, seen: &mut Seen) -> Option<u32> {
        if !self.looks_at_ranks {
            return None;
        }
        let ranks = self.segment.layout().ranks;
        let first = match seen.fault {
            Some((_, LauncherFault::RankDied(rank))) => rank,
            _ => seen.next,
        };
        let mut some = (0..RANKS_AT_ONCE.min(ranks)).map(|i| (first + i) % ranks);
        seen.next = (first + RANKS_AT_ONCE) % ranks;
        some.find(|rank| self.is_dead(*rank))
    }

    fn is_dead(&self, rank: u32) -> bool {
        let Ok(slot) = self.segment.slot(rank) else { return false };
        // Stored before it may leave.
        let pid = slot.pid.load();
        pid != 0
            && !slot.finished.is_set()
            && Stat::of(pid).is_ok_and(|stat| stat.is_none_or(|stat| stat.is_dead))
    }

    /// Reports why and ends the process, without what the program does at its end: it might wait for other
    /// ranks.
    #[allow(clippy::disallowed_methods, reason = "the job is over, and its user is to know why")]
    fn end(&self, fault: LauncherFault) {
        let why = match fault {
            LauncherFault::RankDied(number) => LauncherFault::RankDied(self.sharers.rank(number)),
            other => other,
        };
        let line = format!("onesided: rank {} ends: {}\n", self.rank, why.sentence());
        // A full pipe would block this rank, if no process reads it any more.
        if takes_output(&std::io::stderr()) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        kill_this_process();
    }
}

/// The supervisor, and the guard by being its parent; or a process of another MPI's launcher.
struct Launcher {
    pid: u32,
    began: u64,
    guard: Option<u32>,
    /// This process, and when it began. If that cannot be read, neither can the launcher's state.
    own: (u32, u64),
}

impl Launcher {
    /// The process of that number, if it began at `began`. In another namespace the number may be another
    /// process's.
    fn find(launcher: JobLauncher, began: u64) -> Option<Launcher> {
        let pid = launcher.pid()?;
        let own = std::process::id();
        let own = (own, Stat::of(own).ok()??.began);
        let now = Stat::of(pid).ok()??;
        // Another MPI's may change its parent.
        let guard = matches!(launcher, JobLauncher::Supervisor(_)).then_some(now.parent);
        (now.began == began).then_some(Launcher { pid, began, guard, own })
    }

    /// Its state; `None` if it is unknown, because this process has no descriptor left, or another /proc,
    /// or none.
    fn fault(&self) -> Option<LauncherFault> {
        let now = Stat::of(self.pid).ok()?;
        match now.filter(|now| now.began == self.began && !now.is_dead) {
            None if !self.sees_itself() => None,
            None if self.guard.is_some() => Some(LauncherFault::SupervisorDied),
            None => Some(LauncherFault::OtherDied),
            Some(now) if self.guard.is_some_and(|guard| guard != now.parent) => {
                Some(LauncherFault::GuardDied)
            }
            Some(_) => None,
        }
    }

    fn sees_itself(&self) -> bool {
        let (pid, began) = self.own;
        Stat::of(pid).is_ok_and(|own| own.is_some_and(|own| own.began == began))
    }
}

/// A line of /proc/PID/stat.
struct Stat {
    is_dead: bool,
    parent: u32,
    began: u64,
}

impl Stat {
    /// `None` if there is no such process.
    fn of(pid: u32) -> io::Result<Option<Stat>> {
        Ok(stat_of(pid, &mut [0; STAT_BYTES])?.and_then(Stat::read))
    }

    /// The words after the name, which is in parentheses and may contain any characters (proc(5)).
    fn read(stat: &[u8]) -> Option<Stat> {
        let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let mut words = std::str::from_utf8(&stat[behind..]).ok()?.split_whitespace();
        let is_dead = matches!(words.next()?, "Z" | "X");
        let parent = words.next()?.parse().ok()?;
        let began = words.nth(17)?.parse().ok()?;
        Some(Stat { is_dead, parent, began })
    }
}

/// When the process began, as the kernel counts it. That distinguishes it from other processes with its
/// number. Zero if that is unknown.
pub(super) fn began(pid: u32) -> u64 {
    Stat::of(pid).ok().flatten().map_or(0, |stat| stat.began)
}

/// The namespace of the numbers by which this process knows others; zero if that is unknown.
pub(super) fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// Processes from which one descends that are looked at.
pub(super) const ANCESTORS: usize = 16;

/// The processes from which this one descends, the nearest first; zeros behind those that it sees.
pub(super) fn ancestors() -> [u32; ANCESTORS] {
    let parent = |pid: &u32| Some(Stat::of(*pid).ok()??.parent).filter(|parent| *parent != 0);
    let mut ancestors = [0; ANCESTORS];
    let chain = std::iter::successors(parent(&std::process::id()), parent);
    ancestors.iter_mut().zip(chain).for_each(|(place, pid)| *place = pid);
    ancestors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_others_by_its_beginning() {
        let own = Stat::of(std::process::id()).unwrap().unwrap();
        assert!(!own.is_dead && own.parent == std::os::unix::process::parent_id());
        let this = std::process::id();
        assert!(Launcher::find(JobLauncher::Supervisor(this), own.began + 1).is_none());
        let found = Launcher::find(JobLauncher::Supervisor(this), own.began).unwrap();
        assert_eq!(found.fault(), None);
        let orphan = Launcher { guard: Some(own.parent + 1), ..found };
        assert_eq!(orphan.fault(), Some(LauncherFault::GuardDied));
        let gone = Launcher { began: 1, ..orphan };
        assert_eq!(gone.fault(), Some(LauncherFault::SupervisorDied));
        let blind = Launcher { own: (gone.own.0, 1), ..gone };
        assert_eq!(blind.fault(), None);
        let other = Launcher::find(JobLauncher::Other(Some(this)), own.began).unwrap();
        assert_eq!((other.guard, other.fault()), (None, None));
        let gone = Launcher { began: 1, ..other };
        assert_eq!(gone.fault(), Some(LauncherFault::OtherDied));
        assert_eq!(ancestors()[0], own.parent);
    }

    #[test]
    fn a_name_may_contain_anything() {
        let line = b"7 (a) Z 1 (b\xff) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 9";
        let stat = Stat::read(line).unwrap();
        assert_eq!((stat.is_dead, stat.parent, stat.began), (false, 3, 12345));
    }
}
