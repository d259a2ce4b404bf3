//! Programs of three ranks as data: two accesses to the part of rank 0, and what stands around and between them.

use onesided::LockType;

/// How a rank accesses the part of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Put,
    Get,
    Accumulate,
    Replace,
    GetAccumulate,
    GetNoOp,
    FetchAndOp,
    FetchNoOp,
    CompareAndSwap,
    /// An accumulate of bytes; the others are of 4 bytes.
    AccumulateBytes,
    /// A put, get or accumulate of bytes with gaps.
    PutStrided,
    GetStrided,
    AccumulateStrided,
    /// With a request.
    Rput,
    Rget,
    Raccumulate,
    RgetNoOp,
    /// By rank 0, by calls of the library.
    Load,
    Store,
    /// By rank 0, without a call.
    OwnStore,
}

pub const KINDS: [Kind; 20] = [
    Kind::Put,
    Kind::Get,
    Kind::Accumulate,
    Kind::Replace,
    Kind::GetAccumulate,
    Kind::GetNoOp,
    Kind::FetchAndOp,
    Kind::FetchNoOp,
    Kind::CompareAndSwap,
    Kind::AccumulateBytes,
    Kind::PutStrided,
    Kind::GetStrided,
    Kind::AccumulateStrided,
    Kind::Rput,
    Kind::Rget,
    Kind::Raccumulate,
    Kind::RgetNoOp,
    Kind::Load,
    Kind::Store,
    Kind::OwnStore,
];

impl Kind {
    /// Whether the owner of the part accesses it without an operation.
    pub fn is_local(self) -> bool {
        matches!(self, Kind::Load | Kind::Store | Kind::OwnStore)
    }

    /// Whether it accesses one run of bytes, of any length.
    pub fn is_run(self) -> bool {
        let is_element = matches!(self, Kind::FetchAndOp | Kind::FetchNoOp | Kind::CompareAndSwap);
        !is_element && !self.is_strided()
    }

    pub fn has_request(self) -> bool {
        matches!(self, Kind::Rput | Kind::Rget | Kind::Raccumulate | Kind::RgetNoOp)
    }

    pub fn is_strided(self) -> bool {
        matches!(self, Kind::PutStrided | Kind::GetStrided | Kind::AccumulateStrided)
    }

    /// What a report calls it.
    pub fn call(self) -> &'static str {
        match self {
            Kind::Put | Kind::PutStrided => "put",
            Kind::Get | Kind::GetStrided => "get",
            Kind::Accumulate | Kind::Replace | Kind::AccumulateBytes | Kind::AccumulateStrided => {
                "accumulate"
            }
            Kind::GetAccumulate | Kind::GetNoOp => "get_accumulate",
            Kind::FetchAndOp | Kind::FetchNoOp => "fetch_and_op",
            Kind::CompareAndSwap => "compare_and_swap",
            Kind::Rput => "rput",
            Kind::Rget => "rget",
            Kind::Raccumulate => "raccumulate",
            Kind::RgetNoOp => "rget_accumulate",
            Kind::Load => "load",
            Kind::Store | Kind::OwnStore => "store",
        }
    }

    /// The predefined datatype of an accumulate.
    pub fn datatype(self) -> Option<&'static str> {
        match self {
            Kind::AccumulateBytes | Kind::AccumulateStrided => Some("MPI_UINT8_T"),
            Kind::Accumulate
            | Kind::Replace
            | Kind::GetAccumulate
            | Kind::GetNoOp
            | Kind::FetchAndOp
            | Kind::FetchNoOp
            | Kind::CompareAndSwap
            | Kind::Raccumulate
            | Kind::RgetNoOp => Some("MPI_UINT32_T"),
            _ => None,
        }
    }

    /// The first byte of an access that overlaps one of bytes 0 to 3 in part. Elements of an accumulate are aligned.
    fn may_begin_at(self, disp: u64) -> bool {
        disp.is_multiple_of(4) || self.datatype() != Some("MPI_UINT32_T")
    }

    /// The bytes that it accesses from `disp` on.
    pub fn bytes(self, disp: u64) -> [u64; 4] {
        let all = if self.is_strided() { [0, 2, 64, 66] } else { [0, 1, 2, 3] };
        all.map(|byte| disp + byte)
    }
}

