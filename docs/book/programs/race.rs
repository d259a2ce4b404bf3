//! Wrong: a barrier does not complete a put.

use onesided::{Access, Rank, Universe, WindowOptions};

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = WindowOptions::new().name("results").allocate::<u64>(world, 1)?;
    let mut found = [0];

    let epoch = window.lock_all()?;
    if world.rank() == 0 {
        epoch.put(&[7], Rank(0), 0)?;
    }
    world.barrier()?;
    if world.rank() == 1 {
        epoch.get(&mut found, Rank(0), 0)?;
    }
    epoch.unlock_all()?;
    window.free()
}
