//! MPI_MODE_NOCHECK that is not true (MPI-4.1 §12.5.5).
//!
//! 1. A lock with it asserts that no other rank holds or acquires a conflicting lock meanwhile. Each rank has a record of
//!    its latest lock of each sort, for each target. Two that conflict have to be ordered by something else than
//!    the lock, if one of them asserts it.
//! 2. A start with it asserts that its targets have posted. A target counts its posts for each origin, and an origin
//!    its starts: it has to know the clock of the post with the same number.

use super::assertions::word_of;
use super::report::{self, Conflict, Reason, RecordedPair};
use super::window::CheckedWindow;
use super::{Checker, SITES, threads};
use crate::call::Call;
use crate::prim::{Waiter, line_by_binding};
use crate::shm::OriginWords;
use crate::sync::LockType;
use std::panic::Location;

/// A lock of a target, or of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) held: LockType,
    pub(crate) nocheck: bool,
    /// None of lock_all.
    pub(crate) target: Option<u32>,
}

impl Holding {
    /// The number of its record.
    fn sort(self) -> usize {
        usize::from(self.held == LockType::Exclusive) + 2 * usize::from(self.nocheck)
    }

    fn targets(self, ranks: usize) -> std::ops::Range<u32> {
        self.target.map_or(0..ranks as u32, |target| target..target + 1)
    }
}

/// Whether locks of two sorts conflict, and one of them asserts that none does.
fn is_false(a: usize, b: usize) -> bool {
    (a | b) & 1 != 0 && (a | b) & 2 != 0
}

impl CheckedWindow {
    /// What a rank has done as an origin of a target.
    pub(super) fn origin(&self, target: u32, rank: u32) -> &OriginWords {
        &self.origins[target as usize * self.ranks + rank as usize]
    }

    /// This rank has got a lock, by a call at `at`. Blocks while others use the target's part.
    pub(crate) fn holds(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        of: Holding,
        at: &'static Location<'static>,
    ) {
        let line = line_by_binding().unwrap_or_else(|| at.to_string());
        for target in of.targets(self.ranks) {
            let hold = |_| self.hold(checker, waiter, (of, target), &line);
            // If the job ends, so does the check.
            let new = self.parts[target as usize].lock.0.run(SITES, waiter, hold);
            report::print(&new.unwrap_or_default());
        }
    }

    /// Records a lock of one target. Returns new reports. Under the part's lock.
    fn hold(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        (of, target): (Holding, u32),
        line: &str,
    ) -> Vec<Conflict> {
        let state = &mut *checker.state();
        let call = if of.target.is_some() { Call::Lock } else { Call::LockAll };
        let own = (checker.text_of(state, waiter, line), word_of(call));
        let record = &self.origin(target, self.rank).locks[of.sort()];
        record.site.store(own.0);
        record.released.store(0);
        record.what.store(own.1);
        let mut new = Vec::new();
        // A failed rank holds nothing any more.
        let is_other = |of: u32| of != checker.rank && !waiter.failed.has_failed(of);
        for (rank, world) in self.world.iter().enumerate().filter(|(_, of)| is_other(**of)) {
            for (sort, other) in self.origin(target, rank as u32).locks.iter().enumerate() {
                let released = other.released.load();
                let is_ordered = released != 0
                    && threads::knows(state.threads.clock(), (*world, checker.ranks), released);
                if other.what.load() == 0 || is_ordered || !is_false(of.sort(), sort) {
                    continue;
                }
                let other = (other.site.load(), other.what.load());
                let (ranks, calls) = match of.nocheck {
                    true => ([checker.rank, *world], [own, other]),
                    false => ([*world, checker.rank], [other, own]),
                };
                let pair = RecordedPair { ranks, slots: [None; 2], calls };
                let of = (checker.text_of(state, waiter, &self.name()), target);
                let record = || report::record_pair(checker, &pair, of, Reason::Held, &(0..1));
                new.extend(checker.exclusively(waiter, record).flatten());
            }
        }
        new
    }

    /// This rank is about to release a lock.
    pub(super) fn releasing(&self, checker: &Checker, of: Holding) {
        let clock = checker.own_stamp();
        for target in of.targets(self.ranks) {
            self.origin(target, self.rank).locks[of.sort()].released.store(clock);
        }
    }

    /// This rank is about to post for these origins.
    pub(crate) fn posts_for(&self, checker: &Checker, origins: &[u32]) {
        let clock = checker.own_stamp();
        for origin in origins {
            let words = self.origin(self.rank, *origin);
            words.posted.store(clock);
            words.posts.store(words.posts.load().wrapping_add(1));
        }
    }

    /// This rank starts an epoch. Returns for each target whether it knows of the matching post.
    pub(super) fn starts(&self, checker: &Checker, targets: &[u32]) -> Vec<bool> {
        let state = checker.state();
        let is_known = |target: &u32| {
            let words = self.origin(*target, self.rank);
            let number = words.starts.load().wrapping_add(1);
            words.starts.store(number);
            let (of, posted) = ((self.world[*target as usize], checker.ranks), words.posted.load());
            // Another post for this rank needs its complete.
            words.posts.load() == number && threads::knows(state.threads.clock(), of, posted)
        };
        targets.iter().map(is_known).collect()
    }

    /// This rank starts an epoch, and asserts that these targets have posted. Blocks while another rank uses the tables
    /// of the check.
    pub(crate) fn starts_unchecked(
        &self,
        checker: &Checker,
        waiter: &Waiter<'_>,
        targets: &[u32],
        at: &'static Location<'static>,
    ) {
        let known = self.starts(checker, targets);
        let line = line_by_binding().unwrap_or_else(|| at.to_string());
        for target in targets.iter().zip(known).filter(|(_, known)| !known).map(|(of, _)| *of) {
            let state = &mut *checker.state();
            let own = (checker.text_of(state, waiter, &line), word_of(Call::Start));
            let of = (checker.text_of(state, waiter, &self.name()), target);
            let ranks = [checker.rank, self.world[target as usize]];
            let calls = [own, (0, word_of(Call::Post))];
            let pair = RecordedPair { ranks, slots: [None; 2], calls };
            let record = || report::record_pair(checker, &pair, of, Reason::NotPosted, &(0..1));
            let new = checker.exclusively(waiter, record).flatten();
            report::print(new.as_slice());
        }
    }
}
