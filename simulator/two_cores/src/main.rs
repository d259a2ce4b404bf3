//! Runs the simulator's programs on two cores of this machine, and compares the times with modelled ones.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use two_cores::machine::{Costs, Topology};
use two_cores::prim::{Site, Word32, mem_sync};
use two_cores::programs;

/// How often each program runs. The best run is the one that nothing has disturbed.
const RUNS: usize = 30;
/// By how much a modelled time may differ.
const MOST: f64 = 0.25;

type Simulated = fn(&simulator::programs::Machine) -> simulator::programs::Cost;
type Native = fn(&programs::Machine) -> programs::Cost;

const PROGRAMS: [(&str, Native, Simulated); 6] = [
    ("barrier", programs::barrier, simulator::programs::barrier),
    ("fence", programs::fence, simulator::programs::fence),
    ("post, start, complete, wait", programs::pscw, simulator::programs::pscw),
    ("notify and wait", programs::notify_ring, simulator::programs::notify_ring),
    ("message", programs::message_ring, simulator::programs::message_ring),
    ("allreduce of 8 B", programs::allreduce, simulator::programs::allreduce),
];

/// Picoseconds of one step of `f`, at best.
fn best(f: impl Fn()) -> u64 {
    const STEPS: u32 = 10_000;
    let run = |_| {
        let began = Instant::now();
        (0..STEPS).for_each(|_| f());
        began.elapsed().as_nanos() as u64 * 1000 / u64::from(STEPS)
    };
    (0..RUNS).map(run).min().unwrap_or(0)
}

fn measured(program: Native, costs: Costs) -> u64 {
    let machine = programs::Machine { ranks: 2, topology: Topology::FLAT, costs };
    let mut times: Vec<u64> = (0..RUNS).map(|_| program(&machine).time).collect();
    times.sort_unstable();
    times[RUNS / 4]
}

fn modelled(program: Simulated, costs: Costs) -> u64 {
    let machine = simulator::programs::Machine { ranks: 2, topology: Topology::FLAT, costs };
    program(&machine).time
}

/// The costs of this machine: a loop for each step, and for the transfer the time that makes the modelled
/// ping-pong as long as the real one.
fn calibrated() -> Costs {
    let word = Word32::default();
    let hit = best(|| _ = black_box(&word).load());
    let locked = best(|| _ = black_box(&word).fetch_add(1)).saturating_sub(hit);
    let stored = best(|| black_box(&word).store(1));
    let fenced = best(|| {
        black_box(&word).store(1);
        mem_sync(Site::Flush);
    });
    let fence = fenced.saturating_sub(stored);
    let mut costs = Costs { hit, locked, fence, transfer: [0; 3], barrier_of_all: 0 };
    let real = measured(programs::ping_pong, costs);
    let with = |transfer| Costs { transfer: [transfer; 3], ..costs };
    let model = |transfer| modelled(simulator::programs::ping_pong, with(transfer));
    let (mut low, mut high) = (0, real);
    while high - low > 100 {
        let middle = low.midpoint(high);
        if model(middle) < real { low = middle } else { high = middle }
    }
    costs.transfer = [low; 3];
    println!(
        "hit {} ps, read-modify-write +{locked} ps, fence {fence} ps, transfer {low} ps (ping-pong {} ns)",
        hit,
        real / 1000
    );
    costs
}

fn main() -> ExitCode {
    let costs = calibrated();
    println!(
        "| program of 2 ranks | measured, ns | modelled, ns | ratio |\n| --- | ---: | ---: | ---: |"
    );
    let mut far = 0;
    for (name, native, simulated) in PROGRAMS {
        let (real, model) = (measured(native, costs) as f64, modelled(simulated, costs) as f64);
        let ratio = model / real;
        far += usize::from(!(1.0 - MOST..=1.0 + MOST).contains(&ratio));
        println!("| {name} | {:.0} | {:.0} | {ratio:.2} |", real / 1e3, model / 1e3);
    }
    println!("{far} of {} differ by more than {:.0} %", PROGRAMS.len(), MOST * 100.0);
    if far == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
