//! The smallest program: one window, one fence.

use crate::{Options, machine, measure};
use onesided::{Comm, Window};

pub fn run(world: &Comm, options: &Options) {
    let mut window = Window::<u64>::allocate(world, 1).expect("a small window");
    window.fence().and_then(|epoch| epoch.close()).expect("fence");
    if world.rank() == 0 && !options.starts.is_empty() {
        let print = |what, bytes| measure::print_size(what, "", world.size(), 0, bytes);
        print("private memory of a rank with a window", machine::private_memory());
        print("page tables of a rank with a window", machine::page_tables());
    }
    window.free().expect("no epoch is open");
}
