//! One way for a job to break, as data and as a line of text that repeats it.

use std::fmt;

/// What a rank does to itself at a site; the names are those of `ONESIDED_FAULT`.
pub const ACTIONS: [&str; 7] = ["kill", "abort", "segv", "exit0", "panic", "oom", "stop"];

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
    /// Nobody reads its standard output any more.
    CloseOutput,
}

pub const BLOWS: [(&str, Blow); 7] = [
    ("kill-guard", Blow::KillGuard),
    ("kill-supervisor", Blow::KillSupervisor),
    ("interrupt", Blow::Interrupt),
    ("interrupt-twice", Blow::InterruptTwice),
    ("terminate", Blow::Terminate),
    ("hang-up", Blow::HangUp),
    ("close-output", Blow::CloseOutput),
];

/// By what the ranks' program is started.
pub const WRAPPERS: [&str; 3] = ["plain", "env", "shell"];

pub const SEGMENTS: [&str; 3] = ["memfd", "posix", "named"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Rank `rank` does `action` when it comes to `site` the `nth` time.
    Site { rank: u32, site: String, nth: u64, action: &'static str },
    /// Several ranks kill themselves: a list of `rank:site:nth:kill`, with commas.
    Several { faults: String },
    /// SIGKILL of a rank so many microseconds after the start.
    Rank { rank: u32, micros: u64 },
    /// A blow to the launcher so many microseconds after the start.
    Launcher { blow: Blow, micros: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub ranks: u32,
    pub wrapper: &'static str,
    pub segment: &'static str,
    pub what: What,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.ranks, self.wrapper, self.segment)?;
        match &self.what {
            What::Site { rank, site, nth, action } => {
                write!(f, "site {rank}:{site}:{nth}:{action}")
            }
            What::Several { faults } => write!(f, "several {faults}"),
            What::Rank { rank, micros } => write!(f, "rank {rank} {micros}"),
            What::Launcher { blow, micros } => {
                write!(f, "launcher {} {micros}", name_of(*blow))
            }
        }
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
    let (ranks, wrapper, segment) = (words.first()?, words.get(1)?, words.get(2)?);
    let what = match words[3..] {
        ["site", fault] => {
            let [rank, site, nth, action] = fault.split(':').collect::<Vec<_>>()[..] else {
                return None;
            };
            let (rank, nth) = (rank.parse().ok()?, nth.parse().ok()?);
            What::Site { rank, site: site.to_owned(), nth, action: known(&ACTIONS, action)? }
        }
        ["several", faults] => What::Several { faults: faults.to_owned() },
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
        wrapper: known(&WRAPPERS, wrapper)?,
        segment: known(&SEGMENTS, segment)?,
        what,
    })
}
