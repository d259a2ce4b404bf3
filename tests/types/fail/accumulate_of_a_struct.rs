//! A struct moves as bytes; the standard has no operation that combines it (MPI-4.1 §12.3.4).
use onesided::{Access, LockAllEpoch, Op, PassiveAccess, Rank, Result};

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle {
    place: [f64; 3],
    mass: f64,
}

fn accumulate(epoch: &LockAllEpoch<'_, '_, Particle>, origin: &'static [Particle]) -> Result<()> {
    epoch.accumulate(origin, Op::Sum, Rank(0), 0) //~ E0277 Particle Element combine move
}

fn fetch(epoch: &LockAllEpoch<'_, '_, Particle>, origin: Particle) -> Result<Particle> {
    epoch.fetch_and_op_flush(origin, Op::Replace, Rank(0), 0) //~ E0277 Particle Element
}

fn request(epoch: &LockAllEpoch<'_, '_, Particle>, origin: &[Particle]) -> Result<()> {
    epoch.raccumulate(origin, Op::Sum, Rank(0), 0)?.wait(); //~ E0277 Particle Element
    Ok(())
}

fn swap(epoch: &LockAllEpoch<'_, '_, Particle>, new: Particle) -> Result<Particle> {
    epoch.compare_and_swap_flush(new, new, Rank(0), 0) //~ E0277 Particle Integer
}

fn main() {}
