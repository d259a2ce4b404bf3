//! How a window is made.

use super::Flavour;
use super::hints::{Hints, NONCONTIG, RESERVE};
use crate::comm::Comm;
use crate::info::Info;

/// Options of a new window. Ranks may choose different ones, except where a method requires the same.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::{Window, WindowOptions};
/// let world = universe.world();
/// let halo: Window<f64> = WindowOptions::new().name("halo").allocate(world, 1024)?;
/// # Ok(()) }
/// ```
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let options = WindowOptions::new().name("counters").notifications(1);
/// let window = options.allocate::<u64>(world, 8)?;
/// assert_eq!((window.name(), window.len()), ("counters".to_owned(), 8));
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct WindowOptions {
    name: Option<String>,
    pub(super) disp_unit: Option<u64>,
    pub(super) notifications: u32,
    pub(super) hints: Hints,
}

impl WindowOptions {
    /// No name, and the size of an element as displacement unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// `MPI_Win_set_name`: the name that errors and reports use.
    #[doc(alias = "MPI_Win_set_name")]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The displacement unit of this rank's part, in bytes, from 1 to 2³¹-1.
    pub fn disp_unit(mut self, bytes: u64) -> Self {
        self.disp_unit = Some(bytes);
        self
    }

    /// Gives this rank `counters` notification counters of 64 bytes each (an extension, see
    /// [`Win::put_notify`](crate::engine::Win::put_notify)). The default is none. Ranks may have
    /// different numbers.
    pub fn notifications(mut self, counters: u32) -> Self {
        self.notifications = counters;
        self
    }

    /// `alloc_shared_noncontig` (MPI-4.1 §12.2.3): the parts of a shared window need not be contiguous,
    /// so each gets cache lines of its own. In force if every rank gives it.
    pub fn noncontig(mut self) -> Self {
        self.hints.flags |= NONCONTIG;
        self
    }

    /// Reserves the memory of this rank's part when the window is made (an extension; info key
    /// `onesided_reserve`). Otherwise a page gets memory when it is first touched, except where that could
    /// fail: in a segment with a name or in `/dev/shm`, and where the kernel does not overcommit.
    pub fn reserve(mut self) -> Self {
        self.hints.flags |= RESERVE;
        self
    }

    /// Info keys (MPI-4.1 §12.2.1): `no_locks`, `same_size`, `same_disp_unit`, `accumulate_ordering`,
    /// `accumulate_ops`, `mpi_accumulate_granularity`, `alloc_shared_noncontig`,
    /// `mpi_minimum_memory_alignment`, and of this library `onesided_huge_pages`, `onesided_populate`,
    /// `onesided_reserve` and `onesided_numa_node`. Others are ignored, and so are invalid values;
    /// [`Window::info`](crate::Window::info) returns the values in force. `mpi_minimum_memory_alignment`
    /// makes no operation faster: parts are aligned to 128 bytes anyway (`docs/performance.md`).
    pub fn info(mut self, info: &Info) -> Self {
        self.hints.read(info);
        self
    }

    /// These options for a [`Window`](crate::Window).
    pub(crate) fn typed(&self) -> WindowOptions {
        WindowOptions { hints: self.hints.typed(), ..self.clone() }
    }

    /// Begins to create a window: every rank counts it from now on. `flags` are the hints of every rank.
    pub(super) fn making<'a>(
        &self,
        comm: &'a Comm,
        flavour: Flavour,
        flags: impl Iterator<Item = u64>,
    ) -> Making<'a> {
        let number = comm.count_window();
        let name = self.name.clone().unwrap_or_else(|| format!("#{number}"));
        Making { comm, flavour, number, name, hints: self.hints.agreed(flags) }
    }
}

/// A window in the making.
pub(super) struct Making<'a> {
    pub(super) comm: &'a Comm,
    pub(super) flavour: Flavour,
    /// Among the windows over `comm`, the same on all ranks.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) hints: Hints,
}
