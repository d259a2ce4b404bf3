//! How a window is made.

use crate::comm::Comm;

/// How a window is made; local choices may differ between ranks unless they say otherwise.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::{Window, WindowOptions};
/// let world = universe.world();
/// let halo: Window<f64> = WindowOptions::new().name("halo").allocate(world, 1024)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct WindowOptions {
    name: Option<String>,
    pub(super) disp_unit: Option<u64>,
    pub(super) noncontig: bool,
}

impl WindowOptions {
    /// No name, and the size of an element as displacement unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// `MPI_Win_set_name`: the name that errors and reports use.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The displacement unit of this rank's part, in bytes, from 1 to 2³¹-1.
    pub fn disp_unit(mut self, bytes: u64) -> Self {
        self.disp_unit = Some(bytes);
        self
    }

    /// `alloc_shared_noncontig` (MPI-4.1 §12.2.3): the parts of a shared window need not follow
    /// one another, so each gets cache lines of its own. Counts if every rank says so.
    pub fn noncontig(mut self) -> Self {
        self.noncontig = true;
        self
    }

    /// The name chosen, or the window's number among those of `comm`.
    pub(super) fn name_for(&self, comm: &Comm) -> String {
        let number = comm.count_window();
        self.name.clone().unwrap_or_else(|| format!("#{number}"))
    }
}
