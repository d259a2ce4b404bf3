//! A rank dies: every wait for it ends, and what it had sent is still there.

use crate::support::job;
use crate::tools::{PROGRAM, bytes_of, irecv, isend, recv, send};
use onesided::engine::SendMode;
use onesided::{Comm, Error, Rank};

/// Runs a job that goes on without rank 1, which dies at the end of its body.
fn without_rank_1(n: u32, body: impl FnOnce(&Comm)) {
    let outcome = job(n, &["--on-failure=continue"], |world| {
        body(world);
        if world.rank() == 1 {
            std::process::abort();
        }
    });
    if let Some(outcome) = outcome {
        // The exit code is that of the first loss.
        assert!(
            outcome.output.contains("rank 1") && !outcome.output.contains("panicked"),
            "{}",
            outcome.output
        );
    }
}

fn failed<T: std::fmt::Debug>(result: onesided::Result<T>) {
    assert!(matches!(result, Err(Error::RankFailed { failed: Rank(1), .. })), "{result:?}");
}

#[test]
fn a_wait_for_a_dead_rank_ends() {
    without_rank_1(3, |world| match world.rank().0 {
        0 => {
            let mut into = [0u8; 4];
            let receive = irecv(world, &mut into, Some(1), None).unwrap();
            assert_eq!(receive.wait().unwrap().tag, 5);
            assert_eq!(into, [1, 2, 3, 4]);
            failed(irecv(world, &mut into, Some(1), None).unwrap().wait());
            failed(world.probe_message(PROGRAM, Some(onesided::Rank(1)), None, true));
            failed(world.probe_message(PROGRAM, None, None, false));
            failed(isend(world, SendMode::Standard, &[1], 1, 0));
            let receive = irecv(world, &mut into, Some(1), None).unwrap();
            failed(receive.take().expect("complete"));
            failed(world.progress_until(|| false));
            // Between those who live eager messages still go, over a communicator of theirs.
            let living = world.shrink().unwrap();
            send(&living, &bytes_of(1, 100_000), 1, 0);
        }
        1 => send(world, &[1, 2, 3, 4], 0, 5),
        _ => {
            let mut into = [0u8; 4];
            failed(irecv(world, &mut into, None, Some(77)).unwrap().wait());
            let living = world.shrink().unwrap();
            assert_eq!(recv(&living, 100_000, Some(0), None).0, bytes_of(1, 100_000));
        }
    });
}

#[test]
fn a_long_send_to_a_rank_that_dies_ends() {
    without_rank_1(2, |world| {
        if world.rank() == 0 {
            let long = bytes_of(2, 2 << 20);
            let sends = [SendMode::Standard, SendMode::Synchronous]
                .map(|mode| isend(world, mode, &long, 1, 0).unwrap());
            let short = isend(world, SendMode::Synchronous, &[1], 1, 0).unwrap();
            send(world, &[], 1, 1);
            sends.iter().for_each(|send| failed(send.wait()));
            failed(short.wait());
        } else {
            recv(world, 0, Some(0), Some(1));
        }
    });
}

#[test]
fn blocks_lent_to_a_dead_rank_are_used_again() {
    // Of more bytes none would have a block where three ranks share a processor.
    const LONG: usize = 600 << 10;
    without_rank_1(3, |world| {
        let long = bytes_of(3, LONG);
        match world.rank().0 {
            0 => {
                // More than there are blocks; the last of them wait for their receiver.
                let sends = [0; 10].map(|_| isend(world, SendMode::Standard, &long, 1, 0).unwrap());
                assert!(sends[0].is_complete() && !sends[9].is_complete());
                send(world, &[], 1, 1);
                failed(sends[9].wait());
                let living = world.shrink().unwrap();
                let sends =
                    [0; 2].map(|_| isend(&living, SendMode::Standard, &long, 1, 0).unwrap());
                assert!(sends.iter().all(|send| send.is_complete()));
                send(&living, &[], 1, 1);
                sends.iter().for_each(|send| assert!(send.wait().is_ok()));
            }
            1 => drop(recv(world, 0, Some(0), Some(1))),
            _ => {
                failed(irecv(world, &mut [0u8; 4], Some(1), Some(77)).unwrap().wait());
                let living = world.shrink().unwrap();
                recv(&living, 0, Some(0), Some(1));
                (0..2).for_each(|_| assert_eq!(recv(&living, LONG, Some(0), Some(0)).0, long));
            }
        }
    });
}

#[test]
fn messages_outlive_a_rank_that_has_left() {
    let outcome = job(2, &[], |world| {
        if world.rank() == 0 {
            (0..1000).for_each(|k| send(world, &bytes_of(k, k), 1, 0));
        } else {
            std::thread::sleep(std::time::Duration::from_millis(200));
            (0..1000).for_each(|k| assert_eq!(recv(world, 1000, Some(0), None).0, bytes_of(k, k)));
        }
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}
