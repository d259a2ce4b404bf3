//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, LockAssert, LockType, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.unlock()?;
    epoch.put(&[1], Rank(0), 0) //~ E0382 LockEpoch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    epoch.unlock()?;
    epoch.unlock() //~ E0382 LockEpoch
}

fn main() {}
