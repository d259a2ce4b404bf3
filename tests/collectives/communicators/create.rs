//! Communicators made from others (MPI-2.2 §6.4, MPI-4.1 §7.4): who is in them, what they do not
//! share, and what their end gives back.

use crate::support;
use crate::support::{job, needs_rmarun, occupied, spmd};
use onesided::{Comm, Comparison, ErrorClass, Group, Info, Op, Rank, SplitType, Window};

/// What the members of `comm` are as ranks of the world, by their own account.
fn members(comm: &Comm, world: &Comm) -> Vec<u32> {
    comm.allgather(&[world.rank().0]).unwrap()
}

#[test]
fn a_duplicate_has_the_same_ranks_and_other_collectives() {
    support::for_each_size(&[1, 2, 3, 8], |world| {
        let copy = world.dup().unwrap();
        assert_eq!((copy.rank().0, copy.size()), (world.rank().0, world.size()));
        assert_eq!(copy.group(), world.group());
        assert_eq!(copy.compare(world), Comparison::Congruent);
        let (first, last) = (0, world.size() - 1);
        // Collectives on two communicators in different orders would deadlock or mix if the
        // communicators met: rank 0 leaves a reduction to the others and goes ahead.
        let mut value = [world.rank().0];
        if world.rank().0 == first {
            copy.broadcast(&mut [7u32], Rank(first)).unwrap();
            world.broadcast(&mut value, Rank(first)).unwrap();
        } else {
            let mut seven = [0u32];
            copy.broadcast(&mut seven, Rank(first)).unwrap();
            assert_eq!(seven, [7]);
            world.broadcast(&mut value, Rank(first)).unwrap();
        }
        assert_eq!(value, [first]);
        let again = copy.dup().unwrap();
        copy.free().unwrap();
        assert_eq!(again.allreduce(&[1u32], Op::Sum).unwrap(), [last + 1]);
        again.free().unwrap();
    });
}

#[test]
fn split_orders_by_key_and_leaves_out_the_undefined() {
    spmd(7, |world| {
        let me = world.rank().0;
        // Three colours, ranks in reverse order, rank 3 in none.
        let colour = (me != 3).then_some([5, 0, u32::MAX][me as usize % 3]);
        let part = world.split(colour, -(me as i32)).unwrap();
        let Some(part) = part else {
            assert_eq!(me, 3);
            return;
        };
        let expected: Vec<u32> = (0..7).rev().filter(|k| *k != 3 && k % 3 == me % 3).collect();
        assert_eq!(members(&part, world), expected);
        assert_eq!(part.group().world_ranks(), expected);
        assert_eq!(part.rank().index(), expected.iter().position(|k| *k == me).unwrap());
        // Of equal keys, in the order of the parent, which is not that of the world.
        let same = part.split(Some(0), 4).unwrap().unwrap();
        assert_eq!(same.compare(&part), Comparison::Congruent);
        // As many collectives as a member likes, different in each part.
        for round in 0..=me % 3 * 50 {
            let sum = same.allreduce(&[u64::from(round)], Op::Sum).unwrap();
            assert_eq!(sum, [u64::from(round) * expected.len() as u64]);
        }
        same.free().unwrap();
        part.free().unwrap();
    });
}

#[test]
fn split_type_shared_is_everybody() {
    spmd(3, |world| {
        let key = -(world.rank().0 as i32);
        let all = world.split_type(Some(SplitType::Shared), key, &Info::new()).unwrap().unwrap();
        assert_eq!(members(&all, world), [2, 1, 0]);
        assert_eq!(all.compare(world), Comparison::Similar);
        assert!(world.split_type(None, 0, &Info::new()).unwrap().is_none());
        let one = all.split(Some(all.rank().0), 0).unwrap().unwrap();
        assert_eq!((one.rank().0, one.size()), (0, 1));
        assert_eq!(one.compare(world), Comparison::Unequal);
        assert_eq!(one.compare(&one.clone()), Comparison::Identical);
        one.barrier().unwrap();
        assert_eq!(one.allgather(&[world.rank().0]).unwrap(), [world.rank().0]);
        one.free().unwrap();
        all.free().unwrap();
    });
}

