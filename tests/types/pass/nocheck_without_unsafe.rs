//! The twin: the promise is made, and kept.
use onesided::{Access, LockAssert, LockType, PostAssert, Rank, Result, StartAssert};
use onesided::{Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    // SAFETY: this is the only rank, and it holds no other lock.
    let epoch = window.lock_with(LockType::Exclusive, Rank(0), unsafe { LockAssert::nocheck() })?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.unlock()?;
    let group = universe.world().group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post_with(&group, PostAssert::NOCHECK)?;
    // SAFETY: this is the only rank, and it has posted.
    let epoch = access.start_with(&group, unsafe { StartAssert::nocheck() })?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.complete()?;
    exposed.wait()?;
    window.free()
}
