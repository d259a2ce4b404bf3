//! The sequence of basic datatypes of a type map, without its displacements.

use super::Datatype;

/// Arithmetic of the digest is modulo this Mersenne prime.
const PRIME: u64 = (1 << 61) - 1;
/// An arbitrary base, large so that short sequences already differ in high bits.
const BASE: u64 = 0x0b5a_d4ec_eda1_ce2a;

/// A type signature (MPI-2.2 §4.1): the sequence of the basic elements' datatypes.
///
/// A pair type counts as its two numbers (MPI-4.1 §6.9.4), so it equals a struct of these. The
/// sequence is stored as a polynomial digest, which can be joined and repeated without writing the
/// sequence out. Two different sequences of the same length have the same digest with a probability of
/// about 2^-61 per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(super) elements: u64,
    /// The kind by the datatypes as the program has named them.
    pub(super) kind: SignatureKind,
    digest: u64,
}

/// The datatypes in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureKind {
    /// None.
    Empty,
    /// Only this one.
    One(Datatype),
    /// More than one.
    Mixed,
}

impl Signature {
    pub(super) const EMPTY: Signature =
        Signature { elements: 0, kind: SignatureKind::Empty, digest: 0 };

    pub(crate) fn of(datatype: Datatype) -> Signature {
        let one = |datatype| Signature {
            elements: 1,
            kind: SignatureKind::One(datatype),
            digest: 1 + datatype as u64,
        };
        let pair = datatype.pair().and_then(|(value, _)| one(value).then(one(Datatype::I32)));
        pair.map_or(one(datatype), |pair| Signature { kind: SignatureKind::One(datatype), ..pair })
    }

    /// Whether it is the same sequence of numbers.
    pub(super) fn agrees_with(&self, other: &Signature) -> bool {
        (self.elements, self.digest) == (other.elements, other.digest)
    }

    /// Of the whole sequence; never zero.
    pub(crate) fn digest(&self) -> u64 {
        self.digest << 1 | 1
    }

    /// This sequence, then `next`.
    pub(super) fn then(self, next: Signature) -> Option<Signature> {
        let kind = match (self.kind, next.kind) {
            (kind, SignatureKind::Empty) | (SignatureKind::Empty, kind) => kind,
            (a, b) if a == b => a,
            _ => SignatureKind::Mixed,
        };
        let elements = self.elements.checked_add(next.elements)?;
        let digest = add(multiply(self.digest, power(next.elements)), next.digest);
        Some(Signature { elements, kind, digest })
    }

    /// This sequence `times` times: squaring, as in a power.
    pub(crate) fn repeated(self, times: u64) -> Option<Signature> {
        let mut result = Signature::EMPTY;
        for bit in (0..u64::BITS - times.leading_zeros()).rev() {
            result = result.then(result)?;
            if times >> bit & 1 == 1 {
                result = result.then(self)?;
            }
        }
        Some(result)
    }
}

fn add(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

/// The base to the power of `exponent`.
fn power(mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1, BASE % PRIME);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}
