//! C's `long double` and its complex and pair types, which Rust does not have, by the instructions that C
//! uses.

use super::functions::{self, Floating};
use super::machine::Operation;
use crate::op::Op;
use bytemuck::{Pod, Zeroable};
use std::cmp;
use std::ops::{Add, Mul};

/// `MPI_LONG_DOUBLE`: on x86-64 ten bytes of a number, and six of padding.
#[doc(alias = "MPI_LONG_DOUBLE")]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct LongDouble([u8; 16]);

/// `MPI_C_LONG_DOUBLE_COMPLEX`
#[doc(alias = "MPI_C_LONG_DOUBLE_COMPLEX")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct LongDoubleComplex {
    re: LongDouble,
    im: LongDouble,
}

#[cfg(target_arch = "x86_64")]
use super::machine::{add, compare, multiply};

/// Other processors have no such numbers, and [`floating`] and [`complex`] do not call these.
#[cfg(not(target_arch = "x86_64"))]
mod none {
    pub(super) fn add(_: [u8; 16], _: [u8; 16]) -> [u8; 16] {
        unreachable!("this processor does not add long doubles")
    }
    pub(super) fn multiply(_: [u8; 16], _: [u8; 16]) -> [u8; 16] {
        unreachable!("this processor does not multiply long doubles")
    }
    pub(super) fn compare(_: &[u8; 16], _: &[u8; 16]) -> Option<std::cmp::Ordering> {
        unreachable!("this processor does not compare long doubles")
    }
}
#[cfg(not(target_arch = "x86_64"))]
use none::{add, compare, multiply};

impl Add for LongDouble {
    type Output = LongDouble;
    fn add(self, other: LongDouble) -> LongDouble {
        LongDouble(add(self.0, other.0))
    }
}

impl Mul for LongDouble {
    type Output = LongDouble;
    fn mul(self, other: LongDouble) -> LongDouble {
        LongDouble(multiply(self.0, other.0))
    }
}

impl LongDouble {
    /// The same number with the other sign.
    fn negated(mut self) -> LongDouble {
        self.0[9] ^= 0x80;
        self
    }

    fn is_nan(self) -> bool {
        self.partial_cmp(&self).is_none()
    }
}

impl PartialEq for LongDouble {
    fn eq(&self, other: &LongDouble) -> bool {
        self.partial_cmp(other) == Some(cmp::Ordering::Equal)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &LongDouble) -> Option<cmp::Ordering> {
        compare(&self.0, &other.0)
    }
}

impl Floating for LongDouble {
    fn larger(self, other: LongDouble) -> LongDouble {
        if self.is_nan() || self < other { other } else { self }
    }
    fn smaller(self, other: LongDouble) -> LongDouble {
        if self.is_nan() || other < self { other } else { self }
    }
}

impl Add for LongDoubleComplex {
    type Output = LongDoubleComplex;
    fn add(self, other: LongDoubleComplex) -> LongDoubleComplex {
        LongDoubleComplex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Mul for LongDoubleComplex {
    type Output = LongDoubleComplex;
    fn mul(self, other: LongDoubleComplex) -> LongDoubleComplex {
        LongDoubleComplex {
            re: self.re * other.re + (self.im * other.im).negated(),
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Whether the processor has such numbers. If not, they are only moved and replaced.
const NATIVE: bool = cfg!(target_arch = "x86_64");

#[inline]
pub(crate) fn floating(op: Op) -> Option<&'static Operation<LongDouble>> {
    if NATIVE { functions::floating(op) } else { functions::any(op) }
}

#[inline]
pub(crate) fn complex(op: Op) -> Option<&'static Operation<LongDoubleComplex>> {
    if NATIVE { functions::complex(op) } else { functions::any(op) }
}

#[inline]
pub(crate) fn located<T: super::Located>(op: Op) -> Option<&'static Operation<T>> {
    // Replacing compares nothing.
    if NATIVE || op == Op::Replace { functions::located(op) } else { functions::any(op) }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::datatype::Element;

    /// The same number; not for zero, infinity, NaN or denormal numbers.
    fn number(value: f64) -> LongDouble {
        let bits = value.to_bits();
        let sign = (bits >> 63 << 15) as u16;
        let exponent = (bits >> 52 & 0x7FF) as u16 + (16383 - 1023);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&((1 << 63) | (bits << 11)).to_le_bytes());
        bytes[8..10].copy_from_slice(&(sign | exponent).to_le_bytes());
        LongDouble(bytes)
    }

    const NAN: LongDouble = LongDouble([0, 0, 0, 0, 0, 0, 0, 0xC0, 0xFF, 0x7F, 0, 0, 0, 0, 0, 0]);

    #[test]
    fn numbers_are_added_multiplied_and_compared() {
        let f = |op, a, b| LongDouble::function(op).unwrap()(number(a), number(b));
        for (a, b) in [(1.5, 2.25), (-3.0, 2.0), (1e300, -1e-300), (7.0, 7.5)] {
            assert_eq!(f(Op::Max, a, b), number(a.max(b)));
            assert_eq!(f(Op::Min, a, b), number(a.min(b)));
        }
        assert_eq!(f(Op::Sum, 1.5, -4.0), number(-2.5));
        assert_eq!(f(Op::Prod, 1.5, -4.0), number(-6.0));
        let large = f(Op::Prod, 1e300, 1e300);
        assert!(large > number(f64::MAX), "the exponent is that of long double");
        // 2^60 + 1 has more digits than a double.
        let (big, one) = (number((1u64 << 60) as f64), number(1.0));
        assert!(big + one > big && big + one + number(-1.0) == big);
    }

    #[test]
    fn a_number_is_preferred_to_a_nan() {
        for op in [Op::Max, Op::Min] {
            let f = LongDouble::function(op).unwrap();
            assert_eq!((f(NAN, number(2.0)), f(number(2.0), NAN)), (number(2.0), number(2.0)));
        }
        assert_ne!(NAN, NAN);
    }

    #[test]
    fn complex_numbers_are_multiplied() {
        let c = |re, im| LongDoubleComplex { re: number(re), im: number(im) };
        let f = |op| LongDoubleComplex::function(op).unwrap()(c(1.0, 2.0), c(3.0, -4.0));
        assert_eq!((f(Op::Sum), f(Op::Prod)), (c(4.0, -2.0), c(11.0, 2.0)));
        assert!(LongDoubleComplex::function(Op::Max).is_none());
    }
}
