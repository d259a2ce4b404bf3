//! Arguments that cannot be, sizes at the edge, and how large a plan becomes.

use crate::datatype::{
    CommittedDatatype, Constructor, Datatype, DerivedDatatype, Distribution, Order, Shape,
};
use crate::error::{Error, ErrorClass, Result};

const MOST: usize = i64::MAX as usize;

fn class(made: Result<DerivedDatatype>) -> ErrorClass {
    made.expect_err("refused").class()
}

#[test]
fn wrong_arguments_are_refused() {
    use DerivedDatatype as D;
    let of = Datatype::F64;
    assert_eq!(class(D::indexed(&[1, 2], &[0], of)), ErrorClass::Count);
    assert_eq!(class(D::hindexed(&[1], &[0, 8], of)), ErrorClass::Count);
    assert_eq!(class(D::structure(&[1], &[0], &[])), ErrorClass::Count);
    assert_eq!(class(D::structure(&[1], &[], &[of.into()])), ErrorClass::Count);
    assert_eq!(class(D::subarray(&[4], &[2, 2], &[0], Order::C, of)), ErrorClass::Count);
    for (size, sub, start) in [(4, 5, 0), (4, 2, 3), (4, 0, 0), (0, 0, 0), (4, 1, usize::MAX)] {
        assert_eq!(class(D::subarray(&[size], &[sub], &[start], Order::C, of)), ErrorClass::Arg);
    }
    assert_eq!(class(D::subarray(&[], &[], &[], Order::C, of)), ErrorClass::Arg);
    let darray = |size, rank, sizes: &[usize], by, grid| {
        class(D::darray(size, rank, sizes, &[by], &[grid], Order::C, of))
    };
    assert_eq!(darray(2, 2, &[8], Distribution::Block(None), 2), ErrorClass::Arg);
    assert_eq!(darray(3, 0, &[8], Distribution::Block(None), 2), ErrorClass::Arg);
    assert_eq!(darray(0, 0, &[8], Distribution::Block(None), 0), ErrorClass::Arg);
    assert_eq!(darray(2, 0, &[8], Distribution::Block(Some(3)), 2), ErrorClass::Arg);
    assert_eq!(darray(2, 0, &[8], Distribution::Cyclic(Some(0)), 2), ErrorClass::Arg);
    assert_eq!(darray(2, 0, &[8], Distribution::None, 2), ErrorClass::Arg);
    assert_eq!(darray(2, 0, &[8, 8], Distribution::Block(None), 2), ErrorClass::Count);
}

#[test]
fn what_would_overflow_is_refused() {
    use DerivedDatatype as D;
    let of = Datatype::F64;
    assert_eq!(class(D::contiguous(MOST / 8 + 1, of)), ErrorClass::Arg);
    assert_eq!(class(D::contiguous(usize::MAX, of)), ErrorClass::Arg);
    assert_eq!(class(D::vector(usize::MAX, usize::MAX, i64::MIN, of)), ErrorClass::Arg);
    assert_eq!(class(D::vector(2, 1, i64::MAX, of)), ErrorClass::Arg);
    assert_eq!(class(D::hvector(3, 1, i64::MAX / 2 + 1, of)), ErrorClass::Arg);
    assert_eq!(class(D::hindexed(&[1, 1], &[i64::MIN, i64::MAX - 8], of)), ErrorClass::Arg);
    assert_eq!(class(D::hindexed(&[1], &[i64::MAX - 7], of)), ErrorClass::Arg);
    assert_eq!(class(D::resized(1, i64::MAX, of)), ErrorClass::Arg);
    let whole = [MOST, 1 << 32, 1 << 32];
    assert_eq!(class(D::subarray(&whole, &[1; 3], &[0; 3], Order::C, of)), ErrorClass::Arg);
    // Nothing lies anywhere.
    assert!(D::vector(0, usize::MAX, i64::MAX, of).is_ok());
    // Exactly at the edge.
    let last = D::hindexed(&[1], &[i64::MAX - 8], of).unwrap().commit();
    assert_eq!(last.range(1), Some(i64::MAX - 8..i64::MAX));
    let first = D::hindexed(&[1], &[i64::MIN], of).unwrap().commit();
    assert_eq!(first.range(1), Some(i64::MIN..i64::MIN + 8));
    assert_eq!(D::contiguous(MOST / 8, of).unwrap().size(), i64::MAX as u64 / 8 * 8);
    // A displacement that only its element's bounds bring back into range.
    let low = D::hindexed(&[1], &[-100], Datatype::U8).unwrap();
    let back = D::hindexed(&[1], &[i64::MAX], &low).unwrap().commit();
    assert_eq!(back.pieces(1).collect::<Vec<_>>(), [(i64::MAX - 100, 1)]);
}

