//! The data representation "external32" (MPI-4.1 §14.5.2): every number big-endian, of a size that does
//! not depend on the machine, without padding.

use super::Sequence;
use super::basic::{Basic, Format, Unit};
use crate::abi::*;
use crate::failure::{Failure, Outcome};
use std::ops::ControlFlow;

/// The largest size of a number in bytes.
const WIDEST: usize = 16;

/// The packed bytes of the given number of instances in the external representation.
pub fn to_external(sequence: &Sequence, count: u64, packed: &[u8]) -> Outcome<Vec<u8>> {
    let mut external = Vec::with_capacity((sequence.external * count) as usize);
    let mut rest = packed;
    let walked = sequence.walk(count, &mut |basic, times| {
        for _ in 0..times {
            for unit in basic.units {
                let (number, behind) = rest.split_at(unit.bytes);
                rest = behind;
                match outwards(unit, number) {
                    Some(bytes) => external.extend(&bytes[WIDEST - unit.external..]),
                    None => return ControlFlow::Break(basic),
                }
            }
        }
        ControlFlow::Continue(())
    });
    match walked {
        ControlFlow::Continue(()) => Ok(external),
        ControlFlow::Break(basic) => Err(too_large(basic)),
    }
}

#[cold]
fn too_large(basic: &Basic) -> Failure {
    let why = format!("a number of {} is too large for \"external32\"", basic.name);
    Failure::new(MPI_ERR_VALUE_TOO_LARGE, why)
}

/// The packed bytes of `external`, which has the bytes of the given number of instances, or the first of them.
pub fn from_external(sequence: &Sequence, count: u64, external: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity((sequence.size * count) as usize);
    let mut rest = external;
    let _walked: ControlFlow<()> = sequence.walk(count, &mut |basic, times| {
        for _ in 0..times {
            for unit in basic.units {
                let Some((number, behind)) = rest.split_at_checked(unit.external) else {
                    return ControlFlow::Break(());
                };
                rest = behind;
                packed.extend(&inwards(unit, number)[..unit.bytes]);
            }
        }
        ControlFlow::Continue(())
    });
    packed
}

/// A number of the machine, which is little-endian, as the last bytes of a big-endian one; `None` if
/// it does not fit.
fn outwards(unit: &Unit, number: &[u8]) -> Option<[u8; WIDEST]> {
    let fill = match unit.format {
        Format::Signed if number.last().is_some_and(|last| last & 0x80 != 0) => 0xFF,
        _ => 0,
    };
    let mut wide = [fill; WIDEST];
    wide[..unit.bytes].copy_from_slice(number);
    let value = match unit.format {
        Format::LongDouble => extended_to_quad(u128::from_le_bytes(wide)),
        _ => u128::from_le_bytes(wide),
    };
    let bits = 8 * unit.external as u32;
    let fits = match unit.format {
        Format::Signed => {
            let shift = 128 - bits;
            (value as i128) << shift >> shift == value as i128
        }
        Format::Unsigned => bits == 128 || value >> bits == 0,
        Format::Floating | Format::LongDouble => true,
    };
    fits.then_some(value.to_be_bytes())
}

/// A big-endian number as the first bytes of a little-endian one.
fn inwards(unit: &Unit, number: &[u8]) -> [u8; WIDEST] {
    let fill = match unit.format {
        Format::Signed if number.first().is_some_and(|first| first & 0x80 != 0) => 0xFF,
        _ => 0,
    };
    let mut wide = [fill; WIDEST];
    wide[WIDEST - unit.external..].copy_from_slice(number);
    let value = u128::from_be_bytes(wide);
    match unit.format {
        Format::LongDouble => quad_to_extended(value).to_le_bytes(),
        _ => value.to_le_bytes(),
    }
}

/// The bits of the fraction of an IEEE 754 number of 16 bytes, and how many fewer x86's `long double`
/// has. It stores the leading bit, too.
const FRACTION: u32 = 112;
const LESS: u32 = FRACTION - 63;

