//! The descendants of this process, as the kernel lists them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// The children of this process, including dead ones that are not reaped yet.
///
/// They belong to the main thread: it starts the ranks, and orphans of a subreaper go to its first living
/// thread.
pub fn children() -> Vec<Pid> {
    let me = Pid::this();
    match std::fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(list) => {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
        }
        // A kernel without that list.
        Err(_) => by_parent().remove(&me).unwrap_or_default(),
    }
}

/// Sends `signal` to every descendant; returns the receivers.
///
/// The number of a process that ends meanwhile could be reused only if all process numbers were used up
/// during this function.
pub fn signal_all(signal: Signal) -> HashSet<Pid> {
    let all = descendants();
    for process in &all {
        // Already dead, or of another user.
        let _ = kill(*process, signal);
    }
    all.into_iter().collect()
}

/// The descendants of this process, parents before their children.
pub fn descendants() -> Vec<Pid> {
    let mut by_parent = by_parent();
    let mut all = by_parent.remove(&Pid::this()).unwrap_or_default();
    let mut done = 0;
    while let Some(parent) = all.get(done) {
        let children = by_parent.remove(parent).unwrap_or_default();
        all.extend(children);
        done += 1;
    }
    all
}

/// The longest environment that Linux gives to a program.
const ENVIRONMENT: usize = 6 << 20;

/// Whether a living process was started with these variables, or is a fork of one that was. `None` if it
/// seems to have no variables, or others than a moment ago: it is executing another program.
pub fn has_variables(pid: Pid, variables: &[(&str, String)]) -> Option<bool> {
    let mut all = vec![0; ENVIRONMENT];
    // One call: a second one reads nothing if the process has executed another program meanwhile.
    let read = std::fs::File::open(format!("/proc/{pid}/environ"))
        .and_then(|mut file| file.read(&mut all));
    all.truncate(read.unwrap_or(0));
    if !is_whole(&all, &stat(pid)) {
        return None;
    }
    let all: HashSet<&[u8]> = all.split(|byte| *byte == 0).collect();
    Some(variables.iter().all(|(name, value)| all.contains(format!("{name}={value}").as_bytes())))
}

/// Whether a descendant is dying: it has not returned all its memory yet, which may take long.
pub fn is_any_dying() -> bool {
    descendants().into_iter().any(is_dying)
}

/// Whether that process is dying.
pub fn is_dying(pid: Pid) -> bool {
    is_dying_by(&stat(pid))
}

/// Whether that process has been stopped, by a signal or a debugger.
pub fn is_stopped(pid: Pid) -> bool {
    matches!(word(&stat(pid), 3), Some("T" | "t"))
}

fn stat(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default()
}

/// A process that is not reaped yet is not dying: it has no other thread left. One that runs with SIGKILL
/// pending is: it dies when its system call ends, which may be one that returns much memory.
fn is_dying_by(stat: &[u8]) -> bool {
    const EXITING: u64 = 0x4;
    const KILLED: u64 = 1 << (Signal::SIGKILL as u64 - 1);
    let number = |at| word(stat, at).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
    let is_dead = word(stat, 3) == Some("Z") && number(20) <= 1;
    let is_killed = word(stat, 3) == Some("R") && number(31) & KILLED != 0;
    is_killed || number(9) & EXITING != 0 && !is_dead
}

/// Whether this is all of the environment of that process, if it lives.
fn is_whole(environment: &[u8], stat: &[u8]) -> bool {
    let is_dead = word(stat, 3).is_none_or(|state| matches!(state, "Z" | "X"));
    let address = |at| word(stat, at).and_then(|word| word.parse().ok()).unwrap_or(0_usize);
    is_dead
        || match address(51).wrapping_sub(address(50)) {
            0 => !environment.is_empty(),
            size => size == environment.len(),
        }
}

fn by_parent() -> HashMap<Pid, Vec<Pid>> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    // Another namespace's /proc has other numbers.
    if std::fs::read_link("/proc/self").ok() != Some(Pid::this().to_string().into()) {
        return children;
    }
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid
            && let Ok(stat) = std::fs::read(entry.path().join("stat"))
            && let Some(parent) = parent(&stat)
        {
            children.entry(parent).or_default().push(Pid::from_raw(pid));
        }
    }
    children
}

/// The parent in a line of /proc/PID/stat.
fn parent(stat: &[u8]) -> Option<Pid> {
    word(stat, 4)?.parse().ok().map(Pid::from_raw)
}

/// A word of a line of /proc/PID/stat, numbered as in proc(5), from the third on. The second is the
/// program's name in parentheses, which may contain any characters.
fn word(stat: &[u8], number: usize) -> Option<&str> {
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&stat[behind..]).ok()?;
    text.split_whitespace().nth(number - 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent(b"12 (sh) S 7 12 12 0"), Some(Pid::from_raw(7)));
        assert_eq!(parent(b"12 (a) b (c\xff) R 8 1 1 0"), Some(Pid::from_raw(8)));
        assert_eq!(parent(b"12 sh"), None);
    }

    #[test]
    fn a_process_is_dying_until_its_last_thread_is_gone() {
        let stat = |state, flags, threads| {
            format!("7 (a) {state} 1 7 7 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads} 0 1")
                .into_bytes()
        };
        let is_dying = |state, flags, threads| is_dying_by(&stat(state, flags, threads));
        assert!(is_dying("R", 0x40_0144, 1) && is_dying("D", 0x4, 1) && is_dying("Z", 0x4, 2));
        assert!(!is_dying("Z", 0x4, 1) && !is_dying("D", 0x40_0100, 1) && !is_dying_by(b""));
        let pending = |state, signals| {
            let before = ["0"; 26].join(" ");
            is_dying_by(format!("7 (a) {state} 1 {before} {signals} 0").as_bytes())
        };
        assert!(pending("R", 256) && pending("R", 258));
        assert!(!pending("R", 512) && !pending("D", 256));
    }

    #[test]
    fn a_process_has_the_variables_that_it_was_started_with() {
        let mut child =
            std::process::Command::new("sleep").arg("100").env("TREE", "1").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let has = |value: &str| has_variables(pid, &[("TREE", value.to_owned())]);
        // Shortly before it executes that program it has this one's variables, or none.
        let until = Instant::now() + Duration::from_secs(10);
        while has("1") != Some(true) {
            assert!(Instant::now() < until, "it has not become that program");
        }
        assert_eq!(has("2"), Some(false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(has("1"), Some(false), "it is dead");
    }

    #[test]
    fn a_process_that_executes_program_after_program_never_seems_to_lack_them() {
        let again = r#"exec sh -c "$0" "$0""#;
        let mut child = std::process::Command::new("sh");
        child.args(["-c", again, again]).env("TREE", "1");
        let mut child = child.spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let has = || has_variables(pid, &[("TREE", "1".to_owned())]);
        // Shortly before it executes the first program it has this one's variables.
        let until = Instant::now() + Duration::from_secs(10);
        while has() == Some(false) {
            assert!(Instant::now() < until, "it has not become that program");
        }
        // Under an emulator this takes so long that every answer may be `None`.
        let answers = std::iter::repeat_with(has).take(20_000);
        let until = Instant::now() + Duration::from_secs(10);
        let wrong = answers.take_while(|_| Instant::now() < until).find(|one| *one == Some(false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(wrong, None);
    }
}
