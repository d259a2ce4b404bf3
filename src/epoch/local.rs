//! This rank's own part as a slice: the only place where a Rust reference to window memory exists.
//!
//! No other access to the memory is possible while a [`LocalEpoch`] lives:
//!
//! 1. By a lock: the own part is locked exclusively, and `lock_all` respects that. A NOCHECK lock does
//!    not check; asserting it is `unsafe`, and forbids exactly this.
//! 2. After start: that needs a post of this rank. None is open (`may_lock`), and none can be made
//!    while the window is mutably borrowed. A NOCHECK start does not check; asserting it is `unsafe`.
//! 3. In a fence epoch: no rank has one open since a fence at which this rank has arrived (checked
//!    below, after all ranks have arrived at the latest one). No later fence opens one, because no
//!    rank passes it before this rank arrives, whose window is mutably borrowed.
//! 4. By this rank itself: the window is mutably borrowed. All ranks use the typed API
//!    (`check_lendable`), whose guards end an epoch only when no operation of it is in progress;
//!    threads of the untyped API could let a put outlast the unlock.
//! 5. Through another window, or directly: only this window exposes the memory, and it was not
//!    created by allocate_shared (`check_lendable`).
#![allow(unsafe_code, reason = "makes a slice of window memory; asserts what it relies on")]

use super::Window;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Rank;
#[cfg(doc)]
use crate::window::PostAssert;
use crate::window::{Flavour, LockAssert, LockType, StartAssert};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// This rank's own part under an exclusive lock, as a slice. Dropped, it unlocks.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 4)?;
/// let mut part = window.lock_local()?;
/// part.fill(me);
/// part[0] += 1;
/// part.unlock()?;
/// assert_eq!(window.load_one(0)?, me + 1);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct LocalEpoch<'w, T: Pod> {
    window: &'w mut Window<T>,
    open: bool,
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_lock` (exclusive) of this rank's own part, for loads and stores through a slice.
    ///
    /// Local; blocks while another rank holds a lock of the part, or has not reached a fence in which
    /// this rank did not wait (NOPRECEDE with NOSUCCEED).
    ///
    /// # Errors
    /// [`Error::Flavour`] if the memory can be accessed in other ways than by locks of this window;
    /// [`Error::Alignment`] if elements are aligned to more than 128 bytes and the part is not;
    /// [`Error::Epoch`], also if any rank has a fence epoch open, in which it could access the part
    /// without a lock; [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_lock")]
    #[track_caller]
    pub fn lock_local(&mut self) -> Result<LocalEpoch<'_, T>> {
        let at = Location::caller();
        self.win.calls.handled(self.check_lendable())?;
        let own = self.win.comm().rank();
        self.win.calls.handled(self.win.await_latest_fence(Call::Lock, at))?;
        self.win.lock(LockType::Exclusive, own)?;
        // Created before the check, so that its drop releases the lock. LockPost has observed what the
        // other ranks announced before they arrived at the latest fence.
        let epoch = LocalEpoch { window: self, open: true };
        if let Some(rank) = epoch.window.win.rank_in_fence_epoch() {
            let problem =
                format!("rank {rank} has a fence epoch open; end it by close on all ranks");
            let error = epoch.window.win.calls.wrong_epoch(Call::Lock, problem);
            return epoch.window.win.calls.handled(Err(error));
        }
        Ok(epoch)
    }
}

impl<T: Pod> Window<T> {
    /// Other windows over the same memory, and direct stores of other ranks, ignore this window's locks.
    fn check_lendable(&self) -> Result<()> {
        let alone = match self.win.flavour() {
            Flavour::Allocate => true,
            Flavour::Create => self.memory.is_only(),
            Flavour::Dynamic | Flavour::Shared => false,
        };
        if alone && self.win.is_typed_everywhere() {
            return self.check_aligned();
        }
        let needed = "a window that is typed on all ranks, by allocate, or by create over memory \
                      that no other handle stands for";
        Err(self.win.calls.wrong_flavour(Call::Lock, needed))
    }

    /// The library aligns a part to 128 bytes, and another MPI to what it likes.
    fn check_aligned(&self) -> Result<()> {
        if self.base().is_aligned() {
            return Ok(());
        }
        let (at, own) = (self.win.calls.place(Call::Lock), self.win.calls.rank());
        let (disp_unit, bytes) = (self.win.memory.part(own.0).disp_unit, align_of::<T>());
        Err(Error::Alignment { at, displacement: 0, disp_unit, bytes })
    }
}

impl<T: Pod> LocalEpoch<'_, T> {
    /// `MPI_Win_unlock`: other ranks may access the part again, and see what was stored here.
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the lock is held.
    #[doc(alias = "MPI_Win_unlock")]
    pub fn unlock(mut self) -> Result<()> {
        self.open = false;
        self.window.win.unlock(self.own())
    }

    fn own(&self) -> Rank {
        self.window.win.comm().rank()
    }

    /// The address of the part; for a part without elements, any aligned one.
    fn start(&self) -> *mut T {
        match self.window.len() {
            0 => std::ptr::dangling_mut(),
            _ => self.window.base(),
        }
    }
}

impl StartAssert {
    /// `MPI_MODE_NOCHECK`: the matching posts, which assert NOCHECK too, have already been made.
    ///
    /// # Safety
    /// Every target has called `post` with [`PostAssert::NOCHECK`] for this epoch before this rank calls
    /// `start`, and has synchronised with this rank since. The group has no target whose post for this
    /// epoch was made without it.
    #[doc(alias = "MPI_MODE_NOCHECK")]
    pub const unsafe fn nocheck() -> StartAssert {
        StartAssert { nocheck: true }
    }
}

impl LockAssert {
    /// `MPI_MODE_NOCHECK`: no rank holds or asks for a conflicting lock while this one is held.
    ///
    /// # Safety
    /// While this rank holds the lock, no rank holds or asks for a conflicting one; its own part's lock
    /// counts.
    #[doc(alias = "MPI_MODE_NOCHECK")]
    pub const unsafe fn nocheck() -> LockAssert {
        LockAssert { nocheck: true }
    }
}

impl<T: Pod> Deref for LocalEpoch<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the part is mapped while the window lives, or kept by it; its base is aligned
        // (`check_aligned`); `len` counts whole elements inside it, any bytes are
        // valid elements, and it is not written (module head, 1 to 5).
        unsafe { std::slice::from_raw_parts(self.start(), self.window.len()) }
    }
}

impl<T: Pod> DerefMut for LocalEpoch<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and it is not read either.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.window.len()) }
    }
}

impl<T: Pod> Drop for LocalEpoch<'_, T> {
    fn drop(&mut self) {
        if self.open && !std::thread::panicking() {
            // Cannot fail: the lock is held.
            let _ = self.window.win.unlock(self.own());
        }
    }
}
