//! Layouts of many elements: transfers by lists of offsets, and what accumulates update in batches.

use crate::datatypes::layouts::values;
use crate::support::choices::Choices;
use crate::support::spmd;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{CommittedDatatype, Datatype, DerivedDatatype, ErrorClass, Op, Rank, WindowOptions};

/// Bytes of each part: many shards.
const BYTES: usize = 1 << 20;
/// Elements of each layout: more than instructions alone update.
const ELEMENTS: usize = 3000;

fn commit(made: onesided::Result<DerivedDatatype>) -> CommittedDatatype {
    made.expect("the arguments are right").commit()
}

/// Numbers below `n`, each once, in no order.
fn shuffled(n: usize, random: &mut Choices) -> Vec<i64> {
    let mut all: Vec<i64> = (0..n as i64).collect();
    (1..n).for_each(|i| all.swap(i, random.below(i as u64 + 1) as usize));
    all
}

/// Layouts of `ELEMENTS` elements, with the byte where displacement 0 must be.
fn all_layouts(element: Datatype, random: &mut Choices) -> Vec<(CommittedDatatype, usize)> {
    use DerivedDatatype as D;
    let (n, size) = (ELEMENTS, element.size() as i64);
    let mut every = |n: usize, stride: i64| -> Vec<i64> {
        shuffled(n, random).iter().map(|i| i * stride).collect()
    };
    let (near, far, threes) = (every(n, 2), every(n, 5), every(n / 3, 4));
    // Every other one where no instruction updates it.
    let odd: Vec<i64> = every(n, size + 8).iter().map(|at| at + at / (size + 8) % 2).collect();
    // A list within a loop.
    let tens = D::indexed_block(1, &[9, 2, 5, 20, 1, 14, 11, 3, 0, 17], element).unwrap();
    vec![
        (commit(D::contiguous(n, element)), 0),
        // The last element ends with the part, and not where a shard does.
        (commit(D::vector(n, 1, 3, element)), BYTES - ((n - 1) * 3 + 1) * size as usize),
        (commit(D::vector(n, 1, -3, element)), (n - 1) * 3 * size as usize),
        (commit(D::hvector(n, 1, size + 1, element)), 8),
        (commit(D::hvector(n, 1, 3 * size, element)), 1),
        (commit(D::indexed_block(1, &near, element)), 65_536 - 8 * size as usize),
        (commit(D::indexed_block(1, &far, element)), 16),
        (commit(D::hindexed_block(1, &odd, element)), 0),
        (commit(D::indexed_block(3, &threes, element)), 24),
        (commit(D::vector(4, 750, 800, element)), 65_536 - 400 * size as usize),
        (commit(D::hvector(4, 750, 751 * size + 3, element)), 0),
        (commit(D::hvector(n / 10, 1, 21 * size, tens)), 0),
    ]
}

fn bytes(random: &mut Choices) -> Vec<u8> {
    (0..BYTES).map(|_| random.below(256) as u8).collect()
}

