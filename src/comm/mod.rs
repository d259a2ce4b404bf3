//! Communicators: their ranks, and what the collectives of programs and windows have in common.
//!
//! A short collective moves its data through staging buffers of the segment, which consecutive collectives
//! use in turn (`rounds.rs`; `loom_tests/tests/models/collective.rs`). Every contribution carries a
//! description of the call, so ranks that disagree all get an error instead of each other's bytes.
//!
//! Invariants:
//! 1. Each communicator of two or more ranks has barrier words and staging buffers of its own, its
//!    *shared block*. So collectives on different communicators never interfere, on any threads.
//! 2. A rank has one collective at a time in progress on a communicator ([`Collective::begin`]).
//! 3. The last live rank that leaves a shared block frees it. A rank leaves when it has freed the
//!    communicator and has no handle of it any more, also none in a window or request.
//! 4. A communicator is made on all its members or on none.

mod calls;
mod create;
mod create_group;
mod description;
mod exchange;
mod foreign;
mod free;
mod handles;
mod members;
pub(crate) mod outcome;
mod reduction;
mod rounds;
mod shared;
mod shrink;

use crate::attribute::Keyval;
use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::group::{Group, Rank};
use crate::prim::{ParkWord, Word32};
use crate::shm::BiasedMutex;
pub(crate) use description::{ANY_ROOT, Description, part_digest};
pub(crate) use exchange::{CHUNK, Collective, Staged};
pub(crate) use foreign::ForeignVotes;
use foreign::OtherComm;
use handles::Attached;
pub(crate) use members::CommMembers;
pub(crate) use rounds::CollectiveEntry;
use rounds::Sequence;
use shared::SharedBlock;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

pub use create::SplitType;
pub(crate) use create::{CreationVote, Duplicate};
pub(crate) use reduction::sealed::OpKind;
pub use reduction::{Reduction, UserOp};

/// An attribute key of communicators.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let key: onesided::CommKeyval<u32> = onesided::KeyvalOptions::new().create();
/// universe.world().set_attribute(&key, 7)?;
/// assert_eq!(universe.world().attribute(&key).as_deref(), Some(&7));
/// # Ok(())
/// # });
/// ```
pub type CommKeyval<T> = Keyval<Comm, T>;

/// A communicator: a group of ranks that communicate among themselves.
///
/// Cheap to clone: clones are handles of the same communicator, as copies of an `MPI_Comm` are;
/// [`Comm::dup`] makes another communicator. Any thread of the rank may use it, but MPI allows one
/// collective at a time on a communicator (MPI-2.2 §12.4.2). If a second thread of a rank begins one, it
/// gets [`Error::Communicator`] (class COMM), and the other ranks do not notice. So use a communicator
/// for each thread.
///
/// A collective is a call that all ranks of the communicator make, in the same order. All collectives
/// report an error on every rank if ranks disagree about call, root, operation, type or length
/// ([`Error::Mismatch`]), and if a rank of the job fails ([`Error::RankFailed`]).
///
/// Of a short broadcast, scatter, reduce or gather the root or the other ranks need not wait (MPI-4.1
/// §6.1: a call may return as soon as the rank's part is complete). Such a rank reports a mismatch at a
/// later blocking collective on the communicator, which it carries out: at the next one that waits for
/// all ranks, or at the latest 32 collectives later (8 above 8 ranks). With `--on-failure=continue` all
/// ranks wait.
///
/// Memory: a communicator of two or more ranks has 8 KiB in the segment, and 40 KiB for each rank (18 KiB
/// above 8 ranks, 16.5 KiB above 64). In a segment of 1 GiB or more, those of up to 8 ranks have 136 KiB for
/// each rank. It has them from its creation until all of them have called [`Comm::free`]; without that call,
/// until the job ends, and its first rank then warns of it. A communicator of up to 8 ranks gets 512 KiB more for
/// each rank in the first blocking collective of data of more than 4 KiB, if the segment has them. Pages that are not
/// used take no memory.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// assert_eq!(world.allreduce(&[1_u32], Op::Sum)?, [world.size()]);
/// let half = world.split(Some(world.rank().0 % 2), 0)?.expect("every rank has a colour");
/// assert_eq!(half.size(), 1);
/// half.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone)]
pub struct Comm {
    inner: Arc<Inner>,
    /// How many ranks it has.
    size: u32,
    purpose: Purpose,
}

