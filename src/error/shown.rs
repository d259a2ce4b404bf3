//! How errors are shown, and made of what the system says.

use super::Error;
use std::fmt;

/// What every call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The sentence, not the structure: `fn main() -> onesided::Result<()>` prints errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.class())
    }
}

/// A rank, where it may be the one that is none.
pub(super) fn rank(rank: &u32) -> String {
    match *rank {
        u32::MAX => "MPI_PROC_NULL (Rank::NULL)".into(),
        rank => rank.to_string(),
    }
}

/// What to do about memory of another process that cannot be reached, by what the system says.
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

pub(super) fn holding(lock_of: &Option<u32>) -> String {
    lock_of.map_or_else(String::new, |rank| format!("; it held the exclusive lock of rank {rank}"))
}

impl Error {
    /// A refusal of the operating system.
    pub(crate) fn system(what: &'static str, source: impl Into<std::io::Error>) -> Error {
        Error::System { what, source: source.into() }
    }
}
