//! The twin: guards can be named, kept and passed on.
use onesided::{Access, FenceEpoch, Rank, Result, Universe, Window};

fn close(epoch: FenceEpoch<'_, '_, u64>) -> Result<()> {
    epoch.put(&[1], Rank(0), 0)?;
    epoch.close()
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    close(window.fence()?)?;
    window.free()
}
