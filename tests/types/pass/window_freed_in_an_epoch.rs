//! The twin: freed after the epoch.
use onesided::{LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    window.fence()?.close()?;
    window.lock_all()?.unlock_all()?;
    window.lock(LockType::Shared, Rank(0))?.unlock()?;
    window.lock_local()?.unlock()?;
    window.free()
}
