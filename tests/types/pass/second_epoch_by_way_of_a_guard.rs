//! The twin: loads and stores by way of a guard, and a further lock by way of a lock.
use onesided::{LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.fence()?;
    epoch.window().store(0, &[7])?;
    assert_eq!(epoch.window().load_one(0)?, 7);
    epoch.close()?;
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let second = epoch.window().lock(LockType::Shared, Rank(0));
    assert!(second.is_err(), "the same target twice");
    drop(second);
    epoch.unlock()?;
    window.free()
}
