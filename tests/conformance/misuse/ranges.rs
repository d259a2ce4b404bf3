//! Target bytes that are not in the window.

use super::row::State::{Fence, Idle, Locked, LockedAll, Started};
use super::row::{Row, and_free, job, row, spared};
use onesided::ErrorClass::{Disp, RmaRange};
use onesided::engine::{Layout, Origin, OriginMut};
use onesided::{Datatype, DerivedDatatype, Op, Rank, Until, WindowOptions};

const PAST: &[&str] = &["8 bytes at displacement 8 (unit 8 bytes)", "of rank {other}", "64 bytes"];
const ACROSS: &[&str] = &["16 bytes at displacement 7", "of rank {other}", "64 bytes"];
const NUMBERS: [u64; 3] = [5, 6, 7];
const ONE: &[u64] = &[5];
const TWO: &[u64] = &[5, 6];

fn origin(elements: usize) -> Origin<'static> {
    // SAFETY: at most three elements of a constant.
    unsafe { Origin::new(NUMBERS.as_ptr().cast(), elements, Datatype::U64) }
}

/// A layout of one element, `bytes` bytes away from the displacement.
fn away(bytes: i64) -> onesided::CommittedDatatype {
    let shifted = DerivedDatatype::hindexed(&[1], &[bytes], Datatype::U64);
    shifted.expect("a datatype").commit()
}

pub const ROWS: &[Row] = &[
    row("put, one element past the end", LockedAll, RmaRange, PAST, |s| s.win.put(ONE, s.other, 8)),
    row("put across the end", LockedAll, RmaRange, ACROSS, |s| s.win.put(TWO, s.other, 7)),
    row(
        "put far behind the end, where nothing is mapped",
        LockedAll,
        RmaRange,
        &["put on", "displacement 9007199254740992", "64 bytes"],
        |s| s.win.put(ONE, s.other, 1 << 53),
    ),
    row(
        "put at a displacement that wraps to 0 with its unit (2^61 x 8)",
        LockedAll,
        RmaRange,
        &["put on", "displacement 2305843009213693952"],
        |s| s.win.put(ONE, s.other, 1 << 61),
    ),
    row("put at -1", LockedAll, RmaRange, &["put on", "displacement 18446744073709551615"], |s| {
        s.win.put(ONE, s.other, u64::MAX)
    }),
    row("put past the end in a fence epoch", Fence, RmaRange, PAST, |s| s.win.put(ONE, s.other, 8)),
    row("put past the end after start", Started, RmaRange, PAST, |s| s.win.put(ONE, s.other, 8)),
    row("put past the end under a lock", Locked, RmaRange, PAST, |s| s.win.put(ONE, s.other, 8)),
    row("get, one element past the end", LockedAll, RmaRange, PAST, |s| {
        spared(|b| s.win.get(&mut b[..1], s.other, 8))
    }),
    row("get across the end", LockedAll, RmaRange, ACROSS, |s| {
        spared(|b| s.win.get(&mut b[..2], s.other, 7))
    }),
    row("accumulate past the end", LockedAll, RmaRange, PAST, |s| {
        s.win.accumulate(ONE, Op::Sum, s.other, 8)
    }),
    row("accumulate across the end", LockedAll, RmaRange, ACROSS, |s| {
        s.win.accumulate(TWO, Op::Sum, s.other, 7)
    }),
    row("get_accumulate across the end", LockedAll, RmaRange, ACROSS, |s| {
        spared(|b| s.win.get_accumulate(TWO, &mut b[..2], Op::Sum, s.other, 7))
    }),
    row("fetch_and_op past the end", LockedAll, RmaRange, PAST, |s| {
        spared(|b| s.win.fetch_and_op(&1, &mut b[0], Op::Sum, s.other, 8))
    }),
    row("compare_and_swap past the end", LockedAll, RmaRange, PAST, |s| {
        spared(|b| s.win.compare_and_swap(&1, &0, &mut b[0], s.other, 8))
    }),
    row("rput past the end", LockedAll, RmaRange, PAST, |s| s.win.rput(ONE, s.other, 8).map(drop)),
    row("rget past the end", LockedAll, RmaRange, PAST, |s| {
        spared(|b| s.win.rget(&mut b[..1], s.other, 8).map(drop))
    }),
    row("raccumulate past the end", LockedAll, RmaRange, PAST, |s| {
        s.win.raccumulate(ONE, Op::Sum, s.other, 8).map(drop)
    }),
    row("rget_accumulate past the end", LockedAll, RmaRange, PAST, |s| {
        spared(|b| s.win.rget_accumulate(ONE, &mut b[..1], Op::Sum, s.other, 8).map(drop))
    }),
    row("put_notify past the end", LockedAll, RmaRange, PAST, |s| {
        s.win.put_notify(ONE, s.other, 8, 0)
    }),
    row(
        "put to a layout that begins before the window",
        LockedAll,
        RmaRange,
        &["put on", "bytes -16 to -8 from displacement 1", "of rank {other}"],
        |s| s.win.put_layout(origin(1), s.other, 1, Layout::new(1, &away(-16))),
    ),
    row(
        "put to a layout that ends behind the window",
        LockedAll,
        RmaRange,
        &["put on", "bytes 64 to 72 from displacement 0"],
        |s| s.win.put_layout(origin(1), s.other, 0, Layout::new(1, &away(64))),
    ),
    row(
        "put to more instances of a layout than an offset can express",
        LockedAll,
        RmaRange,
        &["put on", "displacement 0", "of rank {other}"],
        |s| s.win.put_layout(origin(1), s.other, 0, Layout::new(usize::MAX, Datatype::U64)),
    ),
    row(
        "get from a layout that begins before the window",
        LockedAll,
        RmaRange,
        &["get on", "bytes -8 to 0 from displacement 0"],
        |s| {
            spared(|b| {
                // SAFETY: the first element of the buffer.
                let to = unsafe { OriginMut::new(b.as_mut_ptr().cast(), 1, Datatype::U64) };
                s.win.get_layout(to, s.other, 0, Layout::new(1, &away(-8)))
            })
        },
    ),
    row(
        "local load past the end",
        Idle,
        RmaRange,
        &["local access on", "8 bytes at displacement 8", "64 bytes"],
        |s| spared(|b| s.win.load(8, &mut b[..1])),
    ),
    row(
        "local store across the end",
        Idle,
        RmaRange,
        &["local access on", "16 bytes at displacement 7"],
        |s| s.win.store(7, TWO),
    ),
    row(
        "wait_until on an element past the end",
        Idle,
        RmaRange,
        &["wait_until on", "displacement 8"],
        |s| s.win.wait_until(8, Until::Eq, 1u64).map(drop),
    ),
    job(
        "put to memory that the target has not attached",
        RmaRange,
        &["put on window 'bare' by rank {me}", "rank {other}", "8 bytes at 0x1000"],
        |comm| {
            let win = WindowOptions::new().name("bare").create_dynamic_bytes(comm)?;
            win.lock_all()?;
            let refused = win.put(ONE, Rank(1 - comm.rank().0), 0x1000);
            win.unlock_all()?;
            and_free(win, refused)
        },
    ),
    job(
        "wait_until on an element that is not aligned",
        Disp,
        &["wait_until on window 'bytes' by rank {me}", "displacement 3 (unit 1 bytes)", "8 bytes"],
        |comm| {
            let win = WindowOptions::new().name("bytes").allocate_bytes(comm, 64, 1)?;
            let refused = win.wait_until(3, Until::Eq, 1u64).map(drop);
            and_free(win, refused)
        },
    ),
];