#[test]
fn many_instances_may_overflow_too() {
    let doubles = CommittedDatatype::from(Datatype::F64);
    assert_eq!(doubles.range(MOST / 8), Some(0..i64::MAX / 8 * 8));
    assert_eq!(doubles.range(MOST / 8 + 1), None);
    assert_eq!(doubles.range(usize::MAX), None);
    assert_eq!(doubles.pieces(usize::MAX).count(), 0);
    assert!(!doubles.is_contiguous(usize::MAX));
    let backwards = DerivedDatatype::resized(0, -8, Datatype::F64).unwrap().commit();
    assert_eq!(backwards.range(3), Some(-16..8));
    let still = DerivedDatatype::resized(0, 0, Datatype::F64).unwrap().commit();
    assert!(still.range(usize::MAX).is_none() && still.overlaps(2) && !still.overlaps(1));
}

#[test]
fn a_struct_is_padded_as_in_c() {
    let members = [Datatype::F64.into(), Datatype::U8.into()];
    let padded = DerivedDatatype::structure(&[1, 1], &[0, 8], &members).unwrap();
    assert_eq!((padded.size(), padded.extent(), padded.true_extent()), (9, 16, 9));
    // MPI-2.2 Example 4.1: {(double, 0), (char, 8)} has extent 16; two of them, 32.
    assert_eq!(DerivedDatatype::contiguous(2, &padded).unwrap().extent(), 32);
}

#[test]
fn a_resized_part_bounds_the_whole() {
    // MPI-2.2 Example 4.9: {(lb, -3), (int, 0), (ub, 6)} twice is {(lb, -3), ..., (ub, 15)}.
    let part = DerivedDatatype::resized(-3, 9, Datatype::I32).unwrap();
    let two = DerivedDatatype::contiguous(2, &part).unwrap();
    assert_eq!((two.lower_bound(), two.extent(), two.true_extent()), (-3, 18, 13));
}

#[test]
fn a_plan_is_as_small_as_its_description() {
    let items = |made: Result<DerivedDatatype>| made.unwrap().items().len();
    let vector = DerivedDatatype::vector(1 << 40, 3, 5, Datatype::F64);
    assert_eq!(items(vector), 1);
    let regular: Vec<_> = (0..1_000_000).map(|i| i * 4).collect();
    assert_eq!(items(DerivedDatatype::indexed_block(2, &regular, Datatype::F64)), 1);
    let side_by_side: Vec<_> = (0..1_000_000).collect();
    let contiguous = DerivedDatatype::indexed_block(1, &side_by_side, Datatype::U8).unwrap();
    assert!(contiguous.commit().is_contiguous(5));
    // Irregular, repeated: the list is there once.
    let irregular = DerivedDatatype::indexed_block(1, &[0, 1, 5, 11, 3], Datatype::F64).unwrap();
    let many = DerivedDatatype::vector(1 << 30, 1 << 3, 1 << 4, &irregular);
    assert_eq!(items(many), 1);
}

