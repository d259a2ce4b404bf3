//! Models of the lock of another MPI's memory, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::far_lock(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::far_lock(), |ranks| ranks > 2);
}
