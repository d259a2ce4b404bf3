//! From (rank, displacement, bytes) to checked memory: every range check of the operations.

use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::window::Win;

/// Bytes of a target's part that an operation may access.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) rank: u32,
    pub(super) at: *mut u8,
}

impl Win {
    /// The target bytes of an operation, after every check: `None` for [`Rank::NULL`].
    ///
    /// What every correct call needs is inlined and stays in registers; why a call is refused is
    /// found out by [`Win::no_target`].
    #[inline(always)]
    pub(super) fn target(
        &self,
        call: Call,
        target: Rank,
        disp: u64,
        bytes: u64,
    ) -> Result<Option<Target>> {
        let at = self.reach(target).and_then(|part| part.span.at(disp, part.disp_unit, bytes));
        match at {
            Some(at) => Ok(Some(Target { rank: target.0, at })),
            None => self.no_target(call, target, disp, bytes),
        }
    }

    /// Why there are no target bytes: [`Rank::NULL`], or an error.
    #[cold]
    #[inline(never)]
    fn no_target(&self, call: Call, target: Rank, disp: u64, bytes: u64) -> Result<Option<Target>> {
        if target == Rank::NULL {
            return self.null_target(call);
        }
        self.check_rank(call, target)?;
        self.check_operation(call, target.0)?;
        if bytes == 0 {
            // No bytes fit anywhere.
            return Ok(None);
        }
        Err(self.out_of_range(call, target.0, disp, bytes))
    }

    /// MPI-2.2 §11.3: an operation on MPI_PROC_NULL does nothing, but belongs in an epoch.
    fn null_target(&self, call: Call) -> Result<Option<Target>> {
        self.check_any_access(call)?;
        Ok(None)
    }

    fn out_of_range(&self, call: Call, target: u32, displacement: u64, bytes: u64) -> Error {
        let part = self.part(target);
        Error::Range {
            at: self.place(call),
            target,
            displacement,
            bytes,
            disp_unit: part.disp_unit,
            size: part.span.len(),
        }
    }

    /// Refuses an origin buffer that overlaps the target bytes of the same operation.
    #[inline(always)]
    pub(super) fn check_apart(
        &self,
        call: Call,
        target: Target,
        disp: u64,
        origin: *const u8,
        bytes: usize,
    ) -> Result<()> {
        let distance = (origin as usize).abs_diff(target.at as usize);
        if distance >= bytes {
            return Ok(());
        }
        Err(self.conflict(call, target, disp, bytes))
    }

    #[cold]
    #[inline(never)]
    fn conflict(&self, call: Call, target: Target, displacement: u64, bytes: usize) -> Error {
        let (target, bytes) = (target.rank, bytes as u64);
        Error::Conflict { at: self.place(call), target, displacement, bytes }
    }
}
