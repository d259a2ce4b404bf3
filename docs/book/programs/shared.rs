//! Every rank writes its own part of one array, and reads the parts of all where they are.

use onesided::prelude::*;

/// Numbers in the part of each rank.
const LENGTH: usize = 3;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let rank = world.rank().0;
    let window = Window::<u32>::allocate_shared(world, LENGTH)?;

    window.store(0, &[rank, 10 * rank, 100 * rank])?;
    window.sync();
    world.barrier()?;
    window.sync();

    let mut sum = 0;
    for other in world.ranks() {
        let part = window.shared_part(other)?;
        for i in 0..LENGTH {
            sum += part.load_one(i)?;
        }
    }
    println!("rank {rank} finds the sum {sum}");
    window.free()
}
