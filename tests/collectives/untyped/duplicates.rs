//! Communicators that are duplicated while their ranks do other things (`MPI_Comm_idup`).

use crate::support::{for_each_size, spmd};
use crate::untyped::SIZES;
use onesided::{CommKeyval, Comparison, ErrorClass, KeyvalOptions, Op, Rank};

#[test]
fn nobody_waits_for_a_duplicate_but_who_asks_for_it() {
    for_each_size(&SIZES, |world| {
        let key: CommKeyval<u32> =
            KeyvalOptions::new().on_copy(|_, value: &u32| Ok(Some(value + 1))).create();
        world.set_attribute(&key, world.rank().0).unwrap();
        // Rank 0 begins, and the others begin when they have heard of it, on another communicator: on
        // one all collectives have the same order.
        let talk = world.dup().unwrap();
        let mut begun = (world.rank() == 0).then(|| world.idup().unwrap());
        let mut word = [0u32];
        if world.rank() == 0 {
            word = [7];
        }
        talk.broadcast(&mut word, Rank(0)).unwrap();
        let first = begun.take().unwrap_or_else(|| world.idup().unwrap());
        let second = world.idup().unwrap();
        // Rank 0 waits for it in front of a barrier, in which the others are before they wait.
        let copy = match world.rank().0 {
            0 => {
                let copy = first.wait().unwrap();
                world.barrier().unwrap();
                copy
            }
            _ => {
                world.barrier().unwrap();
                first.wait().unwrap()
            }
        };
        let other = second.wait().unwrap();
        for comm in [&copy, &other] {
            assert_eq!(comm.compare(world), Comparison::Congruent);
            assert_eq!(comm.attribute(&key).as_deref(), Some(&(world.rank().0 + 1)));
            assert_eq!(comm.allreduce(&[1u32], Op::Sum).unwrap(), [world.size()]);
        }
        assert!(first.wait().is_err(), "it has been taken");
        let last = other.idup().unwrap();
        other.free().unwrap();
        copy.free().unwrap();
        let last = last.wait().expect("what has begun goes on when its communicator is freed");
        last.barrier().unwrap();
        last.free().unwrap();
    });
}

#[test]
fn a_refusal_of_one_rank_is_told_to_all() {
    spmd(3, |world| {
        let refuses = world.rank() == 1;
        let key: CommKeyval<u32> = KeyvalOptions::new()
            .on_copy(
                move |_, value: &u32| {
                    if refuses { Err("not this".into()) } else { Ok(Some(*value)) }
                },
            )
            .create();
        world.set_attribute(&key, 1).unwrap();
        for _ in 0..100 {
            let error = world.idup().unwrap().wait().unwrap_err();
            assert_eq!(error.class(), ErrorClass::Other);
            let who = if refuses { "not this" } else { "rank 1 refuses" };
            assert!(error.to_string().contains(who), "{error}");
        }
        world.delete_attribute(&key).unwrap();
        world.idup().unwrap().wait().unwrap().free().unwrap();
    });
}
