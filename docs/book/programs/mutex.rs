//! Ranks move money between accounts of two ranks; a mutex keeps the two steps together.

use onesided::prelude::*;
use onesided_tools::WindowMutex;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let mut accounts = Window::<u32>::allocate(world, 1)?;
    let mutex = WindowMutex::new(world, Rank(0))?;
    accounts.store(0, &[100])?;
    world.barrier()?;

    let (right, amount) = (Rank((rank.0 + 1) % size), rank.0 + 1);
    let epoch = accounts.lock_all()?;
    for _ in 0..10 {
        let held = mutex.lock()?;
        let (mut mine, mut theirs) = ([0], [0]);
        epoch.get_flush(&mut mine, rank, 0)?;
        epoch.get_flush(&mut theirs, right, 0)?;
        epoch.put_flush(&[mine[0] - amount], rank, 0)?;
        epoch.put_flush(&[theirs[0] + amount], right, 0)?;
        held.unlock()?;
    }
    epoch.unlock_all()?;

    world.barrier()?;
    println!("rank {rank} has {}", accounts.load_one(0)?);
    mutex.free()?;
    accounts.free()
}
