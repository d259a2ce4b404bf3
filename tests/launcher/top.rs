//! `rmarun --top`, at a terminal while a job runs.

use crate::harness::{Started, eventually, finish, rank_function_in, rmarun, run};
use crate::terminal::AtTerminal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What switches back to the screen that the user had before.
const LEFT: &str = "\u{1b}[?1049l";

/// A job of three ranks that stay where they are, when they are there.
fn job() -> Started {
    let command = rank_function_in("inquiry", "stay_in_different_places");
    let mut arguments = vec!["-n", "3", "--stats", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let started = Started::new(rmarun(&arguments));
    let pid = started.pid().to_string();
    eventually("all have come where they stay", || {
        let table = run(&["--status", &pid]).stdout;
        ["in barrier", "outside the library", "in fence"].iter().all(|what| table.contains(what))
    });
    started
}

fn top(of: &Started) -> AtTerminal {
    let mut command = rmarun(&["--top", &of.pid().to_string()]);
    command.env("TERM", "xterm");
    AtTerminal::start(command)
}

#[test]
fn it_shows_the_ranks_until_the_user_leaves() {
    let started = job();
    for key in ["q", "\u{1b}", "\u{3}"] {
        let mut top = top(&started);
        // Only what differs from an empty screen is written, so words stand alone.
        for word in ["calls/s", "barrier", "outside", "halo", "leave"] {
            top.shows(word);
        }
        top.types("w");
        top.types(key);
        let seen = top.end();
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        assert!(seen.raw.contains(LEFT), "{}", seen.raw);
    }
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}

#[test]
fn it_ends_with_the_job_or_the_terminal_or_by_a_signal() {
    let started = job();
    let [mut first, mut second, mut third] = [(); 3].map(|()| top(&started));
    [&mut first, &mut second, &mut third].into_iter().for_each(|top| top.shows("halo"));
    assert_eq!(third.hang_up(), Some(129));
    kill(Pid::from_raw(first.pid()), Signal::SIGTERM).unwrap();
    let seen = first.end();
    assert!(seen.code == Some(143) && seen.raw.contains(LEFT), "{:?} {}", seen.code, seen.raw);
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
    let seen = second.end();
    assert_eq!(seen.code, Some(0), "{}", seen.raw);
    let after = seen.raw.split(LEFT).last().unwrap_or_default();
    assert!(after.contains("rmarun: the job has ended"), "{}", seen.raw);
}

#[test]
fn without_a_terminal_or_a_job_it_fails() {
    run(&["--top", &i32::MAX.to_string()]).expect(125).reports(&["there is no process 2147483647"]);
    run(&["--top", "many"]).expect(2).reports(&["invalid value 'many' for '--top [<PID>]'"]);
    run(&["--top", "1", "-n", "2"]).expect(2).reports(&["--top"]);
    let started = job();
    run(&["--top", &started.pid().to_string()])
        .expect(125)
        .reports(&["--top needs a terminal", "--status"]);
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}
