//! A thread may not end an epoch while others issue operations in it, nor may two synchronise.
use onesided::{Access, FenceAssert, LockAllEpoch, LockAssert, Rank, Result, Universe, Window};

fn end_while_another_operates(epoch: LockAllEpoch<'_, '_, u64>) -> Result<()> {
    std::thread::scope(|threads| {
        threads.spawn(|| epoch.put(&[1], Rank(0), 0)); //~ E0373
        epoch.unlock_all() //~ E0505
    })
}

fn synchronise_both(window: &mut Window<u64>) {
    std::thread::scope(|threads| {
        threads.spawn(|| window.fence().map(drop));
        threads.spawn(|| window.lock_all().map(drop)); //~ E0499
    });
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::allocate(universe.world(), 1)?;
    end_while_another_operates(window.lock_all()?)?;
    synchronise_both(&mut window);
    window.free()
}
