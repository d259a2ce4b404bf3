//! What the peers leave behind in /dev/shm, after a kill or without one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

const SHARED_MEMORY: &str = "/dev/shm";
/// How the peers' names begin.
const NAMES: [&str; 5] = ["mpich", "vader_segment", "sm_segment", "osc_", "ompi"];

/// The peers' names that are there now.
pub fn names() -> HashSet<OsString> {
    let entries = fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names.filter(|name| NAMES.iter().any(|n| name.to_string_lossy().starts_with(n))).collect()
}

/// Removes the names that were not there before, and what is in the peer's temporary folder.
pub fn remove_since(before: &HashSet<OsString>, temporary: &Path) {
    for name in names().difference(before) {
        // What another process has removed meanwhile is no problem.
        let _ = fs::remove_file(Path::new(SHARED_MEMORY).join(name));
    }
    let _ = fs::remove_dir_all(temporary);
    let _ = fs::create_dir_all(temporary);
}
