//! Each call has its own assertions (MPI-2.2 11.4.4).
use onesided::{FenceAssert, Group, LockAssert, PostAssert, StartAssert, Window};

fn fence(window: &mut Window<u64>) {
    let _ = window.fence_with(PostAssert::NOCHECK); //~ E0308 FenceAssert PostAssert
}

fn fence_nocheck(window: &mut Window<u64>) {
    let _ = window.fence_with(FenceAssert::NOCHECK); //~ E0599 FenceAssert
}

fn mixed(window: &mut Window<u64>) {
    let _ = window.fence_with(FenceAssert::NOPUT | PostAssert::NOSTORE); //~ E0308 FenceAssert PostAssert
}

fn post(window: &mut Window<u64>, group: &Group) {
    let _ = window.sides().1.post_with(group, FenceAssert::NOPRECEDE); //~ E0308 PostAssert FenceAssert
}

fn start(window: &mut Window<u64>, group: &Group) {
    let _ = window.sides().0.start_with(group, LockAssert::NONE); //~ E0308 StartAssert LockAssert
}

fn lock_all(window: &mut Window<u64>) {
    let _ = window.lock_all_with(StartAssert::NONE); //~ E0308 LockAssert StartAssert
}

fn main() {}
