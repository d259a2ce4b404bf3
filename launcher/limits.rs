//! Limits of the system that a job of many ranks meets: which one is short, what it is, and what the job
//! needs.

use crate::launcher::report::Refusal;
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::unistd::{Uid, getuid};
use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;
use std::path::Path;

/// Descriptors of the supervisor beside those of the ranks.
const OWN_FILES: u64 = 24;
/// Processes and threads of the launcher that start after the supervisor, the relays; and one to spare.
const OWN_TASKS: u64 = 3;
/// The least memory that a process and its part of the segment take, in bytes.
const LEAST_OF_RANK: u64 = 96 << 10;

/// What a job needs of the system.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    ranks: u64,
    files: u64,
}

impl Need {
    /// `pipes`: those of each rank to the launcher.
    pub fn of(ranks: u32, pipes: u32) -> Need {
        let (ranks, pipes) = (u64::from(ranks), u64::from(pipes));
        // A descriptor of the process, and the launcher's ends of the pipes.
        let files = ranks * (1 + pipes);
        Need { ranks, files: files + if pipes > 0 { OWN_FILES } else { 0 } }
    }

    /// Refuses a job that cannot be started, before any rank is.
    pub fn check(self) -> Result<(), Refusal> {
        let short = self.short_of_files().or_else(|| self.short_of_tasks(0, false));
        short.or_else(|| self.short_of_memory(0)).map_or(Ok(()), |what| {
            Err(Refusal::Launcher(format!("cannot start {} ranks: {what}", self.ranks)))
        })
    }

    /// The limit that has been met where the system has refused to start one more rank than `started`.
    pub fn explain(self, error: &io::Error, started: u64) -> Option<String> {
        use nix::libc::{EAGAIN, EMFILE, ENFILE, ENOMEM};
        match error.raw_os_error()? {
            EMFILE => Some(self.file_limit()),
            ENFILE => Some(format!(
                "the system has {} files open, and fs.file-max is {}",
                number_in("/proc/sys/fs/file-nr").unwrap_or_default(),
                number_in("/proc/sys/fs/file-max").unwrap_or_default(),
            )),
            EAGAIN => self.short_of_tasks(started, true),
            ENOMEM => self.short_of_memory(started).or_else(|| Some(memory_limit())),
            _ => None,
        }
    }

    fn short_of_files(self) -> Option<String> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        (most < self.files).then(|| self.file_limit())
    }

    fn file_limit(self) -> String {
        let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(_, most)| most);
        format!(
            "rmarun needs about {} open files for them, and the hard limit is {most} \
             (RLIMIT_NOFILE, ulimit -Hn)",
            self.files
        )
    }

    /// The limit of processes that leaves no room for the ranks that have not been started. `reached`: the
    /// kernel has just refused one, so that it pays to count.
    fn short_of_tasks(self, started: u64, reached: bool) -> Option<String> {
        let more = self.ranks - started + if started == 0 { OWN_TASKS } else { 0 };
        let (needed, least) = (more, if reached { 1 } else { more });
        let of_user = || tasks_of_user(needed, least, reached);
        let of_group = || {
            let (file, most, now) = process_limits_of_groups()
                .min_by_key(|(_, most, now)| most.saturating_sub(*now))?;
            (now + least > most).then(|| {
                format!(
                    "it needs {needed} more processes, and the control group has {now} of at most \
                     {most} ({file})"
                )
            })
        };
        let of_system = |file: &str, name: &str| {
            let (most, now) = (number_in(file)?, tasks_of_system()?);
            (now + least > most).then(|| {
                format!(
                    "it needs {needed} more processes, and the system has {now} of at most {most} \
                     ({name})"
                )
            })
        };
        of_user()
            .or_else(of_group)
            .or_else(|| of_system("/proc/sys/kernel/pid_max", "kernel.pid_max"))
            .or_else(|| of_system("/proc/sys/kernel/threads-max", "kernel.threads-max"))
    }

    fn short_of_memory(self, started: u64) -> Option<String> {
        let needed = (self.ranks - started) * LEAST_OF_RANK;
        let (available, swap) = (meminfo("MemAvailable:")?, meminfo("SwapFree:")?);
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        if available + swap < needed {
            return Some(format!(
                "they need at least {} MiB of memory, and the machine has {} MiB \
                 (MemAvailable and SwapFree of /proc/meminfo)",
                mebibytes(needed),
                mebibytes(available + swap)
            ));
        }
        let groups = limits_of_groups("memory", "memory.max", "memory.current");
        let (file, most, now) =
            { groups }.min_by_key(|(_, most, now)| most.saturating_sub(*now))?;
        // What it has may be cached files, which give way.
        (most < needed).then(|| {
            format!(
                "they need at least {} MiB of memory, and the control group has {} of at most {} \
                 MiB ({file})",
                mebibytes(needed),
                mebibytes(now),
                mebibytes(most)
            )
        })
    }
}

