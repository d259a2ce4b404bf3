//! Accumulates of one element, of some and of many on overlapping ranges, by ranks and threads at
//! the same time: by instructions and by vectorised loops (`sync/shards.rs`), whose sums come out
//! exactly (MPI-2.2 §11.7.1).
//!
//! The long form: `cargo test --release --test communication accumulate_sizes:: -- --ignored`.

#![allow(unsafe_code, reason = "names buffers of layouts")]

use crate::support::choices::Choices;

use crate::support::spmd;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{Comm, DerivedDatatype, Element, Integer, Op, Rank, WindowOptions};
use std::thread;

/// Elements of each rank's part: several shards.
const ELEMENTS: usize = 120_000;
const SIZES: [usize; 6] = [1, 1, 16, 700, 5_000, 100_000];

/// How a type counts.
trait Counts: Element {
    fn of(count: i64) -> Self;
    fn count(self) -> i64;
    /// Adds one by compare_and_swap, where the type has it, and returns the count before.
    fn swap_up(_: &Win, _: Rank, _: usize) -> Option<i64> {
        None
    }
}

impl Counts for f64 {
    fn of(count: i64) -> Self {
        count as f64
    }
    fn count(self) -> i64 {
        self as i64
    }
}

fn swap<T: Integer + Counts>(win: &Win, target: Rank, at: usize) -> i64 {
    let mut seen = T::of(0);
    loop {
        let (mut before, next) = (T::zeroed(), T::of(seen.count() + 1));
        win.compare_and_swap(&next, &seen, &mut before, target, at as u64).unwrap();
        if before == seen {
            return seen.count();
        }
        seen = before;
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(impl Counts for $type {
        fn of(count: i64) -> Self {
            count as $type
        }
        fn count(self) -> i64 {
            self as i64
        }
        fn swap_up(win: &Win, target: Rank, at: usize) -> Option<i64> {
            Some(swap::<$type>(win, target, at))
        }
    })*};
}
integers!(i64 i32);

/// What one thread adds to one part, and has added.
struct Adder<'a> {
    win: &'a Win,
    target: Rank,
    random: Choices,
    added: Vec<i64>,
}

impl Adder<'_> {
    fn step<T: Counts>(&mut self) {
        let size = SIZES[self.random.below(SIZES.len() as u64) as usize];
        let at = self.random.below((ELEMENTS - size) as u64 + 1) as usize;
        let value = 1 + self.random.below(3) as i64;
        let (win, target, disp) = (self.win, self.target, at as u64);
        let ones = vec![T::of(value); size];
        let mut before = vec![T::zeroed(); size];
        match self.random.below(5) {
            0 if size == 1 => {
                win.fetch_and_op(&ones[0], &mut before[0], Op::Sum, target, disp).unwrap();
                self.saw(at, 0..1, &before);
            }
            1 if size == 1 => match T::swap_up(win, target, at) {
                Some(count) => {
                    self.saw(at, 0..1, &[T::of(count)]);
                    self.added[at] += 1;
                    return;
                }
                None => win.accumulate(&ones, Op::Sum, target, disp).unwrap(),
            },
            2 => {
                win.get_accumulate(&ones, &mut before, Op::Sum, target, disp).unwrap();
                self.saw(at, 0..size, &before);
            }
            3 if size > 1 => {
                self.laid_out(at, &ones, &mut before);
                return;
            }
            _ => win.accumulate(&ones, Op::Sum, target, disp).unwrap(),
        }
        self.added[at..at + size].iter_mut().for_each(|added| *added += value);
    }

    /// Some elements of a range, as a layout: every other one, these in no order, or blocks.
    fn laid_out<T: Counts>(&mut self, at: usize, ones: &[T], before: &mut [T]) {
        let half = (ones.len() / 2).min(2_000);
        let element = T::DATATYPE;
        let (places, datatype): (Vec<usize>, _) = match self.random.below(3) {
            0 => ((0..half).map(|i| 2 * i).collect(), DerivedDatatype::vector(half, 1, 2, element)),
            1 => {
                let mut places: Vec<usize> = (0..half).map(|i| 2 * i).collect();
                (1..half).for_each(|i| places.swap(i, self.random.below(i as u64 + 1) as usize));
                let at: Vec<i64> = places.iter().map(|at| *at as i64).collect();
                (places, DerivedDatatype::indexed_block(1, &at, element))
            }
            _ => {
                let length = [1, 3, 30, 600][self.random.below(4) as usize].min(half);
                let places = (0..half / length * length).map(|i| i / length * length + i);
                let blocks =
                    DerivedDatatype::vector(half / length, length, 2 * length as i64, element);
                (places.collect(), blocks)
            }
        };
        let (datatype, n) = (datatype.unwrap().commit(), places.len());
        let (ones, before, value) = (&ones[..n], &mut before[..n], ones[0].count());
        let layout = Layout::new(1, &datatype);
        // SAFETY: 1. and 2. the elements of a slice.
        let origin = unsafe { Origin::new(ones.as_ptr().cast(), n, element) };
        // SAFETY: as above, of a slice that no other thread has.
        let result = unsafe { OriginMut::new(before.as_mut_ptr().cast(), n, element) };
        let (win, target) = (self.win, self.target);
        win.get_accumulate_layout(origin, result, Op::Sum, target, at as u64, layout).unwrap();
        self.saw(at, places.iter().copied(), before);
        places.iter().for_each(|place| self.added[at + place] += value);
    }

    /// What was there includes what this thread has added before.
    fn saw<T: Counts>(&self, at: usize, places: impl Iterator<Item = usize>, before: &[T]) {
        for (place, before) in places.zip(before) {
            let own = self.added[at + place];
            assert!(before.count() >= own, "element {at} + {place}: {} < {own}", before.count());
        }
    }
}

