//! Ending an epoch or a batch consumes its guard.
use onesided::{Access, Group, Rank, Result, StartAssert, Window};

fn put(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    epoch.complete()?;
    epoch.put(&[1], Rank(0), 0) //~ E0382 AccessEpoch
}

fn end(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    epoch.complete()?;
    epoch.complete() //~ E0382 AccessEpoch
}

fn main() {}
