//! Put and get move what they should, where they should, and nothing else (MPI-2.2 §11.3).

use crate::support::spmd;
use onesided::engine::Win;
use onesided::{
    Access, Comm, Complex, DoubleInt, Element, FenceAssert, FloatInt, LockType, LongInt, Op,
    PassiveAccess, Rank, ShortInt, TwoInt, Window, WindowOptions,
};

#[test]
fn put_reaches_every_rank_at_the_displacement_given() {
    spmd(4, |world| {
        let (me, n) = (world.rank().0, world.size());
        let mut window = Window::<u32>::allocate(world, 2 * n as usize).unwrap();
        let mine = [me, me + 100];
        let epoch = window.fence_with(FenceAssert::NOPRECEDE).unwrap();
        for target in 0..n {
            epoch.put(&mine, Rank(target), 2 * me as usize).unwrap();
        }
        epoch.close().unwrap();
        let mut all = vec![0; 2 * n as usize];
        window.load(0, &mut all).unwrap();
        let expected: Vec<u32> = (0..n).flat_map(|rank| [rank, rank + 100]).collect();
        assert_eq!(all, expected);
        window.free().unwrap();
    });
}

#[test]
fn concurrent_sums_add_up() {
    spmd(4, |world| {
        let mut window = Window::<f64>::allocate(world, 3).unwrap();
        let epoch = window.fence().unwrap();
        let ones = [1.0; 3];
        for _ in 0..1000 {
            epoch.accumulate(&ones, Op::Sum, Rank(0), 0).unwrap();
        }
        epoch.close().unwrap();
        if world.rank() == 0 {
            let mut sums = [0.0; 3];
            window.load(0, &mut sums).unwrap();
            assert_eq!(sums, [4000.0; 3]);
        }
        window.free().unwrap();
    });
}

/// Bytes that differ from one call to the next.
fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (seed.wrapping_mul(31).wrapping_add(i * 7 + 1) % 251) as u8).collect()
}

/// Every displacement and length in and around a small part, against a model of its bytes.
fn everywhere(win: &Win, target: Rank) {
    let (size, unit) = (win.size(target).unwrap(), win.disp_unit(target).unwrap());
    let mut model = vec![0; size as usize];
    win.get(&mut model, target, 0).unwrap();
    for disp in 0..=size / u64::from(unit) + 2 {
        for len in [0, 1, 2, 3, 5, 8, 13, 16, 40] {
            let (start, bytes) =
                (disp as usize * unit as usize, pattern(disp + 17 * len, len as usize));
            let fits = len == 0 || start + len as usize <= size as usize;
            assert_eq!(win.put(&bytes, target, disp).is_ok(), fits, "{disp} x {unit}, {len} bytes");
            let mut read = vec![0xEE; len as usize];
            assert_eq!(win.get(&mut read, target, disp).is_ok(), fits);
            if fits && len != 0 {
                model[start..start + len as usize].copy_from_slice(&bytes);
                assert_eq!(read, bytes);
            } else {
                assert!(read.iter().all(|byte| *byte == 0xEE), "a refused get writes nothing");
            }
            let mut all = vec![0; size as usize];
            win.get(&mut all, target, 0).unwrap();
            assert_eq!(all, model);
        }
    }
}

#[test]
fn sizes_and_units_differ_from_rank_to_rank() {
    spmd(4, |world| {
        let rank = world.rank().index();
        let (size, unit) = ([100, 0, 37, 256][rank], [1, 8, 3, 16][rank]);
        let win = WindowOptions::new().allocate_bytes(world, size, unit).unwrap();
        assert_eq!(win.size(Rank(1)).unwrap(), 0);
        assert_eq!(win.disp_unit(Rank(3)).unwrap(), 16);
        for round in 0..world.size() {
            let target = Rank((world.rank().0 + round) % world.size());
            win.lock(LockType::Exclusive, target).unwrap();
            everywhere(&win, target);
            win.unlock(target).unwrap();
        }
        win.free().unwrap();
    });
}

/// Puts `values` at an odd address of every rank and gets them back.
fn round_trip<T: Element + PartialEq + std::fmt::Debug>(win: &Win, values: &[T]) {
    let disp = 1 + 512 * u64::from(win.comm().rank());
    for target in 0..win.comm().size() {
        for odd in 0..size_of::<T>() as u64 {
            win.put(values, Rank(target), disp + odd).unwrap();
            let mut back = vec![T::zeroed(); values.len()];
            win.flush(Rank(target)).unwrap();
            win.get(&mut back, Rank(target), disp + odd).unwrap();
            win.flush_local(Rank(target)).unwrap();
            assert_eq!(back, values, "{:?} at {}", T::DATATYPE, disp + odd);
        }
    }
}

