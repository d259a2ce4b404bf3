//! Tests as programs: the same function is the test and, relaunched under rmarun, each rank.
//!
//! `ONESIDED_TEST_SEGMENT` (memfd, posix or named; see `.ci/run`) picks the kind of segment.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::disallowed_methods, reason = "reads the variables that tell test from rank")]

pub mod choices;
#[cfg(feature = "test-hooks")]
pub mod dawdle;
#[cfg(feature = "test-hooks")]
pub mod interleave;
pub mod printed;
pub mod signals;

use onesided::{Comm, Universe};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// A test that takes longer hangs; it is killed and fails.
const HANG: Duration = Duration::from_secs(120);

/// How a job ended.
pub struct Outcome {
    /// The exit status of rmarun.
    pub status: ExitStatus,
    /// What the job printed on both streams.
    pub output: String,
}

/// Runs `body` on `n` ranks, each a process of its own, and fails unless all succeed.
pub fn spmd(n: u32, body: impl FnOnce(&Comm)) {
    universe(n, |universe| body(universe.world()));
}

/// Runs `body` on `n` ranks, for what needs more than the world.
pub fn universe(n: u32, body: impl FnOnce(&Universe)) {
    if let Some(outcome) = launch(n, &[], body) {
        assert!(outcome.status.success(), "{n} ranks, {}:\n{}", outcome.status, outcome.output);
    }
}

/// Runs `body` on `n` ranks with further options for rmarun. `None` in a rank, after `body`.
pub fn job(n: u32, options: &[&str], body: impl FnOnce(&Comm)) -> Option<Outcome> {
    launch(n, options, |universe| body(universe.world()))
}

/// Runs a job with options, for what needs more than the world.
pub fn launch(n: u32, options: &[&str], body: impl FnOnce(&Universe)) -> Option<Outcome> {
    if is_rank() {
        let universe = Universe::init().expect("a rank joins its job");
        assert_eq!(universe.world().size(), n, "a job inside a job");
        body(&universe);
        return None;
    }
    if !options.is_empty() && needs_rmarun("its options") {
        return None;
    }
    Some(relaunch(n, options, &[]))
}

/// Runs `body` on `n` ranks that combine their arrivals at barriers in a tree, although they may share
/// cores. `None` in a rank, after `body`.
#[cfg(feature = "test-hooks")]
pub fn in_a_tree(n: u32, options: &[&str], body: impl FnOnce(&Comm)) -> Option<Outcome> {
    if is_rank() {
        return job(n, options, body);
    }
    Some(relaunch(n, options, &[(onesided::launch::ENV_BARRIER, "tree")]))
}

/// Runs a whole program as a job of one rank.
pub fn program(main: impl FnOnce() -> onesided::Result<()>) {
    if is_rank() {
        return main().expect("the program succeeds");
    }
    let outcome = relaunch(1, &[], &[]);
    assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
}

/// The prefix of the MPICH under whose launcher the jobs of this run are, if they are (`.ci/run`).
fn elsewhere() -> Option<PathBuf> {
    std::env::var_os("ONESIDED_TEST_ELSEWHERE").and_then(|_| mpich())
}

/// Whether a test must be left out because its jobs are not under rmarun, which it needs for `what`.
pub fn needs_rmarun(what: &str) -> bool {
    let is_left_out = elsewhere().is_some();
    if is_left_out {
        println!("skipped: under another MPI's launcher there is not what it needs: {what}");
    }
    is_left_out
}

/// Whether a test must be left out because its ranks reach each other by another MPI, and it needs `what` of the segment that
/// ranks of one node share.
pub fn needs_segment(what: &str) -> bool {
    let is_shared = std::env::var("ONESIDED_NODE").is_ok_and(|value| value == "shared");
    let is_left_out = elsewhere().is_some() && !is_shared;
    if is_left_out {
        println!("skipped: between nodes there is not what it needs: {what}");
    }
    is_left_out
}

/// Whether a test must be left out because its jobs are under Intel MPI, which has not `what`.
pub fn needs_more_than_intel(what: &str) -> bool {
    let is_left_out = elsewhere().is_some_and(|prefix| is_intel(&prefix));
    if is_left_out {
        println!("skipped: Intel MPI has not what it needs: {what}");
    }
    is_left_out
}

/// Whether this process is a rank of a test, and not the test.
fn is_rank() -> bool {
    let variable = if elsewhere().is_some() { "PMI_RANK" } else { onesided::launch::ENV_RANK };
    std::env::var_os(variable).is_some()
}

/// Runs this test again, as each rank of a job with these variables in its environment.
fn relaunch(n: u32, options: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let name = std::thread::current().name().expect("libtest names its threads").to_owned();
    let mut command = match elsewhere() {
        Some(mpich) => mpiexec(&mpich, n),
        None => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
            command.args(["-n", &n.to_string(), "--require-join", "--tag-output"]).args(options);
            command.args(segment()).arg("--");
            command
        }
    };
    command.envs(variables.iter().copied());
    command.arg(std::env::current_exe().expect("the test's own path"));
    command.args(["--exact", &name, "--include-ignored", "--nocapture", "--test-threads=1"]);
    run(&mut command, &name)
}

/// What a test binary calls a test of the module whose path (`module_path!()`) is given.
pub fn test_of(module: &str, test: &str) -> String {
    match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    }
}

