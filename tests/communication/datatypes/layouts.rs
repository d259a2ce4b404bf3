//! Layouts for the tests, the memory they describe, and what moves between two of them.

use crate::support::choices::Choices;
use crate::support::universe;
use bytemuck::Pod;
use onesided::engine::{ExposedBytes, Layout, Origin, OriginMut, Win};
use onesided::{
    Comm, CommittedDatatype, Datatype, DerivedDatatype, Distribution, Order, Rank, WindowOptions,
};

pub const CANARY: u8 = 0xC5;
pub const BYTES: usize = 4096;
/// Where displacement 0 of the layouts lies, so that lower bounds may be negative.
pub const ZERO: usize = 1024;

pub fn read<'d>(buffer: &[u8], count: usize, datatype: &'d CommittedDatatype) -> Origin<'d> {
    fits(buffer.len(), count, datatype);
    // SAFETY: the entries lie in the buffer, as checked; the tests use the value while it lives.
    unsafe { Origin::new(buffer.as_ptr().wrapping_add(ZERO), count, datatype) }
}

pub fn written<'d>(
    buffer: &mut [u8],
    count: usize,
    datatype: &'d CommittedDatatype,
) -> OriginMut<'d> {
    fits(buffer.len(), count, datatype);
    // SAFETY: as in `read`.
    unsafe { OriginMut::new(buffer.as_mut_ptr().wrapping_add(ZERO), count, datatype) }
}

pub fn fits(len: usize, count: usize, datatype: &CommittedDatatype) {
    let range = datatype.range(count).unwrap();
    assert!(range.start >= -(ZERO as i64) && range.end <= (len - ZERO) as i64);
}

/// Every constructor, over `element`; all without overlap, all within the buffer.
pub fn every_constructor(element: Datatype) -> Vec<DerivedDatatype> {
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
pub fn put_into(memory: &mut [u8], data: &[u8], count: usize, datatype: &CommittedDatatype) {
    let bytes = datatype.bytes(count).unwrap() as usize;
    datatype.unpack(count, &data[..bytes], memory, ZERO).unwrap();
}

pub fn packed(memory: &[u8], count: usize, datatype: &CommittedDatatype) -> Vec<u8> {
    let mut out = vec![0; datatype.bytes(count).unwrap() as usize];
    datatype.pack(count, memory, ZERO, &mut out).unwrap();
    out
}

/// The elements of a packed buffer.
pub fn values<T: Pod>(packed: &[u8]) -> Vec<T> {
    packed.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Runs `body` on rank 0 with every kind of memory that rank 1 can have: the window, and the
/// displacement of its first byte. `BYTES` bytes, with an alignment of 8.
pub fn every_memory(body: impl Fn(&Win, u64)) {
    universe(2, |universe| {
        let world = universe.world();
        let options = WindowOptions::new();
        let win = options.allocate_bytes(world, BYTES as u64, 1).unwrap();
        on_rank_0(world, &win, 0, &body);
        win.free().unwrap();
        let mut private = vec![0u64; BYTES / 8];
        let start = private.as_mut_ptr().cast::<u8>();
        // SAFETY: the vector outlives the window, and only operations access it meanwhile.
        let win = unsafe { options.create_bytes(world, ExposedBytes::new(start, BYTES as u64), 1) }
            .unwrap();
        on_rank_0(world, &win, 0, &body);
        win.free().unwrap();
        let win = options.create_dynamic_bytes(world).unwrap();
        let mut in_segment = universe.alloc_mem::<u64>(BYTES / 8).unwrap();
        for start in [start, in_segment.as_mut_ptr().cast()] {
            // SAFETY: as above.
            unsafe { win.attach(ExposedBytes::new(start, BYTES as u64)) }.unwrap();
            let starts = world.allgather(&[start as u64]).unwrap();
            on_rank_0(world, &win, starts[1], &body);
            win.detach(start).unwrap();
        }
        win.free().unwrap();
    });
}

pub fn on_rank_0(world: &Comm, win: &Win, zero: u64, body: &impl Fn(&Win, u64)) {
    world.barrier().unwrap();
    if world.rank() == 0 {
        win.lock_all().unwrap();
        body(win, zero);
        win.unlock_all().unwrap();
    }
    world.barrier().unwrap();
}

/// A datatype of nested constructors over the element.
pub fn nested(random: &mut Choices, element: Datatype, depth: u32) -> DerivedDatatype {
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
pub fn random_layouts(
    random: &mut Choices,
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

/// Puts and gets between the two layouts, and compares all memory with what packing makes.
pub fn put_and_get(
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