#[test]
fn every_element_type_travels_at_any_alignment() {
    spmd(3, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 512 * 3, 1).unwrap();
        win.lock_all().unwrap();
        round_trip(&win, &[i8::MIN, -1, 0, i8::MAX]);
        round_trip(&win, &[i16::MIN, -1, 0, i16::MAX]);
        round_trip(&win, &[i32::MIN, -1, 0, i32::MAX]);
        round_trip(&win, &[i64::MIN, -1, 0, i64::MAX]);
        round_trip(&win, &[0, 1, u8::MAX]);
        round_trip(&win, &[0, 1, u16::MAX]);
        round_trip(&win, &[0, 1, u32::MAX]);
        round_trip(&win, &[0, 1, u64::MAX]);
        round_trip(&win, &[f32::MIN_POSITIVE, -0.0, f32::INFINITY]);
        round_trip(&win, &[f64::MIN_POSITIVE, -0.0, f64::NEG_INFINITY]);
        round_trip(&win, &[Complex::new(1.5f32, -2.5), Complex::new(0.0, 7.0)]);
        round_trip(&win, &[Complex::new(1.5f64, -2.5), Complex::new(0.0, 7.0)]);
        round_trip(&win, &[FloatInt::new(2.5, -3), FloatInt::new(-1.0, i32::MAX)]);
        round_trip(&win, &[DoubleInt::new(2.5, -3), DoubleInt::new(-1.0, i32::MAX)]);
        round_trip(&win, &[LongInt::new(i64::MIN, -3), LongInt::new(5, i32::MAX)]);
        round_trip(&win, &[TwoInt::new(i32::MIN, -3), TwoInt::new(5, i32::MAX)]);
        round_trip(&win, &[ShortInt::new(i16::MIN, -3), ShortInt::new(5, i32::MAX)]);
        win.unlock_all().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn one_byte_to_several_mebibytes_at_mixed_alignments() {
    const LENGTHS: [usize; 8] = [1, 7, 63, 4095, 4097, 65_537, 1 << 20, (5 << 20) + 3];
    spmd(3, |world| {
        let (me, n) = (world.rank().0, world.size());
        let most = LENGTHS[7] + 16;
        let mut window = Window::<u8>::allocate(world, most).unwrap();
        let (next, previous) = ((me + 1) % n, (me + n - 1) % n);
        for (k, len) in LENGTHS.into_iter().enumerate() {
            let (from, to) = (k % 5, (k * 3) % 11);
            let bytes = |rank: u32| pattern(u64::from(rank) * 1000 + k as u64, len + from);
            let (mine, mut got) = (bytes(me), vec![0; len + 5]);
            let epoch = window.fence().unwrap();
            epoch.put(&mine[from..], Rank(next), to).unwrap();
            let epoch = epoch.fence().unwrap();
            epoch.get(&mut got[5..], Rank(next), to).unwrap();
            epoch.close().unwrap();
            assert!(got[5..] == mine[from..], "{len} bytes by get");
            let mut here = vec![0; len];
            window.load(to, &mut here).unwrap();
            assert!(here == bytes(previous)[from..], "{len} bytes by put");
        }
        window.free().unwrap();
    });
}

#[test]
fn origin_buffers_of_concurrent_puts_may_overlap() {
    spmd(3, |world| {
        let me = world.rank().0;
        let mut window = Window::<u16>::allocate(world, 3 * 8).unwrap();
        let buffer: Vec<u16> = (0..12).map(|i| 100 * me as u16 + i).collect();
        let epoch = window.fence_with(FenceAssert::NOPRECEDE).unwrap();
        for target in 0..3 {
            // The standard's rationale in §11.3: overlapping reads are natural.
            epoch.put(&buffer[0..4], Rank(target), (u64::from(me) * 8) as usize).unwrap();
            epoch.put(&buffer[2..6], Rank(target), (u64::from(me) * 8 + 4) as usize).unwrap();
        }
        epoch.close().unwrap();
        for rank in 0..3u16 {
            let mut part = [0; 8];
            window.load((u64::from(rank) * 8) as usize, &mut part).unwrap();
            assert_eq!(part, [0, 1, 2, 3, 2, 3, 4, 5].map(|i| 100 * rank + i));
        }
        window.free().unwrap();
    });
}

#[test]
fn the_null_target_takes_and_gives_nothing_but_needs_an_epoch() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 8, 1).unwrap();
        assert!(win.put(&[1u8], Rank::NULL, 0).is_err(), "no epoch is open");
        win.fence().unwrap();
        let (mut result, far) = ([7u64], u64::MAX);
        win.put(&[1u64; 100], Rank::NULL, far).unwrap();
        win.get(&mut result, Rank::NULL, far).unwrap();
        win.accumulate(&[1u64], Op::Sum, Rank::NULL, far).unwrap();
        win.get_accumulate(&[1u64], &mut result, Op::Sum, Rank::NULL, far).unwrap();
        win.fetch_and_op(&1u64, &mut result[0], Op::Sum, Rank::NULL, far).unwrap();
        win.compare_and_swap(&1u64, &0, &mut result[0], Rank::NULL, far).unwrap();
        assert_eq!(result, [7], "results are as they were");
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        let mut all = [1u8; 8];
        win.load(0, &mut all).unwrap();
        assert_eq!(all, [0; 8]);
        win.free().unwrap();
    });
}

