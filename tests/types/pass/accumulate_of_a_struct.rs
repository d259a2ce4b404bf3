//! The twin: it can be put and got.
use onesided::{PassiveAccess, Rank, Result, Universe, Window};

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle {
    place: [f64; 3],
    mass: f64,
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<Particle>::allocate(universe.world(), 1)?;
    let heavy = Particle { place: [1.0, 2.0, 3.0], mass: 4.0 };
    let epoch = window.lock_all()?;
    epoch.rput(&[heavy], Rank(0), 0)?.wait();
    epoch.unlock_all()?;
    assert_eq!(bytemuck::bytes_of(&window.load_one(0)?), bytemuck::bytes_of(&heavy));
    window.free()
}
