//! Operations on windows of another MPI: complete when they return, as all are.
#![allow(unsafe_code, reason = "hands checked buffers to another MPI")]

use super::update::Update;
use crate::call::Call;
use crate::datatype::{Element, Integer};
use crate::error::Result;
use crate::foreign::Window;
use crate::op::Op;
use crate::shm::Piece;
use crate::window::{Target, Win};

impl Win {
    /// The window that `Via::Foreign` goes by.
    fn by(&self) -> &Window {
        self.foreign().expect("only a window of another MPI has parts that are another MPI's")
    }

    /// Moves pieces between buffers and `target`, at whose offsets `other` is: to it if it is a `put`.
    ///
    /// # Safety
    /// The own pieces are valid for reads, and of a get for writes; it writes no byte twice.
    #[cold]
    pub(super) unsafe fn move_by(
        &self,
        call: Call,
        target: u32,
        put: bool,
        pieces: &[Piece],
    ) -> Result<()> {
        let moved = pieces.iter().try_for_each(|piece| {
            let &Piece { own, other, bytes } = piece;
            match put {
                // SAFETY: the caller's obligation; complete before this returns.
                true => unsafe { self.by().put(own, target, other as u64, bytes) },
                // SAFETY: as above.
                false => unsafe { self.by().get(own, target, other as u64, bytes) },
            }
        });
        // Also those before one that was refused.
        self.by().flush(target);
        self.told(call, moved)
    }

    /// Updates `n` elements of another MPI's; how many. `result` receives the values before, unless it
    /// is empty.
    #[cold]
    pub(super) fn update_by<T: Element>(
        &self,
        update: &Update<'_, T>,
        n: usize,
        origin: &[T],
        result: &mut [T],
    ) -> Result<usize> {
        let &Update { op, call, ref target, .. } = update;
        let (rank, at) = (target.rank, target.at as u64);
        let updated = match (result, op) {
            ([], Op::NoOp) => Ok(()),
            ([], _) => self.by().accumulate(&origin[..n], op, rank, at),
            (result, _) => self.by().fetch(origin, result, op, rank, at),
        };
        self.told(call, updated).map(|()| n)
    }

    /// Compares and swaps an element of another MPI's; the value before.
    #[cold]
    pub(super) fn swap_by<T: Integer>(
        &self,
        target: &Target<'_>,
        new: &T,
        compare: &T,
    ) -> Result<T> {
        let at = target.at as u64;
        let swapped = self.by().compare_and_swap(new, compare, target.rank, at);
        self.told(Call::CompareAndSwap, swapped)
    }
}
