//! The twin: the fields are ordered, and the gap has a field.
use onesided::{Pod, Rank, Result, Universe, Window, Zeroable};

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Particle {
    mass: f64,
    number: u32,
    _padding: [u8; 4],
}

#[derive(Clone, Copy, Pod)]
#[repr(C, packed)]
struct Packed(u8, u64);

#[derive(Clone, Copy, Pod)]
#[repr(transparent)]
struct Thin(u64);

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<Particle>::allocate(universe.world(), 1)?;
    let epoch = window.lock_all()?;
    epoch.put_flush(&[Particle { mass: 1.5, number: 7, ..Particle::zeroed() }], Rank(0), 0)?;
    epoch.unlock_all()?;
    let found = window.load_one(0)?;
    assert_eq!((found.mass, found.number), (1.5, 7));
    let packed = Packed(1, 2);
    assert_eq!(bytemuck::bytes_of(&packed).len(), 9);
    assert_eq!(({ packed.0 }, { packed.1 }, bytemuck::cast::<_, u64>(Thin(3))), (1, 2, 3));
    window.free()
}
