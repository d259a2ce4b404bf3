//! Ranks put numbers to rank 0, which sorts them in the window's own memory.

use onesided::prelude::*;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let rank = world.rank().0;
    let mut window = Window::<u32>::allocate(world, world.size() as usize)?;

    let number = [(7 * rank + 3) % 10];
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.put(&number, Rank(0), rank as usize)?;
    epoch.unlock()?;
    world.barrier()?;

    if rank == 0 {
        let mut numbers = window.lock_local()?;
        numbers.sort();
        println!("sorted: {:?}", &numbers[..]);
        numbers.unlock()?;
    }
    window.free()
}
