//! What a program has not done when it leaves the job: named without an option, an error under `--strict` (MPI-4.1
//! §11.2.4).

use crate::support::{job, launch};
use onesided::{Access, Comm, KeyvalOptions, Rank, Universe, Window, WindowOptions};
use std::collections::BTreeSet;

/// What the ranks print of what is left, sorted, without the lines of the program.
fn named(output: &str) -> BTreeSet<String> {
    let lines = output.lines().filter(|line| line.contains("] onesided: "));
    lines.map(|line| line.split(", created at").next().expect("one part").to_owned()).collect()
}

fn leave_much(world: &Comm) {
    let window = WindowOptions::new().name("kept").allocate::<u64>(world, 1).unwrap();
    let other = world.dup().unwrap();
    // These need no call: one that has no memory of the segment, and a receive that its drop cancels.
    drop(world.split(Some(world.rank().0), 0).unwrap());
    drop(world.irecv(vec![0_u32], Rank(1 - world.rank().0), 1).unwrap());
    if world.rank() == 0 {
        drop(world.isend(vec![0_u64; 1 << 18], Rank(1), 7).unwrap());
        world.send(&[1], Rank(1), 8).unwrap();
        drop(other.iallgather(vec![1]).unwrap());
    }
    // Sent before, and so there.
    world.barrier().unwrap();
    drop((window, other));
}

#[test]
fn what_is_left_is_named_and_an_error_under_strict() {
    for options in [&[][..], &["--strict"]] {
        let Some(outcome) = job(2, options, leave_much) else { return };
        let output = &outcome.output;
        let mut expected = vec![
            "[0] onesided: window 'kept'",
            "[0] onesided: communicator of 2 ranks",
            "[0] onesided: rank 0 leaves the job before it has completed 1 send, 1 collective",
            "[1] onesided: rank 1 leaves the job before it has received 2 messages; the first is from rank 0, \
             with tag 7",
        ];
        let is_strict = !options.is_empty();
        if is_strict {
            expected
                .extend(["[1] onesided: window 'kept'", "[1] onesided: communicator of 2 ranks"]);
        }
        let (named, expected) =
            (named(output), expected.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
        let code = outcome.status.code();
        if is_strict {
            // The first rank that ends ends the other.
            assert!(named.is_subset(&expected) && !named.is_empty(), "{output}");
            assert_eq!(code, Some(18), "{output}");
            assert!(output.contains("which is an error under --strict; job ended"), "{output}");
        } else {
            assert_eq!((named, code), (expected, Some(0)), "{output}");
            assert!(output.contains("created at tests/launcher/leaving.rs:"), "{output}");
        }
    }
}

/// Each kind is an error by itself.
fn alone(what: &str, leave: impl Fn(&Comm) + Copy) {
    let Some(outcome) = job(2, &["--strict"], leave) else { return };
    assert_eq!(outcome.status.code(), Some(18), "{what}: {}", outcome.output);
    assert!(named(&outcome.output).iter().all(|line| line.contains(what)), "{}", outcome.output);
}

#[test]
fn a_message_that_is_not_received_is_an_error_under_strict() {
    // Rank 1 has never looked.
    alone("received messages of rank 0", |world| {
        if world.rank() == 0 {
            world.send(&[1], Rank(1), 7).unwrap();
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_send_that_is_not_completed_is_an_error_under_strict() {
    alone("completed 1 send", |world| {
        if world.rank() == 0 {
            drop(world.isend(vec![0_u64; 1 << 18], Rank(1), 7).unwrap());
        } else {
            // It stays until the other rank has ended the job.
            world.recv(&mut [0], Rank(0), 8).unwrap();
        }
    });
}

#[test]
fn a_window_that_is_not_freed_is_an_error_under_strict() {
    alone("window '", |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        window.fence().unwrap().put(&[7], Rank(0), 0).unwrap();
    });
}

#[test]
fn a_communicator_that_is_not_freed_is_an_error_under_strict() {
    alone("communicator of 2 ranks", |world| drop(world.dup().unwrap()));
}

/// Every kind, done in time.
#[test]
fn a_program_that_leaves_nothing_is_right_under_strict() {
    let run = |universe: &Universe| {
        let world = universe.world();
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        window.fence_scope(|epoch| epoch.put(&[7], Rank(0), 0)).unwrap();
        window.free().unwrap();
        let other = world.dup().unwrap();
        other.iallgather(vec![1]).unwrap().wait().unwrap();
        let duplicate = other.idup().unwrap().wait().unwrap();
        let peer = Rank(1 - world.rank().0);
        let sent = duplicate.isend(vec![0_u64; 1 << 18], peer, 7).unwrap();
        duplicate.recv(&mut vec![0_u64; 1 << 18], peer, 7).unwrap();
        sent.wait().unwrap();
        duplicate.free().unwrap();
        // What an attribute of the rank alone frees when the rank leaves is free in time (MPI-4.1 §11.2.4).
        let key = KeyvalOptions::new()
            .on_delete(|_: &Comm, other: &Comm| {
                assert!(other.clone().free().is_ok());
                Ok(())
            })
            .create();
        universe.self_comm().set_attribute(&key, other).unwrap();
    };
    if let Some(outcome) = launch(2, &["--strict"], run) {
        let named = named(&outcome.output);
        assert_eq!(
            (named, outcome.status.code()),
            (BTreeSet::new(), Some(0)),
            "{}",
            outcome.output
        );
    }
}
