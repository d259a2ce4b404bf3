//! `rmarun --status`, asked while a job runs.

use crate::harness::{Started, eventually, finish, rank_function_in, rmarun, run};
use crate::support::printed::{cells_of, without_age};
use nix::sys::signal::Signal;
use onesided::{Access, Rank, Universe, Window, WindowOptions};
use std::io::BufRead;
use std::process::Command;
use std::time::Duration;

#[test]
#[ignore = "a rank"]
fn stay_in_different_places() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    match world.rank().0 {
        0 => world.barrier().unwrap(),
        1 => nix::unistd::pause(),
        _ => window.fence().unwrap().close().unwrap(),
    }
}

/// What a table has of a rank in no call.
const OUTSIDE: &str = "outside the library";

/// What `--status` prints of a process.
fn status(pid: i32) -> crate::harness::Run {
    run(&["--status", &pid.to_string()])
}

/// The cells of one rank's line.
fn row(table: &str, rank: usize) -> Vec<String> {
    let line = table.lines().nth(rank + 1).unwrap_or_default();
    cells_of(line).into_iter().map(str::to_owned).collect()
}

#[test]
fn it_tells_what_every_rank_does() {
    let command = rank_function_in("inquiry", "stay_in_different_places");
    let mut arguments = vec!["-n", "3", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let started = Started::new(rmarun(&arguments));
    // The supervisor exists once the ranks are known to.
    for asked in [Started::pid, Started::supervisor] {
        let asked = asked(&started);
        let table = || status(asked.as_raw()).stdout;
        eventually("all have come where they stay", || {
            let table = table();
            // All were in the allocation before, and may have waited there.
            let stays = |rank, call: &str| {
                let row = row(&table, rank);
                row.get(2).is_some_and(|is| is.starts_with(call))
                    && row.get(3).is_some_and(|lasts| seconds(lasts) >= 0.0)
                    && (row[4] == "-") == (call == OUTSIDE)
            };
            stays(0, "in barrier") && stays(1, OUTSIDE) && stays(2, "in fence")
        });
        let table = table();
        assert!(table.starts_with("rank  pid"), "{table}");
        let [first, second, third] = [0, 1, 2].map(|rank| row(&table, rank));
        let at = |what: &str| {
            let line = include_str!("inquiry.rs").lines().position(|line| line.contains(what));
            format!("tests/launcher/inquiry.rs:{}", line.unwrap() + 1)
        };
        assert_eq!(
            [&first[2], &first[4], &first[5]],
            ["in barrier", "ranks 1 and 2 to arrive", &at("0 => world.barrier")],
        );
        assert_eq!([&second[2], &second[4], &second[5]], [OUTSIDE, "-", "-"]);
        assert_eq!(
            [&third[2], &third[4], &third[5]],
            ["in fence on window 'halo'", "ranks 0 and 1 to arrive", &at("_ => window.fence")],
        );
        let lasts = [&first, &second, &third].map(|row| seconds(&row[3]));
        assert!(lasts.iter().all(|lasts| *lasts >= 0.0), "{table}");
        let with_calls = run(&["--status", &asked.to_string(), "--calls", "1"]).stdout;
        let calls: Vec<_> = with_calls.lines().skip(4).map(cells_of).map(without_age).collect();
        assert_eq!(calls[0], ["rank", "last calls", "window", "target", "bytes", "times", "began"]);
        assert_eq!(calls[1], ["0", "in barrier", "-", "-", "-", "1"], "{with_calls}");
        assert_eq!(calls[3], ["2", "in fence", "halo", "-", "-", "1"], "{with_calls}");
        // A rank knows the job too.
        let again = row(&status(first[1].parse().unwrap()).stdout, 1);
        assert_eq!((&again[..3], &again[4..]), (&second[..3], &second[4..]));
    }
    a_signal_asks_too(started);
}

/// "0.34 s", of a job that has not lasted for ten seconds.
fn seconds(cell: &str) -> f64 {
    cell.strip_suffix(" s").and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN)
}

#[test]
#[ignore = "a rank"]
#[allow(clippy::disallowed_methods, reason = "a rank outside the library")]
fn begin_calls_after_pauses() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    std::thread::sleep(PAUSE);
    let epoch = window.lock_all().unwrap();
    for _ in 0..3 {
        epoch.put(&[1], Rank(0), 0).unwrap();
    }
    std::thread::sleep(PAUSE);
    epoch.put(&[1], Rank(0), 0).unwrap();
    nix::unistd::pause();
}

const PAUSE: Duration = Duration::from_millis(1500);