#[test]
fn shared_parts_are_compiled_once() {
    let mut datatype = DerivedDatatype::from(Datatype::U8);
    for _ in 0..40 {
        let twice = [datatype.clone(), datatype];
        datatype = DerivedDatatype::structure(&[1, 1], &[0, 1 << 20], &twice).unwrap();
    }
    assert_eq!(datatype.elements(), 1 << 40);
    assert_eq!(datatype.commit().bytes(1), Some(1 << 40));
    assert!(format!("{datatype:?}").len() < 2000);
    assert!(datatype.commit().overlaps(1));
}

#[test]
fn nesting_has_an_end() {
    let mut datatype = DerivedDatatype::from(Datatype::U8);
    let refused = loop {
        match DerivedDatatype::vector(2, 1, 3, &datatype) {
            Ok(next) => datatype = next,
            Err(problem) => break problem,
        }
    };
    assert!(matches!(refused, Error::Argument { .. }));
    datatype = DerivedDatatype::from(Datatype::U8);
    let refused = loop {
        match datatype.dup() {
            Ok(next) => datatype = next,
            Err(problem) => break problem,
        }
    };
    assert!(refused.to_string().contains("deeper"), "{refused}");
    assert_eq!(datatype.commit().pieces(1).count(), 1);
}

#[test]
fn interleaved_vectors_are_apart() {
    // Columns of a matrix, one behind the other: a transposition.
    let column = DerivedDatatype::vector(1000, 1, 1000, Datatype::F64).unwrap();
    let column = DerivedDatatype::resized(0, 8, &column).unwrap().commit();
    assert!(!column.overlaps(1000) && column.overlaps(1001));
    assert_eq!(column.pieces(2).nth(1000), Some((8, 8)));
}

#[test]
fn contents_are_the_arguments() {
    let rows = DerivedDatatype::vector(3, 2, -4, Datatype::I32).unwrap();
    let Constructor::Vector { count: 3, block_length: 2, stride: -4, element } = rows.constructor()
    else {
        panic!("{rows:?}");
    };
    assert!(matches!(element.constructor(), Constructor::Predefined(Datatype::I32)));
    assert!(matches!(rows.dup().unwrap().constructor(), Constructor::Dup(_)));
    assert_eq!((rows.name(), element.name()), (None, Some("MPI_INT32_T")));
    assert_eq!(rows.named("rows").name(), Some("rows"));
}

#[test]
fn buffers_must_have_the_entries() {
    let datatype = DerivedDatatype::hindexed_block(1, &[-8, 8], Datatype::F64).unwrap().commit();
    let mut out = [0; 16];
    assert!(datatype.pack(1, &[0; 24], 8, &mut out).is_ok());
    for (len, base) in [(24, 7), (24, 9), (23, 8), (24, 25), (24, usize::MAX), (0, 0)] {
        let refused = datatype.pack(1, &vec![0; len], base, &mut out).expect_err("refused");
        assert_eq!(refused.class(), ErrorClass::Arg, "{refused}");
    }
    let refused = datatype.pack(2, &[0; 100], 8, &mut out).expect_err("refused");
    assert_eq!(refused.class(), ErrorClass::Count);
    assert!(Shape::<f64>::field::<[f64; 2]>(9, 1).is_err());
    assert!(Shape::<f64>::field::<[f64; 2]>(usize::MAX, 1).is_err());
    assert!(Shape::<f64>::indices(&[usize::MAX]).is_err());
    assert_eq!(Shape::<f64>::field::<[f64; 2]>(8, 3).unwrap().len(), 3);
}

#[test]
fn a_datatype_made_of_others_is_shown_in_one_short_line() {
    let vector = DerivedDatatype::vector(2, 1, 3, Datatype::F64).unwrap();
    let text = "Vector { count: 2, block_length: 1, stride: 3, element: MPI_DOUBLE }";
    assert_eq!(format!("{vector:?}"), text);
    let nested = DerivedDatatype::contiguous(4, vector).unwrap();
    assert_eq!(format!("{nested:?}"), "Contiguous { count: 4, element: a datatype of 16 bytes }");
}
