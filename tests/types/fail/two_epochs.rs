//! One access epoch of a window at a time, except locks of several targets.
use onesided::{FenceAssert, Group, LockAssert, LockType, Rank, Result, StartAssert, Window};

fn fence_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence(FenceAssert::NONE)?;
    let second = window.fence(FenceAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence(FenceAssert::NONE)?;
    let second = window.lock_all(LockAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_lock(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence(FenceAssert::NONE)?;
    let second = window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_all_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all(LockAssert::NONE)?;
    let second = window.lock_all(LockAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn lock_all_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all(LockAssert::NONE)?;
    let second = window.fence(FenceAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn lock_all_and_lock(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_all(LockAssert::NONE)?;
    let second = window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_and_lock_all(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?;
    let second = window.lock_all(LockAssert::NONE)?; //~ E0502
    drop((first, second));
    Ok(())
}

fn lock_and_fence(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock(LockType::Shared, Rank(0), LockAssert::NONE)?;
    let second = window.fence(FenceAssert::NONE)?; //~ E0502
    drop((first, second));
    Ok(())
}

fn start_and_start(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let first = access.start(group, StartAssert::NONE)?;
    let second = access.start(group, StartAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn start_and_fence(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let first = access.start(group, StartAssert::NONE)?;
    let second = window.fence(FenceAssert::NONE)?; //~ E0499
    drop((first, second));
    Ok(())
}

fn fence_and_sides(window: &mut Window<u64>) -> Result<()> {
    let first = window.fence(FenceAssert::NONE)?;
    let second = window.sides(); //~ E0499
    drop((first, second));
    Ok(())
}

fn main() {}
