//! Places memory of the segment on a NUMA node that the program chooses.

use super::os::{self, page_size};
use std::sync::OnceLock;

/// The number of nodes in a mask of one word.
const NODES: u32 = u64::BITS;
/// Whether the machine has more than one node with memory.
pub(crate) fn has_several_nodes() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    // One node is "0"; several are a list, with commas or dashes.
    *SEVERAL.get_or_init(|| os::text_of("/sys/devices/system/node/has_memory").contains([',', '-']))
}

/// Moves the whole pages among the `bytes` mapped bytes at `start` to `node`, and takes later ones
/// from there; returns whether the kernel accepts that.
pub(super) fn place(start: *mut u8, bytes: u64, node: u32) -> bool {
    let first = (start as u64).next_multiple_of(page_size());
    let end = (start as u64 + bytes) / page_size() * page_size();
    if node >= NODES || first >= end {
        return false;
    }
    os::bind_memory(first, end - first, node)
}
