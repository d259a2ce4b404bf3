//! Put and get: the two directions of one copy.
#![allow(unsafe_code, reason = "copies between an origin buffer and checked target memory")]

use super::target::Target;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::prim::Step;
use crate::shm::{ONE_STORE, Recording, copy_past, is_one_store};
use crate::window::{Via, Win};

impl Win {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to the window of `target`, from displacement
    /// `disp` (in the target's displacement units) on.
    ///
    /// Local; does not block, except in a dynamic window while the target attaches or detaches.
    /// Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank),
    /// [`Error::Range`](crate::Error::Range) or, in a dynamic window,
    /// [`Error::NotAttached`](crate::Error::NotAttached),
    /// [`Error::Conflict`](crate::Error::Conflict); of private memory
    /// [`Error::Unreachable`](crate::Error::Unreachable).
    #[inline(always)]
    pub fn put<T: Element>(&self, origin: &[T], target: Rank, disp: u64) -> Result<()> {
        self.put_as(Call::Put, origin, target, disp)
    }

    /// [`Win::put`] for `call`.
    #[inline(always)]
    pub(super) fn put_as<T: Element>(
        &self,
        call: Call,
        origin: &[T],
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (from, bytes) = (origin.as_ptr().cast(), size_of_val(origin));
        // SAFETY: `origin` is a slice.
        match unsafe { self.put_mapped(call, from, bytes, target, disp) } {
            Some(()) => Ok(()),
            // SAFETY: as above.
            None => unsafe { self.put_beyond(call, from, bytes, target, disp) },
        }
    }

    /// [`Win::put`] of an untyped buffer, to a target of the same layout: whether it is done. If not,
    /// nothing is, and [`Win::put_untyped`] does it or says why not.
    #[inline(always)]
    pub fn put_at_once(&self, origin: Origin<'_>, target: Rank, disp: u64) -> bool {
        let Some(bytes) = origin.layout.plain() else { return false };
        // SAFETY: obligation 1 of `Origin::new`: all of these bytes are entries.
        unsafe { self.put_mapped(Call::Put, origin.start, bytes, target, disp) }.is_some()
    }

    /// As [`Win::put_at_once`], for [`Win::get_untyped`].
    #[inline(always)]
    pub fn get_at_once(&self, origin: OriginMut<'_>, target: Rank, disp: u64) -> bool {
        let Some(bytes) = origin.layout.plain() else { return false };
        // SAFETY: obligation 1 of `OriginMut::new`: all of these bytes are entries.
        unsafe { self.get_mapped(Call::Get, origin.start, bytes, target, disp) }.is_some()
    }

    /// The hot path of a put: `None`, and nothing has been done, if the memory is not mapped, if
    /// something is wrong, or if it is the first operation of a fence epoch.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes` bytes.
    #[inline(always)]
    unsafe fn put_mapped(
        &self,
        call: Call,
        from: *const u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        // Apart, so that the checks of one word are those of a size that the compiler knows.
        match is_one_store(bytes) {
            // SAFETY: the caller's obligation.
            true => unsafe { self.put_of_size(call, from, ONE_STORE, target, disp) },
            // SAFETY: as above.
            false => unsafe { self.put_of_size(call, from, bytes, target, disp) },
        }
    }

    /// [`Win::put_mapped`], where the compiler may know the size.
    ///
    /// # Safety
    /// As [`Win::put_mapped`].
    #[inline(always)]
    unsafe fn put_of_size(
        &self,
        call: Call,
        from: *const u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let to = self.mapped(target, disp, bytes, from)?;
        let start = || self.start_of(target.0, disp);
        let said = self.say(call);
        // SAFETY: 1. The caller's obligation; `mapped` has checked the target bytes. 2. It has
        // checked that too.
        unsafe { self.copy_out(call, target, start, from, to, bytes) };
        said.end();
        Some(())
    }

