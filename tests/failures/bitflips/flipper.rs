//! Flips bits where the library keeps its own.

use onesided::Comm;
use onesided::engine::Win;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// How far into the blocks bits are flipped: what the program makes lies in front.
const BLOCKS: u64 = 128 << 10;
/// Unit of the allocator.
const GRANULE: u64 = 128;
const STEPS: u64 = 60;

/// Random numbers of a seed.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // SplitMix64: every seed is a good one.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// What is flipped when.
pub struct Flipper {
    base: *mut u8,
    regions: Vec<(&'static str, Range<u64>)>,
    /// The program's own memory.
    spared: Mutex<Vec<Range<u64>>>,
    state: Mutex<State>,
}

struct State {
    random: Random,
    /// Step of the program at which the next bits are flipped, and how many.
    bursts: Vec<(u64, u64)>,
    step: u64,
}

// SAFETY: the base is the address of a mapping that lives as long as the process.
unsafe impl Sync for Flipper {}
// SAFETY: as above.
unsafe impl Send for Flipper {}

impl Flipper {
    /// Flips nothing for seed 0.
    pub fn new(comm: &Comm, seed: u64) -> Flipper {
        let (base, regions) = comm.segment_regions();
        let regions = regions.map(|(name, start, end)| (name, start..end.min(start + BLOCKS)));
        let mut random = Random(seed);
        let bits = 1 << random.below(7);
        let pieces = if seed == 0 { 0 } else { 1 + random.below(3) };
        let burst = |_| (random.below(STEPS), bits);
        let bursts = (0..pieces).map(burst).collect();
        let state = Mutex::new(State { random, bursts, step: 0 });
        Flipper { base, regions: regions.into(), spared: Mutex::default(), state }
    }

    /// The program writes to this memory itself, in the segment or not.
    pub fn spare(&self, start: *const u8, bytes: u64) {
        let offset = (start as u64).wrapping_sub(self.base as u64);
        self.spared.lock().expect("not poisoned").push(offset..offset.wrapping_add(bytes));
    }

    /// Spares all parts of a window that are mapped.
    pub fn spare_window(&self, win: &Win) {
        for rank in 0..win.comm().size() {
            let (bytes, _, start) = win.shared_query(onesided::Rank(rank)).expect("a part");
            self.spare(start, bytes);
        }
    }

    /// A step of the program: the time for some flips.
    pub fn step(&self) {
        let mut state = self.state.lock().expect("not poisoned");
        state.step += 1;
        let now = state.step;
        let due: u64 = state.bursts.iter().filter(|(at, _)| *at == now).map(|(_, n)| n).sum();
        (0..due).for_each(|_| self.flip(&mut state.random));
    }

    fn flip(&self, random: &mut Random) {
        let (name, region) = &self.regions[random.below(self.regions.len() as u64) as usize];
        let at = match *name {
            "blocks" => self.in_use(random, region),
            _ => region.start + random.below(region.end - region.start),
        };
        let spared = self.spared.lock().expect("not poisoned");
        if spared.iter().any(|range| range.contains(&at)) {
            return;
        }
        let bit = 1 << random.below(8);
        println!("\nflips bit {bit:#x} of byte {at}, {name}");
        self.byte(at).fetch_xor(bit, Relaxed);
    }

    fn byte(&self, at: u64) -> &AtomicU8 {
        // SAFETY: a byte of the mapping, which every thread accesses by atomic operations or as
        // plain bytes of which nothing is assumed.
        unsafe { AtomicU8::from_ptr(self.base.wrapping_add(at as usize)) }
    }

    /// A byte in or beside a granule that is not all zero: most blocks of the arena are free.
    fn in_use(&self, random: &mut Random, region: &Range<u64>) -> u64 {
        let granules = (region.end - region.start) / GRANULE;
        let first = random.below(granules);
        let written = |granule: &u64| {
            let first = region.start + granule * GRANULE;
            (first..first + GRANULE).any(|at| self.byte(at).load(Relaxed) != 0)
        };
        let found = (first..granules).chain(0..first).find(written).unwrap_or(first);
        let granule = (found + random.below(6)).saturating_sub(2).min(granules - 1);
        region.start + granule * GRANULE + random.below(GRANULE)
    }
}
