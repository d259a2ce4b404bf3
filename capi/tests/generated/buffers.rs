//! Programs in which rank 1 accesses a buffer of its operation on rank 0, before or after what completes it in the process.

use crate::program::Kind;
use crate::source::{Access, Expected, Line, Place, Source};
use crate::windows::access_of;

/// Which buffer of the operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Source,
    Result,
    /// What a compare_and_swap compares with.
    Compared,
    /// A source or a result with gaps.
    SourceWithGaps,
    ResultWithGaps,
}

const OPERATIONS: [(Kind, Side); 19] = [
    (Kind::Put, Side::Source),
    (Kind::Put, Side::SourceWithGaps),
    (Kind::Get, Side::Result),
    (Kind::Get, Side::ResultWithGaps),
    (Kind::Accumulate, Side::Source),
    (Kind::Replace, Side::Source),
    (Kind::AccumulateBytes, Side::Source),
    (Kind::GetAccumulate, Side::Source),
    (Kind::GetAccumulate, Side::Result),
    (Kind::GetNoOp, Side::Result),
    (Kind::FetchAndOp, Side::Source),
    (Kind::FetchAndOp, Side::Result),
    (Kind::CompareAndSwap, Side::Source),
    (Kind::CompareAndSwap, Side::Compared),
    (Kind::CompareAndSwap, Side::Result),
    (Kind::Rput, Side::Source),
    (Kind::Rget, Side::Result),
    (Kind::Raccumulate, Side::Source),
    (Kind::RgetNoOp, Side::Result),
];

/// The epoch of the operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Epoch {
    Lock,
    LockAll,
    Fence,
    Start,
}

/// What stands between the operation and the access to its buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    Flush,
    FlushAll,
    FlushLocal,
    FlushLocalAll,
    FlushOther,
    FlushLocalOther,
    Wait,
    Test,
    Waitall,
    Waitany,
    Testsome,
    OtherRequest,
    Barrier,
    Sync,
    Message,
    EndOfEpoch,
}

use Between as B;

const ALL_BETWEEN: [Between; 17] = [
    B::Nothing,
    B::Flush,
    B::FlushAll,
    B::FlushLocal,
    B::FlushLocalAll,
    B::FlushOther,
    B::FlushLocalOther,
    B::Wait,
    B::Test,
    B::Waitall,
    B::Waitany,
    B::Testsome,
    B::OtherRequest,
    B::Barrier,
    B::Sync,
    B::Message,
    B::EndOfEpoch,
];

/// How the buffer is accessed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Load,
    Store,
    CopyFrom,
    CopyTo,
    PutFrom,
    GetInto,
}

const USES: [Use; 6] =
    [Use::Load, Use::Store, Use::CopyFrom, Use::CopyTo, Use::PutFrom, Use::GetInto];

/// Bytes of an access to a buffer.
const USED: u64 = 2;

/// An operation, and an access to its buffer from the byte `first` on.
#[derive(Clone, Copy, Debug)]
pub struct BufferProgram {
    operation: (Kind, Side),
    epoch: Epoch,
    between: Between,
    access: (Use, u64),
}

impl BufferProgram {
    /// All that are legal but for the access to the buffer.
    pub fn all() -> impl Iterator<Item = BufferProgram> {
        let epochs = [Epoch::Lock, Epoch::LockAll, Epoch::Fence, Epoch::Start];
        let around = epochs.into_iter().flat_map(|epoch| ALL_BETWEEN.map(|one| (epoch, one)));
        let all = around.flat_map(|around| OPERATIONS.map(|operation| (around, operation)));
        let all = all.flat_map(|one| USES.map(|access| (one, access)));
        all.flat_map(|(((epoch, between), operation), access)| {
            let places = match operation.1 {
                Side::SourceWithGaps | Side::ResultWithGaps => [0, 4, 65, 67],
                _ => [0, 2, bytes_of(operation).len() as u64 - 1, bytes_of(operation).len() as u64],
            };
            let new = move |first| {
                let access = (access, first);
                BufferProgram { operation, epoch, between, access }
            };
            places.into_iter().map(new)
        })
        .filter(BufferProgram::is_legal)
    }

