//! What a rank that sleeps for long checks besides its own wait: whether its job still exists.
//!
//! The launcher ends a job if its segment is damaged or if one half of the launcher has died. When the
//! supervisor dies, the kernel ends the ranks that it has started. That does not cover a launcher that is
//! stopped, slow or completely dead, nor a rank below a shell or a debugger, which is not the
//! supervisor's child. So a sleeping rank checks by itself, and ends if the fault lasts.

use crate::shm::{NoticeBoard, STAT_BYTES, Segment, kill_this_process, stat_of, takes_output};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time that the launcher has to act first.
const LASTS: Duration = Duration::from_secs(1);
/// How often a rank looks for the launcher. (It looks at the segment each time.)
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// What a rank can see of its job.
pub(crate) struct JobWatch {
    rank: u32,
    segment: Arc<Segment>,
    /// `None` if it cannot be seen: without a launcher, without /proc, or in another namespace.
    launcher: Option<Launcher>,
    seen: Mutex<Seen>,
}

struct Seen {
    /// When the launcher was looked for.
    looked: Instant,
    /// Since when the job has had a fault, and which.
    fault: Option<(Instant, LauncherFault)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LauncherFault {
    Damaged,
    SupervisorDied,
    GuardDied,
}

impl LauncherFault {
    fn sentence(self) -> &'static str {
        match self {
            LauncherFault::Damaged => {
                "the job's segment is damaged: something, most likely a rank that writes where it \
                 should not, has written over its beginning, and the launcher does not end the job"
            }
            LauncherFault::SupervisorDied => "the launcher of the job was killed (its supervisor)",
            LauncherFault::GuardDied => {
                "the launcher of the job was killed (its guard), and its supervisor does not end \
                 the job"
            }
        }
    }
}

impl JobWatch {
    /// The watch of the rank `rank`, whose launcher is the process `launcher`.
    pub(crate) fn new(
        rank: u32,
        segment: &Arc<Segment>,
        notice: &NoticeBoard,
        launcher: Option<u32>,
    ) -> JobWatch {
        let launcher = launcher.and_then(|pid| Launcher::find(pid, notice.began()));
        let seen = Mutex::new(Seen { looked: Instant::now(), fault: None });
        JobWatch { rank, segment: segment.clone(), launcher, seen }
    }

    /// Ends this process if the job has had a fault for so long that no other process will end it.
    pub(crate) fn look(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match self.segment.is_whole() {
            false => Some(LauncherFault::Damaged),
            true if seen.fault.is_none() && seen.looked.elapsed() < LOOKS_EVERY => None,
            true => {
                seen.looked = Instant::now();
                self.launcher.as_ref().and_then(Launcher::fault)
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

    /// Reports why and ends the process, without what the program does at its end: it might wait for other
    /// ranks.
    #[allow(clippy::disallowed_methods, reason = "the job is over, and its user is to know why")]
    fn end(&self, fault: LauncherFault) {
        let line = format!("onesided: rank {} ends: {}\n", self.rank, fault.sentence());
        // A full pipe would block this rank, if no process reads it any more.
        if takes_output(&std::io::stderr()) {
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        kill_this_process();
    }
}

/// The supervisor, and the guard by being its parent.
struct Launcher {
    pid: u32,
    began: u64,
    guard: u32,
    /// This process, and when it began. If that cannot be read, neither can the launcher's state.
    own: (u32, u64),
}

impl Launcher {
    /// The process `pid`, if it began at `began`. In another namespace the number may be another
    /// process's.
    fn find(pid: u32, began: u64) -> Option<Launcher> {
        let own = std::process::id();
        let own = (own, Stat::of(own).ok()??.began);
        let now = Stat::of(pid).ok()??;
        (now.began == began).then_some(Launcher { pid, began, guard: now.parent, own })
    }

    /// Its state; `None` if it is unknown, because this process has no descriptor left, or another /proc,
    /// or none.
    fn fault(&self) -> Option<LauncherFault> {
        let now = Stat::of(self.pid).ok()?;
        match now.filter(|now| now.began == self.began && !now.is_dead) {
            None => self.sees_itself().then_some(LauncherFault::SupervisorDied),
            Some(now) if now.parent != self.guard => Some(LauncherFault::GuardDied),
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

/// When this process began, as the kernel counts it. That distinguishes it from other processes with its
/// number.
pub(super) fn began() -> u64 {
    Stat::of(std::process::id()).ok().flatten().map_or(0, |stat| stat.began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_others_by_its_beginning() {
        let own = Stat::of(std::process::id()).unwrap().unwrap();
        assert!(!own.is_dead && own.parent == std::os::unix::process::parent_id());
        assert!(Launcher::find(std::process::id(), own.began + 1).is_none());
        let found = Launcher::find(std::process::id(), own.began).unwrap();
        assert_eq!(found.fault(), None);
        let orphan = Launcher { guard: own.parent + 1, ..found };
        assert_eq!(orphan.fault(), Some(LauncherFault::GuardDied));
        let gone = Launcher { began: 1, ..orphan };
        assert_eq!(gone.fault(), Some(LauncherFault::SupervisorDied));
        let blind = Launcher { own: (gone.own.0, 1), ..gone };
        assert_eq!(blind.fault(), None);
    }

    #[test]
    fn a_name_may_contain_anything() {
        let line = b"7 (a) Z 1 (b\xff) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 9";
        let stat = Stat::read(line).unwrap();
        assert_eq!((stat.is_dead, stat.parent, stat.began), (false, 3, 12345));
    }
}
