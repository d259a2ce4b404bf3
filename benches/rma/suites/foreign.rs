//! Jobs that another MPI's launcher has started. Puts by that MPI: rank 0 works on rank 1, which waits in a barrier. The
//! same and more on one node, whose ranks share memory, and on one of two; that program also runs under rmarun.

use crate::Options;
use crate::freed::Freed;
use crate::measure::{Case, measure};
use crate::suites::epochs;
use onesided::{Access, Comm, Info, Op, Rank, SplitType, Window, launch};
use std::hint::black_box;
use std::time::Duration;

const TARGET: Rank = Rank(1);
/// Puts of a batch, and the words between two of them, so that none lies beside another.
const PUTS: usize = 64;
const STRIDE: usize = 16;

/// The names of the rows.
#[derive(Clone, Copy)]
pub struct Names {
    pub batch: &'static str,
    pub one: &'static str,
}

pub const NEAR: Names =
    Names { batch: "64 puts + flush by another MPI", one: "put + flush by another MPI" };
pub const FAR: Names =
    Names { batch: "64 puts + flush by another MPI, far", one: "put + flush by another MPI, far" };

/// Rows of a node, each with its name under rmarun.
pub const PUT: [&str; 2] = ["put + flush on a node", "limit: put + flush under rmarun"];
pub const SUM: [&str; 2] =
    ["accumulate sum u64 + flush on a node", "limit: accumulate sum u64 + flush under rmarun"];
pub const FENCE: [&str; 2] = ["fence on a node", "limit: fence under rmarun"];
pub const MESSAGE: [&str; 2] =
    ["message there and back on a node", "limit: message there and back under rmarun"];

/// The same rows of one of two nodes.
pub const OF_TWO: [&str; 4] = [
    "put + flush on one of two nodes",
    "accumulate sum u64 + flush on one of two nodes",
    "fence on one of two nodes",
    "message there and back on one of two nodes",
];

/// The same work by either launcher.
pub fn run_near(world: &Comm, options: &Options) {
    let rows = [PUT, SUM, FENCE, MESSAGE];
    let named = |[here, there]: [&'static str; 2]| {
        if launch::is_rank() { (there, "") } else { (here, there) }
    };
    work_near(world, rows.map(named), options);
}

/// The same on a node of two ranks, in a job with another node, whose rank sleeps.
#[allow(clippy::disallowed_methods, reason = "the rank leaves its core to the others")]
pub fn run_on_nodes(world: &Comm, options: &Options) {
    const PAUSE: Duration = Duration::from_millis(10);
    let near = world.split_type(Some(SplitType::Shared), 0, &Info::new());
    let near = near.expect("a split").expect("for all");
    let end = 0;
    if near.size() == 1 {
        while world.iprobe(Rank(0), end).expect("the job goes on").is_none() {
            std::thread::sleep(PAUSE);
        }
        world.recv(&mut [0u8], Rank(0), end).expect("it is there");
    } else {
        let [put, sum, fence, message] = OF_TWO;
        let rows = [(put, PUT[1]), (sum, SUM[1]), (fence, FENCE[1]), (message, MESSAGE[1])];
        work_near(&near, rows, options);
    }
    if world.rank() == 0 {
        let alone = Rank(1);
        world.send(&[0u8], alone, end).expect("a message");
    }
    near.free().expect("an end");
}

/// Puts, accumulates, fences and messages of two ranks; each row has a name and its limit's.
fn work_near(world: &Comm, rows: [(&'static str, &'static str); 4], options: &Options) {
    let [(put_name, put_limit), (sum_name, sum_limit), (fence_name, fence_limit), message] = rows;
    let mut window = Window::<u64>::allocate(world, STRIDE).expect("a small window");
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        let source = [7u64];
        let put =
            |n| (0..n).for_each(|_| epoch.put_flush(black_box(&source), TARGET, 0).expect("put"));
        let sum = |n| {
            for _ in 0..n {
                let batch = epoch.batch();
                batch.accumulate(black_box(&source), Op::Sum, TARGET, 0).expect("a sum");
                batch.flush().expect("flush");
            }
        };
        let cases = vec![
            Case::new(put_name, 8, put).against(put_limit),
            Case::new(sum_name, 8, sum).against(sum_limit),
        ];
        measure(None, world.size(), cases, options);
        epoch.unlock_all().expect("the epoch is open");
    }
    world.barrier().expect("the job goes on");
    window.free().expect("no epoch is open");
    let fences = Window::<u64>::allocate(world, 512).expect("a small window");
    let fences = epochs::fence(Freed::new(Ok(fences)), fence_name).against(fence_limit);
    measure(Some(world), world.size(), vec![fences, there_and_back(world, message)], options);
}

/// A short message to the other rank and one from there.
fn there_and_back<'a>(world: &'a Comm, (name, limit): (&'static str, &'static str)) -> Case<'a> {
    let (begins, other) = (world.rank() == 0, Rank(1 - world.rank().0));
    let round = move || -> onesided::Result<()> {
        let mut into = [0u8; 8];
        if begins {
            world.send(black_box(&[1u8; 8]), other, 0)?;
        }
        world.recv(&mut into, other, 0)?;
        if !begins {
            world.send(black_box(&into), other, 0)?;
        }
        Ok(())
    };
    let rounds = move |n| (0..n).for_each(|_| round().expect("a message each way"));
    Case::new(name, 8, rounds).against(limit)
}

pub fn run(world: &Comm, names: Names, options: &Options) {
    let mut window = Window::<u64>::allocate(world, PUTS * STRIDE).expect("a small window");
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        let source = [7u64];
        let batch = |n| {
            for _ in 0..n {
                let batch = epoch.batch();
                for i in 0..PUTS {
                    batch.put(black_box(&source), TARGET, i * STRIDE).expect("put");
                }
                batch.flush().expect("flush");
            }
        };
        let one =
            |n| (0..n).for_each(|_| epoch.put_flush(black_box(&source), TARGET, 0).expect("put"));
        let cases = vec![Case::new(names.batch, 8, batch), Case::new(names.one, 8, one)];
        measure(None, world.size(), cases, options);
        epoch.unlock_all().expect("the epoch is open");
    }
    world.barrier().expect("the job goes on");
    window.free().expect("no epoch is open");
}
