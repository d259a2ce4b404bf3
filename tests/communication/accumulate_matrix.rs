//! Every operation on every datatype, by every accumulating call, against functions of our own
//! (MPI-2.2 §5.9.2, §11.3.4; MPI-4.1 §12.3.4).

use crate::support::{needs_segment, spmd};
use onesided::engine::Win;
use onesided::{
    Complex, DoubleInt, Element, ErrorClass, FloatInt, Integer, LockType, LongInt, Op, Rank,
    ShortInt, TwoInt, WindowOptions,
};
use std::fmt::Debug;

/// A datatype with values worth trying and which operations the standard gives it.
trait Oracle: Element + Debug {
    /// Some of all kinds.
    fn values() -> Vec<Self>;
    /// What `op` makes of (target, origin); `None` where the standard defines nothing.
    fn apply(op: Op, target: Self, origin: Self) -> Option<Self>;
    /// Equality in which a NaN is a NaN.
    fn same(self, other: Self) -> bool;
}

/// Bit patterns without a pattern (a linear congruential generator).
fn random(n: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 31)
    })
    .take(n)
}

macro_rules! integer_oracle {
    ($($type:ty)*) => {$(impl Oracle for $type {
        fn values() -> Vec<Self> {
            let some = [0, 1, 2, 7, <$type>::MAX, <$type>::MIN, <$type>::MAX / 3];
            some.into_iter().chain(random(3).map(|bits| bits as $type)).collect()
        }
        fn apply(op: Op, target: Self, origin: Self) -> Option<Self> {
            // In 128 bits, which hold every sum and, modulo 2^64, every product.
            let (a, b) = (target as i128, origin as i128);
            Some(match op {
                Op::Sum => (a + b) as $type,
                Op::Prod => a.wrapping_mul(b) as $type,
                Op::Max => if a > b { target } else { origin },
                Op::Min => if a < b { target } else { origin },
                Op::Land => (a != 0 && b != 0) as u8 as $type,
                Op::Lor => (a != 0 || b != 0) as u8 as $type,
                Op::Lxor => ((a != 0) ^ (b != 0)) as u8 as $type,
                Op::Band => (a & b) as $type,
                Op::Bor => (a | b) as $type,
                Op::Bxor => (a ^ b) as $type,
                Op::Replace => origin,
                Op::NoOp => target,
                _ => return None,
            })
        }
        fn same(self, other: Self) -> bool {
            self == other
        }
    })*};
}
integer_oracle!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floating_oracle {
    ($($type:ty)*) => {$(impl Oracle for $type {
        fn values() -> Vec<Self> {
            let some = [0.0, -0.0, 1.0, -2.5, <$type>::MAX, <$type>::INFINITY, <$type>::NAN, 1e-30];
            some.into_iter().chain(random(3).map(|bits| <$type>::from_bits(bits as _))).collect()
        }
        fn apply(op: Op, target: Self, origin: Self) -> Option<Self> {
            Some(match op {
                Op::Sum => target + origin,
                Op::Prod => target * origin,
                // Of a number and a NaN, the number.
                Op::Max if target > origin || origin.is_nan() => target,
                Op::Min if target < origin || origin.is_nan() => target,
                Op::Max | Op::Min | Op::Replace => origin,
                Op::NoOp => target,
                _ => return None,
            })
        }
        fn same(self, other: Self) -> bool {
            self == other || (self.is_nan() && other.is_nan())
        }
    })*};
}
floating_oracle!(f32 f64);

macro_rules! complex_oracle {
    ($($type:ty)*) => {$(impl Oracle for Complex<$type> {
        fn values() -> Vec<Self> {
            let parts = [0.0, 1.0, -2.5, 1e20];
            parts.iter().flat_map(|re| parts.map(|im| Complex::new(*re, im))).collect()
        }
        fn apply(op: Op, t: Self, o: Self) -> Option<Self> {
            Some(match op {
                Op::Sum => Complex::new(t.re + o.re, t.im + o.im),
                Op::Prod => Complex::new(t.re * o.re - t.im * o.im, t.re * o.im + t.im * o.re),
                Op::Replace => o,
                Op::NoOp => t,
                _ => return None,
            })
        }
        fn same(self, other: Self) -> bool {
            self.re.same(other.re) && self.im.same(other.im)
        }
    })*};
}
complex_oracle!(f32 f64);

