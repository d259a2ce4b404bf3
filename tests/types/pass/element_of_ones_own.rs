//! The twin: generic code over elements.
use onesided::{Element, Rank, Result, Universe, Window};

fn there_and_back<T: Element>(window: &mut Window<T>, value: T) -> Result<T> {
    let mut buffer = [value];
    let epoch = window.lock_all()?;
    epoch.put_flush(&buffer, Rank(0), 0)?;
    epoch.get_flush(&mut buffer, Rank(0), 0)?;
    epoch.unlock_all()?;
    Ok(buffer[0])
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    assert_eq!(there_and_back(&mut window, 7)?, 7);
    window.free()
}
