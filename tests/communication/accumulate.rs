//! Accumulates are atomic per element in every mix of calls (MPI-2.2 §11.7.1).

use crate::support::spmd;
use onesided::engine::Win;
use onesided::{
    Comm, Complex, DoubleInt, Element, ErrorClass, Integer, Located, LongInt, Op, Rank, ShortInt,
    Window, WindowOptions,
};
use std::fmt::Debug;

/// Elements that all ranks add to.
const ELEMENTS: usize = 2000;
const ROUNDS: usize = 200;
const SINGLES: usize = 20;
/// The element that singles, bulks and swaps all add to.
const HOT: usize = 5;

/// How a type counts.
trait Counts: Element {
    fn from_count(count: u64) -> Self;
    fn count(self) -> u64;
    /// Adds one by compare_and_swap, and returns the count before, where the type has it.
    fn swap_up(_: &Spot<'_>) -> Option<u64> {
        None
    }
}

/// Elements of one target: `size_of::<T>()` bytes apart from byte `start` on, unit one byte.
struct Spot<'a> {
    win: &'a Win,
    target: Rank,
    start: u64,
}

impl Spot<'_> {
    fn disp<T>(&self, element: usize) -> u64 {
        self.start + (element * size_of::<T>()) as u64
    }
}

fn swap_up<T: Counts + Integer>(spot: &Spot<'_>) -> Option<u64> {
    let mut seen = T::from_count(0);
    loop {
        let (mut before, next) = (T::zeroed(), T::from_count(seen.count() + 1));
        let disp = spot.disp::<T>(HOT);
        spot.win.compare_and_swap(&next, &seen, &mut before, spot.target, disp).unwrap();
        if before == seen {
            return Some(seen.count());
        }
        seen = before;
    }
}

macro_rules! integers_count {
    ($($type:ty)*) => {$(impl Counts for $type {
        fn from_count(count: u64) -> Self {
            count as $type
        }
        fn count(self) -> u64 {
            self as u64
        }
        fn swap_up(spot: &Spot<'_>) -> Option<u64> {
            swap_up::<$type>(spot)
        }
    })*};
}
integers_count!(u16 u32 u64 i64);

impl Counts for f64 {
    fn from_count(count: u64) -> Self {
        count as f64
    }
    fn count(self) -> u64 {
        self as u64
    }
}

/// Sixteen bytes: real and imaginary part count in opposite directions.
impl Counts for Complex<f64> {
    fn from_count(count: u64) -> Self {
        Complex::new(count as f64, -(count as f64))
    }
    fn count(self) -> u64 {
        assert_eq!(self.re, -self.im, "torn");
        self.re as u64
    }
}

/// Singles, bulks, fetching bulks and swaps at once. Returns the counts that this rank saw before
/// its own additions to the hot element.
fn add<T: Counts>(spot: &Spot<'_>) -> Vec<u64> {
    let ones = vec![T::from_count(1); ELEMENTS];
    let mut seen = Vec::new();
    for _ in 0..ROUNDS {
        spot.win.accumulate(&ones, Op::Sum, spot.target, spot.disp::<T>(0)).unwrap();
        for _ in 0..SINGLES {
            let (mut before, disp) = (T::zeroed(), spot.disp::<T>(HOT));
            spot.win.fetch_and_op(&ones[0], &mut before, Op::Sum, spot.target, disp).unwrap();
            seen.push(before.count());
        }
        let mut before = vec![T::zeroed(); 8];
        let disp = spot.disp::<T>(HOT);
        spot.win.get_accumulate(&ones[..8], &mut before, Op::Sum, spot.target, disp).unwrap();
        seen.push(before[0].count());
        seen.extend(T::swap_up(spot));
    }
    seen
}

/// What every element holds after `n` ranks have called [`add`].
fn expected<T: Counts>(spot: &Spot<'_>, n: usize) -> Vec<u64> {
    let swaps = usize::from(T::swap_up(spot).is_some());
    let rounds = n * ROUNDS;
    let mut counts = vec![rounds as u64; ELEMENTS];
    counts[HOT..HOT + 8].fill(2 * rounds as u64);
    counts[HOT] += (rounds * (SINGLES + swaps)) as u64 + swaps as u64;
    counts
}

/// Contention of `n` ranks on elements of `T`, `start` bytes after an aligned address.
fn contend<T: Counts>(world: &Comm, start: u64) {
    let bytes = start + (ELEMENTS * size_of::<T>()) as u64;
    let win = WindowOptions::new().name("hot").allocate_bytes(world, bytes, 1).unwrap();
    let spot = Spot { win: &win, target: Rank(world.size() - 1), start };
    win.lock_all().unwrap();
    world.barrier().unwrap();
    let seen = add::<T>(&spot);
    win.flush_all().unwrap();
    let mut all = world.allgather(&seen).unwrap();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), seen.len() * world.ranks().len(), "two additions saw the same count");
    if world.rank() == 0 {
        let expected = expected::<T>(&spot, world.ranks().len());
        let mut found = vec![T::zeroed(); ELEMENTS];
        win.get(&mut found, spot.target, start).unwrap();
        let found: Vec<u64> = found.into_iter().map(Counts::count).collect();
        assert_eq!(found, expected);
    }
    win.unlock_all().unwrap();
    win.free().unwrap();
}

