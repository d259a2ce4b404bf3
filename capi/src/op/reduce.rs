//! Reductions: combining the elements of two buffers of this process, for the collectives and for
//! `MPI_Reduce_local`.

use super::{Operation, check};
use crate::abi::*;
use crate::arguments::Address;
use crate::datatype::{Datatype, Kind, usable};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use onesided::{CommittedDatatype, Op};

/// An operation with a datatype for which it is defined.
///
/// It owns what it needs of both, except the handle that is an argument of the program's function. The
/// program may free that handle while the operation still runs; [`Reduction::owned`] is for such
/// operations.
pub struct Reduction {
    operation: Operation,
    committed: CommittedDatatype,
    handle: MPI_Datatype,
    /// Whether the handle is this one's own.
    owned: bool,
    /// Whether the elements are pairs of Fortran, for which the library has no datatype.
    fortran: bool,
}

impl Reduction {
    /// Refuses an undefined pair: MPI_ERR_OP, as in the standard.
    pub fn new(op: MPI_Op, datatype: MPI_Datatype) -> Outcome<Reduction> {
        let operation = *op.get()?;
        let (committed, owned) = (usable(datatype)?.clone(), false);
        let sequence = datatype.get()?.sequence();
        let fortran = sequence.kinds != 0 && sequence.is_of(Kind::FortranPair as u16);
        if let Operation::Predefined(op) = operation {
            if !op.is_reduction() {
                let why = format!("{} is for accumulates only", op.name());
                return Err(Failure::new(MPI_ERR_OP, why));
            }
            check(op, datatype.get()?)?;
        }
        let is_uniform = sequence.kinds == 0 || committed.datatype().uniform().is_some();
        if !is_uniform && matches!(operation, Operation::Predefined(_)) {
            let why = "a predefined operation takes elements of one predefined datatype";
            return Err(Failure::new(MPI_ERR_OP, why));
        }
        Ok(Reduction { operation, committed, handle: datatype, owned, fortran })
    }

    /// The same for an operation that may outlive the program's handle of the datatype.
    pub fn owned(mut self) -> Outcome<Reduction> {
        let datatype = self.handle.get()?;
        if !datatype.lasts() && !self.owned && matches!(self.operation, Operation::User { .. }) {
            self.handle = Handle::new(datatype.shared());
            self.owned = true;
        }
        Ok(self)
    }

    /// The operation, and whether its elements are pairs of Fortran.
    pub fn operation(&self) -> (Operation, bool) {
        (self.operation, self.fortran)
    }

    /// The datatype of the elements.
    pub fn datatype(&self) -> &CommittedDatatype {
        &self.committed
    }

    /// Replaces each element of the instances at `inout` by the operation of that at `input` and it
    /// (the order of the operands in MPI-4.1 §6.9.5). Displacement 0 of each is at the address.
    /// The buffers do not overlap.
    pub fn combine(&self, input: Address, inout: Address, count: usize) -> Outcome {
        match self.operation {
            _ if count == 0 || self.committed.bytes(1) == Some(0) => Ok(()),
            Operation::User { function, .. } => {
                function.call(input, inout, count, self.handle);
                Ok(())
            }
            Operation::Predefined(op) if self.fortran => self.pairs(op, input, inout, count),
            Operation::Predefined(op) => {
                let (from, to) = (
                    input.origin(count, &self.committed),
                    inout.origin_mut(count, &self.committed),
                );
                Ok(op.reduce_local(from, to)?)
            }
        }
    }

    /// [`Reduction::combine`] of slices that begin with the first byte of an element, and end
    /// behind the last: `range` of [`Reduction::datatype`].
    #[cfg(test)]
    fn combine_slices(&self, input: &[u8], inout: &mut [u8], count: usize) -> Outcome {
        let range = self.committed.range(count);
        let Some(range) = range.filter(|range| {
            let bytes = range.end.abs_diff(range.start);
            bytes <= input.len() as u64 && bytes <= inout.len() as u64
        }) else {
            let why = format!("{count} of {:?} are not in the buffers", self.committed);
            return Err(Failure::new(MPI_ERR_INTERN, why));
        };
        let start = -(range.start as isize);
        let (input, inout) = (Address::of(input.as_ptr()), Address::of(inout.as_mut_ptr()));
        self.combine(input.offset(start), inout.offset(start), count)
    }

    /// `MPI_MAXLOC` and `MPI_MINLOC` of pairs whose index is a floating number.
    fn pairs(&self, op: Op, input: Address, inout: Address, count: usize) -> Outcome {
        let bytes = self.committed.bytes(count).unwrap_or(0) as usize;
        let (mut from, mut to) = (vec![0; bytes], vec![0; bytes]);
        input.origin(count, &self.committed).pack(&mut from)?;
        inout.origin(count, &self.committed).pack(&mut to)?;
        match self.committed.datatype().uniform() {
            Some(onesided::Datatype::F32) => {
                pick::<4, 8>(op, &from, &mut to, |bytes| f32::from_ne_bytes(bytes).into())
            }
            _ => pick::<8, 16>(op, &from, &mut to, f64::from_ne_bytes),
        }
        Ok(inout.origin_mut(count, &self.committed).unpack(&to)?)
    }
}