fn contend<T: Counts>(world: &Comm, threads: u64, steps: usize) {
    let (unit, bytes) = (size_of::<T>() as u64, (ELEMENTS * size_of::<T>()) as u64);
    let win = WindowOptions::new().name("sizes").allocate_bytes(world, bytes, unit).unwrap();
    // Two parts that all ranks want: of the last rank, and the next one's.
    let targets = [Rank(world.size() - 1), Rank(0)];
    win.lock_all().unwrap();
    world.barrier().unwrap();
    for target in targets {
        let add = |thread: u64| {
            let random = Choices(1 + u64::from(world.rank()) * 97 + thread * 31 + steps as u64);
            let mut adder = Adder { win: &win, target, random, added: vec![0; ELEMENTS] };
            (0..steps).for_each(|_| adder.step::<T>());
            adder.added
        };
        let added = thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|i| scope.spawn(move || add(i))).collect();
            let all = all.into_iter().map(|one| one.join().expect("a thread that adds"));
            all.reduce(|one, other| one.iter().zip(&other).map(|(a, b)| a + b).collect())
        });
        win.flush_all().unwrap();
        let expected = world.reduce(&added.unwrap(), Op::Sum, Rank(0)).unwrap();
        if let Some(expected) = expected {
            let mut found = vec![T::zeroed(); ELEMENTS];
            win.get(&mut found, target, 0).unwrap();
            let found: Vec<i64> = found.into_iter().map(Counts::count).collect();
            let differs = (0..ELEMENTS).find(|i| found[*i] != expected[*i]);
            assert_eq!(differs, None, "{} of {target:?}", T::DATATYPE.name());
        }
        world.barrier().unwrap();
    }
    win.unlock_all().unwrap();
    win.free().unwrap();
}

#[test]
fn integers_of_two_ranks_come_out_exactly() {
    spmd(2, |world| contend::<i64>(world, 1, 1_500));
}

#[test]
fn threads_of_two_ranks_come_out_exactly() {
    spmd(2, |world| {
        contend::<f64>(world, 3, 400);
        // More than a rank has announcements.
        contend::<i32>(world, 17, 60);
    });
}

#[test]
fn floating_numbers_of_eight_ranks_come_out_exactly() {
    spmd(8, |world| {
        contend::<f64>(world, 1, 300);
        contend::<i64>(world, 2, 150);
    });
}

/// Minutes: `cargo test --release --test communication accumulate_sizes:: -- --ignored`.
#[test]
#[ignore = "the long form"]
fn millions_of_updates_come_out_exactly() {
    spmd(4, |world| {
        for round in 0..8 {
            contend::<i64>(world, 1 + round % 3, 1_000);
            contend::<f64>(world, 1 + round % 2, 1_000);
        }
    });
}
