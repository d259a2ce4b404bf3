//! What a campaign has found, as the part of `docs/reference/faults.md` that it stands in.

use crate::table::Table;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// A run of a campaign.
pub struct Campaign<'a> {
    pub seed: u64,
    pub parallel: u64,
    pub took: Duration,
    /// Shared memory of the machine, in kB.
    pub before: i64,
    pub after: i64,
    pub ends: &'a Table,
    pub goes_on: &'a Table,
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or("unknown".into())
}

fn of_file(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// On what, and beside what, something was measured.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let info = of_file("/proc/cpuinfo");
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name = name.map_or("unknown", |name| name.trim_start_matches(['\t', ' ', ':']));
    let kernel = of_file("/proc/sys/kernel/osrelease");
    let load: Vec<String> =
        of_file("/proc/loadavg").split(' ').take(3).map(str::to_owned).collect();
    let (date, rustc) =
        (first_line("date", &["-u", "+%Y-%m-%d %H:%M"]), first_line("rustc", &["-V"]));
    let commit = first_line("git", &["rev-parse", "--short", "HEAD"]);
    format!(
        "On {date} UTC, on {cores} virtual cores ({name}), Linux {kernel}, {rustc}, test build, commit \
         {commit}; load at the end {}",
        load.join(" ")
    )
}

/// The part of the document.
pub fn found(campaign: &Campaign<'_>) -> String {
    let Campaign { seed, parallel, took, before, after, ends, goes_on } = campaign;
    format!(
        "{}:\n\n    ONESIDED_TEST_SEED={seed} cargo test --all-features --test faults -- --ignored \
         --nocapture full\n\n{} jobs in {:.0} s, {parallel} at a time. `Shmem:` of /proc/meminfo: \
         {before} kB before, {after} kB after. Jobs that ended before the\nfault came are *not reached*: \
         some sites are passed only when ranks happen to wait. A site's numbers are for 2, 4 and\n8 \
         ranks. The rows of the launcher count all three ways of starting the ranks.\n\n{ends}\nWith \
         `--on-failure=continue`. \"One, and another\" are jobs in which one rank is killed, and another \
         one fails in that\nphase, before or then; their columns report how the other one fails.\n\n{goes_on}",
        machine(),
        ends.runs + goes_on.runs,
        took.as_secs_f64(),
    )
}
