//! The operations as functions of (target value, origin value): which exist for which types.

use super::machine::{Operation, by};
use super::{Element, Located};
use crate::op::Op;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul};

/// What [`integer`] needs and the standard library has no trait for.
pub(crate) trait Wrapping:
    Element
    + Ord
    + Default
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + From<bool>
{
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
}

/// Names the wrapping arithmetic of the integer types.
macro_rules! wrapping {
    ($($type:ty)*) => {$(impl Wrapping for $type {
        fn sum(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        fn product(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
    })*};
}
wrapping!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

/// What [`floating`] needs and the standard library has no trait for.
pub(crate) trait Floating: Element + Add<Output = Self> + Mul<Output = Self> {
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
}

/// Names the IEEE 754 maximum and minimum of the floating types.
macro_rules! float {
    ($($type:ty)*) => {$(impl Floating for $type {
        fn larger(self, other: Self) -> Self {
            self.max(other)
        }
        fn smaller(self, other: Self) -> Self {
            self.min(other)
        }
    })*};
}
float!(f32 f64);

#[inline]
pub(crate) fn any<T: Element>(op: Op) -> Option<&'static Operation<T>> {
    match op {
        Op::Replace => Some(by!(Op::Replace, |_, origin| origin)),
        Op::NoOp => Some(by!(Op::NoOp, |target, _| target)),
        _ => None,
    }
}

fn truth<T: Wrapping>(value: T) -> bool {
    value != T::default()
}

#[inline]
pub(crate) fn integer<T: Wrapping>(op: Op) -> Option<&'static Operation<T>> {
    Some(match op {
        Op::Sum => by!(Op::Sum, T::sum),
        Op::Prod => by!(Op::Prod, T::product),
        Op::Max => by!(Op::Max, |a, b| a.max(b)),
        Op::Min => by!(Op::Min, |a, b| a.min(b)),
        Op::Land => by!(Op::Land, |a, b| T::from(truth(a) && truth(b))),
        Op::Lor => by!(Op::Lor, |a, b| T::from(truth(a) || truth(b))),
        Op::Lxor => by!(Op::Lxor, |a, b| T::from(truth(a) != truth(b))),
        Op::Band => by!(Op::Band, |a, b| a & b),
        Op::Bor => by!(Op::Bor, |a, b| a | b),
        Op::Bxor => by!(Op::Bxor, |a, b| a ^ b),
        _ => return any(op),
    })
}

#[inline]
pub(crate) fn floating<T: Floating>(op: Op) -> Option<&'static Operation<T>> {
    Some(match op {
        Op::Sum => by!(Op::Sum, |a, b| a + b),
        Op::Prod => by!(Op::Prod, |a, b| a * b),
        Op::Max => by!(Op::Max, T::larger),
        Op::Min => by!(Op::Min, T::smaller),
        _ => return any(op),
    })
}

#[inline]
pub(crate) fn complex<C>(op: Op) -> Option<&'static Operation<C>>
where
    C: Element + Add<Output = C> + Mul<Output = C>,
{
    Some(match op {
        Op::Sum => by!(Op::Sum, |a, b| a + b),
        Op::Prod => by!(Op::Prod, |a, b| a * b),
        _ => return any(op),
    })
}

#[inline]
pub(crate) fn located<T: Located>(op: Op) -> Option<&'static Operation<T>> {
    /// MPI-2.2 §5.9.4: the better value wins; equal values keep the smaller index. The padding of the
    /// target is not part of its element, and stays.
    fn pick<T: Located>(a: T, b: T, a_is_better: bool, b_is_better: bool) -> T {
        match (a_is_better, b_is_better) {
            (true, _) => a,
            (_, true) => a.replaced(b),
            _ => a.with_index(a.index().min(b.index())),
        }
    }
    Some(match op {
        Op::Maxloc => {
            by!(Op::Maxloc, |a, b| pick(a, b, a.value() > b.value(), b.value() > a.value()))
        }
        Op::Minloc => {
            by!(Op::Minloc, |a, b| pick(a, b, a.value() < b.value(), b.value() < a.value()))
        }
        Op::Replace => by!(Op::Replace, T::replaced),
        _ => return any(op),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Datatype, DoubleInt, Element, Visitor};
    use num_complex::Complex;

    struct Defined(Op);
    impl Visitor for Defined {
        type Output = bool;
        fn visit<E: Element>(self) -> bool {
            E::function(self.0).is_some()
        }
    }

    #[test]
    fn the_table_of_operations_and_types_is_the_standards() {
        use Datatype::*;
        for op in Op::ALL {
            for datatype in Datatype::ALL.into_iter().chain(Datatype::UNTYPED) {
                let integer =
                    matches!(datatype, I8 | I16 | I32 | I64 | I128 | U8 | U16 | U32 | U64);
                let floating = matches!(datatype, F32 | F64 | LongDouble);
                let complex = matches!(datatype, C32 | C64 | LongDoubleComplex);
                let expected = match op {
                    Op::Replace | Op::NoOp => true,
                    Op::Sum | Op::Prod => integer || floating || complex,
                    Op::Max | Op::Min => integer || floating,
                    Op::Maxloc | Op::Minloc => !integer && !floating && !complex,
                    _ => integer,
                };
                // If the processor has no such numbers, they are only moved and replaced.
                let extended = matches!(datatype, LongDouble | LongDoubleComplex | LongDoubleInt);
                let expected = expected
                    && (cfg!(target_arch = "x86_64")
                        || !extended
                        || matches!(op, Op::Replace | Op::NoOp));
                assert_eq!(datatype.visit(Defined(op)), expected, "{op:?} {datatype:?}");
            }
        }
    }

    #[test]
    fn operations_do_what_their_names_say() {
        let f = |op, a: i32, b: i32| i32::function(op).unwrap()(a, b);
        assert_eq!(f(Op::Sum, i32::MAX, 1), i32::MIN);
        assert_eq!(f(Op::Prod, 6, -7), -42);
        assert_eq!((f(Op::Max, -3, 2), f(Op::Min, -3, 2)), (2, -3));
        assert_eq!((f(Op::Land, 5, 0), f(Op::Land, 5, 9)), (0, 1));
        assert_eq!((f(Op::Lor, 0, 0), f(Op::Lor, 0, 7)), (0, 1));
        assert_eq!((f(Op::Lxor, 3, 4), f(Op::Lxor, 0, 4)), (0, 1));
        assert_eq!((f(Op::Band, 6, 3), f(Op::Bor, 6, 3), f(Op::Bxor, 6, 3)), (2, 7, 5));
        assert_eq!((f(Op::Replace, 1, 2), f(Op::NoOp, 1, 2)), (2, 1));
        assert_eq!(f64::function(Op::Max).unwrap()(f64::NAN, 1.0), 1.0);
        let c = Complex::new(1.0f32, 2.0);
        assert_eq!(Complex::function(Op::Prod).unwrap()(c, c), c * c);
    }

    #[test]
    fn of_equal_values_the_smaller_index_is_kept() {
        let (low, high) = (DoubleInt::new(1.5, 3), DoubleInt::new(1.5, 8));
        for op in [Op::Maxloc, Op::Minloc] {
            assert_eq!(DoubleInt::function(op).unwrap()(high, low), low);
            assert_eq!(DoubleInt::function(op).unwrap()(low, high), low);
        }
        let more = DoubleInt::new(2.0, 9);
        assert_eq!(DoubleInt::function(Op::Maxloc).unwrap()(low, more), more);
        assert_eq!(DoubleInt::function(Op::Minloc).unwrap()(low, more), low);
    }
}
