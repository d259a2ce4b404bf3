//! Error handlers: the reaction to an error before the call returns it (MPI-4.1 §9.3).

use crate::error::Error;
use std::fmt;
use std::sync::Arc;

/// An error handler of a window or communicator.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let window = Window::<u32>::allocate(world, 1)?;
/// window.set_error_handler(onesided::ErrorHandler::user(|error| eprintln!("{error}")));
/// assert!(window.load_one(1).is_err()); // it has printed why
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Default)]
pub enum ErrorHandler {
    /// `MPI_ERRORS_RETURN`: the call returns the error, and nothing else happens. The default.
    #[default]
    Return,
    /// `MPI_ERRORS_ARE_FATAL`: the error is printed and this process ends with exit code 1; the launcher
    /// then ends the job.
    Fatal,
    /// A function that sees the error before the call returns it.
    User(Arc<dyn Fn(&Error) + Send + Sync>),
}

impl ErrorHandler {
    /// A handler that calls `function`.
    pub fn user(function: impl Fn(&Error) + Send + Sync + 'static) -> ErrorHandler {
        ErrorHandler::User(Arc::new(function))
    }

    /// `MPI_Win_call_errhandler` and `MPI_Comm_call_errhandler` (MPI-4.1 §9.5): handles `error`. For
    /// libraries over windows, which find errors of their own. Local.
    #[doc(alias("MPI_Win_call_errhandler", "MPI_Comm_call_errhandler"))]
    #[allow(clippy::disallowed_methods, reason = "fatal: the job is to end, and to know why")]
    pub fn handle(&self, error: &Error) {
        match self {
            ErrorHandler::Return => {}
            ErrorHandler::User(function) => function(error),
            ErrorHandler::Fatal => {
                eprintln!("{error:?}");
                std::process::exit(1)
            }
        }
    }
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorHandler::Return => "Return",
            ErrorHandler::Fatal => "Fatal",
            ErrorHandler::User(_) => "User",
        })
    }
}
