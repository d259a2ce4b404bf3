//! What is refused, before a byte moves.

use crate::datatypes::layouts::{BYTES, CANARY, every_memory, read, written};
use crate::support::spmd;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{
    CommittedDatatype, Datatype, DerivedDatatype, ErrorClass, LockType, Op, Rank, Result,
    WindowOptions,
};

/// Put, get, accumulate and get_accumulate with 4 x `own` and 4 x `other`.
fn four(
    win: &Win,
    disp: u64,
    own: (usize, &CommittedDatatype),
    other: (usize, &CommittedDatatype),
) -> [Result<()>; 4] {
    let numbers = vec![0x11; BYTES];
    let mut buffers = [vec![CANARY; BYTES], vec![CANARY; BYTES]];
    let [got, fetched] = &mut buffers;
    let (from, layout) = (read(&numbers, own.0, own.1), Layout::new(other.0, other.1));
    let to = written(got, own.0, own.1);
    let result = written(fetched, own.0, own.1);
    let answers = [
        win.put_layout(from, Rank(1), disp, layout),
        win.get_layout(to, Rank(1), disp, layout),
        win.accumulate_layout(from, Op::Sum, Rank(1), disp, layout),
        win.get_accumulate_layout(from, result, Op::Sum, Rank(1), disp, layout),
    ];
    if answers.iter().all(Result::is_err) {
        assert!(buffers.iter().flatten().all(|byte| *byte == CANARY));
    }
    answers
}

fn all_refused(
    win: &Win,
    disp: u64,
    own: (usize, &CommittedDatatype),
    other: (usize, &CommittedDatatype),
    class: ErrorClass,
) {
    for refused in four(win, disp, own, other) {
        let error = refused.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
    }
}

fn clean(win: &Win, zero: u64) {
    win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
}

#[track_caller]
fn assert_clean(win: &Win, zero: u64) {
    let mut found = vec![0; BYTES];
    win.get(&mut found, Rank(1), zero).unwrap();
    assert!(found.iter().all(|byte| *byte == CANARY));
}

fn ints(n: usize) -> CommittedDatatype {
    DerivedDatatype::contiguous(n, Datatype::I32).unwrap().commit()
}

/// Two integers, then two floating-point numbers.
fn mixed() -> CommittedDatatype {
    let pair = [Datatype::I32.into(), Datatype::F32.into()];
    DerivedDatatype::structure(&[2, 2], &[0, 8], &pair).unwrap().commit()
}

/// "The message sent must fit, without truncation, in the target buffer", and the data of a get in
/// that of the origin; of the same elements in the same order.
#[test]
fn other_elements_or_too_many_are_refused() {
    every_memory(|win, zero| {
        clean(win, zero);
        let floats = DerivedDatatype::contiguous(4, Datatype::F32).unwrap().commit();
        all_refused(win, zero, (1, &floats), (1, &ints(4)), ErrorClass::Type);
        all_refused(win, zero, (1, &mixed()), (1, &ints(4)), ErrorClass::Type);
        let [put, _, add, fetch] = four(win, zero, (5, &ints(1)), (1, &ints(4)));
        for refused in [put, add, fetch] {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
        }
        assert_clean(win, zero);
        let [_, get, _, fetch] = four(win, zero, (3, &ints(1)), (1, &ints(4)));
        for refused in [get, fetch] {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
        }
    });
}

/// "The target_datatype may not specify overlapping entries in the target buffer", nor the
/// origin_datatype of a get in that of the origin. What is only read may.
#[test]
fn entries_written_to_may_not_overlap() {
    every_memory(|win, zero| {
        clean(win, zero);
        let twice = DerivedDatatype::hindexed_block(1, &[0, 8, 6, 20], Datatype::I32).unwrap();
        let twice = twice.commit();
        let [put, get, add, fetch] = four(win, zero, (1, &ints(4)), (1, &twice));
        get.unwrap();
        for refused in [put, add, fetch] {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
        }
        assert_clean(win, zero);
        let [put, get, add, fetch] = four(win, zero, (1, &twice), (1, &ints(4)));
        put.and(add).unwrap();
        for refused in [get, fetch] {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
        }
    });
}

