//! The twin: one after the other.
use onesided::{Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let empty = onesided::Group::empty();
    let (_, mut exposure) = window.sides();
    exposure.post(&empty)?.wait()?;
    let exposed = exposure.post(&empty)?;
    assert!(exposed.test()?.is_none());
    window.fence()?.close()?;
    window.free()
}
