//! Windows over communicators that are not the world.

use crate::support::spmd;
use onesided::{Access, Comm, FenceAssert, LockType, Op, Rank, Window};

/// Every kind of epoch over `comm`; `tag` distinguishes its data from that of other communicators.
fn all_epochs(comm: &Comm, tag: u64) {
    let (me, n) = (comm.rank().0, comm.size());
    let mut window = Window::<u64>::allocate(comm, n as usize + 1).unwrap();
    assert_eq!(window.group(), comm.group());
    let mine = [tag + u64::from(me)];
    let epoch = window.fence_with(FenceAssert::NOPRECEDE).unwrap();
    for target in 0..n {
        epoch.put(&mine, Rank(target), me as usize).unwrap();
    }
    epoch.close_with(FenceAssert::NOSUCCEED).unwrap();
    let mut found = vec![0; n as usize];
    window.load(0, &mut found).unwrap();
    assert_eq!(found, (0..u64::from(n)).map(|k| tag + k).collect::<Vec<_>>());
    comm.barrier().unwrap();

    let (next, previous) = ((me + 1) % n, (me + n - 1) % n);
    let (to, from) = (comm.group().incl(&[next]).unwrap(), comm.group().incl(&[previous]).unwrap());
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&from).unwrap();
    let epoch = access.start(&to).unwrap();
    epoch.accumulate(&mine, Op::Sum, Rank(next), 0).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
    assert_eq!(window.load_one(0).unwrap(), tag + tag + u64::from(previous));
    comm.barrier().unwrap();

    for _ in 0..50 {
        let epoch = window.lock(LockType::Exclusive, Rank(0)).unwrap();
        epoch.accumulate(&[1], Op::Sum, Rank(0), n as usize).unwrap();
        epoch.unlock().unwrap();
    }
    comm.barrier().unwrap();
    if me == 0 {
        assert_eq!(window.load_one(n as usize).unwrap(), 50 * u64::from(n));
    }
    window.free().unwrap();
}

#[test]
fn every_epoch_works_over_split_communicators() {
    spmd(6, |world| {
        let me = world.rank().0;
        let part = world.split(Some(me % 2), -(me as i32)).unwrap().unwrap();
        all_epochs(&part, 1000 * u64::from(me % 2));
        let pair = part.split((part.rank() != 1).then_some(0), 0).unwrap();
        pair.iter().for_each(|pair| all_epochs(pair, 70));
        let one = world.split(Some(me), 0).unwrap().unwrap();
        all_epochs(&one, u64::from(me));
        let created = world.create_group(&part.group(), 9).unwrap();
        all_epochs(&created, 5);
    });
}

#[test]
fn windows_outlive_the_communicator_they_were_made_over() {
    spmd(3, |world| {
        let comm = world.dup().unwrap();
        let window = Window::<u32>::allocate(&comm, 1).unwrap();
        comm.free().unwrap();
        // Memory that was given back too early would now be another rank's.
        let others: Vec<Comm> = (0..8).map(|_| world.dup().unwrap()).collect();
        for other in &others {
            let value = [world.rank().0 + 1];
            let epoch = window.lock(LockType::Shared, Rank(0)).unwrap();
            epoch.accumulate(&value, Op::Sum, Rank(0), 0).unwrap();
            epoch.unlock().unwrap();
            other.barrier().unwrap();
        }
        world.barrier().unwrap();
        if world.rank() == 0 {
            assert_eq!(window.load_one(0).unwrap(), 6 * 8);
        }
        window.free().unwrap();
        others.into_iter().for_each(|other| other.free().unwrap());
    });
}
