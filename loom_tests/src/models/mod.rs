//! The test programs: one file per protocol.
//!
//! Every program has accesses before and after each synchronisation that it shows. A fence with nothing
//! on one side is not needed there, and its deletion would go unnoticed.

mod accumulate;
mod agreement;
mod channel;
mod clock;
mod collective;
mod counter;
mod directory;
mod failure;
mod far_lock;
mod fence;
mod flush;
mod gather;
mod lock;
mod lock_all;
mod mutex;
mod notify;
mod parking;
mod pscw;
mod queue;
mod robust;
mod shards;
mod watch;

pub use accumulate::models as accumulate;
pub use agreement::models as agreement;
pub use channel::models as channel;
pub use clock::models as clock;
pub use collective::models as collective;
pub use counter::models as counter;
pub use directory::models as directory;
pub use failure::models as failure;
pub use far_lock::models as far_lock;
pub use fence::models as fence;
pub use flush::models as flush;
pub use gather::models as gather;
pub use lock::models as lock;
pub use lock_all::models as lock_all;
pub use mutex::models as mutex;
pub use notify::models as notify;
pub use parking::models as parking;
pub use pscw::models as pscw;
pub use queue::models as queue;
pub use robust::models as robust;
pub use shards::models as shards;
pub use watch::models as watch;

pub use collective::one_buffer_only;
pub use flush::sync_forgotten;

use crate::explore::Model;

/// The table of all models.
pub fn all() -> Vec<Model> {
    let epochs = [
        fence(),
        collective(),
        pscw(),
        lock(),
        lock_all(),
        far_lock(),
        flush(),
        accumulate(),
        shards(),
    ];
    let waits = [watch(), notify(), channel(), mutex(), queue(), counter(), directory(), parking()];
    let failures = [failure(), agreement(), robust(), gather(), clock()];
    [epochs.concat(), waits.concat(), failures.concat()].concat()
}
