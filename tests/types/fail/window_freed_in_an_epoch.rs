//! A window cannot be freed, moved or dropped while a guard of it lives.
use onesided::{FenceAssert, Group, LockAssert, LockType, PostAssert, Rank, Result};
use onesided::{StartAssert, Window};

fn free_in_fence(mut window: Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn free_in_lock_all(mut window: Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn free_in_lock(window: Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn free_in_local(mut window: Window<u64>) -> Result<()> {
    let epoch = window.lock_local()?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn free_in_access(mut window: Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn free_in_exposure(mut window: Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let epoch = exposure.post(group)?;
    window.free()?; //~ E0505
    drop(epoch);
    Ok(())
}

fn dropped_in_fence(mut window: Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    drop(window); //~ E0505
    epoch.close()
}

/// A guard that is not used again lives until it is dropped.
fn free_beside_fence(mut window: Window<u64>) -> Result<()> {
    let _epoch = window.fence()?;
    window.free() //~ E0505
}

fn free_beside_exposure(mut window: Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let _epoch = exposure.post(group)?;
    window.free() //~ E0505
}

fn guard_outlives_the_window(window: Window<u64>) -> Result<()> {
    let epoch;
    {
        let window = window;
        epoch = window.lock(LockType::Shared, Rank(0))?; //~ E0597
    }
    epoch.unlock()
}

fn main() {}
