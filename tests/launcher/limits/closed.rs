//! Ranks that close descriptors which are not theirs, and then open files: those have the numbers that
//! the library knew.

use crate::limits::ranks::{asks_for, closes_all, program, rmarun, succeeds};
use crate::limits::shared_memory::{mounted, tmpfs};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// As long as the part of the segment that the ranks use, and without a zero.
const BYTES: usize = 64 << 20;

/// A file of the program's own.
struct Taker(PathBuf);

impl Taker {
    fn new(name: &str) -> Taker {
        let name = format!("onesided-taker-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, vec![0x5a; BYTES]).expect("a file");
        Taker(path)
    }

    fn has_survived(&self) {
        let found = fs::read(&self.0).expect("the file");
        let intact = found.iter().position(|byte| *byte != 0x5a).unwrap_or(found.len());
        assert_eq!((intact, found.len()), (BYTES, BYTES), "intact bytes, and all");
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn kinds(test: &str) -> [String; 3] {
    ["memfd", "posix", &format!("onesided-{test}-{}", std::process::id())]
        .map(|kind| format!("--segment={kind}"))
}

#[test]
fn a_file_that_takes_the_number_stays_as_it_is() {
    let taker = Taker::new("numbers");
    for kind in kinds("numbers") {
        for name in ["take_and_give_back", "synchronise"] {
            let mut command = rmarun(3, &[&kind, "--segment-size=64M"]);
            succeeds(closes_all(program(&mut command, name), &taker.0));
            taker.has_survived();
        }
    }
}

/// The memory of a job without a launcher, which makes it itself.
#[test]
fn a_process_alone_bears_it_as_well() {
    let taker = Taker::new("alone");
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command.args([
        "--exact",
        "limits::ranks::alone",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    succeeds(closes_all(&mut command, &taker.0));
    taker.has_survived();
}

#[test]
fn a_shortage_is_still_an_error_on_every_rank() {
    let taker = Taker::new("short");
    for (size, ranks, bytes) in [("8m", 3, 4 << 20), ("16m", 2, 15 << 20)] {
        let mut command = rmarun(ranks, &["--segment=posix"]);
        closes_all(asks_for(&mut command, bytes), &taker.0);
        if let Some(mut command) = mounted(&tmpfs(&format!("size={size}")), &command) {
            let outcome = succeeds(&mut command);
            assert_eq!(outcome.output.matches("goes on").count(), ranks as usize);
        }
    }
    taker.has_survived();
}
