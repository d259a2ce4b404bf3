//! The twin: one type throughout.
use onesided::{Access, Op, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let mut result = 0;
    let epoch = window.lock_all()?;
    epoch.put(&[1u64], Rank(0), 0)?;
    epoch.fetch_and_op(&1, &mut result, Op::Sum, Rank(0), 1)?;
    assert_eq!(epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?, 1);
    epoch.unlock_all()?;
    window.free()
}
