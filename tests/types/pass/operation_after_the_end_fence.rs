//! The twin: operations come before the end.
use onesided::{Access, FenceAssert, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.fence(FenceAssert::NONE)?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.close(FenceAssert::NONE)?;
    window.free()
}
