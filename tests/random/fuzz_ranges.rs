//! (Rank, displacement, count, datatype) drawn at random, against arithmetic of 128 bits: what fits
//! is put where it belongs, and everything else is refused with the class that it has.
//!
//! `FUZZ_SEED=17` and the long form, `--ignored`, draw others and more.
#![allow(unsafe_code, reason = "the untyped operations take addresses")]
#![allow(clippy::disallowed_methods, reason = "reads the seed")]

use crate::support::spmd;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{
    CommittedDatatype, Datatype, DerivedDatatype, ErrorClass, Op, Rank, Result, WindowOptions,
};
use std::ops::Range;

/// Bits without a pattern (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Mostly small, now and then near an end of what a number can be.
    fn number(&mut self, small: u64) -> u64 {
        match self.below(8) {
            0 => self.next() >> self.below(64),
            1 => (1 << (32 + self.below(32))) - self.below(3),
            2 => u64::MAX - self.below(20),
            _ => self.below(small),
        }
    }
}

/// A datatype, and the bytes that `count` instances touch.
struct Drawn {
    datatype: CommittedDatatype,
    basic: Datatype,
    /// First byte and end of one instance, from its displacement on.
    span: (i128, i128),
    extent: i128,
    elements: u128,
    /// Where the first entry lies.
    first: i128,
}

impl Drawn {
    fn new(random: &mut Random) -> Drawn {
        let basic = Datatype::ALL[random.below(Datatype::ALL.len() as u64) as usize];
        let size = basic.size() as i128;
        let (blocks, length) = (1 + random.below(4), 1 + random.below(3));
        let block = length as i64 * size as i64;
        let gap = random.below(40) as i64;
        let stride = if random.below(2) == 0 { block + gap } else { -(block + gap) };
        let start = random.below(200) as i64 - 100;
        let made = || {
            let (blocks, length) = (blocks as usize, length as usize);
            let vector = DerivedDatatype::hvector(blocks, length, stride, basic)?;
            DerivedDatatype::hindexed(&[1], &[start], vector)
        };
        let derived = made().expect("a datatype of a few bytes");
        let last = i128::from(start) + i128::from(stride) * (i128::from(blocks) - 1);
        let (low, high) = (last.min(start.into()), last.max(start.into()) + i128::from(block));
        let span = (low, high);
        let (extent, elements) = (derived.extent().into(), u128::from(blocks * length));
        let datatype = derived.commit();
        Drawn { datatype, basic, span, extent, elements, first: start.into() }
    }

    /// The bytes of `count` instances, one or more, in a window where displacement 0 is at `zero`.
    fn range(&self, zero: i128, count: u64) -> Range<i128> {
        let last = self.extent * (i128::from(count) - 1);
        let (low, high) = self.span;
        zero + low + last.min(0)..zero + high + last.max(0)
    }

    /// Whether instances share a byte, for which a put is refused whatever its range: drawn again.
    fn overlaps(&self, count: u64) -> bool {
        count > 1 && self.extent < self.span.1 - self.span.0
    }
}

/// One drawn call after another, from rank 0.
fn fuzz(win: &Win, random: &mut Random, calls: u64) -> [u64; 3] {
    let mut answers = [0; 3];
    for call in 0..calls {
        let (drawn, rank) = (Drawn::new(random), random.number(4));
        let (disp, count) = (random.number(70), 1 + random.number(4).min(u64::MAX - 1));
        if drawn.overlaps(count) {
            continue;
        }
        let what = format!(
            "call {call}: rank {rank}, displacement {disp}, {count} of {:?}",
            drawn.datatype.datatype().constructor()
        );
        let target = Rank(u32::try_from(rank).unwrap_or(u32::MAX - 1));
        let mut found = attempt(win, &drawn, target, disp, count);
        if drawn.elements * u128::from(count) * drawn.basic.size() as u128 > i64::MAX as u128 {
            // A layout that no datatype can describe is also one that no origin's elements fit.
            found.retain(|answer| class(answer) != Some(ErrorClass::Type));
        }
        if target == Rank::NULL {
            // Nothing is put, whatever the range.
            found.iter().for_each(|answer| is(answer, None, &what));
            continue;
        }
        if target.0 >= win.comm().size() {
            found.iter().for_each(|answer| is(answer, Some(ErrorClass::Rank), &what));
            answers[0] += 1;
            continue;
        }
        let (size, unit) = (win.size(target).unwrap(), win.disp_unit(target).unwrap());
        let range = drawn.range(i128::from(disp) * i128::from(unit), count);
        // What a pair ends with in an array is not part of it.
        let end = range.end - trailing(drawn.basic);
        let fits = range.start >= 0 && end <= i128::from(size);
        let expected = (!fits).then_some(ErrorClass::RmaRange);
        found.iter().for_each(|answer| is(answer, expected, &what));
        if fits {
            check_and_restore(win, &drawn, target, disp, &what);
        }
        answers[1 + usize::from(fits)] += 1;
    }
    answers
}

