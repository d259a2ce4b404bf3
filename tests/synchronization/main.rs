//! Synchronization calls and what they promise (MPI-2.2 §11.4, §11.5 and §11.7; MPI-4.1 §12.5 and
//! §12.7): fence, post/start/complete/wait, locks, flush, progress.

mod double_buffer;
mod epochs;
mod exposed;
mod fence;
mod flush;
mod hostile;
mod lock;
mod lock_progress;
mod locks;
mod matching;
mod progress;
mod pscw;
mod semantics;
mod sequence;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod tree;
mod wait_until;
