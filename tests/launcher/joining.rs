//! Ranks that use the library. The ignored functions are the ranks: `rmarun` runs this test
//! program again with one of them chosen. Run otherwise, they do nothing.

use crate::harness::{rank_function, run, run_ranks};
use nix::sys::signal::{Signal, raise};
use onesided::prelude::*;
use std::fs;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

/// The universe of a rank that `rmarun` has started.
fn universe() -> Option<Universe> {
    Some(Universe::init().unwrap()).filter(|universe| universe.world().size() > 1)
}

#[test]
#[ignore = "a rank"]
fn meet() {
    let Some(universe) = universe() else { return };
    universe.world().barrier().unwrap();
}

#[test]
#[ignore = "a rank"]
fn panic_while_others_wait() {
    let Some(universe) = universe() else { return };
    assert_ne!(universe.world().rank().0, 1, "on purpose");
    universe.world().barrier().unwrap();
}

#[test]
#[ignore = "a rank"]
fn die_outside_any_call() {
    let Some(universe) = universe() else { return };
    if universe.world().rank() == 2 {
        raise(Signal::SIGKILL).unwrap();
    }
    universe.world().barrier().unwrap();
}

#[test]
#[ignore = "a rank"]
fn die_in_a_barrier() {
    let Some(universe) = universe() else { return };
    if universe.world().rank() == 1 {
        nix::unistd::alarm::set(1);
        universe.world().barrier().unwrap();
    }
    nix::unistd::pause();
}

#[test]
#[ignore = "a rank"]
fn die_in_a_fence() {
    let Some(universe) = universe() else { return };
    let options = WindowOptions::new().name("halo");
    let mut window = options.allocate::<u64>(universe.world(), 4).unwrap();
    if universe.world().rank() == 2 {
        nix::unistd::alarm::set(1);
        window.fence().unwrap().close().unwrap();
    }
    nix::unistd::pause();
}

#[test]
#[ignore = "a rank"]
fn leave_without_a_word() {
    let Some(universe) = universe().map(ManuallyDrop::new) else { return };
    if universe.world().rank() != 0 {
        universe.world().barrier().unwrap();
    }
}

/// Rank 0 writes zeros over the beginning of the segment, while the others wait for it.
fn overwrite(universe: &Universe) {
    // All have joined by then.
    universe.world().barrier().unwrap();
    if universe.world().rank() != 0 {
        universe.world().barrier().unwrap();
    }
    let open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("memfd:onesided"))
    };
    let segment = open.filter(is_ours).max_by_key(|path| fs::metadata(path).unwrap().len());
    let segment = fs::OpenOptions::new().write(true).open(segment.unwrap()).unwrap();
    segment.write_all_at(&[0; 64 << 10], 0).unwrap();
}

#[test]
#[ignore = "a rank"]
fn overwrite_the_segment() {
    let Some(universe) = universe() else { return };
    overwrite(&universe);
    nix::unistd::pause();
}

#[test]
#[ignore = "a rank"]
#[allow(clippy::disallowed_methods, reason = "a rank that ends like this is what is tested")]
fn overwrite_the_segment_and_exit() {
    let Some(universe) = universe() else { return };
    overwrite(&universe);
    std::process::exit(3);
}

#[test]
fn a_segment_that_is_overwritten_ends_the_job() {
    for ranks in [2, 5] {
        run_ranks(ranks, &[], "overwrite_the_segment").expect(125).reports(&[
            "the job's segment is damaged",
            "has written over its beginning; job ended, exit code 125",
        ]);
    }
}

/// Also if it exits before the others see that.
#[test]
fn a_rank_that_overwrites_the_segment_and_exits_ends_the_job() {
    for ranks in [2, 5] {
        run_ranks(ranks, &[], "overwrite_the_segment_and_exit").expect(125);
    }
}

#[test]
fn ranks_that_join_and_finish_succeed() {
    for ranks in [1, 2, 8] {
        assert!(run_ranks(ranks, &[], "meet_or_be_alone").expect(0).launcher_lines().is_empty());
    }
}

#[test]
#[ignore = "a rank"]
fn meet_or_be_alone() {
    Universe::init().unwrap().world().barrier().unwrap();
}

#[test]
fn more_ranks_than_cores_join_and_finish() {
    run_ranks(64, &[], "meet").expect(0);
}

#[test]
fn a_panic_is_a_failure_of_its_rank() {
    run_ranks(4, &[], "panic_while_others_wait").expect(101).reports(&["rank 1 ", "code 101"]);
}

#[test]
fn the_report_says_where_a_rank_stood() {
    run_ranks(4, &[], "die_outside_any_call")
        .expect(137)
        .reports(&["rank 2 ", "killed by signal 9 (SIGKILL) outside the library; job ended"]);
    run_ranks(3, &[], "die_in_a_barrier")
        .expect(142)
        .reports(&["rank 1 ", "killed by signal 14 (SIGALRM) in barrier; job ended"]);
    run_ranks(3, &[], "die_in_a_fence")
        .expect(142)
        .reports(&["rank 2 ", "(SIGALRM) in fence on window 'halo'; job ended, exit code 142"]);
}

