//! The twin: with integers.
use onesided::{Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock_all()?;
    assert_eq!(epoch.compare_and_swap_flush(1, 0, Rank(0), 0)?, 0);
    assert_eq!(epoch.compare_and_swap_flush(2, 0, Rank(0), 0)?, 1);
    epoch.unlock_all()?;
    window.free()
}
