//! The twin: the epoch ends when the threads are done with it, and they synchronise in turn.
use onesided::{Access, LockAllEpoch, Rank, Result, Universe, Window};

fn end_when_all_have_operated(epoch: LockAllEpoch<'_, '_, u64>) -> Result<()> {
    std::thread::scope(|threads| {
        threads.spawn(|| epoch.put(&[1], Rank(0), 0));
        threads.spawn(|| epoch.put(&[2], Rank(0), 0));
    });
    epoch.unlock_all()
}

fn synchronise_in_turn(window: &mut Window<u64>) {
    std::thread::scope(|threads| {
        let fence = threads.spawn(|| {
            window.fence()?.close()?;
            Result::Ok(window)
        });
        let window = fence.join().unwrap().unwrap();
        threads.spawn(|| window.lock_all().map(drop));
    });
}

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let mut window = Window::allocate(universe.world(), 1)?;
    end_when_all_have_operated(window.lock_all()?)?;
    synchronise_in_turn(&mut window);
    window.free()
}
