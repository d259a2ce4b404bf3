//! The predefined datatypes, and the Rust types that stand for them.

use super::machine::{Carrier, Operation};
use crate::op::Op;
use bytemuck::{Pod, Zeroable};
use num_complex::Complex;
use std::any::TypeId;

/// A predefined datatype of the standard (MPI-2.2 §3.2.2, §5.9.4).
///
/// ```
/// use onesided::{Datatype, DerivedDatatype};
///
/// let three = DerivedDatatype::contiguous(3, Datatype::I32)?;
/// assert_eq!((three.size(), three.uniform()), (12, Some(Datatype::I32)));
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Datatype {
    /// `MPI_INT8_T`
    I8,
    /// `MPI_INT16_T`
    I16,
    /// `MPI_INT32_T`
    I32,
    /// `MPI_INT64_T`
    I64,
    /// `MPI_UINT8_T`
    U8,
    /// `MPI_UINT16_T`
    U16,
    /// `MPI_UINT32_T`
    U32,
    /// `MPI_UINT64_T`
    U64,
    /// `MPI_FLOAT`
    F32,
    /// `MPI_DOUBLE`
    F64,
    /// `MPI_C_FLOAT_COMPLEX`
    C32,
    /// `MPI_C_DOUBLE_COMPLEX`
    C64,
    /// `MPI_FLOAT_INT`
    FloatInt,
    /// `MPI_DOUBLE_INT`
    DoubleInt,
    /// `MPI_LONG_INT`
    LongInt,
    /// `MPI_2INT`
    TwoInt,
    /// `MPI_SHORT_INT`
    ShortInt,
    /// `MPI_LONG_DOUBLE`
    LongDouble,
    /// `MPI_C_LONG_DOUBLE_COMPLEX`
    LongDoubleComplex,
    /// `MPI_LONG_DOUBLE_INT`
    LongDoubleInt,
    /// `MPI_INTEGER16`
    I128,
}

/// What [`Datatype::visit`] calls with the Rust type of a datatype.
pub(crate) trait Visitor {
    /// What the visit returns.
    type Output;
    /// Called with the type that stands for the datatype.
    fn visit<E: Element>(self) -> Self::Output;
}

impl Datatype {
    /// All predefined datatypes that have a Rust type in the typed API.
    pub const ALL: [Datatype; 17] = [
        Datatype::I8,
        Datatype::I16,
        Datatype::I32,
        Datatype::I64,
        Datatype::U8,
        Datatype::U16,
        Datatype::U32,
        Datatype::U64,
        Datatype::F32,
        Datatype::F64,
        Datatype::C32,
        Datatype::C64,
        Datatype::FloatInt,
        Datatype::DoubleInt,
        Datatype::LongInt,
        Datatype::TwoInt,
        Datatype::ShortInt,
    ];

    /// The datatypes of the untyped API only, numbered after [`Datatype::ALL`].
    pub(crate) const UNTYPED: [Datatype; 4] = [
        Datatype::LongDouble,
        Datatype::LongDoubleComplex,
        Datatype::LongDoubleInt,
        Datatype::I128,
    ];

    /// Calls `visitor` with the Rust type of this datatype.
    pub(crate) fn visit<V: Visitor>(self, visitor: V) -> V::Output {
        match self {
            Datatype::I8 => visitor.visit::<i8>(),
            Datatype::I16 => visitor.visit::<i16>(),
            Datatype::I32 => visitor.visit::<i32>(),
            Datatype::I64 => visitor.visit::<i64>(),
            Datatype::U8 => visitor.visit::<u8>(),
            Datatype::U16 => visitor.visit::<u16>(),
            Datatype::U32 => visitor.visit::<u32>(),
            Datatype::U64 => visitor.visit::<u64>(),
            Datatype::F32 => visitor.visit::<f32>(),
            Datatype::F64 => visitor.visit::<f64>(),
            Datatype::C32 => visitor.visit::<Complex<f32>>(),
            Datatype::C64 => visitor.visit::<Complex<f64>>(),
            Datatype::FloatInt => visitor.visit::<FloatInt>(),
            Datatype::DoubleInt => visitor.visit::<DoubleInt>(),
            Datatype::LongInt => visitor.visit::<LongInt>(),
            Datatype::TwoInt => visitor.visit::<TwoInt>(),
            Datatype::ShortInt => visitor.visit::<ShortInt>(),
            Datatype::LongDouble => visitor.visit::<LongDouble>(),
            Datatype::LongDoubleComplex => visitor.visit::<LongDoubleComplex>(),
            Datatype::LongDoubleInt => visitor.visit::<LongDoubleInt>(),
            Datatype::I128 => visitor.visit::<i128>(),
        }
    }

