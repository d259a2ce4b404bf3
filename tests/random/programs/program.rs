//! What a random program is: data, the same on every rank.
//!
//! Ranks are those of the program's communicator. [`crate::programs::legal`] defines which program is legal;
//! taking anything out of a legal program leaves it legal, except where an act of one phase needs
//! the bytes that another has written (so the shrinker asks again).

use crate::programs::layout::Layout;
use crate::programs::value::{Data, size};
use onesided::{Datatype, Op};
use std::ops::Range;

/// Windows over a communicator, and phases in each of which all ranks use one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Ranks of the job.
    pub ranks: u32,
    pub members: Members,
    pub windows: Vec<WindowSpec>,
    pub phases: Vec<Phase>,
}

/// The communicator of the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Members {
    World,
    /// All ranks, in the opposite order, by split.
    Reversed,
    /// All ranks but the last, as a group; needs two ranks.
    Fewer,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Made {
    Allocate,
    Create,
    Shared,
    Dynamic,
    /// By the typed face, whose guards then have all calls.
    Typed(Datatype),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    pub made: Made,
    pub parts: Vec<Part>,
}

/// What one rank exposes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    pub bytes: u64,
    pub unit: u64,
    /// For created and dynamic windows: whether in private memory, otherwise in alloc_mem's.
    pub private: bool,
    /// For created and dynamic windows: bytes by which it begins behind an aligned address.
    pub skew: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub window: usize,
    pub sync: Sync,
    /// Whether assertions that hold are asserted.
    pub asserts: bool,
    /// The sessions of each rank, in order.
    pub ranks: Vec<Vec<Session>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sync {
    /// Fence, one session, fence.
    Fence,
    /// Posts for the origins that start, one session, and waits or tests.
    Pscw,
    /// Barrier, sessions, win_sync and barrier.
    Passive,
}

/// What a rank does in one access epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub access: Access,
    pub acts: Vec<Act>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    Fence,
    Start(Vec<u32>),
    /// Locks of different targets in ascending order, which cannot deadlock; whether exclusive.
    Locks(Vec<(u32, bool)>),
    All,
    /// None: local accesses, and guarded ones, which lock for themselves.
    Nothing,
}

/// One call, or a few that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    pub kind: Kind,
    pub datatype: Datatype,
    /// `None` is MPI_PROC_NULL.
    pub target: Option<u32>,
    pub disp: u64,
    /// Basic elements.
    pub count: u64,
    /// From what the origin's values are made.
    pub value: u64,
    /// Where the elements lie in the target.
    pub layout: Layout,
    /// Where they lie in the origin buffer, and in that of the result.
    pub own: Layout,
    pub completion: Completion,
}

/// How the origin completes an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Completion {
    /// By the end of the call.
    Call,
    /// It waits for the request at once.
    Wait,
    /// It tests the request until it is complete.
    Test,
    /// It completes the requests of a session together, before the epoch ends.
    Together,
    /// It drops the request, and uses the buffers when the epoch has ended.
    Dropped,
}

impl Completion {
    pub const ALL: [Completion; 5] = [
        Completion::Call,
        Completion::Wait,
        Completion::Test,
        Completion::Together,
        Completion::Dropped,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Put,
    Get,
    Accumulate(Op),
    GetAccumulate(Op),
    FetchAndOp(Op),
    CompareAndSwap,
    /// Exclusive lock, get, put of the sums, unlock.
    Guarded,
    /// Local accesses to the own part.
    Load,
    Store,
    /// By address, in shared windows.
    DirectLoad,
    DirectStore,
    Flush(Flush),
    Wrong(Mistake),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flush {
    One,
    All,
    Local,
    LocalAll,
}

/// Calls that must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mistake {
    Outside,
    NoSuchRank,
    Unreached,
    UndefinedOp,
    Lengths,
    /// A layout of which an element lies behind the part, or before it.
    LayoutOutside,
    /// A layout to which two elements would be written at one place.
    LayoutOverlaps,
    /// More elements than the other side has.
    LayoutElements,
    /// A request-based operation in an active epoch.
    Request,
    Fence,
    Lock,
    LockAll,
    Unlock,
    Flush,
    Complete,
    Wait,
}

impl Mistake {
    pub const ALL: [Mistake; 16] = [
        Mistake::Outside,
        Mistake::NoSuchRank,
        Mistake::Unreached,
        Mistake::UndefinedOp,
        Mistake::Lengths,
        Mistake::LayoutOutside,
        Mistake::LayoutOverlaps,
        Mistake::LayoutElements,
        Mistake::Request,
        Mistake::Fence,
        Mistake::Lock,
        Mistake::LockAll,
        Mistake::Unlock,
        Mistake::Flush,
        Mistake::Complete,
        Mistake::Wait,
    ];

