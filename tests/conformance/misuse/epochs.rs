//! Calls in the wrong epoch.

use super::row::State::{Exposed, Fence, FenceUsed, Idle, Locked, LockedAll, OwnLocked, Started};
use super::row::{Row, and_free, job, row, spared};
use onesided::ErrorClass::{Assert, RmaSync};
use onesided::{FenceAssert, Info, LockType, Op, Rank, WindowOptions};

const ONE: &[u64] = &[5];
const NONE: &[&str] = &["no access epoch is open"];
const UNLOCKED: &[&str] = &["no lock of rank {me}"];

pub const ROWS: &[Row] = &[
    row("put outside an epoch", Idle, RmaSync, NONE, |s| s.win.put(ONE, s.other, 0)),
    row("get outside an epoch", Idle, RmaSync, NONE, |s| {
        spared(|b| s.win.get(&mut b[..], s.other, 0))
    }),
    row("accumulate outside an epoch", Idle, RmaSync, NONE, |s| {
        s.win.accumulate(ONE, Op::Sum, s.other, 0)
    }),
    row("get_accumulate outside an epoch", Idle, RmaSync, NONE, |s| {
        spared(|b| s.win.get_accumulate(ONE, &mut b[..1], Op::Sum, s.other, 0))
    }),
    row("fetch_and_op outside an epoch", Idle, RmaSync, NONE, |s| {
        spared(|b| s.win.fetch_and_op(&1, &mut b[0], Op::Sum, s.other, 0))
    }),
    row("compare_and_swap outside an epoch", Idle, RmaSync, NONE, |s| {
        spared(|b| s.win.compare_and_swap(&1, &0, &mut b[0], s.other, 0))
    }),
    row("put to MPI_PROC_NULL outside an epoch", Idle, RmaSync, NONE, |s| {
        s.win.put(ONE, Rank::NULL, 0)
    }),
    row("notification outside an epoch", Idle, RmaSync, NONE, |s| s.win.notify(s.other, 0)),
    row("put in an exposure epoch alone", Exposed, RmaSync, NONE, |s| s.win.put(ONE, s.other, 0)),
    row(
        "put to a rank outside the group of start",
        Started,
        RmaSync,
        &["rank {me} is not in"],
        |s| s.win.put(ONE, s.me, 0),
    ),
    row("put to a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| s.win.put(ONE, s.me, 0)),
    row("get from a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| {
        spared(|b| s.win.get(&mut b[..], s.me, 0))
    }),
    row("accumulate to a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| {
        s.win.accumulate(ONE, Op::Sum, s.me, 0)
    }),
    row("rput in a fence epoch", Fence, RmaSync, &["rput on"], |s| {
        s.win.rput(ONE, s.other, 0).map(drop)
    }),
    row("flush outside an epoch", Idle, RmaSync, &["flush on"], |s| s.win.flush(s.other)),
    row("flush in a fence epoch", Fence, RmaSync, &["a fence epoch is open"], |s| {
        s.win.flush(s.other)
    }),
    row("flush after start", Started, RmaSync, &["opened by start"], |s| s.win.flush(s.other)),
    row("flush of a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| s.win.flush(s.me)),
    row("flush_local of a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| {
        s.win.flush_local(s.me)
    }),
    row("flush_all outside an epoch", Idle, RmaSync, &["flush_all on"], |s| s.win.flush_all()),
    row("flush_local_all outside an epoch", Idle, RmaSync, &["flush_local_all on"], |s| {
        s.win.flush_local_all()
    }),
    row(
        "lock of a rank that is locked already",
        Locked,
        RmaSync,
        &["already", "rank {other}"],
        |s| s.win.lock(LockType::Exclusive, s.other),
    ),
    row("lock in a fence epoch with operations", FenceUsed, RmaSync, &["operations"], |s| {
        s.win.lock(LockType::Shared, s.other)
    }),
    row("lock after start", Started, RmaSync, &["opened by start"], |s| {
        s.win.lock(LockType::Shared, s.other)
    }),
    row("lock under lock_all", LockedAll, RmaSync, &["lock_all is held"], |s| {
        s.win.lock(LockType::Shared, s.other)
    }),
    row("lock of the own part while it is exposed", Exposed, RmaSync, &["post and wait"], |s| {
        s.win.lock(LockType::Shared, s.me)
    }),
    row(
        "lock of a part that its rank exposes",
        Exposed,
        RmaSync,
        &["rank {other} has exposed"],
        |s| s.win.lock(LockType::Shared, s.other),
    ),
    row("lock_all under a lock", Locked, RmaSync, &["a lock is held"], |s| s.win.lock_all()),
    row("lock_all twice", LockedAll, RmaSync, &["lock_all is held"], |s| s.win.lock_all()),
    row("lock_all while exposed", Exposed, RmaSync, &["post and wait"], |s| s.win.lock_all()),
    row("unlock without lock", Idle, RmaSync, &["no lock of rank {other}"], |s| {
        s.win.unlock(s.other)
    }),
    row("unlock of a rank that is not locked", Locked, RmaSync, UNLOCKED, |s| s.win.unlock(s.me)),
    row("unlock under lock_all", LockedAll, RmaSync, &["no lock of rank {other}"], |s| {
        s.win.unlock(s.other)
    }),
    row("unlock_all without lock_all", Idle, RmaSync, &["does not hold lock_all"], |s| {
        s.win.unlock_all()
    }),
    row("unlock_all under a lock", Locked, RmaSync, &["does not hold lock_all"], |s| {
        s.win.unlock_all()
    }),
    row("post twice", Started, RmaSync, &["post and wait"], |s| s.win.post(&s.group(&[s.other.0]))),
    row("post while the own part is locked", OwnLocked, RmaSync, &["own part is locked"], |s| {
        s.win.post(&s.group(&[s.other.0]))
    }),
    row(
        "post while another rank has it locked",
        Locked,
        RmaSync,
        &["another rank has locked"],
        |s| s.win.post(&s.group(&[s.other.0])),
    ),
    row("post in a fence epoch with operations", FenceUsed, RmaSync, &["operations"], |s| {
        s.win.post(&s.group(&[s.other.0]))
    }),
    row("wait without post", Idle, RmaSync, &["wait needs a post"], |s| s.win.wait()),
    row("test without post", Idle, RmaSync, &["test needs a post"], |s| s.win.test().map(drop)),
    row("start twice", Started, RmaSync, &["opened by start"], |s| {
        s.win.start(&s.group(&[s.other.0]))
    }),
    row("start under a lock", Locked, RmaSync, &["a lock is held"], |s| {
        s.win.start(&s.group(&[s.other.0]))
    }),
    row("start under lock_all", LockedAll, RmaSync, &["lock_all is held"], |s| {
        s.win.start(&s.group(&[s.other.0]))
    }),
    row("start in a fence epoch with operations", FenceUsed, RmaSync, &["operations"], |s| {
        s.win.start(&s.group(&[s.other.0]))
    }),
    row("complete without start", Idle, RmaSync, &["no epoch is open"], |s| s.win.complete()),
    row("complete in a fence epoch", Fence, RmaSync, &["a fence epoch is open"], |s| {
        s.win.complete()
    }),
    row("complete under a lock", Locked, RmaSync, &["a lock is held"], |s| s.win.complete()),
    row("fence under a lock", Locked, RmaSync, &["a lock is held"], |s| s.win.fence()),
    row("fence under lock_all", LockedAll, RmaSync, &["lock_all is held"], |s| s.win.fence()),
    row("fence after start", Started, RmaSync, &["opened by start"], |s| s.win.fence()),
    row("fence between post and wait", Exposed, RmaSync, &["post and wait"], |s| s.win.fence()),
    row(
        "fence with NOPRECEDE after operations",
        FenceUsed,
        Assert,
        &["fence on", "MPI_MODE_NOPRECEDE", "issued operations"],
        |s| s.win.fence_with(FenceAssert::NOPRECEDE),
    ),
    job(
        "lock of a window that was made with no_locks",
        RmaSync,
        &["lock on window 'free' by rank {me}", "no_locks"],
        |comm| {
            let mut info = Info::new();
            info.set("no_locks", "true")?;
            let win = WindowOptions::new().name("free").info(&info).allocate_bytes(comm, 64, 8)?;
            let refused = win.lock(LockType::Shared, Rank(0));
            and_free(win, refused)
        },
    ),
    job(
        "free under a lock",
        RmaSync,
        &["window free on window 'held' by rank {me}", "a lock is held"],
        |comm| {
            let win = WindowOptions::new().name("held").allocate_bytes(comm, 64, 8)?;
            win.lock(LockType::Shared, Rank(0))?;
            win.free()
        },
    ),
    job(
        "free between post and wait",
        RmaSync,
        &["window free on window 'open' by rank {me}", "post and wait"],
        |comm| {
            let win = WindowOptions::new().name("open").allocate_bytes(comm, 64, 8)?;
            win.post(&onesided::Group::empty())?;
            win.free()
        },
    ),
    job(
        "free in a fence epoch with operations",
        RmaSync,
        &["window free on window 'used' by rank {me}", "operations"],
        |comm| {
            let win = WindowOptions::new().name("used").allocate_bytes(comm, 64, 8)?;
            win.fence()?;
            win.put(ONE, Rank(0), 0)?;
            win.free()
        },
    ),
    job(
        "free while another rank has an epoch open",
        RmaSync,
        &["window free on window 'theirs' by rank {me}"],
        |comm| {
            let win = WindowOptions::new().name("theirs").allocate_bytes(comm, 64, 8)?;
            if comm.rank() == 1 {
                win.lock(LockType::Shared, Rank(0))?;
            }
            win.free()
        },
    ),
];
