//! The library's own `prim` and `sync` layers, compiled over loom's model of the machine.

#[path = "../../src/prim/mod.rs"]
pub mod prim;
#[path = "../../src/sync/mod.rs"]
pub mod sync;
