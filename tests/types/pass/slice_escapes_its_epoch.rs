//! The twin: values may leave, and a slice may be split.
use onesided::{Result, Universe, Window};

fn sum(window: &mut Window<u64>) -> Result<u64> {
    let mut local = window.lock_local()?;
    let (first, second) = local.split_at_mut(4);
    first.copy_from_slice(second);
    let sum = local.iter().sum();
    local.unlock()?;
    Ok(sum)
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    assert_eq!(sum(&mut window)?, 0);
    window.free()
}
