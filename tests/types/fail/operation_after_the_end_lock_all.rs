//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, LockAssert, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    epoch.unlock_all()?;
    epoch.put(&[1], Rank(0), 0) //~ E0382 LockAllEpoch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    epoch.unlock_all()?;
    epoch.unlock_all() //~ E0382 LockAllEpoch
}

fn main() {}
