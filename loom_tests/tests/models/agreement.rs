//! Models of fences that a rank does not arrive at, within the short bounds.

use loom_tests::{models, report};

#[test]
fn three_ranks() {
    report::assert_pass(&models::agreement(), |_| true);
}
