//! Ranks draw numbers, each of which is drawn once.

use onesided::{Op, Rank, Universe, Window};

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let mut window = Window::<u64>::allocate(world, 1)?;

    let epoch = window.lock_all()?;
    for _ in 0..2 {
        let ticket = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?;
        println!("ticket {ticket}");
    }
    epoch.unlock_all()?;
    window.free()
}
