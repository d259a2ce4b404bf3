//! One access epoch of a window at a time, except locks of several targets.
use onesided::{FenceAssert, Group, LockAssert, LockType, Rank, Result, StartAssert, Window};

fn fence_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence()?;
    let second = window.fence()?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence()?;
    let second = window.lock_all()?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_lock(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence()?;
    let second = window.lock(LockType::Shared, Rank(0))?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_all_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all()?;
    let second = window.lock_all()?; //~ E0499
    drop((first, second));
    Ok(())
}

fn lock_all_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all()?;
    let second = window.fence()?; //~ E0499
    drop((first, second));
    Ok(())
}

fn lock_all_and_lock(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all()?;
    let second = window.lock(LockType::Shared, Rank(0))?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock(LockType::Shared, Rank(0))?;
    let second = window.lock_all()?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock(LockType::Shared, Rank(0))?;
    let second = window.fence()?; //~ E0502
    drop((first, second));
    Ok(())
}

fn start_and_start(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let first = access.start(group)?;
    let second = access.start(group)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn start_and_fence(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let first = access.start(group)?;
    let second = window.fence()?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_sides(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence()?;
    let second = window.sides(); //~ E0499
    drop((first, second));
    Ok(())
}

fn main() {}
