//! Three things make these ranks wait. What they compute is a sleep here, so that it takes the same time everywhere.

use onesided::prelude::*;

#[allow(clippy::disallowed_methods, reason = "a computation of that time")]
fn work(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let rank = world.rank().0;
    let [first, others] = [world.group().incl(&[0])?, world.group().excl(&[0])?];
    let mut edges = WindowOptions::new().name("edges").allocate::<u64>(world, 4)?;
    let total = WindowOptions::new().name("total").allocate::<u64>(world, 1)?;
    for mine in (0..10).map(|step| [step]) {
        // All write an edge to rank 0, and compute.
        let (mut access, mut exposure) = edges.sides();
        if rank == 0 {
            work(6);
            exposure.post(&others)?.wait()?;
        } else {
            let epoch = access.start(&first)?;
            epoch.put(&mine, Rank(0), rank as usize)?;
            epoch.complete()?;
            work(6);
        }
        // All add what they compute to the total of rank 0.
        let epoch = total.lock(LockType::Exclusive, Rank(0))?;
        work(3);
        epoch.accumulate(&mine, Op::Sum, Rank(0), 0)?;
        epoch.unlock()?;
        // Rank 3 has more rows.
        work(if rank == 3 { 12 } else { 4 });
        world.allreduce(&mine, Op::Max)?;
    }
    edges.free()?;
    total.free()
}
