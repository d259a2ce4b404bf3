//! A hash table over all ranks: keys are entered by compare-and-swap, with linear probing.

use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use onesided::{Comm, Rank, Window};

pub const WHAT: &str = "hash table, 32 Ki inserts by compare_and_swap";
pub const LIMIT: &str = "limit: hash table by hand";
const LOG_WORDS: u32 = 16;
/// Half of the table.
const KEYS: u64 = 1 << (LOG_WORDS - 1);

pub fn run(world: &Comm, options: &Options) {
    let part = (1usize << LOG_WORDS) / world.ranks().len();
    let window = Freed::new(Window::<u64>::allocate(world, part));
    let parts = Parts::locate(world, &window);
    let mut other = Freed::new(Window::<u64>::allocate(world, part));
    let sync_memory = SyncMemory::new(world);
    let mut barrier = sync_memory.barrier();
    let mut by_hand = |n: u32| {
        for _ in 0..n {
            parts.clear(world.rank().0, part);
            barrier.wait();
            fill(world, |rank, at, key| parts.swap_zero(rank, at, key));
            barrier.wait();
        }
    };
    by_hand(1);
    ours(world, &mut other, 1);
    let sums = [&other, &window].map(|window| sum(window, part));
    check(world, WHAT, 0, sums[0], sums[1]);
    beside(
        world,
        Case::new(LIMIT, 0, &mut by_hand),
        Case::new(WHAT, 0, |n| ours(world, &mut other, n)).against(LIMIT),
        options,
    );
}

/// By this library alone.
pub fn run_alone(world: &Comm, options: &Options) {
    let part = (1usize << LOG_WORDS) / world.ranks().len();
    let mut window = Freed::new(Window::<u64>::allocate(world, part));
    alone(world, Case::new(WHAT, 0, |n| ours(world, &mut window, n)), options);
}

fn ours(world: &Comm, window: &mut Window<u64>, n: u32) {
    let zeros = vec![0; window.len()];
    for _ in 0..n {
        window.store(0, &zeros).expect("the own part");
        world.barrier().expect("barrier");
        let epoch = window.lock_all().expect("lock_all");
        fill(world, |rank, at, key| {
            epoch.compare_and_swap_flush(key, 0, Rank(rank), at as usize).expect("swap")
        });
        epoch.unlock_all().expect("unlock_all");
        world.barrier().expect("barrier");
    }
}

/// Enters this rank's keys; `swap` stores a key at a rank's word where there is zero, and returns
/// what there was.
fn fill(world: &Comm, mut swap: impl FnMut(u32, u64, u64) -> u64) {
    let ranks = u64::from(world.size());
    assert!(ranks.is_power_of_two(), "the table is shared out evenly");
    let shift = LOG_WORDS - ranks.ilog2();
    for i in 0..KEYS / ranks {
        let key = 1 + i * ranks + u64::from(world.rank());
        let mut word = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LOG_WORDS);
        while swap((word >> shift) as u32, word & ((1 << shift) - 1), key) != 0 {
            word = (word + 1) & ((1 << LOG_WORDS) - 1);
        }
    }
}

/// The sum of the keys that this rank has: the same wherever the keys have come to lie.
fn sum(window: &Window<u64>, part: usize) -> f64 {
    let mut words = vec![0; part];
    window.load(0, &mut words).expect("the own part");
    words.iter().map(|key| *key as f64).sum()
}
