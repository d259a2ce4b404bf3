//! What is refused before anything is sent, and what turns out not to match.

use crate::support::spmd;
use crate::untyped::matrices::{FORMS, Laid, matrices};
use onesided::{Comm, Error, ErrorClass, Op, Rank};

fn class<T: std::fmt::Debug>(result: onesided::Result<T>) -> ErrorClass {
    result.unwrap_err().class()
}

/// All ranks are refused alike; then nothing has happened.
#[test]
fn a_refused_call_counts_for_nothing() {
    spmd(3, |world| {
        let form = FORMS[1];
        let (mine, mut other) = (Laid::holding(form, &matrices(0, 3)), Laid::room(form, 3));
        let (product, nobody) = (|| form.product(), Rank(3));
        let parts = other.parts_mut(&[1, 1]);
        let all = other.parts_mut(&[1, 1, 1]);
        let out = mine.parts(&[1, 1, 1]);
        let refused = [
            class(world.start_broadcast(other.origin_mut(), nobody)),
            class(world.start_gather(Some(mine.origin()), Some(&all), nobody)),
            class(world.start_scatter(None, Some(other.origin_mut()), nobody)),
            class(world.start_reduce(Some(mine.origin()), None, product(), nobody)),
        ];
        assert_eq!(refused, [ErrorClass::Root; 4]);
        let into = || Some(&parts[..]);
        let me = Rank(world.rank());
        let refused = [
            class(world.start_allgather(Some(mine.part(0, 1)), &parts)),
            class(world.start_allgather(Some(mine.origin()), &all)),
            class(world.start_alltoall(Some(&out), &parts)),
            class(world.start_alltoall(Some(&out[..2]), &all)),
            class(world.start_gather(Some(mine.part(0, 1)), into(), me)),
            class(world.start_allreduce(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_scan(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_exscan(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_reduce_scatter(None, other.origin_mut(), &[3, 0], product())),
            class(world.start_reduce_scatter(None, other.origin_mut(), &[3, 0, 1], product())),
            class(world.ialltoall(vec![0u8; 4])),
            class(world.iscatter(Some(vec![0u8; 4]), 2, me)),
        ];
        let count = class(world.start_allgather(None, &[]));
        assert_eq!(refused, [count; 12]);
        let refused = [
            class(world.start_gather(Some(mine.origin()), None, me)),
            class(world.start_gather(None, Some(&all), Rank((me.0 + 1) % 3))),
            class(world.start_scatter(None, Some(other.origin_mut()), me)),
            class(world.start_reduce(Some(mine.origin()), None, product(), me)),
            class(world.start_reduce(None, None, product(), Rank((me.0 + 1) % 3))),
            class(world.iscatter::<u8>(None, 2, me)),
        ];
        assert_eq!(refused, [ErrorClass::Buffer; 6]);
        assert_eq!(class(world.start_neighbours(&[(nobody, out[0])], &[])), ErrorClass::Rank);
        assert_eq!(class(world.iallreduce(vec![1.0f64], Op::Band)), ErrorClass::Op);
        assert_eq!(class(world.iscan(vec![1u8], Op::Replace)), ErrorClass::Op);
        // The collectives are still in step.
        assert_eq!(world.iallreduce(vec![1u32], Op::Sum).unwrap().wait().unwrap(), [3]);
        assert_eq!(mine.get(), matrices(0, 3));
        assert_eq!(other.get(), vec![[0xdead_beef_dead_beef; 4]; 3]);
    });
}

/// The rank that expects another length says so; the others, and the next collectives, go on.
#[test]
fn lengths_that_do_not_match_are_an_error_of_who_receives() {
    spmd(3, |world| {
        for length in [3usize, 5000] {
            let longer = if world.rank() == 0 { length + 1 } else { length };
            let cast = world.ibroadcast(vec![7u64; longer], Rank(0)).unwrap().wait();
            match world.rank() {
                0 => drop(cast.unwrap()),
                _ => assert!(matches!(cast, Err(Error::Truncated { .. })), "{cast:?}"),
            }
            let shorter = if world.rank() == 0 { length - 1 } else { length };
            let cast = world.ibroadcast(vec![7u64; shorter], Rank(0)).unwrap().wait();
            match world.rank() {
                0 => drop(cast.unwrap()),
                _ => assert!(matches!(cast, Err(Error::Mismatch { .. })), "{cast:?}"),
            }
            let gathered = world.igather(vec![world.rank(); longer], Rank(2)).unwrap().wait();
            assert_eq!(gathered.is_err(), world.rank() == 2, "{gathered:?}");
            let one = world.iallgather(vec![world.rank()]).unwrap().wait().unwrap();
            assert_eq!(one, [0, 1, 2]);
        }
    });
}

#[test]
fn a_freed_communicator_is_refused() {
    spmd(2, |world| {
        let comm: Comm = world.dup().unwrap();
        comm.clone().free().unwrap();
        assert_eq!(class(comm.ibarrier()), ErrorClass::Comm);
    });
}

#[test]
fn errors_name_the_call() {
    spmd(1, |world| {
        let error = world.ibroadcast(vec![0u8], Rank(9)).unwrap_err();
        assert!(error.to_string().contains("broadcast"), "{error}");
        let error = world.iallreduce(vec![0f32], Op::Bxor).unwrap_err();
        assert!(error.to_string().contains("allreduce"), "{error}");
    });
}
