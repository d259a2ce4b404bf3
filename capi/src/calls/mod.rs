//! The functions that `abi/functions.txt` names as implementations of the standard's: most in lower case
//! and without `MPI_`. Those with a large-count form are generic over the type of their counts.

#![allow(clippy::too_many_arguments, reason = "they are the standard's")]

#[cfg(mpich)]
mod additions;
mod attributes;
mod buffers;
mod collectives;
mod communicators;
mod constructors;
mod datatypes;
mod dist_graphs;
mod environment;
mod errors;
mod file_accesses;
mod file_views;
mod files;
mod groups;
mod handlers;
mod infos;
mod intercommunicators;
mod making;
mod messages;
mod neighbourhoods;
mod operations;
mod ops;
mod packing;
mod partitioned;
mod reductions;
mod requests;
mod sends;
mod sessions;
mod statuses;
mod synchronisation;
mod toints;
mod tools;
mod topologies;
mod windows;

#[cfg(mpich)]
pub use additions::*;
pub use attributes::*;
pub use buffers::*;
pub use collectives::*;
pub use communicators::*;
pub use constructors::*;
pub use datatypes::*;
pub use dist_graphs::*;
pub use environment::*;
pub use errors::*;
pub use file_accesses::*;
pub use file_views::*;
pub use files::*;
pub use groups::*;
pub use handlers::*;
pub use infos::*;
pub use intercommunicators::*;
pub use making::*;
pub use messages::*;
pub use neighbourhoods::*;
pub use operations::*;
pub(crate) use operations::{check_buffer, elements};
pub use ops::*;
pub use packing::*;
pub use partitioned::*;
pub use reductions::*;
pub use requests::*;
pub use sends::*;
pub use sessions::*;
pub use statuses::*;
pub use synchronisation::*;
pub use toints::*;
pub use tools::*;
pub use topologies::*;
pub use windows::*;

use crate::abi::MPI_ERR_VALUE_TOO_LARGE;
use crate::arguments::Number;
use crate::failure::{Failure, Outcome};

/// A number for a parameter of C that may be too small for it.
fn narrow<N: Number>(value: i64) -> Outcome<N> {
    N::narrow(value).ok_or_else(|| {
        let why = format!("{value} does not fit the parameter; the large-count form has room");
        Failure::new(MPI_ERR_VALUE_TOO_LARGE, why)
    })
}
