//! The standard's error classes, and the class of each error.

use super::Error;

/// Error classes: Table 11.1 of MPI-2.2 §11.6.2 and their neighbours in MPI-4.1 §9.4.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let error = universe.world().send(&[1], Rank(2), 0).unwrap_err();
/// assert_eq!(error.class(), onesided::ErrorClass::Rank);
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// `MPI_ERR_RANK`
    Rank,
    /// `MPI_ERR_COUNT`
    Count,
    /// `MPI_ERR_TYPE`
    Type,
    /// `MPI_ERR_OP`
    Op,
    /// `MPI_ERR_GROUP`
    Group,
    /// `MPI_ERR_ROOT`
    Root,
    /// `MPI_ERR_SIZE`
    Size,
    /// `MPI_ERR_DISP`
    Disp,
    /// `MPI_ERR_ASSERT`
    Assert,
    /// `MPI_ERR_RMA_SYNC`
    RmaSync,
    /// `MPI_ERR_RMA_CONFLICT`
    RmaConflict,
    /// `MPI_ERR_RMA_RANGE`
    RmaRange,
    /// `MPI_ERR_RMA_ATTACH`
    RmaAttach,
    /// `MPI_ERR_RMA_SHARED`
    RmaShared,
    /// `MPI_ERR_RMA_FLAVOR`
    RmaFlavor,
    /// `MPI_ERR_BASE`
    Base,
    /// `MPI_ERR_NO_MEM`
    NoMem,
    /// `MPI_ERR_PROC_FAILED` (User-Level Failure Mitigation)
    ProcFailed,
    /// `MPI_ERR_COMM`
    Comm,
    /// `MPI_ERR_BUFFER`
    Buffer,
    /// `MPI_ERR_KEYVAL`
    Keyval,
    /// `MPI_ERR_INFO_KEY`
    InfoKey,
    /// `MPI_ERR_INFO_VALUE`
    InfoValue,
    /// `MPI_ERR_INFO_NOKEY`
    InfoNokey,
    /// `MPI_ERR_TAG`
    Tag,
    /// `MPI_ERR_TRUNCATE`
    Truncate,
    /// `MPI_ERR_ARG`
    Arg,
    /// `MPI_ERR_UNSUPPORTED_OPERATION`
    UnsupportedOperation,
    /// `MPI_ERR_OTHER`
    Other,
}

/// What the ranks of a collective do not agree on ([`Error::Mismatch`]).
///
/// ```
/// use onesided::{Error, MismatchKind, Op};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let op = if world.rank() == 0 { Op::Sum } else { Op::Max };
/// match world.allreduce(&[1], op) {
///     Err(Error::Mismatch { kind, .. }) => assert_eq!(kind, MismatchKind::Operation),
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MismatchKind {
    /// The call, or an argument that has no kind of its own: class ARG.
    Call,
    /// The root: class ROOT.
    Root,
    /// The operation of a reduction: class OP.
    Operation,
    /// How long the data are: class TRUNCATE.
    Length,
    /// The basic datatypes of the data: class TYPE.
    Datatype,
}

impl MismatchKind {
    fn class(self) -> ErrorClass {
        match self {
            MismatchKind::Call => ErrorClass::Arg,
            MismatchKind::Root => ErrorClass::Root,
            MismatchKind::Operation => ErrorClass::Op,
            MismatchKind::Length => ErrorClass::Truncate,
            MismatchKind::Datatype => ErrorClass::Type,
        }
    }
}

impl Error {
    /// The error class of the standard.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Range { .. } | Error::LayoutRange { .. } | Error::NotAttached { .. } => {
                ErrorClass::RmaRange
            }
            Error::TargetRank { .. } | Error::Peer { .. } => ErrorClass::Rank,
            Error::Root { .. } => ErrorClass::Root,
            Error::Epoch { .. } => ErrorClass::RmaSync,
            Error::Assertion { .. } => ErrorClass::Assert,
            Error::Count { .. } | Error::Reach { .. } => ErrorClass::Count,
            Error::Datatype { .. } => ErrorClass::Type,
            Error::Operation { .. } => ErrorClass::Op,
            Error::Conflict { .. } => ErrorClass::RmaConflict,
            Error::Size { .. } => ErrorClass::Size,
            Error::DispUnit { .. } | Error::Alignment { .. } => ErrorClass::Disp,
            Error::Group { .. } => ErrorClass::Group,
            Error::Base { .. } => ErrorClass::Base,
            Error::Attach { .. } => ErrorClass::RmaAttach,
            Error::Flavour { .. } => ErrorClass::RmaFlavor,
            Error::Unreachable { .. } => ErrorClass::RmaShared,
            Error::NoMemory { .. } => ErrorClass::NoMem,
            Error::RankFailed { .. } => ErrorClass::ProcFailed,
            Error::Communicator { .. } => ErrorClass::Comm,
            Error::Buffer { .. } => ErrorClass::Buffer,
            Error::Keyval { .. } => ErrorClass::Keyval,
            Error::InfoKey { .. } => ErrorClass::InfoKey,
            Error::InfoValue { .. } => ErrorClass::InfoValue,
            Error::InfoNokey { .. } => ErrorClass::InfoNokey,
            Error::Tag { .. } => ErrorClass::Tag,
            Error::Truncated { .. } => ErrorClass::Truncate,
            Error::Argument { .. } => ErrorClass::Arg,
            Error::Mismatch { kind, .. } => kind.class(),
            Error::Foreign(foreign) => foreign.class,
            Error::Attribute { .. }
            | Error::NotInJob { .. }
            | Error::AlreadyInitialised
            | Error::Forked { .. }
            | Error::Damaged { .. }
            | Error::System { .. } => ErrorClass::Other,
        }
    }
}
