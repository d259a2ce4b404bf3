//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, LockAssert, LockType, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.flush()?;
    batch.put(&[1], Rank(0), 0) //~ E0382 Batch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock(LockType::Shared, Rank(0))?;
    let batch = epoch.batch();
    batch.flush()?;
    batch.flush() //~ E0382 Batch
}

fn main() {}