macro_rules! pair_oracle {
    ($($name:ident $type:ty;)*) => {$(impl Oracle for $name {
        fn values() -> Vec<Self> {
            let values: [$type; 4] = [0 as $type, 3 as $type, -7 as $type, 100 as $type];
            let indices = [0, -1, 5, i32::MIN];
            values.iter().flat_map(|value| indices.map(|index| $name::new(*value, index))).collect()
        }
        fn apply(op: Op, target: Self, origin: Self) -> Option<Self> {
            // The fields are private: all pairs of `values` are distinguished by trying.
            let key = |pair: Self| {
                let values: [$type; 4] = [0 as $type, 3 as $type, -7 as $type, 100 as $type];
                let indices = [0, -1, 5, i32::MIN];
                let all = values.iter().flat_map(|v| indices.map(|index| (*v, index)));
                all.into_iter().find(|(v, i)| $name::new(*v, *i) == pair).expect("a known pair")
            };
            let ((a, i), (b, j)) = (key(target), key(origin));
            let target_wins = match op {
                Op::Maxloc => a > b || (a == b && i < j),
                Op::Minloc => a < b || (a == b && i < j),
                Op::Replace => false,
                Op::NoOp => true,
                _ => return None,
            };
            Some(if target_wins { target } else { origin })
        }
        fn same(self, other: Self) -> bool {
            self == other
        }
    })*};
}
pair_oracle!(FloatInt f32; DoubleInt f64; LongInt i64; TwoInt i32; ShortInt i16;);

/// Elements of one target at one displacement.
struct At<'a> {
    win: &'a Win,
    target: Rank,
    disp: u64,
}

impl At<'_> {
    fn store<T: Oracle>(&self, values: &[T]) {
        self.win.put(values, self.target, self.disp).unwrap();
        self.win.flush(self.target).unwrap();
    }

    fn expect<T: Oracle>(&self, expected: &[T], what: &str) {
        let mut found = vec![T::zeroed(); expected.len()];
        self.win.flush(self.target).unwrap();
        self.win.get(&mut found, self.target, self.disp).unwrap();
        same(&found, expected, &format!("{what} at displacement {}", self.disp));
    }
}

fn same<T: Oracle>(found: &[T], expected: &[T], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.same(*expected), "{what}: {found:?}, not {expected:?}, {:?}", T::DATATYPE);
    }
}

/// All pairs of values: the targets' and the origins'.
fn pairs<T: Oracle>() -> (Vec<T>, Vec<T>) {
    let values = T::values();
    values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).unzip()
}

/// One operation that the datatype has, by all calls.
fn defined<T: Oracle>(at: &At<'_>, op: Op, expected: &[T]) {
    let (before, origin) = pairs::<T>();
    let name = op.name();
    at.store(&before);
    at.win.accumulate(&origin, op, at.target, at.disp).unwrap();
    at.expect(expected, &format!("accumulate {name}"));

    at.store(&before);
    let mut result = origin.clone();
    at.win.get_accumulate(&origin, &mut result, op, at.target, at.disp).unwrap();
    at.expect(expected, &format!("get_accumulate {name}"));
    same(&result, &before, &format!("result of get_accumulate {name}"));

    for ((before, origin), expected) in before.iter().zip(&origin).zip(expected) {
        at.store(&[*before]);
        let mut result = *origin;
        at.win.fetch_and_op(origin, &mut result, op, at.target, at.disp).unwrap();
        at.expect(&[*expected], &format!("fetch_and_op {name}"));
        same(&[result], &[*before], &format!("result of fetch_and_op {name}"));
    }
}

/// One operation that the datatype has not: refused by all calls, and nothing changes.
fn undefined<T: Oracle>(at: &At<'_>, op: Op) {
    let (before, origin) = pairs::<T>();
    at.store(&before);
    let mut result = origin.clone();
    let refused = [
        at.win.accumulate(&origin, op, at.target, at.disp),
        at.win.get_accumulate(&origin, &mut result, op, at.target, at.disp),
        at.win.fetch_and_op(&origin[0], &mut result[0], op, at.target, at.disp),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.class(), ErrorClass::Op, "{error}");
        let text = error.to_string();
        assert!(text.contains(op.name()) && text.contains(T::DATATYPE.name()), "{text}");
    }
    same(&result, &origin, "results of refused calls");
    at.expect(&before, "the target of refused calls");
}