/// What completes the first access, apart from the end of its epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Completion {
    Nothing,
    Flush,
    FlushAll,
    FlushLocal,
    FlushLocalAll,
    /// The end of its request.
    Request,
}

/// What synchronises the two ranks under lock_all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Synchronisation {
    Nothing,
    Barrier,
    Message,
    LongMessage,
    /// A synchronous send of the second rank to the first one, and another send.
    Receipt,
    SendBack,
    Broadcast,
    BroadcastBack,
    Reduce,
    ReduceBack,
    Allreduce,
    /// To rank 0.
    Notification,
}

/// What stands around and between the two accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Between {
    /// Both are under lock_all.
    Passive(Completion, Synchronisation),
    SameFence,
    Fences,
    Locks(LockType, LockType),
    LocksAndBarrier,
    LockAlls,
    LockAllAndLock(LockType),
    SameExposure,
    Exposures,
    /// Each rank fetches an element before and behind its access.
    Fetches,
}

impl Between {
    pub fn all() -> Vec<Between> {
        use Completion as C;
        use LockType::{Exclusive, Shared};
        use Synchronisation as S;
        let completions =
            [C::Nothing, C::Flush, C::FlushAll, C::FlushLocal, C::FlushLocalAll, C::Request];
        let synchronisations = [
            S::Nothing,
            S::Barrier,
            S::Message,
            S::LongMessage,
            S::Receipt,
            S::SendBack,
            S::Broadcast,
            S::BroadcastBack,
            S::Reduce,
            S::ReduceBack,
            S::Allreduce,
            S::Notification,
        ];
        let passive = completions.iter().flat_map(|completion| {
            synchronisations.iter().map(|by| Between::Passive(*completion, *by))
        });
        let others = [
            Between::SameFence,
            Between::Fences,
            Between::Locks(Shared, Shared),
            Between::Locks(Shared, Exclusive),
            Between::Locks(Exclusive, Shared),
            Between::Locks(Exclusive, Exclusive),
            Between::LocksAndBarrier,
            Between::LockAlls,
            Between::LockAllAndLock(Shared),
            Between::LockAllAndLock(Exclusive),
            Between::SameExposure,
            Between::Exposures,
            Between::Fetches,
        ];
        passive.chain(others).collect()
    }

    fn is_passive(self) -> bool {
        !matches!(
            self,
            Between::SameFence | Between::Fences | Between::SameExposure | Between::Exposures
        )
    }
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The first access of the program, or the second one.
    Access(usize),
    /// The request of that access ends.
    EndRequest(usize),
    LockAll,
    UnlockAll,
    Lock(LockType),
    Unlock(LockType),
    Flush,
    FlushAll,
    FlushLocal,
    FlushLocalAll,
    Barrier,
    Fence,
    LastFence,
    /// For one origin, or for ranks 1 and 2.
    Post(Option<u32>),
    Start,
    Complete,
    Wait,
    Send(u32, usize),
    SendSynchronously(u32),
    Receive(u32),
    Broadcast(u32),
    Reduce(u32),
    Allreduce,
    Fetch,
    Notify,
    AwaitNotification,
}

impl Step {
    /// Whether ranks pass it together: all three, or a sender and its receiver.
    fn partners(self) -> Option<Option<u32>> {
        match self {
            Step::Barrier
            | Step::Fence
            | Step::LastFence
            | Step::Broadcast(_)
            | Step::Reduce(_)
            | Step::Allreduce => Some(None),
            Step::Send(other, _) | Step::SendSynchronously(other) | Step::Receive(other) => {
                Some(Some(other))
            }
            _ => None,
        }
    }
}

