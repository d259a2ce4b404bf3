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
    (1..=4)
        .find_map(|n| (n * a).is_multiple_of(b).then_some((n, n * a / b)))
        .filter(|(n, m)| n * m <= 24)
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

/// Runs `body` on rank 0 with every kind of memory that rank 1 can have: the window, and the
/// displacement of its first byte. `BYTES` bytes, with an alignment of 8.
fn every_memory(body: impl Fn(&Win, u64)) {
    universe(2, |universe| {
        let world = universe.world();
        let options = WindowOptions::new();
        let win = options.allocate_bytes(world, BYTES as u64, 1).unwrap();
        on_rank_0(world, &win, 0, &body);
        win.free().unwrap();
        let mut private = vec![0u64; BYTES / 8];
        let start = private.as_mut_ptr().cast::<u8>();
        // SAFETY: the vector outlives the window, and only operations access it meanwhile.
        let win = unsafe { options.create_bytes(world, start, BYTES as u64, 1) }.unwrap();
        on_rank_0(world, &win, 0, &body);
        win.free().unwrap();
        let win = options.create_dynamic_bytes(world).unwrap();
        let mut in_segment = universe.alloc_mem::<u64>(BYTES / 8).unwrap();
        for start in [start, in_segment.as_mut_ptr().cast()] {
            // SAFETY: as above.
            unsafe { win.attach(start, BYTES as u64) }.unwrap();
            let starts = world.allgather(&[start as u64]).unwrap();
            on_rank_0(world, &win, starts[1], &body);
            win.detach(start).unwrap();
        }
        win.free().unwrap();
    });
}

fn on_rank_0(world: &Comm, win: &Win, zero: u64, body: &impl Fn(&Win, u64)) {
    world.barrier().unwrap();
    if world.rank() == 0 {
        win.lock_all(LockAssert::NONE).unwrap();
        body(win, zero);
        win.unlock_all().unwrap();
    }
    world.barrier().unwrap();
}

#[test]
fn every_kind_of_memory_takes_every_constructor() {
    every_memory(|win, zero| all_pairs(win, Rank(1), zero, Datatype::I32));
}

#[test]
fn more_pieces_than_a_system_call_takes() {
    every_memory(|win, zero| {
        let many = DerivedDatatype::vector(1000, 1, 3, Datatype::U8).unwrap().commit();
        let few = DerivedDatatype::contiguous(1000, Datatype::U8).unwrap().commit();
        put_and_get(win, Rank(1), zero, (1, &few), (1, &many));
        put_and_get(win, Rank(1), zero, (1, &many), (1, &few));
        put_and_get(win, Rank(1), zero, (1, &many), (1, &many));
    });
}

/// A datatype of nested constructors over the element.
fn nested(random: &mut Random, element: Datatype, depth: u32) -> DerivedDatatype {
    if depth == 0 {
        return element.into();
    }
    let inner = nested(random, element, depth - 1);
    let (n, stride) = (1 + random.below(3) as usize, random.below(7) as i64 - 3);
    let at: Vec<i64> = (0..n).map(|_| random.below(9) as i64 - 4).collect();
    let made = match random.below(6) {
        0 => DerivedDatatype::contiguous(n, inner),
        1 => DerivedDatatype::vector(n, 1 + random.below(2) as usize, stride, inner),
        2 => DerivedDatatype::indexed_block(1 + random.below(2) as usize, &at, inner),
        3 => {
            let lengths: Vec<usize> = at.iter().map(|_| random.below(3) as usize).collect();
            DerivedDatatype::indexed(&lengths, &at, inner)
        }
        4 => DerivedDatatype::structure(
            &[1, 1],
            &[random.below(40) as i64, -20],
            &[inner, nested(random, element, depth - 1)],
        ),
        _ => {
            DerivedDatatype::resized(random.below(9) as i64 - 4, 1 + random.below(90) as i64, inner)
        }
    };
    made.unwrap()
}

