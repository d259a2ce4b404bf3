//! Puts of many pieces to private memory, which a thread of the target writes.

use crate::support::{needs_rmarun, spmd};
use onesided::engine::{ExposedBytes, Layout, Origin, Win};
use onesided::{
    Comm, CommittedDatatype, Datatype, DerivedDatatype, ErrorClass, Rank, WindowOptions,
};

/// More than one request.
const PIECES: usize = 40_000;

/// A window of bytes over `memory`, which the caller keeps until it is freed.
fn window_over(world: &Comm, memory: *mut u8, bytes: usize) -> Win {
    // SAFETY: the callers keep the memory, and look at it between barriers only.
    let made = unsafe {
        WindowOptions::new().create_bytes(world, ExposedBytes::new(memory, bytes as u64), 1)
    };
    made.unwrap()
}

/// Puts the 16-bit `values`, one for each element of `layout`.
fn put(
    win: &Win,
    values: &[u16],
    target: Rank,
    disp: u64,
    layout: &CommittedDatatype,
) -> onesided::Result<()> {
    let values_of: &CommittedDatatype = Datatype::U16.into();
    // SAFETY: the elements of a slice, which outlives the operation and its flush.
    let origin = unsafe { Origin::new(values.as_ptr().cast(), values.len(), values_of) };
    win.put_layout(origin, target, disp, Layout::new(1, layout))?;
    win.flush(target)
}

/// Rank r writes element r of each group of three in the memory of every rank, from the first group on or from the
/// last: no byte between its pieces may change.
fn interleaved(is_reversed: bool) {
    spmd(3, move |world| {
        let (own, ranks) = (world.rank().0 as usize, world.size() as usize);
        let mut memory = vec![0u16; PIECES * ranks];
        let base = memory.as_mut_ptr();
        let win = window_over(world, base.cast(), 2 * memory.len());
        let layout = match is_reversed {
            false => DerivedDatatype::vector(PIECES, 1, ranks as i64, Datatype::U16),
            true => {
                let places: Vec<i64> = (0..PIECES).rev().map(|k| (k * ranks) as i64).collect();
                DerivedDatatype::indexed_block(1, &places, Datatype::U16)
            }
        };
        let layout = layout.unwrap().commit();
        win.lock_all().unwrap();
        for round in 0..4 {
            let value = |rank: usize, piece: usize| (rank * PIECES + piece) as u16 ^ round << 12;
            let values: Vec<u16> = (0..PIECES).map(|piece| value(own, piece)).collect();
            for target in 0..ranks as u32 {
                put(&win, &values, Rank(target), 2 * own as u64, &layout).unwrap();
            }
            world.barrier().unwrap();
            win.sync();
            for k in 0..PIECES * ranks {
                // SAFETY: an element; volatile, because other processes have written it.
                let found = unsafe { base.wrapping_add(k).read_volatile() };
                let group = k / ranks;
                let piece = if is_reversed { PIECES - 1 - group } else { group };
                assert_eq!(found, value(k % ranks, piece), "round {round}, element {k}");
            }
            world.barrier().unwrap();
        }
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn a_vector_leaves_what_lies_between_its_pieces() {
    interleaved(false);
}

#[test]
fn pieces_in_any_order_leave_what_lies_between_them() {
    interleaved(true);
}

/// Its elements lie more than a page apart.
#[test]
fn a_column_of_a_matrix_leaves_the_others() {
    spmd(2, |world| {
        const ROWS: usize = 500;
        const COLUMNS: usize = 3000;
        let mut matrix = vec![1u16; ROWS * COLUMNS];
        let base = matrix.as_mut_ptr();
        let win = window_over(world, base.cast(), 2 * matrix.len());
        let column = DerivedDatatype::vector(ROWS, 1, COLUMNS as i64, Datatype::U16).unwrap();
        let values: Vec<u16> = (0..ROWS as u16).map(|row| 2 + row).collect();
        win.lock_all().unwrap();
        put(&win, &values, Rank(1 - world.rank().0), 2 * 7, &column.commit()).unwrap();
        world.barrier().unwrap();
        win.sync();
        for k in 0..ROWS * COLUMNS {
            // SAFETY: an element; volatile, because another process has written it.
            let found = unsafe { base.wrapping_add(k).read_volatile() };
            let expected = if k % COLUMNS == 7 { values[k / COLUMNS] } else { 1 };
            assert_eq!(found, expected, "element {k}");
        }
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}

/// The thread of the target finds that before it writes, and lives on; the kernel then has the error.
#[test]
fn pieces_in_memory_that_is_read_only_are_refused() {
    if needs_rmarun("memory that the kernel copies") {
        return;
    }
    spmd(2, |world| {
        const BYTES: usize = 1 << 16;
        let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        let win = window_over(world, memory.cast(), BYTES);
        win.lock_all().unwrap();
        let layout = DerivedDatatype::vector(1000, 1, 16, Datatype::U16).unwrap().commit();
        for _ in 0..2 {
            let refused = put(&win, &[7; 1000], Rank(1 - world.rank().0), 0, &layout).unwrap_err();
            assert_eq!(refused.class(), ErrorClass::RmaShared, "{refused}");
        }
        world.barrier().unwrap();
        // SAFETY: a byte of the mapping, which no rank can write.
        assert!((0..BYTES).all(|k| unsafe { memory.cast::<u8>().wrapping_add(k).read() } == 0));
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}