    /// Size of one element in bytes, padding included.
    pub fn size(self) -> usize {
        struct Size;
        impl Visitor for Size {
            type Output = usize;
            fn visit<E: Element>(self) -> usize {
                size_of::<E>()
            }
        }
        self.visit(Size)
    }

    /// For a pair type, which is a struct of two numbers (MPI-4.1 §6.9.4): the datatype of the value, and
    /// the offset of its index, an [`Datatype::I32`].
    pub(crate) const fn pair(self) -> Option<(Datatype, usize)> {
        match self {
            Datatype::FloatInt => Some((Datatype::F32, 4)),
            Datatype::DoubleInt => Some((Datatype::F64, 8)),
            Datatype::LongInt => Some((Datatype::I64, 8)),
            Datatype::TwoInt => Some((Datatype::I32, 4)),
            Datatype::ShortInt => Some((Datatype::I16, 4)),
            Datatype::LongDoubleInt => Some((Datatype::LongDouble, 16)),
            _ => None,
        }
    }

    /// Whether an element has padding.
    pub(crate) const fn is_padded(self) -> bool {
        use Datatype::{DoubleInt, LongDoubleInt, LongInt, ShortInt};
        matches!(self, DoubleInt | LongInt | ShortInt | LongDoubleInt)
    }

    /// The bytes of an element of `size` bytes that belong to its numbers, in at most two pieces: all but
    /// the padding of a pair.
    pub(crate) const fn numbers(self, size: usize) -> [(usize, usize); 2] {
        match self {
            Datatype::DoubleInt | Datatype::LongInt => [(0, 12), (12, 0)],
            Datatype::LongDoubleInt => [(0, 20), (20, 0)],
            Datatype::ShortInt => [(0, 2), (4, 4)],
            _ => [(0, size), (size, 0)],
        }
    }

    /// The one whose discriminant this is.
    pub(crate) fn of_number(number: u32) -> Option<Datatype> {
        Self::ALL.into_iter().chain(Self::UNTYPED).find(|one| *one as u32 == number)
    }

    /// The name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Datatype::I8 => "MPI_INT8_T",
            Datatype::I16 => "MPI_INT16_T",
            Datatype::I32 => "MPI_INT32_T",
            Datatype::I64 => "MPI_INT64_T",
            Datatype::U8 => "MPI_UINT8_T",
            Datatype::U16 => "MPI_UINT16_T",
            Datatype::U32 => "MPI_UINT32_T",
            Datatype::U64 => "MPI_UINT64_T",
            Datatype::F32 => "MPI_FLOAT",
            Datatype::F64 => "MPI_DOUBLE",
            Datatype::C32 => "MPI_C_FLOAT_COMPLEX",
            Datatype::C64 => "MPI_C_DOUBLE_COMPLEX",
            Datatype::FloatInt => "MPI_FLOAT_INT",
            Datatype::DoubleInt => "MPI_DOUBLE_INT",
            Datatype::LongInt => "MPI_LONG_INT",
            Datatype::TwoInt => "MPI_2INT",
            Datatype::ShortInt => "MPI_SHORT_INT",
            Datatype::LongDouble => "MPI_LONG_DOUBLE",
            Datatype::LongDoubleComplex => "MPI_C_LONG_DOUBLE_COMPLEX",
            Datatype::LongDoubleInt => "MPI_LONG_DOUBLE_INT",
            Datatype::I128 => "MPI_INTEGER16",
        }
    }
}

