//! A guard lends its window for loads and stores, not for another epoch.
use onesided::{FenceAssert, LockAssert, LockType, Rank, Result, Window};

fn lock_in_a_fence_epoch(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    let second = epoch.window().lock(LockType::Shared, Rank(0))?; //~ E0599 WindowView
    drop((epoch, second));
    Ok(())
}

fn lock_under_lock_all(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    let second = epoch.window().lock(LockType::Shared, Rank(0))?; //~ E0599 WindowView
    drop((epoch, second));
    Ok(())
}

fn main() {}
