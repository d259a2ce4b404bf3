//! A rank dies in the middle of collectives: those of the others end.

use crate::support::{job, needs_rmarun, spmd};
use onesided::{Comm, Error, ErrorClass, Op, Rank, UserOp};

/// Runs a job that goes on without rank 1, which dies in `body`.
pub fn without_rank_1(n: u32, body: impl FnOnce(&Comm)) {
    if let Some(outcome) = job(n, &["--on-failure=continue"], body) {
        let output = outcome.output;
        assert!(output.contains("rank 1") && !output.contains("panicked"), "{output}");
    }
}

fn is_failure<T: std::fmt::Debug>(result: onesided::Result<T>) {
    assert!(matches!(result, Err(Error::RankFailed { failed: Rank(1), .. })), "{result:?}");
}

#[test]
fn collectives_of_a_dead_rank_end() {
    without_rank_1(4, |world| {
        // Complete for all or for none, also if another rank dies.
        world.barrier().unwrap();
        let lengths = [2usize, 30_000];
        if world.rank() == 1 {
            // It has a part in some of what the others do, and dies before it has done all of it.
            let _requests: Vec<_> =
                lengths.map(|len| world.iallreduce(vec![1u64; len], Op::Sum).unwrap()).into();
            std::process::abort();
        }
        let reduced = lengths.map(|len| world.iallreduce(vec![1u64; len], Op::Sum));
        let gathered = lengths.map(|len| world.iallgather(vec![1u8; len]));
        let barrier = world.ibarrier();
        // They may have failed before they could be started.
        let [short, long] = reduced.map(|request| request.and_then(|request| request.wait()));
        is_failure(long);
        // What the dead rank had sent may have been enough.
        match short {
            Ok(sums) => assert_eq!(sums, [4; 2]),
            error => is_failure(error),
        }
        for request in gathered {
            is_failure(request.and_then(|request| request.wait()));
        }
        is_failure(barrier.and_then(|barrier| barrier.wait()));
        is_failure(world.ibarrier().and_then(|barrier| barrier.wait()));
        // The living go on among themselves.
        let living = world.shrink().unwrap();
        let sum = living.iallreduce(vec![2u64; 30_000], Op::Sum).unwrap().wait().unwrap();
        assert_eq!(sum, vec![6; 30_000]);
    });
}

#[test]
fn a_failure_ends_the_job_of_those_who_wait() {
    if needs_rmarun("a report of the rank that failed") {
        return;
    }
    let outcome = job(3, &[], |world| {
        if world.rank() == 1 {
            std::process::abort();
        }
        let result = world.igather(vec![0u8; 100_000], Rank(1)).and_then(|request| request.wait());
        assert!(result.is_err());
    });
    if let Some(outcome) = outcome {
        assert!(
            !outcome.status.success() && outcome.output.contains("rank 1"),
            "{}",
            outcome.output
        );
    }
}

/// A function of the program that panics does so in the call that runs it, and delays no other rank.
#[test]
fn a_panic_in_a_function_leaves_the_others_their_collectives() {
    spmd(2, |world| {
        let panics = UserOp::new(|a: u32, b: u32| {
            assert!(a != 0, "as the test wants it");
            a + b
        });
        let mine = vec![world.rank().0];
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.iallreduce(mine, &panics).unwrap().wait().unwrap()
        }));
        assert!(caught.is_err(), "{caught:?}");
        assert_eq!(world.iallreduce(vec![1u32], Op::Sum).unwrap().wait().unwrap(), [2]);
    });
}

/// The same of a long one, blocking or not: the others get an error, never a result without its part.
#[test]
fn a_panic_in_a_function_of_a_long_collective_is_an_error_elsewhere() {
    spmd(3, |world| {
        let me = world.rank().0;
        let panics = UserOp::new(move |a: u64, b: u64| {
            assert!(me != 1, "as the test wants it");
            a + b
        });
        for round in 0..4 {
            let mine = vec![u64::from(me) + 1; 30_000];
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match round {
                0 => world.allreduce(&mine, &panics),
                1 => world.iallreduce(mine, &panics)?.wait(),
                2 => world.scan(&mine, &panics),
                _ => world.reduce(&mine, &panics, Rank(0)).map(Option::unwrap_or_default),
            }));
            match result {
                Ok(Ok(sums)) => {
                    let all =
                        if round == 2 { u64::from(me + 1) * u64::from(me + 2) / 2 } else { 6 };
                    assert!(me != 1 || round == 3 && sums.is_empty(), "{round}");
                    assert!(sums.iter().all(|sum| *sum == all), "{round} {:?}", sums.first());
                }
                Ok(Err(error)) => {
                    assert!(me != 1, "{error}");
                    assert_eq!(error.class(), ErrorClass::Truncate, "{error}");
                    assert!(error.to_string().contains("that has failed there"), "{error}");
                }
                Err(_) => assert_eq!(me, 1),
            }
            world.barrier().unwrap();
        }
        assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [3]);
    });
}
