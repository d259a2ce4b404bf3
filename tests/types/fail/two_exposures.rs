//! One exposure epoch of a window at a time, and no fence and no lock_all beside it.
use onesided::{FenceAssert, Group, LockAssert, PostAssert, Result, Window};

fn post_and_post(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group)?;
    let second = exposure.post(group)?; //~ E0499
    first.wait()?;
    second.wait()
}

fn post_and_fence(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group)?;
    window.fence()?.close()?; //~ E0499
    first.wait()
}

fn post_and_lock_all(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group)?;
    window.lock_all()?.unlock_all()?; //~ E0499
    first.wait()
}

fn wait_twice(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (_, mut exposure) = window.sides();
    let first = exposure.post(group)?;
    first.wait()?;
    first.wait() //~ E0382 ExposureEpoch
}

fn main() {}
