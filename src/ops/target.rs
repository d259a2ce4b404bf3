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
    #[inline]
    pub(super) fn target(
        &self,
        call: Call,
        target: Rank,
        disp: u64,
        bytes: u64,
    ) -> Result<Option<Target>> {
        if target == Rank::NULL {
            return self.null_target(call);
        }
        self.check_rank(call, target)?;
        self.check_operation(call, target.0)?;
        let part = self.part(target.0);
        match part.span.at(disp, part.disp_unit, bytes) {
            Some(at) => Ok(Some(Target { rank: target.0, at })),
            None => Err(self.out_of_range(call, target.0, disp, bytes)),
        }
    }

    /// MPI-2.2 §11.3: an operation on MPI_PROC_NULL does nothing, but belongs in an epoch.
    #[cold]
    fn null_target(&self, call: Call) -> Result<Option<Target>> {
        self.check_any_access(call)?;
        Ok(None)
    }

    #[cold]
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
    #[inline]
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
        Err(Error::Conflict {
            at: self.place(call),
            target: target.rank,
            displacement: disp,
            bytes: bytes as u64,
        })
    }
}
