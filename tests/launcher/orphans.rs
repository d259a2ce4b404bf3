//! No rank outlives the launcher, whichever of its halves is stopped or killed, and in which order.

use crate::harness::{Process, Started, eventually, finish, no_litter, rank_function_in, rmarun};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use onesided::{Universe, WindowOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Waits in the library, for ever.
#[test]
#[ignore = "a rank"]
fn wait_for_ever() {
    let Ok(universe) = Universe::init() else { return };
    if universe.world().size() > 1 {
        let options = WindowOptions::new().notifications(1);
        let window = options.allocate_bytes(universe.world(), 8, 8).unwrap();
        println!("\n{}", std::process::id());
        window.wait_notify(0, 1).unwrap();
    }
}

/// Two ranks that wait in the library, either the launcher's children or below a shell.
fn waiting(below_a_shell: bool) -> (Started, Vec<Process>) {
    let program = rank_function_in("orphans", "wait_for_ever");
    let script = format!("'{}'; true", program.join("' '"));
    let mut arguments = vec!["-n", "2", "--"];
    match below_a_shell {
        true => arguments.extend(["sh", "-c", &script]),
        false => arguments.extend(program.iter().map(String::as_str)),
    }
    let mut started = Started::new(rmarun(&arguments));
    let lines = std::iter::from_fn(|| Some(started.line()));
    let numbers = { lines }.filter_map(|line| line.parse().ok());
    let ranks = numbers.take(2).map(Process::new).collect();
    (started, ranks)
}

/// The longest that a rank may outlive the launcher here, where other tests want the processors too.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn end_soon(ranks: &[Process], when: &str) {
    let begin = Instant::now();
    while !ranks.iter().all(Process::is_over) {
        assert!(begin.elapsed() < SOON, "a rank lives: {when}");
        std::thread::yield_now();
    }
}

#[derive(Clone, Copy, Debug)]
enum Half {
    Guard,
    Supervisor,
}

use Half::{Guard, Supervisor};
use Signal::{SIGKILL as KILL, SIGSTOP as STOP};

/// Every order in which both halves, or one, are stopped and killed; the last blow is a SIGKILL.
const BLOWS: &[&[(Signal, Half)]] = &[
    &[(KILL, Guard)],
    &[(KILL, Supervisor)],
    &[(KILL, Guard), (KILL, Supervisor)],
    &[(KILL, Supervisor), (KILL, Guard)],
    &[(STOP, Guard), (KILL, Guard)],
    &[(STOP, Guard), (KILL, Supervisor)],
    &[(STOP, Supervisor), (KILL, Guard)],
    &[(STOP, Supervisor), (KILL, Supervisor)],
    &[(STOP, Guard), (STOP, Supervisor), (KILL, Guard)],
    &[(STOP, Guard), (STOP, Supervisor), (KILL, Supervisor)],
    &[(STOP, Guard), (STOP, Supervisor), (KILL, Guard), (KILL, Supervisor)],
    &[(STOP, Guard), (STOP, Supervisor), (KILL, Supervisor), (KILL, Guard)],
];

#[test]
fn no_rank_outlives_halves_that_are_stopped_and_killed() {
    for below_a_shell in [false, true] {
        // A rank looks once a second, so all jobs are ended before the first is looked at.
        let jobs: Vec<_> =
            BLOWS.iter().map(|blows| (struck(blows, below_a_shell), blows)).collect();
        for ((started, ranks), blows) in jobs {
            end_soon(&ranks, &format!("{blows:?}, below a shell: {below_a_shell}"));
            started.signal(Signal::SIGCONT);
        }
        no_litter();
    }
}

/// A job of waiting ranks whose launcher gets these blows.
fn struck(blows: &[(Signal, Half)], below_a_shell: bool) -> (Started, Vec<Process>) {
    let (started, ranks) = waiting(below_a_shell);
    let supervisor = started.supervisor();
    for (signal, half) in blows {
        // The other's death may have ended it already.
        let _ = match half {
            Guard => kill(started.pid(), *signal),
            Supervisor => kill(supervisor, *signal),
        };
    }
    (started, ranks)
}

/// A debugger holds it, so that the guard's death does not let it go on.
#[test]
fn no_rank_outlives_a_guard_whose_supervisor_stays_stopped() {
    for below_a_shell in [false, true] {
        let (started, ranks) = waiting(below_a_shell);
        let supervisor = started.supervisor();
        ptrace::seize(supervisor, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(supervisor).unwrap();
        eventually("it stops", || is_stopped(supervisor));
        started.signal(Signal::SIGKILL);
        end_soon(&ranks, &format!("below a shell: {below_a_shell}"));
        let _ = kill(supervisor, Signal::SIGKILL);
        while waitpid(supervisor, None).is_ok_and(|status| status.pid().is_some()) {}
        drop(started);
    }
    no_litter();
}

fn is_stopped(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat[stat.rfind(')').unwrap() + 2..].starts_with('t')
}

/// Only the ranks can look while the supervisor is stopped.
#[test]
fn no_rank_sleeps_on_in_a_damaged_segment() {
    let (mut started, ranks) = waiting(false);
    let supervisor = started.supervisor();
    kill(supervisor, Signal::SIGSTOP).unwrap();
    let segment = std::fs::OpenOptions::new().write(true).open(segment_of(supervisor)).unwrap();
    segment.write_all_at(&[0xff; 64], 0).unwrap();
    end_soon(&ranks, "the segment is damaged");
    started.stdout = None;
    kill(supervisor, Signal::SIGCONT).unwrap();
    let run = finish(started);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("ends: the job's segment is damaged"), "{run:?}");
}

/// The largest of the launcher's memory files.
fn segment_of(supervisor: Pid) -> PathBuf {
    let files = std::fs::read_dir(format!("/proc/{supervisor}/fd")).unwrap().flatten();
    let is_ours = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.to_string_lossy().contains("onesided"))
    };
    let ours = files.map(|entry| entry.path()).filter(is_ours);
    ours.max_by_key(|path| std::fs::metadata(path).map_or(0, |file| file.len())).unwrap()
}
