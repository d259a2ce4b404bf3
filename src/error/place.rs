//! The context of an error.

use crate::call::Call;
use crate::rank::Rank;
use std::fmt;

/// The call, the window and the rank of an error.
///
/// ```
/// use onesided::{Access, Call, Error, Rank, WindowOptions};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let mut window = WindowOptions::new().name("grid").allocate::<u8>(universe.world(), 1)?;
/// let epoch = window.lock_all()?;
/// if let Err(Error::Range { at, .. }) = epoch.put(&[1, 2], Rank(0), 0) {
///     assert_eq!((at.call, at.window.as_deref()), (Call::Put, Some("grid")));
///     assert_eq!(at.rank, Some(universe.world().rank()));
/// }
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
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
