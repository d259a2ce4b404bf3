//! The context of an error.

use crate::call::Call;
use crate::rank::Rank;
use std::fmt;

/// The call, the window and the rank of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The call that failed.
    pub call: Call,
    /// The name of the window, if the call is one on a window.
    pub window: Option<Box<str>>,
    /// The rank that made the call, in the group of the window or communicator; `None` for calls
    /// on neither.
    pub rank: Option<Rank>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.call)?;
        if let Some(window) = &self.window {
            write!(f, " on window '{window}'")?;
        }
        self.rank.map_or(Ok(()), |rank| write!(f, " by rank {rank}"))
    }
}
