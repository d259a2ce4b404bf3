//! The constructor of a datatype, for `MPI_Type_get_envelope` and `MPI_Type_get_contents` (MPI-4.1
//! §5.1.13).

use super::{Datatype, Shape};
use crate::abi::*;
use crate::arguments::Number;
use crate::failure::Outcome;
use crate::handle::Handle;
use std::ffi::c_int;
use std::sync::Arc;

/// The constructor's arguments, in the standard's order.
#[derive(Debug, Default)]
pub struct Made {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<Aint>,
    pub large_counts: Vec<Count>,
    pub datatypes: Vec<Part>,
}

/// A datatype among the arguments.
#[derive(Clone, Debug)]
pub enum Part {
    /// One that the program cannot free.
    Lasting(MPI_Datatype),
    /// One that it may have freed since.
    Derived(Arc<Shape>),
}

impl Part {
    pub fn of(handle: MPI_Datatype) -> Outcome<Part> {
        let datatype = handle.get()?;
        Ok(match datatype.lasts {
            true => Part::Lasting(handle),
            false => Part::Derived(datatype.shape.clone()),
        })
    }

    /// A handle for the program: a new one, unless the datatype lasts.
    pub fn handle(&self) -> MPI_Datatype {
        match self {
            Part::Lasting(handle) => *handle,
            Part::Derived(shape) => Handle::new(Datatype::of(shape.clone())),
        }
    }
}

impl Made {
    pub fn new(combiner: c_int) -> Made {
        Made { combiner, ..Made::default() }
    }

    /// An argument that is an `int` in both forms of the constructor.
    pub fn integer(mut self, value: c_int) -> Made {
        self.integers.push(value);
        self
    }

    /// [`Made::integer`] for an array.
    pub fn integers(mut self, values: &[c_int]) -> Made {
        self.integers.extend(values);
        self
    }

    /// A count, length or displacement: as a large count, an address or an integer, as the program gave it.
    pub fn number<N: Number>(mut self, value: N) -> Made {
        match N::KIND {
            NumberKind::Integer => self.integers.push(value.wide() as c_int),
            NumberKind::Address => self.addresses.push(value.wide() as Aint),
            NumberKind::LargeCount => self.large_counts.push(value.wide()),
        }
        self
    }

    /// [`Made::number`] for an array.
    pub fn numbers<N: Number>(self, values: &[N]) -> Made {
        values.iter().fold(self, |made, value| made.number(*value))
    }

    pub fn datatype(mut self, handle: MPI_Datatype) -> Outcome<Made> {
        self.datatypes.push(Part::of(handle)?);
        Ok(self)
    }

    pub fn datatypes(self, handles: &[MPI_Datatype]) -> Outcome<Made> {
        handles.iter().try_fold(self, |made, handle| made.datatype(*handle))
    }
}

/// The C type of a count, length or displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    Integer,
    Address,
    LargeCount,
}
