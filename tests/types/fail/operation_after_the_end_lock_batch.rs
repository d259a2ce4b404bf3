//! Ending an epoch or a batch consumes its guard.
use onesided::{LockAssert, LockType, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.flush()?;
    batch.put(&[1], 0) //~ E0382 LockBatch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.flush()?;
    batch.flush() //~ E0382 LockBatch
}

fn main() {}
