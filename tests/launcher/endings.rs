//! How jobs end, and that nothing is left of them.

use crate::harness::{Process, Started, eventually, finish, no_litter, rmarun, run, shell};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::BufRead;
use std::path::Path;

/// Prints its number and stays.
const STAY: &str = "echo $$; exec sleep 1000";
/// The same, with the program below a shell that stays too: the kernel's notice of the launcher's
/// death reaches the shell alone.
const STAY_BELOW: &str = "sh -c 'echo $$; exec sleep 1000'; true";

fn staying(ranks: usize, options: &[&str], script: &str) -> (Started, Vec<Process>) {
    let number = ranks.to_string();
    let mut arguments = vec!["-n", &number];
    arguments.extend(options);
    arguments.extend(["sh", "-c", script]);
    let mut started = Started::new(rmarun(&arguments));
    let ranks = started.processes(ranks);
    (started, ranks)
}

#[test]
fn a_signal_to_the_launcher_ends_the_job() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let (started, ranks) = staying(4, &[], STAY);
        started.signal(signal);
        let run = finish(started).expect(128 + signal as i32);
        run.reports(&[&format!("{signal} received; job ended, exit code {}", 128 + signal as i32)]);
        ranks.iter().for_each(Process::has_ended);
    }
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#"trap '' HUP; exec "$@""#, "sh", env!("CARGO_BIN_EXE_rmarun")]);
    command.args(["-n", "2", "sh", "-c", STAY]);
    let mut started = Started::new(command);
    let ranks = started.processes(2);
    started.signal(Signal::SIGHUP);
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
    ranks.iter().for_each(Process::has_ended);
}

#[test]
fn a_second_interrupt_shortens_the_grace_period() {
    // A period longer than any test may run.
    let script = "trap '' TERM INT; echo $$; while :; do sleep 1000; done";
    let (mut started, ranks) = staying(2, &["--grace", "4000000"], script);
    started.signal(Signal::SIGINT);
    let end = Process::new(started.pid().as_raw());
    eventually("a later signal counts as a second one", || {
        // No effect on a launcher that has ended: it is waited for only below.
        started.signal(Signal::SIGINT);
        end.is_over()
    });
    started.stdout = None;
    finish(started).expect(130);
    ranks.iter().for_each(Process::has_ended);
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_reader() {
    // There is no reader: all pipes are full, and what the ranks have written cannot be passed on.
    let started = Started::new(rmarun(&["-n", "2", "yes"]));
    let end = Process::new(started.pid().as_raw());
    eventually("interrupts end it", || {
        started.signal(Signal::SIGINT);
        end.is_over()
    });
    finish(started).expect(130);
}

#[test]
fn no_rank_outlives_a_launcher_that_is_killed() {
    for script in [STAY, STAY_BELOW] {
        for option in ["--segment=memfd", "--segment=posix"] {
            let (started, ranks) = staying(4, &[option], script);
            started.signal(Signal::SIGKILL);
            ranks.iter().for_each(Process::await_end);
            drop(started);
            no_litter();
        }
    }
}

#[test]
fn no_rank_outlives_a_supervisor_that_is_killed() {
    for script in [STAY, STAY_BELOW] {
        let (started, ranks) = staying(4, &["--segment=supervisor-killed"], script);
        kill(started.supervisor(), Signal::SIGKILL).unwrap();
        finish(started).expect(137).reports(&["the supervisor of the job was killed"]);
        ranks.iter().for_each(Process::has_ended);
        assert!(!Path::new("/dev/shm/supervisor-killed").exists());
    }
}

#[test]
fn no_rank_outlives_both_halves_of_the_launcher() {
    for option in ["--segment=memfd", "--segment=posix"] {
        let (started, ranks) = staying(4, &[option], STAY);
        let supervisor = started.supervisor();
        started.signal(Signal::SIGKILL);
        // Perhaps the guard's death has reached it already.
        let _ = kill(supervisor, Signal::SIGKILL);
        ranks.iter().for_each(Process::await_end);
        drop(started);
        no_litter();
    }
}

/// Stops a half of the launcher, and waits until it is.
fn stop(half: Pid) {
    kill(half, Signal::SIGSTOP).unwrap();
    eventually("it stops", || state(half) == 'T');
}

/// The state of a process, as in proc(5).
fn state(process: Pid) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
}

#[test]
fn a_supervisor_that_is_stopped_does_not_keep_a_job() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        for stop_guard in [false, true] {
            let (started, ranks) = staying(4, &[], STAY);
            stop(started.supervisor());
            // One that is stopped takes no signal but the last.
            if stop_guard {
                stop(started.pid());
            }
            started.signal(signal);
            started.signal(Signal::SIGCONT);
            ranks.iter().for_each(Process::await_end);
            finish(started).expect(128 + signal as i32);
        }
    }
    no_litter();
}

