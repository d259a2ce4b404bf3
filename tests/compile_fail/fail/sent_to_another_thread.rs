//! Handles stay on the thread that made them (MPI_THREAD_FUNNELED). Windows and guards, whose
//! reasons are many and internal, are in the twin.
use onesided::{Comm, Group, Universe};

fn sent<T: Send>(_: T) {}
fn shared<T: Sync>(_: T) {}

fn universe(handle: Universe) {
    sent(handle);
}

fn comm(handle: Comm) {
    sent(handle);
}

fn shared_comm(handle: Comm) {
    shared(handle);
}

fn group(handle: Group) {
    sent(handle);
}

fn main() {}
