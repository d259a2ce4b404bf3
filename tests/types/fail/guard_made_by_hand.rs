//! Only the call that opens an epoch makes its guard.
use onesided::{FenceEpoch, LockAllEpoch, Window};

fn fence(window: &mut Window<u64>) {
    let _: FenceEpoch<'_, '_, u64> = FenceEpoch { open: panic!("{window:?}") }; //~ error FenceEpoch
}

fn lock_all(window: &mut Window<u64>) {
    let _ = LockAllEpoch { window }; //~ error LockAllEpoch
}

fn main() {}
