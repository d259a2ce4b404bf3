//! Where the programs run: here, two cores of this machine.

use crate::prim::Backoff;
pub use simulator::machine::{Costs, RankProgress, Time, Topology};
use std::sync::{Barrier, OnceLock};
use std::time::Instant;

/// Calls of each rank before the measured ones.
pub const WARM_UP: u32 = 2_000;
/// Measured calls of each rank.
pub const MEASURED: u32 = 20_000;

/// How ranks wait.
pub fn backoff(ranks: u32) -> Backoff {
    Backoff::new(ranks as usize, ranks as usize)
}

/// Runs `rank` for each rank, on a core of its own.
pub fn run(ranks: u32, _: Topology, _: Costs, rank: impl Fn(u32) + Sync) {
    let (begin, rank) = (&Barrier::new(ranks as usize), &rank);
    std::thread::scope(|scope| {
        for number in 0..ranks {
            scope.spawn(move || {
                let mut core = rustix::thread::CpuSet::new();
                core.set(number as usize);
                // Where it is refused, the kernel's choice has to do.
                let _ = rustix::thread::sched_setaffinity(None, &core);
                begin.wait();
                rank(number);
            });
        }
    });
}

/// The time since the first call.
pub fn progress() -> RankProgress {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let since = BEGUN.get_or_init(Instant::now).elapsed();
    RankProgress { time: since.as_nanos() as u64 * 1000, remote: 0, chain: 0 }
}

/// Two ranks that have just called each other are close enough.
pub fn align() {}
