//! `--gdb`, `--tmux` and `--attach`, with a debugger that is a script of the shell.

use crate::harness::{Run, Started, eventually, finish, rank_function_in, rmarun, run};
use crate::support::printed::cells_of;
use crate::terminal::AtTerminal;
use nix::sys::signal::Signal;
use onesided::Universe;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Commands: `run` the program, `interrupted` prints whether Ctrl-C has come, `quit` with the program's code.
const DEBUGGER: &str = r#"#!/bin/sh
trap 'hit=1' INT
echo "debugger: $*"
[ "$1" = -p ] && exit
shift 2
while :; do
    if read -r word; then
        case $word in
            run) "$@"; code=$?; echo "program ended with $code" ;;
            interrupted) echo "interrupted: ${hit:-0}" ;;
            quit) exit $code ;;
        esac
    elif [ -z "$hit" ]; then
        exit 99
    fi
done
"#;

/// The search path with that debugger as `gdb` in front.
#[allow(clippy::disallowed_methods, reason = "the search path of the test is extended")]
fn path(test: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("debugger").join(test);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    let file = folder.join("gdb");
    std::fs::write(&file, DEBUGGER).expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    format!("{}:{}", folder.display(), std::env::var("PATH").expect("there is a search path"))
}

/// `rmarun` as the leader of a session, of which the terminal is that of its streams if `has_terminal`.
fn session(has_terminal: bool, arguments: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    command.args(has_terminal.then_some("--ctty"));
    command.arg("--wait").arg(env!("CARGO_BIN_EXE_rmarun")).args(arguments);
    command
}

fn at_terminal(test: &str, arguments: &[&str]) -> AtTerminal {
    let mut command = session(true, arguments);
    command.env("PATH", path(test)).env("TERM", "xterm");
    AtTerminal::start(command)
}

/// Runs the launcher without a terminal, with an empty input.
fn without_terminal(arguments: &[&str]) -> Run {
    let mut command = session(false, arguments);
    command.stdin(Stdio::null());
    finish(Started::new(command))
}

#[test]
fn ctrl_c_is_for_the_debugger_while_it_runs_and_then_for_the_job() {
    let script = r#"echo "rank $ONESIDED_RANK runs"; [ $ONESIDED_RANK = 1 ] || exec sleep 1000"#;
    let mut job = at_terminal("ctrl-c", &["-n", "2", "--gdb", "1", "sh", "-c", script]);
    let launcher = job.pid();
    job.shows("debugger: --return-child-result --args sh -c");
    assert_ne!(job.foreground(), Some(launcher));
    // What Ctrl-Z would be is a character like others.
    job.types("\x1a\r\x03interrupted\r");
    job.shows("interrupted: 1");
    job.types("run\r");
    job.shows("rank 1 runs");
    job.shows("program ended with 0");
    job.types("quit\r");
    eventually("the launcher has its terminal again", || job.foreground() == Some(launcher));
    job.types("\x03");
    let seen = job.end();
    assert_eq!(seen.code, Some(130), "{}", seen.raw);
    assert!(seen.raw.contains("rmarun: SIGINT received"), "{}", seen.raw);
}

#[test]
fn the_code_is_that_of_the_program() {
    let script = "exit 3$ONESIDED_RANK";
    let mut job = at_terminal("code", &["-n", "1", "--gdb", "0", "sh", "-c", script]);
    job.types("run\rquit\r");
    job.shows("program ended with 30");
    assert_eq!(job.end().code, Some(30));
}

#[test]
#[ignore = "a rank"]
fn pass_a_barrier() {
    let universe = Universe::init().unwrap();
    universe.world().barrier().unwrap();
}

