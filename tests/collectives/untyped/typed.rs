//! The nonblocking collectives of vectors against the blocking ones.

use crate::support::for_each_size;
use crate::untyped::SIZES;
use onesided::{Comm, Element, Op, Rank, UserOp};
use std::fmt::Debug;

const LENGTHS: [usize; 4] = [0, 1, 37, 6000];

fn of<T: Element>(comm: &Comm, make: fn(u32) -> T, len: usize) -> Vec<T> {
    (0..len as u32).map(|i| make(comm.rank().0 * 7 + i * 3)).collect()
}

fn moved<T: Element + PartialEq + Debug>(comm: &Comm, make: fn(u32) -> T) {
    let (me, ranks) = (comm.rank().0, comm.ranks().len());
    for len in LENGTHS {
        let (mine, many) = (of(comm, make, len), of(comm, make, len * ranks));
        let all = comm.iallgather(mine.clone()).unwrap();
        let exchanged = comm.ialltoall(many.clone()).unwrap();
        for root in (0..ranks as u32).map(Rank) {
            let cast = comm.ibroadcast(mine.clone(), root).unwrap();
            let gathered = comm.igather(mine.clone(), root).unwrap();
            let given = (me == root.0).then(|| many.clone());
            let part = comm.iscatter(given.clone(), len, root).unwrap();
            let mut expected = mine.clone();
            comm.broadcast(&mut expected, root).unwrap();
            assert_eq!(cast.wait().unwrap(), expected);
            assert_eq!(part.wait().unwrap(), comm.scatter(given.as_deref(), root).unwrap());
            assert_eq!(gathered.wait().unwrap(), comm.gather(&mine, root).unwrap());
        }
        assert_eq!(exchanged.wait().unwrap(), comm.alltoall(&many).unwrap());
        assert_eq!(all.wait().unwrap(), comm.allgather(&mine).unwrap());
    }
}

fn reduced<T: Element + PartialEq + Debug>(comm: &Comm, op: Op, make: fn(u32) -> T) {
    for len in LENGTHS {
        let mine = of(comm, make, len);
        let all = comm.iallreduce(mine.clone(), op).unwrap();
        let scan = comm.iscan(mine.clone(), op).unwrap();
        let below = comm.iexscan(mine.clone(), op).unwrap();
        for root in (0..comm.size()).map(Rank) {
            let one = comm.ireduce(mine.clone(), op, root).unwrap();
            assert_eq!(one.wait().unwrap(), comm.reduce(&mine, op, root).unwrap());
        }
        assert_eq!(below.wait().unwrap(), comm.exscan(&mine, op).unwrap());
        assert_eq!(scan.wait().unwrap(), comm.scan(&mine, op).unwrap());
        assert_eq!(all.wait().unwrap(), comm.allreduce(&mine, op).unwrap());
    }
}

#[test]
fn vectors_go_where_the_blocking_collectives_put_them() {
    for_each_size(&SIZES, |world| {
        moved::<u8>(world, |k| k as u8);
        moved::<f64>(world, f64::from);
        reduced::<i32>(world, Op::Sum, |k| k as i32 - 9);
        reduced::<u64>(world, Op::Bxor, u64::from);
        reduced::<i16>(world, Op::Max, |k| (k * 77) as i16);
    });
}

/// Keeps the first value with its low half and the last with its high half: the order shows.
#[test]
fn functions_of_the_program_are_applied_in_rank_order() {
    for_each_size(&SIZES, |world| {
        let ends = UserOp::new(|a: u64, b: u64| (a >> 32) << 32 | b & 0xffff_ffff);
        let me = u64::from(world.rank());
        for len in LENGTHS {
            let request = world.iallreduce(vec![me << 32 | me; len], &ends).unwrap();
            let last = u64::from(world.size()) - 1;
            assert_eq!(request.wait().unwrap(), vec![last; len]);
            let scan = world.iscan(vec![me << 32 | me; len], &ends).unwrap();
            assert_eq!(scan.wait().unwrap(), vec![me; len]);
        }
    });
}

/// Alone, everything is complete at once, and nothing is lost.
#[test]
fn a_rank_alone_needs_nobody() {
    for_each_size(&[2], |world| {
        let alone = world.split(Some(world.rank().0), 0).unwrap().unwrap();
        let requests = [alone.iallreduce(vec![5u8; 9], Op::Sum), alone.ialltoall(vec![5u8; 9])];
        for request in requests {
            let request = request.unwrap();
            assert!(request.is_complete());
            assert_eq!(request.wait().unwrap(), [5; 9]);
        }
        assert_eq!(alone.iexscan(vec![1u8], Op::Sum).unwrap().wait().unwrap(), None);
        alone.free().unwrap();
    });
}
