//! Random datatypes: every answer against the type map written out.

use super::oracle::{Map, Spec, spec};
use crate::datatype::strips::{TransferSide, zip_strips};
use crate::datatype::{Datatype, DerivedDatatype};
use proptest::prelude::*;

/// Maps longer than this would only make the tests slow.
const LONGEST: usize = 2000;

/// A datatype and its map, not too long.
fn typed() -> impl Strategy<Value = (Spec, Map)> {
    let with_map = spec().prop_map(|spec| {
        let map = spec.map();
        (spec, map)
    });
    with_map.prop_filter("too long", |(_, map)| map.entries.len() <= LONGEST)
}

fn offsets(pieces: impl Iterator<Item = (i64, u64)>) -> Vec<i64> {
    pieces.flat_map(|(at, bytes)| at..at + bytes as i64).collect()
}

fn range(bytes: &[i64]) -> std::ops::Range<i64> {
    match (bytes.iter().min(), bytes.iter().max()) {
        (Some(first), Some(last)) => *first..last + 1,
        _ => 0..0,
    }
}

fn repeats(bytes: &[i64]) -> bool {
    let mut sorted = bytes.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// Where every byte comes from and goes, in order.
fn moved(from: TransferSide, to: TransferSide) -> Vec<(i64, i64)> {
    let mut moved = Vec::new();
    zip_strips(from, to, |strip| {
        for block in 0..strip.blocks {
            let [from, to] = strip.patterns.map(|pattern| pattern.block(block));
            moved.extend((0..strip.bytes as i64).map(|byte| (from + byte, to + byte)));
        }
    });
    moved
}

/// Blocks of that many bytes at places that no loop has, a few times.
fn list() -> impl Strategy<Value = Spec> {
    let places = proptest::collection::vec(-90..90i64, 3..12);
    (places, 1..9usize, 1..4usize, -60..60i64).prop_map(|(places, length, count, stride)| {
        let basic = Box::new(Spec::Basic(Datatype::U8));
        let listed = Spec::IndexedBlock(length, places, basic);
        Spec::Hvector(count, 1, stride, Box::new(listed))
    })
}

/// How many strips there are to a slice.
fn strips(datatype: &DerivedDatatype) -> usize {
    let (datatype, mut strips) = (datatype.commit(), 0);
    let packed = TransferSide::Packed(datatype.bytes(1).unwrap());
    zip_strips(packed, TransferSide::Typed(&datatype, 1), |_| strips += 1);
    strips
}

#[test]
fn equal_blocks_at_any_places_are_one_strip() {
    let places: Vec<i64> = (0..1000).map(|i| i * 37 * (i + 1) / 2 % 4096 - 99).collect();
    let doubles = DerivedDatatype::indexed_block(1, &places, Datatype::F64).unwrap();
    let lengths = vec![2; places.len()];
    let pairs = DerivedDatatype::hindexed(&lengths, &places, doubles.dup().unwrap()).unwrap();
    let elements = vec![DerivedDatatype::from(Datatype::I32); places.len()];
    let fours = DerivedDatatype::structure(&vec![1; places.len()], &places, &elements).unwrap();
    assert_eq!((strips(&doubles), strips(&fours)), (1, 1));
    // Two thousand lists, and no copies of them.
    assert_eq!(strips(&pairs), 2000);
    let unequal: Vec<usize> = (0..places.len()).map(|i| 1 + i % 2).collect();
    let unequal = DerivedDatatype::indexed(&unequal, &places, Datatype::F64).unwrap();
    assert_eq!(strips(&unequal), 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn queries_agree_with_the_type_map((spec, map) in typed()) {
        let datatype = spec.datatype();
        let bytes = map.bytes(1);
        let (lower, upper, _) = map.bounds.unwrap_or((0, 0, false));
        prop_assert_eq!(datatype.size(), bytes.len() as u64);
        prop_assert_eq!((datatype.lower_bound(), datatype.extent()), (lower, upper - lower));
        let true_range = range(&bytes);
        prop_assert_eq!(datatype.true_lower_bound(), true_range.start);
        prop_assert_eq!(datatype.true_extent(), true_range.end - true_range.start);
        prop_assert_eq!(datatype.elements(), map.numbers().len() as u64);
        let first = map.entries.first().map(|entry| entry.0);
        let uniform = first.filter(|first| map.entries.iter().all(|entry| entry.0 == *first));
        prop_assert_eq!(datatype.uniform(), uniform);
    }

    #[test]
    fn pieces_are_the_bytes_of_the_type_map_in_order((spec, map) in typed(), count in 0..4usize) {
        let committed = spec.datatype().commit();
        let bytes = map.bytes(count);
        prop_assert_eq!(committed.bytes(count), Some(bytes.len() as u64));
        let expected = range(&bytes);
        let found = committed.range(count).unwrap();
        prop_assert!(found == expected || found.is_empty() && expected.is_empty());
        let consecutive = bytes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        prop_assert_eq!(committed.is_contiguous(count), consecutive);
        prop_assert_eq!(offsets(committed.pieces(count)), bytes);
    }

    #[test]
    fn overlaps_are_bytes_that_come_twice((spec, map) in typed()) {
        let committed = spec.datatype().commit();
        // Not in order: what is known of one count must be right for others.
        for count in [2, 5, 1, 0, 3, 4] {
            prop_assert_eq!(committed.overlaps(count), repeats(&map.bytes(count)), "{}", count);
        }
    }

    #[test]
    fn strips_move_entry_by_entry(
        (from, from_map) in typed(),
        (to, to_map) in typed(),
        counts in (0..4usize, 0..4usize),
    ) {
        let (from, to) = (from.datatype().commit(), to.datatype().commit());
        let moved = moved(TransferSide::Typed(&from, counts.0), TransferSide::Typed(&to, counts.1));
        let expected: Vec<_> =
            from_map.bytes(counts.0).into_iter().zip(to_map.bytes(counts.1)).collect();
        prop_assert_eq!(moved, expected);
    }

    #[test]
    fn lists_move_entry_by_entry(lists in (list(), list()), other in typed(), counts in (0..4usize, 0..4usize)) {
        let (a, b, other_map) = (lists.0.map(), lists.1.map(), other.1);
        let (one, two) = (lists.0.datatype().commit(), lists.1.datatype().commit());
        let other = other.0.datatype().commit();
        for (from, to, from_map, to_map) in
            [(&one, &two, &a, &b), (&one, &other, &a, &other_map), (&other, &two, &other_map, &b)]
        {
            let moved = moved(TransferSide::Typed(from, counts.0), TransferSide::Typed(to, counts.1));
            let expected: Vec<_> =
                from_map.bytes(counts.0).into_iter().zip(to_map.bytes(counts.1)).collect();
            prop_assert_eq!(moved, expected);
        }
    }

    #[test]
    fn lists_overlap_if_bytes_come_twice(spec in list(), count in 0..3usize) {
        let (committed, bytes) = (spec.datatype().commit(), spec.map().bytes(count));
        prop_assert_eq!(committed.overlaps(count), repeats(&bytes));
        prop_assert_eq!(offsets(committed.pieces(count)), bytes);
    }

    #[test]
    fn signatures_fit_if_one_begins_the_other(
        (from, from_map) in typed(),
        (to, to_map) in typed(),
        counts in (0..4usize, 0..4usize),
    ) {
        let (own, other) = (from_map.signature(counts.0), to_map.signature(counts.1));
        let (from, to) = (from.datatype().commit(), to.datatype().commit());
        prop_assert_eq!(from.fits_into(counts.0, &to, counts.1), other.starts_with(&own));
        // Its own beginning, which random pairs seldom are.
        prop_assert!(from.fits_into(counts.0, &from, counts.0 + counts.1));
        let shorter = own.len() > from_map.signature(counts.0.saturating_sub(1)).len();
        let fits = from.fits_into(counts.0, &from, counts.0.saturating_sub(1));
        prop_assert_eq!(fits, !shorter);
    }

    #[test]
    fn what_is_packed_is_unpacked((spec, map) in typed(), count in 0..4usize) {
        packs(&spec, &map, count)?;
    }

    #[test]
    fn lists_are_packed_and_unpacked(spec in list(), count in 0..4usize) {
        packs(&spec, &spec.map(), count)?;
    }
}

/// Packs and unpacks, with buffers that end where the entries do.
fn packs(spec: &Spec, map: &Map, count: usize) -> Result<(), TestCaseError> {
    let committed = spec.datatype().commit();
    let bytes = map.bytes(count);
    let range = committed.range(count).unwrap();
    let (base, len) = (-range.start.min(0), range.end - range.start.min(0));
    let laid_out: Vec<u8> = (0..len.max(0)).map(|i| (i * 7 + 1) as u8).collect();
    let mut packed = vec![0; bytes.len()];
    committed.pack(count, &laid_out, base as usize, &mut packed).unwrap();
    let expected: Vec<_> = bytes.iter().map(|at| laid_out[(at + base) as usize]).collect();
    prop_assert_eq!(&packed, &expected);
    let mut again = vec![0; laid_out.len()];
    committed.unpack(count, &packed, &mut again, base as usize).unwrap();
    for (i, byte) in again.iter().enumerate() {
        let touched = bytes.contains(&(i as i64 - base));
        prop_assert_eq!(*byte, if touched { laid_out[i] } else { 0 });
    }
    Ok(())
}
