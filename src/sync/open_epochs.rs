//! The epochs that a rank has open, published for the checks of the other ranks.
//!
//! A fence announces the epoch that it opens or closes, with the number of the fence, before
//! FencePre. A rank that has passed the fence sees the announcement by the fence's own MEM_SYNCs. A
//! rank that sees it earlier knows by the number that it does not hold yet, because the announcing
//! rank still waits in the fence (models/fence.rs, "lent").

use crate::prim::{Fault, Word32, planted};

/// A rank's own epochs; each word is zero for "none" and written by that rank alone.
#[repr(C)]
#[derive(Default)]
pub struct OpenEpochs {
    /// Whether it has a fence epoch open ([`OPEN`]) and, above that bit, since which fence.
    fence: Word32,
    /// It is between post and wait.
    pub exposure: Word32,
}

/// A fence epoch is open.
const OPEN: u32 = 1;
/// The age at which a fence's number is renewed, before it is too old to be compared.
const OLD: u32 = 1 << 30;

impl OpenEpochs {
    /// Announces whether this rank has a fence epoch open after its fence `number`, counted from 1,
    /// modulo 2³¹. All ranks count alike, because a fence is collective. Called when all ranks have
    /// arrived at the fence before.
    #[inline(always)]
    pub fn fenced(&self, number: u32, opens: bool) {
        let (recorded, at) = (self.fence.load(), number << 1);
        if recorded & OPEN != u32::from(opens) {
            self.fence.store(at | u32::from(opens));
        } else if at.wrapping_sub(recorded) >= OLD {
            // Since the fence before: no rank is further back.
            self.fence.store(at.wrapping_sub(2) | u32::from(opens));
        }
    }

    /// Ends a fence epoch without operations.
    #[inline]
    pub fn leave_fence(&self) {
        let recorded = self.fence.load();
        // Other ranks read the line: it is written only for a change.
        if recorded & OPEN != 0 {
            self.fence.store(recorded & !OPEN);
        }
    }

    /// Whether the rank of these words has a fence epoch open. The caller has passed its fence
    /// `number`, arrives at no other meanwhile, and has executed a MEM_SYNC.
    pub fn is_in_fence_epoch(&self, number: u32) -> bool {
        let recorded = self.fence.load();
        let is_behind = ((number << 1).wrapping_sub(recorded & !OPEN) as i32) >= 0;
        let is_open = recorded & OPEN != 0;
        // The rank waits in a later fence, which changes the state: the present one is the opposite.
        if is_behind || planted(Fault::AnnouncedUncounted) { is_open } else { !is_open }
    }
}

#[cfg(all(test, not(any(loom, simulated))))]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_holds_for_any_number_of_fences() {
        for opens in [false, true] {
            let words = OpenEpochs::default();
            for step in 0..64_u32 {
                let number = step.wrapping_mul(1 << 28) + 1;
                words.fenced(number, opens);
                assert_eq!(words.is_in_fence_epoch(number), opens, "fence {number}");
                assert_eq!(words.is_in_fence_epoch(number.wrapping_add(1)), opens, "{number}");
            }
        }
    }

    #[test]
    fn an_announcement_holds_from_its_fence_on() {
        let words = OpenEpochs::default();
        words.fenced(1, true);
        assert!(!words.is_in_fence_epoch(0) && words.is_in_fence_epoch(1));
        words.fenced(2, false);
        assert!(words.is_in_fence_epoch(1) && !words.is_in_fence_epoch(2));
        words.fenced(3, true);
        words.leave_fence();
        assert!(!words.is_in_fence_epoch(3));
    }
}
