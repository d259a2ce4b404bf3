//! What a rank learns by an accumulate that fetches: it knows the result, and with it what was before the accumulates that the
//! call has found, when the result is the program's (MPI-4.1 §12.3). Calls of the Rust API return the result; in C and
//! Python that is when the operation is complete in this process.

use super::buffers::PendingKey;
use super::observed::{Announcements, ObservedAccumulate, address};
use super::requests::latest_request;
use super::{CheckState, Checker, learn};
use crate::prim::{Word64, has_binding};
use crate::sync::clock;

/// What operations with a key have fetched that are not complete; of none, memory for others.
pub(super) struct PendingFetch {
    of: Option<PendingKey>,
    clock: Vec<u64>,
    /// The address of the one clock in the segment that it comes from; zero if there are several.
    at: usize,
    observed: Vec<ObservedAccumulate>,
}

impl Checker {
    /// An accumulate on a target of a window has fetched elements with these clocks.
    pub(super) fn fetched<'w>(
        &self,
        (window, target): (u64, u32),
        all: impl Iterator<Item = &'w [Word64]>,
        observed: Vec<ObservedAccumulate>,
    ) {
        // Late operations take effect when they are complete.
        if !has_binding() || self.is_late {
            for at in all {
                self.merge_announced(at, Announcements::by_fetch);
            }
            return self.with_state(|state| self.have_seen(state, observed.into_iter()));
        }
        let (fetches, width) = (&mut self.state().fetches, self.width());
        let of = PendingKey { window, target, request: latest_request() };
        let find = |of: Option<PendingKey>| fetches.iter().position(|fetch| fetch.of == of);
        let at = find(Some(of)).or_else(|| find(None)).unwrap_or_else(|| {
            let (clock, observed) = (vec![0; self.clocks()], Vec::new());
            fetches.push(PendingFetch { of: None, clock, at: 0, observed });
            fetches.len() - 1
        });
        let fetch = &mut fetches[at];
        let is_first = fetch.of.replace(of).is_none();
        if is_first {
            fetch.clock.fill(0);
        }
        let PendingFetch { clock, at, .. } = fetch;
        for (count, words) in all.enumerate() {
            clock::merge(&mut clock[..width], words, |_, _| ());
            let is_only = is_first && count == 0 || *at == address(words);
            *at = if is_only { address(words) } else { 0 };
        }
        fetch.observed.extend(observed);
    }

    /// The results of some operations are the program's.
    pub(super) fn complete_fetches(
        &self,
        state: &mut CheckState,
        is_one: impl Fn(&PendingKey) -> bool,
    ) {
        let (row, width) = (self.row(self.rank), self.width());
        let CheckState { fetches, threads, announced, .. } = state;
        let mut seen = Vec::new();
        for fetch in fetches.iter_mut().filter(|fetch| fetch.of.as_ref().is_some_and(&is_one)) {
            fetch.of = None;
            threads.merge_numbers(&fetch.clock[..width], |number, learnt| {
                learn(&row[number], learnt.end);
                announced.by_fetch(fetch.at, number, learnt);
            });
            seen.append(&mut fetch.observed);
        }
        self.have_seen(state, seen.into_iter());
    }
}
