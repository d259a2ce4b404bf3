//! The last rank fails; the others notice it, and count in their window how many they are now.

use onesided::{Access, Error, Op, Rank, Universe, Window};

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u32>::allocate(world, 1)?;
    if world.rank() == world.size() - 1 {
        panic!("this rank fails");
    }

    match world.barrier() {
        Err(Error::RankFailed { .. }) => {
            // From here on the window waits for the survivors alone.
            let failed = window.recover()?;
            let rest = world.shrink()?;
            let epoch = window.lock_all()?;
            epoch.accumulate(&[1], Op::Sum, Rank(0), 0)?;
            epoch.flush_all()?;
            rest.barrier()?;
            let ranks = epoch.fetch_and_op_flush(0, Op::NoOp, Rank(0), 0)?;
            epoch.unlock_all()?;
            println!("rank {} of {ranks} goes on without rank {}", rest.rank(), failed[0]);
        }
        other => other?,
    }
    window.free()
}
