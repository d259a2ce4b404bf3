//! Each rank sums up the rows of its share, and the higher ranks have more of them.

use onesided::{Access, Op, Rank, Universe, WindowOptions};

fn work(rows: u32) -> u64 {
    (0..rows * 2000).fold(1, |sum: u64, k| std::hint::black_box(sum.wrapping_mul(3) ^ u64::from(k)))
}

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = WindowOptions::new().name("sums").allocate::<u64>(world, 1)?;
    for _ in 0..20 {
        let sum = [work(1000 * (world.rank().0 + 1))];
        let epoch = window.fence()?;
        epoch.accumulate(&sum, Op::Bxor, Rank(0), 0)?;
        epoch.close()?;
    }
    window.free()
}
