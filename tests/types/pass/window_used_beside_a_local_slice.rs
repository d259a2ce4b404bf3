//! The twin: the slice first, the window afterwards.
use onesided::{LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let mut local = window.lock_local()?;
    local[0] = 7;
    local[1..].fill(8);
    local.unlock()?;
    assert_eq!(window.load_one(0)?, 7);
    window.lock(LockType::Shared, Rank(0))?.unlock()?;
    window.free()
}
