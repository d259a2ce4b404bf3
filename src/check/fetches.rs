//! What a rank learns by an accumulate that fetches: it knows the result, and with it what was before the accumulates that the
//! call has found, when the result is the program's (MPI-4.1 §12.3). Calls of the Rust API return the result; in C and
//! Python that is when the operation is complete in this process.

use super::buffers::PendingKey;
use super::requests::latest_request;
use super::{CheckState, Checker, learn};
use crate::prim::{Word64, has_binding};
use crate::sync::clock;

/// What operations with that key have fetched that are not complete.
pub(super) struct PendingFetch {
    of: PendingKey,
    clock: Vec<u64>,
}

impl Checker {
    /// An accumulate on a target of a window has fetched elements with these clocks.
    pub(super) fn fetched<'w>(
        &self,
        (window, target): (u64, u32),
        all: impl Iterator<Item = &'w [Word64]>,
    ) {
        // Late operations take effect when they are complete.
        if !has_binding() || self.is_late {
            return self.merge(all);
        }
        let (fetches, width) = (&mut self.state().fetches, self.width());
        let of = PendingKey { window, target, request: latest_request() };
        let at = fetches.iter().position(|fetch| fetch.of == of).unwrap_or_else(|| {
            fetches.push(PendingFetch { of, clock: vec![0; self.clocks()] });
            fetches.len() - 1
        });
        let clock = &mut fetches[at].clock[..width];
        all.for_each(|words| clock::merge(clock, words, |_, _| ()));
    }

    /// The results of some operations are the program's.
    pub(super) fn complete_fetches(
        &self,
        state: &mut CheckState,
        is_one: impl Fn(&PendingKey) -> bool,
    ) {
        let (row, CheckState { fetches, threads, .. }) = (self.row(self.rank), state);
        for fetch in fetches.extract_if(.., |fetch| is_one(&fetch.of)) {
            let known = threads.clock_mut().iter_mut().zip(&fetch.clock).zip(row);
            for ((known, fetched), word) in known.filter(|((known, other), _)| **known < **other) {
                *known = *fetched;
                learn(word, *fetched);
            }
        }
    }
}
