//! The twin: one after the other, in any order.
use onesided::{LockType, Rank, Result};
use onesided::{Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    window.fence()?.fence()?.close()?;
    window.lock_all()?.unlock_all()?;
    window.lock(LockType::Shared, Rank(0))?.unlock()?;
    let empty = onesided::Group::empty();
    let (mut access, mut exposure) = window.sides();
    let (exposed, epoch) = (exposure.post(&empty)?, access.start(&empty)?);
    epoch.complete()?;
    access.start(&empty)?.complete()?;
    exposed.wait()?;
    window.fence()?.close()?;
    window.free()
}
