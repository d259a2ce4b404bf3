//! Ranks of one node in jobs of another MPI: they share memory as under rmarun, or none of them does.

use super::{part, relaunched};
use crate::support::{NODE, Nodes, Outcome, mpich, mpiexec, mpiexec_on};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid};
use onesided::launch::{Job, Observation};
use onesided::prelude::*;
use onesided::{Info, SplitType, Until};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A job of that many ranks, of which each runs `wish`, commands of a shell, first. Whether it shares memory, and its
/// output.
#[track_caller]
fn shares(ranks: u32, wish: &str, variables: &[(&str, &str)]) -> Option<(bool, String)> {
    let (shared, output) = sharing_on(Nodes::One, ranks, wish, variables)?;
    assert!([0, ranks].contains(&shared), "{output}");
    Some((shared != 0, output))
}

/// The same on these nodes: how many ranks share memory with others.
#[track_caller]
fn sharing_on(
    nodes: Nodes,
    ranks: u32,
    wish: &str,
    variables: &[(&str, &str)],
) -> Option<(u32, String)> {
    let mut launcher = mpiexec_on(&mpich()?, ranks, nodes);
    launcher.env_remove(NODE).envs(variables.iter().copied());
    launcher.args(["sh", "-c", &format!("{wish}\nexec \"$@\""), "sh"]);
    let Outcome { status, output } = relaunched(launcher, "rank");
    assert!(status.success(), "{wish}, {variables:?}, {status}:\n{output}");
    let with = |what: &str| output.matches(&format!("rank {what} memory")).count() as u32;
    let (shared, separate) = (with("shares"), with("has its own"));
    assert_eq!(shared + separate, ranks, "{output}");
    Some((shared, output))
}

/// A rank: prints whether it shares memory, and uses a window either way.
fn run_rank() {
    let universe = Universe::init().expect("a rank joins its job");
    let world = universe.world();
    let n = world.size();
    let near = world.split_type(Some(SplitType::Shared), 0, &Info::new());
    let near = near.expect("a split").expect("for all");
    let all_are_near = near.size() == n;
    // Another MPI cannot do it.
    let shrunk = if all_are_near { world.shrink() } else { near.shrink() }.ok();
    let shares = shrunk.is_some() && (all_are_near || near.size() > 1);
    let has = if shares { "shares" } else { "has its own" };
    shrunk.into_iter().for_each(|shrunk| shrunk.free().expect("an end"));
    for comm in [world, &near] {
        let (me, n) = (comm.rank().0, comm.size());
        let mut window = Window::<u64>::allocate(comm, 1).expect("a window");
        let one = [u64::from(me) + 1];
        let epoch = window.fence().expect("an epoch");
        epoch.accumulate(&one, Op::Sum, Rank(0), 0).expect("a sum");
        epoch.close().expect("an end");
        let sum = window.load_one(0).expect("the own part");
        assert_eq!(sum, if me == 0 { u64::from(n * (n + 1) / 2) } else { 0 });
        window.free().expect("an end");
    }
    near.free().expect("an end");
    // In one write: the ranks share the pipe.
    println!("rank {has} memory");
}

#[test]
fn ranks_share_memory_if_all_can_and_want() {
    if part().is_some() {
        return run_rank();
    }
    let no_notes = |wish: &str, variables: &[(&str, &str)], expected: bool| {
        for ranks in [1, 2, 4] {
            let Some((shares, output)) = shares(ranks, wish, variables) else { return };
            assert_eq!(shares, expected, "{ranks}, {wish}, {variables:?}");
            assert!(!output.contains("onesided:"), "{output}");
        }
    };
    no_notes("", &[], true);
    no_notes("", &[(NODE, "shared")], true);
    no_notes("", &[(NODE, "none")], false);
    no_notes("[ $PMI_RANK = 0 ] && export ONESIDED_NODE=none", &[], false);
    let cases = [(2, "shared", 4), (3, "shared", 2), (4, "shared", 0), (2, "none", 0)];
    for (nodes, way, expected) in cases {
        let sharing = sharing_on(Nodes::Of(nodes), 4, "", &[(NODE, way)]);
        let Some((sharing, output)) = sharing else { return };
        assert!(sharing == expected && !output.contains("onesided:"), "{nodes}, {way}: {output}");
    }
}

#[test]
fn without_memory_for_all_ranks_none_shares_it() {
    if part().is_some() {
        return run_rank();
    }
    let too_little_for = |ranks: u32| {
        let is_enough =
            |bytes: &u64| Job::segment_bytes(ranks, Some(*bytes), Observation::default()).is_ok();
        let enough = (1..).map(|pages| pages * 4096).find(is_enough).expect("some size is");
        format!("[ $PMI_RANK = 0 ] && export ONESIDED_SEGMENT_SIZE={}", enough - 4096)
    };
    let Some((shares, output)) = shares(4, &too_little_for(4), &[]) else { return };
    assert!(!shares, "{output}");
    for words in ["rank 0 cannot share memory", "is not possible for 4 ranks", "ONESIDED_NODE=none"]
    {
        assert_eq!(output.matches(words).count(), 1, "{words}: {output}");
    }
    // The other node has enough.
    let sharing = sharing_on(Nodes::Of(2), 4, &too_little_for(2), &[]);
    let Some((sharing, output)) = sharing else { return };
    assert!(sharing == 2 && output.contains("rank 0 cannot share memory"), "{output}");
}