/// Sign and exponent are the same in both.
fn extended_to_quad(value: u128) -> u128 {
    let (head, mantissa) = (value >> 64 & 0xFFFF, value & u128::from(u64::MAX));
    let fraction = (mantissa & u128::from(u64::MAX >> 1)) << LESS;
    // A denormal number whose leading bit is set is the smallest normal one.
    let head = if head & 0x7FFF == 0 && mantissa >> 63 == 1 { head + 1 } else { head };
    head << FRACTION | fraction
}

/// Rounds to the nearest, of two to the even one.
fn quad_to_extended(value: u128) -> u128 {
    let (head, fraction) = (value >> FRACTION, value & ((1 << FRACTION) - 1));
    let (upper, lost) = (fraction >> LESS, fraction & ((1 << LESS) - 1));
    let half = 1 << (LESS - 1);
    let is_finite = head & 0x7FFF != 0x7FFF;
    let up = is_finite && (lost > half || lost == half && upper & 1 == 1);
    // A carry out of the fraction correctly increments the exponent.
    let rounded = (head << 63 | upper) + u128::from(up);
    // A NaN with only lost bits would become infinite.
    let quiet = if !is_finite && fraction != 0 { 1 << 62 } else { 0 };
    let (head, fraction) = (rounded >> 63, rounded & u128::from(u64::MAX >> 1) | quiet);
    let point = u128::from(head & 0x7FFF != 0) << 63;
    head << 64 | point | fraction
}

#[cfg(test)]
mod tests {
    use super::super::basic::BASICS;
    use super::*;

    fn basic(name: &str) -> Sequence {
        Sequence::of(BASICS.iter().find(|basic| basic.name == name).unwrap())
    }

    #[test]
    fn numbers_are_big_endian_outside() {
        let int = basic("MPI_INT");
        let external = to_external(&int, 2, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(external, [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(from_external(&int, 2, &external), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_long_has_four_bytes_outside() {
        for (name, value, fits) in [
            ("MPI_LONG", -2i64, true),
            ("MPI_LONG", i64::from(i32::MIN), true),
            ("MPI_LONG", 1 << 31, false),
            ("MPI_UNSIGNED_LONG", 1 << 31, true),
            ("MPI_UNSIGNED_LONG", 1 << 32, false),
        ] {
            let long = basic(name);
            let external = to_external(&long, 1, &value.to_le_bytes());
            assert_eq!(external.is_ok(), fits, "{name} {value}");
            if let Ok(external) = external {
                assert_eq!(external, (value as i32).to_be_bytes());
                assert_eq!(from_external(&long, 1, &external), value.to_le_bytes());
            }
        }
    }

    #[test]
    fn pairs_are_two_numbers() {
        let pair = basic("MPI_DOUBLE_INT");
        let packed = [&2.5f64.to_le_bytes()[..], &[7, 0, 0, 0]].concat();
        let external = to_external(&pair, 1, &packed).unwrap();
        assert_eq!(external, [&2.5f64.to_be_bytes()[..], &[0, 0, 0, 7]].concat());
        assert_eq!(from_external(&pair, 1, &external), packed);
    }

    #[test]
    fn long_doubles_come_back() {
        let bits = |head: u128, mantissa: u64| head << 64 | u128::from(mantissa);
        let one = bits(16383, 1 << 63);
        assert_eq!(extended_to_quad(one), 16383 << FRACTION);
        let numbers = [
            one,
            bits(0x8000 | 16384, 0xC000_0000_0000_0001),
            bits(0, 0),
            bits(0x8000, 0),
            bits(0, 1),
            bits(0x7FFF, 1 << 63),
            bits(0x7FFF, 3 << 62),
            bits(0x7FFE, u64::MAX),
        ];
        for number in numbers {
            assert_eq!(quad_to_extended(extended_to_quad(number)), number, "{number:x}");
        }
        // 2 less the smallest difference that a number of 16 bytes has is rounded to 2.
        let almost = (16384 << FRACTION) - 1;
        assert_eq!(quad_to_extended(almost), bits(16384, 1 << 63));
        let signalling = 0x7FFF << FRACTION | 1;
        assert_eq!(quad_to_extended(signalling), bits(0x7FFF, 3 << 62));
    }
}
