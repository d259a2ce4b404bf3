//! A memory control group that is smaller than what the job asks for.

use crate::limits::ranks::{asks_for, rmarun, succeeds};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// A group of the test's own, removed when dropped.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A group with a limit, of either version, below that of this process.
fn group(bytes: u64) -> Option<Group> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let version_1 = own.lines().find_map(|line| Some(line.split_once(":memory:")?.1));
    let version_2 = own.lines().find_map(|line| line.strip_prefix("0::"));
    let kinds = [
        (version_1, "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        (version_2, "/sys/fs/cgroup", "memory.max"),
    ];
    kinds.into_iter().find_map(|(path, root, limit)| {
        let path = format!("{root}{}/onesided-test-{}", path?, std::process::id());
        let group = Path::new(&path);
        fs::create_dir(group).ok()?;
        let group = Group(group.to_owned());
        fs::write(group.0.join(limit), bytes.to_string()).ok()?;
        Some(group)
    })
}

#[test]
fn windows_beyond_the_control_group_are_refused_before_the_kernel_kills() {
    let Some(group) = group(256 << 20) else {
        println!("not tested: this process may not make a memory control group");
        return;
    };
    let mut command = rmarun(3, &[]);
    asks_for(&mut command, 200 << 20);
    let members = group.0.join("cgroup.procs");
    // SAFETY: opens and writes one file; the path was allocated before the fork.
    unsafe { command.pre_exec(move || fs::write(&members, "0")) };
    let outcome = succeeds(&mut command);
    assert!(!outcome.output.contains("killed"), "{}", outcome.output);
    assert_eq!(outcome.output.matches("goes on").count(), 3, "{}", outcome.output);
}
