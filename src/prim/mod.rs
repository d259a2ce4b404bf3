//! The machine, loom's model of it, or a simulator of its caches and of time.
//!
//! Everything above is written once and compiled three times: natively over words of the shared
//! segment, in `loom_tests/` (where `cfg(loom)` is set) over loom's words, and in `simulator/` (where
//! `cfg(simulated)` is set) over words that count their transfers. This module is the only switch
//! between the three.
//!
//! Invariants:
//! 1. Every atomic access of a protocol word is **relaxed**. Ordering comes from [`mem_sync`]
//!    alone (New RMA Design, "RMA + Shared Memory"), so each fence can be shown to be needed.
//! 2. All-zero bytes are the initial state of every word, so a fresh page of the segment needs
//!    no construction.
//! 3. A word on which a rank waits is a [`ParkWord`], and the only waiting loop is
//!    [`Waiter::until`].

mod account;
mod failed;
pub mod hooks;
mod order;
mod park;
mod site;
mod wait;

#[cfg(loom)]
pub mod model;
#[cfg(loom)]
use model as machine;
#[cfg(not(any(loom, simulated)))]
mod clock;
#[cfg(not(any(loom, simulated)))]
mod native;
#[cfg(not(any(loom, simulated)))]
mod placement;
#[cfg(not(any(loom, simulated)))]
mod processor;
#[cfg(simulated)]
pub mod simulated;
#[cfg(not(any(loom, simulated)))]
use native as machine;
#[cfg(simulated)]
use simulated as machine;

pub use account::{
    Account, Awaited, AwaitedKind, AwaitedRead, AwaitedWords, Sleep, WaitRecord, caller_by_binding,
    find_lines_by, has_binding, line_by_binding,
};
#[cfg(not(any(loom, simulated)))]
pub use clock::event_time;
pub use crossbeam_utils::CachePadded;
pub use failed::FailedWord;
pub use machine::{Backoff, Contention, Word32, Word64, monotonic, planted};
#[cfg(not(any(loom, simulated)))]
pub use native::give_way;
pub use order::in_program_order;
pub use park::ParkWord;
#[cfg(not(any(loom, simulated)))]
pub use placement::{JobPlacement, Placement, PlacementWords};
#[cfg(not(any(loom, simulated)))]
pub use processor::{
    caller, expect_access, set_caller, set_thread_word, take_part, thread_block, thread_word,
};
pub use site::{Fault, ProcSync, Site, Step};
pub use wait::{Failure, JobFailed, Progress, WaitLog, Waiter, sleep_at_most, sleep_until};

/// MEM_SYNC of the New RMA Design: a full memory barrier, labelled with its place.
///
/// Nothing else in the tree issues a fence. In the models it is an acquire-release fence, or a
/// sequentially consistent one where the full barrier itself is under test. Each site can be
/// switched off there, to show that it is necessary.
#[inline(always)]
pub fn mem_sync(site: Site) {
    hooks::before(hooks::Event::MemSync(site));
    machine::mem_sync(site);
}

/// [`mem_sync`] next to a read-modify-write of this rank. Where that instruction is a full barrier,
/// as on x86-64, this one is free. Loads and stores of the same protocol between the two are then
/// ordered against the other side by an acquire-release fence only.
#[inline(always)]
pub fn mem_sync_beside(site: Site) {
    hooks::before(hooks::Event::MemSync(site));
    machine::mem_sync_beside(site);
}

/// A MEM_SYNC of this rank and of every other rank that takes part (`take_part`), wherever that is in
/// its program. Returns `false` if the machine denies it; it is then one of this rank alone.
#[cold]
pub fn mem_sync_of_all(site: Site) -> bool {
    hooks::before(hooks::Event::MemSync(site));
    machine::mem_sync_of_all(site)
}

/// Runs `f` on a path that is taken seldom. The compiler takes the call for one that changes no register, so that the other
/// paths save none for it. If `f` panics, the process ends.
#[cold]
#[inline(always)]
pub fn cold_call<R>(f: impl FnOnce() -> R) -> R {
    machine::cold_call(f)
}

/// Marks the place of a PROC_SYNC for the recorder and for delay points; no code natively.
#[inline(always)]
pub fn proc_sync(what: ProcSync) {
    hooks::before(hooks::Event::ProcSync(what));
}

/// Marks a place between two steps of a call, where a test may make the rank fail; no code natively.
#[inline(always)]
#[cfg_attr(any(loom, simulated), allow(dead_code, reason = "called above what the models compile"))]
pub fn step(what: Step) {
    hooks::before(hooks::Event::Step(what));
}
