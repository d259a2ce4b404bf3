//! Illegal calls that are accepted where a binding asks for it, because other libraries accept them and
//! their meaning is clear. They are request-based operations in epochs of fence and start (MPI-4.1
//! §12.3.5), and locks of a window whose hint `no_locks` is in force (§12.2.1).

use super::calls::Calls;
use super::grant::AccessState;
use crate::call::Call;
use crate::error::Result;
use std::sync::OnceLock;

/// Called at the first such call of the job; if it is not set, such calls are refused.
#[derive(Default)]
pub(super) struct Leniency(OnceLock<fn(&str)>);

impl Calls {
    /// Accepts such calls on the window from now on. The first one of the job, on any rank, calls `warn`
    /// with a sentence for the user.
    pub(super) fn accept_what_is_plain(&self, warn: fn(&str)) {
        self.leniency.0.get_or_init(|| warn);
    }

    /// Refuses a request-based operation in an epoch of active target synchronisation. The operation does
    /// the other checks.
    pub(crate) fn check_passive(&self, call: Call) -> Result<()> {
        if self.is_passive() {
            return Ok(());
        }
        let problem = format!("{call} is allowed in an epoch of lock or lock_all only");
        if self.is_accepted(&problem) {
            return Ok(());
        }
        Err(self.wrong_epoch(call, problem))
    }

    /// Whether the window is in no epoch of active target synchronisation.
    #[inline(always)]
    pub(crate) fn is_passive(&self) -> bool {
        !matches!(self.epochs.access(), AccessState::Fence | AccessState::Started)
    }

    /// Whether a call is accepted that is wrong for the reason `what`.
    #[cold]
    pub(super) fn is_accepted(&self, what: &str) -> bool {
        let Some(warn) = self.leniency.0.get() else { return false };
        if self.context().segment.is_first_to_note() {
            let window = self.identity.name();
            warn(&format!(
                "window {window}: {what}; accepted, because other libraries accept it (rmarun --strict \
                 refuses such calls; further ones are not reported)"
            ));
        }
        true
    }
}
