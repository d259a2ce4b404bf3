//! Each call has its own assertions (MPI-2.2 11.4.4).
use onesided::{FenceAssert, Group, LockAssert, PostAssert, StartAssert, Window};

fn fence(window: &mut Window<u64>) {
    let _ = window.fence(PostAssert::NOCHECK); //~ E0308 FenceAssert PostAssert
}

fn fence_nocheck(window: &mut Window<u64>) {
    let _ = window.fence(FenceAssert::NOCHECK); //~ E0599 FenceAssert
}

fn mixed(window: &mut Window<u64>) {
    let _ = window.fence(FenceAssert::NOPUT | PostAssert::NOSTORE); //~ E0308 FenceAssert PostAssert
}

fn post(window: &mut Window<u64>, group: &Group) {
    let _ = window.sides().1.post(group, FenceAssert::NOPRECEDE); //~ E0308 PostAssert FenceAssert
}

fn start(window: &mut Window<u64>, group: &Group) {
    let _ = window.sides().0.start(group, LockAssert::NONE); //~ E0308 StartAssert LockAssert
}

fn lock_all(window: &mut Window<u64>) {
    let _ = window.lock_all(StartAssert::NONE); //~ E0308 LockAssert StartAssert
}

fn main() {}
