//! The update under every accumulate: of each element by an instruction, or under an exclusion.
#![allow(unsafe_code, reason = "updates checked target memory")]

use crate::call::Call;
use crate::datatype::Element;
use crate::datatype::functions::{Operation, update_native};
use crate::error::{Error, Result};
use crate::op::{Carrier, Op};
use crate::prim::{Site, Step, step};
use crate::shm::Recording;
use crate::window::{Target, Via, Win};
use std::ops::Range;

/// Elements updated under one grant of the exclusion, so that a long accumulate does not keep
/// short ones out for its whole length.
pub(super) const BATCH: usize = 512;

impl Win {
    pub(super) fn operation<T: Element>(
        &self,
        call: Call,
        op: Op,
    ) -> Result<&'static Operation<T>> {
        T::operation(op).ok_or_else(|| {
            let (op, datatype) = (op.name(), T::DATATYPE.name());
            Error::Operation { at: self.place(call), op, datatype }
        })
    }

    /// The address as a carrier, if the elements there are updated by instructions.
    #[inline]
    pub(super) fn native<T: Element>(&self, target: &Target<'_>) -> Option<*mut T::Carrier> {
        let aligned = (target.at as usize).is_multiple_of(size_of::<T>());
        let native = T::Carrier::IS_NATIVE && aligned && target.via == Via::Mapped;
        native.then_some(target.at.cast())
    }

    /// Runs `f`, which does the update to `n` elements: what it writes is recorded.
    #[inline]
    pub(super) fn recorded<T: Element, R>(
        &self,
        update: &Update<'_, T>,
        n: usize,
        f: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let Update { op, call, ref target, .. } = *update;
        let recording = match op != Op::NoOp && (n > 1 || self.native::<T>(target).is_none()) {
            true => self.record(call, target.rank, target.start, (n * size_of::<T>()) as u64),
            // One instruction, or none that writes.
            false => Recording::Nothing,
        };
        let done = f();
        recording.end();
        done
    }

    /// Updates these elements, one by one; `operand` gives the origin's values, `before` takes the
    /// target's.
    #[inline]
    pub(super) fn update<T: Element>(
        &self,
        update: &Update<'_, T>,
        elements: Range<usize>,
        operand: impl Fn(usize) -> T,
        mut before: impl FnMut(usize, T),
    ) -> Result<()> {
        let Update { op, call, ref target, .. } = *update;
        let function = update.operation.one;
        let operand = |i: usize| {
            pass_middle(i..i + 1);
            operand(i)
        };
        let Some(at) = self.native::<T>(target) else {
            for start in elements.clone().step_by(BATCH) {
                let batch = start..elements.end.min(start + BATCH);
                self.update_excluded(target, call, batch, |i, old| {
                    before(i, old);
                    function(old, operand(i))
                })?;
            }
            return Ok(());
        };
        let mut start = elements.start;
        while start < elements.end {
            let first = at.wrapping_add(start).cast();
            let end = elements.end.min(start + self.rest_of_stripe(first) / size_of::<T>());
            self.by_instructions(call, first, || {
                for i in start..end {
                    let at = at.wrapping_add(i);
                    // SAFETY: `native`, and `target` covers all elements.
                    before(i, unsafe { update_native(at, op, function, operand(i)) });
                }
            })?;
            start = end;
        }
        Ok(())
    }

    /// Updates elements under the target's accumulate exclusion, in a copy of them; blocks while
    /// it is held.
    pub(super) fn update_excluded<T: Element>(
        &self,
        target: &Target<'_>,
        call: Call,
        elements: Range<usize>,
        mut step: impl FnMut(usize, T) -> T,
    ) -> Result<()> {
        let sites = (Site::AccumulatePost, Site::AccumulatePre);
        let exclusion = &self.words_of(target.rank).accumulate;
        // Not taken from the heap while others are kept out; of one element, not at all.
        let (mut one, mut more) = ([T::zeroed()], Vec::new());
        let values: &mut [T] = match elements.len() {
            0..=1 => &mut one[..elements.len()],
            n => {
                more.resize(n, T::zeroed());
                &mut more
            }
        };
        let updated = exclusion.run(sites, &self.excluded(), || {
            let (into, bytes) = (elements.start * size_of::<T>(), size_of_val(values));
            // SAFETY: 1. `target` covers the elements, and `values` is as long. 2. `values` is new.
            unsafe { self.read_from(call, target, into, values.as_mut_ptr().cast(), bytes) }?;
            for (i, value) in elements.zip(&mut *values) {
                *value = step(i, *value);
            }
            // SAFETY: as above.
            unsafe { self.write_to(call, target, into, values.as_ptr().cast(), bytes) }
        });
        updated.map_err(|failed| self.job_failed(failed, call))?
    }
}

/// Before elements of an accumulate: test builds pass the middle of a long one.
#[inline(always)]
pub(super) fn pass_middle(elements: Range<usize>) {
    if cfg!(feature = "test-hooks") && elements.contains(&(BATCH + BATCH / 2)) {
        step(Step::MidAccumulate);
    }
}

/// What [`Win::update`] does, and where.
pub(super) struct Update<'w, T> {
    pub(super) op: Op,
    /// What `op` is on these elements.
    pub(super) operation: &'w Operation<T>,
    pub(super) call: Call,
    pub(super) target: Target<'w>,
}
