//! The performance variables (MPI-4.1 §15.3.7): what this rank, its process and its job are at the moment, and what a job
//! that counts has counted. A tool cannot change them, and they need no start: it takes differences.

use super::Category;
use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use crate::info::InfoObject;
use crate::job;
use crate::request::Request;
use crate::window::Window;
use onesided::engine::WaitingMessages;
use onesided::launch::{AwaitedKind, CallStatistics, Figures, RankStatistics, Usage};
use onesided::{Call, Group};
use std::ffi::c_int;

/// A performance variable. It has one element.
pub struct Performance {
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    pub category: Category,
    /// `MPI_T_PVAR_CLASS_…`. A timer is a `double` with seconds, any other an `unsigned long long`.
    pub class: c_int,
    of: Quantity,
}

/// Where a value is found.
enum Quantity {
    Rank(fn(&Figures) -> u64),
    Messages(fn(&WaitingMessages) -> u64),
    Process(fn(&Usage) -> u64),
    Objects(fn() -> usize),
    /// Of the window or communicator that a handle is bound to.
    Window(fn(&Window) -> u64),
    Comm(fn(&Communicator) -> u64),
    /// Where calls are counted, of all of them, or of those on the window that a handle is bound to.
    Counted(fn(&RankStatistics) -> u64),
    CountedOfWindow(fn(&RankStatistics) -> u64),
}

/// What a handle is bound to.
pub enum Bound {
    Nothing,
    Window(MPI_Win),
    Comm(MPI_Comm),
}

/// A value of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Number(u64),
    Seconds(f64),
}

impl Performance {
    /// `MPI_T_BIND_…`
    pub fn binding(&self) -> c_int {
        match self.of {
            Quantity::Window(_) | Quantity::CountedOfWindow(_) => MPI_T_BIND_MPI_WIN,
            Quantity::Comm(_) => MPI_T_BIND_MPI_COMM,
            _ => MPI_T_BIND_NO_OBJECT,
        }
    }

    /// Whether only a job that counts has it.
    pub fn is_counted(&self) -> bool {
        matches!(self.of, Quantity::Counted(_) | Quantity::CountedOfWindow(_))
    }

    pub fn datatype(&self) -> MPI_Datatype {
        MPI_Datatype::predefined(match self.class {
            MPI_T_PVAR_CLASS_TIMER => MPI_DOUBLE,
            _ => MPI_UNSIGNED_LONG_LONG,
        })
    }

    /// The value at the moment.
    pub fn read(&self, bound: &Bound) -> Outcome<Value> {
        let number = match (&self.of, bound) {
            (Quantity::Rank(of), _) => of(&job::figures()?),
            (Quantity::Messages(of), _) => of(&WaitingMessages::now()),
            (Quantity::Process(of), _) => of(&Usage::now()?),
            (Quantity::Objects(of), _) => of() as u64,
            (Quantity::Window(of), Bound::Window(window)) => of(object(window.find())?),
            (Quantity::Comm(of), Bound::Comm(comm)) => of(object(comm.find())?),
            (Quantity::CountedOfWindow(of), Bound::Window(window)) => {
                let mark = object(window.find())?.win.mark();
                let mut counted = job::counted()?;
                counted.calls.retain(|one| one.mark == mark);
                counted.waits.retain(|one| one.mark == mark);
                of(&counted)
            }
            (Quantity::Counted(of), _) => of(&job::counted()?),
            _ => return Err(Failure::new(MPI_T_ERR_INVALID_HANDLE, "it is bound to no object")),
        };
        Ok(match self.class {
            MPI_T_PVAR_CLASS_TIMER => Value::Seconds(number as f64 / 1e9),
            _ => Value::Number(number),
        })
    }
}