#[test]
fn aligned_integers_lose_nothing_in_any_mix() {
    spmd(5, |world| {
        contend::<u16>(world, 0);
        contend::<u32>(world, 4);
        contend::<u64>(world, 0);
        contend::<i64>(world, 8);
    });
}

#[test]
fn floating_numbers_lose_nothing_in_any_mix() {
    spmd(5, |world| contend::<f64>(world, 0));
}

#[test]
fn misaligned_elements_lose_nothing_in_any_mix() {
    spmd(5, |world| {
        contend::<u16>(world, 1);
        contend::<u32>(world, 62);
        contend::<u64>(world, 3);
        contend::<f64>(world, 61);
    });
}

#[test]
fn elements_of_sixteen_bytes_lose_nothing_in_any_mix() {
    spmd(5, |world| {
        contend::<Complex<f64>>(world, 0);
        contend::<Complex<f64>>(world, 5);
    });
}

/// A value all of whose parts tell the same number.
trait Whole: Element {
    fn whole(number: u32) -> Self;
}

impl Whole for Complex<f64> {
    fn whole(number: u32) -> Self {
        Complex::new(f64::from(number), f64::from(number))
    }
}
impl Whole for DoubleInt {
    fn whole(number: u32) -> Self {
        DoubleInt::new(f64::from(number), number as i32)
    }
}
impl Whole for LongInt {
    fn whole(number: u32) -> Self {
        LongInt::new(i64::from(number) << 32 | i64::from(number), number as i32)
    }
}
impl Whole for ShortInt {
    fn whole(number: u32) -> Self {
        ShortInt::new(number as i16, number as i32)
    }
}
impl Whole for Complex<f32> {
    fn whole(number: u32) -> Self {
        Complex::new(number as f32, number as f32)
    }
}
impl Whole for u64 {
    fn whole(number: u32) -> Self {
        u64::from(number) << 32 | u64::from(number)
    }
}

/// All ranks replace and read the same four elements; whatever is read was written by someone.
fn never_torn<T: Whole>(world: &Comm, start: u64) {
    const TIMES: u32 = 3000;
    let win = WindowOptions::new().allocate_bytes(world, start + 64, 1).unwrap();
    let legal: Vec<T> = (0..world.size() * 8).map(T::whole).collect();
    let legal =
        |value: &T| legal.iter().any(|l| bytemuck::bytes_of(l) == bytemuck::bytes_of(value));
    win.lock_all().unwrap();
    for time in 0..TIMES {
        let mine = [T::whole(world.rank().0 * 8 + time % 8); 4];
        let (mut bulk, mut single, mut read) = ([T::zeroed(); 4], T::zeroed(), [T::zeroed(); 4]);
        let target = Rank(0);
        win.accumulate(&mine, Op::Replace, target, start).unwrap();
        win.get_accumulate(&mine, &mut bulk, Op::Replace, target, start).unwrap();
        win.fetch_and_op(&mine[0], &mut single, Op::Replace, target, start).unwrap();
        win.get_accumulate(&[], &mut read, Op::NoOp, target, start).unwrap();
        for value in bulk.iter().chain(&read).chain([&single]) {
            assert!(legal(value), "{:?}: {:x?}", T::DATATYPE, bytemuck::bytes_of(value));
        }
    }
    win.unlock_all().unwrap();
    win.free().unwrap();
}

#[test]
fn no_element_is_ever_torn() {
    spmd(6, |world| {
        for start in [0, 3, 60] {
            never_torn::<Complex<f64>>(world, start);
            never_torn::<DoubleInt>(world, start);
            never_torn::<LongInt>(world, start);
            never_torn::<ShortInt>(world, start);
            never_torn::<Complex<f32>>(world, start);
            never_torn::<u64>(world, start);
        }
    });
}