/// Runs `body` on each number of ranks in `sizes`.
pub fn for_each_size(sizes: &[u32], body: impl Fn(&Comm)) {
    // A rank runs the body of its own job alone.
    let variable = if elsewhere().is_some() { "PMI_SIZE" } else { onesided::launch::ENV_RANKS };
    let own = std::env::var(variable).ok().and_then(|n| n.parse().ok());
    for n in sizes.iter().filter(|n| own.is_none_or(|own: u32| own == **n)) {
        spmd(*n, &body);
    }
}

/// The rmarun options for the kind of segment under test.
pub fn segment() -> Vec<String> {
    match std::env::var("ONESIDED_TEST_SEGMENT").as_deref() {
        Ok("posix") => vec!["--segment=posix".into()],
        Ok("named") => {
            static JOBS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
            let job = JOBS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            vec![format!("--segment=onesided-test-{}-{job}", std::process::id())]
        }
        _ => Vec::new(),
    }
}

/// Runs a command to its end, or kills it and fails when it hangs.
pub fn run(command: &mut Command, name: &str) -> Outcome {
    let (outcome, hangs) = run_for(command, HANG);
    assert!(!hangs, "{name} hung for {HANG:?}:\n{}", outcome.output);
    outcome
}

/// Runs a command to its end, or kills it after `limit`; returns whether it did.
pub fn run_for(command: &mut Command, limit: Duration) -> (Outcome, bool) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let second = writer.try_clone().expect("a second handle of the pipe");
    command.stdin(Stdio::null()).stdout(writer).stderr(second);
    let mut child = command.spawn().expect("a command that can be run");
    // The command holds the pipe's writing end open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (done, finished) = std::sync::mpsc::channel();
    let output = std::thread::spawn(move || {
        let mut output = Vec::new();
        let _ = reader.read_to_end(&mut output);
        let _ = done.send(());
        String::from_utf8_lossy(&output).into_owned()
    });
    let hangs = finished.recv_timeout(limit).is_err();
    if hangs {
        let _ = child.kill();
    }
    let status = child.wait().expect("a child can be waited for");
    let output = output.join().expect("the reader ends");
    (Outcome { status, output }, hangs)
}

/// The prefix of MPICH, or of Intel MPI, where `ONESIDED_MPICH` names one; if not, prints what is skipped.
pub fn mpich() -> Option<PathBuf> {
    let prefix = std::env::var_os("ONESIDED_MPICH").map(PathBuf::from);
    match &prefix {
        Some(prefix) => {
            let library = prefix.join("lib/libmpi_abi.so.1");
            assert!(library.exists(), "ONESIDED_MPICH: there is no {}", library.display());
        }
        None => println!("skipped: what runs under MPICH; ONESIDED_MPICH names no prefix of it"),
    }
    prefix
}

/// The variable that chooses what ranks of one node have under another MPI's launcher, and its values: a segment of
/// this library, or the other MPI for everything.
pub const NODE: &str = "ONESIDED_NODE";
pub const WAYS: [&str; 2] = ["shared", "none"];

/// How the ranks of a job of another MPI reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// On one node, by its shared memory.
    One,
    /// On one node, by a network nevertheless.
    Network,
    /// On as many nodes: rank `r` is on node `r` modulo their number.
    Of(u32),
}

/// Whether it is Intel's MPI.
pub fn is_intel(mpich: &Path) -> bool {
    mpich.join("bin/hydra_bstrap_proxy").exists()
}

/// The command that starts `n` ranks of a program under that MPI, its library at hand.
pub fn mpiexec(mpich: &Path, n: u32) -> Command {
    mpiexec_on(mpich, n, Nodes::One)
}

/// The same, on those nodes.
pub fn mpiexec_on(mpich: &Path, n: u32, nodes: Nodes) -> Command {
    let mut command = Command::new(mpich.join("bin/mpiexec"));
    command.env("LD_LIBRARY_PATH", mpich.join("lib"));
    if is_intel(mpich) {
        on_nodes_of_intel(&mut command, nodes);
    } else {
        let count = if let Nodes::Of(count) = nodes { count } else { 1 };
        command.env("MPIR_CVAR_NUM_CLIQUES", count.to_string());
        command.env("MPIR_CVAR_NOLOCAL", if nodes == Nodes::Network { "1" } else { "0" });
    }
    command.args(["-n", &n.to_string()]);
    command
}

/// Intel MPI has nodes where its launcher has names of hosts, here of one.
fn on_nodes_of_intel(command: &mut Command, nodes: Nodes) {
    const HOSTS: [&str; 4] = ["localhost", "Localhost", "LocalHost", "LOCALHOST"];
    let fabrics = match nodes {
        Nodes::One | Nodes::Of(1) => "shm",
        Nodes::Network => "ofi",
        Nodes::Of(count) => {
            let hosts = HOSTS[..count as usize].join(",");
            command.args(["-launcher", "fork", "-ppn", "1", "-hosts", &hosts]);
            "shm:ofi"
        }
    };
    // Jobs of several tests share the cores.
    command.env("I_MPI_FABRICS", fabrics).env("FI_PROVIDER", "tcp").env("I_MPI_PIN", "0");
}

/// Bytes of memory that the job's segment occupies.
pub fn occupied() -> u64 {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
    let ours = descriptors.filter(|entry| {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        // By its name, or an object that never had one.
        let target = target.to_string_lossy();
        target.contains("onesided") || target.starts_with("/dev/shm/#")
    });
    let files = ours.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    let segment = files.max_by_key(|file| file.len()).expect("the segment is open");
    segment.blocks() * 512
}
