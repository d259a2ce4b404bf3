//! How a collective combines the elements of this process with others, and takes what others have staged.
//! Buffers and scratch memory are those of [`crate::ops`].

use crate::comm::{OpKind, Reduction, Staged};
use crate::datatype::CommittedDatatype;
use crate::datatype::Element;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::ops::{HasDatatype, Incoming, Origin, OriginMut};
use std::borrow::Borrow;
use std::sync::Arc;

pub(super) use crate::ops::{Buffer, BufferMut, HeldDatatype, Scratch, scratch, scratch_beside};

/// How a form has datatype and operation: held, or lent for the time of a call.
pub(super) trait Has: HasDatatype {
    type Combine: Borrow<Combine>;
}

impl Has for HeldDatatype {
    type Combine = Combine;
}

impl<'d> Has for &'d CommittedDatatype {
    type Combine = &'d Combine;
}

/// Replaces each instance of the second buffer by its combination with that of the first, which has as many.
type CombineFunction = dyn Fn(&Buffer, &mut BufferMut) + Send + Sync;

/// The function of a reduction: replaces each instance of the second buffer by its combination with that
/// of the first, which comes from lower ranks.
///
/// ```
/// use onesided::engine::{Combine, OriginMut};
/// use onesided::{Datatype, Op};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let mut number = 1 + world.rank().0;
/// // SAFETY: nothing else uses `number` until the reduction is complete.
/// let buffer = unsafe { OriginMut::new((&raw mut number).cast(), 1, Datatype::U32) };
/// // `None`: the contribution is in place.
/// world.start_allreduce(None, buffer, Combine::of(Op::Sum))?.wait()?;
/// assert_eq!(number, 3);
/// # Ok(())
/// # });
/// ```
#[derive(Clone)]
pub struct Combine {
    /// `None` for an operation on elements of one basic datatype.
    function: Option<Arc<CombineFunction>>,
    pub(super) kind: OpKind,
}

impl std::fmt::Debug for Combine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Combine").finish_non_exhaustive()
    }
}

impl Combine {
    /// An operation of the standard on elements of one basic datatype, for which it is defined.
    pub fn of(op: Op) -> Combine {
        Combine { function: None, kind: OpKind::Predefined(op) }
    }

    /// Whether it is that, not a function.
    pub(super) fn is_predefined(&self) -> bool {
        self.function.is_none()
    }

    /// What a reduction of elements does; `None` if it is not defined for them.
    pub(super) fn by<T: Element>(op: &impl Reduction<T>) -> Option<Combine> {
        match op.user() {
            Some(function) => {
                let combine = move |lower: &Buffer, upper: &mut BufferMut| {
                    function(lower.elements::<T>(), upper.elements::<T>());
                };
                Some(Combine { function: Some(Arc::new(combine)), kind: op.kind() })
            }
            None => {
                let op = op.predefined().filter(|op| op.is_reduction())?;
                T::operation(op).map(|_| Combine::of(op))
            }
        }
    }

    /// An operation of the standard, by a function.
    pub fn predefined(
        op: Op,
        function: impl Fn(*const u8, *mut u8, usize) + Send + Sync + 'static,
    ) -> Combine {
        Combine { function: Some(by_address(function)), kind: OpKind::Predefined(op) }
    }

    /// A function of the program. All ranks agree whether it is commutative.
    pub fn user(
        commutative: bool,
        function: impl Fn(*const u8, *mut u8, usize) + Send + Sync + 'static,
    ) -> Combine {
        Combine { function: Some(by_address(function)), kind: OpKind::User { commutative } }
    }
}

impl<D: HasDatatype> BufferMut<D> {
    /// Copies its bytes from what `rank` has staged, from byte `first` on.
    #[inline]
    pub(super) fn take(&mut self, staged: &Staged<'_>, rank: u32, first: u64) -> Result<()> {
        let place = |bytes| staged.place(rank, first, bytes);
        let copied = match staged.is_foreign() {
            true => None,
            false => self.copy_staged(staged.segment(), place),
        };
        copied.unwrap_or_else(|| self.take_scattered(staged, rank, first))
    }

