//! Ranks in a ring write their first and last cells to their neighbours.

use onesided::{Access, Rank, Universe, Window};

/// Cells of a rank, without the two of its neighbours.
const CELLS: usize = 3;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (u32::from(world.rank()), world.size());
    // [left neighbour's last cell | own cells | right neighbour's first cell]
    let mut window = Window::<u64>::allocate(world, CELLS + 2)?;
    let cells = [10 * rank, 10 * rank + 1, 10 * rank + 2].map(u64::from);
    window.store(1, &cells)?;

    let epoch = window.fence()?;
    epoch.put(&cells[..1], Rank((rank + size - 1) % size), CELLS + 1)?;
    epoch.put(&cells[CELLS - 1..], Rank((rank + 1) % size), 0)?;
    epoch.close()?;

    let mut all = [0; CELLS + 2];
    window.load(0, &mut all)?;
    println!("rank {rank}: {} | {} {} {} | {}", all[0], all[1], all[2], all[3], all[4]);
    window.free()
}