/// Two layouts of `element`s, of which `own` fits into `other`, in the buffers and without overlap.
fn random_layouts(
    random: &mut Random,
    element: Datatype,
) -> Option<((usize, CommittedDatatype), (usize, CommittedDatatype))> {
    let mut side = || {
        let depth = random.below(4) as u32;
        let datatype = nested(random, element, depth).commit();
        let count = random.below(4) as usize;
        let range = datatype.range(count)?;
        let inside = range.start >= -(ZERO as i64) && range.end <= (BYTES - ZERO) as i64;
        (inside && !datatype.overlaps(count)).then_some((count, datatype))
    };
    let (own, other) = (side()?, side()?);
    own.1.fits_into(own.0, &other.1, other.0).then_some((own, other))
}

/// The elements of a packed buffer.
fn values<T: Pod>(packed: &[u8]) -> Vec<T> {
    packed.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

#[test]
fn random_layouts_accumulate_what_an_oracle_says() {
    every_memory(|win, zero| {
        let mut random = Random(0x0d07);
        let (mut done, numbers) = (0, (0..BYTES).map(|i| (i * 31) as u8).collect::<Vec<_>>());
        while done < 300 {
            let Some((own, other)) = random_layouts(&mut random, Datatype::I32) else { continue };
            done += 1;
            let op = random.pick(&[Op::Sum, Op::Max, Op::Replace, Op::Prod, Op::Band]);
            let clean: Vec<u8> = (0..BYTES).map(|i| (i * 13 + 5) as u8).collect();
            win.put(&clean, Rank(1), zero).unwrap();
            let layout = Layout::new(other.0, &other.1);
            let (origin, at) = (read(&numbers, own.0, &own.1), zero + ZERO as u64);
            let before: Vec<i32> = values(&packed(&clean, other.0, &other.1));
            let operands: Vec<i32> = values(&packed(&numbers, own.0, &own.1));
            // Every other one with the values before, in the layout of the target.
            let mut result = vec![CANARY; BYTES];
            if done % 2 == 0 {
                let result = written(&mut result, other.0, &other.1);
                win.get_accumulate_layout(origin, result, op, Rank(1), at, layout).unwrap();
            } else {
                win.accumulate_layout(origin, op, Rank(1), at, layout).unwrap();
            }
            let mut after = before.clone();
            for (value, operand) in after.iter_mut().zip(&operands) {
                *value = match op {
                    Op::Sum => value.wrapping_add(*operand),
                    Op::Prod => value.wrapping_mul(*operand),
                    Op::Max => (*value).max(*operand),
                    Op::Band => *value & operand,
                    _ => *operand,
                };
            }
            let mut expected = clean;
            put_into(&mut expected, bytemuck::cast_slice(&after), other.0, &other.1);
            let mut found = vec![0; BYTES];
            win.get(&mut found, Rank(1), zero).unwrap();
            assert!(found == expected, "{op:?} of {own:?} into {other:?}");
            let mut expected = vec![CANARY; BYTES];
            if done % 2 == 0 {
                put_into(&mut expected, bytemuck::cast_slice(&before), other.0, &other.1);
            }
            assert!(result == expected, "{op:?} of {own:?} into {other:?}, fetched");
            put_random(win, zero, &mut random);
        }
    });
}

fn put_random(win: &Win, zero: u64, random: &mut Random) {
    if let Some((own, other)) = random_layouts(random, Datatype::F32)
        && other.1.fits_into(other.0, &own.1, own.0)
    {
        put_and_get(win, Rank(1), zero, (own.0, &own.1), (other.0, &other.1));
    }
}

/// Each rank adds one to every element of a layout, many times: nothing is lost, whether elements
/// are updated by instructions or under the exclusion.
fn contended(world: &Comm, win: &Win, zero: u64) {
    const TIMES: i64 = 300;
    let doubles = DerivedDatatype::vector(20, 1, 3, Datatype::F64).unwrap().commit();
    // Every element at another alignment, and every eighth at one that instructions update.
    let odd = DerivedDatatype::hvector(20, 1, 9, Datatype::I64).unwrap().commit();
    let wide = DerivedDatatype::vector(5, 2, 3, Datatype::C64).unwrap().commit();
    let (one, ones) = ([1i64; 20], [1.0f64; 20]);
    let bytes = (bytemuck::cast_slice::<_, u8>(&one), bytemuck::cast_slice::<_, u8>(&ones));
    let origin = |bytes: &[u8], count, datatype: Datatype| {
        assert_eq!(bytes.len(), count * datatype.size());
        // SAFETY: so many bytes, that outlive the calls.
        unsafe { Origin::new(bytes.as_ptr(), count, datatype) }
    };
    world.barrier().unwrap();
    win.lock_all(LockAssert::NONE).unwrap();
    for _ in 0..TIMES {
        let add = |origin, at, datatype: &CommittedDatatype| {
            win.accumulate_layout(origin, Op::Sum, Rank(0), zero + at, Layout::new(1, datatype))
        };
        add(origin(bytes.1, 20, Datatype::F64), 0, &doubles).unwrap();
        add(origin(bytes.0, 20, Datatype::I64), 1000, &odd).unwrap();
        add(origin(bytes.1, 10, Datatype::C64), 2000, &wide).unwrap();
    }
    win.unlock_all().unwrap();
    world.barrier().unwrap();
    if world.rank() == 0 {
        let mut memory = vec![0; BYTES];
        win.load(zero, &mut memory).unwrap();
        let all = TIMES * i64::from(world.size());
        let found = |at: usize, datatype: &CommittedDatatype| {
            let mut out = vec![0; datatype.bytes(1).unwrap() as usize];
            datatype.pack(1, &memory, at, &mut out).unwrap();
            out
        };
        assert_eq!(values::<f64>(&found(0, &doubles)), [all as f64; 20]);
        assert_eq!(values::<i64>(&found(1000, &odd)), [all; 20]);
        assert_eq!(values::<f64>(&found(2000, &wide)), [all as f64; 20]);
    }
    world.barrier().unwrap();
}

#[test]
fn contended_strided_accumulates_lose_nothing() {
    spmd(4, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        contended(world, &win, 0);
        win.free().unwrap();
        let mut private = vec![0u64; BYTES / 8];
        let start = private.as_mut_ptr().cast();
        // SAFETY: the vector outlives the window, and only operations access it meanwhile.
        let win = unsafe { WindowOptions::new().create_bytes(world, start, BYTES as u64, 1) };
        let win = win.unwrap();
        contended(world, &win, 0);
        win.free().unwrap();
    });
}

