//! Jobs that cannot begin, and launchers that do not end: each reports why, and no rank is left.

use super::{example, part, relaunched, simulated};
use crate::support::{mpich, mpiexec, run};
use onesided::{LockType, Rank, ThreadLevel, Universe, WindowOptions};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_rank_without_the_library_ends_the_job() {
    let Some(mpich) = mpich() else { return };
    for without in [0, 1] {
        let mut command = mpiexec(&mpich, 1);
        let program = |command: &mut Command, rank| {
            let library = (rank == without).then_some("ONESIDED_MPI=/nowhere/libmpi_abi.so.1");
            command.arg("env").args(library).arg(example("hello"));
        };
        program(&mut command, 0);
        command.args([":", "-n", "1"]);
        program(&mut command, 1);
        let outcome = run(&mut command, "hello");
        let words = ["hello: this process cannot join", "/nowhere/libmpi_abi.so.1", "'none'"];
        let is_clear = words.iter().all(|word| outcome.output.contains(word));
        let shown = format!("rank {without}, {}:\n{}", outcome.status, outcome.output);
        assert!(is_clear && !outcome.status.success(), "{shown}");
        assert!(!outcome.output.contains("add up to"), "{shown}");
    }
}

#[test]
fn a_launcher_of_which_the_library_knows_nothing_is_reported() {
    let Some(mpich) = mpich() else { return };
    for [rank, size] in [["PMI_RANK", "PMI_SIZE"], ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]]
    {
        let mut alone = Command::new(example("hello"));
        alone.env("LD_LIBRARY_PATH", mpich.join("lib")).env(rank, "2");
        let outcome = run(alone.env(size, "3"), "hello");
        let words = ["has started 3 ranks", size, "finds 1", "ONESIDED_MPI"];
        let is_clear = words.iter().all(|word| outcome.output.contains(word));
        assert!(is_clear && !outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn a_library_that_grants_less_than_is_asked_for_is_refused() {
    if let Some(part) = part() {
        let level = if part == "turns" { ThreadLevel::Serialized } else { ThreadLevel::Multiple };
        let joined = Universe::init_thread(level).map(|universe| universe.world().size());
        return println!("joined {joined:?}");
    }
    let Some(library) = simulated::library("levels") else { return };
    // MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED.
    for (part, granted, expected) in [
        ("threads", "2048", "simulated grants no MPI_THREAD_MULTIPLE (ThreadLevel::Serialized"),
        ("turns", "1024", "simulated grants no MPI_THREAD_SERIALIZED"),
        ("turns", "2048", "joined Ok(1)"),
    ] {
        let mut launcher = Command::new("env");
        launcher.env("PMI_RANK", "0").env("ONESIDED_MPI", &library);
        let outcome = relaunched(launcher.env("SIMULATED_THREADS", granted), part);
        let shown = format!("{part} of {granted}, {}:\n{}", outcome.status, outcome.output);
        assert!(outcome.output.contains(expected), "{shown}");
    }
}

#[test]
fn a_job_without_room_for_the_other_mpi_ends() {
    let Some(mpich) = mpich() else { return };
    let small = "mount -t tmpfs -o size=64k none /dev/shm && exec \"$@\"";
    let isolated = |command: &[&str]| {
        let mut all = Command::new("unshare");
        all.args(["--mount", "--map-root-user", "sh", "-c", small, "sh"]).args(command);
        all
    };
    if !isolated(&["true"]).status().is_ok_and(|status| status.success()) {
        return println!("skipped: no mount namespace of its own");
    }
    let launcher = mpiexec(&mpich, 2);
    let mut job = isolated(&[]);
    job.arg(launcher.get_program()).args(launcher.get_args()).arg(example("hello"));
    let variables =
        launcher.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let outcome = run(job.envs(variables), "hello");
    let is_right = outcome.output.contains("2 ranks add up to 3");
    assert!(outcome.status.success() == is_right, "{}:\n{}", outcome.status, outcome.output);
}

/// Waits in each way, in the other MPI and in this library, for a rank that never comes.
fn wait_for_ever(how: &str) {
    let universe = Universe::init().expect("a rank joins its job");
    let world = universe.world();
    let win = WindowOptions::new().allocate_bytes(world, 8, 8).expect("a window");
    world.barrier().expect("a barrier");
    println!("waits {}", std::process::id());
    if world.rank() == 1 {
        win.lock(LockType::Exclusive, Rank(1)).expect("nobody has it");
        std::thread::park();
    }
    match how {
        "lock" => win.lock(LockType::Exclusive, Rank(1)).expect("an end"),
        _ => world.barrier().expect("an end"),
    }
}

fn exists(process: &str) -> bool {
    // A zombie waits for its parent, and holds nothing.
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn ranks_end_when_their_launcher_is_killed() {
    if let Some(how) = part() {
        return wait_for_ever(&how);
    }
    let Some(mpich) = mpich() else { return };
    for how in ["lock", "barrier"] {
        let name = std::thread::current().name().expect("libtest names its threads").to_owned();
        let mut command = mpiexec(&mpich, 2);
        command.arg(std::env::current_exe().expect("the test's own path"));
        command.args(["--exact", &name, "--nocapture", "--test-threads=1"]);
        command.env(super::PART, how).stdout(Stdio::piped()).stdin(Stdio::null());
        let mut launcher = command.spawn().expect("the launcher");
        let mut output = BufReader::new(launcher.stdout.take().expect("a pipe")).lines();
        let mut lines = output.by_ref().map_while(Result::ok);
        let pids = lines.by_ref().filter_map(|line| Some(line.split_once("waits ")?.1.to_owned()));
        let ranks: Vec<String> = pids.take(2).collect();
        assert!(ranks.len() == 2 && ranks.iter().all(|rank| exists(rank)), "{ranks:?}");
        launcher.kill().expect("it runs");
        launcher.wait().expect("an end");
        let begun = Instant::now();
        while ranks.iter().any(|rank| exists(rank)) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{how}: of {ranks:?} some live on");
            std::thread::yield_now();
        }
    }
}