#[test]
#[ignore = "a rank"]
fn die_after_some_calls() {
    let Some(universe) = universe() else { return };
    let mut window = WindowOptions::new().allocate::<u64>(universe.world(), 4).unwrap();
    window.set_name("halo");
    let epoch = window.fence().unwrap();
    for place in 0..3 {
        epoch.put(&[1, 2], Rank(0), place).unwrap();
    }
    epoch.close().unwrap();
    let epoch = window.lock(LockType::Shared, Rank(0)).unwrap();
    epoch.accumulate(&[1], Op::Sum, Rank(0), 3).unwrap();
    epoch.flush().unwrap();
    if universe.world().rank() == 1 {
        nix::sys::signal::raise(Signal::SIGKILL).unwrap();
    }
    nix::unistd::pause();
}

#[test]
fn the_last_calls_of_a_rank_survive_it() {
    let run = run_ranks(2, &[], "die_after_some_calls").expect(137);
    run.reports(&["rank 1 ", "(SIGKILL) outside the library; job ended"]);
    let expected = [
        ["1", "window allocate", "-", "-", "-", "1"],
        ["1", "fence", "halo", "-", "-", "1"],
        ["1", "put", "halo", "0", "16", "3"],
        ["1", "fence", "halo", "-", "-", "1"],
        ["1", "lock", "halo", "0", "-", "1"],
        ["1", "accumulate", "halo", "0", "8", "1"],
        ["1", "flush", "halo", "0", "-", "1"],
    ];
    assert_eq!(run.last_calls(), expected[expected.len() - 6..]);
    // Of both ranks, because it is asked for.
    let run = run_ranks(2, &["--calls", "2"], "die_after_some_calls").expect(137);
    let last = |rank| {
        [[rank, "accumulate", "halo", "0", "8", "1"], [rank, "flush", "halo", "0", "-", "1"]]
    };
    let others: Vec<_> = run.last_calls().into_iter().filter(|row| row[0] == "1").collect();
    assert_eq!(others, last("1"));
    assert!(run.last_calls().iter().any(|row| row[0] == "0"), "{run:#?}");
    for arguments in [["--calls", "0"].as_slice(), &["-q"]] {
        let run = run_ranks(2, arguments, "die_after_some_calls").expect(137);
        assert!(run.last_calls().is_empty(), "{run:#?}");
    }
}

#[test]
fn a_call_that_has_not_ended_is_marked() {
    let run = run_ranks(3, &[], "die_in_a_barrier").expect(142);
    assert_eq!(run.last_calls(), [["1", "in barrier", "-", "-", "-", "1"]]);
}

#[test]
fn leaving_without_finalize_is_a_failure() {
    run_ranks(3, &[], "leave_without_a_word")
        .expect(125)
        .reports(&["rank 0 ", "exited with code 0 without leaving the job (finalize)"]);
}

/// Runs a rank function through a shell script, which has it as `"$@"`.
fn wrapped(ranks: &str, script: &str, name: &str) -> crate::harness::Run {
    let command = rank_function(name);
    let mut arguments = vec!["-n", ranks, "--require-join", "bash", "-c", script, "bash"];
    arguments.extend(command.iter().map(String::as_str));
    run(&arguments)
}

#[test]
fn a_job_in_which_some_join_and_others_do_not_is_an_error() {
    // Those that join wait for those that are gone already, and the other way round.
    for script in [
        r#"[ $ONESIDED_RANK != 1 ] || exit 0; exec "$@""#,
        r#"[ $ONESIDED_RANK = 1 ] || exit 0; exec "$@""#,
    ] {
        wrapped("3", script, "meet").expect(125).reports(&["ended without joining the job"]);
    }
}

#[test]
fn a_rank_that_fails_before_it_joins_is_named_so() {
    // Rank 0 fails once the other has joined and signalled it.
    let folder = crate::building::folder("before_joining");
    let gate = folder.join("gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!(
        r#"if [ $ONESIDED_RANK = 0 ]; then
               while read -r line; do [ "$line" = joined ] && exit 9; done < {0}
           fi
           exec "$@" > {0}"#,
        gate.display()
    );
    wrapped("2", &script, "say_joined_and_meet")
        .expect(9)
        .reports(&["rank 0 ", "exited with code 9 before it joined the job; job ended"]);
}

#[test]
#[ignore = "a rank"]
fn say_joined_and_meet() {
    let Some(universe) = universe() else { return };
    // A line of its own, whatever the test framework has written before.
    println!("\njoined");
    universe.world().barrier().unwrap();
}

#[test]
fn a_wrapper_that_closes_descriptors_is_survived() {
    let script = r#"for fd in /proc/self/fd/*; do
                        fd=${fd##*/}; if [ $fd -gt 2 ]; then eval "exec $fd>&-"; fi
                    done
                    [ ! -e /proc/self/fd/$ONESIDED_SEGMENT_FD ] || exit 99
                    [ ! -e /proc/self/fd/$ONESIDED_NOTICE_FD ] || exit 98
                    exec "$@""#;
    wrapped("3", script, "meet").expect(0);
}

#[test]
fn a_wrapper_that_stays_is_no_obstacle() {
    wrapped("3", r#""$@"; exit $?"#, "meet").expect(0);
    wrapped("3", r#""$@"; exit $?"#, "panic_while_others_wait").expect(101);
}

#[test]
fn a_program_without_a_launcher_is_a_job_of_one() {
    let [program, arguments @ ..] = rank_function("meet_or_be_alone");
    assert!(Command::new(program).args(arguments).output().unwrap().status.success());
}
