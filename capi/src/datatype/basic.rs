//! The predefined datatypes: their names, their elements in the library, and their external
//! representation.

use crate::abi::*;
use onesided::{Datatype as Element, DerivedDatatype};

/// A predefined datatype.
#[derive(Debug)]
pub struct Basic {
    /// Its handle.
    pub value: usize,
    pub name: &'static str,
    /// The library's element, and how many of them are adjacent.
    element: Element,
    elements: usize,
    pub kind: Kind,
    /// Its numbers.
    pub units: &'static [Unit],
}

/// The class of a datatype for operations (MPI-4.1 §6.9.2); each has a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    Integer = 1,
    Floating = 2,
    Complex = 4,
    Logical = 8,
    Byte = 16,
    /// A value with an index.
    Pair = 32,
    /// The same in Fortran, where both are numbers of one type.
    FortranPair = 64,
    /// No operation: characters, packed data, and numbers without arithmetic on this machine.
    Moved = 128,
}

/// A number in memory, and in the data representation "external32" (MPI-4.1 §14.5.2).
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub bytes: usize,
    pub external: usize,
    pub format: Format,
}

/// The representation of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Signed,
    Unsigned,
    /// A floating number of IEEE 754, of the same size in both representations.
    Floating,
    /// `long double`, whose external form is an IEEE 754 number of 16 bytes.
    LongDouble,
}

const fn unit(bytes: usize, external: usize, format: Format) -> Unit {
    Unit { bytes, external, format }
}

/// The only number of a datatype.
macro_rules! one {
    ($bytes:expr, $external:expr, $format:ident) => {
        &[unit($bytes, $external, Format::$format)]
    };
}

/// Two numbers.
macro_rules! two {
    ($first:expr, $format:ident; $second:expr, $other:ident) => {
        &[unit($first.0, $first.1, Format::$format), unit($second, $second, Format::$other)]
    };
}

impl Basic {
    /// The datatype for the library, with this one's name.
    pub fn derived(&self) -> DerivedDatatype {
        let derived = match self.elements {
            1 => DerivedDatatype::from(self.element),
            many => DerivedDatatype::contiguous(many, self.element).expect("a small datatype"),
        };
        derived.named(self.name)
    }

    /// `MPI_Type_size`, which is also its packed size: without padding.
    pub fn size(&self) -> u64 {
        self.units.iter().map(|unit| unit.bytes as u64).sum()
    }

    pub fn external(&self) -> u64 {
        self.units.iter().map(|unit| unit.external as u64).sum()
    }

    /// The elements that `MPI_Get_elements` counts: two for a pair.
    pub fn counted(&self) -> u64 {
        if matches!(self.kind, Kind::Pair | Kind::FortranPair) { 2 } else { 1 }
    }

    /// The packed bytes up to the end of an element.
    pub fn end_of(&self, element: u64) -> u64 {
        match self.counted() == element {
            true => self.size(),
            false => self.units[0].bytes as u64,
        }
    }
}