fn class(answer: &Result<()>) -> Option<ErrorClass> {
    answer.as_ref().err().map(onesided::Error::class)
}

fn is(answer: &Result<()>, expected: Option<ErrorClass>, what: &str) {
    assert_eq!(class(answer), expected, "{what}: {answer:?}");
}

/// One element put, the same accumulated, and all elements gotten if they are not too many.
fn attempt(win: &Win, drawn: &Drawn, target: Rank, disp: u64, count: u64) -> Vec<Result<()>> {
    let ones = [0x3Au8; 64];
    let layout = || Layout::new(count as usize, &drawn.datatype);
    // SAFETY: one element of at most 64 bytes.
    let from = || unsafe { Origin::new(ones.as_ptr(), 1, drawn.basic) };
    let mut answers = vec![
        win.put_layout(from(), target, disp, layout()),
        win.accumulate_layout(from(), Op::Replace, target, disp, layout()),
    ];
    let elements = drawn.elements * u128::from(count);
    if elements <= 64 {
        let mut buffer = [0u64; 4 * 64];
        // SAFETY: as many elements of at most 32 bytes.
        let to =
            unsafe { OriginMut::new(buffer.as_mut_ptr().cast(), elements as usize, drawn.basic) };
        answers.push(win.get_layout(to, target, disp, layout()));
    }
    answers
}

const CANARY: u8 = 0xC5;

/// The bytes of a pair that are neither of its numbers, and stay what they are.
fn padding(datatype: Datatype) -> Range<usize> {
    match datatype {
        Datatype::ShortInt => 2..4,
        Datatype::DoubleInt | Datatype::LongInt => 12..16,
        _ => 0..0,
    }
}

/// How many bytes of padding an element ends with.
fn trailing(datatype: Datatype) -> i128 {
    match padding(datatype) {
        padding if padding.end == datatype.size() => padding.len() as i128,
        _ => 0,
    }
}

/// The element that was put is where it must be, and nothing else is: puts the canary back there.
fn check_and_restore(win: &Win, drawn: &Drawn, target: Rank, disp: u64, what: &str) {
    let unit = i128::from(win.disp_unit(target).unwrap());
    let (size, bytes) = (win.size(target).unwrap() as usize, drawn.basic.size());
    let start = (i128::from(disp) * unit + drawn.first) as usize;
    let padding = padding(drawn.basic);
    let mut all = vec![0u8; size];
    win.get(&mut all, target, 0).unwrap();
    for (at, byte) in all.iter().enumerate() {
        let put =
            (start..start + bytes).contains(&at) && !padding.contains(&(at.wrapping_sub(start)));
        assert_eq!(*byte, if put { 0x3A } else { CANARY }, "{what}: byte {at}");
    }
    win.put(&vec![CANARY; size], target, 0).unwrap();
}

fn calls(all: u64) {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
    spmd(3, |world| {
        let mut random = Random(seed);
        for (bytes, unit) in [(500, 1), (512, 8), (96, 12), (0, 4), (400, (1 << 31) - 1)] {
            let own = if world.rank() == 1 { bytes } else { 333 };
            let win = WindowOptions::new().allocate_bytes(world, own, unit).unwrap();
            win.lock_all().unwrap();
            win.put(&vec![CANARY; own as usize], world.rank(), 0).unwrap();
            world.barrier().unwrap();
            if world.rank() == 0 {
                let answers = fuzz(&win, &mut random, all / 5);
                println!("{unit}: no rank, no range, done: {answers:?}");
                assert!(answers.iter().sum::<u64>() > all / 20, "{answers:?}");
            }
            world.barrier().unwrap();
            win.unlock_all().unwrap();
            win.free().unwrap();
        }
    });
}

#[test]
fn what_fits_is_put_and_the_rest_is_refused() {
    calls(50_000);
}

#[test]
#[ignore = "takes a minute"]
fn the_same_of_ten_million() {
    calls(10_000_000);
}
