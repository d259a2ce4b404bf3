//! How soon those who live know: all ranks but one wait for that one, which is killed, and say when
//! their call has returned.

use crate::campaign::{Times, in_order};
use crate::choices::Choices;
use crate::job::{Job, Start, WALK};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onesided::engine::Win;
use onesided::{Comm, Error, LockType, Rank, Universe, WindowOptions};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// What a rank has to await; the victim's number follows.
pub const AWAIT: &str = "await ";
/// The calls that survivors wait in, in turn.
pub const CALLS: [&str; 4] = ["barrier", "fence", "lock", "wait"];
/// How long a job may take to come to its waits, and how long to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Of the clock that all processes of the machine share, in nanoseconds.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A rank of such a job: waits for `victim`, or to be killed.
pub fn rank(universe: &Universe, victim: u32) {
    let world = universe.world();
    let me = world.rank().0;
    let window = |name| WindowOptions::new().name(name).allocate_bytes(world, 8, 8).unwrap();
    let (fenced, other) = (window("fenced"), window("other"));
    if me == victim {
        other.lock(LockType::Exclusive, Rank(victim)).unwrap();
    }
    world.barrier().unwrap();
    let call = CALLS[(me + victim) as usize % CALLS.len()];
    if me == victim {
        crate::report(&format!("\nvictim {}\n", std::process::id()));
        loop {
            std::thread::park();
        }
    }
    if call == "wait" {
        other.post(&world.group().incl(&[victim]).unwrap()).unwrap();
    }
    crate::report("\nready\n");
    let result = wait_in(call, world, &fenced, &other, victim);
    let then = now();
    match result {
        Err(Error::RankFailed { failed, .. }) if failed == victim => {}
        other => panic!("{call}: {other:?}"),
    }
    crate::report(&format!("knew {call} {then}\n"));
}

fn wait_in(
    call: &str,
    world: &Comm,
    fenced: &Win,
    other: &Win,
    victim: u32,
) -> onesided::Result<()> {
    match call {
        "barrier" => world.barrier(),
        "fence" => fenced.fence(),
        "lock" => other.lock(LockType::Shared, Rank(victim)),
        _ => other.wait(),
    }
}

/// Kills a rank of `ranks`, `count` times; for each call, and for all, how long it was from the
/// signal until it returned.
pub fn times(ranks: u32, count: u64, choices: &mut Choices) -> Vec<Times> {
    let (mut known, mut wrong) = (Vec::new(), 0);
    for _ in 0..count {
        let victim = choices.below(ranks.into()) as u32;
        match once(ranks, victim, choices) {
            Ok(one) => known.extend(one),
            Err(problem) => {
                println!("{problem}");
                wrong += 1;
            }
        }
    }
    let of = |call: &str| {
        let times = known.iter().filter(|(one, _)| call.is_empty() || one == call);
        let times = in_order(times.map(|(_, time)| *time).collect());
        let what = if call.is_empty() { "any of these" } else { call };
        Times { what: format!("{what}, {ranks} ranks"), times, wrong }
    };
    CALLS.into_iter().chain([""]).map(of).collect()
}

/// One job: the calls of the survivors, and how long each still took.
fn once(ranks: u32, victim: u32, choices: &mut Choices) -> Result<Vec<(String, Duration)>, String> {
    let variables = &[(WALK, format!("{AWAIT}{victim}"))];
    let job = Job::start(&Start { ranks, goes_on: true, variables, ..Start::plain() });
    let pid = await_ready(&job, ranks);
    // Long enough to be asleep, however they wait, and at no particular time of their sleep.
    std::thread::sleep(Duration::from_micros(50_000 + choices.below(200_000)));
    let began = now();
    let killed = pid.map(|pid| kill(pid, Signal::SIGKILL));
    let seen = job.finish(Some(victim), None);
    let known: Vec<_> = seen.stdout.lines().filter_map(|line| knew(line, began)).collect();
    let is_good = killed == Some(Ok(())) && seen.hangs.is_none() && seen.left.is_none();
    if !is_good || seen.status.code() != Some(137) || known.len() + 1 != ranks as usize {
        let (out, err) = (&seen.stdout, &seen.stderr);
        return Err(format!(
            "of {ranks} ranks, rank {victim} killed ({killed:?}), {} knew, {}; hangs {:?}, left \
             {:?}\n{out}{err}",
            known.len(),
            seen.status,
            seen.hangs,
            seen.left
        ));
    }
    Ok(known)
}

/// Waits until every rank is about to wait; the process of the victim.
fn await_ready(job: &Job, ranks: u32) -> Option<Pid> {
    let (until, mut ready, mut victim) = (Instant::now() + PATIENCE, 0, None);
    while ready < ranks {
        let line = job.lines.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
        let pid = line.strip_prefix("victim ").and_then(|pid| pid.parse().ok());
        victim = victim.or(pid.map(Pid::from_raw));
        ready += u32::from(line == "ready" || pid.is_some());
    }
    victim
}

fn knew(line: &str, began: u64) -> Option<(String, Duration)> {
    let (call, then) = line.strip_prefix("knew ")?.split_once(' ')?;
    let took = then.parse::<u64>().ok()?.saturating_sub(began);
    Some((call.to_owned(), Duration::from_nanos(took)))
}
