//! The twin: once the epoch or batch has ended, the buffers are free.
use onesided::{Access, LockType, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let window = Window::<u64>::allocate(universe.world(), 8)?;
    let (mut from, mut to) = (vec![1; 4], vec![0; 4]);
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.put(&from, Rank(0), 0)?;
    epoch.get(&mut to, Rank(0), 4)?;
    epoch.unlock()?;
    from[0] = to[0] + 2;
    drop(from);
    window.free()
}
