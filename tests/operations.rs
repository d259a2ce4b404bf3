//! Put, get and the accumulates move what they should, where they should (MPI-2.2 §11.3).

mod support;

use onesided::{Access, FenceAssert, Op, Rank, Window};
use support::spmd;

#[test]
fn put_reaches_every_rank_at_the_displacement_given() {
    spmd(4, |world| {
        let (me, n) = (world.rank(), world.size());
        let mut window = Window::<u32>::allocate(world, 2 * n as usize).unwrap();
        let mine = [me, me + 100];
        let epoch = window.fence(FenceAssert::NOPRECEDE).unwrap();
        for target in 0..n {
            epoch.put(&mine, Rank(target), u64::from(2 * me)).unwrap();
        }
        epoch.close(FenceAssert::NONE).unwrap();
        let mut all = vec![0; 2 * n as usize];
        window.load(0, &mut all).unwrap();
        let expected: Vec<u32> = (0..n).flat_map(|rank| [rank, rank + 100]).collect();
        assert_eq!(all, expected);
        window.free().unwrap();
    });
}

#[test]
fn concurrent_sums_add_up() {
    spmd(4, |world| {
        let mut window = Window::<f64>::allocate(world, 3).unwrap();
        let epoch = window.fence(FenceAssert::NONE).unwrap();
        let ones = [1.0; 3];
        for _ in 0..1000 {
            epoch.accumulate(&ones, Op::Sum, Rank(0), 0).unwrap();
        }
        epoch.close(FenceAssert::NONE).unwrap();
        if world.rank() == 0 {
            let mut sums = [0.0; 3];
            window.load(0, &mut sums).unwrap();
            assert_eq!(sums, [4000.0; 3]);
        }
        window.free().unwrap();
    });
}
