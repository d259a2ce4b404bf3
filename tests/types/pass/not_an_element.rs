//! The twin: the predefined types can.
use onesided::{Complex, DoubleInt, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    Window::<u8>::allocate(universe.world(), 1)?.free()?;
    Window::<Complex<f64>>::allocate(universe.world(), 1)?.free()?;
    Window::<DoubleInt>::allocate(universe.world(), 1)?.free()
}
