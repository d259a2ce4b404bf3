//! While the own part is a slice, the window admits nothing else (promise 4).
use onesided::{FenceAssert, LockAssert, LockType, Rank, Result, Window};

fn load(window: &mut Window<u64>) -> Result<()> {
    let mut local = window.lock_local()?;
    local[0] = window.load_one(0)?; //~ E0502
    local.unlock()
}

fn store(window: &mut Window<u64>) -> Result<()> {
    let local = window.lock_local()?;
    window.store(0, &local)?; //~ E0502
    local.unlock()
}

fn lock(window: &mut Window<u64>) -> Result<()> {
    let local = window.lock_local()?;
    window.lock(LockType::Shared, Rank(0))?.unlock()?; //~ E0502 LocalEpoch
    local.unlock()
}

fn fence(window: &mut Window<u64>) -> Result<()> {
    let local = window.lock_local()?;
    window.fence()?.close()?; //~ E0499 LocalEpoch
    local.unlock()
}

fn sync(window: &mut Window<u64>) -> Result<()> {
    let local = window.lock_local()?;
    window.sync(); //~ E0502
    local.unlock()
}

fn second_slice(window: &mut Window<u64>) -> Result<()> {
    let first = window.lock_local()?;
    let second = window.lock_local()?; //~ E0499
    first.unlock()?;
    second.unlock()
}

fn main() {}
