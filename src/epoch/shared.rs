//! Direct loads and stores of parts of a shared window (MPI-4.1 §12.2.3, §12.4.2).

use super::{Window, WindowView};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::memory::Exposed;
use crate::shm::Span;
use crate::window::{Flavour, Win, WindowOptions};
use bytemuck::Pod;
use std::marker::PhantomData;

/// The part of a rank in a shared window, for direct loads and stores.
///
/// It is never a Rust slice, because other ranks may store to it at any time. Loads and stores are
/// copies. The program orders them by the window's epochs, or by [`Window::sync`] on both sides of a
/// synchronisation of its own (MPICH's New RMA Design, "RMA + Shared Memory").
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate_shared(world, 1)?;
/// window.store(0, &[me])?;
/// world.barrier()?;
/// assert_eq!(window.shared_part(other)?.load_one(0)?, other.0);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SharedPart<'w, T> {
    win: &'w Win,
    rank: Rank,
    part: Span,
    elements: PhantomData<T>,
}

impl WindowOptions {
    /// Allocates a shared window; see [`Window::allocate_shared`].
    ///
    /// # Errors
    /// Those of [`Window::allocate_shared`]; [`Error::DispUnit`] for a unit that is not from 1 to 2³¹ - 1.
    #[track_caller]
    pub fn allocate_shared<T: Pod>(&self, comm: &Comm, len: usize) -> Result<Window<T>> {
        let unit = size_of::<T>() as u64;
        let bytes = (len as u64).saturating_mul(unit);
        let win = self.typed().allocate_shared_bytes(comm, bytes, unit)?;
        Ok(Window::of(win, Exposed::nothing()))
    }
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_allocate_shared` (MPI-4.1 §12.2.3): `len` zeroed elements for this rank, which
    /// every rank can load and store directly ([`Window::shared_part`]). The parts are contiguous,
    /// without [`WindowOptions::noncontig`].
    ///
    /// Collective; blocks until every rank of `comm` has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::NoMemory`], [`Error::RankFailed`]. Under another MPI's launcher also
    /// [`Error::Foreign`] on all ranks, of class `RmaShared` if they are not on one node.
    #[doc(alias = "MPI_Win_allocate_shared")]
    #[track_caller]
    pub fn allocate_shared(comm: &Comm, len: usize) -> Result<Self> {
        WindowOptions::new().allocate_shared(comm, len)
    }

    /// `MPI_Win_shared_query` (MPI-4.1 §12.2.3): the part of `rank`, for direct loads and stores;
    /// for [`Rank::NULL`] that of the first rank whose part is not empty.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for windows that were not created by
    /// [`Window::allocate_shared`]: these have slices by [`Window::lock_local`].
    #[doc(alias = "MPI_Win_shared_query")]
    pub fn shared_part(&self, rank: Rank) -> Result<SharedPart<'_, T>> {
        if self.win.flavour() != Flavour::Shared {
            let needed = "a window of allocate_shared";
            return self
                .win
                .calls
                .handled(Err(self.win.calls.wrong_flavour(Call::SharedQuery, needed)));
        }
        let rank = self.win.shared_query_rank(rank)?;
        // Under another MPI none is mapped: loads and stores are slow, to find this rank's operations complete.
        let part = self.win.memory.part(rank.0).span;
        Ok(SharedPart { win: &self.win, rank, part, elements: PhantomData })
    }

    /// `MPI_Win_shared_query` for any window with memory: the number of elements of the part of `rank`
    /// and its address in this process; no elements if it has none here.
    ///
    /// Local; never blocks. Access through the address is unsafe, and the caller must synchronise it.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for dynamic windows.
    #[doc(alias = "MPI_Win_shared_query")]
    pub fn shared_query(&self, rank: Rank) -> Result<(usize, *mut T)> {
        let (bytes, _, start) = self.win.shared_query(rank)?;
        Ok(((bytes / size_of::<T>() as u64) as usize, start.cast()))
    }
}

impl<T: Pod> WindowView<'_, T> {
    /// [`Window::shared_part`] during an epoch. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for windows that were not created by
    /// [`Window::allocate_shared`].
    pub fn shared_part(&self, rank: Rank) -> Result<SharedPart<'_, T>> {
        self.window.shared_part(rank)
    }
}

impl<T: Pod> SharedPart<'_, T> {
    /// Number of elements.
    #[allow(clippy::len_without_is_empty, reason = "a part of no elements is no special case")]
    pub fn len(&self) -> usize {
        (self.all().len() / size_of::<T>() as u64) as usize
    }

    /// Address of the first element in this process.
    pub fn as_ptr(&self) -> *mut T {
        self.all().base().cast()
    }

    fn all(&self) -> Span {
        self.win.memory.shared(self.rank.0)
    }

    /// Copies elements from `index` on into `to`.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[inline]
    pub fn load(&self, index: usize, to: &mut [T]) -> Result<()> {
        match self.win.communication().load_shared(self.part, start_of::<T>(index), to) {
            true => Ok(()),
            false => self.load_slowly(index, to),
        }
    }

    /// Copies `from` to the elements from `index` on.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[inline]
    pub fn store(&self, index: usize, from: &[T]) -> Result<()> {
        let part = (self.rank, self.part);
        match self.win.communication().store_shared(part, start_of::<T>(index), from) {
            true => Ok(()),
            false => self.store_slowly(index, from),
        }
    }

    /// The element at `index`.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[inline]
    pub fn load_one(&self, index: usize) -> Result<T> {
        let mut value = T::zeroed();
        self.load(index, std::slice::from_mut(&mut value))?;
        Ok(value)
    }

    /// Stores `value` at `index`.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[inline]
    pub fn store_one(&self, index: usize, value: T) -> Result<()> {
        self.store(index, &[value])
    }

    #[cold]
    fn load_slowly(&self, index: usize, to: &mut [T]) -> Result<()> {
        match self.win.communication().load_shared(self.all(), start_of::<T>(index), to) {
            true => Ok(()),
            false => self.outside(index, to.len()),
        }
    }

    #[cold]
    fn store_slowly(&self, index: usize, from: &[T]) -> Result<()> {
        let part = (self.rank, self.all());
        match self.win.communication().store_shared(part, start_of::<T>(index), from) {
            true => Ok(()),
            false => self.outside(index, from.len()),
        }
    }

    #[cold]
    fn outside(&self, index: usize, count: usize) -> Result<()> {
        let (calls, unit) = (&self.win.calls, size_of::<T>() as u64);
        calls.handled(Err(Error::Range {
            at: calls.place(Call::SharedAccess),
            target: self.rank,
            displacement: index as u64,
            bytes: (count as u64).saturating_mul(unit),
            disp_unit: unit as u32,
            size: self.all().len(),
        }))
    }
}

/// The first byte of an element; of one that no memory has, the last there may be.
#[inline]
fn start_of<T>(index: usize) -> u64 {
    (index as u64).saturating_mul(size_of::<T>() as u64)
}
