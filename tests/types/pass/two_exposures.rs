//! The twin: one after the other.
use onesided::{Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let nobody = onesided::Group::empty();
    let (_, mut exposure) = window.sides();
    exposure.post(&nobody)?.wait()?;
    let exposed = exposure.post(&nobody)?;
    assert!(exposed.test()?.is_none());
    window.fence()?.close()?;
    window.free()
}
