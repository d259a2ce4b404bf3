//! Errors of a job that another MPI's launcher has started.

use super::{Error, ErrorClass, Place};
use crate::rank::Rank;

/// An error of another MPI, or a call that is not supported over one (docs/foreign.md).
///
/// ```
/// use onesided::{Error, ErrorClass, Universe, Window};
///
/// /// A shared window, if all ranks are on one node, as under rmarun.
/// fn shared(universe: &Universe) -> onesided::Result<Option<Window<u64>>> {
///     match Window::allocate_shared(universe.world(), 100) {
///         Err(Error::Foreign(error)) if error.class == ErrorClass::RmaShared => Ok(None),
///         window => window.map(Some),
///     }
/// }
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// # shared(universe)?.expect("this is rmarun").free()
/// # });
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{at}: {text}")]
pub struct Foreign {
    /// The call that failed.
    pub at: Place,
    /// The other MPI's error class, if this library has it too.
    pub class: ErrorClass,
    /// The other MPI's error string, or what is not supported and why.
    pub text: String,
}

impl Error {
    /// The error of calls that need memory mapped by all ranks, under another MPI's launcher.
    #[cold]
    pub(crate) fn not_foreign(at: Place, what: &str) -> Error {
        let text = format!(
            "{what} is not there under another MPI's launcher, because the ranks share no memory; \
             start the program with rmarun"
        );
        Error::Foreign(Foreign { at, class: ErrorClass::UnsupportedOperation, text })
    }

    /// The error of a window of shared memory over ranks of several nodes.
    #[cold]
    pub(crate) fn not_near(at: Place, one: Rank, other: Rank) -> Error {
        let text = format!(
            "ranks {one} and {other} of the communicator are on different nodes and share no memory; \
             split_type(Shared) gives the ranks of one node"
        );
        Error::Foreign(Foreign { at, class: ErrorClass::RmaShared, text })
    }

    /// An error string of another MPI, with the number of its class (MPI 5.0 ABI).
    #[cold]
    pub(crate) fn of_foreign(at: Place, class: i32, text: &str) -> Error {
        let class = ErrorClass::of_abi(class);
        Error::Foreign(Foreign { at, class, text: format!("the MPI underneath says: {text}") })
    }
}

impl ErrorClass {
    /// The class of that number in the MPI 5.0 ABI (`capi/abi/constants.txt`).
    fn of_abi(number: i32) -> ErrorClass {
        match number {
            1 => ErrorClass::Buffer,
            2 => ErrorClass::Count,
            3 => ErrorClass::Type,
            5 => ErrorClass::Comm,
            6 => ErrorClass::Rank,
            8 => ErrorClass::Root,
            9 => ErrorClass::Group,
            10 => ErrorClass::Op,
            13 => ErrorClass::Arg,
            22 => ErrorClass::Assert,
            24 => ErrorClass::Base,
            26 => ErrorClass::Disp,
            39 => ErrorClass::NoMem,
            46 => ErrorClass::RmaAttach,
            47 => ErrorClass::RmaConflict,
            48 => ErrorClass::RmaRange,
            49 => ErrorClass::RmaShared,
            50 => ErrorClass::RmaSync,
            52 => ErrorClass::Size,
            55 => ErrorClass::UnsupportedOperation,
            57 => ErrorClass::RmaFlavor,
            58 => ErrorClass::ProcFailed,
            _ => ErrorClass::Other,
        }
    }
}
