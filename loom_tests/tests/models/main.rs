//! The models within their short bounds, by protocol; `cargo run --release -p loom_tests --bin models`
//! runs them within others.

mod accumulate;
mod agreement;
mod channel;
mod collective;
mod counter;
mod directory;
mod failure;
mod far_lock;
mod fence;
mod flush;
mod gather;
mod lock;
mod mutex;
mod notify;
mod parking;
mod pscw;
mod queue;
mod robust;
mod shards;
mod watch;
