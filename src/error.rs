//! The one error type, and the only place with sentences for the user.
//!
//! Every error names call, window, ranks and values. A call that fails for its arguments or its epoch
//! has changed nothing. [`Error::class`] returns MPI's error class.

mod class;
mod foreign;
mod place;
mod shown;

use crate::rank::Rank;

pub use {class::ErrorClass, class::MismatchKind, foreign::Foreign, place::Place, shown::Result};

/// An error of a call. Lengths and displacements are as the caller gave them.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate(world, 1)?;
/// let error = window.load_one(7).unwrap_err();
/// assert_eq!(error.class(), onesided::ErrorClass::RmaRange);
/// println!("{error}"); // names the window, the element, and how many there are
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The target buffer leaves the target's window (MPI-2.2 §11.3.1).
    #[error(
        "{at}: {bytes} bytes at displacement {displacement} (unit {disp_unit} bytes) leave the \
         window of rank {target}, which has {size} bytes"
    )]
    Range {
        /// The call that failed.
        at: Place,
        /// The target.
        target: Rank,
        /// In displacement units of the target.
        displacement: u64,
        /// Bytes from there.
        bytes: u64,
        /// The target's displacement unit, in bytes.
        disp_unit: u32,
        /// The size of the target's window, in bytes.
        size: u64,
    },
    /// The target buffer leaves the target's window (MPI-2.2 §11.3.1), and its bytes do not begin at
    /// its displacement.
    #[error(
        "{at}: bytes {start} to {end} from displacement {displacement} (unit {disp_unit} bytes) on \
         leave the window of rank {target}, which has {size} bytes"
    )]
    LayoutRange {
        /// The call that failed.
        at: Place,
        /// The target.
        target: Rank,
        /// In displacement units of the target.
        displacement: u64,
        /// The first byte of the layout, relative to the displacement.
        start: i64,
        /// The byte after its last.
        end: i64,
        /// The target's displacement unit, in bytes.
        disp_unit: u32,
        /// The size of the target's window, in bytes.
        size: u64,
    },
    /// The target is no rank of the window.
    #[error("{at}: there is no rank {}; the window has {ranks} ranks", shown::rank(.target))]
    TargetRank {
        /// The call that failed.
        at: Place,
        /// The given rank.
        target: Rank,
        /// Ranks of the window.
        ranks: u32,
    },
    /// The root of a collective is no rank of the communicator.
    #[error(
        "{at}: there is no rank {} to be the root; the communicator has {ranks} ranks",
        shown::rank(.root)
    )]
    Root {
        /// The call that failed.
        at: Place,
        /// The given rank.
        root: Rank,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// The call is not allowed in the present epoch (`MPI_ERR_RMA_SYNC`).
    #[error("{at}: {problem}")]
    Epoch {
        /// The call that failed.
        at: Place,
        /// The present epoch, and the epoch that the call needs.
        problem: String,
    },
    /// An assertion that is not valid for the call, or that is visibly false.
    #[error("{at}: {assertion} is asserted, but {why}")]
    Assertion {
        /// The call that failed.
        at: Place,
        /// Its name in the standard.
        assertion: &'static str,
        /// What contradicts it.
        why: String,
    },
    /// A buffer does not have the length that the call needs.
    #[error("{at}: the {what} has {found} elements, but {needed} are needed")]
    Count {
        /// The call that failed.
        at: Place,
        /// Which buffer.
        what: &'static str,
        /// Its length in elements.
        found: usize,
        /// The length it must have.
        needed: usize,
    },
    /// A buffer larger than an address space (`MPI_ERR_COUNT`).
    #[error("{at}: {buffer} reaches farther than 2^63 - 1 bytes")]
    Reach {
        /// The call that failed.
        at: Place,
        /// The buffer, described by its elements if they are known.
        buffer: String,
    },
    /// The datatype cannot be used in the call.
    #[error("{at}: datatype {datatype} cannot be used: {why}")]
    Datatype {
        /// The call that failed.
        at: Place,
        /// Its name, or its constructor.
        datatype: String,
        /// The rule.
        why: &'static str,
    },
    /// The operation is not defined for the datatype (MPI-2.2 §5.9.2).
    #[error("{at}: operation {op} is not defined for datatype {datatype}")]
    Operation {
        /// The call that failed.
        at: Place,
        /// The operation's name in the standard.
        op: &'static str,
        /// The datatype's name in the standard.
        datatype: &'static str,
    },
    /// The origin buffer overlaps the target range of the same call.
    #[error(
        "{at}: the origin buffer overlaps the {bytes} target bytes at displacement {displacement} \
         of rank {target}"
    )]
    Conflict {
        /// The call that failed.
        at: Place,
        /// The target.
        target: Rank,
        /// In displacement units of the target.
        displacement: u64,
        /// Bytes of the target range.
        bytes: u64,
    },
    /// Invalid arguments (`MPI_ERR_ARG`).
    #[error("{at}: {problem}")]
    Argument {
        /// The call that failed.
        at: Place,
        /// Which value, and why.
        problem: String,
    },
    /// An invalid window size (`MPI_ERR_SIZE`).
    #[error("{at}: {problem}")]
    Size {
        /// The call that failed.
        at: Place,
        /// Which size, of which rank.
        problem: String,
    },
    /// An invalid displacement unit (`MPI_ERR_DISP`).
    #[error(
        "{at}: rank {rank} gave displacement unit {}; it must be from 1 to 2^31-1",
        *.disp_unit as i64
    )]
    DispUnit {
        /// The call that failed.
        at: Place,
        /// The rank that gave it.
        rank: Rank,
        /// The unit, in bytes; a binding's negative one as two's complement.
        disp_unit: u64,
    },
    /// An element that must be aligned to its size and is not (`MPI_ERR_DISP`).
    #[error(
        "{at}: the element at displacement {displacement} (unit {disp_unit} bytes) does not lie at \
         an address aligned to its {bytes} bytes"
    )]
    Alignment {
        /// The call that failed.
        at: Place,
        /// In displacement units of the part's owner.
        displacement: u64,
        /// That displacement unit, in bytes.
        disp_unit: u32,
        /// Size and alignment of the element, in bytes.
        bytes: usize,
    },
    /// The target buffer is not in memory that the target has attached (`MPI_ERR_RMA_RANGE`).
    #[error("{at}: no region that rank {target} has attached holds {bytes} bytes at {address:#x}")]
    NotAttached {
        /// The call that failed.
        at: Place,
        /// The target.
        target: Rank,
        /// In the target's process.
        address: u64,
        /// Bytes from there.
        bytes: u64,
    },
    /// Memory that cannot be exposed (`MPI_ERR_BASE`).
    #[error("{at}: {problem}")]
    Base {
        /// The call that failed.
        at: Place,
        /// What is wrong with the address.
        problem: String,
    },
    /// Memory that cannot be attached or detached (`MPI_ERR_RMA_ATTACH`).
    #[error("{at}: {problem}")]
    Attach {
        /// The call that failed.
        at: Place,
        /// What is wrong with the region.
        problem: String,
    },
    /// The window does not have the flavour that the call needs (`MPI_ERR_RMA_FLAVOR`).
    #[error("{at}: the window was made by {flavour}, but the call needs {needed}")]
    Flavour {
        /// The call that failed.
        at: Place,
        /// The call that created the window.
        flavour: &'static str,
        /// The windows that are valid for the call.
        needed: &'static str,
    },
    /// Private memory of a rank that another rank cannot reach (`MPI_ERR_RMA_SHARED`).
    #[error(
        "{at}: rank {rank} cannot reach the private memory of rank {owner} ({source}){}",
        shown::remedy(source)
    )]
    Unreachable {
        /// The call that failed.
        at: Place,
        /// The rank without access.
        rank: Rank,
        /// The owner of the memory.
        owner: Rank,
        /// The system's error.
        source: std::io::Error,
    },
    /// A group that is not valid for the call (`MPI_ERR_GROUP`, or `MPI_ERR_RANK` for a rank of it).
    #[error("{at}: {problem}")]
    Group {
        /// The call that failed.
        at: Place,
        /// What is wrong with which rank.
        problem: String,
    },
    /// A communicator that the call cannot use, at present or at all (`MPI_ERR_COMM`).
    #[error("{at}: {problem}")]
    Communicator {
        /// The call that failed.
        at: Place,
        /// What is wrong with it.
        problem: String,
    },
    /// A buffer that the call needs was not given (`MPI_ERR_BUFFER`).
    #[error("{at}: {problem}")]
    Buffer {
        /// The call that failed.
        at: Place,
        /// Which buffer.
        problem: &'static str,
    },
    /// An attribute key that was freed (`MPI_ERR_KEYVAL`).
    #[error("{at}: the attribute key has been freed")]
    Keyval {
        /// The call that failed.
        at: Place,
    },
    /// A copy or delete callback of an attribute has returned an error.
    #[error("{at}: {problem}")]
    Attribute {
        /// The call that failed.
        at: Place,
        /// The callback, its rank and its error.
        problem: String,
    },
    /// An invalid info key (`MPI_ERR_INFO_KEY`).
    #[error("{at}: {problem}")]
    InfoKey {
        /// The call that failed.
        at: Place,
        /// What is wrong with the key.
        problem: String,
    },
    /// An invalid info value (`MPI_ERR_INFO_VALUE`).
    #[error("{at}: {problem}")]
    InfoValue {
        /// The call that failed.
        at: Place,
        /// The key, and what is wrong with its value.
        problem: String,
    },
    /// An info key that is not set (`MPI_ERR_INFO_NOKEY`).
    #[error("{at}: the info key '{key}' is not set")]
    InfoNokey {
        /// The call that failed.
        at: Place,
        /// The key.
        key: String,
    },
    /// The other side of a message is no rank of the communicator (`MPI_ERR_RANK`).
    #[error("{at}: there is no rank {}; the communicator has {ranks} ranks", shown::rank(.peer))]
    Peer {
        /// The call that failed.
        at: Place,
        /// The given rank.
        peer: Rank,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// A negative tag (`MPI_ERR_TAG`).
    #[error("{at}: tag {tag} is negative")]
    Tag {
        /// The call that failed.
        at: Place,
        /// The tag.
        tag: i32,
    },
    /// A message longer than its buffer (`MPI_ERR_TRUNCATE`). The message is lost, and nothing was
    /// written.
    #[error(
        "{at}: the message from rank {from}, tag {tag}, has {sent} bytes, the buffer {capacity}"
    )]
    Truncated {
        /// The call that failed.
        at: Place,
        /// Its sender, as a rank of the communicator.
        from: Rank,
        /// Its tag.
        tag: i32,
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        capacity: u64,
    },
    /// Not enough memory; the same error on every rank of the collective.
    #[error("{at}: {requested} bytes are needed, {available} are available ({limit})")]
    NoMemory {
        /// The call that failed.
        at: Place,
        /// Bytes requested, over all ranks.
        requested: u64,
        /// Bytes available.
        available: u64,
        /// The limit that was reached.
        limit: &'static str,
    },
    /// A rank of the job has failed, so the call would wait for ever (`MPI_ERR_PROC_FAILED`). In a job
    /// that continues after a failure ([`Comm::shrink`](crate::Comm::shrink)) it is a rank of the
    /// communicator or window.
    #[error("{at}: rank {failed} of the job has failed{}", shown::holding(.lock_of))]
    RankFailed {
        /// The call that failed.
        at: Place,
        /// The first failed rank, or the lowest one, as a rank of the world.
        failed: Rank,
        /// The target of its exclusive lock, if this call waited for that lock.
        lock_of: Option<Rank>,
    },
    /// The environment of this process does not describe a job that it could join.
    #[error("this process cannot join the job that its environment names: {what}")]
    NotInJob {
        /// What is missing or wrong.
        what: String,
    },
    /// The library is already initialised in this process.
    #[error("init: this process has already joined its job, and a process joins once")]
    AlreadyInitialised,
    /// This process was forked from a rank. It has the rank's memory and handles, but is no rank.
    #[error("{at}: this process was forked from the rank, and is no rank itself")]
    Forked {
        /// The call that failed.
        at: Place,
    },
    /// The segment holds a value that the library never writes.
    #[error("the shared segment is damaged: {what}")]
    Damaged {
        /// The value.
        what: &'static str,
    },
    /// The ranks of a collective disagree: another call, root, length, datatype or operation.
    #[error("{at}: this rank calls {ours}, but rank {other} calls {theirs}")]
    Mismatch {
        /// The call that failed.
        at: Place,
        /// What the ranks disagree about.
        kind: MismatchKind,
        /// This rank's call, with its arguments.
        ours: String,
        /// A rank with another call.
        other: Rank,
        /// That rank's call.
        theirs: String,
    },
    /// An error of the MPI underneath, or a call that needs shared memory.
    #[error(transparent)]
    Foreign(Foreign),
    /// An error of the operating system.
    #[error("{what}: {source}")]
    System {
        /// The attempted operation.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}
