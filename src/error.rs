//! The one error type, and the only place with sentences for the user.
//!
//! Every error names call, window, ranks and values; a call that is refused for its arguments or
//! its epoch has changed nothing. [`Error::class`] gives MPI's error class.

mod class;
mod foreign;
mod place;
mod shown;

pub use {class::ErrorClass, foreign::Foreign, place::Place, shown::Result};

/// An error of a call. Lengths and displacements are as the caller gave them.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The target buffer leaves the target's window (MPI-2.2 §11.3.1).
    #[error(
        "{at}: {bytes} bytes at displacement {displacement} (unit {disp_unit} bytes) leave the \
         window of rank {target}, which has {size} bytes"
    )]
    Range {
        /// Where.
        at: Place,
        /// The rank whose window it is.
        target: u32,
        /// In displacement units of the target.
        displacement: u64,
        /// Bytes from there.
        bytes: u64,
        /// The target's displacement unit, in bytes.
        disp_unit: u32,
        /// The size of the target's window, in bytes.
        size: u64,
    },
    /// As [`Error::Range`], of a target buffer whose bytes do not begin at its displacement.
    #[error(
        "{at}: bytes {start} to {end} from displacement {displacement} (unit {disp_unit} bytes) on \
         leave the window of rank {target}, which has {size} bytes"
    )]
    LayoutRange {
        /// Where.
        at: Place,
        /// The rank whose window it is.
        target: u32,
        /// In displacement units of the target.
        displacement: u64,
        /// The first byte that the layout touches, from the displacement on.
        start: i64,
        /// Behind the last.
        end: i64,
        /// The target's displacement unit, in bytes.
        disp_unit: u32,
        /// The size of the target's window, in bytes.
        size: u64,
    },
    /// The target is no rank of the window.
    #[error("{at}: there is no rank {}; the window has {ranks} ranks", shown::rank(.target))]
    TargetRank {
        /// Where.
        at: Place,
        /// The rank asked for.
        target: u32,
        /// Ranks of the window.
        ranks: u32,
    },
    /// The root of a collective is no rank of the communicator.
    #[error(
        "{at}: there is no rank {} to be the root; the communicator has {ranks} ranks",
        shown::rank(.root)
    )]
    Root {
        /// Where.
        at: Place,
        /// The rank asked for.
        root: u32,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// The call is not allowed in the present epoch (`MPI_ERR_RMA_SYNC`).
    #[error("{at}: {problem}")]
    Epoch {
        /// Where.
        at: Place,
        /// What the epoch is and what the call needs.
        problem: String,
    },
    /// An assertion that the call does not take, or that is visibly false.
    #[error("{at}: {assertion} is asserted, but {why}")]
    Assertion {
        /// Where.
        at: Place,
        /// Its name in the standard.
        assertion: &'static str,
        /// What contradicts it.
        why: String,
    },
    /// Two buffers of one call do not have the length they must have.
    #[error("{at}: the {what} has {found} elements, but {needed} are needed")]
    Count {
        /// Where.
        at: Place,
        /// Which buffer.
        what: &'static str,
        /// Its length in elements.
        found: usize,
        /// The length it must have.
        needed: usize,
    },
    /// A buffer of more than an address space holds (`MPI_ERR_COUNT`).
    #[error("{at}: {buffer} reaches farther than 2^63 - 1 bytes")]
    Reach {
        /// Where.
        at: Place,
        /// The buffer, by its elements if they are known.
        buffer: String,
    },
    /// The datatype cannot be used in the call.
    #[error("{at}: datatype {datatype} cannot be used: {why}")]
    Datatype {
        /// Where.
        at: Place,
        /// Its name, or how it was made.
        datatype: String,
        /// The rule.
        why: &'static str,
    },
    /// The operation is not defined for the datatype (MPI-2.2 §5.9.2).
    #[error("{at}: operation {op} is not defined for datatype {datatype}")]
    Operation {
        /// Where.
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
        /// Where.
        at: Place,
        /// The rank whose window it is.
        target: u32,
        /// In displacement units of the target.
        displacement: u64,
        /// Bytes of the target range.
        bytes: u64,
    },
    /// Arguments that describe nothing that can be (`MPI_ERR_ARG`).
    #[error("{at}: {problem}")]
    Argument {
        /// Where.
        at: Place,
        /// Which value, and why.
        problem: String,
    },
    /// A window size that cannot be.
    #[error("{at}: {problem}")]
    Size {
        /// Where.
        at: Place,
        /// Which size, of which rank.
        problem: String,
    },
    /// A displacement unit that cannot be.
    #[error(
        "{at}: rank {rank} gave displacement unit {}; it must be from 1 to 2^31-1",
        *.disp_unit as i64
    )]
    DispUnit {
        /// Where.
        at: Place,
        /// The rank that gave it.
        rank: u32,
        /// The unit, in bytes; a negative one of a binding as two's complement.
        disp_unit: u64,
    },
    /// An element that is not aligned to its size, where it must be (`MPI_ERR_DISP`).
    #[error(
        "{at}: the element at displacement {displacement} (unit {disp_unit} bytes) does not lie at \
         an address aligned to its {bytes} bytes"
    )]
    Alignment {
        /// Where.
        at: Place,
        /// In displacement units of the rank whose part it is.
        displacement: u64,
        /// That displacement unit, in bytes.
        disp_unit: u32,
        /// Size and alignment of the element, in bytes.
        bytes: usize,
    },
    /// The target buffer is not in memory that the target has attached (`MPI_ERR_RMA_RANGE`).
    #[error("{at}: no region that rank {target} has attached holds {bytes} bytes at {address:#x}")]
    NotAttached {
        /// Where.
        at: Place,
        /// The rank whose memory it would be.
        target: u32,
        /// In the target's process.
        address: u64,
        /// Bytes from there.
        bytes: u64,
    },
    /// Memory that cannot be exposed (`MPI_ERR_BASE`).
    #[error("{at}: {problem}")]
    Base {
        /// Where.
        at: Place,
        /// What is wrong with the address.
        problem: String,
    },
    /// Memory that cannot be attached or detached (`MPI_ERR_RMA_ATTACH`).
    #[error("{at}: {problem}")]
    Attach {
        /// Where.
        at: Place,
        /// What is wrong with the region.
        problem: String,
    },
    /// The window has not the flavour that the call needs (`MPI_ERR_RMA_FLAVOR`).
    #[error("{at}: the window was made by {flavour}, but the call needs {needed}")]
    Flavour {
        /// Where.
        at: Place,
        /// The call that made the window.
        flavour: &'static str,
        /// Which windows the call takes.
        needed: &'static str,
    },
    /// Private memory of a rank that another rank cannot reach (`MPI_ERR_RMA_SHARED`).
    #[error(
        "{at}: rank {rank} cannot reach the private memory of rank {owner} ({source}){}",
        shown::remedy(source)
    )]
    Unreachable {
        /// Where.
        at: Place,
        /// The rank that was refused.
        rank: u32,
        /// The rank whose memory it is.
        owner: u32,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A group that the call cannot take.
    #[error("{at}: {problem}")]
    Group {
        /// Where.
        at: Place,
        /// What is wrong with which rank.
        problem: String,
    },
    /// A communicator that the call cannot use, now or at all (`MPI_ERR_COMM`).
    #[error("{at}: {problem}")]
    Communicator {
        /// Where.
        at: Place,
        /// What is wrong with it.
        problem: String,
    },
    /// A buffer that the call needs was not given (`MPI_ERR_BUFFER`).
    #[error("{at}: {problem}")]
    Buffer {
        /// Where.
        at: Place,
        /// Which buffer.
        problem: &'static str,
    },
    /// An attribute key that was freed (`MPI_ERR_KEYVAL`).
    #[error("{at}: the attribute key has been freed")]
    Keyval {
        /// Where.
        at: Place,
    },
    /// A copy or delete callback of an attribute has refused.
    #[error("{at}: {problem}")]
    Attribute {
        /// Where.
        at: Place,
        /// Which callback of which rank, and what it said.
        problem: String,
    },
    /// An info key that cannot be (`MPI_ERR_INFO_KEY`).
    #[error("{at}: {problem}")]
    InfoKey {
        /// Where.
        at: Place,
        /// What is wrong with the key.
        problem: String,
    },
    /// An info value that cannot be (`MPI_ERR_INFO_VALUE`).
    #[error("{at}: {problem}")]
    InfoValue {
        /// Where.
        at: Place,
        /// What is wrong with the value of which key.
        problem: String,
    },
    /// An info key that is not set (`MPI_ERR_INFO_NOKEY`).
    #[error("{at}: the info key '{key}' is not set")]
    InfoNokey {
        /// Where.
        at: Place,
        /// The key.
        key: String,
    },
    /// The other side of a message is no rank of the communicator (`MPI_ERR_RANK`).
    #[error("{at}: there is no rank {}; the communicator has {ranks} ranks", shown::rank(.peer))]
    Peer {
        /// Where.
        at: Place,
        /// The rank asked for.
        peer: u32,
        /// Ranks of the communicator.
        ranks: u32,
    },
    /// A tag that cannot be (`MPI_ERR_TAG`).
    #[error("{at}: tag {tag} is negative")]
    Tag {
        /// Where.
        at: Place,
        /// The tag.
        tag: i32,
    },
    /// A message longer than its buffer (`MPI_ERR_TRUNCATE`): it is gone, and nothing was written.
    #[error("{at}: the message from rank {from}, tag {tag}, has {sent} bytes, the buffer {room}")]
    Truncated {
        /// Where.
        at: Place,
        /// Who has sent it, as a rank of the communicator.
        from: u32,
        /// Its tag.
        tag: i32,
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        room: u64,
    },
    /// Not enough memory; the same error on every rank of the collective.
    #[error("{at}: {requested} bytes are needed, {available} are available ({limit})")]
    NoMemory {
        /// Where.
        at: Place,
        /// Bytes asked for, over all ranks.
        requested: u64,
        /// Bytes that could be had.
        available: u64,
        /// Which limit was met.
        limit: &'static str,
    },
    /// A rank of the job has failed, so the call would wait for ever. In a job that goes on
    /// ([`Comm::shrink`](crate::Comm::shrink)) it is a rank of the communicator or window.
    #[error("{at}: rank {failed} of the job has failed{}", shown::holding(.lock_of))]
    RankFailed {
        /// Where.
        at: Place,
        /// The first rank that failed, or the lowest of those that have, as the job numbers them.
        failed: u32,
        /// Whose part it had locked exclusively, if this call waited for that lock.
        lock_of: Option<u32>,
    },
    /// The environment of this process does not describe a job it could join.
    #[error("this process cannot join the job that its environment names: {what}")]
    NotInJob {
        /// What is missing or wrong.
        what: String,
    },
    /// The library is already initialised in this process.
    #[error("init: this process has already joined its job, and a process joins once")]
    AlreadyInitialised,
    /// This process was forked from a rank: it has the rank's memory and handles, but is no rank.
    #[error("{at}: this process was forked from the rank, and is no rank itself")]
    Forked {
        /// Where.
        at: Place,
    },
    /// The segment holds a value that the library never writes.
    #[error("the shared segment is damaged: {what}")]
    Damaged {
        /// Which value.
        what: &'static str,
    },
    /// The ranks of a collective do not agree on what they are doing.
    #[error("{at}: this rank calls {ours}, but rank {other} calls {theirs}")]
    Mismatch {
        /// Where.
        at: Place,
        /// What this rank calls, with its arguments.
        ours: String,
        /// A rank that does otherwise.
        other: u32,
        /// What that rank calls.
        theirs: String,
    },
    /// The MPI underneath has refused, or is not used for that.
    #[error(transparent)]
    Foreign(Foreign),
    /// The operating system refused.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}
