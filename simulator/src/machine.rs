//! Where the programs run: here, the simulator.

use crate::prim::Backoff;
pub use crate::prim::simulated::{Costs, RankProgress, Time, Topology, align, progress, run};

/// Calls of each rank before the measured ones.
pub const WARM_UP: u32 = 2;
/// Measured calls of each rank.
pub const MEASURED: u32 = 4;

/// How ranks wait.
pub fn backoff(_ranks: u32) -> Backoff {
    Backoff
}