#[test]
fn the_others_wait_for_a_rank_that_stands_still() {
    let command = rank_function_in("debugger", "pass_a_barrier");
    let mut arguments = vec!["-n", "2", "--gdb", "1", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let mut job = at_terminal("still", &arguments);
    let launcher = job.pid().to_string();
    eventually("rank 0 waits", || {
        run(&["--status", &launcher]).stdout.lines().nth(1).is_some_and(|row| {
            let cells = cells_of(row);
            cells[2] == "in barrier" && cells[3].ends_with(" s")
        })
    });
    job.types("run\r");
    job.shows("program ended with 0");
    job.types("quit\r");
    assert_eq!(job.end().code, Some(0));
}

#[test]
fn what_cannot_be_debugged_is_said_in_one_line() {
    without_terminal(&["-n", "1", "--gdb", "0", "true"])
        .expect(125)
        .reports(&["--gdb needs a terminal: this process has none"]);
    without_terminal(&["-n", "2", "--gdb", "0,1", "true"])
        .expect(125)
        .reports(&["--gdb of several ranks needs a terminal"]);
    without_terminal(&["-n", "2", "--tmux", "true"])
        .expect(125)
        .reports(&["--tmux needs a terminal"]);
    run(&["-n", "2", "--gdb", "2", "true"]).expect(2).reports(&["--gdb 2: the last rank is 1"]);
    run(&["-n", "2", "--gdb", "0", "no-such-program"])
        .expect(127)
        .reports(&["cannot start 'no-such-program'"]);
    let mut command = rmarun(&["-n", "1", "--gdb", "0", "true"]);
    command.env("ONESIDED_GDB", "no-such-debugger -q").stdin(Stdio::null());
    finish(Started::new(command))
        .expect(125)
        .reports(&["--gdb: there is no debugger 'no-such-debugger'", "ONESIDED_GDB"]);
    let mut command = rmarun(&["-n", "2", "--tmux", "/bin/true"]);
    command.env("PATH", "/no-such-folder").env("TERM", "xterm");
    let seen = AtTerminal::start(command).end();
    assert_eq!(seen.code, Some(125), "{}", seen.raw);
    assert_eq!(seen.lines[0], "rmarun: --tmux needs tmux: install the package tmux");
}

#[test]
fn a_debugger_comes_to_a_rank_of_a_running_job() {
    let command = rank_function_in("inquiry", "stay_in_different_places");
    let mut arguments = vec!["-n", "3", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let started = Started::new(rmarun(&arguments));
    let launcher = started.pid().to_string();
    let process = || {
        let table = run(&["--status", &launcher]).stdout;
        Some(cells_of(table.lines().nth(2)?).get(1)?.to_string()).filter(|pid| pid != "-")
    };
    eventually("rank 1 has joined", || process().is_some());
    let process = process().expect("it has joined");
    let path = path("attach");
    let attach = |what: &str| {
        let mut command = rmarun(&["--attach", what]);
        command.env("PATH", &path).stdin(Stdio::null());
        finish(Started::new(command))
    };
    for what in [&format!("{launcher}:1"), &process] {
        assert_eq!(attach(what).expect(0).stdout, format!("debugger: -p {process}\n"));
    }
    attach(&launcher).expect(125).reports(&["which of the 3 ranks? as in", ":0"]);
    attach(&format!("{launcher}:3")).expect(125).reports(&["the last rank is 2"]);
    attach(&i32::MAX.to_string()).expect(125).reports(&["there is no process 2147483647"]);
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}

/// What tmux answers about the panes of a job.
fn tmux(launcher: i32, arguments: &[&str]) -> String {
    let mut command = Command::new("tmux");
    command.args(["-L", &format!("onesided-{launcher}")]).args(arguments);
    String::from_utf8(command.output().expect("tmux runs").stdout).expect("it answers in text")
}

#[test]
fn each_rank_has_a_pane() {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("skipped: tmux is not installed");
        return;
    }
    let script =
        r#"echo "rank $ONESIDED_RANK asks"; read -r word; echo "answer: $word"; exec sleep 1000"#;
    let arguments = ["-n", "2", "--tmux", "--gdb", "1", "sh", "-c", script];
    let mut job = at_terminal("panes", &arguments);
    let launcher = job.pid();
    let panes = || {
        let panes = tmux(launcher, &["list-panes", "-F", "#{pane_id} #{@title}"]);
        let pane =
            |line: &str| line.split_once(' ').map(|(id, title)| (id.to_owned(), title.to_owned()));
        panes.lines().filter_map(pane).collect::<Vec<_>>()
    };
    eventually("there are three panes", || panes().len() == 3);
    let panes = panes();
    let titles: Vec<&str> = panes.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["rmarun", "rank 0", "rank 1"]);
    let text = |at: usize| tmux(launcher, &["capture-pane", "-p", "-t", &panes[at].0]);
    let types = |at: usize, keys: &[&str]| {
        tmux(launcher, &[&["send-keys", "-t", &panes[at].0], keys].concat());
    };
    eventually("rank 0 asks", || text(1).contains("rank 0 asks"));
    eventually("the debugger has the other", || text(2).contains("debugger: --return"));
    types(1, &["seven", "Enter"]);
    eventually("rank 0 is answered", || text(1).contains("answer: seven"));
    types(2, &["C-c"]);
    types(2, &["interrupted", "Enter"]);
    eventually("Ctrl-C goes to the debugger", || text(2).contains("interrupted: 1"));
    types(1, &["C-c"]);
    eventually("the launcher reports the end", || {
        text(0).contains("was killed by signal 2 (SIGINT)")
    });
    eventually("the launcher prints how to leave", || text(0).contains("until you leave tmux"));
    job.types("\x02d");
    let seen = job.end();
    assert_eq!(seen.code, Some(130), "{}", seen.raw);
}
