//! What an element is, and where the elements of a buffer lie (MPI-2.2 chapter 4, MPI-4.1
//! chapter 5).
//!
//! 1. [`predefined`] has the datatypes that the standard names, and the Rust types for them.
//! 2. [`derived`] describes a *type map*: a sequence of predefined datatypes with displacements.
//!    [`build`] and [`arrays`] have its constructors, [`constructor`] keeps their arguments,
//!    [`summary`] computes size, bounds and signature without ever writing the map out.
//! 3. [`committed`] is what operations take: a datatype compiled to loops ([`plan`]).
//! 4. [`cursor`] walks the loops in the order of the type map, [`strips`] walks several datatypes at
//!    once, [`overlap`] says whether entries share a byte.
//! 5. [`pack`] copies between a laid-out and a packed buffer of this process.
//! 6. [`shape`] is the typed face: which elements of a slice; [`shaped`] binds it to one.
//!
//! Invariants:
//! 1. All bounds and extents of a datatype that exists fit in an `i64`, and so does every
//!    distance between two of its bytes; the constructors refuse what would not. Offsets may
//!    therefore be added up with wrapping arithmetic: whatever wraps on the way, the sum is right.
//! 2. A plan lists bytes in the order of the type map. It merges what lies side by side *and*
//!    follows one another; it never sorts.
//! 3. A plan is as large as the arguments of the constructors, not as the type map.

mod arrays;
mod build;
mod committed;
mod constructor;
mod cursor;
mod derived;
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
pub(crate) use predefined::Visitor;
pub use predefined::{
    Datatype, DoubleInt, Element, FloatInt, Integer, Located, LongInt, ShortInt, TwoInt,
};
pub use shape::Shape;
pub use shaped::{Shaped, ShapedMut};
pub(crate) use strips::{Side, zip_sides, zip_strips};
