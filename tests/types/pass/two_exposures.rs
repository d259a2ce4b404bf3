//! The twin: one after the other.
use onesided::{FenceAssert, PostAssert, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let nobody = universe.world().group().incl(&[])?;
    let (_, mut exposure) = window.sides();
    exposure.post(&nobody, PostAssert::NONE)?.wait()?;
    let exposed = exposure.post(&nobody, PostAssert::NONE)?;
    assert!(exposed.test()?.is_none());
    window.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)?;
    window.free()
}
