//! A window of elements.

use super::{AccessSide, ExposureSide};
use crate::comm::Comm;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::{Group, Rank};
use crate::handler::ErrorHandler;
use crate::info::Info;
use crate::memory::Exposed;
use crate::window::{Flavour, LeftEpoch, MemoryModel, Torn, Win, WinKeyval, WindowOptions};
use bytemuck::Pod;
use std::any::Any;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A window (`MPI_Win`): memory of every rank of a communicator, with elements of type `T`, which all
/// ranks access by one-sided operations.
///
/// `T` is any plain data of at least one byte ([`Pod`](crate::Pod), also by derive). Put, get, and local loads and stores move
/// it. Accumulates, `fetch_and_op` and `compare_and_swap` combine the standard's elements alone
/// ([`Element`](crate::Element)).
///
/// ```no_run
/// use onesided::prelude::*;
///
/// #[derive(Clone, Copy, Pod)]
/// #[repr(C)]
/// struct Particle {
///     place: [f64; 3],
///     mass: f64,
/// }
///
/// # fn send(world: &Comm, leaving: &[Particle]) -> onesided::Result<()> {
/// let mut window = Window::<Particle>::allocate(world, 100)?;
/// let epoch = window.fence()?;
/// epoch.put(leaving, Rank((world.rank().0 + 1) % world.size()), 0)?;
/// epoch.close()?;
/// let first = window.load_one(0)?;
/// # window.free()
/// # }
/// ```
///
/// A type without bytes is refused by the compiler, where the window is created:
///
/// ```compile_fail,E0080
/// # fn create(world: &onesided::Comm) -> onesided::Result<()> {
/// onesided::Window::<()>::allocate(world, 1)?.free()
/// # }
/// # fn main() { onesided::Universe::init().and_then(|universe| create(universe.world())).unwrap() }
/// ```
///
/// Displacements are in the target's displacement units, by default one element. [`Window::free`]
/// frees a window. One that is dropped keeps its memory until the job ends; rank 0 then warns of it.
#[must_use = "the memory of a window stays until the job ends if it is not freed"]
pub struct Window<T: Pod> {
    pub(super) win: Win,
    pub(super) memory: Exposed<T>,
    pub(super) elements: PhantomData<T>,
    /// Where the latest fence epoch began that had a guard; before the first, where the window was made.
    pub(super) fenced: &'static Location<'static>,
}

impl<T: Pod> std::fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Window").field(&self.win).finish()
    }
}

impl<T: Pod> Window<T> {
    /// The window over `win`, with the memory of the program that it exposes.
    #[track_caller]
    pub(super) fn of(win: Win, memory: Exposed<T>) -> Self {
        Window { win, memory, elements: PhantomData, fenced: Location::caller() }
    }

    /// `MPI_Win_allocate` (MPI-4.1 §12.2.2): a window with `len` zeroed elements for this rank. The ranks
    /// may give different lengths, 0 included. [`WindowOptions`] sets a name and another displacement
    /// unit.
    ///
    /// Collective; blocks until every rank of `comm` has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::NoMemory`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_allocate")]
    #[track_caller]
    pub fn allocate(comm: &Comm, len: usize) -> Result<Self> {
        WindowOptions::new().allocate(comm, len)
    }

