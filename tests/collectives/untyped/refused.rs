//! What is refused before anything is sent, and what turns out not to match.

use crate::support::spmd;
use crate::untyped::matrices::{FORMS, Laid, matrices};
use onesided::{Comm, Error, ErrorClass, MismatchKind, Op, Rank};

fn class<T: std::fmt::Debug>(result: onesided::Result<T>) -> ErrorClass {
    result.unwrap_err().class()
}

/// All ranks are refused alike; then nothing has happened.
#[test]
fn a_refused_call_counts_for_nothing() {
    spmd(3, |world| {
        let form = FORMS[1];
        let (mine, mut other) = (Laid::holding(form, &matrices(0, 3)), Laid::empty(form, 3));
        let (product, empty) = (|| form.product(), Rank(3));
        let parts = other.parts_mut(&[1, 1]);
        let all = other.parts_mut(&[1, 1, 1]);
        let out = mine.parts(&[1, 1, 1]);
        let refused = [
            class(world.start_broadcast(other.origin_mut(), empty)),
            class(world.start_gatherv(Some(mine.origin()), Some(&all), empty)),
            class(world.start_scatterv(None, Some(other.origin_mut()), empty)),
            class(world.start_reduce(Some(mine.origin()), None, product(), empty)),
        ];
        assert_eq!(refused, [ErrorClass::Root; 4]);
        let into = || Some(&parts[..]);
        let me = world.rank();
        let refused = [
            class(world.start_allgatherv(Some(mine.part(0, 1)), &parts)),
            class(world.start_allgatherv(Some(mine.origin()), &all)),
            class(world.start_alltoallv(Some(&out), &parts)),
            class(world.start_alltoallv(Some(&out[..2]), &all)),
            class(world.start_gatherv(Some(mine.part(0, 1)), into(), me)),
            class(world.start_allreduce(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_scan(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_exscan(Some(mine.part(0, 2)), other.origin_mut(), product())),
            class(world.start_reduce_scatter(None, other.origin_mut(), &[3, 0], product())),
            class(world.start_reduce_scatter(None, other.origin_mut(), &[3, 0, 1], product())),
            class(world.ialltoall(vec![0u8; 4])),
            class(world.iscatter(Some(vec![0u8; 4]), 2, me)),
        ];
        let count = class(world.start_allgatherv(None, &[]));
        assert_eq!(refused, [count; 12]);
        let refused = [
            class(world.start_gatherv(Some(mine.origin()), None, me)),
            class(world.start_gatherv(None, Some(&all), Rank((me.0 + 1) % 3))),
            class(world.start_scatterv(None, Some(other.origin_mut()), me)),
            class(world.start_reduce(Some(mine.origin()), None, product(), me)),
            class(world.start_reduce(None, None, product(), Rank((me.0 + 1) % 3))),
            class(world.iscatter::<u8>(None, 2, me)),
        ];
        assert_eq!(refused, [ErrorClass::Buffer; 6]);
        assert_eq!(class(world.start_neighbours(&[(empty, out[0])], &[])), ErrorClass::Rank);
        assert_eq!(class(world.iallreduce(vec![1.0f64], Op::Band)), ErrorClass::Op);
        assert_eq!(class(world.iscan(vec![1u8], Op::Replace)), ErrorClass::Op);
        // The collectives are still in step.
        assert_eq!(world.iallreduce(vec![1u32], Op::Sum).unwrap().wait().unwrap(), [3]);
        assert_eq!(mine.get(), matrices(0, 3));
        assert_eq!(other.get(), vec![[0xdead_beef_dead_beef; 4]; 3]);
    });
}

/// All ranks get the error, and the next collectives go on.
#[test]
fn ranks_that_disagree_are_an_error_on_all() {
    spmd(3, |world| {
        let kind = |error: Error| match error {
            Error::Mismatch { kind, .. } => kind,
            other => panic!("{other}"),
        };
        for length in [3usize, 5000] {
            let own = |differs: usize| if world.rank() == 0 { differs } else { length };
            for other in [length + 1, length - 1] {
                let cast = world.ibroadcast(vec![7u64; own(other)], Rank(0)).unwrap().wait();
                assert_eq!(kind(cast.unwrap_err()), MismatchKind::Length);
                let mine = vec![world.rank().0; own(other)];
                let gathered = world.igather(mine, Rank(2)).unwrap().wait();
                assert_eq!(kind(gathered.unwrap_err()), MismatchKind::Length);
                let sum = world.iallreduce(vec![1u32; own(other)], Op::Sum).unwrap().wait();
                assert_eq!(kind(sum.unwrap_err()), MismatchKind::Length);
            }
            let root = Rank(u32::from(world.rank() == 1));
            let cast = world.ibroadcast(vec![7u64; length], root).unwrap().wait();
            assert_eq!(kind(cast.unwrap_err()), MismatchKind::Root);
            let op = if world.rank() == 2 { Op::Max } else { Op::Sum };
            let sum = world.iallreduce(vec![1u32; length], op).unwrap().wait();
            assert_eq!(kind(sum.unwrap_err()), MismatchKind::Operation);
            let sum = match world.rank().0 {
                1 => world.iallreduce(vec![1f32; length], Op::Sum).unwrap().wait().map(drop),
                _ => world.iallreduce(vec![1i32; length], Op::Sum).unwrap().wait().map(drop),
            };
            assert_eq!(kind(sum.unwrap_err()), MismatchKind::Datatype);
            let refused = match world.rank().0 {
                1 => world.ibarrier().unwrap().wait(),
                _ => world.iallgather(vec![0u8; length]).unwrap().wait().map(drop),
            };
            assert_eq!(kind(refused.unwrap_err()), MismatchKind::Call);
            let one = world.iallgather(vec![world.rank().0]).unwrap().wait().unwrap();
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