/// Which memory the window has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    Allocated,
    Created,
    Shared,
    /// Allocated, and each byte of the accesses stands for a quarter of a page.
    Pages,
    /// Attached to a dynamic window.
    Attached,
}

/// A program: two accesses, each with its rank and first byte.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub accesses: [(Kind, u32, u64); 2],
    pub between: Between,
    pub memory: Memory,
}

/// The steps that some ranks take at the same time.
pub type Turn = Vec<(u32, Step)>;

/// The order in which ranks come first, if several can go on.
pub const ORDERS: [[u32; 3]; 3] = [[1, 2, 0], [2, 1, 0], [0, 2, 1]];

impl Program {
    /// All programs that make sense.
    pub fn all() -> impl Iterator<Item = Program> {
        let memories =
            [Memory::Allocated, Memory::Created, Memory::Shared, Memory::Pages, Memory::Attached];
        let pairs = || KINDS.into_iter().flat_map(|a| KINDS.into_iter().map(move |b| (a, b)));
        let accesses = move || {
            pairs().flat_map(|(a, b)| {
                let ranks = [1, 2].map(move |rank| if b.is_local() { 0 } else { rank });
                let first = if a.is_local() { 0 } else { 1 };
                let disps = [0, 2, 4].into_iter().filter(move |disp| b.may_begin_at(*disp));
                let second = ranks.into_iter().take(if b.is_local() { 1 } else { 2 });
                second.flat_map(move |rank| {
                    disps.clone().map(move |disp| [(a, first, 0), (b, rank, disp)])
                })
            })
        };
        let all = memories
            .into_iter()
            .flat_map(|memory| Between::all().into_iter().map(move |between| (memory, between)));
        all.flat_map(move |(memory, between)| {
            accesses().map(move |accesses| Program { accesses, between, memory })
        })
        .filter(Program::is_legal)
    }

    /// Bytes of the window for each byte of an access.
    pub fn scale(&self) -> usize {
        if self.memory == Memory::Pages { 1024 } else { 1 }
    }

    fn is_legal(&self) -> bool {
        let [a, b] = self.accesses.map(|(kind, ..)| kind);
        let is_possible = |kind: Kind| match self.memory {
            Memory::Pages => kind.is_run(),
            Memory::Attached => !matches!(kind, Kind::Load | Kind::Store),
            _ => true,
        };
        if !(is_possible(a) && is_possible(b)) {
            return false;
        }
        let has_request = a.has_request() || b.has_request();
        let ends = |completion| completion == Completion::Request;
        let both_local = a.is_local() && b.is_local();
        match self.between {
            Between::Passive(completion, _) if ends(completion) => a.has_request(),
            Between::SameExposure | Between::Exposures => !has_request && !both_local,
            between => !has_request || between.is_passive(),
        }
    }

    /// The steps of each rank.
    pub fn steps(&self) -> [Vec<Step>; 3] {
        let ranks = self.accesses.map(|(_, rank, _)| rank);
        let of = |rank: u32, before: &[Step], access: usize, behind: &[Step]| -> Vec<Step> {
            let middle = [before, &[Step::Access(access)], behind].concat();
            if ranks[access] == rank { middle } else { Vec::new() }
        };
        std::array::from_fn(|rank| {
            let rank = rank as u32;
            let around = |before: [&[Step]; 2], behind: [&[Step]; 2]| {
                let all = [0, 1].map(|access| of(rank, before[access], access, behind[access]));
                all.concat()
            };
            let lock = |kind: LockType| ([Step::Lock(kind)], [Step::Unlock(kind)]);
            match self.between {
                Between::Passive(completion, by) => self.passive(rank, completion, by),
                Between::SameFence => {
                    [vec![Step::Fence], around([&[]; 2], [&[]; 2]), vec![Step::LastFence]].concat()
                }
                Between::Fences => [
                    vec![Step::Fence],
                    of(rank, &[], 0, &[]),
                    vec![Step::Fence],
                    of(rank, &[], 1, &[]),
                    vec![Step::LastFence],
                ]
                .concat(),
                Between::Locks(a, b) => {
                    let (a, b) = (lock(a), lock(b));
                    around([&a.0, &b.0], [&a.1, &b.1])
                }
                Between::LocksAndBarrier => {
                    let (before, behind) = lock(LockType::Shared);
                    let [a, b] = [0, 1].map(|access| of(rank, &before, access, &behind));
                    [a, vec![Step::Barrier], b].concat()
                }
                Between::LockAlls => around([&[Step::LockAll]; 2], [&[Step::UnlockAll]; 2]),
                Between::LockAllAndLock(kind) => {
                    let (before, behind) = lock(kind);
                    around([&[Step::LockAll], &before], [&[Step::UnlockAll], &behind])
                }
                Between::SameExposure | Between::Exposures => self.exposed(rank),
                Between::Fetches => {
                    let behind = [Step::Flush, Step::Fetch];
                    let both = around([&[Step::Fetch]; 2], [&behind; 2]);
                    [vec![Step::LockAll], both, vec![Step::UnlockAll]].concat()
                }
            }
        })
    }

