//! Buffers, operations, datatypes and counters that do not fit the call.

use super::row::State::{Idle, LockedAll};
use super::row::{LEN, Row, and_free, job, row, spared};
use onesided::ErrorClass::{
    Arg, Base, Count, Op as OpClass, RmaAttach, RmaConflict, RmaFlavor, Type,
};
use onesided::engine::{ExposedBytes, Layout, Origin, OriginMut, Win};
use onesided::{Comm, Datatype, DerivedDatatype, Op, Result, WindowOptions};

const ONE: &[u64] = &[5];
const NUMBERS: [u64; 3] = [5, 6, 7];

fn origin(elements: usize, datatype: Datatype) -> Origin<'static> {
    // SAFETY: at most three elements of eight bytes, of a constant.
    unsafe { Origin::new(NUMBERS.as_ptr().cast(), elements, datatype) }
}

/// Two elements of which the second begins inside the first.
fn overlapping() -> onesided::CommittedDatatype {
    DerivedDatatype::hvector(2, 1, 4, Datatype::U64).expect("a datatype").commit()
}

fn dynamic(comm: &Comm, call: impl FnOnce(&Win) -> Result<()>) -> Result<()> {
    let win = WindowOptions::new().name("dynamic").create_dynamic_bytes(comm)?;
    let refused = call(&win);
    and_free(win, refused)
}