#[test]
fn a_guard_that_is_stopped_does_not_keep_a_job() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGKILL, 137)] {
        let (started, ranks) = staying(4, &[], STAY);
        let supervisor = started.supervisor();
        stop(started.pid());
        kill(supervisor, signal).unwrap();
        ranks.iter().for_each(Process::await_end);
        started.signal(Signal::SIGCONT);
        finish(started).expect(code);
    }
    no_litter();
}

/// Held by a debugger, so that no signal makes it go on.
#[test]
fn the_second_signal_kills_a_supervisor_that_stays_stopped() {
    let (started, ranks) = staying(4, &[], STAY);
    let supervisor = started.supervisor();
    ptrace::seize(supervisor, ptrace::Options::empty()).unwrap();
    ptrace::interrupt(supervisor).unwrap();
    eventually("it stops", || state(supervisor) == 't');
    eventually("a later signal counts as a second one", || {
        started.signal(Signal::SIGINT);
        ranks.iter().all(Process::is_over)
    });
    while !matches!(waitpid(supervisor, None), Err(_) | Ok(WaitStatus::Signaled(..))) {}
    finish(started)
        .expect(137)
        .reports(&["the supervisor of the job was killed by signal 9 (SIGKILL)"]);
}

fn has_child(process: Pid) -> bool {
    let list = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    list.is_ok_and(|list| !list.is_empty())
}

/// The program: takes some memory, which it has to return when it dies, and stays.
#[test]
#[ignore = "a program"]
fn hog() {
    let memory = vec![1u8; 512 << 20];
    println!("\n{}", std::process::id());
    loop {
        std::hint::black_box(&memory);
        std::thread::park();
    }
}

/// It dies slowly, because another process has its processor: it is waited for as long as it takes.
#[test]
fn a_rank_that_takes_long_to_die_is_waited_for() {
    let program = crate::harness::rank_function_in("endings", "hog");
    let mut arguments = vec!["-n", "1", "--grace", "0", "taskset", "-c", "0", "chrt", "-i", "0"];
    arguments.extend(program.iter().map(String::as_str));
    let mut started = Started::new(rmarun(&arguments));
    let lines = std::iter::from_fn(|| Some(started.line()));
    let rank = lines.filter_map(|line| line.parse().ok()).map(Process::new).next().unwrap();
    // For longer than the launcher gives a process that hangs.
    let busy = ["-c", "0", "timeout", "4", "sh", "-c", "while :; do :; done"];
    let mut busy = std::process::Command::new("taskset").args(busy).spawn().unwrap();
    let processor = Pid::from_raw(busy.id() as i32);
    eventually("it is busy", || state(processor) != 'Z' && has_child(processor));
    started.signal(Signal::SIGTERM);
    while !rank.is_over() && busy.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let run = finish(started).expect(143);
    run.reports(&["SIGTERM received"]);
    rank.has_ended();
    // `timeout` passes it on; SIGKILL would leave its child.
    let _ = kill(processor, Signal::SIGTERM);
    let _ = busy.wait();
}

/// A debugger: traces what it starts, and passes every signal on.
#[test]
#[ignore = "a program"]
fn debugger() {
    let mut debugged = std::process::Command::new("sh").args(["-c", STAY]).spawn().unwrap();
    let process = Pid::from_raw(debugged.id() as i32);
    ptrace::seize(process, ptrace::Options::empty()).unwrap();
    while let Ok(status) = waitpid(process, None) {
        match status {
            WaitStatus::Stopped(process, signal) => ptrace::cont(process, signal).unwrap(),
            WaitStatus::PtraceEvent(process, ..) => ptrace::cont(process, None).unwrap(),
            _ => break,
        }
    }
    let _ = debugged.wait();
}

#[test]
fn no_rank_under_a_debugger_outlives_a_launcher_that_ends() {
    let own = std::env::current_exe().unwrap();
    let program = [own.to_str().unwrap(), "--exact", "endings::debugger", "--ignored"];
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let mut started =
            Started::new(rmarun(&[&["-n", "2"], &program[..], &["--nocapture"]].concat()));
        // The test framework of the debuggers writes lines of its own, and begins some.
        let number = |line: String| line.split_whitespace().last()?.parse().ok();
        let numbers = std::iter::from_fn(|| Some(started.line())).filter_map(number);
        let ranks: Vec<Process> = numbers.take(2).map(Process::new).collect();
        started.signal(signal);
        ranks.iter().for_each(Process::await_end);
        drop(started);
        no_litter();
    }
}