    fn passive(&self, rank: u32, completion: Completion, by: Synchronisation) -> Vec<Step> {
        use Synchronisation as S;
        let [first, second] = self.accesses.map(|(_, rank, _)| rank);
        let mut all = vec![Step::LockAll];
        if rank == first {
            all.push(Step::Access(0));
            all.extend(match completion {
                Completion::Nothing => None,
                Completion::Flush => Some(Step::Flush),
                Completion::FlushAll => Some(Step::FlushAll),
                Completion::FlushLocal => Some(Step::FlushLocal),
                Completion::FlushLocalAll => Some(Step::FlushLocalAll),
                Completion::Request => Some(Step::EndRequest(0)),
            });
        }
        let is_pair = first != second;
        all.extend(match by {
            S::Barrier => Some(Step::Barrier),
            S::Broadcast => Some(Step::Broadcast(first)),
            S::BroadcastBack => Some(Step::Broadcast(second)),
            S::Reduce => Some(Step::Reduce(second)),
            S::ReduceBack => Some(Step::Reduce(first)),
            S::Allreduce => Some(Step::Allreduce),
            S::Message if is_pair && rank == first => Some(Step::Send(second, 4)),
            S::LongMessage if is_pair && rank == first => Some(Step::Send(second, 100_000)),
            S::Message | S::LongMessage if is_pair && rank == second => Some(Step::Receive(first)),
            S::Receipt if is_pair && rank == second => Some(Step::SendSynchronously(first)),
            S::SendBack if is_pair && rank == second => Some(Step::Send(first, 4)),
            S::Receipt | S::SendBack if is_pair && rank == first => Some(Step::Receive(second)),
            S::Notification if rank == first => Some(Step::Notify),
            _ => None,
        });
        if by == S::Notification && rank == 0 {
            all.push(Step::AwaitNotification);
        }
        if rank == second {
            all.push(Step::Access(1));
        }
        all.push(Step::UnlockAll);
        all
    }

    fn exposed(&self, rank: u32) -> Vec<Step> {
        let is_one = self.between == Between::SameExposure;
        let mut all = Vec::new();
        let mut origins: Vec<u32> =
            self.accesses.iter().map(|(_, rank, _)| *rank).filter(|rank| *rank != 0).collect();
        if is_one {
            origins.dedup();
        }
        let accesses = |all: &mut Vec<Step>, wanted: &dyn Fn(usize) -> bool| {
            for (access, (_, of, _)) in self.accesses.iter().enumerate() {
                if *of == rank && wanted(access) {
                    all.push(Step::Access(access));
                }
            }
        };
        if is_one {
            let [before, behind]: [&[Step]; 2] = match rank {
                0 if origins.len() == 2 => [&[Step::Post(None)], &[Step::Wait]],
                0 => [&[Step::Post(Some(origins[0]))], &[Step::Wait]],
                rank if origins.contains(&rank) => [&[Step::Start], &[Step::Complete]],
                _ => [&[], &[]],
            };
            all.extend(before);
            accesses(&mut all, &|_| true);
            all.extend(behind);
            return all;
        }
        for (access, (_, origin, _)) in self.accesses.iter().enumerate() {
            match (rank, *origin) {
                (0, 0) => all.push(Step::Access(access)),
                (0, origin) => all.extend([Step::Post(Some(origin)), Step::Wait]),
                (rank, origin) if rank == origin => {
                    all.push(Step::Start);
                    accesses(&mut all, &|one| one == access);
                    all.push(Step::Complete);
                }
                _ => {}
            }
        }
        all
    }

