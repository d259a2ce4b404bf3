//! A segment that is not what this program would have made: of another version or layout, of
//! another job or size, or any bytes at all where the header stands. Joining it is an error.
#![allow(unsafe_code, reason = "looks whether a mapping is refused")]
#![allow(clippy::disallowed_methods, reason = "reads the variable that tells program from test")]

use crate::support;
use onesided::Universe;
use onesided::launch::{ENV_RANK, Job, Observation, OnFailure, SegmentKind};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Where the fields of the header lie.
const FIELDS: [(&str, u64); 5] =
    [("magic", 0), ("version", 8), ("ranks", 12), ("fingerprint", 16), ("bytes", 24)];
const NONCE: u64 = 32;
const HEADER: usize = 40;

/// The program: tries to join and prints the result.
#[test]
#[ignore = "a program"]
fn join() {
    if std::env::var_os(ENV_RANK).is_none() {
        return;
    }
    match Universe::init() {
        Ok(universe) => println!("\njoined {}", universe.world().size()),
        Err(error) => println!("\nrefused {error:?}"),
    }
}

/// A job of this process, whose segment can be written over.
struct Forged {
    job: Job,
    file: File,
}

impl Forged {
    fn new(kind: &SegmentKind) -> Forged {
        let job = Job::create(2, kind, Some(4 << 20), OnFailure::End, Observation::default())
            .expect("a segment");
        let path = format!("/proc/self/fd/{}", job.descriptors()[0]);
        let file = OpenOptions::new().read(true).write(true).open(path).expect("the segment");
        Forged { job, file }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, at).expect("the segment can be written");
    }

    fn flip(&self, at: u64) {
        let mut byte = [0];
        self.file.read_exact_at(&mut byte, at).expect("the segment can be read");
        self.write(at, &[byte[0] ^ 4]);
    }

    /// What comes of joining it.
    fn joined(&self) -> String {
        let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
        command.args([
            "--exact",
            "forged_segments::join",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.envs(self.job.environment(0, std::process::id()));
        let outcome = support::run(&mut command, "a process that tries to join");
        let lines = outcome.output.lines();
        let mut reported =
            lines.filter(|line| line.starts_with("joined ") || line.starts_with("refused "));
        let reported = reported.next().map(str::to_owned);
        reported.unwrap_or_else(|| panic!("{}: {}", outcome.status, outcome.output))
    }
}

#[test]
fn what_is_genuine_can_be_joined() {
    assert_eq!(Forged::new(&SegmentKind::Memfd).joined(), "joined 2");
    assert_eq!(Forged::new(&SegmentKind::Posix).joined(), "joined 2");
}

#[test]
fn another_version_layout_job_or_size_is_refused() {
    for (field, at) in FIELDS.into_iter().chain([("nonce", NONCE)]) {
        let forged = Forged::new(&SegmentKind::Memfd);
        forged.flip(at);
        let words = match field {
            "magic" | "nonce" => "not the segment of this job",
            "version" | "fingerprint" => "made by another version of the library",
            _ => "another size than its header says",
        };
        let reported = forged.joined();
        assert!(
            reported.starts_with("refused ") && reported.contains(words),
            "{field}: {reported}"
        );
        assert!(reported.ends_with("(Other)"), "{field}: {reported}");
    }
}

/// Of memory without seals, which its owner can make shorter.
#[test]
fn a_segment_that_has_been_cut_off_is_refused() {
    for bytes in [0, 100, 4096, 100_000, (4 << 20) - 4096] {
        let forged = Forged::new(&SegmentKind::Posix);
        forged.file.set_len(bytes).expect("no seal forbids it");
        let reported = forged.joined();
        assert!(reported.starts_with("refused "), "{bytes}: {reported}");
    }
}

#[test]
fn whatever_stands_in_the_header_there_is_an_answer() {
    let random = prop::collection::vec(any::<u8>(), 1..HEADER);
    let writes = (0..HEADER as u64, random);
    let mut runner =
        TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    let forged = Forged::new(&SegmentKind::Memfd);
    let mut genuine = [0; HEADER];
    forged.file.read_exact_at(&mut genuine, 0).expect("the header");
    let result = runner.run(&writes, |(at, bytes)| {
        forged.write(0, &genuine);
        let end = bytes.len().min(HEADER - at as usize);
        forged.write(at, &bytes[..end]);
        let mut now = [0; HEADER];
        forged.file.read_exact_at(&mut now, 0).expect("the header");
        let reported = forged.joined();
        // The first process to join an intact header is the rank; no other can be.
        prop_assert!(reported.starts_with("refused ") || now == genuine, "{}", reported);
        Ok(())
    });
    result.expect("an answer to every header");
}

#[test]
fn no_rank_changes_the_length_of_the_segment_or_writes_the_notice() {
    let forged = Forged::new(&SegmentKind::Memfd);
    for bytes in [0, 4096, 8 << 20] {
        let refused = forged.file.set_len(bytes).expect_err("the length is sealed");
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    }
    let path = format!("/proc/self/fd/{}", forged.job.descriptors()[1]);
    let notice = OpenOptions::new().read(true).write(true).open(path);
    if let Ok(notice) = notice {
        // Root, and the owner, may open it anew; the seal keeps them from writing.
        let refused = notice.write_at(&[1], 8).expect_err("the notice is sealed");
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        let map = memmap2::MmapOptions::new().len(4096).map_raw(&notice);
        assert!(map.is_err(), "the notice can be mapped for writing");
    }
}
