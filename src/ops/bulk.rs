//! Accumulates of many elements, at the speed of memory, and what keeps those of single elements
//! from them: the protocol of `sync/stripes.rs`.
#![allow(unsafe_code, reason = "updates checked target memory")]

use super::update::{Update, pass_middle};
use crate::call::Call;
use crate::context::InCall;
use crate::datatype::Element;
use crate::error::Result;
use crate::op::Op;
use crate::shm::{Announced, copy};
use crate::sync::stripes::MOST;
use crate::window::{Via, Win};
use std::ops::Range;

/// From how many elements on an accumulate has more from a vectorised loop than it loses by the
/// barrier of all ranks (docs/performance.md). Test builds have it low, so that every random
/// program gets there.
pub(super) const MANY: usize = if cfg!(feature = "test-hooks") { 24 } else { 1024 };
/// Elements whose values before are fetched, and are still in the cache when they are updated.
const BLOCK: usize = 512;

impl Win {
    /// Records `call`, an operation that has passed its checks, and announces that this thread updates
    /// elements at `at` by instructions. `None` if many are updated around them: another way of the call
    /// is then next.
    #[inline(always)]
    pub(super) fn announce(
        &self,
        call: Call,
        at: *const u8,
    ) -> Option<(InCall<'_>, Announced<'_>)> {
        self.note_operation();
        let context = self.context();
        let said = context.enter(call, self.block);
        Some((said, context.stripes.announce(at)?))
    }

    /// Runs `f`, which updates elements at `at`, all in one stripe, by instructions. Blocks while
    /// many are updated around them.
    #[inline(always)]
    pub(super) fn by_instructions<R>(
        &self,
        call: Call,
        at: *const u8,
        f: impl FnOnce() -> R,
    ) -> Result<R> {
        match self.context().stripes.announce(at) {
            Some(announced) => {
                let result = f();
                announced.withdraw();
                Ok(result)
            }
            None => self.by_instructions_slowly(call, at, f),
        }
    }

    #[cold]
    fn by_instructions_slowly<R>(
        &self,
        call: Call,
        at: *const u8,
        f: impl FnOnce() -> R,
    ) -> Result<R> {
        let context = self.context();
        let updated = context.stripes.slowly(at, &context.excluded(), f);
        updated.map_err(|failed| self.job_failed(failed, call))
    }

    /// The bytes from `at` to the end of its stripe.
    #[inline(always)]
    pub(super) fn rest_of_stripe(&self, at: *const u8) -> usize {
        self.context().stripes.rest(at)
    }

    /// Updates the first of `n` elements, if they are many, and says how many it has updated.
    /// Blocks while others update elements around them.
    ///
    /// `result` receives the values before, unless it is empty.
    pub(super) fn update_many<T: Element>(
        &self,
        update: &Update<'_, T>,
        n: usize,
        origin: &[T],
        result: &mut [T],
    ) -> Result<usize> {
        let (Some(at), true) = (self.native::<T>(&update.target), n >= MANY) else {
            return match update.target.via {
                Via::Foreign => self.update_by(update, n, origin, result),
                _ => Ok(0),
            };
        };
        let mut done = 0;
        while n - done >= MANY {
            let first = at.wrapping_add(done).cast::<T>();
            let rest = self.context().stripes.rest_of_many(first.cast()) / size_of::<T>();
            let end = n.min(done + rest);
            let bytes = (end - done) * size_of::<T>();
            let updated = self.exclusively(update.call, first.cast(), bytes, || {
                for start in (done..end).step_by(BLOCK) {
                    let block = start..end.min(start + BLOCK);
                    let at = at.wrapping_add(start).cast::<T>();
                    pass_middle(block.clone());
                    if let Some(before) = result.get_mut(block.clone()) {
                        let bytes = size_of_val(before);
                        // SAFETY: 1. `before` is as long as the block, which `target` covers.
                        // 2. The caller has found them apart.
                        unsafe { copy(at.cast(), before.as_mut_ptr().cast(), bytes) };
                    }
                    if update.op != Op::NoOp {
                        let origin = &origin[block.clone()];
                        // SAFETY: 1. `target` covers the block, `native` has found it aligned,
                        // and `origin` is as long. 2. `exclusively`; invariant 4 of `shm`.
                        unsafe { (update.operation.many)(at, origin.as_ptr(), block.len()) };
                    }
                }
            });
            match updated? {
                Some(()) => done = end,
                None => break,
            }
        }
        Ok(done)
    }

    /// Runs `f`, which updates elements among the `bytes` bytes at `at`, not more than
    /// [`Win::reach_of_many`], in any way. Blocks while others update elements around them; `None`,
    /// and nothing has been done, where elements are updated by instructions only.
    pub(super) fn exclusively<R>(
        &self,
        call: Call,
        at: *const u8,
        bytes: usize,
        f: impl FnOnce() -> R,
    ) -> Result<Option<R>> {
        let context = self.context();
        if !context.stripes.are_common() {
            return Ok(None);
        }
        let updated = context.stripes.exclusively(at, bytes, &context.excluded(), f);
        updated.map_err(|failed| self.job_failed(failed, call))
    }

    /// The addresses of the stripe that `at` is in.
    #[inline(always)]
    pub(super) fn stripe_of(&self, at: *const u8) -> Range<usize> {
        self.context().stripes.around(1, at)
    }

    /// The addresses around `at` that one update of many elements reaches.
    pub(super) fn reach_of_many(&self, at: *const u8) -> Range<usize> {
        self.context().stripes.around(MOST, at)
    }
}
