//! Elements as bytes: the values that programs use, and what operations make of them.
//!
//! Written from the standard (MPI-2.2 §5.9.2, §5.9.4, MPI-4.1 §12.3.4), not from the library.

use crate::support::choices::Choices;
use onesided::{Complex, Datatype, Op};
use std::cmp::Ordering;
use std::ops::Range;

/// The size of an element.
pub fn size(datatype: Datatype) -> usize {
    use Datatype::*;
    match datatype {
        I8 | U8 => 1,
        I16 | U16 => 2,
        I32 | U32 | F32 => 4,
        C64 | DoubleInt | LongInt => 16,
        _ => 8,
    }
}

/// The bytes of an element that are neither of a pair's numbers. At the target of an operation they stay; in
/// a result they may be written.
pub fn padding(datatype: Datatype) -> Range<usize> {
    use Datatype::*;
    match datatype {
        ShortInt => 2..4,
        DoubleInt | LongInt => 12..16,
        _ => 0..0,
    }
}

pub fn is_integer(datatype: Datatype) -> bool {
    use Datatype::*;
    matches!(datatype, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

fn is_signed(datatype: Datatype) -> bool {
    use Datatype::*;
    matches!(datatype, I8 | I16 | I32 | I64)
}

/// Whether the standard defines `op` for `datatype`.
pub fn is_defined(op: Op, datatype: Datatype) -> bool {
    use Datatype::*;
    let (floating, complex) = (matches!(datatype, F32 | F64), matches!(datatype, C32 | C64));
    match op {
        Op::Replace | Op::NoOp => true,
        Op::Sum | Op::Prod => is_integer(datatype) || floating || complex,
        Op::Max | Op::Min => is_integer(datatype) || floating,
        Op::Maxloc | Op::Minloc => !is_integer(datatype) && !floating && !complex,
        _ => is_integer(datatype),
    }
}

/// Origin values made from a seed.
#[derive(Clone, Copy)]
pub struct Data {
    pub datatype: Datatype,
    pub seed: u64,
}

impl Data {
    pub fn elements(self, count: u64) -> Vec<u8> {
        let mut choices = Choices(self.seed);
        (0..count).flat_map(|_| self.element(&mut choices)).collect()
    }

    /// Integers of all sizes, half of them small; other numbers small, whole and not zero, so that
    /// sums are exact and no two zeros differ; padding zero.
    fn element(self, choices: &mut Choices) -> Vec<u8> {
        use Datatype::*;
        let number = choices.below(9) as i32 + 1;
        let number = if choices.below(2) == 0 { -number } else { number };
        let index = choices.below(4) as i32 - 1;
        let pair = |value: &[u8], at: usize, size: usize| {
            let mut bytes = vec![0; size];
            bytes[..value.len()].copy_from_slice(value);
            bytes[at..at + 4].copy_from_slice(&index.to_ne_bytes());
            bytes
        };
        match self.datatype {
            F32 => (number as f32).to_ne_bytes().into(),
            F64 => f64::from(number).to_ne_bytes().into(),
            C32 => [(number as f32).to_ne_bytes(), (index as f32).to_ne_bytes()].concat(),
            C64 => [f64::from(number).to_ne_bytes(), f64::from(index).to_ne_bytes()].concat(),
            FloatInt => pair(&(number as f32).to_ne_bytes(), 4, 8),
            TwoInt => pair(&number.to_ne_bytes(), 4, 8),
            ShortInt => pair(&(number as i16).to_ne_bytes(), 4, 8),
            DoubleInt => pair(&f64::from(number).to_ne_bytes(), 8, 16),
            LongInt => pair(&i64::from(number).to_ne_bytes(), 8, 16),
            _ => {
                let word = if choices.below(2) == 0 { number as u64 } else { choices.next() };
                word.to_le_bytes()[..size(self.datatype)].into()
            }
        }
    }
}

/// The function of the Rust type for a datatype.
macro_rules! of_type {
    ($datatype:expr, $function:ident) => {
        match $datatype {
            onesided::Datatype::I8 => $function::<i8>,
            onesided::Datatype::I16 => $function::<i16>,
            onesided::Datatype::I32 => $function::<i32>,
            onesided::Datatype::I64 => $function::<i64>,
            onesided::Datatype::U8 => $function::<u8>,
            onesided::Datatype::U16 => $function::<u16>,
            onesided::Datatype::U32 => $function::<u32>,
            onesided::Datatype::U64 => $function::<u64>,
            onesided::Datatype::F32 => $function::<f32>,
            onesided::Datatype::F64 => $function::<f64>,
            onesided::Datatype::C32 => $function::<onesided::Complex<f32>>,
            onesided::Datatype::C64 => $function::<onesided::Complex<f64>>,
            onesided::Datatype::FloatInt => $function::<onesided::FloatInt>,
            onesided::Datatype::DoubleInt => $function::<onesided::DoubleInt>,
            onesided::Datatype::LongInt => $function::<onesided::LongInt>,
            onesided::Datatype::TwoInt => $function::<onesided::TwoInt>,
            onesided::Datatype::ShortInt => $function::<onesided::ShortInt>,
            other => unreachable!("{other:?} is in no program"),
        }
    };
}
pub(crate) use of_type;

/// The elements' bytes as a number that the machine has.
macro_rules! number {
    ($type:ty, $bytes:expr) => {
        <$type>::from_ne_bytes($bytes[..size_of::<$type>()].try_into().expect("an element"))
    };
}

/// Whether the operation is one whose outcome is the same bits everywhere: of floating numbers,
/// only between finite ones.
pub fn is_exact(op: Op, datatype: Datatype, target: &[u8]) -> bool {
    use Datatype::*;
    if matches!(op, Op::Replace | Op::NoOp) {
        return true;
    }
    match datatype {
        F32 | FloatInt => number!(f32, target).is_finite(),
        F64 | DoubleInt => number!(f64, target).is_finite(),
        C32 => number!(f32, target).is_finite() && number!(f32, target[4..]).is_finite(),
        C64 => number!(f64, target).is_finite() && number!(f64, target[8..]).is_finite(),
        _ => true,
    }
}

/// The target's element after `op` with the origin's.
pub fn apply(op: Op, datatype: Datatype, target: &[u8], origin: &[u8]) -> Vec<u8> {
    use Datatype::*;
    match (op, datatype) {
        (Op::Replace, _) => origin.into(),
        (Op::NoOp, _) => target.into(),
        (_, F32) => float(op, number!(f32, target).into(), number!(f32, origin).into(), false),
        (_, F64) => float(op, number!(f64, target), number!(f64, origin), true),
        (_, C32) => {
            let complex = |b: &[u8]| Complex::new(number!(f32, b), number!(f32, b[4..]));
            let (t, o) = (complex(target), complex(origin));
            let outcome = if op == Op::Sum { t + o } else { t * o };
            [outcome.re.to_ne_bytes(), outcome.im.to_ne_bytes()].concat()
        }
        (_, C64) => {
            let complex = |b: &[u8]| Complex::new(number!(f64, b), number!(f64, b[8..]));
            let (t, o) = (complex(target), complex(origin));
            let outcome = if op == Op::Sum { t + o } else { t * o };
            [outcome.re.to_ne_bytes(), outcome.im.to_ne_bytes()].concat()
        }
        _ if is_integer(datatype) => integer(op, datatype, target, origin),
        _ => located(op, datatype, target, origin),
    }
}

/// Single precision in double: one rounding more of a sum or product changes nothing (double has
/// more than twice the digits).
fn float(op: Op, target: f64, origin: f64, is_double: bool) -> Vec<u8> {
    let outcome = match op {
        Op::Sum => target + origin,
        Op::Prod => target * origin,
        Op::Max => target.max(origin),
        _ => target.min(origin),
    };
    if is_double { outcome.to_ne_bytes().into() } else { (outcome as f32).to_ne_bytes().into() }
}

fn integer(op: Op, datatype: Datatype, target: &[u8], origin: &[u8]) -> Vec<u8> {
    let wide = |bytes: &[u8]| {
        let negative = is_signed(datatype) && bytes[bytes.len() - 1] >= 0x80;
        let mut all = [if negative { 0xFF } else { 0 }; 16];
        all[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(all)
    };
    let (a, b) = (wide(target), wide(origin));
    let outcome = match op {
        Op::Sum => a + b,
        Op::Prod => a.wrapping_mul(b),
        Op::Max => a.max(b),
        Op::Min => a.min(b),
        Op::Land => i128::from(a != 0 && b != 0),
        Op::Lor => i128::from(a != 0 || b != 0),
        Op::Lxor => i128::from((a != 0) != (b != 0)),
        Op::Band => a & b,
        Op::Bor => a | b,
        _ => a ^ b,
    };
    outcome.to_le_bytes()[..target.len()].into()
}

/// MAXLOC and MINLOC: the better value with its index; of equal ones the smaller index. Padding
/// goes with the value, of equal ones the target's.
fn located(op: Op, datatype: Datatype, target: &[u8], origin: &[u8]) -> Vec<u8> {
    use Datatype::*;
    let order = match datatype {
        FloatInt => number!(f32, target).partial_cmp(&number!(f32, origin)),
        DoubleInt => number!(f64, target).partial_cmp(&number!(f64, origin)),
        LongInt => Some(number!(i64, target).cmp(&number!(i64, origin))),
        TwoInt => Some(number!(i32, target).cmp(&number!(i32, origin))),
        _ => Some(number!(i16, target).cmp(&number!(i16, origin))),
    };
    let order = order.expect("finite values");
    let better = if op == Op::Maxloc { Ordering::Greater } else { Ordering::Less };
    if order != Ordering::Equal {
        return if order == better { target.into() } else { origin.into() };
    }
    let at = if size(datatype) == 16 { 8 } else { 4 };
    let index = number!(i32, target[at..]).min(number!(i32, origin[at..]));
    let mut outcome = target.to_vec();
    outcome[at..at + 4].copy_from_slice(&index.to_ne_bytes());
    outcome
}