/// `op` of every element of `own` and of `other`, fetched into `into`, against packing.
fn combine(
    win: &Win,
    random: &mut Choices,
    op: Op,
    [own, other, into]: [&(CommittedDatatype, usize); 3],
) {
    let (before, numbers) = (bytes(random), bytes(random));
    win.put(&before, Rank(1), 0).unwrap();
    let mut result = vec![0xC5; BYTES];
    // SAFETY: 1. and 2. entries of a vector that outlives the calls.
    let origin = unsafe { Origin::new(numbers.as_ptr().wrapping_add(own.1), 1, &own.0) };
    // SAFETY: as above, of one that no other thread has.
    let fetched = unsafe { OriginMut::new(result.as_mut_ptr().wrapping_add(into.1), 1, &into.0) };
    let (disp, layout) = (other.1 as u64, Layout::new(1, &other.0));
    let fetches = random.below(2) == 0 || op == Op::NoOp;
    match fetches {
        true => win.get_accumulate_layout(origin, fetched, op, Rank(1), disp, layout).unwrap(),
        false => win.accumulate_layout(origin, op, Rank(1), disp, layout).unwrap(),
    }
    let packed = |memory: &[u8], side: &(CommittedDatatype, usize)| {
        let mut out = vec![0; side.0.bytes(1).unwrap() as usize];
        side.0.pack(1, memory, side.1, &mut out).unwrap();
        out
    };
    let (old, operands) = (packed(&before, other), packed(&numbers, own));
    let new: Vec<i64> = values::<i64>(&old)
        .into_iter()
        .zip(values::<i64>(&operands))
        .map(|(old, operand)| match op {
            Op::Sum => old.wrapping_add(operand),
            Op::Min => old.min(operand),
            Op::Replace => operand,
            _ => old,
        })
        .collect();
    let mut expected = before;
    other.0.unpack(1, bytemuck::cast_slice(&new), &mut expected, other.1).unwrap();
    let mut found = vec![0; BYTES];
    win.get(&mut found, Rank(1), 0).unwrap();
    let about = format!("{op:?} of {:?} into {:?}", own.0, other.0);
    assert!(found == expected, "{about}");
    let mut expected = vec![0xC5; BYTES];
    if fetches {
        into.0.unpack(1, &old, &mut expected, into.1).unwrap();
    }
    assert!(result == expected, "{about}, fetched into {:?}", into.0);
}

fn on_rank_0(body: impl Fn(&Win)) {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        win.lock_all().unwrap();
        if world.rank() == 0 {
            body(&win);
        }
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn many_elements_combine_as_an_oracle_says() {
    on_rank_0(|win| {
        let mut random = Choices(0x3a11);
        let all = all_layouts(Datatype::I64, &mut random);
        for other in &all {
            for op in [Op::Sum, Op::Min, Op::Replace, Op::NoOp] {
                let mut any = || &all[random.below(all.len() as u64) as usize];
                let sides = [any(), other, any()];
                combine(win, &mut random, op, sides);
            }
        }
    });
}

/// Blocks of every length, in no order, at any alignment, up to the last byte of the part.
#[test]
fn listed_blocks_of_every_length_arrive() {
    on_rank_0(|win| {
        let mut random = Choices(0x115);
        for length in [1, 2, 3, 4, 7, 8, 12, 16, 24, 31, 32, 64, 100, 700] {
            let places = shuffled(300, &mut random);
            let at: Vec<i64> = places.iter().map(|i| i * (length as i64 + 1)).collect();
            let listed = commit(DerivedDatatype::hindexed_block(length, &at, Datatype::U8));
            let strided = commit(DerivedDatatype::vector(300, length, 702, Datatype::U8));
            let range = listed.range(1).unwrap();
            let end = BYTES as u64 - range.end as u64;
            let numbers = bytes(&mut random);
            for own in [&listed, &strided] {
                // SAFETY: 1. and 2. entries of a vector that outlives the calls.
                let origin = unsafe { Origin::new(numbers.as_ptr(), 1, own) };
                let layout = Layout::new(1, &listed);
                win.put(&vec![0u8; BYTES], Rank(1), 0).unwrap();
                win.put_layout(origin, Rank(1), end, layout).unwrap();
                let refused = win.put_layout(origin, Rank(1), end + 1, layout).unwrap_err();
                assert_eq!(refused.class(), ErrorClass::RmaRange);
                let mut packed = vec![0; 300 * length];
                own.pack(1, &numbers, 0, &mut packed).unwrap();
                let mut expected = vec![0; BYTES];
                listed.unpack(1, &packed, &mut expected, end as usize).unwrap();
                let (mut found, mut back) = (vec![0; BYTES], vec![0; BYTES]);
                win.get(&mut found, Rank(1), 0).unwrap();
                assert!(found == expected, "blocks of {length} to {end}");
                // SAFETY: as above, of one that no other thread has.
                let origin = unsafe { OriginMut::new(back.as_mut_ptr(), 1, own) };
                win.get_layout(origin, Rank(1), end, layout).unwrap();
                let mut again = vec![0; 300 * length];
                own.pack(1, &back, 0, &mut again).unwrap();
                assert!(again == packed, "blocks of {length} from {end}");
            }
        }
    });
}
