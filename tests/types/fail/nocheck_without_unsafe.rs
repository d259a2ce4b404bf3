//! NOCHECK takes over what the library otherwise guarantees: a promise, so `unsafe`.
use onesided::{LockAssert, StartAssert};

fn main() {
    let _ = StartAssert::nocheck(); //~ E0133 StartAssert
    let _ = LockAssert::nocheck(); //~ E0133 LockAssert
}
