//! Datatypes: the elements of a buffer and their places (MPI-2.2 chapter 4, MPI-4.1 chapter 5).
//!
//! 1. [`predefined`] has the datatypes that the standard names, and the Rust types for them.
//! 2. [`derived`] describes a *type map*: a sequence of predefined datatypes with displacements.
//!    [`build`] and [`arrays`] have its constructors, [`constructor`] their arguments. [`summary`]
//!    computes size, bounds and signature without writing the map out.
//! 3. [`committed`] is the form for operations: a datatype compiled to loops ([`plan`]).
//! 4. [`cursor`] walks the loops in the order of the type map, [`strips`] walks several datatypes
//!    together, [`overlap`] decides whether entries share a byte.
//! 5. [`pack`] copies between a laid-out and a packed buffer of this process.
//! 6. [`functions`] has what a reduction does with elements of each type, [`extended`] with those of C's
//!    `long double`; [`machine`] does it at addresses, atomically or in loops.
//! 7. [`shape`] is the typed form, a selection of a slice's elements; [`shaped`] binds it to a slice.
//!
//! Invariants:
//! 1. All bounds and extents of a datatype fit in an `i64`, and so does every distance between two of
//!    its bytes; constructors return an error otherwise. So offsets may be added with wrapping
//!    arithmetic: the sum is right even if an intermediate result wraps.
//! 2. A plan lists bytes in the order of the type map. It merges pieces that are adjacent *and*
//!    consecutive; it never sorts.
//! 3. The size of a plan is that of the constructors' arguments, not that of the type map.

mod arrays;
mod build;
mod committed;
mod constructor;
mod cursor;
mod derived;
mod extended;
mod functions;
mod machine;
mod overlap;
mod pack;
mod plan;
mod predefined;
mod shape;
mod shaped;
mod signature;
mod strips;
mod summary;
#[cfg(test)]
mod tests;

pub use committed::CommittedDatatype;
pub use constructor::{Constructor, Distribution, Order};
pub use derived::DerivedDatatype;
pub(crate) use machine::{Carrier, Operation, find_vectors, update_native};
pub use predefined::{
    Datatype, DoubleInt, Element, FloatInt, Integer, Located, LongInt, ShortInt, TwoInt,
};
pub(crate) use predefined::{Visitor, datatype_of};
pub use shape::Shape;
pub use shaped::{Shaped, ShapedMut};
pub(crate) use signature::Signature;
pub(crate) use strips::{TransferSide, zip_sides, zip_strips};
