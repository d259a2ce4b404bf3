//! Models of the communicator's barrier and its staging area, within the short bounds.

use loom_tests::{models, report};

#[test]
fn all_numbers_of_ranks() {
    report::assert_pass(&models::collective(), |_| true);
}

#[test]
fn one_barrier_per_chunk_needs_two_buffers() {
    report::assert_fails(&models::one_buffer_only());
}
