//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, FenceAssert, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence(FenceAssert::NONE)?;
    epoch.close(FenceAssert::NONE)?;
    epoch.put(&[1], Rank(0), 0) //~ E0382 FenceEpoch
}

fn end(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence(FenceAssert::NONE)?;
    epoch.close(FenceAssert::NONE)?;
    epoch.close(FenceAssert::NONE) //~ E0382 FenceEpoch
}

fn main() {}
