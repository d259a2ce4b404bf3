//! Every rank adds a number to the memory of rank 0.

use onesided::{Access, Op, Rank, Universe, Window};

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u64>::allocate(world, 1)?;

    let mine = [u64::from(world.rank()) + 1];
    let epoch = window.fence()?;
    epoch.accumulate(&mine, Op::Sum, Rank(0), 0)?;
    epoch.close()?;

    if world.rank() == 0 {
        println!("{} ranks add up to {}", world.size(), window.load_one(0)?);
    }
    window.free()
}
