//! Wrong: two ranks lock two targets in opposite orders.

use onesided::{LockType, Rank, Universe, WindowOptions};

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let window = WindowOptions::new().name("accounts").allocate::<u64>(world, 1)?;
    let (mine, other) = match world.rank() {
        Rank(0) => (Rank(0), Rank(1)),
        _ => (Rank(1), Rank(0)),
    };
    let first = window.lock(LockType::Exclusive, mine)?;
    world.barrier()?;
    let second = window.lock(LockType::Exclusive, other)?;
    second.unlock()?;
    first.unlock()?;
    window.free()
}