    /// [`Win::put`] where [`Win::put_mapped`] has done nothing.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes` bytes.
    #[cold]
    unsafe fn put_beyond(
        &self,
        call: Call,
        from: *const u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.within_any(call, || {
            let Some(target) = self.target(call, target, disp, bytes as u64)? else {
                return Ok(());
            };
            self.check_apart(call, &target, disp, from, bytes)?;
            self.note_operation();
            // Of any length where the kernel copies: that is not one instruction.
            let recording = match target.via == Via::Mapped && is_one_store(bytes) {
                true => Recording::Nothing,
                false => self.record(call, target.rank, target.start, bytes as u64),
            };
            // SAFETY: 1. The caller's obligation; `target` has been checked. 2. `check_apart`.
            let written = unsafe { self.write_to(call, &target, 0, from, bytes) };
            recording.end();
            written
        })
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from the window of `target`, from displacement `disp`
    /// (in the target's displacement units) on, to `origin`.
    ///
    /// Local; does not block, except as [`Win::put`]. Nothing happens for [`Rank::NULL`].
    ///
    /// # Errors
    /// As [`Win::put`].
    #[inline(always)]
    pub fn get<T: Element>(&self, origin: &mut [T], target: Rank, disp: u64) -> Result<()> {
        self.get_as(Call::Get, origin, target, disp)
    }

    /// [`Win::get`] for `call`.
    #[inline(always)]
    pub(super) fn get_as<T: Element>(
        &self,
        call: Call,
        origin: &mut [T],
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let (to, bytes) = (origin.as_mut_ptr().cast::<u8>(), size_of_val(origin));
        // SAFETY: `origin` is a slice.
        match unsafe { self.get_mapped(call, to, bytes, target, disp) } {
            Some(()) => Ok(()),
            // SAFETY: as above.
            None => unsafe { self.get_beyond(call, to, bytes, target, disp) },
        }
    }

    /// The hot path of a get, as [`Win::put_mapped`].
    ///
    /// # Safety
    /// `to` is valid for writes of `bytes` bytes.
    #[inline(always)]
    unsafe fn get_mapped(
        &self,
        call: Call,
        to: *mut u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        match is_one_store(bytes) {
            // SAFETY: the caller's obligation.
            true => unsafe { self.get_of_size(call, to, ONE_STORE, target, disp) },
            // SAFETY: as above.
            false => unsafe { self.get_of_size(call, to, bytes, target, disp) },
        }
    }

    /// [`Win::get_mapped`], as [`Win::put_of_size`].
    ///
    /// # Safety
    /// As [`Win::get_mapped`].
    #[inline(always)]
    unsafe fn get_of_size(
        &self,
        call: Call,
        to: *mut u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Option<()> {
        let from = self.mapped(target, disp, bytes, to)?;
        let said = self.say(call);
        // SAFETY: as in `put_mapped`.
        unsafe { copy_past(Step::MidGet, from, to, bytes) };
        said.end();
        Some(())
    }

    /// [`Win::get`] where [`Win::get_mapped`] has done nothing.
    ///
    /// # Safety
    /// `to` is valid for writes of `bytes` bytes.
    #[cold]
    unsafe fn get_beyond(
        &self,
        call: Call,
        to: *mut u8,
        bytes: usize,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        self.within_any(call, || {
            let Some(target) = self.target(call, target, disp, bytes as u64)? else {
                return Ok(());
            };
            self.check_apart(call, &target, disp, to, bytes)?;
            self.note_operation();
            // SAFETY: 1. The caller's obligation; `target` has been checked. 2. `check_apart`.
            unsafe { self.read_from(call, &target, 0, to, bytes) }
        })
    }

    /// Copies to the target bytes from `into` on; recorded by the caller, as a part of what it does.
    ///
    /// # Safety
    /// 1. `from` is valid for reads of `bytes` bytes, and `target` has as many from `into` on.
    /// 2. The two do not overlap.
    pub(super) unsafe fn write_to(
        &self,
        call: Call,
        target: &Target<'_>,
        into: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<()> {
        if target.via == Via::Foreign {
            // SAFETY: the caller's obligation 1.
            return unsafe { self.put_by(call, target, into, from, bytes) };
        }
        let to = target.at.wrapping_add(into);
        if let Via::Kernel(process) = target.via {
            // SAFETY: the caller's obligation 1; the memory at `to` is exposed by the window.
            let written = unsafe { process.write(from, to, bytes) };
            return written.map_err(|error| self.kernel_error(call, target.rank, error));
        }
        // SAFETY: the caller's obligations 1 and 2.
        unsafe { copy_past(Step::MidPut, from, to, bytes) };
        Ok(())
    }

    /// Copies from the target bytes from `into` on.
    ///
    /// # Safety
    /// 1. `to` is valid for writes of `bytes` bytes, and `target` has as many from `into` on.
    /// 2. The two do not overlap.
    pub(super) unsafe fn read_from(
        &self,
        call: Call,
        target: &Target<'_>,
        into: usize,
        to: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        if target.via == Via::Foreign {
            // SAFETY: the caller's obligation 1.
            return unsafe { self.get_by(call, target, into, to, bytes) };
        }
        let from = target.at.wrapping_add(into);
        if let Via::Kernel(process) = target.via {
            // SAFETY: the caller's obligation 1.
            let read = unsafe { process.read(from, to, bytes) };
            return read.map_err(|error| self.kernel_error(call, target.rank, error));
        }
        // SAFETY: the caller's obligations 1 and 2.
        unsafe { copy_past(Step::MidGet, from, to, bytes) };
        Ok(())
    }
}
