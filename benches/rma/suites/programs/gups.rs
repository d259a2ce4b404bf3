//! Random updates of a table spread over all ranks, by exclusive or (as examples/gups.rs).

use super::{SyncMemory, alone, beside, check};
use crate::Options;
use crate::freed::Freed;
use crate::measure::Case;
use crate::parts::Parts;
use onesided::{Access, Comm, Op, Rank, Window};

pub const WHAT: &str = "gups, 64 Ki updates by exclusive or";
pub const LIMIT: &str = "limit: gups by hand";
const LOG_WORDS: u32 = 20;
const UPDATES: usize = 64 << 10;
/// Updates whose numbers a rank may know in advance (HPC Challenge).
const LOOK_AHEAD: usize = 1024;

pub fn run(world: &Comm, options: &Options) {
    let part = (1usize << LOG_WORDS) / world.ranks().len();
    let window = Freed::new(Window::<u64>::allocate(world, part));
    let parts = Parts::locate(world, &window);
    let mut other = Freed::new(Window::<u64>::allocate(world, part));
    parts.clear(world.rank().0, part);
    world.barrier().expect("the job goes on");

    let sync_memory = SyncMemory::new(world);
    let mut barrier = sync_memory.barrier();
    let mut by_hand = |n: u32| {
        for _ in 0..n {
            Updates::new(world).for_each(|(rank, at, number)| parts.xor(rank, at, number));
            barrier.wait();
        }
    };
    by_hand(1);
    ours(world, &mut other, 1);
    let sums = [&window, &other].map(|window| sum(window, part));
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
    let epoch = window.lock_all().expect("lock_all");
    for _ in 0..n {
        let mut updates = Updates::new(world).peekable();
        while updates.peek().is_some() {
            let mut places = [(0, 0); LOOK_AHEAD];
            let mut numbers = [0; LOOK_AHEAD];
            let known = updates.by_ref().take(LOOK_AHEAD).enumerate();
            let count = known.map(|(i, (rank, at, number))| {
                places[i] = (rank, at);
                numbers[i] = number;
            });
            let count = count.count();
            let batch = epoch.batch();
            for (number, (rank, at)) in numbers[..count].chunks_exact(1).zip(places) {
                batch.accumulate(number, Op::Bxor, Rank(rank), at as usize).expect("accumulate");
            }
            batch.flush_local().expect("flush_local");
        }
        epoch.flush_all().expect("flush_all");
        world.barrier().expect("barrier");
    }
    epoch.unlock_all().expect("unlock_all");
}

/// This rank's share of the updates: rank, word there, and number.
struct Updates {
    random: u64,
    left: usize,
    words: u64,
    shift: u32,
}

impl Updates {
    fn new(world: &Comm) -> Updates {
        assert!(world.size().is_power_of_two(), "the table is shared out evenly");
        Updates {
            random: 0x9e37_79b9_7f4a_7c15 ^ u64::from(world.rank()),
            left: UPDATES / world.ranks().len(),
            words: 1 << LOG_WORDS,
            shift: LOG_WORDS - world.size().ilog2(),
        }
    }
}

impl Iterator for Updates {
    type Item = (u32, u64, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let word = self.random & (self.words - 1);
        let at = word & ((1 << self.shift) - 1);
        Some(((word >> self.shift) as u32, at, self.random))
    }
}

/// A sum of what this rank has, small enough to be exact.
fn sum(window: &Window<u64>, part: usize) -> f64 {
    let mut words = vec![0; part];
    window.load(0, &mut words).expect("the own part");
    words.iter().map(|word| (word >> 40) as f64).sum()
}