/// A Rust type that stands for a predefined datatype.
///
/// Sealed: every byte pattern of an element must be valid, because another rank writes it, and the
/// library must know how to update it atomically.
///
/// ```
/// use onesided::{Access, Element, FenceEpoch, Op, Rank, Result};
///
/// /// Adds values of any type that has a sum.
/// fn add<'b, T: Element>(epoch: &FenceEpoch<'_, 'b, T>, values: &'b [T]) -> Result<()> {
///     epoch.accumulate(values, Op::Sum, Rank(0), 0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `Element`, which operations can combine",
    note = "put, get, load, store and messages move any `Pod`; accumulate, fetch_and_op, compare_and_swap and reductions combine \
            integers, floats, complex numbers, and the standard's pairs of a value and an index"
)]
pub trait Element: Pod + Send + Sync + sealed::Sealed {
    /// The datatype.
    const DATATYPE: Datatype;
    /// Whether sums and bitwise operations are those of the carrier's integer instructions.
    #[doc(hidden)]
    const IS_INTEGER: bool;
    /// The unsigned integer of the same size, by which an element is updated atomically.
    #[doc(hidden)]
    type Carrier: Carrier;
    /// The function of `op` on (target, origin) values; `None` where the standard defines none.
    #[doc(hidden)]
    #[inline]
    fn function(op: Op) -> Option<fn(Self, Self) -> Self> {
        Self::operation(op).map(|operation| operation.one)
    }
    /// [`Element::function`] with the loops over several values.
    #[doc(hidden)]
    fn operation(op: Op) -> Option<&'static Operation<Self>>;
}

mod sealed {
    pub trait Sealed {}
}

/// An element type whose equality is that of its bytes, for `compare_and_swap`, which the
/// standard defines for integer types only (MPI-4.1 §12.3.4).
///
/// ```
/// use onesided::{Integer, LockAllEpoch, Rank, Result};
///
/// /// Takes an element from `free` to `mine`, if no other rank has.
/// fn take<T: Integer>(all: &LockAllEpoch<'_, '_, T>, free: T, mine: T) -> Result<bool> {
///     Ok(all.compare_and_swap_flush(mine, free, Rank(0), 0)? == free)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `Integer`, which compare_and_swap can compare by its bytes",
    note = "compare_and_swap is for i8 to i64 and u8 to u64; for a float, put its `to_bits` in a window of integers"
)]
pub trait Integer: Element + Ord {}

/// Implements [`Element`]: datatype, carrier, whether integer, and the table of operations.
macro_rules! elements {
    ($($type:ty => $datatype:ident, $carrier:ty, $integer:literal, $functions:path;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DATATYPE: Datatype = Datatype::$datatype;
            const IS_INTEGER: bool = $integer;
            type Carrier = $carrier;
            #[inline(always)]
            fn operation(op: Op) -> Option<&'static Operation<Self>> {
                $functions(op)
            }
        }
    )*

        /// The datatype by which `T`s move: their own, or bytes if they are no [`Element`]s.
        #[inline(always)]
        pub(crate) fn datatype_of<T: Pod>() -> Datatype {
            let of = TypeId::of::<T>();
            $(if of == TypeId::of::<$type>() {
                return Datatype::$datatype;
            })*
            Datatype::U8
        }
    };
}

use super::extended::{self, LongDouble, LongDoubleComplex};
use super::functions::{complex, floating, integer, located};

