//! What all ranks of a file decide together: a collective call fails on all of them or on none.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use onesided::{Comm, Rank};
use std::fmt::Display;

/// The outcome of this rank. If it is good, but that of another rank is not, the failure of that one. Collective.
pub fn agree<T>(comm: &Comm, own: Outcome<T>) -> Outcome<T> {
    let code = own.as_ref().map_or_else(|failure| failure.code, |_| MPI_SUCCESS);
    let codes = comm.allgather(&[code])?;
    let value = own?;
    match codes.iter().position(|code| *code != MPI_SUCCESS) {
        None => Ok(value),
        Some(rank) => {
            let why = format!("the call has failed on rank {rank}");
            Err(Failure::new(codes[rank], why))
        }
    }
}

/// What rank 0 does for all ranks, which fail with it. All ranks have called it before `act` begins. Collective.
pub fn by_one(comm: &Comm, act: impl FnOnce() -> Outcome) -> Outcome {
    comm.barrier()?;
    agree(comm, if comm.rank() == Rank(0) { act() } else { Ok(()) })
}

/// Fails on all ranks if they do not give the same number. Collective.
pub fn same(comm: &Comm, what: &str, value: i64) -> Outcome {
    all_same(what, &comm.allgather(&[value])?)
}

/// [`same`] for a name.
pub fn same_name(comm: &Comm, what: &str, name: &str) -> Outcome {
    const LONGEST: usize = MPI_MAX_DATAREP_STRING as usize;
    let mut own = [0; LONGEST];
    own[..name.len()].copy_from_slice(name.as_bytes());
    let all = comm.allgather(&own)?;
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    all_same(what, &all.chunks(LONGEST).map(name).collect::<Vec<_>>())
}

fn all_same<T: Display + PartialEq>(what: &str, values: &[T]) -> Outcome {
    match values.iter().position(|other| *other != values[0]) {
        None => Ok(()),
        Some(rank) => {
            let (first, other) = (&values[0], &values[rank]);
            let why = format!("the {what} is {first} on rank 0, but {other} on rank {rank}");
            Err(Failure::new(MPI_ERR_NOT_SAME, why))
        }
    }
}
