//! Runs this program's rank 0 under callgrind and reads what it counted.
//!
//! Callgrind counts within [`calls_that_are_counted`] only, and writes a profile at its end. Each
//! path runs there twice, with [`ONCE`] calls and with twice as many: the difference of both, divided
//! by the calls it is of, has neither begin nor end of the loop in it, and is exact.

use crate::process;
use crate::table::Counted;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls in the first of both runs of a path.
pub const ONCE: u32 = 1000;
/// How a rank marks the name of a path for the driver.
const MARK: &str = "@path ";
/// The function below as valgrind names it, and that of the program in C. A pattern with stars, given to both options that
/// name it, would keep callgrind from writing any profile.
const FUNCTION: &str = concat!(module_path!(), "::calls_that_are_counted");
const FUNCTION_IN_C: &str = "calls_that_are_counted";
const PROGRAM_IN_C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/paths.c");
/// A job that takes longer hangs, and is ended.
const HANG: Duration = Duration::from_secs(120);
/// The segment is as large as the machine's memory by default, for which valgrind has no room
/// among its own tables.
const SEGMENT: &str = "64M";

/// Whether there is a valgrind to run.
pub fn is_there() -> bool {
    let mut command = Command::new("valgrind");
    let quiet = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Does `run` that many times where callgrind counts. What follows the call keeps it from being the
/// function's last instruction, a jump, behind which callgrind would not see the end.
#[inline(never)]
pub fn calls_that_are_counted(run: &mut dyn FnMut(u32), times: u32) {
    run(std::hint::black_box(times));
    std::hint::black_box(());
}

/// Has callgrind count a path, in a rank.
pub fn path(what: &str, mut run: impl FnMut(u32)) {
    // What only the first calls do, such as touching a page, is no part of the path.
    run(ONCE / 10);
    calls_that_are_counted(&mut run, ONCE);
    calls_that_are_counted(&mut run, 2 * ONCE);
    println!("{MARK}{what}");
}

/// The instructions of each path on rank 0 of a job of the given number of ranks.
pub fn count(ranks: u32) -> Result<Vec<Counted>, String> {
    let profiles = Profiles::new(ranks)?;
    counted(&profiles, &mut command(ranks, &profiles.0))
        .map_err(|problem| format!("counting with {ranks} ranks: {problem}"))
}

/// The instructions of each path of a program in C, with the C interface that is installed at `prefix`.
pub fn count_in_c(prefix: &Path) -> Result<Vec<Counted>, String> {
    let profiles = Profiles::new(0)?;
    let program = profiles.0.join("paths");
    let mut compiler = Command::new(prefix.join("bin/rmacc"));
    compiler.args(["-O2", PROGRAM_IN_C, "-o"]).arg(&program);
    let compiled = compiler.status().map_err(|error| format!("{compiler:?}: {error}"))?;
    if !compiled.success() {
        return Err(format!("{compiler:?}: {compiled}"));
    }
    let mut command = Command::new(prefix.join("bin/rmarun"));
    command.args(["-n", "1", "--segment-size", SEGMENT, "--", "valgrind"]);
    command.args(callgrind(FUNCTION_IN_C, &profiles.0)).arg(program);
    counted(&profiles, &mut command).map_err(|problem| format!("counting in C: {problem}"))
}

/// What a job counts, whose rank 0 prints the names of its paths.
fn counted(profiles: &Profiles, command: &mut Command) -> Result<Vec<Counted>, String> {
    let ended = process::run(command, HANG).map_err(|error| format!("valgrind: {error}"))?;
    if let Some(problem) = ended.problem() {
        return Err(format!("{problem}\n{}", ended.stdout));
    }
    let paths = ended.stdout.lines().filter_map(|line| line.strip_prefix(MARK));
    let counted = paths.enumerate().map(|(i, what)| {
        let [once, twice] = [2 * i + 1, 2 * i + 2].map(|n| profiles.total(n));
        let instructions = (twice? as f64 - once? as f64) / f64::from(ONCE);
        Ok(Counted { what: what.to_owned(), instructions })
    });
    let counted: Vec<Counted> = counted.collect::<Result<_, String>>()?;
    match counted.is_empty() {
        true => Err(format!("no path was counted:\n{}", ended.stdout)),
        false => Ok(counted),
    }
}

/// A job whose rank 0 is this program under valgrind; the others, if any, are not.
fn command(ranks: u32, profiles: &Path) -> Command {
    let own = std::env::current_exe().expect("the own path");
    let first = "test $ONESIDED_RANK = 0 && exec \"$@\"; exec \"$0\" --rank";
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", &ranks.to_string(), "--segment-size", SEGMENT, "--", "sh", "-c", first]);
    command.arg(&own).arg("valgrind").args(callgrind(FUNCTION, profiles)).arg(own).arg("--rank");
    command
}

/// The arguments of valgrind that count within `function`.
fn callgrind(function: &str, profiles: &Path) -> [String; 5] {
    [
        "--quiet".into(),
        "--tool=callgrind".into(),
        format!("--toggle-collect={function}"),
        format!("--dump-after={function}"),
        format!("--callgrind-out-file={}", profiles.join("profile").display()),
    ]
}

/// A folder of profiles, until dropped.
struct Profiles(PathBuf);

impl Profiles {
    fn new(ranks: u32) -> Result<Profiles, String> {
        let name = format!("callgrind-{}-{ranks}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Profiles(folder))
    }

    /// The instructions of profile number `n`.
    fn total(&self, n: usize) -> Result<u64, String> {
        let file = self.0.join(format!("profile.{n}"));
        let text = fs::read_to_string(&file);
        let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total = line.and_then(|total| total.trim().parse().ok());
        total.ok_or_else(|| format!("{}: no total", file.display()))
    }
}

impl Drop for Profiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