#[test]
fn create_makes_several_communicators_of_disjoint_groups() {
    spmd(6, |world| {
        let (me, all) = (world.rank().0, world.group());
        let odd = all.incl(&[5, 1, 3]).unwrap();
        let two = all.incl(&[0, 4]).unwrap();
        let given = if me % 2 == 1 { odd } else { two };
        // Rank 2 gives a group that it is not in.
        let made = world.create(&given).unwrap();
        match (me, &made) {
            (2, None) => {}
            (_, Some(made)) => {
                assert_eq!(made.group(), given);
                assert_eq!(given.world_ranks(), members(made, world));
            }
            _ => panic!("rank {me} gets {made:?}"),
        }
        let nothing = world.create(&Group::empty()).unwrap();
        assert!(nothing.is_none());
        made.map_or(Ok(()), Comm::free).unwrap();
    });
}

#[test]
fn groups_that_do_not_fit_together_are_refused_on_every_rank() {
    spmd(4, |world| {
        let (me, all) = (world.rank().0, world.group());
        // Rank 1 does not know that rank 0 wants it in another order.
        let given = if me == 1 { all.incl(&[1, 0]) } else { all.incl(&[0, 1]) }.unwrap();
        let error = world.create(&given).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Group, "{error}");
        assert!(error.to_string().contains("another group"), "{error}");
        // Ranks of the job that are not of the communicator.
        let half = world.split(Some(me / 2), 0).unwrap().unwrap();
        let given = if me == 0 { all } else { half.group() };
        let class = half.create(&given).map_err(|error| error.class());
        match me {
            0 => assert_eq!(class.unwrap_err(), ErrorClass::Group),
            1 => assert_eq!(class.unwrap_err(), ErrorClass::Arg),
            _ => assert_eq!(class.unwrap().unwrap().size(), 2),
        }
    });
}

#[test]
fn overlapping_communicators_do_not_meet() {
    spmd(6, |world| {
        let me = world.rank().0;
        // Neighbours share two ranks: 0-3, 2-5, and all in another order.
        let low = world.create(&world.group().range_incl(&[(0, 3, 1)]).unwrap()).unwrap();
        let high = world.create(&world.group().range_incl(&[(5, 2, -1)]).unwrap()).unwrap();
        let swapped = world.split(Some(0), (me as i32 + 3) % 6).unwrap().unwrap();
        for round in 0..200u32 {
            let sum = |comm: &Option<Comm>| {
                let value = comm.as_ref()?.allreduce(&[round + me], Op::Sum).unwrap()[0];
                Some(value)
            };
            // Ranks 2 and 3 are in both, each time in the same order: low first.
            assert_eq!(sum(&low), (me < 4).then_some(4 * round + 6));
            assert_eq!(sum(&high), (me > 1).then_some(4 * round + 14));
            if round % 16 == 0 {
                assert_eq!(members(&swapped, world), [3, 4, 5, 0, 1, 2]);
            }
        }
        for comm in [low, high, Some(swapped)].into_iter().flatten() {
            comm.free().unwrap();
        }
    });
}

#[test]
fn a_freed_communicator_is_refused_through_every_handle() {
    spmd(2, |world| {
        let comm = world.dup().unwrap();
        let other = comm.clone();
        assert_eq!(comm.compare(&other), Comparison::Identical);
        comm.free().unwrap();
        let class = |error: onesided::Error| error.class();
        assert_eq!(class(other.barrier().unwrap_err()), ErrorClass::Comm);
        assert_eq!(class(other.dup().unwrap_err()), ErrorClass::Comm);
        assert_eq!(class(other.create_group(&other.group(), 0).unwrap_err()), ErrorClass::Comm);
        assert_eq!(class(other.clone().free().unwrap_err()), ErrorClass::Comm);
        assert_eq!((other.rank().0, other.size()), (world.rank().0, 2));
        let error = world.clone().free().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Comm, "{error}");
        assert_eq!(world.allreduce(&[1u8], Op::Sum).unwrap(), [2]);
    });
}

/// Freeing is local: no rank waits, whatever the others free, or whether they free at all.
#[test]
fn ranks_free_communicators_in_any_order() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    spmd(3, |world| {
        let me = world.rank().0;
        for _ in 0..20 {
            let mut all: Vec<Comm> = (0..5).map(|_| world.dup().unwrap()).collect();
            all.rotate_left(me as usize);
            all.into_iter().for_each(|comm| comm.free().unwrap());
        }
        let comm = world.dup().unwrap();
        let sum = comm.allreduce(&[1u8], Op::Sum).unwrap();
        assert_eq!(sum, [3]);
        // Rank 0 frees it when the others have, who do not wait for that.
        if me == 0 {
            world.await_signal(0, 2);
        }
        comm.free().unwrap();
        world.signal(0);
    });
}

