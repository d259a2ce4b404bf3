//! How errors are shown, and made of the system's errors.

use super::Error;
use crate::rank::Rank;
use std::fmt;

/// The result of a call.
///
/// ```
/// fn size() -> onesided::Result<u32> {
///     let universe = onesided::Universe::init()?;
///     Ok(universe.world().size())
/// }
/// assert_eq!(size()?, 1);
/// # Ok::<(), onesided::Error>(())
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// The sentence, not the structure: `fn main() -> onesided::Result<()>` prints errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.class())
    }
}

/// A rank, which may be [`Rank::NULL`](crate::Rank::NULL).
pub(super) fn rank(rank: &Rank) -> String {
    match *rank {
        Rank::NULL => "MPI_PROC_NULL (Rank::NULL)".into(),
        rank => rank.to_string(),
    }
}

/// The remedy for inaccessible memory of another process, by the system's error.
pub(super) fn remedy(source: &std::io::Error) -> &'static str {
    /// Of Linux.
    const EFAULT: i32 = 14;
    match source.raw_os_error() {
        Some(EFAULT) => {
            ": in that process it is not mapped any more, or is read-only; memory that a window \
             exposes stays until the window is freed"
        }
        Some(_) => {
            "; use memory from alloc_mem or a window from allocate, or allow process_vm_readv and \
             process_vm_writev between the processes of this user (kernel.yama.ptrace_scope below 2; \
             in a container, a seccomp profile that permits them, or CAP_SYS_PTRACE)"
        }
        None => "",
    }
}

pub(super) fn holding(lock_of: &Option<Rank>) -> String {
    lock_of.map_or_else(String::new, |rank| format!("; it held the exclusive lock of rank {rank}"))
}

impl Error {
    /// An error of the operating system.
    pub(crate) fn system(what: &'static str, source: impl Into<std::io::Error>) -> Error {
        Error::System { what, source: source.into() }
    }
}
