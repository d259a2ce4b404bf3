//! Split collectives (MPI-4.1 §14.4.5). The first call does the work; the second one gives its status.

use super::File;
use super::access::{Buffer, Direction, Pointer};
use crate::abi::*;
use crate::arguments::Address;
use crate::failure::{Failure, Outcome};

/// A split collective that has begun: which one, its buffer, and how it has ended.
pub struct Split {
    direction: Direction,
    pointer: Pointer,
    start: Address,
    outcome: Outcome<MPI_Status>,
}

impl File {
    /// Begins one, which must be the only one of the file.
    pub fn begin_split(
        &self,
        direction: Direction,
        pointer: Pointer,
        start: Address,
        buffer: Outcome<Buffer>,
    ) -> Outcome {
        if self.has_split() {
            return Err(wrong("another split collective of the file has begun"));
        }
        let outcome = self.access(direction, pointer, buffer);
        if let Err(failure) = outcome {
            return Err(failure);
        }
        self.state().split = Some(Split { direction, pointer, start, outcome });
        Ok(())
    }

    /// Ends the one that has begun with these.
    pub fn end_split(
        &self,
        direction: Direction,
        pointer: Pointer,
        start: Address,
    ) -> Outcome<MPI_Status> {
        let mut state = self.state();
        let is_it = |split: &Split| {
            split.direction == direction && split.pointer.is_like(pointer) && split.start == start
        };
        match &state.split {
            None => Err(wrong("no split collective of the file has begun")),
            Some(split) if !is_it(split) => {
                Err(wrong("the split collective has begun with another call or buffer"))
            }
            Some(_) => state.split.take().map_or(Ok(crate::status::EMPTY), |split| split.outcome),
        }
    }

    pub fn has_split(&self) -> bool {
        self.state().split.is_some()
    }
}

fn wrong(why: &str) -> Failure {
    Failure::new(MPI_ERR_IO, why)
}
