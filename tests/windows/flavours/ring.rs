//! What a window of every flavour must do.

use onesided::{Access, Comm, Flavour, Group, LockType, Op, Rank, Window};

/// Puts, gets and accumulates around the ring, by every kind of synchronisation.
pub fn exercise(world: &Comm, mut window: Window<u64>, disp: &[u64]) -> Window<u64> {
    let (me, n) = (world.rank().0, world.size());
    let right = Rank((me + 1) % n);
    let at = disp[right.index()];
    let unit = if window.flavour() == Flavour::Dynamic { 8 } else { 1 };

    let mine = [u64::from(me) + 100, 7];
    let epoch = window.fence().unwrap();
    epoch.put(&mine, right, at as usize).unwrap();
    epoch.accumulate(&[5], Op::Sum, Rank(0), (disp[0] + 2 * unit) as usize).unwrap();
    epoch.close().unwrap();
    let left = (me + n - 1) % n;
    let own = disp[me as usize];
    assert_eq!(window.load_one(own as usize).unwrap(), u64::from(left) + 100);
    if me == 0 {
        assert_eq!(window.load_one((own + 2 * unit) as usize).unwrap(), 5 * u64::from(n));
    }
    world.barrier().unwrap();

    let all_ranks: Group = world.group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&all_ranks).unwrap();
    let epoch = access.start(&all_ranks).unwrap();
    let mut got = [0];
    epoch.get(&mut got, right, at as usize).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
    assert_eq!(got, [u64::from(me) + 100]);
    world.barrier().unwrap();

    for _ in 0..50 {
        let epoch = window.lock(LockType::Shared, Rank(0)).unwrap();
        epoch.accumulate(&[1], Op::Sum, Rank(0), (disp[0] + 2 * unit) as usize).unwrap();
        epoch.unlock().unwrap();
        let all = window.lock_all().unwrap();
        let before =
            all.fetch_and_op_flush(1, Op::Sum, Rank(0), (disp[0] + 3 * unit) as usize).unwrap();
        let swapped =
            all.compare_and_swap_flush(before, u64::MAX, right, (at + unit) as usize).unwrap();
        assert_ne!(swapped, u64::MAX);
        all.unlock_all().unwrap();
    }
    world.barrier().unwrap();
    if me == 0 {
        assert_eq!(window.load_one((own + 2 * unit) as usize).unwrap(), 55 * u64::from(n));
        assert_eq!(window.load_one((own + 3 * unit) as usize).unwrap(), 50 * u64::from(n));
    }
    world.barrier().unwrap();
    window
}
