//! Models of the counters over window operations, within the short bounds.

use loom_tests::{models, report};

#[test]
fn two_ranks() {
    report::assert_pass(&models::counter(), |ranks| ranks == 2);
}

#[test]
fn three_ranks() {
    report::assert_pass(&models::counter(), |ranks| ranks > 2);
}
