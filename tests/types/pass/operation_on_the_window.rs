//! The twin: the same in an epoch.
use onesided::{Access, Op, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock_all()?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.accumulate(&[1], Op::Sum, Rank(0), 1)?;
    epoch.flush(Rank(0))?;
    epoch.unlock_all()?;
    window.free()
}