fn object<T>(found: Option<&'static T>) -> Outcome<&'static T> {
    let why = "the object that it is bound to has been freed";
    found.ok_or_else(|| Failure::new(MPI_T_ERR_INVALID_HANDLE, why))
}

fn objects<T: Object>(table: &Table<T>) -> usize {
    let mut number = 0;
    table.each(|_| number += 1);
    number
}

fn of_calls(
    counted: &RankStatistics,
    is_one: fn(Call) -> bool,
) -> impl Iterator<Item = &CallStatistics> {
    counted.calls.iter().filter(move |one| is_one(one.call))
}

fn calls(counted: &RankStatistics, is_one: fn(Call) -> bool) -> u64 {
    of_calls(counted, is_one).map(|one| one.lasted.times).sum()
}

fn bytes(counted: &RankStatistics, is_one: fn(Call) -> bool) -> u64 {
    of_calls(counted, is_one).map(|one| one.bytes).sum()
}

/// In nanoseconds.
fn time(counted: &RankStatistics, is_one: fn(Call) -> bool) -> u64 {
    of_calls(counted, is_one).map(|one| one.lasted.nanoseconds).sum()
}

/// In nanoseconds.
fn waited(counted: &RankStatistics, is_one: fn(AwaitedKind) -> bool) -> u64 {
    let waits = counted.waits.iter().filter(|one| is_one(one.awaited));
    waits.map(|one| one.lasted.nanoseconds).sum()
}

fn waits(counted: &RankStatistics) -> u64 {
    counted.waits.iter().map(|one| one.lasted.times).sum()
}

fn is_put(call: Call) -> bool {
    matches!(call, Call::Put | Call::Rput | Call::PutNotify)
}

fn is_get(call: Call) -> bool {
    matches!(call, Call::Get | Call::Rget | Call::GetNotify)
}

fn is_accumulate(call: Call) -> bool {
    matches!(call, Call::Accumulate | Call::Raccumulate | Call::AccumulateNotify)
}

fn is_fetch(call: Call) -> bool {
    let gets = matches!(call, Call::GetAccumulate | Call::RgetAccumulate);
    gets || matches!(call, Call::FetchAndOp | Call::CompareAndSwap)
}

fn is_flush(call: Call) -> bool {
    matches!(call, Call::Flush | Call::FlushAll | Call::FlushLocal | Call::FlushLocalAll)
}

fn is_collective(call: Call) -> bool {
    let to_one = matches!(call, Call::Gather | Call::Gatherv | Call::Reduce);
    let from_one = matches!(call, Call::Broadcast | Call::Scatter | Call::Scatterv);
    let to_all = matches!(call, Call::Allgather | Call::Allgatherv | Call::Allreduce);
    let of_all = matches!(call, Call::Alltoall | Call::Alltoallv | Call::Scan | Call::Exscan);
    to_one
        || from_one
        || to_all
        || of_all
        || matches!(call, Call::ReduceScatter | Call::ReduceScatterBlock | Call::Neighbours)
}

const COUNTER: c_int = MPI_T_PVAR_CLASS_COUNTER;
const AGGREGATE: c_int = MPI_T_PVAR_CLASS_AGGREGATE;
const TIMER: c_int = MPI_T_PVAR_CLASS_TIMER;
const LEVEL: c_int = MPI_T_PVAR_CLASS_LEVEL;
const SIZE: c_int = MPI_T_PVAR_CLASS_SIZE;
const HIGHEST: c_int = MPI_T_PVAR_CLASS_HIGHWATERMARK;

const fn variable(
    name: &'static str,
    class: c_int,
    category: Category,
    of: Quantity,
    about: &'static str,
) -> Performance {
    Performance { name, about, category, class, of }
}

use Category::{Bytes, Calls, Memory, Objects, Process, Times, Waits};
use Quantity::{Counted, CountedOfWindow};

/// All of them, by their indices.
pub static ALL: &[Performance] = &[
    variable(
        "calls_ended",
        COUNTER,
        Calls,
        Quantity::Rank(|rank| rank.calls),
        "calls of the library that have ended, those inside other calls included; of threads that call at the same time some may be missing",
    ),
    variable(
        "calls",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |_| true)),
        "calls, without those that a call makes itself",
    ),
    variable(
        "puts",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_put)),
        "MPI_Put and its forms with a request",
    ),
    variable(
        "gets",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_get)),
        "MPI_Get and its forms with a request",
    ),
    variable(
        "accumulates",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_accumulate)),
        "MPI_Accumulate and MPI_Raccumulate",
    ),
    variable(
        "fetches",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_fetch)),
        "MPI_Get_accumulate, MPI_Rget_accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap",
    ),
    variable(
        "fences",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Fence)),
        "MPI_Win_fence",
    ),
    variable(
        "posts",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Post)),
        "MPI_Win_post",
    ),
    variable(
        "starts",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Start)),
        "MPI_Win_start",
    ),
    variable(
        "locks",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| matches!(call, Call::Lock | Call::LockAll))),
        "MPI_Win_lock and MPI_Win_lock_all",
    ),
    variable(
        "unlocks",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| matches!(call, Call::Unlock | Call::UnlockAll))),
        "MPI_Win_unlock and MPI_Win_unlock_all",
    ),
    variable(
        "flushes",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_flush)),
        "MPI_Win_flush and its forms",
    ),
    variable(
        "sends",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Send)),
        "MPI_Send and its modes, blocking or not",
    ),
    variable(
        "receives",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Receive)),
        "MPI_Recv and MPI_Irecv",
    ),
    variable(
        "barriers",
        COUNTER,
        Calls,
        Counted(|all| calls(all, |call| call == Call::Barrier)),
        "MPI_Barrier and MPI_Ibarrier",
    ),
    variable(
        "collectives",
        COUNTER,
        Calls,
        Counted(|all| calls(all, is_collective)),
        "collectives that move data",
    ),
    variable(
        "window_operations",
        COUNTER,
        Calls,
        CountedOfWindow(|all| calls(all, Call::is_operation)),
        "one-sided operations on the window",
    ),
    variable("put_bytes", AGGREGATE, Bytes, Counted(|all| bytes(all, is_put)), "bytes of puts"),
    variable("get_bytes", AGGREGATE, Bytes, Counted(|all| bytes(all, is_get)), "bytes of gets"),
    variable(
        "accumulate_bytes",
        AGGREGATE,
        Bytes,
        Counted(|all| bytes(all, is_accumulate)),
        "bytes of accumulates",
    ),
    variable(
        "fetch_bytes",
        AGGREGATE,
        Bytes,
        Counted(|all| bytes(all, is_fetch)),
        "bytes of fetches",
    ),
    variable(
        "send_bytes",
        AGGREGATE,
        Bytes,
        Counted(|all| bytes(all, |call| call == Call::Send)),
        "bytes of sends",
    ),
    variable(
        "window_bytes",
        AGGREGATE,
        Bytes,
        CountedOfWindow(|all| bytes(all, Call::is_operation)),
        "bytes of one-sided operations on the window",
    ),
    variable(
        "time_in_job",
        TIMER,
        Times,
        Counted(|all| all.nanoseconds),
        "time since the rank joined its job",
    ),
    variable("time_in_calls", TIMER, Times, Counted(|all| time(all, |_| true)), "time in calls"),
    variable(
        "time_moving",
        TIMER,
        Times,
        Counted(|all| time(all, Call::is_operation)),
        "time in one-sided operations, with their waits",
    ),
    variable("time_waiting", TIMER, Times, Counted(|all| waited(all, |_| true)), "time in waits"),
    variable(
        "time_waiting_for_posts",
        TIMER,
        Times,
        Counted(|all| waited(all, |of| of == AwaitedKind::Post)),
        "time in waits for posts",
    ),
    variable(
        "time_waiting_for_completes",
        TIMER,
        Times,
        Counted(|all| waited(all, |of| of == AwaitedKind::Complete)),
        "time in waits for completes",
    ),
    variable(
        "time_waiting_for_arrivals",
        TIMER,
        Times,
        Counted(|all| {
            waited(all, |of| matches!(of, AwaitedKind::Arrival | AwaitedKind::Collective))
        }),
        "time in waits for other ranks at a fence or in a collective",
    ),
    variable(
        "time_waiting_for_locks",
        TIMER,
        Times,
        Counted(|all| {
            waited(all, |of| {
                matches!(of, AwaitedKind::Lock | AwaitedKind::LockAll | AwaitedKind::LockAllEnds)
            })
        }),
        "time in waits for locks",
    ),
    variable(
        "time_waiting_for_messages",
        TIMER,
        Times,
        Counted(|all| {
            waited(all, |of| {
                matches!(of, AwaitedKind::Message | AwaitedKind::Receipt | AwaitedKind::Requests)
            })
        }),
        "time in waits for messages, their receives and requests",
    ),
    variable(
        "window_time_waiting",
        TIMER,
        Times,
        CountedOfWindow(|all| waited(all, |_| true)),
        "time in waits of calls on the window",
    ),
    variable(
        "waits",
        COUNTER,
        Waits,
        Counted(waits),
        "waits that did not succeed at their first look",
    ),
    variable(
        "sleeps",
        COUNTER,
        Waits,
        Quantity::Rank(|rank| rank.sleeps),
        "sleeps in waits: calls of futex(2) and its like",
    ),
    variable(
        "wake_up_time",
        LEVEL,
        Waits,
        Quantity::Rank(|rank| rank.waking),
        "what a wake-up has lately cost a rank of the job, in nanoseconds; zero before it is known",
    ),
    variable(
        "unexpected_messages",
        LEVEL,
        Waits,
        Quantity::Messages(|all| all.unexpected as u64),
        "messages that the rank has found, and for which there is no receive yet",
    ),
    variable(
        "posted_receives",
        LEVEL,
        Waits,
        Quantity::Messages(|all| all.receives as u64),
        "receives for which there is no message yet",
    ),
    variable(
        "segment_size",
        SIZE,
        Memory,
        Quantity::Rank(|rank| rank.segment),
        "bytes of addresses of the job's segment",
    ),
    variable(
        "segment_used",
        LEVEL,
        Memory,
        Quantity::Rank(|rank| rank.used),
        "bytes of the segment in use by all ranks",
    ),
    variable(
        "segment_in_memory",
        LEVEL,
        Memory,
        Quantity::Rank(|rank| rank.in_memory),
        "bytes of the segment that have memory",
    ),
    variable(
        "memory_available",
        LEVEL,
        Memory,
        Quantity::Rank(|rank| rank.available),
        "bytes of memory that can still be allocated in the segment",
    ),
    variable(
        "window_size",
        SIZE,
        Memory,
        Quantity::Window(|window| window.facts.size as u64),
        "bytes of this rank's part of the window",
    ),
    variable(
        "process_memory",
        HIGHEST,
        Memory,
        Quantity::Process(|process| process.most_memory),
        "most bytes of memory that the process has had at a time",
    ),
    variable(
        "time_user",
        TIMER,
        Process,
        Quantity::Process(|process| process.user),
        "time of the process on processors, outside the kernel",
    ),
    variable(
        "time_system",
        TIMER,
        Process,
        Quantity::Process(|process| process.system),
        "time of the process in the kernel",
    ),
    variable(
        "minor_faults",
        COUNTER,
        Process,
        Quantity::Process(|process| process.minor_faults),
        "page faults without a read from a disk",
    ),
    variable(
        "major_faults",
        COUNTER,
        Process,
        Quantity::Process(|process| process.major_faults),
        "page faults with a read from a disk",
    ),
    variable(
        "voluntary_switches",
        COUNTER,
        Process,
        Quantity::Process(|process| process.voluntary_switches),
        "how often the process left a processor because it had to wait",
    ),
    variable(
        "involuntary_switches",
        COUNTER,
        Process,
        Quantity::Process(|process| process.involuntary_switches),
        "how often the process left a processor to another one",
    ),
    variable(
        "windows",
        LEVEL,
        Objects,
        Quantity::Objects(|| objects(Window::table())),
        "windows that are not freed",
    ),
    variable(
        "communicators",
        LEVEL,
        Objects,
        Quantity::Objects(|| objects(Communicator::table())),
        "communicators that are not freed, with the two predefined ones",
    ),
    variable(
        "groups",
        LEVEL,
        Objects,
        Quantity::Objects(|| objects(Group::table())),
        "groups that are not freed",
    ),
    variable(
        "datatypes",
        LEVEL,
        Objects,
        Quantity::Objects(|| objects(Datatype::table())),
        "datatypes that are not freed, without predefined ones",
    ),
    variable(
        "infos",
        LEVEL,
        Objects,
        Quantity::Objects(|| objects(InfoObject::table())),
        "info objects that are not freed",
    ),
    variable(
        "requests",
        LEVEL,
        Objects,
        Quantity::Objects(Request::number),
        "requests that are not freed",
    ),
    variable(
        "ranks",
        SIZE,
        Objects,
        Quantity::Comm(|comm| comm.comm.size().into()),
        "ranks of the communicator; of an intercommunicator those of the local group",
    ),
];
