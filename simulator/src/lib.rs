//! The protocols of `src/sync` on a simulator of caches and time (`src/prim/simulated.rs`).

#[path = "../../src/prim/mod.rs"]
pub mod prim;
#[path = "../../src/sync/mod.rs"]
pub mod sync;

pub mod machine;
pub mod programs;
pub mod report;
