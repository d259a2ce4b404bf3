//! Ranks and groups that are not of the window.

use super::row::State::{Idle, Locked, LockedAll};
use super::row::{Row, and_free, job, row, spared};
use onesided::ErrorClass::{Group as GroupClass, Rank as RankClass, Root};
use onesided::{Group, LockType, Op, Rank, WindowOptions};

const NO_RANK: &[&str] = &["no rank 2", "2 ranks"];
const ONE: &[u64] = &[5];
const TOO_LARGE: Rank = Rank(2);

/// A group with the other rank, for a window of this rank alone.
fn foreign(comm: &onesided::Comm) -> (onesided::engine::Win, Group) {
    let own = comm.split(Some(comm.rank().0), 0).expect("a split").expect("a colour was given");
    let win = WindowOptions::new().name("own").allocate_bytes(&own, 64, 8).expect("a window");
    (win, comm.group().incl(&[1 - comm.rank().0]).expect("the other rank"))
}

pub const ROWS: &[Row] = &[
    row("put to a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.put(ONE, TOO_LARGE, 0)
    }),
    row(
        "put to rank -2",
        LockedAll,
        RankClass,
        &["put on", "no rank 4294967294", "2 ranks"],
        |s| s.win.put(ONE, Rank(u32::MAX - 1), 0),
    ),
    row("get from a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        spared(|b| s.win.get(&mut b[..], TOO_LARGE, 0))
    }),
    row("accumulate to a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.accumulate(ONE, Op::Sum, TOO_LARGE, 0)
    }),
    row("get_accumulate at a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        spared(|b| s.win.get_accumulate(ONE, &mut b[..1], Op::Sum, TOO_LARGE, 0))
    }),
    row("fetch_and_op at a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        spared(|b| s.win.fetch_and_op(&1, &mut b[0], Op::Sum, TOO_LARGE, 0))
    }),
    row("compare_and_swap at a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        spared(|b| s.win.compare_and_swap(&1, &0, &mut b[0], TOO_LARGE, 0))
    }),
    row("rput to a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.rput(ONE, TOO_LARGE, 0).map(drop)
    }),
    row("lock of a rank that does not exist", Idle, RankClass, NO_RANK, |s| {
        s.win.lock(LockType::Shared, TOO_LARGE)
    }),
    row("lock of MPI_PROC_NULL", Idle, RankClass, &["lock on", "2 ranks"], |s| {
        s.win.lock(LockType::Shared, Rank::NULL)
    }),
    row("unlock of a rank that does not exist", Locked, RankClass, NO_RANK, |s| {
        s.win.unlock(TOO_LARGE)
    }),
    row("flush of a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.flush(TOO_LARGE)
    }),
    row("flush_local of a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.flush_local(TOO_LARGE)
    }),
    row("notification of a rank that does not exist", LockedAll, RankClass, NO_RANK, |s| {
        s.win.notify(TOO_LARGE, 0)
    }),
    row("size of the part of a rank that does not exist", Idle, RankClass, NO_RANK, |s| {
        s.win.size(TOO_LARGE).map(drop)
    }),
    row("displacement unit of a rank that does not exist", Idle, RankClass, NO_RANK, |s| {
        s.win.disp_unit(TOO_LARGE).map(drop)
    }),
    row("shared_query of a rank that does not exist", Idle, RankClass, NO_RANK, |s| {
        s.win.shared_query(TOO_LARGE).map(drop)
    }),
    job(
        "post for a rank that is not in the window's communicator",
        GroupClass,
        &["post on window 'own' by rank 0", "rank {other} of the world is no rank of the window"],
        |comm| {
            let (win, group) = foreign(comm);
            let refused = win.post(&group);
            and_free(win, refused)
        },
    ),
    job(
        "start on a rank that is not in the window's communicator",
        GroupClass,
        &["start on window 'own' by rank 0", "rank {other} of the world is no rank of the window"],
        |comm| {
            let (win, group) = foreign(comm);
            let refused = win.start(&group);
            and_free(win, refused)
        },
    ),
    job(
        "a group with a rank that does not exist",
        GroupClass,
        &["group", "rank 2", "of 2"],
        |comm| comm.group().incl(&[0, 2]).map(drop),
    ),
    job("a group with a rank twice", GroupClass, &["group", "rank 1", "twice"], |comm| {
        comm.group().incl(&[1, 0, 1]).map(drop)
    }),
    job("a group without a rank that is not in it", GroupClass, &["group", "rank 7"], |comm| {
        comm.group().excl(&[7]).map(drop)
    }),
    job("a group out of an empty group", GroupClass, &["rank 0", "group of 0"], |_| {
        Group::empty().incl(&[0]).map(drop)
    }),
    job("ranks of a group that are not in it", GroupClass, &["group", "rank 9"], |comm| {
        comm.group().translate(&[9], &comm.group()).map(drop)
    }),
    job("a group of a range without a stride", GroupClass, &["group", "stride"], |comm| {
        comm.group().range_incl(&[(0, 1, 0)]).map(drop)
    }),
    job(
        "a broadcast whose root does not exist",
        Root,
        &["broadcast by rank {me}", "no rank 2", "2 ranks"],
        |comm| spared(|b| comm.broadcast(&mut b[..], TOO_LARGE)),
    ),
    job("a broadcast from MPI_PROC_NULL", Root, &["broadcast by rank {me}", "2 ranks"], |comm| {
        spared(|b| comm.broadcast(&mut b[..], Rank::NULL))
    }),
    job(
        "a gather whose root does not exist",
        Root,
        &["gather by rank {me}", "no rank 2"],
        |comm| comm.gather(ONE, TOO_LARGE).map(drop),
    ),
    job(
        "a reduce whose root does not exist",
        Root,
        &["reduce by rank {me}", "no rank 2"],
        |comm| comm.reduce(ONE, Op::Sum, TOO_LARGE).map(drop),
    ),
];