#[test]
fn zero_elements_are_no_access() {
    spmd(2, |world| {
        // Rank 1 exposes nothing at all.
        let size = [8, 0][world.rank().index()];
        let win = WindowOptions::new().allocate_bytes(world, size, 4).unwrap();
        let none: [u64; 0] = [];
        assert!(win.put(&none, Rank(0), 0).is_err(), "no epoch is open");
        win.fence().unwrap();
        for (target, disp) in [(0, 0), (0, 2), (0, 9), (1, 0), (1, u64::MAX)] {
            win.put(&none, Rank(target), disp).unwrap();
            win.get(&mut [0u64; 0], Rank(target), disp).unwrap();
            win.accumulate(&none, Op::Sum, Rank(target), disp).unwrap();
            win.get_accumulate(&none, &mut [], Op::Sum, Rank(target), disp).unwrap();
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        // Local accesses too, wherever they are.
        win.load(u64::MAX, &mut [0u64; 0]).unwrap();
        win.store(u64::MAX, &none).unwrap();
        win.free().unwrap();
    });
}

/// What an epoch that reaches `target` is tried with: a put, a sum on top of it, and a get.
fn exercise<'b>(epoch: &impl Access<'b, u64>, target: Rank, origin: &'b [u64], got: &'b mut [u64]) {
    epoch.accumulate(origin, Op::Sum, target, 0).unwrap();
    epoch.get(got, target, 8).unwrap();
    epoch.put(origin, target, 4).unwrap();
}

/// Elements 0..4 are summed into, 4..8 put to, 8..12 read.
fn ring(world: &Comm) -> (Window<u64>, Rank, Rank) {
    let (me, n) = (world.rank().0, world.size());
    let window = Window::<u64>::allocate(world, 12).unwrap();
    window.store(8, &[u64::from(me); 4]).unwrap();
    world.barrier().unwrap();
    (window, Rank((me + 1) % n), Rank((me + n - 1) % n))
}

/// Checks what `rounds` exercises by the previous rank have left here.
fn check(window: &Window<u64>, previous: Rank, rounds: u64) {
    let from = u64::from(previous.0) + 10;
    let mut all = [0; 8];
    window.load(0, &mut all).unwrap();
    assert_eq!(
        all,
        [rounds * from, rounds * from, rounds * from, rounds * from, from, from, from, from]
    );
}

#[test]
fn active_epochs_move_data() {
    spmd(3, |world| {
        let (mut window, next, previous) = ring(world);
        let origin = [u64::from(world.rank()) + 10; 4];
        let (mut fenced, mut started) = ([0; 4], [0; 4]);
        let epoch = window.fence().unwrap();
        exercise(&epoch, next, &origin, &mut fenced);
        epoch.close().unwrap();
        check(&window, previous, 1);

        let group = |rank: Rank| world.group().incl(&[rank.0]).unwrap();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&group(previous)).unwrap();
        let epoch = access.start(&group(next)).unwrap();
        exercise(&epoch, next, &origin, &mut started);
        assert_eq!(epoch.window().len(), 12);
        epoch.complete().unwrap();
        exposed.wait().unwrap();
        check(&window, previous, 2);
        assert_eq!((fenced, started), ([u64::from(next.0); 4], [u64::from(next.0); 4]));
        window.free().unwrap();
    });
}

#[test]
fn passive_epochs_move_data() {
    spmd(3, |world| {
        let (mut window, next, previous) = ring(world);
        let origin = [u64::from(world.rank()) + 10; 4];
        let mut got = [[0; 4]; 4];
        let [all, batch, one, single] = &mut got;
        let epoch = window.lock_all().unwrap();
        exercise(&epoch, next, &origin, all);
        epoch.flush(next).unwrap();
        let part = epoch.batch();
        exercise(&part, next, &origin, batch);
        part.flush().unwrap();
        assert_eq!(*batch, [u64::from(next.0); 4], "free after the flush");
        epoch.unlock_all().unwrap();

        let epoch = window.lock(LockType::Exclusive, next).unwrap();
        exercise(&epoch, next, &origin, one);
        let part = epoch.batch();
        part.get(single, next, 8).unwrap();
        part.flush().unwrap();
        assert_eq!(*single, [u64::from(next.0); 4], "free after the flush");
        epoch.unlock().unwrap();
        world.barrier().unwrap();
        check(&window, previous, 3);
        assert_eq!(got, [[u64::from(next.0); 4]; 4]);
        window.free().unwrap();
    });
}

