//! A batch is a part of its epoch.
use onesided::{Access, LockAssert, LockType, Rank, Result, Window};

fn of_lock_all(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    let batch = epoch.batch();
    epoch.unlock_all()?; //~ E0505
    batch.put(&[1], Rank(0), 0)
}

fn of_lock(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    epoch.unlock()?; //~ E0505
    batch.put(&[1], Rank(0), 0)
}

fn main() {}
