//! Ranks add to a record of rank 0, one after the other; then all read it.

use onesided::prelude::*;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank().0, world.size() as usize);
    // [number of entries, their sum | a square of each rank]
    let mut window = Window::<u32>::allocate(world, 2 + size)?;
    let mut record = [0; 2];

    let epoch = window.lock(LockType::Exclusive, Rank(0))?;
    let batch = epoch.batch();
    batch.get(&mut record, Rank(0), 0)?;
    batch.flush()?;
    record = [record[0] + 1, record[1] + rank];
    epoch.put(&record, Rank(0), 0)?;
    epoch.unlock()?;
    world.barrier()?;

    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.get(&mut record, Rank(0), 0)?;
    epoch.unlock()?;

    let square = [rank * rank];
    let epoch = window.lock_all()?;
    for target in world.ranks() {
        epoch.put(&square, target, 2 + rank as usize)?;
    }
    epoch.flush_all()?;
    world.barrier()?;
    let mut squares = vec![0; size];
    epoch.window().load(2, &mut squares)?;
    epoch.unlock_all()?;
    let [entries, sum] = record;
    println!("rank {rank}: {entries} entries, sum {sum}, squares {squares:?}");
    window.free()
}
