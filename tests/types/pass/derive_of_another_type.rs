//! The twin: one struct for each parameter, and a struct around an integer for an enum.
use onesided::{Pod, Result, Universe, Window};

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Numbered {
    number: u32,
}

#[derive(Clone, Copy, PartialEq, Debug, Pod)]
#[repr(transparent)]
struct Colour(u8);

impl Colour {
    const RED: Colour = Colour(1);
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let (colours, numbers) = (
        Window::<Colour>::allocate(universe.world(), 1)?,
        Window::<Numbered>::allocate(universe.world(), 1)?,
    );
    colours.store(0, &[Colour::RED])?;
    numbers.store(0, &[Numbered { number: 7 }])?;
    assert_eq!((colours.load_one(0)?, numbers.load_one(0)?.number), (Colour::RED, 7));
    colours.free()?;
    numbers.free()
}
