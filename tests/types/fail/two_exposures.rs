//! One exposure epoch of a window at a time, and no fence and no lock_all beside it.
use onesided::{FenceAssert, Group, LockAssert, PostAssert, Result, Window};

fn post_and_post(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group, PostAssert::NONE)?;
    let second = exposure.post(group, PostAssert::NONE)?; //~ E0499
    first.wait()?;
    second.wait()
}

fn post_and_fence(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group, PostAssert::NONE)?;
    window.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)?; //~ E0499
    first.wait()
}

fn post_and_lock_all(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group, PostAssert::NONE)?;
    window.lock_all(LockAssert::NONE)?.unlock_all()?; //~ E0499
    first.wait()
}

fn wait_twice(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group, PostAssert::NONE)?;
    first.wait()?;
    first.wait() //~ E0382 ExposureEpoch
}

fn main() {}
