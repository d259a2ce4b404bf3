//! The seam to a target's memory, and what is behind it: memory that is addressed in this process, private memory
//! of another process, which the kernel copies, and memory of another MPI. No operation asks which it is.
//!
//! Everything is complete when these functions return.
#![allow(unsafe_code, reason = "copies between checked buffers and checked target memory")]

use crate::call::Call;
use crate::datatype::{Carrier, Element, Integer};
use crate::error::Result;
use crate::foreign::ForeignWindow;
use crate::op::Op;
use crate::shm::{Piece, copy};
use crate::window::{Target, Via, Win};

/// What keeps updates of elements apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Atomicity {
    /// The machine's instructions, of elements that it has some for; of others the target's exclusion.
    Instructions,
    /// The target's exclusion.
    Exclusion,
    /// Whoever has the memory updates it itself.
    Owner,
}

impl Target<'_> {
    /// Whether its memory is addressed in this process.
    #[inline(always)]
    pub(super) fn is_addressed(&self) -> bool {
        matches!(self.via, Via::Mapped | Via::Own)
    }

    #[inline(always)]
    pub(super) fn atomicity(&self) -> Atomicity {
        match self.via {
            Via::Mapped => Atomicity::Instructions,
            Via::Own | Via::Kernel(_) => Atomicity::Exclusion,
            Via::Foreign => Atomicity::Owner,
        }
    }

    /// The address as a carrier, if the elements there are updated by instructions.
    #[inline]
    pub(super) fn native<T: Element>(&self) -> Option<*mut T::Carrier> {
        let is_aligned = (self.at as usize).is_multiple_of(size_of::<T>());
        let by_instructions = self.atomicity() == Atomicity::Instructions;
        (T::Carrier::IS_NATIVE && is_aligned && by_instructions).then_some(self.at.cast())
    }
}

impl Win {
    /// Writes pieces to a target.
    ///
    /// # Safety
    /// 1. Each own piece is valid for reads; the other lies in `target`.
    /// 2. No own piece overlaps another one's bytes at the target.
    #[cold]
    pub(super) unsafe fn write_pieces(
        &self,
        call: Call,
        target: &Target<'_>,
        pieces: &[Piece],
    ) -> Result<()> {
        match target.via {
            Via::Mapped | Via::Own => {
                for Piece { own, other, bytes } in pieces {
                    // SAFETY: the caller's obligations.
                    unsafe { copy(*own, *other, *bytes) };
                }
                Ok(())
            }
            Via::Kernel(process) => {
                // SAFETY: the caller's obligation 1; the window exposes the others.
                let written = unsafe { process.write_pieces(pieces) };
                written.map_err(|error| self.kernel_error(call, target.rank, error))
            }
            Via::Foreign => self.each_piece(call, target, pieces, |window, piece| {
                // SAFETY: the caller's obligation 1; complete before this function returns.
                unsafe { window.put(piece.own, target.rank, piece.other as u64, piece.bytes) }
            }),
        }
    }

    /// Reads pieces of a target.
    ///
    /// # Safety
    /// 1. Each own piece is valid for writes; the other lies in `target`.
    /// 2. No two own pieces overlap, and none another one's bytes at the target.
    #[cold]
    pub(super) unsafe fn read_pieces(
        &self,
        call: Call,
        target: &Target<'_>,
        pieces: &[Piece],
    ) -> Result<()> {
        match target.via {
            Via::Mapped | Via::Own => {
                for Piece { own, other, bytes } in pieces {
                    // SAFETY: the caller's obligations.
                    unsafe { copy(*other, *own, *bytes) };
                }
                Ok(())
            }
            Via::Kernel(process) => {
                // SAFETY: the caller's obligations.
                let read = unsafe { process.read_pieces(pieces) };
                read.map_err(|error| self.kernel_error(call, target.rank, error))
            }
            Via::Foreign => self.each_piece(call, target, pieces, |window, piece| {
                // SAFETY: the caller's obligations; complete before this function returns.
                unsafe { window.get(piece.own, target.rank, piece.other as u64, piece.bytes) }
            }),
        }
    }

    /// Has another MPI move pieces; an address at the target is an offset there.
    fn each_piece(
        &self,
        call: Call,
        target: &Target<'_>,
        pieces: &[Piece],
        each: impl Fn(&ForeignWindow, &Piece) -> crate::foreign::ForeignResult<()>,
    ) -> Result<()> {
        let window = self.owner();
        let moved = pieces.iter().try_for_each(|piece| each(window, piece));
        // Also those before one that was refused.
        window.flush(target.rank);
        self.checked(call, moved)
    }

    /// The window of another MPI that memory belongs to which its [owner](Atomicity::Owner) updates.
    fn owner(&self) -> &ForeignWindow {
        self.foreign().expect("only a window of another MPI has parts that are another MPI's")
    }

    /// Has the owner combine `origin` into as many elements, and fetch the values before into `result`, of
    /// which there are as many or none. With [`Op::NoOp`] `origin` is empty.
    #[cold]
    pub(super) fn update_by_owner<T: Element>(
        &self,
        call: Call,
        op: Op,
        target: &Target<'_>,
        origin: &[T],
        result: &mut [T],
    ) -> Result<()> {
        let (rank, at) = (target.rank, target.at as u64);
        let updated = match (result, op) {
            ([], Op::NoOp) => Ok(()),
            ([], _) => self.owner().accumulate(origin, op, rank, at),
            (result, _) => self.owner().fetch(origin, result, op, rank, at),
        };
        self.checked(call, updated)
    }

    /// Has the owner compare and swap an element; the value before.
    #[cold]
    pub(super) fn swap_by_owner<T: Integer>(
        &self,
        target: &Target<'_>,
        new: &T,
        compare: &T,
    ) -> Result<T> {
        let at = target.at as u64;
        let swapped = self.owner().compare_and_swap(new, compare, target.rank, at);
        self.checked(Call::CompareAndSwap, swapped)
    }
}
