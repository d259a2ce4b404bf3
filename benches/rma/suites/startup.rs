//! The smallest program: one window, one fence.

use onesided::{Comm, FenceAssert, Window};

pub fn run(world: &Comm) {
    let mut window = Window::<u64>::allocate(world, 1).expect("a small window");
    window
        .fence(FenceAssert::NONE)
        .and_then(|epoch| epoch.close(FenceAssert::NONE))
        .expect("fence");
    window.free().expect("no epoch is open");
}