/// The room stays until the last rank has freed it and let go of it, also under a window.
#[test]
fn a_room_stays_as_long_as_one_rank_uses_it() {
    let outcome = job(3, &["--segment-size=16M"], |world| {
        let me = world.rank().0;
        // When no rank makes or frees anything.
        let settled = || {
            world.barrier().unwrap();
            let now = occupied();
            world.barrier().unwrap();
            now
        };
        let cycle = |k: u32| {
            let comm = world.dup().unwrap();
            let window = Window::<u64>::allocate(&comm, 1).unwrap();
            if k % 3 == me {
                comm.clone().free().unwrap();
            }
            // A room that was given back too early would be this one's.
            let next = world.dup().unwrap();
            assert_eq!(next.allreduce(&[k], Op::Sum).unwrap(), [3 * k]);
            if k % 3 != me {
                comm.clone().free().unwrap();
            }
            next.free().unwrap();
            drop(comm);
            window.free().unwrap();
        };
        cycle(0);
        let before = settled();
        (0..300).for_each(cycle);
        let after = settled();
        assert!(after <= before, "{after} bytes, before {before}");
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn a_thousand_communicators_leave_the_segment_as_it_was() {
    let outcome = job(4, &["--segment-size=16M"], |world| {
        let group = world.group();
        let cycle = |k: u32| {
            let comm = world.dup().unwrap();
            let part = comm.split(Some(comm.rank().0 % 2), 0).unwrap().unwrap();
            let created = comm.create_group(&group, k).unwrap();
            // Freed before its children, and let go of in another order on every rank.
            let other = comm.clone();
            comm.free().unwrap();
            if k % 4 == world.rank().0 {
                drop(other);
                created.free().unwrap();
            } else {
                created.free().unwrap();
                drop(other);
            }
            part.free().unwrap();
        };
        cycle(0);
        world.barrier().unwrap();
        let before = occupied();
        world.barrier().unwrap();
        (0..1000).for_each(cycle);
        world.barrier().unwrap();
        assert!(occupied() <= before, "{} bytes, before {before}", occupied());
        world.barrier().unwrap();
        // No fragment is left: nearly the whole segment is one block again.
        let most = Window::<u8>::allocate(world, 15 << 18).unwrap();
        most.free().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn without_memory_no_rank_gets_a_communicator() {
    let outcome = job(4, &["--segment-size=1M"], |world| {
        let me = world.rank().0;
        let mut live = Vec::new();
        let error = loop {
            match world.dup() {
                Ok(comm) => live.push(comm),
                Err(error) => break error,
            }
        };
        assert_eq!(error.class(), ErrorClass::NoMem, "{error}");
        assert!(live.len() > 2, "{}", live.len());
        assert_eq!(world.allgather(&[live.len() as u32]).unwrap(), [live.len() as u32; 4]);
        // One of two halves could be made; then neither is.
        let mut pairs = Vec::new();
        let error = loop {
            match world.split(Some(me / 2), 0) {
                Ok(pair) => pairs.push(pair.unwrap()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.class(), ErrorClass::NoMem, "{error}");
        live.pop().unwrap().free().unwrap();
        world.barrier().unwrap();
        world.dup().unwrap().free().unwrap();
        for comm in live.into_iter().chain(pairs) {
            comm.free().unwrap();
        }
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn sixty_four_ranks_split_and_meet() {
    spmd(64, |world| {
        let me = world.rank().0;
        let row = world.split(Some(me / 8), 0).unwrap().unwrap();
        let column = world.split(Some(me % 8), 0).unwrap().unwrap();
        let of_row = row.allreduce(&[me], Op::Sum).unwrap()[0];
        assert_eq!(of_row, 64 * (me / 8) + 28);
        assert_eq!(column.allreduce(&[of_row], Op::Sum).unwrap(), [2016]);
        let other = column.create_group(&column.group().range_incl(&[(7, 0, -1)]).unwrap(), 3);
        let other = other.unwrap();
        assert_eq!(other.rank().0, 7 - column.rank().0);
        assert_eq!(other.scan(&[1u32], Op::Sum).unwrap(), [other.rank().0 + 1]);
        for comm in [row, column, other] {
            comm.free().unwrap();
        }
    });
}