#[test]
fn a_rank_that_sees_other_processes_keeps_all_from_sharing() {
    if part().is_some() {
        return run_rank();
    }
    let namespace = ["--pid", "--fork"];
    let can = Command::new("unshare").args(namespace).arg("true").output();
    if !can.is_ok_and(|outcome| outcome.status.success()) {
        return println!("skipped: no namespaces of processes (unshare)");
    }
    let wish = "[ $PMI_RANK = 1 ] && set -- unshare --pid --fork \"$@\"";
    let Some((shares, output)) = shares(3, wish, &[]) else { return };
    assert!(!shares && output.contains("rank 1 cannot share memory"), "{output}");
}

#[test]
fn what_is_asked_for_wrongly_is_refused() {
    if part().is_some() {
        let error = Universe::init().expect_err("no such choice").to_string();
        let words = ["ONESIDED_NODE", "half", "'shared'", "'none'"];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        return println!("refused");
    }
    let Some(mpich) = mpich() else { return };
    let mut launcher = mpiexec(&mpich, 2);
    let Outcome { output, .. } = relaunched(launcher.env(NODE, "half"), "wrong");
    assert!(output.contains("refused"), "{output}");
}

/// Whether a process runs.
fn runs(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

/// The processes of a job whose ranks sleep, and whose launcher ends none of them because it is stopped.
struct Sleepers {
    launcher: Child,
    proxy: Pid,
    ranks: [Pid; 2],
}

impl Sleepers {
    /// `None` in a rank, or where MPICH is not there.
    fn start() -> Option<Sleepers> {
        if part().is_some() {
            let universe = Universe::init().expect("a rank joins its job");
            let mut window = Window::<u64>::allocate(universe.world(), 1).expect("a window");
            let epoch = window.lock_all().expect("all locks");
            println!("processes {} {}", getpid(), getppid());
            epoch.window().wait_until(0, Until::Eq, 1).expect("no rank writes it");
            return None;
        }
        let name = std::thread::current().name().expect("libtest names its threads").to_owned();
        let mut launcher = mpiexec(&mpich()?, 2);
        launcher.env(NODE, "shared").arg(std::env::current_exe().expect("the test's own path"));
        launcher.args(["--exact", &name, "--include-ignored", "--nocapture", "--test-threads=1"]);
        let mut launcher =
            launcher.env(super::PART, "rank").stdout(Stdio::piped()).spawn().expect("a job");
        let printed = BufReader::new(launcher.stdout.take().expect("a pipe")).lines();
        let lines = printed.map(|line| line.expect("a line"));
        let numbers = lines.filter_map(|line| line.split("processes ").nth(1).map(str::to_owned));
        let number = |text: &str| Pid::from_raw(text.parse().expect("a number"));
        let all: Vec<Vec<Pid>> =
            numbers.take(2).map(|pair| pair.split(' ').map(number).collect()).collect();
        assert_eq!(all[0][1], all[1][1], "a launcher that MPICH does not have");
        let (proxy, ranks) = (all[0][1], [all[0][0], all[1][0]]);
        assert!(ranks.into_iter().all(runs));
        kill(proxy, Signal::SIGSTOP).expect("a process of the launcher");
        Some(Sleepers { launcher, proxy, ranks })
    }

    /// Ends the launcher, and waits until no rank runs.
    fn end(mut self) {
        self.launcher.kill().expect("the launcher can be killed");
        kill(self.proxy, Signal::SIGKILL).expect("it is stopped");
        self.launcher.wait().expect("it ends");
        self.ranks.into_iter().for_each(await_end);
    }
}

impl Drop for Sleepers {
    /// A test that has failed leaves no process.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let all = [self.ranks[0], self.ranks[1], self.proxy];
        // Those that have ended are gone.
        all.into_iter().for_each(|process| _ = kill(process, Signal::SIGKILL));
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

fn await_end(process: Pid) {
    let begin = Instant::now();
    while runs(process) {
        assert!(begin.elapsed() < Duration::from_secs(30), "{process} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ranks_that_sleep_end_after_their_launcher() {
    Sleepers::start().into_iter().for_each(Sleepers::end);
}

#[test]
fn ranks_that_sleep_end_after_another_rank() {
    let Some(sleepers) = Sleepers::start() else { return };
    kill(sleepers.ranks[1], Signal::SIGKILL).expect("a rank");
    await_end(sleepers.ranks[0]);
    sleepers.end();
}
