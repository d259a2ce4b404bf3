//! The twin: the rank first.
use onesided::{Access, Op, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock_all()?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 1)?;
    epoch.unlock_all()?;
    assert_eq!(window.size(Rank(0))?, 64);
    window.free()
}