    #[cold]
    fn take_scattered(&mut self, staged: &Staged<'_>, rank: u32, first: u64) -> Result<()> {
        let mut incoming = Incoming::of(&self.origin_mut()).ok_or_else(too_far)?;
        let bytes = incoming.bytes();
        if staged.is_foreign() {
            let mut packed = vec![0; bytes as usize];
            staged.bytes(rank, first as usize, &mut packed)?;
            self.unpack(&packed);
            return Ok(());
        }
        incoming.unpack_from(staged.segment(), staged.place(rank, first, bytes)?, bytes)
    }

    /// Replaces the instances by the combination of what the first `ranks` ranks have staged, from byte `first`
    /// on, in their order; that of the rank of `own` is there instead.
    #[inline]
    pub(super) fn take_combined(
        &mut self,
        staged: &Staged<'_>,
        (ranks, first): (u32, u64),
        own: Option<(u32, &Buffer)>,
        combine: &Combine,
    ) -> Result<()> {
        let combined = match (&combine.function, combine.kind) {
            (None, OpKind::Predefined(op)) if !staged.is_foreign() => {
                let place = |rank, bytes| staged.place(rank, first, bytes);
                self.combine_staged(op, staged.segment(), ranks, own, place)
            }
            _ => None,
        };
        combined.unwrap_or_else(|| self.take_by_function(staged, (ranks, first), own, combine))
    }

    /// The same where contributions have to lie like the instances. This rank has the combination so far.
    #[cold]
    fn take_by_function(
        &mut self,
        staged: &Staged<'_>,
        (ranks, first): (u32, u64),
        own: Option<(u32, &Buffer)>,
        combine: &Combine,
    ) -> Result<()> {
        let mut result = self.held();
        let take = |into: &mut BufferMut, rank| match own {
            Some((of, own)) if of == rank => {
                into.copy_from(own);
                Ok(())
            }
            _ => into.take(staged, rank, first),
        };
        take(&mut result, 0)?;
        let lower = result.read();
        let mut small = [0; 8];
        let scratch = scratch_beside(&mut small, lower.count, &lower.datatype);
        let (_memory, mut upper) = scratch.ok_or_else(too_far)?;
        for rank in 1..ranks {
            take(&mut upper, rank)?;
            upper.combine_with(&lower, combine)?;
            result.copy_from(&upper.read());
        }
        Ok(())
    }
}

impl BufferMut {
    /// Replaces each instance by its combination with that of `lower`, which has as many.
    pub(super) fn combine_with(&mut self, lower: &Buffer, combine: &Combine) -> Result<()> {
        match (&combine.function, combine.kind) {
            _ if self.count() == 0 => Ok(()),
            (Some(function), _) => {
                function(lower, self);
                Ok(())
            }
            (None, OpKind::Predefined(op)) => op.reduce_local(lower.origin(), self.origin_mut()),
            (None, OpKind::User { .. }) => Ok(()),
        }
    }
}

/// Plans have checked the range of every buffer.
#[cold]
pub(super) fn too_far() -> Error {
    Error::Damaged { what: "buffer of a collective" }
}

/// Parts that are read.
pub(super) fn read(parts: &[Origin<'_>]) -> Vec<Buffer> {
    parts.iter().map(Buffer::of).collect()
}

/// Parts that are written.
pub(super) fn written(parts: &[OriginMut<'_>]) -> Vec<BufferMut> {
    parts.iter().map(BufferMut::of).collect()
}

/// A function of the addresses of both buffers, and of their instances.
fn by_address(
    function: impl Fn(*const u8, *mut u8, usize) + Send + Sync + 'static,
) -> Arc<CombineFunction> {
    Arc::new(move |lower: &Buffer, upper: &mut BufferMut| {
        function(lower.start(), upper.start(), upper.count());
    })
}
