//! Reduction operations, as C has them (MPI-4.1 §6.9).

use crate::abi::*;
use crate::arguments::Function;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use onesided::Op;
use std::ffi::c_int;

/// What an `MPI_Op` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Predefined(Op),
    /// A function of the program (`MPI_Op_create`); `large` if its length is an `MPI_Count`.
    User {
        function: Function,
        commutative: bool,
        large: bool,
    },
}

impl Operation {
    /// The operation of an accumulate, which has to be predefined (MPI-4.1 §12.3.4).
    pub fn of_accumulate(&self) -> Outcome<Op> {
        match self {
            Operation::Predefined(op) => Ok(*op),
            Operation::User { .. } => {
                let why = "accumulates take predefined operations only";
                Err(Failure::new(MPI_ERR_OP, why))
            }
        }
    }
}

/// By their numbers in the ABI, from `MPI_OP_NULL` on.
static PREDEFINED: [Option<Operation>; 30] = {
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
        all[pairs[k].0 - MPI_OP_NULL] = Some(Operation::Predefined(pairs[k].1));
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
        PREDEFINED.get(value.checked_sub(MPI_OP_NULL)?)?.as_ref()
    }
}
