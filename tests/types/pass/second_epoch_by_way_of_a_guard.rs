//! The twin: loads and stores by way of a guard, and a further lock by way of a lock.
use onesided::{FenceAssert, LockAssert, LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.fence(FenceAssert::NONE)?;
    epoch.window().store(0, &[7])?;
    assert_eq!(epoch.window().load_one(0)?, 7);
    epoch.close(FenceAssert::NONE)?;
    let epoch = window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?;
    let second = epoch.window().lock(LockType::Shared, Rank(0), LockAssert::NONE);
    assert!(second.is_err(), "the same target twice");
    drop(second);
    epoch.unlock()?;
    window.free()
}
