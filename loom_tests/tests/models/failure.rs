//! Models of job failure, within the short bounds: no wait outlives it.

use loom_tests::{models, report};

#[test]
fn polling() {
    let mut models = models::failure();
    models.retain(|model| !model.park);
    report::assert_pass(&models, |_| true);
}

#[test]
fn asleep() {
    let mut models = models::failure();
    models.retain(|model| model.park);
    report::assert_pass(&models, |_| true);
}
