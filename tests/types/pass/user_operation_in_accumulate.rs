//! The twin: predefined operations accumulate, user-defined ones reduce.
use onesided::{Access, Op, Rank, Result, Universe, UserOp, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u64>::allocate(world, 1)?;
    let epoch = window.lock_all()?;
    epoch.accumulate(&[1], Op::Sum, Rank(0), 0)?;
    epoch.unlock_all()?;
    let op = UserOp::new(|a: u64, b: u64| a + b);
    assert_eq!(world.allreduce(&[1], &op)?, [1]);
    window.free()
}
