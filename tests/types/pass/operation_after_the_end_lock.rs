//! The twin: operations come before the end.
use onesided::{Access, LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.unlock()?;
    window.free()
}
