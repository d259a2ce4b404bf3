//! Derived datatypes at origin and target of every operation, between processes (MPI-2.2 §11.3;
//! New RMA Design, "Datatype In RMA").
#![allow(unsafe_code, reason = "the engine takes addresses")]

mod support;

use bytemuck::Pod;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{
    Access, Comm, CommittedDatatype, Datatype, DerivedDatatype, Distribution, ErrorClass,
    LockAssert, LockType, Op, Order, Rank, Result, Shape, Window, WindowOptions,
};
use support::{spmd, universe};

const CANARY: u8 = 0xC5;
const BYTES: usize = 4096;
/// Where displacement 0 of the layouts lies, so that lower bounds may be negative.
const ZERO: usize = 1024;

/// Bits without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)) % limit
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

fn read<'d>(buffer: &[u8], count: usize, datatype: &'d CommittedDatatype) -> Origin<'d> {
    fits(buffer.len(), count, datatype);
    // SAFETY: the entries lie in the buffer, as checked; the tests use the value while it lives.
    unsafe { Origin::new(buffer.as_ptr().wrapping_add(ZERO), count, datatype) }
}

fn written<'d>(buffer: &mut [u8], count: usize, datatype: &'d CommittedDatatype) -> OriginMut<'d> {
    fits(buffer.len(), count, datatype);
    // SAFETY: as in `read`.
    unsafe { OriginMut::new(buffer.as_mut_ptr().wrapping_add(ZERO), count, datatype) }
}

fn fits(len: usize, count: usize, datatype: &CommittedDatatype) {
    let range = datatype.range(count).unwrap();
    assert!(range.start >= -(ZERO as i64) && range.end <= (len - ZERO) as i64);
}

/// Every constructor, over `element`; all without overlap, all within the buffer.
fn every_constructor(element: Datatype) -> Vec<DerivedDatatype> {
    let wide = 3 * element.size() as i64;
    let vector = DerivedDatatype::vector(3, 2, 3, element).unwrap();
    let pair = [DerivedDatatype::from(element), vector.clone()];
    let by = [Distribution::Cyclic(Some(1)), Distribution::Block(None)];
    vec![
        element.into(),
        DerivedDatatype::contiguous(5, element).unwrap(),
        vector.clone(),
        DerivedDatatype::vector(4, 1, -2, element).unwrap(),
        DerivedDatatype::hvector(3, 1, wide, element).unwrap(),
        DerivedDatatype::hvector(3, 1, wide + 1, element).unwrap(),
        DerivedDatatype::indexed(&[2, 0, 1], &[5, 3, -4], element).unwrap(),
        DerivedDatatype::hindexed(&[1, 2], &[wide, -wide], element).unwrap(),
        DerivedDatatype::indexed_block(2, &[6, 0, 3], element).unwrap(),
        DerivedDatatype::hindexed_block(1, &[wide + 1, 0], element).unwrap(),
        DerivedDatatype::structure(&[1, 1], &[0, wide], &pair).unwrap(),
        DerivedDatatype::subarray(&[4, 5], &[2, 3], &[1, 1], Order::C, element).unwrap(),
        DerivedDatatype::subarray(&[4, 5], &[2, 3], &[1, 1], Order::Fortran, element).unwrap(),
        DerivedDatatype::darray(4, 1, &[5, 4], &by, &[2, 2], Order::C, element).unwrap(),
        DerivedDatatype::resized(-wide, 4 * wide, element).unwrap(),
        vector.dup().unwrap(),
    ]
}



/// What a put of the packed `data` leaves in `memory`.
fn put_into(memory: &mut [u8], data: &[u8], count: usize, datatype: &CommittedDatatype) {
    let bytes = datatype.bytes(count).unwrap() as usize;
    datatype.unpack(count, &data[..bytes], memory, ZERO).unwrap();
}

fn packed(memory: &[u8], count: usize, datatype: &CommittedDatatype) -> Vec<u8> {
    let mut out = vec![0; datatype.bytes(count).unwrap() as usize];
    datatype.pack(count, memory, ZERO, &mut out).unwrap();
    out
}

/// Puts and gets between the two layouts, and compares all memory with what packing says.
fn put_and_get(
    win: &Win,
    target: Rank,
    zero: u64,
    own: (usize, &CommittedDatatype),
    other: (usize, &CommittedDatatype),
) {
    let clean = vec![CANARY; BYTES];
    win.put(&clean, target, zero).unwrap();
    let numbers: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
    let layout = Layout::new(other.0, other.1);
    win.put_layout(read(&numbers, own.0, own.1), target, zero + ZERO as u64, layout).unwrap();
    let mut expected = clean.clone();
    put_into(&mut expected, &packed(&numbers, own.0, own.1), other.0, other.1);
    let mut found = vec![0; BYTES];
    win.get(&mut found, target, zero).unwrap();
    assert!(found == expected, "put of {own:?} to {other:?}");

    win.put(&numbers, target, zero).unwrap();
    let mut buffer = clean.clone();
    let origin = written(&mut buffer, own.0, own.1);
    win.get_layout(origin, target, zero + ZERO as u64, layout).unwrap();
    let mut expected = clean;
    put_into(&mut expected, &packed(&numbers, other.0, other.1), own.0, own.1);
    assert!(buffer == expected, "get of {other:?} to {own:?}");
}

/// Counts with which `own` and `other` have equally many elements, if they are small.
fn counts(own: &DerivedDatatype, other: &DerivedDatatype) -> Option<(usize, usize)> {
    let (a, b) = (own.elements() as usize, other.elements() as usize);
    (1..=4).find_map(|n| (n * a).is_multiple_of(b).then_some((n, n * a / b))).filter(|(n, m)| n * m <= 24)
}

fn all_pairs(win: &Win, target: Rank, zero: u64, element: Datatype) {
    let all = every_constructor(element);
    let mut tried = 0;
    for own in &all {
        for other in &all {
            let Some((a, b)) = counts(own, other) else { continue };
            let (own, other) = (own.commit(), other.commit());
            let reach = |n, datatype: &CommittedDatatype| {
                let range = datatype.range(n).unwrap();
                let room = (BYTES - ZERO) as i64;
                range.start >= -(ZERO as i64) && range.end <= room && !datatype.overlaps(n)
            };
            if reach(a, &own) && reach(b, &other) {
                tried += 1;
                put_and_get(win, target, zero, (a, &own), (b, &other));
            }
        }
    }
    assert!(tried > 100, "{tried} pairs of {} datatypes", all.len());
}

#[test]
fn every_constructor_moves_what_packing_says() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        if world.rank() == 0 {
            win.lock_all(LockAssert::NONE).unwrap();
            for element in [Datatype::U8, Datatype::I32, Datatype::F64, Datatype::DoubleInt] {
                all_pairs(&win, Rank(1), 0, element);
                all_pairs(&win, Rank(0), 0, element);
            }
            win.unlock_all().unwrap();
        }
        world.barrier().unwrap();
        win.free().unwrap();
    });
}
