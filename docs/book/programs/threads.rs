//! Three threads of each rank draw numbers from one counter, in one epoch of the rank.

use onesided::prelude::*;

const THREADS: usize = 3;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u32>::allocate(world, 1)?;

    let epoch = window.lock_all()?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let drawn = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0);
                println!("number {}", drawn.expect("rank 0 has the counter"));
            });
        }
    });
    epoch.unlock_all()?;
    window.free()
}
