//! A slice of window memory lives no longer than the lock (promise 4).
use onesided::{Result, Window};

fn returned(window: &mut Window<u64>) -> Result<&mut [u64]> {
    let mut local = window.lock_local()?;
    Ok(&mut local[..]) //~ E0515
}

fn after_unlock(window: &mut Window<u64>) -> Result<u64> {
    let mut local = window.lock_local()?;
    let slice = &mut local[..];
    local.unlock()?; //~ E0505
    Ok(slice[0])
}

fn two_slices(window: &mut Window<u64>) -> Result<u64> {
    let mut local = window.lock_local()?;
    let (first, second) = (&mut local[..], &mut local[..]); //~ E0499
    first[0] = second[1];
    local.unlock()?;
    Ok(0)
}

fn main() {}