macro_rules! basics {
    ($($(#[$only:meta])? $value:ident $element:ident $(* $elements:literal)? $kind:ident $units:expr;)*) => {
        /// All of them, but for `MPI_DATATYPE_NULL`.
        pub static BASICS: &[Basic] = &[$($(#[$only])? Basic {
            value: $value,
            name: stringify!($value),
            element: Element::$element,
            elements: 1 $(* $elements)?,
            kind: Kind::$kind,
            units: $units,
        }),*];
    };
}

basics! {
    MPI_AINT I64 Integer one!(8, 8, Signed);
    MPI_COUNT I64 Integer one!(8, 8, Signed);
    MPI_OFFSET I64 Integer one!(8, 8, Signed);
    MPI_PACKED U8 Moved one!(1, 1, Unsigned);
    MPI_SHORT I16 Integer one!(2, 2, Signed);
    MPI_INT I32 Integer one!(4, 4, Signed);
    MPI_LONG I64 Integer one!(8, 4, Signed);
    MPI_LONG_LONG I64 Integer one!(8, 8, Signed);
    MPI_UNSIGNED_SHORT U16 Integer one!(2, 2, Unsigned);
    MPI_UNSIGNED U32 Integer one!(4, 4, Unsigned);
    MPI_UNSIGNED_LONG U64 Integer one!(8, 4, Unsigned);
    MPI_UNSIGNED_LONG_LONG U64 Integer one!(8, 8, Unsigned);
    MPI_FLOAT F32 Floating one!(4, 4, Floating);
    MPI_C_FLOAT_COMPLEX C32 Complex two!((4, 4), Floating; 4, Floating);
    MPI_CXX_FLOAT_COMPLEX C32 Complex two!((4, 4), Floating; 4, Floating);
    MPI_DOUBLE F64 Floating one!(8, 8, Floating);
    MPI_C_DOUBLE_COMPLEX C64 Complex two!((8, 8), Floating; 8, Floating);
    MPI_CXX_DOUBLE_COMPLEX C64 Complex two!((8, 8), Floating; 8, Floating);
    MPI_LOGICAL I32 Logical one!(4, 4, Signed);
    MPI_INTEGER I32 Integer one!(4, 4, Signed);
    MPI_REAL F32 Floating one!(4, 4, Floating);
    MPI_COMPLEX C32 Complex two!((4, 4), Floating; 4, Floating);
    MPI_DOUBLE_PRECISION F64 Floating one!(8, 8, Floating);
    MPI_DOUBLE_COMPLEX C64 Complex two!((8, 8), Floating; 8, Floating);
    MPI_CHARACTER U8 Moved one!(1, 1, Unsigned);
    MPI_LONG_DOUBLE LongDouble Floating one!(16, 16, LongDouble);
    MPI_C_LONG_DOUBLE_COMPLEX LongDoubleComplex Complex
        two!((16, 16), LongDouble; 16, LongDouble);
    MPI_CXX_LONG_DOUBLE_COMPLEX LongDoubleComplex Complex
        two!((16, 16), LongDouble; 16, LongDouble);
    MPI_FLOAT_INT FloatInt Pair two!((4, 4), Floating; 4, Signed);
    MPI_DOUBLE_INT DoubleInt Pair two!((8, 8), Floating; 4, Signed);
    MPI_LONG_INT LongInt Pair two!((8, 4), Signed; 4, Signed);
    MPI_2INT TwoInt Pair two!((4, 4), Signed; 4, Signed);
    MPI_SHORT_INT ShortInt Pair two!((2, 2), Signed; 4, Signed);
    MPI_LONG_DOUBLE_INT LongDoubleInt Pair two!((16, 16), LongDouble; 4, Signed);
    MPI_2REAL F32 * 2 FortranPair two!((4, 4), Floating; 4, Floating);
    MPI_2DOUBLE_PRECISION F64 * 2 FortranPair two!((8, 8), Floating; 8, Floating);
    MPI_2INTEGER TwoInt Pair two!((4, 4), Signed; 4, Signed);
    MPI_C_BOOL U8 Logical one!(1, 1, Unsigned);
    MPI_CXX_BOOL U8 Logical one!(1, 1, Unsigned);
    MPI_WCHAR I32 Moved one!(4, 2, Unsigned);
    MPI_INT8_T I8 Integer one!(1, 1, Signed);
    MPI_UINT8_T U8 Integer one!(1, 1, Unsigned);
    MPI_CHAR I8 Moved one!(1, 1, Signed);
    MPI_SIGNED_CHAR I8 Integer one!(1, 1, Signed);
    MPI_UNSIGNED_CHAR U8 Integer one!(1, 1, Unsigned);
    MPI_BYTE U8 Byte one!(1, 1, Unsigned);
    MPI_INT16_T I16 Integer one!(2, 2, Signed);
    MPI_UINT16_T U16 Integer one!(2, 2, Unsigned);
    MPI_INT32_T I32 Integer one!(4, 4, Signed);
    MPI_UINT32_T U32 Integer one!(4, 4, Unsigned);
    MPI_INT64_T I64 Integer one!(8, 8, Signed);
    MPI_UINT64_T U64 Integer one!(8, 8, Unsigned);
    MPI_LOGICAL1 I8 Logical one!(1, 1, Signed);
    MPI_INTEGER1 I8 Integer one!(1, 1, Signed);
    MPI_LOGICAL2 I16 Logical one!(2, 2, Signed);
    MPI_INTEGER2 I16 Integer one!(2, 2, Signed);
    MPI_REAL2 I16 Moved one!(2, 2, Floating);
    #[cfg(mpich)] MPIX_C_FLOAT16 I16 Moved one!(2, 2, Floating);
    #[cfg(mpich)] MPIX_BFLOAT16 I16 Moved one!(2, 2, Floating);
    MPI_LOGICAL4 I32 Logical one!(4, 4, Signed);
    MPI_INTEGER4 I32 Integer one!(4, 4, Signed);
    MPI_REAL4 F32 Floating one!(4, 4, Floating);
    MPI_COMPLEX4 I16 * 2 Moved two!((2, 2), Floating; 2, Floating);
    MPI_LOGICAL8 I64 Logical one!(8, 8, Signed);
    MPI_INTEGER8 I64 Integer one!(8, 8, Signed);
    MPI_REAL8 F64 Floating one!(8, 8, Floating);
    MPI_COMPLEX8 C32 Complex two!((4, 4), Floating; 4, Floating);
    MPI_LOGICAL16 I128 Logical one!(16, 16, Signed);
    MPI_INTEGER16 I128 Integer one!(16, 16, Signed);
    MPI_REAL16 LongDouble Moved one!(16, 16, Floating);
    MPI_COMPLEX16 C64 Complex two!((8, 8), Floating; 8, Floating);
    MPI_COMPLEX32 LongDoubleComplex Moved two!((16, 16), Floating; 16, Floating);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_abi_says_the_sizes_of_what_has_a_fixed_one() {
        // The number of such a handle has the logarithm of its size from bit 3 on.
        for basic in BASICS.iter().filter(|basic| basic.value >= 0x240) {
            assert_eq!(basic.size(), 1 << (basic.value >> 3 & 7), "{}", basic.name);
        }
    }

    #[test]
    fn the_numbers_of_a_datatype_are_what_the_library_moves() {
        for basic in BASICS {
            assert_eq!(basic.size(), basic.derived().size(), "{}", basic.name);
        }
    }
}