/// Put and get move what accumulates refuse.
#[test]
fn accumulates_of_several_types_are_refused() {
    every_memory(|win, zero| {
        let [put, get, add, fetch] = four(win, zero, (1, &mixed()), (1, &mixed()));
        put.and(get).unwrap();
        clean(win, zero);
        for refused in [add, fetch] {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
        }
        let floats = DerivedDatatype::vector(2, 1, 2, Datatype::F32).unwrap().commit();
        let (numbers, layout) = (vec![0; BYTES], Layout::new(1, &floats));
        let origin = read(&numbers, 1, &floats);
        let refused = win.accumulate_layout(origin, Op::Band, Rank(1), zero, layout).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Op);
        let refused = win.put_layout(origin, Rank(7), zero, layout).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Rank);
        assert_clean(win, zero);
    });
}

/// Behind the part's end, before its start, and beyond all numbers.
#[test]
fn layouts_that_leave_the_part_are_refused() {
    every_memory(|win, zero| {
        clean(win, zero);
        let (end, four_ints) = (zero + BYTES as u64, &ints(4));
        let vector = DerivedDatatype::vector(4, 1, 4, Datatype::I32).unwrap().commit();
        let back = DerivedDatatype::vector(4, 1, -4, Datatype::I32).unwrap().commit();
        let range = ErrorClass::RmaRange;
        for disp in [end - 51, end, u64::MAX, u64::MAX - 30, u64::MAX / 2] {
            all_refused(win, disp, (1, four_ints), (1, &vector), range);
        }
        for disp in [zero, zero + 47, end - 3, end + 44] {
            all_refused(win, disp, (1, four_ints), (1, &back), range);
        }
        let far = DerivedDatatype::resized(0, i64::MAX, Datatype::I32).unwrap().commit();
        all_refused(win, zero, (1, four_ints), (4, &far), range);
        assert_clean(win, zero);
        // The entries count, not the displacement: it may lie outside.
        let ahead = DerivedDatatype::hindexed_block(4, &[-16], Datatype::I32).unwrap().commit();
        for (disp, datatype) in [(end - 52, &vector), (zero + 48, &back), (end, &ahead)] {
            four(win, disp, (1, four_ints), (1, datatype)).into_iter().for_each(Result::unwrap);
        }
    });
}

#[test]
fn nothing_at_all_moves_nothing() {
    every_memory(|win, zero| {
        clean(win, zero);
        let vector = &DerivedDatatype::vector(4, 1, 4, Datatype::I32).unwrap().commit();
        four(win, zero, (0, vector), (0, vector)).into_iter().for_each(Result::unwrap);
        four(win, zero, (3, &ints(0)), (1000, &ints(0))).into_iter().for_each(Result::unwrap);
        let (numbers, layout) = (vec![0; BYTES], Layout::new(1, vector));
        win.put_layout(read(&numbers, 1, vector), Rank::NULL, u64::MAX, layout).unwrap();
        win.accumulate_layout(read(&numbers, 1, vector), Op::Sum, Rank::NULL, 0, layout).unwrap();
        assert_clean(win, zero);
    });
}

#[test]
fn origins_inside_the_window_may_interleave_but_not_overlap() {
    spmd(1, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        win.lock(LockType::Exclusive, Rank(0)).unwrap();
        let numbers: Vec<u8> = (0..BYTES).map(|i| i as u8).collect();
        win.put(&numbers, Rank(0), 0).unwrap();
        // Columns of a matrix of 16 bytes a row.
        let column = DerivedDatatype::vector(8, 2, 16, Datatype::U8).unwrap().commit();
        let to = |at: usize, disp| {
            let start = win.base().wrapping_add(at);
            // SAFETY: entries in the own part, which only this rank accesses, by operations.
            let origin = unsafe { Origin::new(start, 1, &column) };
            // SAFETY: as above.
            let result = unsafe { OriginMut::new(start, 1, &column) };
            let layout = Layout::new(1, &column);
            [
                win.put_layout(origin, Rank(0), disp, layout),
                win.get_layout(result, Rank(0), disp, layout),
                win.accumulate_layout(origin, Op::Sum, Rank(0), disp, layout),
            ]
        };
        for (at, disp) in [(0, 0), (0, 1), (1, 0), (32, 0), (0, 33), (17, 16)] {
            for refused in to(at, disp) {
                assert_eq!(refused.unwrap_err().class(), ErrorClass::RmaConflict);
            }
        }
        let mut found = vec![0; BYTES];
        win.get(&mut found, Rank(0), 0).unwrap();
        assert!(found == numbers, "nothing has changed");
        for (at, disp) in [(0, 2), (2, 0), (0, 14), (34, 0), (0, 1000)] {
            to(at, disp).into_iter().for_each(Result::unwrap);
        }
        win.unlock(Rank(0)).unwrap();
        win.free().unwrap();
    });
}