    /// `MPI_Win_free`. Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if one of them has left an epoch open by dropping its guard;
    /// [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_free")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.free_and_take().map(drop)
    }

    /// Makes the window usable again after ranks of it have failed, and returns all failed ranks. See
    /// [`Win::recover`].
    ///
    /// Collective over the surviving ranks; blocks until each of them has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks if they recover different windows; [`Error::NoMemory`] on all
    /// ranks; [`Error::RankFailed`] if the job ends.
    #[track_caller]
    pub fn recover(&mut self) -> Result<Vec<Rank>> {
        let failed = self.win.recover()?;
        let both = [LeftEpoch::Fence, LeftEpoch::Exposure];
        both.into_iter().for_each(|epoch| self.win.calls.ended(epoch));
        Ok(failed)
    }

    /// The writes in progress when ranks of the window failed; see [`Win::torn`]. Local; does not block.
    pub fn torn(&self) -> Vec<Torn> {
        self.win.torn()
    }

    /// Elements of this rank's part.
    #[allow(clippy::len_without_is_empty, reason = "a part of no elements is no special case")]
    pub fn len(&self) -> usize {
        (self.win.memory.bytes_of(self.win.comm().rank().0) / size_of::<T>() as u64) as usize
    }

    /// `MPI_WIN_SIZE` of the part of `rank`, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_WIN_SIZE")]
    pub fn size(&self, rank: Rank) -> Result<usize> {
        self.win.size(rank).map(|bytes| bytes as usize)
    }

    /// `MPI_WIN_DISP_UNIT` of the part of `rank`, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_WIN_DISP_UNIT")]
    pub fn disp_unit(&self, rank: Rank) -> Result<u32> {
        self.win.disp_unit(rank)
    }

    /// `MPI_WIN_BASE`: the address of this rank's part in this process.
    #[doc(alias = "MPI_WIN_BASE")]
    pub fn base(&self) -> *mut T {
        self.win.base().cast()
    }

    /// `MPI_WIN_CREATE_FLAVOR`
    #[doc(alias = "MPI_WIN_CREATE_FLAVOR")]
    pub fn flavour(&self) -> Flavour {
        self.win.flavour()
    }

    /// `MPI_WIN_MODEL`
    #[doc(alias = "MPI_WIN_MODEL")]
    pub fn model(&self) -> MemoryModel {
        self.win.model()
    }

    /// `MPI_Win_set_errhandler` (MPI-4.1 §9.3): the handler of errors of calls on the window. The default
    /// is the communicator's. Local.
    #[doc(alias = "MPI_Win_set_errhandler")]
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        self.win.set_error_handler(handler);
    }

    /// `MPI_Win_get_errhandler`
    #[doc(alias = "MPI_Win_get_errhandler")]
    pub fn error_handler(&self) -> ErrorHandler {
        self.win.error_handler()
    }

    /// `MPI_Win_get_group`
    #[doc(alias = "MPI_Win_get_group")]
    pub fn group(&self) -> Group {
        self.win.group()
    }

    /// `MPI_Win_get_name`
    #[doc(alias = "MPI_Win_get_name")]
    pub fn name(&self) -> String {
        self.win.name()
    }

    /// `MPI_Win_set_name` (MPI-4.1 §7.8): the name in this rank's errors, and in the
    /// launcher's reports.
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) {
        self.win.set_name(name);
    }

    /// `MPI_Win_get_info` (MPI-4.1 §12.2.7): the hints in force. Local; does not block.
    #[doc(alias = "MPI_Win_get_info")]
    pub fn info(&self) -> Info {
        self.win.info()
    }

    /// `MPI_Win_set_info` (MPI-4.1 §12.2.7): see [`Win::set_info`].
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_set_info")]
    #[track_caller]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        self.win.set_info(info)
    }

    /// `MPI_Win_set_attr`: see [`Win::set_attribute`].
    ///
    /// # Errors
    /// [`Error::Keyval`] if the key was freed; [`Error::Attribute`] if the delete callback of an older
    /// value fails.
    #[doc(alias = "MPI_Win_set_attr")]
    pub fn set_attribute<V: Any + Send + Sync>(&self, key: &WinKeyval<V>, value: V) -> Result<()> {
        self.win.set_attribute(key, value)
    }

    /// `MPI_Win_get_attr`: see [`Win::attribute`].
    #[doc(alias = "MPI_Win_get_attr")]
    pub fn attribute<V: Any + Send + Sync>(&self, key: &WinKeyval<V>) -> Option<Arc<V>> {
        self.win.attribute(key)
    }

    /// `MPI_Win_delete_attr`: see [`Win::delete_attribute`].
    ///
    /// # Errors
    /// [`Error::Attribute`] if the delete callback fails; the attribute stays.
    #[doc(alias = "MPI_Win_delete_attr")]
    pub fn delete_attribute<V: Any + Send + Sync>(&self, key: &WinKeyval<V>) -> Result<bool> {
        self.win.delete_attribute(key)
    }

    /// The communicator that the window was allocated over.
    pub fn comm(&self) -> &Comm {
        self.win.comm()
    }

    /// Local load: copies elements of this rank's own part, from displacement `disp` on.
    ///
    /// Allowed at any time. Which operations of other ranks it sees depends on synchronisation (MPI-2.2
    /// §11.7). For a slice see [`Window::lock_local`].
    ///
    /// # Errors
    /// [`Error::Range`]
    #[track_caller]
    pub fn load(&self, disp: usize, to: &mut [T]) -> Result<()> {
        self.win.load(disp as u64, to)
    }

    /// Local load of one element.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[track_caller]
    pub fn load_one(&self, disp: usize) -> Result<T> {
        let mut value = T::zeroed();
        self.win.load(disp as u64, std::slice::from_mut(&mut value))?;
        Ok(value)
    }

    /// Local store: copies elements to this rank's own part, from displacement `disp` on.
    ///
    /// # Errors
    /// [`Error::Range`]
    #[track_caller]
    pub fn store(&self, disp: usize, from: &[T]) -> Result<()> {
        self.win.store(disp as u64, from)
    }

    /// `MPI_Win_sync`: orders this rank's local loads and stores before it against those after
    /// it. Local; never blocks.
    #[doc(alias = "MPI_Win_sync")]
    pub fn sync(&self) {
        self.win.sync();
    }

    /// The two independent sides of post-start-complete-wait, which may overlap in time: start on
    /// one, post on the other.
    pub fn sides(&mut self) -> (AccessSide<'_, T>, ExposureSide<'_, T>) {
        (AccessSide { window: self }, ExposureSide { window: self })
    }
}

impl WindowOptions {
    /// Allocates a window of `len` elements for this rank; see [`Window::allocate`].
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::NoMemory`], [`Error::RankFailed`]; [`Error::DispUnit`] for a unit that
    /// is not from 1 to 2³¹ - 1.
    #[track_caller]
    pub fn allocate<T: Pod>(&self, comm: &Comm, len: usize) -> Result<Window<T>> {
        let unit = size_of::<T>() as u64;
        // A length whose bytes do not fit 64 bits does not fit the address space either: the collective
        // check of the sizes returns an error on all ranks.
        let bytes = (len as u64).saturating_mul(unit);
        let win = self.typed().allocate_bytes(comm, bytes, unit)?;
        Ok(Window::of(win, Exposed::nothing()))
    }
}