#[test]
fn of_all_pairs_the_best_with_the_smallest_index_remains() {
    spmd(6, |world| {
        let me = world.rank().0 as i32;
        let mut window = Window::<DoubleInt>::allocate(world, 2).unwrap();
        if me == 0 {
            let (low, high) = (DoubleInt::new(-1e9, i32::MAX), DoubleInt::new(1e9, i32::MAX));
            window.store(0, &[low, high]).unwrap();
        }
        world.barrier().unwrap();
        let value = |k: i32| f64::from((k * 37 + me * 11) % 101);
        let epoch = window.lock_all().unwrap();
        for k in 0..500 {
            let pair = DoubleInt::new(value(k), 1000 * me + k);
            epoch.fetch_and_op_flush(pair, Op::Maxloc, Rank(0), 0).unwrap();
            epoch.fetch_and_op_flush(pair, Op::Minloc, Rank(0), 1).unwrap();
        }
        epoch.unlock_all().unwrap();
        world.barrier().unwrap();
        if me == 0 {
            let all =
                (0..6).flat_map(|r| (0..500).map(move |k| ((k * 37 + r * 11) % 101, 1000 * r + k)));
            let index = |best: i32| all.clone().filter(|a| a.0 == best).map(|a| a.1).min().unwrap();
            let mut found = [DoubleInt::default(); 2];
            window.load(0, &mut found).unwrap();
            let expected = [DoubleInt::new(100.0, index(100)), DoubleInt::new(0.0, index(0))];
            assert_eq!(found, expected);
        }
        window.free().unwrap();
    });
}

/// Two pairs in a part that ends with the index of the second; of those that are fetched the bytes behind
/// the index stay.
fn pairs_in_their_numbers<T: Located + Debug + PartialEq>(
    world: &Comm,
    marked: &[T; 2],
    used: u64,
) {
    let bytes = size_of::<T>() as u64 + used;
    let win = WindowOptions::new().allocate_bytes(world, bytes, 1).unwrap();
    let (target, own) = (Rank(1 - world.rank().0), world.rank());
    win.lock_all().unwrap();
    let ones = vec![0x11u8; bytes as usize];
    win.put(&ones, own, 0).unwrap();
    world.barrier().unwrap();
    let zeros = [T::zeroed(); 2];
    win.accumulate(&zeros, Op::Replace, target, 0).unwrap();
    let mut before = *marked;
    win.get_accumulate(&zeros, &mut before, Op::Maxloc, target, 0).unwrap();
    let mut one = marked[0];
    win.fetch_and_op(&zeros[0], &mut one, Op::NoOp, target, size_of::<T>() as u64).unwrap();
    for pair in [&before[0], &before[1], &one] {
        assert_eq!(*pair, T::zeroed());
        let bytes = bytemuck::bytes_of(pair);
        assert!(bytes.iter().all(|byte| [0, 0x77].contains(byte)), "{bytes:x?}");
        assert!(bytes.contains(&0x77), "the padding of {pair:?} has been written");
    }
    let outside = win.accumulate(&zeros, Op::Replace, target, 1).unwrap_err();
    assert_eq!(outside.class(), ErrorClass::RmaRange);
    world.barrier().unwrap();
    let mut now = vec![0u8; bytes as usize];
    win.load(0, &mut now).unwrap();
    assert!(now.contains(&0x11), "the padding at the target has been written");
    win.unlock_all().unwrap();
    win.free().unwrap();
}

/// MPI-4.1 §6.9.4: a pair is its two numbers.
#[test]
fn a_pair_occupies_its_numbers_alone() {
    fn marked<T: Element>() -> [T; 2] {
        let bytes = vec![0x77u8; 2 * size_of::<T>()];
        [bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()]); 2]
    }
    spmd(2, |world| {
        pairs_in_their_numbers(world, &marked::<DoubleInt>(), 12);
        pairs_in_their_numbers(world, &marked::<LongInt>(), 12);
        pairs_in_their_numbers(world, &marked::<ShortInt>(), 8);
    });
}

#[test]
fn concurrent_maxima_only_rise() {
    spmd(6, |world| {
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        let epoch = window.lock_all().unwrap();
        let mut last = 0;
        for k in 0..20_000 {
            let mine = k * 6 + world.rank().0;
            let before = epoch.fetch_and_op_flush(mine, Op::Max, Rank(3), 0).unwrap();
            assert!(before >= last, "{before} after {last}");
            last = before.max(mine);
        }
        world.barrier().unwrap();
        let end = epoch.fetch_and_op_flush(0, Op::NoOp, Rank(3), 0).unwrap();
        assert_eq!(end, 19_999 * 6 + 5);
        epoch.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn bits_of_small_neighbours_do_not_disturb_each_other() {
    spmd(8, |world| {
        let mut window = Window::<u8>::allocate(world, 16).unwrap();
        let epoch = window.lock_all().unwrap();
        let bit = 1u8 << world.rank().0;
        for _ in 0..501 {
            for disp in 0..16 {
                epoch.fetch_and_op_flush(bit, Op::Bxor, Rank(0), disp).unwrap();
            }
        }
        epoch.unlock_all().unwrap();
        world.barrier().unwrap();
        if world.rank() == 0 {
            let mut all = [0; 16];
            window.load(0, &mut all).unwrap();
            assert_eq!(all, [0xFF; 16]);
        }
        window.free().unwrap();
    });
}
