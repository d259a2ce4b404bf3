#![doc = include_str!("../README.md")]

#[path = "../../src/prim/mod.rs"]
pub mod prim;
#[path = "../../tools/src/protocol/mod.rs"]
pub mod protocol;
#[path = "../../src/sync/mod.rs"]
pub mod sync;

mod data;
pub mod explore;
mod memory;
pub mod models;
pub mod mutants;
pub mod report;
mod world;
