//! The engine's run-time checks: ranges against unbounded arithmetic, origins inside the window,
//! datatypes known only at run time.
#![allow(unsafe_code, reason = "the untyped operations take addresses")]

use crate::support::{needs_more_than_intel, spmd};
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{Comm, Datatype, ErrorClass, LockType, Op, Rank, Result, WindowOptions};

/// Bits without a pattern (a linear congruential generator).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A displacement: near the ends of a part, near overflow, or anything.
    fn disp(&mut self, size: u64, unit: u64) -> u64 {
        let edge = match self.below(6) {
            0 => 0,
            1 => size / unit,
            2 => u64::MAX / unit,
            3 => (1 << 62) / unit,
            4 => return self.next() >> self.below(64),
            _ => return self.below(size / unit + 2),
        };
        edge.wrapping_add(self.below(5)).wrapping_sub(2)
    }
}

const CANARY: u8 = 0xC5;
const MOST: usize = 300;

/// Puts, gets, stores and loads with any displacement; what must fit is computed in 128 bits.
fn fuzz(win: &Win, random: &mut Random, triples: u32) {
    let target = Rank(1);
    let (size, unit) = (win.size(target).unwrap(), u64::from(win.disp_unit(target).unwrap()));
    let (ones, mut back) = ([0x3Au8; MOST], [0u8; MOST]);
    for _ in 0..triples {
        let (disp, len) = (random.disp(size, unit), random.below(MOST as u64));
        let start = i128::from(disp) * i128::from(unit);
        let fits = len == 0 || start + i128::from(len) <= i128::from(size);
        let (bytes, back) = (&ones[..len as usize], &mut back[..len as usize]);
        let put = win.put(bytes, target, disp);
        assert_eq!(put.is_ok(), fits, "{disp} x {unit}, {len} bytes of {size}: {put:?}");
        if let Err(error) = put {
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            assert!(win.get(back, target, disp).is_err());
            assert!(win.accumulate(bytes, Op::Sum, target, disp).is_err());
            assert!(win.get_accumulate(bytes, back, Op::Replace, target, disp).is_err());
            continue;
        }
        win.get(back, target, disp).unwrap();
        assert_eq!(back, bytes);
        win.put(&[CANARY; MOST][..len as usize], target, disp).unwrap();
    }
    // What was put has been put back: anything else was never meant to be touched.
    for rank in 0..win.comm().size() {
        let mut all = vec![0; win.size(Rank(rank)).unwrap() as usize];
        win.get(&mut all, Rank(rank), 0).unwrap();
        assert!(all.iter().all(|byte| *byte == CANARY), "rank {rank}'s part");
    }
}

#[test]
fn no_displacement_leads_out_of_a_part() {
    const WINDOWS: u32 = 50;
    spmd(3, |world| {
        let mut random = Random(2026);
        for _ in 0..WINDOWS {
            let (size, unit) = (random.below(500), 1 + random.below(20));
            let unit = if random.below(8) == 0 { (1 << 31) - 1 } else { unit };
            let bytes = if world.rank() == 1 { size } else { 400 };
            let win = WindowOptions::new().allocate_bytes(world, bytes, unit).unwrap();
            win.lock_all().unwrap();
            let own = world.rank();
            win.put(&vec![CANARY; bytes as usize], own, 0).unwrap();
            world.barrier().unwrap();
            if world.rank() == 0 {
                fuzz(&win, &mut Random(random.next()), 100_000 / WINDOWS);
            }
            world.barrier().unwrap();
            random.next();
            win.unlock_all().unwrap();
            win.free().unwrap();
        }
    });
}

/// A window of 64 bytes, unit one byte, holding 0 to 63, with every part locked.
fn numbered(world: &Comm) -> Win {
    let win = WindowOptions::new().name("own").allocate_bytes(world, 64, 1).unwrap();
    let numbers: Vec<u8> = (0..64).collect();
    win.store(0, &numbers).unwrap();
    world.barrier().unwrap();
    win.lock(LockType::Exclusive, world.rank()).unwrap();
    win
}

/// A put, a get, a sum and a fetching sum with 16 bytes of the own part as origin buffer.
fn with_own_memory(win: &Win, origin: usize, disp: u64) -> [Result<()>; 4] {
    let me = win.comm().rank();
    let start = win.base().wrapping_add(origin);
    // SAFETY: 16 bytes inside the own part of the window, which is locked exclusively.
    let from = unsafe { Origin::new(start, 16, Datatype::U8) };
    // SAFETY: as above.
    let to = || unsafe { OriginMut::new(start, 16, Datatype::U8) };
    let other = [0u8; 16];
    // SAFETY: `other` outlives the calls below.
    let disjoint = unsafe { Origin::new(other.as_ptr(), 16, Datatype::U8) };
    [
        win.put_layout(from, me, disp, from.layout()),
        win.get_layout(to(), me, disp, from.layout()),
        win.accumulate_layout(from, Op::Sum, me, disp, from.layout()),
        win.get_accumulate_layout(disjoint, to(), Op::Sum, me, disp, from.layout()),
    ]
}

