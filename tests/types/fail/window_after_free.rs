//! A freed window is gone.
use onesided::{FenceAssert, Result, Window};

fn used(mut window: Window<u64>) -> Result<()> {
    window.free()?;
    window.fence(FenceAssert::NONE)?.close(FenceAssert::NONE)
}

fn freed_twice(window: Window<u64>) -> Result<()> {
    window.free()?;
    window.free()
}

fn main() {}
