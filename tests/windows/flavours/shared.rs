//! Shared windows, and addresses in other parts (MPI-4.1 §12.2.3).

use crate::support::{needs_more_than_intel, spmd, universe};
use onesided::{Access, Comm, ErrorClass, Op, Rank, Window, WindowOptions};

#[test]
fn shared_windows_are_contiguous_unless_told_otherwise() {
    spmd(4, |world| {
        let me = world.rank().0;
        let len = |rank: u32| [3, 0, 5, 2][rank as usize];
        let window = Window::<u32>::allocate_shared(world, len(me)).unwrap();
        let parts: Vec<_> = (0..4).map(|rank| window.shared_part(Rank(rank)).unwrap()).collect();
        for rank in 0..3 {
            let end = parts[rank].as_ptr().wrapping_add(parts[rank].len());
            assert_eq!(end, parts[rank + 1].as_ptr());
        }
        assert_eq!(window.shared_part(Rank::NULL).unwrap().as_ptr(), parts[0].as_ptr());
        for (index, rank) in (0..len(me)).zip(me * 10..) {
            parts[me as usize].store_one(index, rank).unwrap();
        }
        window.sync();
        world.barrier().unwrap();
        window.sync();
        for rank in 0..4 {
            for index in 0..len(rank) {
                let value = parts[rank as usize].load_one(index).unwrap();
                assert_eq!(value, rank * 10 + index as u32);
            }
        }
        assert_eq!(parts[0].load_one(3).unwrap_err().class(), ErrorClass::RmaRange);
        assert_eq!(window.shared_part(Rank(4)).err().unwrap().class(), ErrorClass::Rank);
        world.barrier().unwrap();
        window.free().unwrap();

        let noncontiguous = WindowOptions::new().noncontig();
        let window: Window<u32> = noncontiguous.allocate_shared(world, len(me)).unwrap();
        assert_eq!(window.shared_part(Rank(3)).unwrap().as_ptr() as usize % 128, 0);
        exercise_locks(world, window);
    });
}

/// A shared window is a window like any other, but lends no slices.
fn exercise_locks(world: &Comm, mut window: Window<u32>) {
    assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaFlavor);
    let epoch = window.fence().unwrap();
    epoch.accumulate(&[1], Op::Sum, Rank(0), 0).unwrap();
    epoch.close().unwrap();
    assert_eq!(window.shared_part(Rank(0)).unwrap().load_one(0).unwrap(), world.size());
    window.free().unwrap();
}

#[test]
fn allocated_windows_answer_shared_query_with_addresses() {
    if needs_more_than_intel("addresses of windows by allocate") {
        return;
    }
    universe(2, |universe| {
        let world = universe.world();
        let window = Window::<u64>::allocate(world, 4).unwrap();
        window.store(0, &[u64::from(world.rank()) + 1]).unwrap();
        window.sync();
        world.barrier().unwrap();
        let (len, start) = window.shared_query(Rank(1)).unwrap();
        assert_eq!(len, 4);
        // SAFETY: an element of the window, which no thread stores to after the barrier.
        assert_eq!(unsafe { start.read_volatile() }, 2);
        assert_eq!(window.shared_part(Rank(1)).err().unwrap().class(), ErrorClass::RmaFlavor);
        world.barrier().unwrap();
        window.free().unwrap();
        let private = Window::create(world, vec![1u64]).unwrap();
        assert_eq!(private.shared_query(Rank(1)).unwrap().0, 0);
        private.free().unwrap();
    });
}