    /// The steps of all ranks in an order that blocks no rank, in which ranks come first by what `order` returns for each
    /// turn.
    pub fn turns(&self, mut order: impl FnMut() -> [u32; 3]) -> Vec<Turn> {
        let steps = self.steps();
        let mut state = Schedule { at: [0; 3], held: Vec::new(), posted: Vec::new(), notified: 0 };
        let mut turns = Vec::new();
        while let Some(turn) = order().into_iter().find_map(|rank| state.turn(&steps, rank)) {
            turn.iter().for_each(|(rank, step)| state.take(*rank, *step));
            turns.push(turn);
        }
        let is_over = steps.iter().zip(state.at).all(|(steps, at)| steps.len() == at);
        assert!(is_over, "{self:?} blocks: {steps:?}, {turns:?}");
        turns
    }
}

/// How far the ranks of a program are.
struct Schedule {
    at: [usize; 3],
    /// The locks that each rank holds; lock_all is a shared one.
    held: Vec<(u32, LockType)>,
    /// Origins that rank 0 awaits.
    posted: Vec<u32>,
    notified: u32,
}

impl Schedule {
    /// The turn that a rank can take.
    fn turn(&self, steps: &[Vec<Step>; 3], rank: u32) -> Option<Turn> {
        let next = |rank: u32| steps[rank as usize].get(self.at[rank as usize]).copied();
        let step = next(rank)?;
        let has_none = |excluded: &dyn Fn(LockType) -> bool| {
            !self.held.iter().any(|(_, held)| excluded(*held))
        };
        let is_free = match step {
            Step::Lock(LockType::Exclusive) => has_none(&|_| true),
            Step::Lock(LockType::Shared) | Step::LockAll => {
                has_none(&|held| held == LockType::Exclusive)
            }
            Step::Start => self.posted.contains(&rank),
            Step::Wait => self.posted.is_empty(),
            Step::AwaitNotification => self.notified != 0,
            _ => true,
        };
        let all: Turn = match step.partners() {
            None => vec![(rank, step)],
            Some(None) => (0..3).filter_map(|rank| Some((rank, next(rank)?))).collect(),
            Some(Some(other)) => vec![(rank, step), (other, next(other)?)],
        };
        let are_together = all.iter().all(|(of, other)| match step.partners() {
            None => true,
            Some(None) => *other == step,
            Some(Some(_)) => {
                *of == rank || matches!((step, *other), (Step::Receive(_), Step::Send(to, _) | Step::SendSynchronously(to)) | (Step::Send(..) | Step::SendSynchronously(_), Step::Receive(to)) if to == rank)
            }
        });
        let are_all = step.partners() != Some(None) || all.len() == 3;
        (is_free && are_together && are_all).then_some(all)
    }

    fn take(&mut self, rank: u32, step: Step) {
        self.at[rank as usize] += 1;
        match step {
            Step::Lock(kind) => self.held.push((rank, kind)),
            Step::LockAll => self.held.push((rank, LockType::Shared)),
            Step::Unlock(_) | Step::UnlockAll => self.held.retain(|(holder, _)| *holder != rank),
            Step::Post(Some(origin)) => self.posted.push(origin),
            Step::Post(None) => self.posted.extend([1, 2]),
            Step::Complete => self.posted.retain(|origin| *origin != rank),
            Step::Notify => self.notified += 1,
            Step::AwaitNotification => self.notified -= 1,
            _ => {}
        }
    }
}
