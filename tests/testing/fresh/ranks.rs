use onesided::prelude::*;
use std::error::Error;

#[onesided::test(ranks = [1, 2, 4])]
fn adds_up(universe: &Universe) -> onesided::Result<()> {
    let world = universe.world();
    let sum = world.allreduce(&[1_u64], Op::Sum)?;
    assert_eq!(sum, [u64::from(world.size())]);
    Ok(())
}

#[onesided::test(ranks = [3])]
#[should_panic(expected = "rank 1 is wrong")]
fn panics_as_expected(world: &Comm) {
    assert!(world.rank() != 1, "rank 1 is wrong");
    world.barrier().unwrap();
}

#[onesided::test(ranks = [2])]
#[ignore = "not now"]
fn ignored() {}

#[onesided::test(ranks = [4])]
fn panics(world: &Comm) {
    println!("this is rank {}", world.rank());
    assert!(world.rank() != 2, "of all ranks this one");
    world.barrier().unwrap();
}

#[onesided::test(ranks = [2])]
fn returns_an_error(world: &Comm) -> Result<(), Box<dyn Error>> {
    if world.rank() == 1 {
        "two".parse::<u32>()?;
    }
    world.barrier()?;
    Ok(())
}

#[onesided::test(ranks = [2])]
fn aborts(world: &Comm) {
    if world.rank() == 1 {
        std::process::abort();
    }
    world.barrier().unwrap();
}

#[onesided::test(ranks = [2])]
fn deadlocks(world: &Comm) -> onesided::Result<()> {
    let other = Rank(1 - world.rank().0);
    world.recv(&mut [0_u8], other, 0).map(drop)
}

#[onesided::test(ranks = [2], timeout = 1)]
fn hangs(world: &Comm) {
    if world.rank() == 0 {
        std::thread::park();
    }
    world.barrier().unwrap();
}

#[onesided::test(ranks = [2], options = ["--check"])]
fn conflicts(world: &Comm) -> onesided::Result<()> {
    let mut window = Window::<u64>::allocate(world, 1)?;
    let epoch = window.fence()?;
    epoch.put(&[1], Rank(0), 0)?;
    epoch.close()?;
    window.free()
}
