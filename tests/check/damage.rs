//! The tables of the check and a shadow are overwritten while the job runs: it goes on.

use crate::support::job;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, Op, Rank, WindowOptions};

/// Operations of all kinds, and stores, on more pages than have records.
fn operate(world: &Comm, win: &Win, turn: u8) {
    let other = Rank((world.rank().0 + 1) % world.size());
    win.fence().expect("no other epoch is open");
    win.put(&[turn; 9], other, 4090).expect("a fence epoch is open");
    win.put(&[turn; 3], other, 4091).expect("a fence epoch is open");
    win.accumulate(&[1u32; 3], Op::Sum, other, 16).expect("a fence epoch is open");
    win.get(&mut [0u8; 40], other, 4).expect("a fence epoch is open");
    for page in 0..3 {
        // SAFETY: the part has 12,000 bytes.
        unsafe { win.base().wrapping_add(page * 4096 + 100).write_volatile(turn) };
    }
    win.fence_with(FenceAssert::NOSUCCEED).expect("a fence epoch is open");
    win.lock_all().expect("no epoch is open");
    for by in 0..12 {
        win.put(&[turn + by], other, 200).expect("lock_all is held");
        win.get(&mut [0u8], Rank(0), 200).expect("lock_all is held");
    }
    win.unlock_all().expect("lock_all is held");
}

/// Fills the tables, or a window's shadow, with that byte, in the midst of operations.
fn overwritten(has_tables: bool, byte: u8) {
    let outcome = job(3, &["--check=report"], |world| {
        let win = WindowOptions::new().allocate_bytes(world, 12_000, 1).expect("memory");
        (1..4).for_each(|turn| operate(world, &win, turn));
        world.barrier().expect("all ranks live");
        let (tables, bytes) = world.check_tables().expect("the job is checked");
        // A part at the beginning of each table, so that the test does not touch all of their pages.
        for start in (0..bytes as usize).step_by(1 << 16).filter(|_| has_tables) {
            let some = (bytes as usize - start).min(if start == 0 { 1 << 16 } else { 512 });
            // SAFETY: the bytes are those of the tables, which are relaxed words.
            unsafe { tables.wrapping_add(start).write_bytes(byte, some) };
        }
        let (shadow, bytes) = win.shadow().expect("the job is checked");
        // SAFETY: as above.
        unsafe { shadow.write_bytes(byte, if has_tables { 0 } else { bytes }) };
        world.barrier().expect("all ranks live");
        (4..8).for_each(|turn| operate(world, &win, turn * 16));
        win.free().expect("no epoch is open");
    });
    let Some(outcome) = outcome else { return };
    assert!(outcome.status.success(), "{byte:#x}: {}", outcome.output);
    assert!(!outcome.output.contains("panicked"), "{byte:#x}: {}", outcome.output);
}

#[test]
fn tables_of_zeros() {
    overwritten(true, 0);
}

#[test]
fn tables_of_small_numbers() {
    overwritten(true, 5);
}

#[test]
fn tables_of_ones() {
    overwritten(true, 0xff);
}

#[test]
fn a_shadow_of_large_numbers() {
    overwritten(false, 0x7e);
}

#[test]
fn a_shadow_of_ones() {
    overwritten(false, 0xff);
}
