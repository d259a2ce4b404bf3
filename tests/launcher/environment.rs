//! An environment that does not describe a job one could join is an error, never a crash or a
//! hang: whatever the variables say, wherever the descriptors lead.

use crate::support;
use onesided::Universe;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

const RANK: &str = "ONESIDED_RANK";
const RANKS: &str = "ONESIDED_RANKS";
const LAUNCHER: &str = "ONESIDED_LAUNCHER";
const SEGMENT: &str = "ONESIDED_SEGMENT_FD";
const NOTICE: &str = "ONESIDED_NOTICE_FD";
const NONCE: &str = "ONESIDED_NONCE";
const SIZE: &str = "ONESIDED_SEGMENT_SIZE";

/// The program: tries to join and prints the result.
#[test]
#[ignore = "a program"]
fn join() {
    match Universe::init() {
        // On a line of its own, whatever the test framework has written before.
        Ok(universe) => println!("\njoined {}", universe.world().size()),
        Err(error) => println!("\nrefused {error:?}"),
    }
}

/// The program: executes another one, which prints what is open, before it has joined and after.
#[test]
#[ignore = "a program"]
fn execute() {
    let open = || {
        let script = "for f in /proc/$$/fd/*; do readlink $f; done";
        let output = Command::new("sh").args(["-c", script]).output().expect("a shell");
        let list = String::from_utf8(output.stdout).expect("text");
        list.lines().filter(|to| to.contains("onesided") || to.starts_with("/dev/shm/#")).count()
    };
    let before = open();
    let universe = Universe::init().expect("a rank joins its job");
    println!("\njoined {}: {before} {}", universe.world().size(), open());
}

fn program() -> Vec<OsString> {
    program_of("join")
}

fn program_of(test: &str) -> Vec<OsString> {
    let path = std::env::current_exe().expect("the test's own path").into_os_string();
    let test = support::test_of(module_path!(), test);
    let arguments = ["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"];
    [path].into_iter().chain(arguments.map(OsString::from)).collect()
}

/// What came of joining: the lines of all processes that tried.
fn outcomes(command: &mut Command) -> Vec<String> {
    let outcome = support::run(command, "a process that tries to join");
    let lines = outcome
        .output
        .lines()
        .filter(|line| line.starts_with("joined ") || line.starts_with("refused "));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{}:\n{}", outcome.status, outcome.output);
    lines
}

/// What comes of joining with nothing but these variables set.
fn join_with<K: AsRef<str>>(variables: &[(K, OsString)]) -> String {
    let program = program();
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).env_clear();
    command.envs(variables.iter().map(|(name, value)| (name.as_ref(), value)));
    outcomes(&mut command).remove(0)
}

fn refused(variables: &[(&str, &str)]) -> String {
    let variables: Vec<_> = variables.iter().map(|(k, v)| (*k, OsString::from(v))).collect();
    let line = join_with(&variables);
    assert!(line.starts_with("refused "), "{variables:?}: {line}");
    assert!(line.ends_with("(Other)"), "a class for it: {line}");
    line
}

/// A complete environment that leads nowhere.
const NOWHERE: [(&str, &str); 6] =
    [(RANK, "0"), (RANKS, "1"), (LAUNCHER, "0"), (SEGMENT, "900"), (NOTICE, "901"), (NONCE, "1f")];

/// [`NOWHERE`] with one variable changed.
fn nowhere_but<'a>(name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    NOWHERE.iter().map(|(n, v)| (*n, if *n == name { value } else { v })).collect()
}

#[test]
fn nothing_in_the_environment_is_a_job_of_one() {
    assert_eq!(join_with::<&str>(&[]), "joined 1");
    // With neither of these there is a launcher.
    assert_eq!(join_with(&[(RANKS, "7".into()), (NONCE, "zz".into())]), "joined 1");
}

