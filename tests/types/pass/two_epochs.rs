//! The twin: one after the other, in any order.
use onesided::{FenceAssert, LockAssert, LockType, PostAssert, Rank, Result, StartAssert};
use onesided::{Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    window.fence(FenceAssert::NONE)?.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)?;
    window.lock_all(LockAssert::NONE)?.unlock_all()?;
    window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?.unlock()?;
    let nobody = universe.world().group().incl(&[])?;
    let (mut access, mut exposure) = window.sides();
    let (exposed, epoch) =
        (exposure.post(&nobody, PostAssert::NONE)?, access.start(&nobody, StartAssert::NONE)?);
    epoch.complete()?;
    access.start(&nobody, StartAssert::NONE)?.complete()?;
    exposed.wait()?;
    window.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)?;
    window.free()
}