fn memory_limit() -> String {
    let value = |name| meminfo(name).unwrap_or_default() >> 20;
    format!(
        "the kernel has no memory for one more process: MemAvailable is {} MiB, and of {} MiB \
         that may be promised (CommitLimit) {} are (Committed_AS)",
        value("MemAvailable:"),
        value("CommitLimit:"),
        value("Committed_AS:")
    )
}

/// The limit of this user's processes.
fn tasks_of_user(needed: u64, least: u64, reached: bool) -> Option<String> {
    let (most, _): (rlim_t, rlim_t) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    if getuid().is_root() || is_exempt() {
        return None;
    }
    if least > most {
        return Some(format!(
            "it needs {needed} more processes, and the user may have {most} (RLIMIT_NPROC, \
             ulimit -u)"
        ));
    }
    // To count them is to read all of /proc.
    let now = if reached { tasks_of(getuid()) } else { 0 };
    (now + least > most).then(|| {
        format!(
            "it needs {needed} more processes, and the user has {now} of at most {most} \
             (RLIMIT_NPROC, ulimit -u)"
        )
    })
}

/// Whether the kernel does not apply that limit: not to who may change limits or administrates.
fn is_exempt() -> bool {
    const CAN_CHANGE_LIMITS: u64 = 1 << 24;
    const CAN_ADMINISTRATE: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities =
        line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default();
    capabilities & (CAN_CHANGE_LIMITS | CAN_ADMINISTRATE) != 0
}

/// How many processes and threads a user has.
fn tasks_of(user: Uid) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let own = processes.filter(|entry| {
        entry.file_name().to_str().is_some_and(is_process)
            && entry.metadata().is_ok_and(|status| status.st_uid() == user.as_raw())
    });
    own.map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |all| all.count() as u64))
        .sum()
}

/// How many processes and threads there are on the machine.
fn tasks_of_system() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(|letter: char| " /".contains(letter)).nth(4)?.parse().ok()
}

fn process_limits_of_groups() -> impl Iterator<Item = (String, u64, u64)> {
    limits_of_groups("pids", "pids.max", "pids.current")
}

/// Of the control group of this process and of those around it: the file of a limit, its value, and how
/// much of it is used. Those without limit are left out.
fn limits_of_groups(
    controller: &'static str,
    most: &'static str,
    now: &'static str,
) -> impl Iterator<Item = (String, u64, u64)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders: Vec<String> = own
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            match controllers {
                "" => Some(format!("/sys/fs/cgroup{path}")),
                some if some.split(',').any(|one| one == controller) => {
                    Some(format!("/sys/fs/cgroup/{controller}{path}"))
                }
                _ => None,
            }
        })
        .collect();
    folders.into_iter().flat_map(move |folder| {
        let around: Vec<_> = Path::new(&folder).ancestors().map(Path::to_path_buf).collect();
        around.into_iter().filter_map(move |folder| {
            let file = folder.join(most);
            Some((
                file.display().to_string(),
                number_in(&file)?,
                number_in(folder.join(now)).unwrap_or_default(),
            ))
        })
    })
}

/// The first number in a file of the kernel.
fn number_in(file: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(file).ok()?.split_whitespace().next()?.parse().ok()
}

/// A line of /proc/meminfo, in bytes.
fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_rank_are_two_pipes_and_the_process() {
        assert_eq!(Need::of(1000, 2).files, 3000 + OWN_FILES);
        assert_eq!(Need::of(1, 0).files, 1);
    }

    #[test]
    fn what_the_machine_has_is_counted() {
        assert!(tasks_of_system().unwrap() > 0);
        assert!(tasks_of(getuid()) > 0);
        assert!(meminfo("MemAvailable:").unwrap() > 0);
    }

    #[test]
    fn a_small_job_is_short_of_nothing() {
        assert!(Need::of(2, 2).check().is_ok());
    }
}
