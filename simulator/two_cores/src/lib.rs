//! The simulator's programs over the native machine.

#[path = "../../../src/prim/mod.rs"]
pub mod prim;
#[path = "../../src/programs.rs"]
pub mod programs;
#[path = "../../../src/sync/mod.rs"]
pub mod sync;

pub mod machine;
