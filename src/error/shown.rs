//! How errors are shown, and made of what the system says.

use super::Error;
use std::fmt;

/// What every call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The sentence, not the structure: `fn main() -> onesided::Result<()>` prints errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.class())
    }
}

pub(super) fn holding(lock_of: &Option<u32>) -> String {
    lock_of.map_or_else(String::new, |rank| format!("; it held the exclusive lock of rank {rank}"))
}

impl Error {
    /// A refusal of the operating system.
    pub(crate) fn system(what: &'static str, source: impl Into<std::io::Error>) -> Error {
        Error::System { what, source: source.into() }
    }
}
