//! The twin: the call's own.
use onesided::{FenceAssert, LockAssert, PostAssert, Result, StartAssert, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let own = FenceAssert::NOPUT | FenceAssert::NOSTORE | FenceAssert::NOPRECEDE;
    window.fence(own)?.close(FenceAssert::NONE)?;
    let nobody = universe.world().group().incl(&[])?;
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&nobody, PostAssert::NOCHECK | PostAssert::NOPUT)?;
    access.start(&nobody, StartAssert::NONE)?.complete()?;
    exposed.wait()?;
    window.lock_all(LockAssert::NONE)?.unlock_all()?;
    window.free()
}
