//! Exit codes and the messages with them.

use crate::harness::{run, shell};

#[test]
fn a_plain_program_runs_with_a_notice() {
    let run = run(&["-n", "3", "echo", "hello"]).expect(0);
    assert_eq!(run.stdout, "hello\nhello\nhello\n");
    run.reports(&["note: none of the 3 ranks joined", "'echo' ran as a plain program"]);
}

#[test]
fn a_plain_program_is_refused_where_joining_is_required() {
    run(&["-n", "3", "--require-join", "true"])
        .expect(125)
        .reports(&["none of the 3 ranks joined"]);
    run(&["-n", "1", "--require-join", "true"])
        .expect(125)
        .reports(&["the only rank did not join"]);
}

#[test]
fn the_code_of_the_rank_that_failed_is_passed_on() {
    for code in [1, 3, 125, 126, 127, 255] {
        let word = format!("exited with code {code}; job ended, exit code {code}");
        shell(3, &format!("exit {code}")).expect(code).reports(&["(sh, pid ", &word]);
    }
}

#[test]
fn a_signal_that_ends_a_rank_is_named() {
    for (signal, name) in [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV"), (6, "SIGABRT")] {
        let script = format!("[ $ONESIDED_RANK = 2 ] && kill -{signal} $$; exec sleep 1000");
        let word = "rank 2 (sh, pid ";
        let how = format!("was killed by signal {signal} ({name}); job ended");
        shell(4, &script).expect(128 + signal).reports(&[word, &how]);
    }
}

#[test]
fn a_signal_without_a_name_is_no_surprise() {
    shell(2, "kill -40 $$").expect(168).reports(&["was killed by signal 40;"]);
}

#[test]
fn the_first_cause_decides() {
    let script = "if [ $ONESIDED_RANK = 1 ]; then kill -9 $$; fi
                  trap 'exit 7' TERM; while :; do sleep 1000 & wait; done";
    shell(4, script).expect(137).reports(&["rank 1 "]);
}

#[test]
fn a_rank_that_ignores_sigterm_is_killed() {
    let script = "[ $ONESIDED_RANK = 0 ] && exit 5; trap '' TERM; while :; do sleep 1000; done";
    shell(3, script).expect(5).reports(&["rank 0 ", "exited with code 5"]);
}

#[test]
fn a_wrong_number_of_ranks_is_one_line() {
    for number in ["0", "-1", "abc", "1000000", "4097", "", "1.5"] {
        let run = run(&["-n", number, "true"]).expect(2);
        run.reports(&["a job has from 1 to 4096 ranks", "--help"]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
}

#[test]
fn a_wrong_command_line_is_one_line() {
    let lines: [(&[&str], &str); 7] = [
        (&[], "--ranks <N>"),
        (&["-n", "2"], "no program is given"),
        (&["-n", "2", "--nonsense", "true"], "--nonsense"),
        (&["-n", "2", "--segment", "a/b", "true"], "a/b"),
        (&["-n", "2", "--segment-size", "12Q", "true"], "12Q"),
        (&["-n", "2", "--grace", "soon", "true"], "soon"),
        (&["-n", "2", "--example", "a", "--bin", "b"], "--bin"),
    ];
    for (line, word) in lines {
        let run = run(line).expect(2);
        run.reports(&[word]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
}

#[test]
fn a_missing_program_is_one_line() {
    let nowhere = run(&["-n", "2", "no-such-program-anywhere"]).expect(127);
    nowhere.reports(&["cannot start 'no-such-program-anywhere'", "No such file or directory"]);
    run(&["-n", "2", "/etc/passwd"]).expect(126).reports(&["'/etc/passwd'", "Permission denied"]);
}

#[test]
fn a_segment_that_cannot_be_is_one_line() {
    run(&["-n", "2", "--segment-size", "5", "true"]).expect(125).reports(&["5 bytes"]);
    run(&["-n", "2", "--segment-size", "4000000T", "true"]).expect(125).reports(&["rmarun: "]);
}

/// What has to be in the help.
const HELP: [&str; 51] = [
    "--no-recorder",
    "-n, --ranks",
    "--tag-output",
    "--require-join",
    "--segment <KIND>",
    "--segment-size",
    "--grace",
    "--deadlock <WHAT>",
    "--status [<PID>]",
    "--top [<PID>]",
    "--env <NAME[=VALUE]>",
    "--wdir <DIR>",
    "--timeout <SECONDS>",
    "--configfile <FILE>",
    "--output-filename <DIR>",
    "--stdin <WHO>",
    "--quiet",
    "--verbose",
    "--map-by <WHAT>",
    "--cpu-set <LIST>",
    "--report-bindings",
    "--stats",
    "--report <FILE>",
    "--trace <FILE>",
    "PMI_RANK",
    "Several programs:",
    "Words of other launchers:",
    "  122  ",
    "Deadlock:",
    "  123  ",
    "--example",
    "--bin",
    "--package",
    "--features",
    "--help",
    "--version",
    "memfd",
    "posix",
    "64M",
    "Output:",
    "Environment:",
    "Input:",
    "Exit code:",
    "Examples:",
    "128+N",
    "101",
    "125",
    "126, 127",
    "64 KiB",
    "SIGTERM",
    "1 to 4096",
];

#[test]
fn the_help_is_complete() {
    let run = run(&["--help"]).expect(0);
    assert_eq!(run.stderr, "");
    for word in HELP {
        assert!(run.stdout.contains(word), "no '{word}' in the help");
    }
}

#[test]
fn the_manual_and_the_completions_name_every_option() {
    for (what, sign) in
        [("man", ".TH rmarun 1"), ("bash", "complete -F"), ("zsh", "#compdef rmarun")]
    {
        let text = run(&["--print", what]).expect(0).stdout.replace("\\-", "-");
        assert!(text.contains(sign), "{what}: no '{sign}'");
        for option in ["--ranks", "--timeout", "--check-report", "--bind-to", "--features"] {
            assert!(text.contains(option), "{what}: no '{option}'");
        }
    }
    let fish = run(&["--print", "fish"]).expect(0).stdout;
    assert!(fish.contains("complete -c rmarun") && fish.contains("-l check-report"), "{fish}");
}

#[test]
fn options_after_the_program_are_the_programs() {
    let run = run(&["-n", "1", "echo", "-n", "7", "--tag-output", "--", "x"]).expect(0);
    assert_eq!(run.stdout, "7 --tag-output -- x");
}
