//! Ranks that do not agree, and buffers that do not fit.

use super::row::{Row, job, spared};
use onesided::ErrorClass::{
    Arg, Buffer, Comm as CommClass, Count, Op as OpClass, Root, Truncate, Type,
};
use onesided::{Comm, Op, Rank, Result, WindowOptions};

const TWO: &[u64] = &[5, 6];

/// A rank that need not wait for the others learns at a later collective that they do not agree.
fn or_later(comm: &Comm, result: Result<()>) -> Result<()> {
    let later = comm.barrier();
    result.and(later)
}

pub const ROWS: &[Row] = &[
    job(
        "a barrier where another rank broadcasts",
        Arg,
        &["by rank {me}", "barrier", "broadcast", "rank {other}"],
        |comm| match comm.rank().0 {
            0 => comm.barrier(),
            _ => spared(|b| comm.broadcast(&mut b[..], Rank(0))),
        },
    ),
    job(
        "broadcasts of different lengths",
        Truncate,
        &["broadcast by rank {me}", "of 1 MPI_UINT64_T", "of 2 MPI_UINT64_T"],
        |comm| {
            let length = 1 + comm.rank().index();
            or_later(comm, spared(|b| comm.broadcast(&mut b[..length], Rank(0))))
        },
    ),
    job(
        "broadcasts of different types",
        Type,
        &["broadcast by rank {me}", "MPI_UINT32_T", "MPI_UINT64_T"],
        |comm| match comm.rank().0 {
            0 => or_later(comm, comm.broadcast(&mut [1u32], Rank(0))),
            _ => or_later(comm, spared(|b| comm.broadcast(&mut b[..1], Rank(0)))),
        },
    ),
    job("broadcasts from different roots", Root, &["broadcast by rank {me}", "root 1"], |comm| {
        or_later(comm, spared(|b| comm.broadcast(&mut b[..], comm.rank())))
    }),
    job(
        "reductions by different operations",
        OpClass,
        &["allreduce by rank {me}", "MPI_SUM", "MPI_MAX"],
        |comm| {
            let op = if comm.rank() == 0 { Op::Sum } else { Op::Max };
            comm.allreduce(TWO, op).map(drop)
        },
    ),
    job(
        "a reduction by an operation of windows",
        OpClass,
        &["allreduce by rank {me}", "MPI_REPLACE"],
        |comm| comm.allreduce(TWO, Op::Replace).map(drop),
    ),
    job("a reduction by no operation", OpClass, &["allreduce by rank {me}", "MPI_NO_OP"], |comm| {
        comm.allreduce(TWO, Op::NoOp).map(drop)
    }),
    job(
        "a reduction by an operation that the type has not",
        OpClass,
        &["reduce by rank {me}", "MPI_BAND", "MPI_DOUBLE"],
        |comm| comm.reduce(&[1.5], Op::Band, Rank(0)).map(drop),
    ),
    job("a scatter whose root gives nothing", Buffer, &["scatter by rank 0"], |comm| {
        let own = comm.split(Some(comm.rank().0), 0)?.expect("a colour was given");
        own.scatter::<u64>(None, Rank(0)).map(drop)
    }),
    job(
        "an alltoall of elements that cannot be dealt out",
        Count,
        &["alltoall by rank {me}", "3 elements", "4 are needed"],
        |comm| comm.alltoall(&[1u64, 2, 3]).map(drop),
    ),
    job(
        "an alltoallv without a slice for every rank",
        Count,
        &["alltoallv by rank {me}", "1 elements", "2 are needed"],
        |comm| comm.alltoallv(&[TWO]).map(drop),
    ),
    job(
        "a reduce_scatter whose counts are not those of the elements",
        Count,
        &["reduce_scatter by rank {me}"],
        |comm| comm.reduce_scatter(TWO, &[1, 2], Op::Sum).map(drop),
    ),
    job(
        "a window where another rank has a barrier",
        Arg,
        &["by rank {me}", "window allocate", "barrier"],
        |comm| match comm.rank().0 {
            0 => WindowOptions::new().allocate_bytes(comm, 64, 8).map(drop),
            _ => comm.barrier(),
        },
    ),
    job(
        "windows of different flavours",
        Arg,
        &["by rank {me}", "window allocate", "window create_dynamic"],
        |comm| match comm.rank().0 {
            0 => WindowOptions::new().allocate_bytes(comm, 64, 8).map(drop),
            _ => WindowOptions::new().create_dynamic_bytes(comm).map(drop),
        },
    ),
    job(
        "free of different windows",
        Arg,
        &["window free on window", "by rank {me}", "of another window"],
        |comm| {
            let first = WindowOptions::new().name("first").allocate_bytes(comm, 64, 8)?;
            let second = WindowOptions::new().name("second").allocate_bytes(comm, 64, 8)?;
            let (now, then) = if comm.rank() == 0 { (first, second) } else { (second, first) };
            let refused = now.free();
            assert_eq!(then.free().expect_err("the others, too").class(), Arg);
            refused
        },
    ),
    job(
        "a window of one rank that another does not make",
        Arg,
        &["by rank {me}", "communicator dup", "window allocate"],
        |comm| match comm.rank().0 {
            0 => WindowOptions::new().allocate_bytes(comm, 64, 8).map(drop),
            _ => comm.dup().map(drop),
        },
    ),
    job(
        "a collective inside a callback of another",
        CommClass,
        &["barrier by rank {me}", "another collective of this rank is under way"],
        |comm| {
            use std::sync::{Arc, Mutex};
            let inner = Arc::new(Mutex::new(None));
            let (found, again) = (inner.clone(), comm.clone());
            let op = onesided::UserOp::new(move |a: u64, b: u64| {
                found.lock().expect("not poisoned").get_or_insert(again.barrier());
                a.max(b)
            });
            comm.allreduce(TWO, &op)?;
            let result = inner.lock().expect("not poisoned").take();
            result.expect("the function was called")
        },
    ),
];
