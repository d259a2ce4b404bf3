//! The twin: operations come before the end.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock_all()?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.unlock_all()?;
    window.free()
}