fn column<T: Oracle>(win: &Win) {
    let target = Rank((win.comm().rank().0 + 1) % win.comm().size());
    win.lock(LockType::Exclusive, target).unwrap();
    // Aligned, and so that no element is aligned to anything.
    for disp in [0, 1] {
        let at = At { win, target, disp };
        for op in Op::ALL {
            let (before, origin) = pairs::<T>();
            let applied = before.iter().zip(&origin).map(|(t, o)| T::apply(op, *t, *o));
            match applied.collect::<Option<Vec<T>>>() {
                Some(expected) => defined(&at, op, &expected),
                None => undefined::<T>(&at, op),
            }
        }
        let (before, mut result) = (T::values(), vec![T::zeroed(); T::values().len()]);
        at.store(&before);
        win.get_accumulate(&[], &mut result, Op::NoOp, target, disp).unwrap();
        same(&result, &before, "get_accumulate NO_OP without an origin buffer");
    }
    win.unlock(target).unwrap();
}

/// Runs a column of the matrix on two ranks.
fn matrix(columns: &[fn(&Win)]) {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 256 * 16 + 1, 1).unwrap();
        columns.iter().for_each(|column| column(&win));
        win.free().unwrap();
    });
}

#[test]
fn signed_integers() {
    matrix(&[column::<i8>, column::<i16>, column::<i32>, column::<i64>]);
}

#[test]
fn unsigned_integers() {
    matrix(&[column::<u8>, column::<u16>, column::<u32>, column::<u64>]);
}

#[test]
fn floating_and_complex_numbers() {
    if needs_segment("the number as the maximum of a number and a NaN") {
        return;
    }
    matrix(&[column::<f32>, column::<f64>, column::<Complex<f32>>, column::<Complex<f64>>]);
}

#[test]
fn pairs_of_value_and_index() {
    matrix(&[
        column::<FloatInt>,
        column::<DoubleInt>,
        column::<LongInt>,
        column::<TwoInt>,
        column::<ShortInt>,
    ]);
}

fn swap_column<T: Oracle + Integer>(win: &Win) {
    let target = Rank((win.comm().rank().0 + 1) % win.comm().size());
    win.lock(LockType::Exclusive, target).unwrap();
    for disp in [0, 1] {
        let at = At { win, target, disp };
        let (targets, compares) = pairs::<T>();
        for (before, compare) in targets.into_iter().zip(compares) {
            for new in T::values() {
                at.store(&[before]);
                let mut result = new;
                win.compare_and_swap(&new, &compare, &mut result, target, disp).unwrap();
                at.expect(&[if before == compare { new } else { before }], "compare_and_swap");
                same(&[result], &[before], "result of compare_and_swap");
            }
        }
    }
    win.unlock(target).unwrap();
}

#[test]
fn compare_and_swap_of_every_integer_type() {
    matrix(&[
        swap_column::<i8>,
        swap_column::<i16>,
        swap_column::<i32>,
        swap_column::<i64>,
        swap_column::<u8>,
        swap_column::<u16>,
        swap_column::<u32>,
        swap_column::<u64>,
    ]);
}

#[test]
fn the_neighbours_of_an_element_stay() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 1).unwrap();
        let target = Rank(1 - world.rank().0);
        win.lock(LockType::Exclusive, target).unwrap();
        for disp in 1..40 {
            win.put(&[0x5Au8; 64], target, 0).unwrap();
            win.accumulate(&[u32::MAX; 2], Op::Bxor, target, disp).unwrap();
            win.accumulate(&[Complex::<f64>::default()], Op::Replace, target, disp + 8).unwrap();
            let mut all = [0u8; 64];
            win.get(&mut all, target, 0).unwrap();
            let mut expected = [0x5A; 64];
            expected[disp as usize..][..8].fill(0xA5);
            expected[disp as usize + 8..][..16].fill(0);
            assert_eq!(all, expected);
        }
        win.unlock(target).unwrap();
        win.free().unwrap();
    });
}
