//! The twin: freed after the epoch.
use onesided::{FenceAssert, LockAssert, LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    window.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)?;
    window.lock_all(LockAssert::NONE)?.unlock_all()?;
    window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?.unlock()?;
    window.lock_local()?.unlock()?;
    window.free()
}
