//! The tables of variables are consistent.

use super::{Category, control, performance};
use std::collections::BTreeSet;

#[test]
fn names_are_different_and_every_variable_is_in_one_category() {
    let names: BTreeSet<&str> = performance::ALL.iter().map(|one| one.name).collect();
    assert!(names.len() == performance::ALL.len() && names.len() >= 30);
    let controls: BTreeSet<&str> = control::ALL.iter().map(|one| one.name).collect();
    assert_eq!(controls.len(), control::ALL.len());
    let mut all: Vec<usize> = Category::ALL.iter().flat_map(|one| one.performance()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..performance::ALL.len()));
    let controlled: usize = Category::ALL.iter().map(|one| one.control().count()).sum();
    assert_eq!(controlled, control::ALL.len());
}