#[test]
fn a_launcher_can_be_killed_at_any_moment_of_its_start() {
    for moment in 0..40 {
        let mark = format!("LAUNCHER_TEST_MARK={}-{moment}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        let mut command = rmarun(&["-n", "4", "sh", "-c", STAY_BELOW]);
        command.env(name, value);
        let started = Started::new(command);
        // From nothing to some milliseconds; yielding could take for ever beside other work.
        for _ in 0..moment * 10_000 {
            std::hint::spin_loop();
        }
        started.signal(Signal::SIGKILL);
        finish(started).expect(137);
        eventually("no process of the job is left", || !any_rank_has(&mark));
    }
}

/// Whether a process has the variable in its environment.
fn any_rank_has(variable: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut environments = processes.flat_map(|p| std::fs::read(p.path().join("environ")));
    environments.any(|all| all.split(|byte| *byte == 0).any(|one| one == variable.as_bytes()))
}

#[test]
fn the_name_of_a_segment_does_not_outlive_a_launcher_that_is_killed() {
    let (started, ranks) = staying(2, &["--segment=launcher-killed"], STAY);
    assert!(Path::new("/dev/shm/launcher-killed").exists());
    started.signal(Signal::SIGKILL);
    ranks.iter().for_each(Process::await_end);
    eventually("the name is gone", || !Path::new("/dev/shm/launcher-killed").exists());
}

#[test]
fn what_ranks_leave_behind_is_ended() {
    let script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
    let mut started = Started::new(rmarun(&["-n", "2", "sh", "-c", script]));
    let left = started.processes(2);
    finish(started).expect(0);
    left.iter().for_each(Process::has_ended);
}

#[test]
fn what_holds_the_output_open_does_not_hold_the_launcher() {
    // These ignore SIGTERM and keep the ranks' pipes.
    let run = shell(2, "(trap '' TERM; setsid sleep 1000) & echo hello").expect(0);
    assert_eq!(run.stdout, "hello\nhello\n");
}

#[test]
fn children_of_a_rank_that_is_killed_are_ended() {
    let mut started =
        Started::new(rmarun(&["-n", "2", "sh", "-c", "sleep 1000 & echo $$ $!; wait"]));
    let numbers: Vec<Vec<i32>> = (0..2)
        .map(|_| started.line().split(' ').map(|n| n.parse().expect("a number")).collect())
        .collect();
    let below: Vec<_> = numbers.iter().map(|rank| Process::new(rank[1])).collect();
    // Only now, when both have printed what they started.
    kill(Pid::from_raw(numbers[0][0]), Signal::SIGKILL).expect("the rank lives");
    finish(started).expect(137);
    below.iter().for_each(Process::has_ended);
}

#[test]
fn what_a_lost_rank_has_started_ends_before_the_others_hear_of_the_loss() {
    // Two generations, and one that has left the session.
    let script = r#"[ $ONESIDED_RANK = 0 ] && exec sleep 100
                    sh -c 'setsid sleep 100 & echo $$ $!; wait' & echo $$; wait"#;
    let mut started =
        Started::new(rmarun(&["-n", "2", "--on-failure=continue", "sh", "-c", script]));
    let lines = [started.line(), started.line()];
    let (below, rank): (Vec<&String>, Vec<&String>) =
        lines.iter().partition(|line| line.contains(' '));
    let below = below[0].split(' ').map(|n| Process::new(n.parse().expect("a number")));
    let below: Vec<Process> = below.collect();
    let rank = Pid::from_raw(rank[0].parse().expect("a number"));
    kill(rank, Signal::SIGKILL).expect("the rank lives");
    let mut stderr = started.stderr().lines().map(|line| line.expect("it can be read"));
    assert!(stderr.any(|line| line.ends_with("; the others go on")));
    below.iter().for_each(Process::has_ended);
}

#[test]
fn orphans_are_waited_for_while_the_job_runs() {
    // Each orphan ends at once; the rank then looks for dead processes that were not waited for.
    let script = "for i in 1 2 3 4 5 6 7 8; do (true & ) ; done; echo $PPID; exec sleep 1000";
    let mut started = Started::new(rmarun(&["-n", "1", "sh", "-c", script]));
    let supervisor = started.line();
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    eventually("only the rank is left", || {
        std::fs::read_to_string(&children).unwrap().split_whitespace().count() == 1
    });
    started.signal(Signal::SIGTERM);
    finish(started).expect(143);
}

#[test]
fn no_job_leaves_litter() {
    for option in ["--segment=memfd", "--segment=posix", "--segment=litter"] {
        for (script, code) in [("true", 0), ("exit 3", 3), ("kill -9 $$", 137)] {
            run(&["-n", "2", option, "sh", "-c", script]).expect(code);
            assert!(!Path::new("/dev/shm/litter").exists(), "{option} {script}");
        }
    }
    run(&["-n", "2", "--segment=litter", "no-such-program-anywhere"]).expect(127);
    assert!(!Path::new("/dev/shm/litter").exists());
    no_litter();
}

#[test]
fn sixty_four_ranks_are_no_trouble() {
    let run = shell(64, "echo $ONESIDED_RANK").expect(0);
    let mut ranks: Vec<u32> = run.stdout.lines().map(|line| line.parse().unwrap()).collect();
    ranks.sort_unstable();
    assert!(ranks.into_iter().eq(0..64));
}
