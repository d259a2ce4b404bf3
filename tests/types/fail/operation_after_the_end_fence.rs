//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, FenceAssert, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    epoch.close()?;
    epoch.put(&[1], Rank(0), 0) //~ E0382 FenceEpoch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    epoch.close()?;
    epoch.close() //~ E0382 FenceEpoch
}

fn main() {}
