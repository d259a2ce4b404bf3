//! The smallest program: one window, one fence.

use onesided::{Comm, Window};

pub fn run(world: &Comm) {
    let mut window = Window::<u64>::allocate(world, 1).expect("a small window");
    window.fence().and_then(|epoch| epoch.close()).expect("fence");
    window.free().expect("no epoch is open");
}