/// Of the time between two calls a table has all but some tenths of a second, and so has that of a rank in no call.
#[test]
fn it_tells_when_calls_began() {
    let command = rank_function_in("inquiry", "begin_calls_after_pauses");
    let mut arguments = vec!["-n", "1", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let started = Started::new(rmarun(&arguments));
    let pid = started.pid().as_raw().to_string();
    let tables = || run(&["--status", &pid, "--calls", "9"]).stdout;
    eventually("the rank has been in no call for long", || {
        let table = tables();
        table.contains("4      ") && seconds(&row(&table, 0)[3]) > PAUSE.as_secs_f64()
    });
    let table = tables();
    let of = |call: &str| {
        let line = table.lines().find(|line| line.contains(call)).unwrap_or_default();
        let began = cells_of(line).pop().unwrap_or_default();
        let began = began.strip_suffix(" ago").unwrap_or_default();
        let (first, last) = began.split_once(" to ").unwrap_or((began, began));
        [first, last].map(|one| match one.ends_with('s') {
            true => seconds(one),
            false => seconds(&format!("{one} s")),
        })
    };
    // The clock is set five times a second, and later where other processes have the processor.
    let is_a_pause_between = |before: f64, after: f64| (0.9..3.0).contains(&(before - after));
    let (window, put) = (of("window allocate"), of("put"));
    assert!(window[0] == window[1] && is_a_pause_between(window[1], put[0]), "{table}");
    assert!(is_a_pause_between(put[0], put[1]), "{table}");
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}

/// SIGUSR1 prints the same on standard error, and the job goes on.
fn a_signal_asks_too(mut started: Started) {
    started.signal(Signal::SIGUSR1);
    let mut errors = started.stderr();
    let printed: Vec<String> = std::iter::from_fn(|| next_line(&mut errors))
        .take_while(|line| !line.starts_with("rmarun: 2     in fence"))
        .collect();
    assert!(printed.iter().any(|line| line.starts_with("rmarun: rank  pid")), "{printed:?}");
    assert!(
        printed.iter().any(|line| {
            line.starts_with("rmarun: 0     in barrier       -       -       -      1      ")
                && line.ends_with(" s ago")
        }),
        "{printed:?}"
    );
    started.signal(Signal::SIGTERM);
    assert_eq!(
        next_line(&mut errors).as_deref(),
        Some("rmarun: SIGTERM received; job ended, exit code 143")
    );
    finish(started).expect(143);
}

fn next_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = from.read_line(&mut line).expect("standard error can be read");
    (read > 0).then(|| line.trim_end().to_owned())
}

#[test]
fn a_job_of_programs_that_do_not_join_has_nothing_to_tell() {
    let mut started = Started::new(rmarun(&["-n", "2", "sh", "-c", "echo $$; exec sleep 1000"]));
    started.processes(2);
    let table = status(started.pid().as_raw()).expect(0).stdout;
    assert_eq!(row(&table, 1), ["1", "-", "not in the job yet", "-", "-", "-"]);
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}

#[test]
fn what_is_no_job_is_said_in_one_line() {
    status(i32::MAX).expect(125).reports(&["there is no process 2147483647"]);
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    status(other.id() as i32).expect(125).reports(&["process ", "is not rmarun"]);
    other.kill().unwrap();
    other.wait().unwrap();
    run(&["--status", "many"]).expect(2).reports(&["invalid value 'many' for '--status [<PID>]'"]);
}

#[test]
fn without_a_recorder_no_table_has_a_call() {
    let command = rank_function_in("inquiry", "stay_in_different_places");
    let mut arguments = vec!["-n", "3", "--no-recorder", "--calls", "5", "--"];
    arguments.extend(command.iter().map(String::as_str));
    let started = Started::new(rmarun(&arguments));
    let launcher = started.pid().as_raw();
    let asleep = || {
        let table = status(launcher).stdout;
        let waits = |rank, call| row(&table, rank).get(2).is_some_and(|what| what.contains(call));
        table.contains("inquiry.rs") && waits(0, "barrier") && waits(2, "fence")
    };
    // A wait is recorded still.
    eventually("ranks 0 and 2 wait for rank 1", asleep);
    let pid = launcher.to_string();
    let table = run(&["--status", &pid, "--calls", "9"]).expect(0).stdout;
    assert_eq!(row(&table, 1)[2], "not recorded", "{table}");
    assert!(table.contains("last calls are not recorded (--no-recorder)"), "{table}");
    assert!(!table.contains("window allocate"), "{table}");
    let of_rank_1: i32 = row(&table, 1)[1].parse().expect("a process");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(of_rank_1), Signal::SIGKILL).unwrap();
    let ended = finish(started).expect(137);
    assert_eq!(ended.last_calls(), [["last calls are not recorded (--no-recorder)"]], "{ended:#?}");
    let last = ended.launcher_lines().pop().unwrap_or_default().to_owned();
    assert!(last.contains("(SIGKILL), in what call is not recorded"), "{last}");
}
