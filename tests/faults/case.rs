//! One way for a job to break, as data and as a line of text that repeats it.

use std::fmt;

/// What a rank does to itself at a site; the names are those of `ONESIDED_FAULT`.
pub const ACTIONS: [&str; 7] = ["kill", "abort", "segv", "exit0", "panic", "oom", "stop"];
/// Those of a job that goes on: the others end a process in one of these ways, or not at all.
pub const LOSSES: [&str; 4] = ["kill", "abort", "exit0", "panic"];

/// What happens to the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blow {
    /// SIGKILL of the process that the user started.
    KillGuard,
    /// SIGKILL of its child.
    KillSupervisor,
    Interrupt,
    InterruptTwice,
    Terminate,
    HangUp,
    /// Its standard output is closed by the reader.
    CloseOutput,
    /// SIGSTOP of the child, then SIGINT.
    StopAndInterrupt,
    /// SIGSTOP of the child, then SIGKILL of the process that the user started.
    StopAndKill,
    /// SIGSTOP of the process that the user started, SIGKILL of its child, then SIGCONT.
    StopGuard,
}

pub const BLOWS: [(&str, Blow); 10] = [
    ("kill-guard", Blow::KillGuard),
    ("kill-supervisor", Blow::KillSupervisor),
    ("interrupt", Blow::Interrupt),
    ("interrupt-twice", Blow::InterruptTwice),
    ("terminate", Blow::Terminate),
    ("hang-up", Blow::HangUp),
    ("close-output", Blow::CloseOutput),
    ("stop-and-interrupt", Blow::StopAndInterrupt),
    ("stop-and-kill", Blow::StopAndKill),
    ("stop-guard", Blow::StopGuard),
];

/// By what the ranks' program is started.
pub const WRAPPERS: [&str; 3] = ["plain", "env", "shell"];
/// Instead of those: each rank holds so much memory that the kernel takes long to free it.
pub const HOARD: &str = "hoard";

pub const SEGMENTS: [&str; 3] = ["memfd", "posix", "named"];

/// What becomes of the job.
const MODES: [&str; 2] = ["ends", "goes-on"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Rank `rank` does `action` when it comes to `site` the `nth` time.
    Site { rank: u32, site: String, nth: u64, action: &'static str },
    /// Several ranks fail: a list of `rank:site:nth:action`, with commas; with `phase/` before a site,
    /// it is counted from the beginning of that phase of a job that goes on.
    Several { faults: String },
    /// SIGKILL of a rank the given number of microseconds after the start.
    Rank { rank: u32, micros: u64 },
    /// In a job that goes on, SIGKILL of several: a list of `rank@micros`, with commas.
    Ranks { kills: String },
    /// A blow to the launcher the given number of microseconds after the start.
    Launcher { blow: Blow, micros: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub ranks: u32,
    pub wrapper: &'static str,
    pub segment: &'static str,
    /// Whether the job goes on without the ranks that fail.
    pub goes_on: bool,
    pub what: What,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = MODES[usize::from(self.goes_on)];
        write!(f, "{} {} {} {mode} ", self.ranks, self.wrapper, self.segment)?;
        match &self.what {
            What::Site { rank, site, nth, action } => {
                write!(f, "site {rank}:{site}:{nth}:{action}")
            }
            What::Several { faults } => write!(f, "several {faults}"),
            What::Rank { rank, micros } => write!(f, "rank {rank} {micros}"),
            What::Ranks { kills } => write!(f, "ranks {kills}"),
            What::Launcher { blow, micros } => {
                write!(f, "launcher {} {micros}", name_of(*blow))
            }
        }
    }
}

impl Case {
    /// Whether its ranks hold so much memory that there must be one such job at a time.
    pub fn is_heavy(&self) -> bool {
        self.wrapper == HOARD
    }
}

pub fn name_of(blow: Blow) -> &'static str {
    BLOWS.iter().find(|(_, one)| *one == blow).map_or("", |(name, _)| name)
}

/// Reads what `Display` writes.
pub fn read(text: &str) -> Option<Case> {
    let known = |names: &'static [&'static str], name: &str| {
        names.iter().find(|one| **one == name).copied()
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let [ranks, wrapper, segment, mode, _, ..] = words[..] else { return None };
    let what = match words[4..] {
        ["site", fault] => {
            let [rank, site, nth, action] = fault.split(':').collect::<Vec<_>>()[..] else {
                return None;
            };
            let (rank, nth) = (rank.parse().ok()?, nth.parse().ok()?);
            What::Site { rank, site: site.to_owned(), nth, action: known(&ACTIONS, action)? }
        }
        ["several", faults] => What::Several { faults: faults.to_owned() },
        ["ranks", kills] => What::Ranks { kills: kills.to_owned() },
        ["rank", rank, micros] => {
            What::Rank { rank: rank.parse().ok()?, micros: micros.parse().ok()? }
        }
        ["launcher", blow, micros] => {
            let blow = BLOWS.iter().find(|(name, _)| *name == blow)?.1;
            What::Launcher { blow, micros: micros.parse().ok()? }
        }
        _ => return None,
    };
    Some(Case {
        ranks: ranks.parse().ok()?,
        wrapper: known(&WRAPPERS, wrapper).or((wrapper == HOARD).then_some(HOARD))?,
        segment: known(&SEGMENTS, segment)?,
        goes_on: MODES.iter().position(|one| *one == mode)? == 1,
        what,
    })
}

/// The list of [`What::Ranks`].
pub fn kills(text: &str) -> impl Iterator<Item = (u32, u64)> {
    text.split(',').filter_map(|kill| {
        let (rank, micros) = kill.split_once('@')?;
        Some((rank.parse().ok()?, micros.parse().ok()?))
    })
}
