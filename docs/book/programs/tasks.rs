//! Rank 0 hands out tasks; the other ranks work on them.

use onesided::prelude::*;
use onesided_tools::WindowQueue;

const TASKS: u32 = 8;
/// The task that ends a worker.
const STOP: u32 = 0;

fn main() -> onesided::Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    // In the memory of rank 0, with space for 4 tasks.
    let tasks = WindowQueue::<u32>::new(world, Rank(0), 4)?;

    if world.rank() == 0 {
        for task in 1..=TASKS {
            tasks.push(task)?;
        }
        for _ in 1..world.size() {
            tasks.push(STOP)?;
        }
    } else {
        loop {
            match tasks.pop()? {
                STOP => break,
                task => println!("{task} x {task} = {}", task * task),
            }
        }
    }
    tasks.free()
}
