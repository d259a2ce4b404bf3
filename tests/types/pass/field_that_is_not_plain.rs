//! The twin: integers stand for them, and a struct may be a field.
use onesided::{Pod, Result, Universe, Window};

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Flags {
    is_set: u32,
    mark: u32,
}

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Flagged {
    flags: [Flags; 2],
    place: [f64; 2],
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let window = Window::<Flagged>::allocate(universe.world(), 1)?;
    let flags = [Flags { is_set: 1, mark: 'x'.into() }; 2];
    window.store(0, &[Flagged { flags, place: [1.0, 2.0] }])?;
    let found = window.load_one(0)?;
    assert_eq!((found.flags[1].is_set, found.flags[0].mark), (1, u32::from('x')));
    assert_eq!(found.place, [1.0, 2.0]);
    window.free()
}
