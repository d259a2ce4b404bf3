//! The twin: a buffer that outlives the step, and is free after it.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 1)?;
    let mut epoch = window.fence()?;
    let mut value = [1];
    epoch.step(|step| step.put(&value, Rank(0), 0))?;
    value[0] = 2;
    epoch.step(|step| step.put(&value, Rank(0), 0))?;
    assert_eq!(epoch.window().load_one(0)?, 2);
    epoch.close()?;
    window.free()
}