#[test]
fn a_short_origin_combines_the_first_and_fetches_all() {
    every_memory(|win, zero| {
        let every_second = DerivedDatatype::vector(5, 1, 2, Datatype::U16).unwrap().commit();
        let backwards = DerivedDatatype::vector(5, 1, -3, Datatype::U16).unwrap().commit();
        win.put(&[1u16, 2, 3, 4, 5, 6, 7, 8, 9, 10], Rank(1), zero).unwrap();
        let (ten, mut result) = ([10u16, 20], vec![CANARY; BYTES]);
        let layout = Layout::new(1, &every_second);
        // SAFETY: two elements, that outlive the calls.
        let origin = unsafe { Origin::new(ten.as_ptr().cast(), 2, Datatype::U16) };
        let into = written(&mut result, 1, &backwards);
        win.get_accumulate_layout(origin, into, Op::Sum, Rank(1), zero, layout).unwrap();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [1, 3, 5, 7, 9]);
        let mut found = [0u16; 10];
        win.get(&mut found, Rank(1), zero).unwrap();
        assert_eq!(found, [11, 2, 23, 4, 5, 6, 7, 8, 9, 10]);
        let into = written(&mut result, 1, &backwards);
        win.get_accumulate_layout(origin, into, Op::NoOp, Rank(1), zero, layout).unwrap();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [11, 23, 5, 7, 9]);
        // Requests: the same, complete when they are returned.
        win.rput_layout(origin, Rank(1), zero, layout).unwrap().wait();
        win.raccumulate_layout(origin, Op::Sum, Rank(1), zero, layout).unwrap().wait();
        let into = written(&mut result, 1, &backwards);
        win.rget_layout(into, Rank(1), zero, layout).unwrap().wait();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [20, 40, 5, 7, 9]);
        let into = written(&mut result, 1, &backwards);
        let request = win.rget_accumulate_layout(origin, into, Op::Replace, Rank(1), zero, layout);
        request.unwrap().wait();
        assert_eq!(values::<u16>(&packed(&result, 1, &backwards)), [20, 40, 5, 7, 9]);
    });
}

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