    fn is_legal(&self) -> bool {
        let has_request = self.operation.0.has_request();
        let is_passive = matches!(self.epoch, Epoch::Lock | Epoch::LockAll);
        let is_possible = match self.between {
            B::Nothing | B::Barrier | B::Sync | B::Message | B::EndOfEpoch => true,
            B::Flush | B::FlushAll | B::FlushLocal | B::FlushLocalAll => is_passive,
            B::FlushOther | B::FlushLocalOther => self.epoch == Epoch::LockAll,
            B::Wait | B::Test | B::Waitall | B::Waitany | B::Testsome | B::OtherRequest => {
                has_request
            }
        };
        let by_operation = matches!(self.access.0, Use::PutFrom | Use::GetInto);
        // Such operations are allowed in these epochs alone, and a second one needs an open epoch.
        is_possible
            && (is_passive || !has_request)
            && !(by_operation && self.between == B::EndOfEpoch)
    }

    /// Whether the buffer is the program's again when it is accessed.
    fn is_complete(&self) -> bool {
        !matches!(
            self.between,
            B::Nothing
                | B::FlushOther
                | B::FlushLocalOther
                | B::OtherRequest
                | B::Barrier
                | B::Sync
                | B::Message
        )
    }

    fn is_result(&self) -> bool {
        matches!(self.operation.1, Side::Result | Side::ResultWithGaps)
    }

    /// The bytes that both access.
    fn shared(&self) -> Vec<u64> {
        let used = self.access.1..self.access.1 + USED;
        bytes_of(self.operation).into_iter().filter(|byte| used.contains(byte)).collect()
    }

    fn buffer(&self) -> &'static str {
        match self.operation.1 {
            Side::Source | Side::SourceWithGaps => "sources[0]",
            Side::Result | Side::ResultWithGaps => "results[0]",
            Side::Compared => "compared",
        }
    }

    /// The operation as a statement.
    fn issues(&self) -> String {
        match self.operation.1 {
            Side::SourceWithGaps => {
                "MPI_Put(sources[0], 1, strided, 0, 0, 4, MPI_UINT8_T, win)".to_owned()
            }
            Side::ResultWithGaps => {
                "MPI_Get(results[0], 1, strided, 0, 0, 4, MPI_UINT8_T, win)".to_owned()
            }
            _ => access_of(self.operation.0, 0, 0, 2),
        }
    }

    /// The access as a statement.
    fn accesses(&self) -> String {
        let (access, first) = self.access;
        let at = format!("(unsigned char *){} + {first}", self.buffer());
        let of_window = format!("{USED}, MPI_UINT8_T, 0, 96, {USED}, MPI_UINT8_T, win");
        match access {
            Use::Load => format!("LOAD({at}, {USED})"),
            Use::Store => format!("STORE({at}, {USED})"),
            Use::CopyFrom => format!("COPY_FROM({at}, {USED})"),
            Use::CopyTo => format!("COPY_TO({at}, {USED})"),
            Use::PutFrom => format!("MPI_Put({at}, {of_window})"),
            Use::GetInto => format!("MPI_Get({at}, {of_window})"),
        }
    }

    /// What stands between the two, but for the end of the epoch: of rank 1, and of the others.
    fn passes(&self) -> [Vec<&'static str>; 2] {
        let of_one: &[&str] = match self.between {
            B::Nothing | B::EndOfEpoch => &[],
            B::Flush => &["MPI_Win_flush(0, win)"],
            B::FlushAll => &["MPI_Win_flush_all(win)"],
            B::FlushLocal => &["MPI_Win_flush_local(0, win)"],
            B::FlushLocalAll => &["MPI_Win_flush_local_all(win)"],
            B::FlushOther => &["MPI_Win_flush(2, win)"],
            B::FlushLocalOther => &["MPI_Win_flush_local(2, win)"],
            B::Wait => &["MPI_Wait(&requests[0], MPI_STATUS_IGNORE)"],
            B::Test => &["AWAIT(MPI_Test(&requests[0], &number, MPI_STATUS_IGNORE))"],
            B::Waitall => &["MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)"],
            B::Waitany => &["MPI_Waitany(1, requests, &(int){0}, MPI_STATUS_IGNORE)"],
            B::Testsome => {
                &["AWAIT(MPI_Testsome(1, requests, &number, &(int){0}, MPI_STATUSES_IGNORE))"]
            }
            B::OtherRequest => &[
                "MPI_Rput(sources[1], 1, MPI_INT, 0, 64, 1, MPI_INT, win, &requests[1])",
                "MPI_Wait(&requests[1], MPI_STATUS_IGNORE)",
            ],
            B::Barrier => &["MPI_Barrier(MPI_COMM_WORLD)"],
            B::Sync => &["MPI_Win_sync(win)"],
            B::Message => &["EXCHANGE(0)"],
        };
        let of_others: &[&str] = match self.between {
            B::Barrier => of_one,
            B::Message => &["if (rank == 0) EXCHANGE(1)"],
            _ => &[],
        };
        [of_one.into(), of_others.into()]
    }

    /// The calls at the beginning and the end of the epoch of each rank.
    fn around(&self) -> [[&'static str; 2]; 3] {
        match self.epoch {
            Epoch::Lock => {
                let of_one = ["MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)", "MPI_Win_unlock(0, win)"];
                [[""; 2], of_one, [""; 2]]
            }
            Epoch::LockAll => {
                [[""; 2], ["MPI_Win_lock_all(0, win)", "MPI_Win_unlock_all(win)"], [""; 2]]
            }
            Epoch::Fence => {
                [["MPI_Win_fence(0, win)", "MPI_Win_fence(MPI_MODE_NOSUCCEED, win)"]; 3]
            }
            Epoch::Start => [
                ["MPI_Win_post(groups[1], 0, win)", "MPI_Win_wait(win)"],
                ["MPI_Win_start(groups[0], 0, win)", "MPI_Win_complete(win)"],
                [""; 2],
            ],
        }
    }
}

