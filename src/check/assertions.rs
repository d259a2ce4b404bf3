//! Assertions that are not true (MPI-4.1 §12.5.5): MPI_MODE_NOSTORE, where the rank has stored to its part, and
//! MPI_MODE_NOPUT, where another rank updates it.
//!
//! What a rank asserts by a fence holds between this fence and the next one. All ranks have the same number of fences,
//! so the number identifies the assertion, also where the owner is one fence ahead. What it asserts by post
//! holds until wait.

use super::report::{self, Conflict, Reason, RecordedPair};
use super::rules::AccessKind;
use super::window::{ByteRun, CheckedWindow};
use super::{CheckState, CheckedAccess, Checker, SITES};
use crate::call::Call;
use crate::prim::{Waiter, Word32, Word64, line_by_binding};
use crate::shm::PartWords;
use std::panic::Location;

/// What a rank asserts of its part by a fence or post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asserted {
    pub(crate) call: Call,
    pub(crate) nostore: bool,
    pub(crate) noput: bool,
}

/// The latest store of this rank to its part, since it has synchronised by calls of the window.
#[derive(Default)]
pub(super) struct LatestStore {
    /// Its line, or between which calls, by its number; zero if there is none.
    site: Word32,
    /// [`CheckedAccess::word`] of it.
    what: Word32,
    first: Word64,
    end: Word64,
}

impl LatestStore {
    pub(super) fn set(&self, (site, what): (u32, u32), bytes: &std::ops::Range<u64>) {
        self.site.store(site);
        self.what.store(what);
        self.first.store(bytes.start);
        self.end.store(bytes.end);
    }

    pub(super) fn clear(&self) {
        self.site.store(0);
    }
}

/// How an operation reaches its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EpochKind {
    Fence,
    /// After start, or under a lock.
    Other,
}

/// A call of this rank that asserts something.
pub(super) fn word_of(call: Call) -> u32 {
    let at = Location::caller();
    CheckedAccess { call, kind: AccessKind::Load, datatype: 0, op: 0, at }.word()
}

impl CheckedWindow {
    /// This rank asserts that of its part, at `at`, after it has looked for stores. Blocks while another rank uses the
    /// tables of the check.
    pub(crate) fn asserts(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        asserted: Asserted,
        at: Option<&'static Location<'static>>,
    ) {
        let Asserted { call, nostore, noput } = asserted;
        let line = line_by_binding().or_else(|| at.map(ToString::to_string));
        let mut state = checker.state();
        let stored = self.latest_store.site.load();
        // If the job ends, so does the check.
        let new = checker.words.lock.0.run(SITES, waiter, |_| {
            let site = line.map_or(0, |line| checker.text(&mut state, &line));
            let part = &self.parts[self.rank as usize];
            if noput {
                self.promise(part, call, site);
            }
            let is_false = nostore && stored != 0;
            is_false.then(|| self.has_stored(checker, &mut state, (site, word_of(call))))
        });
        drop(state);
        report::print(new.ok().flatten().flatten().as_slice());
    }

    fn promise(&self, part: &PartWords, call: Call, site: u32) {
        match call {
            Call::Fence => {
                let fence = self.fences.load().wrapping_add(1);
                part.noput_sites[fence as usize % 2].store(site);
                part.noput_fences[fence as usize % 2].store(fence);
            }
            _ => {
                part.noput_site.store(site);
                part.noput.store(1);
            }
        }
    }

    fn has_stored(
        &self,
        checker: &Checker,
        state: &mut CheckState,
        asserts: (u32, u32),
    ) -> Option<Conflict> {
        let LatestStore { site, what, first, end } = &self.latest_store;
        let calls = [asserts, (site.load(), what.load())];
        let pair = RecordedPair { ranks: [checker.rank; 2], slots: [None; 2], calls };
        let of = (checker.text(state, &self.name()), self.rank);
        let bytes = first.load()..end.load();
        report::record_pair(checker, &pair, of, Reason::NoStore, &bytes)
    }

    /// This rank stores to its part, as an operation of that number describes.
    pub(super) fn stores(&self, checker: &Checker, number: u32, runs: &[ByteRun]) {
        if let Some(ByteRun { start, bytes }) = runs.first() {
            let operation = checker.operation_at(number);
            let of = (operation.site.load(), operation.what.load());
            self.latest_store.set(of, &(*start..start + bytes));
        }
    }

    /// Whether the owner of a part may have asserted that no operation of such an epoch updates it.
    #[inline]
    pub(super) fn is_asserted(&self, target: u32, epoch: EpochKind) -> bool {
        let (part, fence) = (&self.parts[target as usize], self.fences.load());
        match epoch {
            EpochKind::Fence => fence != 0 && part.noput_fences[fence as usize % 2].load() == fence,
            EpochKind::Other => part.noput.load() != 0,
        }
    }

    /// An operation of this rank updates a run of a part, of which its owner may have asserted that none does.
    pub(super) fn updates(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        state: &mut CheckState,
        (number, target): (u32, u32),
        epoch: EpochKind,
        run: Option<&ByteRun>,
    ) -> Option<Conflict> {
        if !self.is_asserted(target, epoch) {
            return None;
        }
        let (part, at) = (&self.parts[target as usize], self.fences.load() as usize % 2);
        let (call, site) = match epoch {
            EpochKind::Fence => (Call::Fence, part.noput_sites[at].load()),
            EpochKind::Other => (Call::Post, part.noput_site.load()),
        };
        let operation = checker.operation_at(number);
        let updates = (operation.site.load(), operation.what.load());
        let calls = [(site, word_of(call)), updates];
        let of = (checker.text_of(state, waiter, &self.name()), target);
        let ranks = [self.world[target as usize], checker.rank];
        let pair = RecordedPair { ranks, slots: [None; 2], calls };
        let bytes = run.map_or(0..1, |run| run.start..run.start + run.bytes);
        let record = || report::record_pair(checker, &pair, of, Reason::NoPut, &bytes);
        checker.exclusively(waiter, record).flatten()
    }

    /// The exposure epoch of this rank's part is over.
    pub(super) fn unexposed(&self) {
        self.parts[self.rank as usize].noput.store(0);
    }
}