#[test]
fn a_missing_variable_is_named() {
    for (name, _) in NOWHERE.iter().filter(|(name, _)| *name != NOTICE && *name != SEGMENT) {
        let rest: Vec<_> = NOWHERE.iter().copied().filter(|(n, _)| n != name).collect();
        assert!(refused(&rest).contains(name), "{name}");
    }
    refused(&[(RANK, "0")]);
    // Its message stays on one line, whatever the variable holds.
    refused(&[(RANK, "\n\u{80}"), (RANKS, "1")]);
    refused(&[(SEGMENT, "3")]);
}

#[test]
fn ranks_that_cannot_be_are_refused() {
    for (rank, ranks) in [("1", "1"), ("5", "2"), ("0", "0"), ("0", "4097"), ("0", "4294967295")] {
        let line =
            refused(&[&nowhere_but(RANK, rank)[..1], &nowhere_but(RANKS, ranks)[1..]].concat());
        assert!(line.contains(&format!("no rank {rank} of {ranks}")), "{line}");
    }
    for odd in ["", "-1", "+", "1.0", " 0", "0x1", "99999999999999999999", "zero", "١"] {
        for name in [RANK, RANKS, LAUNCHER, SEGMENT] {
            let line = refused(&nowhere_but(name, odd));
            // -1 is a number where a descriptor is wanted.
            assert!(line.contains(name) || (name == SEGMENT && odd == "-1"), "{line}");
        }
    }
    for odd in ["", "xyz", "1f1f1f1f1f1f1f1f1f", "-1"] {
        assert!(refused(&nowhere_but(NONCE, odd)).contains(NONCE));
    }
}

#[test]
fn descriptors_that_lead_elsewhere_are_refused() {
    for number in ["-1", "-2147483648", "0", "1", "2", "63", "2147483647"] {
        for launcher in ["0", "1", "4294967295", &std::process::id().to_string()] {
            let mut variables = nowhere_but(SEGMENT, number);
            variables[2].1 = launcher;
            refused(&variables);
        }
    }
}

