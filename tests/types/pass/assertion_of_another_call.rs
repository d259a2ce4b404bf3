//! The twin: the call's own.
use onesided::{FenceAssert, PostAssert, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let own = FenceAssert::NOPUT | FenceAssert::NOSTORE | FenceAssert::NOPRECEDE;
    window.fence_with(own)?.close()?;
    let empty = onesided::Group::empty();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post_with(&empty, PostAssert::NOCHECK | PostAssert::NOPUT)?;
    access.start(&empty)?.complete()?;
    exposed.wait()?;
    window.lock_all()?.unlock_all()?;
    window.free()
}