#[test]
fn what_is_wrong_is_refused_before_a_byte_moves() {
    every_memory(|win, zero| {
        win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
        let ints = |n| DerivedDatatype::contiguous(n, Datatype::I32).unwrap().commit();
        outside(win, zero, &ints(4));
        // Other elements, or too many.
        let floats = DerivedDatatype::contiguous(4, Datatype::F32).unwrap().commit();
        let pair = [Datatype::I32.into(), Datatype::F32.into()];
        let mixed = DerivedDatatype::structure(&[2, 2], &[0, 8], &pair).unwrap().commit();
        let class = ErrorClass::Type;
        all_refused(win, zero, (1, &floats), (1, &ints(4)), class);
        all_refused(win, zero, (1, &mixed), (1, &ints(4)), class);
        let [put, _, add, fetch] = four(win, zero, (5, &ints(1)), (1, &ints(4)));
        for refused in [put, add, fetch] {
            assert_eq!(refused.unwrap_err().class(), class);
        }
        let [_, get, _, fetch] = four(win, zero, (3, &ints(1)), (1, &ints(4)));
        for refused in [get, fetch] {
            assert_eq!(refused.unwrap_err().class(), class);
        }
        win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
        // Entries written to that share a byte.
        let twice = DerivedDatatype::hindexed_block(1, &[0, 8, 6, 20], Datatype::I32).unwrap();
        let twice = twice.commit();
        let [put, _, add, fetch] = four(win, zero, (1, &ints(4)), (1, &twice));
        for refused in [put, add, fetch] {
            assert_eq!(refused.unwrap_err().class(), class);
        }
        let [put, get, _, fetch] = four(win, zero, (1, &twice), (1, &ints(4)));
        put.unwrap();
        for refused in [get, fetch] {
            assert_eq!(refused.unwrap_err().class(), class);
        }
        win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
        accumulates_of_several_types(win, zero, &mixed);
        let mut found = vec![0; BYTES];
        win.get(&mut found, Rank(1), zero).unwrap();
        assert!(found.iter().all(|byte| *byte == CANARY));
        nothing_at_all(win, zero);
    });
}

/// Layouts that leave the part, and such that only seem to.
fn outside(win: &Win, zero: u64, four_ints: &CommittedDatatype) {
    let end = zero + BYTES as u64;
    // Layouts that leave the part: behind its end, before its start, and beyond all numbers.
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
    // The entries count, not the displacement: it may lie outside.
    let ahead = DerivedDatatype::hindexed_block(4, &[-16], Datatype::I32).unwrap().commit();
    for (disp, datatype) in [(end - 52, &vector), (zero + 48, &back), (end, &ahead)] {
        four(win, disp, (1, four_ints), (1, datatype)).into_iter().for_each(Result::unwrap);
        win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
    }
}

