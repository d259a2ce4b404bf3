//! The twin: another window may take its name.
use onesided::{Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let window = Window::<u64>::allocate(universe.world(), 8)?;
    window.free()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    window.fence()?.close()?;
    window.free()
}