pub const ROWS: &[Row] = &[
    row(
        "get_accumulate with buffers of different lengths",
        LockedAll,
        Count,
        &["get_accumulate on", "origin buffer has 1 elements", "2 are needed"],
        |s| spared(|b| s.win.get_accumulate(ONE, &mut b[..2], Op::Sum, s.other, 0)),
    ),
    row(
        "get_accumulate with a result shorter than the origin",
        LockedAll,
        Count,
        &["get_accumulate on", "origin buffer has 3 elements", "2 are needed"],
        |s| spared(|b| s.win.get_accumulate(&NUMBERS, &mut b[..2], Op::Sum, s.other, 0)),
    ),
    row(
        "get_accumulate without an origin",
        LockedAll,
        Count,
        &["get_accumulate on", "origin buffer has 0 elements", "2 are needed"],
        |s| spared(|b| s.win.get_accumulate(&[], &mut b[..2], Op::Sum, s.other, 0)),
    ),
    row(
        "accumulate with an operation that pairs have and numbers have not",
        LockedAll,
        OpClass,
        &["accumulate on", "MPI_MAXLOC", "MPI_UINT64_T"],
        |s| s.win.accumulate(ONE, Op::Maxloc, s.other, 0),
    ),
    row(
        "accumulate with a bitwise operation on floating numbers",
        LockedAll,
        OpClass,
        &["accumulate on", "MPI_BAND", "MPI_DOUBLE"],
        |s| s.win.accumulate(&[1.5f64], Op::Band, s.other, 0),
    ),
    row(
        "get_accumulate with a logical operation on floating numbers",
        LockedAll,
        OpClass,
        &["get_accumulate on", "MPI_LXOR", "MPI_DOUBLE"],
        |s| s.win.get_accumulate(&[1.5f64], &mut [0.0], Op::Lxor, s.other, 0),
    ),
    row(
        "fetch_and_op with an operation that the type has not",
        LockedAll,
        OpClass,
        &["fetch_and_op on", "MPI_MINLOC", "MPI_UINT64_T"],
        |s| spared(|b| s.win.fetch_and_op(&1, &mut b[0], Op::Minloc, s.other, 0)),
    ),
    row(
        "get_accumulate between two datatypes",
        LockedAll,
        Type,
        &["get_accumulate on", "MPI_INT64_T"],
        |s| {
            spared(|b| {
                // SAFETY: the first element of the buffer.
                let to = unsafe { OriginMut::new(b.as_mut_ptr().cast(), 1, Datatype::F64) };
                let from = origin(1, Datatype::I64);
                let layout = Layout::new(1, Datatype::F64);
                s.win.get_accumulate_layout(from, to, Op::Sum, s.other, 0, layout)
            })
        },
    ),
    row(
        "put between layouts of different elements",
        LockedAll,
        Type,
        &["put on", "MPI_INT64_T"],
        |s| {
            let layout = Layout::new(1, Datatype::F64);
            s.win.put_layout(origin(1, Datatype::I64), s.other, 0, layout)
        },
    ),
    row("put of more elements than the target's layout has", LockedAll, Type, &["put on"], |s| {
        let layout = Layout::new(1, Datatype::U64);
        s.win.put_layout(origin(2, Datatype::U64), s.other, 0, layout)
    }),
    row("put to a layout that has a byte twice", LockedAll, Type, &["put on"], |s| {
        s.win.put_layout(origin(2, Datatype::U64), s.other, 0, Layout::new(1, &overlapping()))
    }),
    row("accumulate to a layout of several datatypes", LockedAll, Type, &["accumulate on"], |s| {
        let parts = [DerivedDatatype::from(Datatype::U64), Datatype::F64.into()];
        let mixed = DerivedDatatype::structure(&[1, 1], &[0, 8], &parts)?.commit();
        let from = origin(2, Datatype::U64);
        s.win.accumulate_layout(from, Op::Sum, s.other, 0, Layout::new(1, &mixed))
    }),
    row(
        "put out of the very bytes that it writes",
        LockedAll,
        RmaConflict,
        &["put on", "16 target bytes at displacement 1", "rank {me}"],
        |s| {
            // SAFETY: two elements of the own part of the window, which no other thread accesses.
            let own = unsafe { Origin::new(s.win.base(), 2, Datatype::U64) };
            s.win.put_layout(own, s.me, 1, own.layout())
        },
    ),
    row(
        "get into the very bytes that it reads",
        LockedAll,
        RmaConflict,
        &["get on", "16 target bytes at displacement 1", "rank {me}"],
        |s| {
            // SAFETY: as for the put.
            let own = unsafe { OriginMut::new(s.win.base(), 2, Datatype::U64) };
            s.win.get_layout(own, s.me, 1, Layout::new(2, Datatype::U64))
        },
    ),
    row(
        "a notification of a counter that the target has not",
        LockedAll,
        Arg,
        &["put_notify on", "rank {other}", "counter 2", "it has 2"],
        |s| s.win.put_notify(ONE, s.other, 0, 2),
    ),
    row(
        "wait_notify on a counter that this rank has not",
        Idle,
        Arg,
        &["wait_notify on", "rank {me}", "counter 9"],
        |s| s.win.wait_notify(9, 1),
    ),
    row(
        "wait_notify for more notifications than can be outstanding",
        Idle,
        Arg,
        &["wait_notify on", "2147483648 notifications of counter 0"],
        |s| s.win.wait_notify(0, 1 << 31),
    ),
    row(
        "attach to a window that is not dynamic",
        Idle,
        RmaFlavor,
        &["attach on", "window allocate", "a dynamic window"],
        |s| {
            let mut memory = [0u64; LEN as usize];
            // SAFETY: the call fails, so the memory is not accessed.
            unsafe { s.win.attach(ExposedBytes::new(memory.as_mut_ptr().cast(), 64)) }
        },
    ),
    row(
        "detach from a window that is not dynamic",
        Idle,
        RmaFlavor,
        &["detach on", "window allocate", "a dynamic window"],
        |s| s.win.detach(s.win.base()),
    ),
    job(
        "attach of no bytes",
        RmaAttach,
        &["attach on window 'dynamic' by rank {me}", "no bytes"],
        |comm| {
            let mut memory = [0u64; 1];
            // SAFETY: the call fails, so the memory is not accessed.
            dynamic(comm, |win| unsafe {
                win.attach(ExposedBytes::new(memory.as_mut_ptr().cast(), 0))
            })
        },
    ),
    job(
        "attach at a null address",
        Base,
        &["attach on window 'dynamic' by rank {me}", "8 bytes at address 0x0"],
        |comm| {
            // SAFETY: as above.
            dynamic(comm, |win| unsafe { win.attach(ExposedBytes::new(std::ptr::null_mut(), 8)) })
        },
    ),
    job(
        "attach beyond the end of the address space",
        Base,
        &["attach on window 'dynamic' by rank {me}", "address 0xfffffffffffffff8"],
        |comm| {
            let start = std::ptr::without_provenance_mut(usize::MAX - 7);
            // SAFETY: as above.
            dynamic(comm, |win| unsafe { win.attach(ExposedBytes::new(start, 64)) })
        },
    ),
    job(
        "attach of memory that overlaps what is attached",
        RmaAttach,
        &["attach on window 'dynamic' by rank {me}", "16 bytes at", "overlap the 64 bytes"],
        |comm| {
            let mut memory = [0u64; 8];
            let start: *mut u8 = memory.as_mut_ptr().cast();
            dynamic(comm, |win| {
                // SAFETY: the memory outlives the window, and no rank knows where it is.
                unsafe { win.attach(ExposedBytes::new(start, 64)) }?;
                // SAFETY: it is refused.
                let refused = unsafe { win.attach(ExposedBytes::new(start.wrapping_add(8), 16)) };
                win.detach(start)?;
                refused
            })
        },
    ),
    job(
        "detach of what is not attached",
        RmaAttach,
        &["detach on window 'dynamic' by rank {me}", "0x40"],
        |comm| dynamic(comm, |win| win.detach(std::ptr::without_provenance_mut(0x40))),
    ),
    job(
        "shared_query of a dynamic window",
        RmaFlavor,
        &["shared_query on window 'dynamic' by rank {me}", "create_dynamic"],
        |comm| dynamic(comm, |win| win.shared_query(onesided::Rank(0)).map(drop)),
    ),
];
