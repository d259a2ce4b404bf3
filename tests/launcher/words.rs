//! The words of other launchers' command lines, several programs, and the limit of time.

use crate::harness::run;
use std::path::PathBuf;

/// The lines of standard output, sorted.
fn lines(arguments: &[&str]) -> Vec<String> {
    let run = run(arguments).expect(0);
    let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A file of that text, for one test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

#[test]
fn options_of_other_launchers_mean_what_they_mean_there() {
    let script = "echo $A $B $PWD";
    for options in [
        &["-np", "2", "-x", "A=1", "-genv", "B", "2", "-wdir", "/tmp", "-l"][..],
        &[
            "--oversubscribe",
            "-ppn",
            "7",
            "--np",
            "2",
            "-env",
            "A",
            "1",
            "-x",
            "B=2",
            "--wdir",
            "/tmp",
            "-l",
        ],
        &[
            "-genvall",
            "-prepend-rank",
            "--env=A=1",
            "-xB=2",
            "--allow-run-as-root",
            "--wd=/tmp",
            "-n2",
        ],
    ] {
        let line = [options, &["sh", "-c", script]].concat();
        assert_eq!(lines(&line), ["[0] 1 2 /tmp", "[1] 1 2 /tmp"], "{options:?}");
    }
}

#[test]
fn options_of_the_program_stay_its_own() {
    let line = ["-n", "1", "echo", "-np", "7", "-x", "-H", ":", "a", ":"];
    assert_eq!(lines(&line), ["-np 7 -x -H : a :"]);
}

#[test]
fn a_number_of_ranks_behind_the_program_is_explained() {
    for word in ["-n", "-np", "--np"] {
        run(&["true", word, "2"]).expect(2).reports(&["not given", word, "behind 'true'"]);
    }
}

#[test]
fn words_that_change_nothing_are_accepted() {
    for words in [
        &["-envall"][..],
        &["-oversubscribe"],
        &["-allow-run-as-root"],
        &["-perhost", "2"],
        &["-bind-to", "none"],
        &["-wd", "/"],
        &["--genv", "A", "1"],
        &["--prepend-rank"],
    ] {
        let line = [words, &["-n", "1", "echo", "x"]].concat();
        assert!(lines(&line)[0].ends_with('x'), "{words:?}");
    }
}

#[test]
fn other_machines_are_refused_with_the_page_to_read() {
    for word in [
        "-H",
        "-f",
        "-host",
        "--host",
        "-hosts",
        "-hostfile",
        "--hostfile",
        "-machinefile",
        "--machinefile",
    ] {
        run(&[word, "a", "-n", "2", "true"])
            .expect(2)
            .reports(&["this machine", "docs/foreign.md"]);
    }
    run(&["--host=a", "-n", "2", "true"]).expect(2).reports(&["this machine"]);
}

#[test]
fn scripts_find_the_rank_where_other_launchers_put_it() {
    let script = "echo $PMI_RANK $PMI_SIZE $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE \
                  $OMPI_COMM_WORLD_LOCAL_RANK $MPI_LOCALRANKID $MPI_LOCALNRANKS";
    assert_eq!(lines(&["-n", "2", "sh", "-c", script]), ["0 2 0 2 0 0 2", "1 2 1 2 1 1 2"]);
}

#[test]
fn several_programs_are_one_job() {
    let script = |name: &str| format!("echo {name} $A $ONESIDED_RANK of $ONESIDED_RANKS");
    let (manager, worker) = (script("manager"), script("worker"));
    let line =
        ["-t", "-n", "1", "sh", "-c", &manager, ":", "-np", "2", "-x", "A=a", "sh", "-c", &worker];
    let expected = ["[0] manager 0 of 3", "[1] worker a 1 of 3", "[2] worker a 2 of 3"];
    assert_eq!(lines(&line), expected);
    run(&["-n", "1", "true", ":", "-n", "1", "sh", "-c", "exit 3"])
        .expect(3)
        .reports(&["rank 1 (sh, ", "exited with code 3"]);
}

#[test]
fn a_part_that_is_wrong_is_refused() {
    let part = |words: &[&str]| run(&[&["-n", "1", "true", ":"], words].concat()).expect(2);
    part(&["-n", "0", "true"]).reports(&["1 to 4096"]);
    part(&["-n", "1"]).reports(&["no program"]);
    part(&["-x", "A=1", "true"]).reports(&["number of ranks"]);
    part(&["--strict", "-n", "1", "true"]).reports(&["--strict"]);
    part(&["-n", "4096", "true"]).reports(&["4097 ranks", "at most 4096"]);
}

#[test]
fn programs_are_read_from_a_file() {
    let text = "# who does what\n-n 1 sh -c 'echo manager $ONESIDED_RANK'  # one\n\n\
                -n 2 -x A=\"a b\" sh -c 'echo worker $A $ONESIDED_RANK'\n";
    let path = file("programs.conf", text);
    let path = path.to_str().expect("UTF-8");
    for word in ["-configfile", "--configfile"] {
        assert_eq!(lines(&[word, path]), ["manager 0", "worker a b 1", "worker a b 2"]);
    }
    assert_eq!(lines(&["-t", "--configfile", path])[0], "[0] manager 0");
    run(&["--configfile", "/nowhere"]).expect(2).reports(&["/nowhere", "No such file"]);
    run(&["--configfile", path, "true"]).expect(2).reports(&["--configfile", "last option"]);
    let open = file("open.conf", "-n 1 true\n-n 1 echo 'a\n");
    run(&["--configfile", open.to_str().expect("UTF-8")]).expect(2).reports(&["line 2", "quote"]);
    let empty = file("empty.conf", "# nothing\n");
    run(&["--configfile", empty.to_str().expect("UTF-8")]).expect(2).reports(&["no program"]);
}

#[test]
fn what_does_not_exist_is_refused_before_a_rank_starts() {
    let no_variable = run(&["-n", "1", "-x", "ONESIDED_TEST_NOTHING", "true"]).expect(2);
    no_variable.reports(&["ONESIDED_TEST_NOTHING", "does not have"]);
    run(&["-n", "1", "--env", "=1", "true"]).expect(2).reports(&["--env =1"]);
    run(&["-n", "1", "-genv", "A"]).expect(2).reports(&["-genv", "a name and a value"]);
    run(&["-n", "1", "--wdir", "/nowhere", "true"]).expect(2).reports(&["/nowhere"]);
    for wrong in ["0", "-1", "soon", "inf"] {
        run(&["-n", "1", "--timeout", wrong, "true"]).expect(2).reports(&["seconds"]);
    }
}

#[test]
fn a_job_that_takes_too_long_is_ended_with_its_state() {
    let run = run(&["-n", "2", "--timeout", "0.3", "sleep", "1000"]).expect(122);
    let lines = run.launcher_lines();
    assert!(lines[0].contains("rank") && lines[0].contains("waits for"), "{lines:?}");
    assert!(lines[1].contains("not in the job yet"), "{lines:?}");
    assert!(lines.last().is_some_and(|last| last.contains("0.3 s (--timeout)")), "{lines:?}");
}

#[test]
fn a_job_within_its_time_ends_as_without_a_limit() {
    assert_eq!(lines(&["-n", "2", "--timeout", "1000", "echo", "x"]), ["x", "x"]);
}
