//! Reduction operations, as C has them (MPI-4.1 §6.9).

mod callback;
mod reduce;

pub use callback::UserFunction;
pub use reduce::Reduction;

use crate::abi::*;
use crate::datatype::{Datatype, Kind};
use crate::failure::{Failure, Outcome};
use crate::form;
use crate::handle::{Object, Table};
use onesided::Op;
use std::ffi::c_int;

/// What an `MPI_Op` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Predefined(Op),
    /// A function of the program (`MPI_Op_create`).
    User {
        function: UserFunction,
        commutative: bool,
    },
}

impl Operation {
    /// The operation of an accumulate on elements of that datatype. It has to be predefined, and the other
    /// buffers' basic elements have to be the same (MPI-4.1 §12.3.4). Without elements at the target, every
    /// operation is defined.
    #[inline]
    pub fn of_accumulate(
        &self,
        (datatype, count): (MPI_Datatype, usize),
        buffers: &[MPI_Datatype],
        does_fetch: bool,
    ) -> Outcome<Op> {
        let op = match self {
            Operation::Predefined(Op::NoOp) if !does_fetch => return Err(fetches_only()),
            Operation::Predefined(op) => *op,
            Operation::User { .. } => return Err(of_the_program()),
        };
        let target = datatype.get()?;
        let mut kinds = target.sequence().kinds;
        for other in buffers {
            kinds |= other.get()?.sequence().kinds;
        }
        if count != 0 && kinds.count_ones() > 1 {
            return Err(unlike());
        }
        if count != 0 {
            check(op, target)?;
        }
        Ok(op)
    }

    /// The fast path of [`Operation::of_accumulate`]: a predefined operation on elements of that kind, with
    /// [`COMBINED`] for one that fetches nothing.
    #[inline(always)]
    pub fn known(op: MPI_Op, kind: u16) -> Option<Op> {
        let place = form::op_place(op.value());
        let (operation, kinds) = PREDEFINED.get(place)?.as_ref()?;
        match operation {
            Operation::Predefined(op) if kind & !kinds == 0 => Some(*op),
            _ => None,
        }
    }

    /// Whether the order of the operands does not matter.
    pub fn is_commutative(&self) -> bool {
        match self {
            Operation::Predefined(op) => op.is_reduction(),
            Operation::User { commutative, .. } => *commutative,
        }
    }
}

/// A bit besides the [`Kind`] of elements: they are combined, and nothing is fetched.
pub const COMBINED: u16 = 1 << 8;

#[cold]
fn fetches_only() -> Failure {
    Failure::new(MPI_ERR_OP, "MPI_NO_OP is only for accumulates that fetch")
}

#[cold]
fn unlike() -> Failure {
    let why = "all basic elements of an accumulate, on every side, must have the same predefined \
               datatype";
    Failure::new(MPI_ERR_TYPE, why)
}

#[cold]
fn of_the_program() -> Failure {
    Failure::new(MPI_ERR_OP, "accumulates take predefined operations only")
}

/// Returns an error for a datatype for which the standard does not define the operation.
#[inline]
fn check(op: Op, datatype: &Datatype) -> Outcome {
    match datatype.sequence().is_of(kinds(op)) {
        true => Ok(()),
        false => Err(undefined(op, datatype)),
    }
}

/// The kinds of elements for which the standard defines an operation.
const fn kinds(op: Op) -> u16 {
    const NUMBERS: u16 = Kind::Integer as u16 | Kind::Floating as u16;
    let kinds = match op {
        Op::Sum | Op::Prod => NUMBERS | Kind::Complex as u16,
        Op::Max | Op::Min => NUMBERS,
        Op::Land | Op::Lor | Op::Lxor => Kind::Integer as u16 | Kind::Logical as u16,
        Op::Band | Op::Bor | Op::Bxor => Kind::Integer as u16 | Kind::Byte as u16,
        Op::Maxloc | Op::Minloc => Kind::Pair as u16 | Kind::FortranPair as u16,
        Op::NoOp => return !COMBINED,
        // All.
        _ => u16::MAX,
    };
    kinds | COMBINED
}

#[cold]
fn undefined(op: Op, datatype: &Datatype) -> Failure {
    let (op, datatype) = (op.name(), datatype.derived());
    Failure::new(MPI_ERR_OP, format!("{op} is not defined for {datatype:?}"))
}

/// By the places of their numbers in the ABI, each with its [`kinds`].
static PREDEFINED: [Option<(Operation, u16)>; 30] = {
    let mut all = [None; 30];
    let pairs = [
        (MPI_SUM, Op::Sum),
        (MPI_MIN, Op::Min),
        (MPI_MAX, Op::Max),
        (MPI_PROD, Op::Prod),
        (MPI_BAND, Op::Band),
        (MPI_BOR, Op::Bor),
        (MPI_BXOR, Op::Bxor),
        (MPI_LAND, Op::Land),
        (MPI_LOR, Op::Lor),
        (MPI_LXOR, Op::Lxor),
        (MPI_MINLOC, Op::Minloc),
        (MPI_MAXLOC, Op::Maxloc),
        (MPI_REPLACE, Op::Replace),
        (MPI_NO_OP, Op::NoOp),
    ];
    let mut k = 0;
    while k < pairs.len() {
        let (value, op) = pairs[k];
        all[form::op_place(value)] = Some((Operation::Predefined(op), kinds(op)));
        k += 1;
    }
    all
};

impl Object for Operation {
    const NAME: &'static str = "MPI_Op";
    const NULL: usize = MPI_OP_NULL;
    const CLASS: c_int = MPI_ERR_OP;
    const KIND: usize = 7;

    fn table() -> &'static Table<Operation> {
        static TABLE: Table<Operation> = Table::new();
        &TABLE
    }

    fn predefined(value: usize) -> Option<&'static Operation> {
        PREDEFINED.get(form::op_place(value))?.as_ref().map(|(operation, _)| operation)
    }
}