/// Put and get move what accumulates refuse.
fn accumulates_of_several_types(win: &Win, zero: u64, mixed: &CommittedDatatype) {
    let [put, get, add, fetch] = four(win, zero, (1, mixed), (1, mixed));
    put.unwrap();
    get.unwrap();
    for refused in [add, fetch] {
        assert_eq!(refused.unwrap_err().class(), ErrorClass::Type);
    }
    win.put(&vec![CANARY; BYTES], Rank(1), zero).unwrap();
    let floats = DerivedDatatype::vector(2, 1, 2, Datatype::F32).unwrap().commit();
    let (numbers, layout) = (vec![0; BYTES], Layout::new(1, &floats));
    let origin = read(&numbers, 1, &floats);
    let refused = win.accumulate_layout(origin, Op::Band, Rank(1), zero, layout).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Op);
    let refused = win.put_layout(origin, Rank(7), zero, layout).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Rank);
}

fn nothing_at_all(win: &Win, zero: u64) {
    let vector = &DerivedDatatype::vector(4, 1, 4, Datatype::I32).unwrap().commit();
    four(win, zero, (0, vector), (0, vector)).into_iter().for_each(Result::unwrap);
    let empty = DerivedDatatype::contiguous(0, Datatype::I32).unwrap().commit();
    four(win, zero, (3, &empty), (1000, &empty)).into_iter().for_each(Result::unwrap);
    let (numbers, layout) = (vec![0; BYTES], Layout::new(1, vector));
    win.put_layout(read(&numbers, 1, vector), Rank::NULL, u64::MAX, layout).unwrap();
    win.accumulate_layout(read(&numbers, 1, vector), Op::Sum, Rank::NULL, 0, layout).unwrap();
    let mut found = vec![0; BYTES];
    win.get(&mut found, Rank(1), zero).unwrap();
    assert!(found.iter().all(|byte| *byte == CANARY));
}

#[test]
fn origins_inside_the_window_may_interleave_but_not_overlap() {
    spmd(1, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        win.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap();
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

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Particle {
    at: [f64; 3],
    mass: f64,
}

#[test]
fn shapes_at_guards() {
    spmd(2, |world| {
        let mut window = Window::<f64>::allocate(world, 64).unwrap();
        let other = Rank(1 - world.rank());
        let column = Shape::<f64>::block_2d([8, 8], [0, 3], [8, 1]).unwrap();
        let masses = Shape::field::<Particle>(std::mem::offset_of!(Particle, mass), 8).unwrap();
        let particle = |i| Particle { at: [0.5; 3], mass: f64::from(i) };
        let particles: Vec<_> = (0..8).map(particle).collect();
        let (mut got, mut short) = ([0.0; 8], [0.0; 7]);
        let epoch = window.lock_all(LockAssert::NONE).unwrap();
        epoch.put_shaped(masses.over(&particles).unwrap(), other, 0, &column).unwrap();
        epoch.accumulate_shaped(&[100.0; 8], Op::Sum, other, 0, &column).unwrap();
        epoch.get_shaped(&mut got, other, 0, &column).unwrap();
        let refused = epoch.get_shaped(&mut short, other, 0, &column).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Count);
        epoch.put_shaped(&[0.0; 8], other, 4, &column).unwrap();
        let refused = epoch.put_shaped(&[0.0; 8], other, 5, &column).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::RmaRange);
        epoch.unlock_all().unwrap();
        assert!(got.iter().copied().eq((0..8).map(|i| 100.0 + f64::from(i))));
        assert!(masses.over(&particles[1..]).is_err(), "the shape leaves the slice");
        world.barrier().unwrap();
        let (mut back, sevens) = (particles.clone(), vec![7.0; 8]);
        let epoch = window.lock(LockType::Exclusive, other, LockAssert::NONE).unwrap();
        epoch.put_shaped(&sevens, 0, &column).unwrap();
        let (ones, into) = ([1.0; 8], masses.over_mut(&mut back).unwrap());
        epoch.get_accumulate_shaped(&ones, into, Op::Sum, 0, &column).unwrap();
        epoch.get_shaped(&mut got, 0, &column).unwrap();
        epoch.unlock().unwrap();
        assert_eq!(got, [8.0; 8]);
        assert!(back.iter().all(|particle| particle.mass == 7.0 && particle.at == [0.5; 3]));
        world.barrier().unwrap();
        window.free().unwrap();
    });
}
