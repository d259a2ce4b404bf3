//! The twin: batches end first, and one follows another.
use onesided::{Access, Rank, Result, Universe, Window};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::<u64>::allocate(universe.world(), 8)?;
    let epoch = window.lock_all()?;
    let mut buffer = [1];
    for round in 0..3 {
        let batch = epoch.batch();
        batch.put(&buffer, Rank(0), round)?;
        batch.flush()?;
        buffer[0] += 1;
    }
    epoch.unlock_all()?;
    window.free()
}
