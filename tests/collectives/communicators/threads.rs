//! Communicators and threads: MPI allows one collective at a time on a communicator
//! (MPI-2.2 §12.4.2), and any number of threads with a communicator each.
#![cfg(feature = "test-hooks")]

use crate::support::spmd;
use onesided::hooks::{Event, ProcSync, delay};
use onesided::{Comm, CommKeyval, ErrorClass, Group, Info, Op, Universe, UserOp};
use std::thread;

#[test]
fn handles_may_be_sent_and_shared() {
    fn any_thread<T: Send + Sync>() {}
    any_thread::<Comm>();
    any_thread::<Group>();
    any_thread::<Info>();
    any_thread::<Universe>();
    any_thread::<UserOp<f64>>();
    any_thread::<CommKeyval<std::cell::Cell<u8>>>();
}

/// Runs `body` on another thread while this one is inside its next collective.
fn meanwhile(body: impl FnOnce() + Send + 'static) {
    let arrived = Event::ProcSync(ProcSync::CollectiveArrive);
    delay(arrived, move || thread::spawn(body).join().expect("the other thread succeeds"));
}

#[test]
fn a_second_collective_of_a_rank_is_refused_at_once() {
    type Collective = fn(&Comm) -> onesided::Result<()>;
    const COLLECTIVES: [Collective; 6] = [
        |comm| comm.barrier(),
        |comm| comm.alltoallv::<u8>(&[&[], &[], &[]]).map(drop),
        |comm| comm.dup().map(drop),
        |comm| comm.split(Some(0), 0).map(drop),
        |comm| comm.create(&comm.group()).map(drop),
        |comm| comm.set_info(&Info::new()),
    ];
    spmd(3, |world| {
        let comm = world.dup().unwrap();
        // One of several pieces, and one that needs no lock of the communicator.
        for (second, length) in
            COLLECTIVES.into_iter().flat_map(|second| [(second, 5000), (second, 1)])
        {
            if world.rank() == 0 {
                let comm = comm.clone();
                meanwhile(move || {
                    let error = second(&comm).unwrap_err();
                    assert_eq!(error.class(), ErrorClass::Comm, "{error}");
                    assert!(error.to_string().contains("under way"), "{error}");
                });
            }
            // The collective that was there first, and the other ranks, notice nothing.
            let all = comm.allreduce(&vec![1u32; length], Op::Sum).unwrap();
            assert_eq!(all, vec![3; length]);
        }
        comm.free().unwrap();
    });
}

#[test]
fn a_user_function_cannot_call_a_collective_on_the_same_communicator() {
    spmd(2, |world| {
        let (inside, other) = (world.clone(), world.dup().unwrap());
        let op = UserOp::new(move |a: u32, b: u32| {
            assert_eq!(inside.barrier().unwrap_err().class(), ErrorClass::Comm);
            a + b + other.allreduce(&[10u32], Op::Sum).unwrap()[0]
        });
        assert_eq!(world.allreduce(&[1], &op).unwrap(), [22]);
    });
}

#[test]
fn threads_with_communicators_of_their_own_go_their_own_ways() {
    spmd(4, |world| {
        let comms: Vec<Comm> = (0..4).map(|_| world.dup().unwrap()).collect();
        thread::scope(|threads| {
            for (k, comm) in comms.iter().enumerate() {
                threads.spawn(move || {
                    for round in 0..200 {
                        let mine = vec![comm.rank().0 as u64 * 1000 + round; 1 + k * 700];
                        let all = comm.allgather(&mine).unwrap();
                        let expected = (0..4u64).flat_map(|r| vec![r * 1000 + round; mine.len()]);
                        assert!(all.into_iter().eq(expected), "thread {k}, round {round}");
                    }
                });
            }
        });
        comms.into_iter().for_each(|comm| comm.free().unwrap());
    });
}

#[test]
fn threads_make_communicators_with_different_tags_at_once() {
    spmd(4, |world| {
        let me = world.rank().0;
        // Each thread's members come in another order of tags, so every thread waits for a while.
        thread::scope(|threads| {
            for thread in 0..3u32 {
                threads.spawn(move || {
                    let comm = world.create_group(&world.group(), thread).unwrap();
                    for round in 0..40u32 {
                        let tag = 3 * round + (thread + me) % 3;
                        let made = world.create_group(&world.group(), 1000 + tag).unwrap();
                        assert_eq!(made.allreduce(&[tag], Op::Sum).unwrap(), [4 * tag]);
                        made.free().unwrap();
                    }
                    comm.free().unwrap();
                });
            }
        });
        world.barrier().unwrap();
    });
}
