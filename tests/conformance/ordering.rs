//! MPI-4.1 §12.7.2: accumulates of one origin to one location happen in the origin's order.
//!
//! Every rank counts: at a location that all add to, each in 16 bits of its own, and at one of its
//! own, by replacing. So every value read shows how many updates of each origin it comes after.
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

use crate::support::choices::Choices;
use crate::support::spmd;
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, Info, Op, Rank, WindowOptions};

const ORIGINS: usize = 4;
/// One for all, then one of each origin.
const LOCATIONS: usize = 1 + ORIGINS;
const ROUNDS: usize = 200;
/// Accumulates of a round, between two flushes.
const STEPS: usize = 12;

/// How many updates of each origin are known, at each location.
type Known = [[u64; ORIGINS]; LOCATIONS];

#[derive(Clone, Copy)]
struct Step {
    location: usize,
    reads: bool,
    updates: bool,
}

impl Step {
    fn draw(choices: &mut Choices, me: usize) -> Step {
        let location = choices.below(LOCATIONS as u64) as usize;
        let kind = if location == 0 || location == 1 + me { choices.below(3) } else { 0 };
        Step { location, reads: kind != 1, updates: kind != 0 }
    }

    fn issue(self, win: &Win, me: usize, start: u64, count: u64, read: &mut u64) {
        let (op, operand) = match (self.updates, self.location) {
            (false, _) => (Op::NoOp, 0),
            (true, 0) => (Op::Sum, 1 << (16 * me)),
            (true, _) => (Op::Replace, count + 1),
        };
        let disp = start + 8 * self.location as u64;
        let read = std::slice::from_mut(read);
        match self.reads {
            true => win.get_accumulate(&[operand], read, op, Rank(0), disp).unwrap(),
            false => win.accumulate(&[operand], op, Rank(0), disp).unwrap(),
        }
    }
}

/// How many updates of each origin a value comes after.
fn counts(location: usize, word: u64) -> [u64; ORIGINS] {
    std::array::from_fn(|origin| match location {
        0 => (word >> (16 * origin)) & 0xffff,
        own if own == 1 + origin => word,
        _ => 0,
    })
}

/// Whether what `me` has read in these steps can be: all of its own earlier updates and none of its
/// later ones; and of those of others no fewer than it has read before.
fn in_order(me: usize, steps: &[Step], reads: &[u64], known: &mut Known) -> bool {
    steps.iter().zip(reads).all(|(step, read)| {
        let known = &mut known[step.location];
        let seen = counts(step.location, *read);
        let fits = |origin: usize| match origin == me {
            true => seen[origin] == known[origin],
            false => seen[origin] >= known[origin],
        };
        if step.reads && !(0..ORIGINS).all(fits) {
            return false;
        }
        if step.reads {
            *known = seen;
        }
        known[me] += u64::from(step.updates);
        true
    })
}

/// Rounds of accumulates at rank 0, whose locations begin at displacement `start`.
fn exercise(world: &Comm, win: &Win, start: u64, seed: u64) {
    let me = world.rank().index();
    let choices = &mut Choices(seed << 8 | me as u64);
    let mut known = Known::default();
    win.lock_all().unwrap();
    for _ in 0..ROUNDS {
        let steps: [Step; STEPS] = std::array::from_fn(|_| Step::draw(choices, me));
        let (mut reads, mut own) = ([0; STEPS], known.map(|counts| counts[me]));
        for (step, read) in steps.iter().zip(&mut reads) {
            step.issue(win, me, start, own[step.location], read);
            own[step.location] += u64::from(step.updates);
            (0..choices.below(3)).for_each(|_| std::thread::yield_now());
        }
        win.flush_all().unwrap();
        assert!(in_order(me, &steps, &reads, &mut known), "{reads:?} by rank {me}");
    }
    win.unlock_all().unwrap();
    let own = world.allgather(&known.map(|counts| counts[me])).unwrap();
    if me == 0 {
        for (origin, own) in own.chunks_exact(LOCATIONS).enumerate() {
            let mut found = [[0; 8]; LOCATIONS];
            win.load(start, found.as_flattened_mut()).unwrap();
            for (location, word) in found.map(u64::from_ne_bytes).into_iter().enumerate() {
                assert_eq!(counts(location, word)[origin], own[location]);
            }
        }
    }
    world.barrier().unwrap();
}

/// "rar", "raw", "war", "waw", in any choice, or "none": here the order is always kept.
#[test]
fn accumulates_keep_the_order_of_their_origin() {
    const BYTES: u64 = 8 * LOCATIONS as u64 + 8;
    spmd(ORIGINS as u32, |world| {
        for (seed, key) in (0..).zip(["rar,raw,war,waw", "rar", "raw", "war", "waw", "none"]) {
            let mut info = Info::new();
            info.set("accumulate_ordering", key).unwrap();
            let options = WindowOptions::new().info(&info);
            let win = options.allocate_bytes(world, BYTES, 1).unwrap();
            assert_eq!(win.info().get("accumulate_ordering"), Some(key));
            exercise(world, &win, 0, seed);
            win.free().unwrap();
            // Elements that no instruction updates.
            let win = options.allocate_bytes(world, BYTES, 1).unwrap();
            exercise(world, &win, 3, seed);
            win.free().unwrap();
            let mut private = [0u64; BYTES as usize / 8];
            let memory = private.as_mut_ptr().cast();
            // SAFETY: the array outlives the window, and only operations access it meanwhile.
            let win = unsafe { options.create_bytes(world, ExposedBytes::new(memory, BYTES), 1) }
                .unwrap();
            exercise(world, &win, 0, seed);
            win.free().unwrap();
        }
    });
    every_disorder_is_seen();
}

/// What calls out of order would have led to.
fn every_disorder_is_seen() {
    let read = |location| Step { location, reads: true, updates: false };
    let update = Step { location: 0, reads: false, updates: true };
    let replace = Step { location: 1, reads: false, updates: true };
    let (own, others) = (counts(0, 1), 1 << 16);
    assert_eq!(own, [1, 0, 0, 0]);
    let judge = |steps: &[Step], reads: &[u64]| in_order(0, steps, reads, &mut Known::default());
    assert!(judge(&[read(0), update, read(0)], &[others, 0, others + 1]));
    assert!(!judge(&[read(0), update], &[1, 0]), "write after read");
    assert!(!judge(&[update, read(0)], &[0, 0]), "read after write");
    assert!(!judge(&[replace, replace, read(1)], &[0, 0, 1]), "write after write");
    assert!(!judge(&[read(0), read(0)], &[others, 0]), "read after read");
    assert!(!judge(&[read(2), read(2)], &[2, 1]), "writes after writes of another");
}
