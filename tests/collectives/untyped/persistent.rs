//! Persistent collectives (MPI-4.1 §6.13): a handle for each, by which it is started again and again.

use crate::support::for_each_size;
use crate::untyped::SIZES;
use onesided::Op;

#[test]
fn they_are_started_in_any_order() {
    for_each_size(&SIZES, |world| {
        let (me, n) = (world.rank().0, world.size());
        let comm = world.dup().unwrap();
        let handles: Vec<_> = (0..4).map(|_| comm.for_persistent_collective()).collect();
        comm.clone().free().unwrap();
        for round in 0..20 {
            let mut order: Vec<u32> = (0..4).collect();
            order.rotate_left(((me + round) % 4) as usize);
            let start = |k: u32| {
                let started = handles[k as usize].iallreduce(vec![10 * k + round], Op::Sum);
                (k, started.unwrap())
            };
            let started: Vec<_> = order.into_iter().map(start).collect();
            // Others in between.
            assert_eq!(world.iallreduce(vec![1u32], Op::Sum).unwrap().wait().unwrap(), [n]);
            for (k, sum) in started {
                assert_eq!(sum.wait().unwrap(), [n * (10 * k + round)]);
            }
        }
    });
}