elements! {
    i8 => I8, u8, true, integer;
    i16 => I16, u16, true, integer;
    i32 => I32, u32, true, integer;
    i64 => I64, u64, true, integer;
    u8 => U8, u8, true, integer;
    u16 => U16, u16, true, integer;
    u32 => U32, u32, true, integer;
    u64 => U64, u64, true, integer;
    f32 => F32, u32, false, floating;
    f64 => F64, u64, false, floating;
    Complex<f32> => C32, u64, false, complex;
    Complex<f64> => C64, u128, false, complex;
    FloatInt => FloatInt, u64, false, located;
    DoubleInt => DoubleInt, u128, false, located;
    LongInt => LongInt, u128, false, located;
    TwoInt => TwoInt, u64, false, located;
    ShortInt => ShortInt, u64, false, located;
    LongDouble => LongDouble, u128, false, extended::floating;
    LongDoubleComplex => LongDoubleComplex, [u128; 2], false, extended::complex;
    LongDoubleInt => LongDoubleInt, [u128; 2], false, extended::located;
    i128 => I128, u128, true, integer;
}

/// Marks the integer types.
macro_rules! integers {
    ($($type:ty)*) => {$(impl Integer for $type {})*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

/// A value with an index, for MAXLOC and MINLOC.
///
/// ```
/// use onesided::{Located, Op, TwoInt};
///
/// # onesided::testing::Job::new(3).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let residual = [2, 9, 4][world.rank().0 as usize];
/// // The largest value, and the rank that has it.
/// let mine = TwoInt::new(residual, world.rank().0 as i32);
/// let largest = world.allreduce(&[mine], Op::Maxloc)?[0];
/// assert_eq!((largest.value(), largest.index()), (9, 1));
/// # Ok(())
/// # });
/// ```
pub trait Located: Element {
    /// The value that is compared.
    type Value: PartialOrd + Copy;
    /// The value that is compared.
    fn value(&self) -> Self::Value;
    /// Its index.
    fn index(&self) -> i32;
    /// The same value with another index.
    fn with_index(self, index: i32) -> Self;
    /// Value and index of `other`, with the padding of `self`.
    #[doc(hidden)]
    fn replaced(self, other: Self) -> Self;
}

/// Defines a pair type with the layout of the C struct, its padding made explicit.
macro_rules! pair {
    ($(#[$doc:meta])* $name:ident, $value:ty $(, $before:ident: $pad:ty)? $(; $after:ident: $tail:ty)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name {
            value: $value,
            $($before: $pad,)?
            index: i32,
            $($after: $tail,)?
        }

        impl $name {
            /// The pair of `value` and `index`.
            #[allow(dead_code, reason = "nobody outside the engine makes the one with a long double")]
            pub fn new(value: $value, index: i32) -> Self {
                let mut pair = Self::zeroed();
                (pair.value, pair.index) = (value, index);
                pair
            }
        }

        /// Compares values and indices; the padding is arbitrary.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.value == other.value && self.index == other.index
            }
        }

        impl Located for $name {
            type Value = $value;
            fn value(&self) -> $value {
                self.value
            }
            fn index(&self) -> i32 {
                self.index
            }
            fn with_index(mut self, index: i32) -> Self {
                self.index = index;
                self
            }
            fn replaced(mut self, other: Self) -> Self {
                (self.value, self.index) = (other.value, other.index);
                self
            }
        }
    };
}

pair!(
    /// `MPI_FLOAT_INT`: an `f32` and an index, 8 bytes.
    FloatInt, f32
);
pair!(
    /// `MPI_2INT`: an `i32` and an index, 8 bytes.
    TwoInt, i32
);
pair!(
    /// `MPI_SHORT_INT`: an `i16` and an index, 8 bytes with two of padding.
    ShortInt, i16, padding: u16
);
pair!(
    /// `MPI_DOUBLE_INT`: an `f64` and an index, 16 bytes with four of padding.
    DoubleInt, f64; padding: u32
);
pair!(
    /// `MPI_LONG_INT`: an `i64` and an index, 16 bytes with four of padding.
    LongInt, i64; padding: u32
);
pair!(
    /// `MPI_LONG_DOUBLE_INT`: a `long double` and an index, 32 bytes with twelve of padding.
    LongDoubleInt, LongDouble; padding: [u32; 3]
);

const _: () = {
    assert!(size_of::<FloatInt>() == 8 && size_of::<TwoInt>() == 8 && size_of::<ShortInt>() == 8);
    assert!(size_of::<DoubleInt>() == 16 && size_of::<LongInt>() == 16);
};
