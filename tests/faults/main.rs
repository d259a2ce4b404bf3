//! Jobs that break.
#![cfg(all(feature = "test-hooks", feature = "launcher"))]
#![allow(clippy::disallowed_methods, reason = "reads the variables that the comment above names")]

mod walk;

use onesided::hooks::{name_of, record};
use onesided::{Universe, launch};
use std::collections::BTreeMap;
use std::io::Write;

const WALK: &str = "ONESIDED_TEST_WALK";

#[test]
#[ignore = "a rank"]
fn rank() {
    if std::env::var_os(launch::ENV_RANK).is_none() {
        return;
    }
    match std::env::var(WALK).as_deref() {
        Ok("record") => {
            let (_, events) = record(once);
            let mut passed: BTreeMap<&str, u32> = BTreeMap::new();
            events.into_iter().for_each(|e| *passed.entry(name_of(e)).or_default() += 1);
            let rank = std::env::var(launch::ENV_RANK).unwrap();
            let lines =
                passed.iter().map(|(name, times)| format!("passed {rank} {name} {times}\n"));
            let text: String = lines.collect();
            std::io::stdout().write_all(format!("\n{text}").as_bytes()).expect("it can be said");
        }
        Ok("endless") => {
            let universe = Universe::init().expect("a rank joins its job");
            (1..).for_each(|round| walk::walk(&universe, round));
        }
        _ => once(),
    }
}

fn once() {
    let universe = Universe::init().expect("a rank joins its job");
    walk::walk(&universe, 1);
}
