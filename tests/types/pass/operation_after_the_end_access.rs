//! The twin: operations come before the end.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let group = universe.world().group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&group)?;
    let epoch = access.start(&group)?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.complete()?;
    exposed.wait()?;
    window.free()
}