#[test]
fn an_origin_inside_the_target_range_is_a_conflict() {
    spmd(2, |world| {
        let win = numbered(world);
        for (origin, disp) in [(16, 16), (16, 1), (16, 31), (0, 15), (48, 33)] {
            for refused in with_own_memory(&win, origin, disp) {
                let error = refused.unwrap_err();
                assert_eq!(error.class(), ErrorClass::RmaConflict, "{error}");
                let text = error.to_string();
                let me = format!("rank {}", world.rank().0);
                for word in ["window 'own'", "16", &format!("displacement {disp}"), &me] {
                    assert!(text.contains(word), "'{word}' is missing: {text}");
                }
            }
        }
        let mut all = [0u8; 64];
        win.load(0, &mut all).unwrap();
        assert!(all.iter().copied().eq(0..64), "nothing has changed");
        // Side by side is no overlap; the operations then are those of any buffer.
        for (origin, disp) in [(0, 16), (16, 0), (32, 48), (48, 32)] {
            with_own_memory(&win, origin, disp).into_iter().for_each(Result::unwrap);
        }
        win.unlock(world.rank()).unwrap();
        win.free().unwrap();
    });
}

#[test]
fn datatypes_known_at_run_time_do_what_types_do() {
    if needs_more_than_intel("integers of 16 bytes") {
        return;
    }
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 1).unwrap();
        let target = Rank(1 - world.rank().0);
        win.lock(LockType::Exclusive, target).unwrap();
        let untyped = [
            Datatype::LongDouble,
            Datatype::LongDoubleComplex,
            Datatype::LongDoubleInt,
            Datatype::I128,
        ];
        for datatype in Datatype::ALL.into_iter().chain(untyped) {
            let (ones, mut back) = ([1u64, 2, 3, 4], [0u64; 4]);
            let count = 32 / datatype.size();
            // The last word of a long double with an index is padding, which does not move.
            let words = if datatype == Datatype::LongDoubleInt { 3 } else { 4 };
            // SAFETY: `ones` has 32 aligned bytes and outlives the calls.
            let from = unsafe { Origin::new(ones.as_ptr().cast(), count, datatype) };
            // SAFETY: as above, for `back`.
            let to = unsafe { OriginMut::new(back.as_mut_ptr().cast(), count, datatype) };
            win.put_layout(from, target, 3, from.layout()).unwrap();
            win.get_layout(to, target, 3, from.layout()).unwrap();
            assert_eq!(ones[..words], back[..words], "{datatype:?}");
            // What pairs have between and behind their numbers stays as it is.
            win.put(&[0u8; 32], target, 8).unwrap();
            win.accumulate_layout(from, Op::Replace, target, 8, from.layout()).unwrap();
            back = [0; 4];
            // SAFETY: as above.
            let to = unsafe { OriginMut::new(back.as_mut_ptr().cast(), count, datatype) };
            win.get_accumulate_layout(from, to, Op::NoOp, target, 8, from.layout()).unwrap();
            assert_eq!(ones[..words], back[..words], "{datatype:?}");
            let undefined = if datatype.size() < 8 { Op::Maxloc } else { Op::Land };
            if !matches!(datatype, Datatype::I64 | Datatype::U64 | Datatype::I128) {
                let refused =
                    win.accumulate_layout(from, undefined, target, 0, from.layout()).unwrap_err();
                assert_eq!(refused.class(), ErrorClass::Op, "{refused}");
            }
        }
        win.unlock(target).unwrap();
        win.free().unwrap();
    });
}

#[test]
fn two_datatypes_in_one_call_are_refused() {
    spmd(2, |world| {
        let win = WindowOptions::new().name("typed").allocate_bytes(world, 64, 1).unwrap();
        win.lock(LockType::Shared, Rank(1)).unwrap();
        let (ones, mut back) = ([1u64], [0u64]);
        // SAFETY: one element of each datatype, aligned, that outlives the call.
        let from = unsafe { Origin::new(ones.as_ptr().cast(), 1, Datatype::I64) };
        // SAFETY: as above.
        let to = unsafe { OriginMut::new(back.as_mut_ptr().cast(), 1, Datatype::F64) };
        let layout = Layout::new(1, Datatype::F64);
        let refused = win.get_accumulate_layout(from, to, Op::Sum, Rank(1), 0, layout);
        let refused = refused.unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Type, "{refused}");
        let text = refused.to_string();
        assert!(text.contains("get_accumulate on window 'typed'"), "{text}");
        assert!(text.contains("MPI_INT64_T"), "{text}");
        let mut found = [9u64];
        win.get(&mut found, Rank(1), 0).unwrap();
        assert_eq!((found, back), ([0], [0]));
        win.unlock(Rank(1)).unwrap();
        win.free().unwrap();
    });
}
