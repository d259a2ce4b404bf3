//! Windows over the program's own memory, and how it gets that memory back.

use super::{Window, WindowView};
use crate::call::Call;
use crate::comm::Comm;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::memory::{Exposed, WindowMemory};
use crate::window::WindowOptions;
use bytemuck::Pod;

impl WindowOptions {
    /// Creates a window over `memory`; see [`Window::create`].
    ///
    /// # Errors
    /// [`Error::Unreachable`] on all ranks if the system forbids one of them to access private memory of
    /// another; [`Error::DispUnit`] for a unit that is not from 1 to 2³¹ - 1; [`Error::NoMemory`];
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn create<T: Pod>(
        &self,
        comm: &Comm,
        memory: impl Into<WindowMemory<T>>,
    ) -> Result<Window<T>> {
        // Stays in any case: another rank may have its window although the job has just failed.
        let exposed = Exposed::of(memory.into());
        let win = self.typed().create_bytes(comm, exposed.only(), size_of::<T>() as u64)?;
        Ok(Window::of(win, exposed))
    }

    /// Creates a window without memory; see [`Window::create_dynamic`].
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::RankFailed`].
    #[track_caller]
    pub fn create_dynamic<T: Pod>(&self, comm: &Comm) -> Result<Window<T>> {
        let win = self.typed().create_dynamic_bytes(comm)?;
        Ok(Window::of(win, Exposed::nothing()))
    }
}

impl<T: Pod> Window<T> {
    /// `MPI_Win_create` (MPI-2.2 §11.2.1): exposes existing memory. It is from
    /// [`Universe::alloc_mem`](crate::Universe::alloc_mem), or the program's own (`Vec<T>`,
    /// `Box<[T]>`, `&'static mut [T]`), which other ranks access through the kernel.
    /// [`Window::free_and_take`] returns it.
    ///
    /// Collective; blocks until every rank of `comm` has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Unreachable`] on all ranks if the system forbids one of them to access private memory of
    /// another; the message names what to change. [`Error::NoMemory`], [`Error::RankFailed`]. The memory
    /// then stays until the job ends.
    #[doc(alias = "MPI_Win_create")]
    #[track_caller]
    pub fn create(comm: &Comm, memory: impl Into<WindowMemory<T>>) -> Result<Self> {
        WindowOptions::new().create(comm, memory)
    }

    /// `MPI_Win_create_dynamic` (MPI-4.1 §12.2.4): a window without memory, to which each rank attaches
    /// some later. Displacements are addresses in the target's process, in bytes, as
    /// [`Window::attach`] returns them.
    ///
    /// Collective; blocks until every rank of `comm` has called it.
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_create_dynamic")]
    #[track_caller]
    pub fn create_dynamic(comm: &Comm) -> Result<Self> {
        WindowOptions::new().create_dynamic(comm)
    }

    /// `MPI_Win_attach` (MPI-4.1 §12.2.4): exposes `memory` in a dynamic window, and returns the
    /// displacement of its first element; the others follow byte by byte.
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if it is empty or overlaps attached memory; [`Error::Flavour`],
    /// [`Error::NoMemory`], [`Error::RankFailed`]. The memory is then dropped.
    #[doc(alias = "MPI_Win_attach")]
    pub fn attach(&self, memory: impl Into<WindowMemory<T>>) -> Result<u64> {
        let memory = memory.into();
        self.win.calls.within(Call::Attach, || {
            // Locked over both steps, so that other threads cannot interfere.
            let mut exposed = self.memory.map();
            self.win.memory.attach(&self.win.calls, memory.bytes())?;
            let start = memory.as_ptr() as u64;
            exposed.insert(start, memory);
            Ok(start)
        })
    }

    /// `MPI_Win_detach` (MPI-4.1 §12.2.4): returns the memory that [`Window::attach`] has exposed at
    /// `address`. No rank accesses it any more when this returns.
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if nothing was attached there; [`Error::Flavour`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_detach")]
    pub fn detach(&self, address: u64) -> Result<WindowMemory<T>> {
        self.win.calls.within(Call::Detach, || {
            let mut exposed = self.memory.map();
            self.win.memory.detach(&self.win.calls, address as *mut u8)?;
            Ok(exposed.remove(&address).expect("what is attached is exposed"))
        })
    }

    /// [`Window::free`] that returns the memory which [`Window::create`] or [`Window::attach`] has
    /// exposed, in the order of addresses.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if one of them has an epoch open; [`Error::RankFailed`]. The memory
    /// then stays exposed until the job ends.
    #[track_caller]
    pub fn free_and_take(self) -> Result<Vec<WindowMemory<T>>> {
        let Window { win, memory, .. } = self;
        win.free()?;
        Ok(memory.take())
    }
}

impl<T: Pod> WindowView<'_, T> {
    /// [`Window::attach`] during an epoch. Local; blocks while operations of other ranks on this rank's
    /// attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if it is empty or overlaps attached memory; [`Error::Flavour`],
    /// [`Error::NoMemory`], [`Error::RankFailed`]. The memory is then dropped.
    pub fn attach(&self, memory: impl Into<WindowMemory<T>>) -> Result<u64> {
        self.window.attach(memory)
    }

    /// [`Window::detach`] during an epoch. Local; blocks while operations of other ranks on this rank's
    /// attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if nothing was attached there; [`Error::Flavour`], [`Error::RankFailed`].
    pub fn detach(&self, address: u64) -> Result<WindowMemory<T>> {
        self.window.detach(address)
    }
}
