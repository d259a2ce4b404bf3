//! The smaller examples, each with the check of its own results.

use super::{run_with, succeeds};

#[test]
fn hello_adds_up() {
    for (ranks, sum) in [(1, "1 ranks add up to 1\n"), (8, "8 ranks add up to 36\n")] {
        assert_eq!(succeeds(ranks, "hello", &[]), sum);
    }
}

#[test]
fn gups_loses_no_update() {
    for ranks in [1, 2, 3, 8] {
        let output = succeeds(ranks, "gups", &["--log-size", "12", "--verify"]);
        assert!(output.contains("16,384 updates of 4,096 words"), "{output}");
        assert!(output.contains(" GUP/s\n") && output.contains("no word is wrong"), "{output}");
    }
    // More ranks than words, all of them at the same two words.
    let crowded = ["--log-size", "1", "--updates", "100000", "--verify"];
    succeeds(8, "gups", &crowded);
}

#[test]
fn a_mutex_keeps_a_record_whole() {
    for ranks in [1, 2, 3, 8] {
        let output = succeeds(ranks, "mutex", &["--times", "200", "--words", "5", "--verify"]);
        assert!(output.contains("critical sections by"), "{output}");
        assert!(output.contains("nothing was lost or torn"), "{output}");
    }
}

#[test]
fn a_farm_does_every_task() {
    for (ranks, capacity) in [(1, "1"), (2, "1"), (3, "64"), (8, "5")] {
        let arguments = ["--tasks", "500", "--capacity", capacity, "--verify"];
        let output = succeeds(ranks, "queue", &arguments);
        assert!(output.contains("500 tasks by") && output.contains("longest: 143\n"), "{output}");
        assert!(output.contains("every task was done"), "{output}");
    }
    succeeds(3, "queue", &["--tasks", "0", "--verify"]);
}

#[test]
fn tickets_schedule_a_loop() {
    for (ranks, chunk) in [(1, "1"), (2, "7"), (3, "100000"), (8, "50")] {
        let arguments = ["--below", "10000", "--chunk", chunk, "--verify"];
        let output = succeeds(ranks, "counter", &arguments);
        assert!(output.contains("1,229 primes below 10000"), "{output}");
        assert!(output.contains("no prime is missing"), "{output}");
    }
    succeeds(3, "counter", &["--below", "0", "--verify"]);
}

#[test]
fn a_pipeline_loses_no_block() {
    for (ranks, length) in [(1, "3"), (2, "1"), (3, "1000"), (8, "64")] {
        let arguments = ["--blocks", "200", "--length", length, "--verify"];
        let output = succeeds(ranks, "notify", &arguments);
        assert!(output.contains("200 blocks of") && output.contains(" GB/s, sum "), "{output}");
        assert!(output.contains("the sum is right"), "{output}");
    }
    succeeds(3, "notify", &["--blocks", "0", "--verify"]);
}

/// The check finds no conflict, and changes no result.
#[test]
fn no_example_has_conflicts() {
    let examples: [(&str, &[&str]); 7] = [
        ("hello", &[]),
        ("gups", &["--log-size", "8", "--verify"]),
        ("mutex", &["--times", "50", "--words", "5", "--verify"]),
        ("queue", &["--tasks", "100", "--capacity", "5", "--verify"]),
        ("counter", &[]),
        ("notify", &[]),
        ("heat", &["--rows", "40", "--cols", "40", "--steps", "20"]),
    ];
    for (example, arguments) in examples {
        for ranks in [2, 3] {
            let outcome = run_with(&["--check"], ranks, example, arguments);
            let (status, output) = (outcome.status, outcome.output);
            assert!(status.success(), "{ranks} x {example} {arguments:?}, {status}:\n{output}");
        }
    }
}
