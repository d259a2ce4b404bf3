//! A freed window is gone.
use onesided::{FenceAssert, Result, Window};

fn used(mut window: Window<u64>) -> Result<()> {
    window.free()?;
    window.fence()?.close() //~ E0382 Window
}

fn freed_twice(window: Window<u64>) -> Result<()> {
    window.free()?;
    window.free() //~ E0382 Window
}

fn main() {}
