//! Places memory of the segment on a NUMA node that the program chooses.
#![allow(unsafe_code, reason = "a system call that no crate wraps")]

use super::os::{self, page_size};
use nix::libc;
use std::sync::OnceLock;

/// The number of nodes in a mask of one word.
const NODES: u32 = u64::BITS;
/// Only from the nodes given (`MPOL_BIND`).
const BIND: libc::c_int = 2;
/// Also moves existing pages (`MPOL_MF_MOVE`).
const MOVE: libc::c_uint = 2;

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
    let mask = 1u64 << node;
    // SAFETY: mbind(2) reads one word at `mask`. It moves pages and does not change their contents.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            first,
            end - first,
            BIND,
            &raw const mask,
            libc::c_ulong::from(NODES + 1),
            MOVE,
        )
    };
    outcome == 0
}
