//! `create_group`: communicators made by their members alone (MPI-4.1 §7.4.2).
#![cfg(feature = "test-hooks")]

use crate::support::{job, needs_rmarun, spmd};
use onesided::{Comm, ErrorClass, Group, Op};
use std::thread;

#[test]
fn members_meet_without_the_others() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    spmd(5, |world| {
        let me = world.rank().0;
        let group = world.group().incl(&[4, 1, 2]).unwrap();
        if group.rank_of_world(me).is_none() {
            // Rank 0 waits in a collective of the world meanwhile, rank 3 has not come at all.
            if me == 3 {
                world.await_signal(0, 3);
            }
            world.barrier().unwrap();
            return;
        }
        let comm = world.create_group(&group, 7).unwrap();
        assert_eq!(comm.allgather(&[me]).unwrap(), [4, 1, 2]);
        assert_eq!(comm.group(), group);
        // The same again, and from a communicator that was made so.
        let again = world.create_group(&group, 7).unwrap();
        let pair = comm.group().incl(&[2, 0]).unwrap();
        if pair.rank_of_world(me).is_some() {
            let pair = comm.create_group(&pair, 7).unwrap();
            assert_eq!(pair.allgather(&[me]).unwrap(), [2, 4]);
            pair.free().unwrap();
        }
        again.free().unwrap();
        comm.free().unwrap();
        world.signal(0);
        world.barrier().unwrap();
    });
}

#[test]
fn groups_and_tags_are_told_apart() {
    spmd(3, |world| {
        let me = world.rank().0;
        let pair = |a, b| world.group().incl(&[a, b]).unwrap();
        // Each rank is in two pairs, and in a third that has other members in another order; all
        // are awaited at once, by threads that know nothing of each other.
        let mut wishes: Vec<(Group, u32)> = Vec::new();
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            wishes.extend([(pair(a, b), 1), (pair(b, a), 1), (pair(a, b), 2)]);
        }
        wishes.push((world.group(), 1));
        wishes.retain(|(group, _)| group.rank_of_world(me).is_some());
        // In an order of its own on every rank.
        let start = me as usize * 2 % wishes.len();
        wishes.rotate_left(start);
        let made: Vec<Comm> = thread::scope(|threads| {
            let calls = wishes.iter().map(|(group, tag)| {
                threads.spawn(move || world.create_group(group, *tag).unwrap())
            });
            calls.collect::<Vec<_>>().into_iter().map(|call| call.join().unwrap()).collect()
        });
        thread::scope(|threads| {
            for (comm, (group, tag)) in made.iter().zip(&wishes) {
                assert_eq!(comm.group(), *group);
                let sum = move || {
                    assert_eq!(comm.allreduce(&[*tag], Op::Sum).unwrap()[0], tag * comm.size())
                };
                threads.spawn(sum);
            }
        });
    });
}

#[test]
fn who_is_not_a_member_or_comes_twice_is_refused() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    spmd(3, |world| {
        let me = world.rank().0;
        let others = world.group().excl(&[me]).unwrap();
        let class = |result: onesided::Result<Comm>| result.unwrap_err().class();
        assert_eq!(class(world.create_group(&others, 0)), ErrorClass::Group);
        assert_eq!(class(world.create_group(&Group::empty(), 0)), ErrorClass::Group);
        let one = world.split(Some(me), 0).unwrap().unwrap();
        assert_eq!(class(one.create_group(&world.group(), 0)), ErrorClass::Group);
        let alone = one.create_group(&one.group(), 0).unwrap();
        assert_eq!(alone.allreduce(&[me], Op::Sum).unwrap(), [me]);

        if me == 0 {
            thread::scope(|threads| {
                let waiting = || world.create_group(&world.group(), 5);
                let (first, second) = (threads.spawn(waiting), threads.spawn(waiting));
                while !first.is_finished() && !second.is_finished() {
                    thread::yield_now();
                }
                world.signal(0);
                let results = [first.join().unwrap(), second.join().unwrap()];
                let (made, refused): (Vec<_>, Vec<_>) =
                    results.into_iter().partition(Result::is_ok);
                assert_eq!(made[0].as_ref().unwrap().size(), 3);
                assert_eq!(refused[0].as_ref().unwrap_err().class(), ErrorClass::Comm);
            });
        } else {
            world.await_signal(0, 1);
            world.create_group(&world.group(), 5).unwrap();
        }
    });
}

#[test]
fn a_failed_allocation_is_told_to_members_who_come_when_there_is_memory_again() {
    let outcome = job(3, &["--segment-size=1M"], |world| {
        let (me, group) = (world.rank().0, world.group());
        let mut live = Vec::new();
        while let Ok(comm) = world.dup() {
            live.push(comm);
        }
        world.barrier().unwrap();
        let fails = || {
            let error = world.create_group(&group, 1).unwrap_err();
            assert_eq!(error.class(), ErrorClass::NoMem, "{error}");
        };
        if me == 0 {
            // Twice: the others have to hear of both.
            fails();
            fails();
            world.signal(0);
        }
        world.await_signal(0, 1);
        for comm in live {
            comm.free().unwrap();
        }
        world.barrier().unwrap();
        if me != 0 {
            fails();
            fails();
        }
        let comm = world.create_group(&group, 1).unwrap();
        assert_eq!(comm.allreduce(&[1u32], Op::Sum).unwrap(), [3]);
        comm.free().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn members_do_not_wait_for_one_that_has_died() {
    let outcome = job(3, &[], |world| match world.rank().0 {
        1 => panic!("rank 1 does not come"),
        _ => drop(world.create_group(&world.group(), 0)),
    });
    if let Some(outcome) = outcome {
        assert!(!outcome.status.success(), "{}", outcome.output);
        assert!(outcome.output.contains("rank 1"), "{}", outcome.output);
    }
}
