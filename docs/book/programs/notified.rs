//! A number goes round: each rank waits for it, and puts a larger one to the right.

use onesided::prelude::*;

/// Number of the counter that puts of the left neighbour raise.
const ARRIVED: u32 = 0;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank().0, world.size());
    let mut window = WindowOptions::new().notifications(1).allocate::<u32>(world, 1)?;

    let right = Rank((rank + 1) % size);
    let first = [1];
    let next;
    let epoch = window.lock_all()?;
    if rank == 0 {
        epoch.put_notify(&first, right, 0, ARRIVED)?;
    }
    epoch.window().wait_notify(ARRIVED, 1)?;
    let found = epoch.window().load_one(0)?;
    println!("rank {rank} finds {found}");
    if rank != 0 {
        next = [2 * found];
        epoch.put_notify(&next, right, 0, ARRIVED)?;
    }
    epoch.unlock_all()?;
    window.free()
}