    /// Whether it is one only with a target that the epoch reaches.
    pub fn needs_reach(self) -> bool {
        use Mistake::*;
        matches!(self, Outside | LayoutOutside | LayoutOverlaps | LayoutElements | Request)
    }
}

/// How an act uses the bytes of its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Use {
    Read,
    Write,
    Update,
    Nothing,
}

impl Program {
    /// Ranks of the windows.
    pub fn members(&self) -> u32 {
        match self.members {
            Members::Fewer => self.ranks - 1,
            _ => self.ranks,
        }
    }
}

impl WindowSpec {
    /// Whether there is such a window.
    pub fn is_sound(&self) -> bool {
        let Made::Typed(datatype) = self.made else { return true };
        let size = size(datatype) as u64;
        let is_sound = |part: &Part| {
            part.unit == size && part.bytes.is_multiple_of(size) && !part.private && part.skew == 0
        };
        self.parts.iter().all(is_sound)
    }
}

impl Phase {
    /// The acts of a rank, in order, with the number of their session.
    pub fn acts_of(&self, rank: u32) -> impl Iterator<Item = (usize, &Act)> {
        let sessions = self.ranks[rank as usize].iter().enumerate();
        sessions.flat_map(|(k, session)| session.acts.iter().map(move |act| (k, act)))
    }

    /// Whether `origin` starts an access epoch on `target`.
    pub fn starts(&self, origin: usize, target: u32) -> bool {
        self.ranks[origin]
            .iter()
            .any(|s| matches!(&s.access, Access::Start(targets) if targets.contains(&target)))
    }
}

impl Access {
    /// Whether an operation on the target is allowed; on MPI_PROC_NULL, in any epoch.
    pub fn reaches(&self, target: Option<u32>) -> bool {
        match (self, target) {
            (Access::Nothing, _) => false,
            (Access::Start(targets), Some(target)) => targets.contains(&target),
            (Access::Locks(locks), Some(target)) => locks.iter().any(|lock| lock.0 == target),
            _ => true,
        }
    }
}

impl Act {
    /// Whether it is one of the operations that take layouts, and return requests if asked to.
    pub fn is_general(&self) -> bool {
        use Kind::*;
        matches!(self.kind, Put | Get | Accumulate(_) | GetAccumulate(_))
    }

    pub fn used(&self) -> Use {
        match self.kind {
            _ if self.target.is_none() || self.count == 0 => Use::Nothing,
            Kind::Put | Kind::Store | Kind::DirectStore => Use::Write,
            Kind::Get | Kind::Load | Kind::DirectLoad => Use::Read,
            Kind::Flush(_) | Kind::Wrong(_) => Use::Nothing,
            _ => Use::Update,
        }
    }

    /// What an update does to each element; compare-and-swap has no `Op`.
    pub fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Accumulate(op) | Kind::GetAccumulate(op) | Kind::FetchAndOp(op) => Some(op),
            Kind::Guarded => Some(Op::Sum),
            _ => None,
        }
    }

    /// Whether the act brings the target's elements to the origin.
    pub fn fetches(&self) -> bool {
        use Kind::*;
        let fetches = matches!(
            self.kind,
            Get | GetAccumulate(_) | FetchAndOp(_) | CompareAndSwap | Guarded | Load | DirectLoad
        );
        fetches && self.used() != Use::Nothing
    }

    /// The target's bytes of each element, in the order of the origin's elements.
    pub fn elements(&self, unit: u64) -> impl Iterator<Item = Range<usize>> + use<> {
        let (zero, size) = (self.disp * unit, size(self.datatype));
        self.layout.offsets(size, self.count).map(move |offset| {
            // What begins before the part is as far outside as what ends behind it.
            let start = zero.checked_add_signed(offset).map_or(usize::MAX - size, |at| at as usize);
            start..start + size
        })
    }

    /// The bytes of the origin buffer.
    pub fn origin(&self) -> Vec<u8> {
        Data { datatype: self.datatype, seed: self.value }.elements(self.count)
    }

    /// What compare-and-swap compares with: mostly what is there at first.
    pub fn compare(&self) -> Vec<u8> {
        match self.value % 3 {
            0 => Data { datatype: self.datatype, seed: self.value ^ 0xC0FFEE }.elements(1),
            _ => vec![0; size(self.datatype)],
        }
    }
}
