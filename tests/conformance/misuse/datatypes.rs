//! Datatypes that cannot be made, and buffers that do not hold them.

use super::row::{Row, job};
use onesided::ErrorClass::{Arg, Count};
use onesided::{Datatype, DerivedDatatype, Distribution, Order};

pub const ROWS: &[Row] = &[
    job("a datatype of more bytes than there can be", Arg, &["type contiguous"], |_| {
        DerivedDatatype::contiguous(usize::MAX, Datatype::U64).map(drop)
    }),
    job("a datatype with a stride beyond all addresses", Arg, &["type vector"], |_| {
        DerivedDatatype::vector(3, 1, i64::MAX, Datatype::U64).map(drop)
    }),
    job("an indexed datatype with lists of two lengths", Count, &["type indexed", "2"], |_| {
        DerivedDatatype::indexed(&[1, 1], &[0], Datatype::U64).map(drop)
    }),
    job("a struct with lists of two lengths", Count, &["type struct"], |_| {
        DerivedDatatype::structure(&[1], &[0, 8], &[Datatype::U64.into()]).map(drop)
    }),
    job(
        "a subarray that leaves its array",
        Arg,
        &["type subarray", "a block of 3 from 6 on", "8 elements", "dimension 0"],
        |_| DerivedDatatype::subarray(&[8], &[3], &[6], Order::C, Datatype::U64).map(drop),
    ),
    job("a subarray of no dimension", Arg, &["type subarray"], |_| {
        DerivedDatatype::subarray(&[], &[], &[], Order::C, Datatype::U64).map(drop)
    }),
    job("a distributed array of a rank that the grid has not", Arg, &["type darray"], |_| {
        let dealt = [Distribution::Block(None)];
        DerivedDatatype::darray(2, 2, &[8], &dealt, &[2], Order::C, Datatype::U64).map(drop)
    }),
    job("pack into a buffer that is too small", Count, &["pack", "8", "7"], |_| {
        let number = DerivedDatatype::from(Datatype::U64).commit();
        let mut to = [9; 7];
        let refused = number.pack(1, &[1; 8], 0, &mut to);
        assert_eq!(to, [9; 7]);
        refused
    }),
    job("unpack into a buffer that it leaves", Arg, &["unpack"], |_| {
        let number = DerivedDatatype::from(Datatype::U64).commit();
        let mut to = [9; 12];
        let refused = number.unpack(1, &[1; 8], &mut to, 8);
        assert_eq!(to, [9; 12]);
        refused
    }),
];