#[test]
fn files_that_are_no_segment_are_refused() {
    let folder = std::env::temp_dir().join(format!("onesided-environment-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, bytes: u64, start: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, start).unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        file.set_len(bytes).unwrap();
        file
    };
    let files = [
        write("empty", 0, b""),
        write("page", 4096, b""),
        write("zeros", 64 << 20, b""),
        write("vast", 1 << 40, b""),
        write("magic", 64 << 20, b"onesided"),
        write("noise", 64 << 20, &[0xFF; 8192]),
        std::fs::File::open("/dev/zero").unwrap(),
        std::fs::File::open("/").unwrap(),
        std::fs::File::open("/proc/self/mem").unwrap(),
    ];
    let (pipe, _writer) = std::io::pipe().unwrap();
    let launcher = std::process::id().to_string();
    for number in files.iter().map(|file| file.as_raw_fd()).chain([pipe.as_raw_fd()]) {
        let number = number.to_string();
        let mut variables = nowhere_but(SEGMENT, &number);
        variables[2].1 = &launcher;
        refused(&variables);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for size in ["", "64M", "-1", "0", "1", "4096", "18446744073709551615", "9223372036854775807"] {
        refused(&[(SIZE, size)]);
    }
    assert_eq!(join_with(&[(SIZE, "16777216".into())]), "joined 1");
}

/// What a forger might write: numbers, near numbers, and anything without a NUL.
fn value() -> impl Strategy<Value = OsString> {
    let anything = prop::collection::vec(1u8.., 0..40).prop_map(OsString::from_vec);
    prop_oneof![
        4 => (-2i64..12).prop_map(|n| n.to_string().into()),
        2 => any::<i64>().prop_map(|n| n.to_string().into()),
        1 => any::<u32>().prop_map(|n| n.to_string().into()),
        1 => any::<u64>().prop_map(|n| format!("{n:x}").into()),
        1 => anything,
    ]
}

fn random_environments(cases: u32) {
    let names = [RANK, RANKS, LAUNCHER, SEGMENT, NOTICE, NONCE];
    let variables =
        names.map(|name| prop::option::weighted(0.9, value()).prop_map(move |value| (name, value)));
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&variables, |variables| {
        let set = variables.iter().filter_map(|(name, value)| Some((*name, value.clone()?)));
        let set: Vec<_> = set.collect();
        let readable = |name| set.iter().any(|(n, v)| *n == name && v.to_str().is_some());
        let line = join_with(&set);
        if readable(RANK) || readable(SEGMENT) {
            prop_assert!(line.starts_with("refused ") && line.ends_with("(Other)"), "{}", line);
        } else {
            prop_assert_eq!(line, "joined 1");
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn whatever_the_environment_says_there_is_an_answer() {
    random_environments(300);
}

#[test]
#[ignore = "takes a minute"]
fn whatever_ten_thousand_environments_say_there_is_an_answer() {
    random_environments(10_000);
}

/// What comes of two ranks that rmarun starts by way of a shell that runs `script` first.
fn under_rmarun(script: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", "2"]).args(support::segment()).args(["--", "bash", "-c"]);
    command.arg(format!("{script}; exec \"$@\"")).arg("bash").args(program());
    outcomes(&mut command)
}

#[test]
fn one_wrong_variable_of_a_job_is_enough() {
    assert_eq!(under_rmarun(":"), ["joined 2"; 2]);
    assert_eq!(under_rmarun("export ONESIDED_LAUNCHER=1"), ["joined 2"; 2], "not needed");
    let elsewhere = "exec 900</dev/null; exec 901</etc/passwd";
    for (script, most) in [
        ("export ONESIDED_NONCE=0", 0),
        ("export ONESIDED_RANKS=3", 0),
        ("export ONESIDED_RANKS=1000", 0),
        ("export ONESIDED_RANK=2", 0),
        ("export ONESIDED_RANKS=1", 0),
        ("export ONESIDED_SEGMENT_FD=$ONESIDED_NOTICE_FD", 0),
        ("export ONESIDED_NOTICE_FD=$ONESIDED_SEGMENT_FD", 0),
        ("export ONESIDED_SEGMENT_FD=900", 0),
        ("export ONESIDED_NOTICE_FD=901", 0),
        // One of the two comes second.
        ("export ONESIDED_RANK=1", 1),
    ] {
        // Some may be ended by the launcher, because others did not join, before they say a word.
        let lines = under_rmarun(&format!("{elsewhere}; {script}"));
        let joined = lines.iter().filter(|line| line.starts_with("joined ")).count();
        assert!(joined <= most, "{script}: {lines:?}");
    }
}

#[test]
fn closed_descriptors_and_no_launcher_are_refused() {
    let close = "eval \"exec $ONESIDED_SEGMENT_FD>&- $ONESIDED_NOTICE_FD>&-\"";
    assert_eq!(under_rmarun(close), ["joined 2"; 2], "the launcher's own descriptors");
    for launcher in ["0", "1", "4294967295", "$$"] {
        let lines = under_rmarun(&format!("{close}; export ONESIDED_LAUNCHER={launcher}"));
        assert!(lines.iter().all(|line| line.starts_with("refused ")), "{launcher}: {lines:?}");
    }
}

/// A wrapper hands on what it has been given; the rank itself keeps it, and what a job without a
/// launcher has made.
#[test]
fn what_a_rank_executes_does_not_get_the_segment() {
    for kind in ["memfd", "posix", &format!("onesided-executed-{}", std::process::id())] {
        let mut job = Command::new(env!("CARGO_BIN_EXE_rmarun"));
        job.args(["-n", "2", &format!("--segment={kind}"), "--"]).args(program_of("execute"));
        assert_eq!(outcomes(&mut job), ["joined 2: 2 0"; 2], "{kind}");
    }
    let program = program_of("execute");
    assert_eq!(outcomes(Command::new(&program[0]).args(&program[1..])), ["joined 1: 0 0"]);
}