/// A guard of a lock ends the epoch of its own target alone: for another rank, its buffers would be free
/// before the operation is complete.
#[test]
fn a_lock_reaches_the_rank_that_it_names() {
    spmd(3, |world| {
        let (window, next, previous) = ring(world);
        let mut got = [0; 4];
        let (epoch, part);
        epoch = window.lock(LockType::Shared, next).unwrap();
        part = epoch.batch();
        let refused = |outcome: onesided::Result<()>, words: &str| {
            let error = outcome.unwrap_err();
            assert_eq!(error.class(), onesided::ErrorClass::RmaSync);
            assert!(error.to_string().contains(words), "{error}");
        };
        let unlocked = format!("no lock of rank {previous}, but locks of ranks [{next}]");
        refused(epoch.put(&[1], previous, 0), &unlocked);
        refused(part.accumulate(&[1], Op::Sum, previous, 0), &unlocked);
        refused(epoch.rput(&[1], previous, 0).map(drop), &unlocked);
        let other = window.lock(LockType::Shared, previous).unwrap();
        let elsewhere =
            format!("this guard has locked rank {next}, and another one rank {previous}");
        refused(epoch.put(&[1], previous, 0), &elsewhere);
        refused(part.get(&mut got, previous, 8), &elsewhere);
        refused(other.notify(next, 0), "and another one");
        refused(epoch.fetch_and_op_flush(1, Op::Sum, previous, 0).map(drop), &elsewhere);
        refused(epoch.compare_and_swap_flush(1, 0, previous, 0).map(drop), &elsewhere);
        assert_eq!(epoch.fetch_and_op_flush(5, Op::Sum, Rank::NULL, 0).unwrap(), 0);
        assert_eq!(epoch.fetch_and_op_flush(5, Op::Sum, next, 0).unwrap(), 0);
        assert_eq!(epoch.compare_and_swap_flush(0, 5, next, 0).unwrap(), 5);
        epoch.put(&[1], Rank::NULL, 0).unwrap();
        assert!(matches!(epoch.put(&[1], Rank(3), 0), Err(onesided::Error::TargetRank { .. })));
        other.unlock().unwrap();
        part.flush().unwrap();
        epoch.unlock().unwrap();
        world.barrier().unwrap();
        assert_eq!(window.load_one(0).unwrap(), 0);
        window.free().unwrap();
    });
}

#[test]
fn the_flushing_forms_return_what_they_read() {
    spmd(3, |world| {
        let (me, n) = (world.rank().0, world.size());
        let mut window = Window::<i64>::allocate(world, 4).unwrap();
        let epoch = window.lock_all().unwrap();
        let (next, mut back) = (Rank((me + 1) % n), [0; 2]);
        epoch.put_flush(&[5, i64::from(me)], next, 1).unwrap();
        epoch.get_flush(&mut back, next, 1).unwrap();
        assert_eq!(back, [5, i64::from(me)]);
        assert_eq!(epoch.compare_and_swap_flush(9, 4, next, 1).unwrap(), 5);
        assert_eq!(epoch.compare_and_swap_flush(9, 5, next, 1).unwrap(), 5);
        assert_eq!(epoch.fetch_and_op_flush(-2, Op::Prod, next, 1).unwrap(), 9);
        assert_eq!(epoch.fetch_and_op_flush(0, Op::NoOp, next, 1).unwrap(), -18);
        assert_eq!(epoch.fetch_and_op_flush(1, Op::Sum, Rank::NULL, 1).unwrap(), 0);
        epoch.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn steps_of_one_fence_each_reuse_their_buffers() {
    spmd(3, |world| {
        let (me, n) = (world.rank().0, world.size());
        let mut window = Window::<u32>::allocate(world, 1).unwrap();
        let mut epoch = window.fence().unwrap();
        let mut value = [me];
        for round in 1..50 {
            // Every rank passes its value on to the right.
            let right = Rank((me + 1) % n);
            epoch.step(|step| step.put(&value, right, 0)).unwrap();
            value[0] = epoch.window().load_one(0).unwrap();
            assert_eq!(value[0], (me + n * round - round) % n);
            epoch.step(|_| Ok(())).unwrap();
        }
        let refused = epoch.step(|step| step.put(&value, Rank(n), 0));
        assert_eq!(refused.unwrap_err().class(), onesided::ErrorClass::Rank);
        epoch.close().unwrap();
        window.free().unwrap();
    });
}