/// The use of a handle.
#[derive(Clone, Copy)]
enum Purpose {
    /// Calls, which are refused once the communicator has been freed.
    Calls,
    /// Calls of earlier requests, which continue (MPI-4.1 §7.4.3).
    Requests,
    /// The same for the persistent collective with that number.
    Collective(u32),
    /// Calls that return when what they start is complete on this rank.
    Waiting,
    /// Calls that only compare the ranks' descriptions.
    Agreeing,
}

struct Inner {
    members: CommMembers,
    /// `None` for a communicator of one rank, or of another MPI.
    shared: Option<SharedBlock>,
    /// The other MPI's communicator, unless this one has one rank.
    other: Option<OtherComm>,
    /// The order of its collectives.
    sequence: BiasedMutex<Sequence>,
    /// Nonzero when it has an error of an earlier collective to report.
    has_mismatch: Word32,
    /// Changes when a slot becomes free that a thread waits for.
    left: ParkWord,
    /// Locked by the thread that makes a blocking collective.
    collective_lock: Mutex<()>,
    /// The thread that holds it.
    thread_inside: Mutex<Option<ThreadId>>,
    /// Windows made over this communicator so far.
    windows: Word32,
    /// Persistent ones that have been made.
    persistent: Word32,
    /// Tags of partitioned messages that this rank has used on it.
    partitions: Word32,
    /// Nonzero once this rank has freed it: calls are refused, except those of existing windows and
    /// requests. 2 when the other MPI's is freed, too.
    freed: Word32,
    /// The program cannot free the job's own communicators.
    permanent: bool,
    attached: Attached,
}

impl Inner {
    fn new(
        context: Arc<Context>,
        group: Group,
        shared: Option<SharedBlock>,
        other: Option<OtherComm>,
    ) -> Inner {
        let rank = group.rank_of_world(context.rank).map_or(Rank::NULL, |rank| rank).0;
        let scope = context.scope(group.members().iter().copied());
        // No block has the offsets of the others.
        let identity = match (&shared, &other) {
            (Some(shared), _) => [shared.block, shared.words.made.load()],
            (None, Some(other)) => [u64::MAX - 7, other.number],
            // Only this process sees its messages.
            (None, None) => [u64::MAX - 3, context.number_comm()],
        };
        let is_biased = context.shards.take_part();
        debug_assert!(identity[0].is_multiple_of(4), "blocks are aligned");
        Inner {
            members: CommMembers { context, group, scope, rank, identity },
            shared,
            other,
            sequence: BiasedMutex::new(Sequence::default(), is_biased),
            has_mismatch: Word32::default(),
            left: ParkWord::default(),
            collective_lock: Mutex::default(),
            thread_inside: Mutex::default(),
            windows: Word32::default(),
            persistent: Word32::default(),
            partitions: Word32::default(),
            freed: Word32::default(),
            permanent: false,
            attached: Attached::default(),
        }
    }

    fn permanent(mut self, name: &str) -> Comm {
        self.permanent = true;
        self.attached.set_name(name);
        self.handle()
    }

    /// The first handle.
    fn handle(self) -> Comm {
        Comm { size: self.members.size(), inner: Arc::new(self), purpose: Purpose::Calls }
    }
}

/// The numbers of collectives, which wrap around; those of the persistent ones follow.
pub(crate) const NUMBERS: u32 = 1 << 22;
