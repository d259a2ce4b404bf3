//! The twin: once the epoch or batch has ended, the buffers are free.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let (mut from, mut to) = (vec![1; 4], vec![0; 4]);
    let epoch = window.fence()?;
    epoch.put(&from, Rank(0), 0)?;
    epoch.get(&mut to, Rank(0), 4)?;
    epoch.close()?;
    from[0] = to[0] + 2;
    drop(from);
    window.free()
}