/// The bytes of the buffer of an operation.
fn bytes_of((kind, side): (Kind, Side)) -> Vec<u64> {
    match side {
        Side::SourceWithGaps | Side::ResultWithGaps => vec![0, 2, 64, 66],
        _ if kind.is_run() => (0..8).collect(),
        _ => (0..4).collect(),
    }
}

/// A program, and the lines of the operation, the access and the end of the epoch.
pub struct BufferCase {
    name: String,
    program: BufferProgram,
    lines: [usize; 3],
}

impl BufferCase {
    /// Adds the program to the source.
    pub fn write(source: &mut Source, number: usize, program: BufferProgram) -> BufferCase {
        let name = format!("buffer {number}");
        let around = program.around();
        let [passes, of_others] = program.passes();
        let is_behind = program.between == B::EndOfEpoch;
        let ranks = std::array::from_fn(|rank| {
            let [begin, end] = around[rank].map(str::to_owned);
            let mut all = vec![begin];
            if rank == 1 {
                all.push(program.issues());
                all.extend(passes.iter().map(|pass| (*pass).to_owned()));
                let last = [program.accesses(), end];
                all.extend(if is_behind {
                    last.into_iter().rev().collect()
                } else {
                    last.to_vec()
                });
            } else {
                all.extend(of_others.iter().map(|pass| (*pass).to_owned()));
                all.push(end);
            }
            all.into_iter().map(|text| Line { text, is_in_turn: false }).collect()
        });
        let [_, numbers, _] = source.program(("ALLOCATED", 1, &name), &ranks);
        let [.., before, last] = numbers[..] else { unreachable!("it has steps") };
        let (access, end) = if is_behind { (last, before) } else { (before, last) };
        BufferCase { name, program, lines: [numbers[1], access, end] }
    }

    /// What the check must report. `sees_own`: whether the program's own accesses are reported.
    pub fn expected(&self, sees_own: bool) -> Expected {
        let (program, [issued, accessed, end]) = (&self.program, self.lines);
        let (bytes, by) = (program.shared(), program.access.0);
        let is_changed = matches!(by, Use::Store | Use::CopyTo);
        let writes = is_changed || by == Use::GetInto;
        let by_operation = matches!(by, Use::PutFrom | Use::GetInto);
        // Changes of a source are found by comparison.
        let is_seen = sees_own || by_operation || is_changed && !program.is_result();
        let conflicts =
            !bytes.is_empty() && !program.is_complete() && (writes || program.is_result());
        let (call, place) = match by {
            Use::PutFrom => ("put", Place::Line(accessed)),
            Use::GetInto => ("get", Place::Line(accessed)),
            _ if !sees_own => ("store", Place::Before(end)),
            Use::Load | Use::CopyFrom => ("load", Place::Line(accessed)),
            Use::Store | Use::CopyTo => ("store", Place::Line(accessed)),
        };
        let of_operation = program.operation.0.call();
        Expected {
            window: self.name.clone(),
            is_conflict: is_seen && conflicts,
            is_of_buffer: true,
            accesses: [
                Access { rank: 1, call: of_operation, place: Place::Line(issued) },
                Access { rank: 1, call, place },
            ],
            bytes,
            what: format!("{program:?}"),
        }
    }
}
