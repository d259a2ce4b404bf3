//! The buffers of a step stay borrowed until its fence.
use onesided::{Access, FenceAssert, Rank, Result, Window};

fn buffer_ends_before_the_fence(window: &mut Window<u64>) -> Result<()> {
    let mut epoch = window.fence()?;
    epoch.step(|step| {
        let value = [1];
        step.put(&value, Rank(0), 0) //~ E0597 FenceStep
    })?;
    epoch.close()
}

fn main() {}
