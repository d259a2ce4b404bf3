//! The twin: once the epoch or batch has ended, the buffers are free.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let (mut from, mut to) = (vec![1; 4], vec![0; 4]);
    let group = universe.world().group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&group)?;
    let epoch = access.start(&group)?;
    epoch.put(&from, Rank(0), 0)?;
    epoch.get(&mut to, Rank(0), 4)?;
    epoch.complete()?;
    from[0] = to[0] + 2;
    drop(from);
    exposed.wait()?;
    window.free()
}