/// Replaces each pair of `to` by that of `from` if this has the better value, or an equal one and the
/// smaller index. A number has `N` bytes and a pair `PAIR`.
fn pick<const N: usize, const PAIR: usize>(
    op: Op,
    from: &[u8],
    to: &mut [u8],
    number: impl Fn([u8; N]) -> f64,
) {
    let read = |pair: &[u8; PAIR]| {
        let (numbers, _) = pair.as_chunks::<N>();
        (number(numbers[0]), number(numbers[1]))
    };
    let ((from, _), (to, _)) = (from.as_chunks::<PAIR>(), to.as_chunks_mut::<PAIR>());
    for (a, b) in from.iter().zip(to) {
        let ((new, at), (old, old_at)) = (read(a), read(b));
        let better = if op == Op::Maxloc { new > old } else { new < old };
        if better || new == old && at < old_at {
            *b = *a;
        }
    }
}

impl Drop for Reduction {
    fn drop(&mut self) {
        if self.owned {
            // The handle is this one's own, so there is one to remove.
            let _removed: Outcome<Datatype> = self.handle.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduction(op: usize, datatype: usize) -> Outcome<Reduction> {
        Reduction::new(MPI_Op::predefined(op), MPI_Datatype::predefined(datatype))
    }

    #[test]
    fn pairs_of_fortran_are_picked_by_value_and_index() {
        let bytes = |numbers: [f64; 6]| numbers.map(f64::to_ne_bytes).concat();
        let from = bytes([1.0, 9.0, 5.0, 3.0, 2.0, 4.0]);
        let of = |op| {
            let mut to = bytes([2.0, 0.0, 4.0, 1.0, 2.0, 6.0]);
            let reduction = reduction(op, MPI_2DOUBLE_PRECISION).unwrap();
            reduction.combine_slices(&from, &mut to, 3).unwrap();
            to
        };
        assert_eq!(of(MPI_MAXLOC), bytes([2.0, 0.0, 5.0, 3.0, 2.0, 4.0]));
        assert_eq!(of(MPI_MINLOC), bytes([1.0, 9.0, 4.0, 1.0, 2.0, 4.0]));
    }

    #[test]
    fn an_operation_takes_what_the_standard_says() {
        let takes = [
            (MPI_SUM, MPI_LONG_DOUBLE, true),
            (MPI_SUM, MPI_C_BOOL, false),
            (MPI_SUM, MPI_2INT, false),
            (MPI_SUM, MPI_WCHAR, false),
            (MPI_SUM, MPI_REAL16, false),
            (MPI_SUM, MPI_INTEGER16, true),
            (MPI_MAX, MPI_DOUBLE_COMPLEX, false),
            (MPI_LAND, MPI_LOGICAL, true),
            (MPI_LAND, MPI_DOUBLE, false),
            (MPI_LAND, MPI_BYTE, false),
            (MPI_BXOR, MPI_BYTE, true),
            (MPI_BXOR, MPI_LOGICAL, false),
            (MPI_MINLOC, MPI_2REAL, true),
            (MPI_MINLOC, MPI_LONG_DOUBLE_INT, true),
            (MPI_MINLOC, MPI_INT, false),
            (MPI_REPLACE, MPI_INT, false),
            (MPI_NO_OP, MPI_INT, false),
        ];
        for (op, datatype, expected) in takes {
            match reduction(op, datatype) {
                Ok(_) => assert!(expected, "{op:#x} {datatype:#x}"),
                Err(failure) => {
                    assert_eq!(
                        (failure.code, expected),
                        (MPI_ERR_OP, false),
                        "{op:#x} {datatype:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn logical_results_are_one_or_zero() {
        let logical = |op, a: [i32; 4], b: [i32; 4]| {
            let mut to = b.map(i32::to_ne_bytes).concat();
            let from = a.map(i32::to_ne_bytes).concat();
            reduction(op, MPI_LOGICAL).unwrap().combine_slices(&from, &mut to, 4).unwrap();
            let (now, _) = to.as_chunks();
            now.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect::<Vec<_>>()
        };
        let (a, b) = ([0, 0, 7, -1], [0, 5, 0, 3]);
        assert_eq!(logical(MPI_LAND, a, b), [0, 0, 0, 1]);
        assert_eq!(logical(MPI_LOR, a, b), [0, 1, 1, 1]);
        assert_eq!(logical(MPI_LXOR, a, b), [0, 1, 1, 0]);
    }
}
