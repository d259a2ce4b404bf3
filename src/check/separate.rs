//! What the unified memory model permits and the separate one forbids (MPI-2.2 §11.7, MPI-4.1 §12.7), in a job of
//! `--check=separate`. There a window has a public copy, which operations access, and a private one, which its owner
//! loads and stores.
//!
//! 1. What a put or an accumulate has updated is visible in the private copy after the owner's next fence, wait, lock,
//!    lock_all or sync of the window ([`OwnerView::seen`]).
//! 2. A store of the owner is visible in the public copy after its next fence, post, unlock, unlock_all or sync: its
//!    operation then has the stamp of that call (`OperationWords::public`).
//! 3. Until then the owner must not store anywhere in a part that others have updated, and others must not update a part to
//!    which the owner has stored, also if the bytes are others. For that a part has the number of its owner's latest store,
//!    and of the latest update of each rank.
//!
//! What also the unified model forbids is a conflict. What is found here does not change the exit code.

use super::report::FoundConflict;
use super::shadow::{Accessing, Finding};
use super::window::CheckedWindow;
use super::{AccessKind, CheckState, Checker, Which};
use crate::prim::Word32;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What the private copy of this rank's part has.
#[derive(Default)]
pub(super) struct OwnerView {
    /// What this rank knew when it made it the public one's contents; nothing before.
    seen: Mutex<Vec<u64>>,
}

impl CheckedWindow {
    /// Whether the separate model is another one for this window: shared ones have the unified model, and of
    /// dynamic ones it alone is checked.
    pub(super) fn is_separate(&self, checker: &Checker) -> bool {
        checker.is_separate && !self.is_unified
    }

    /// This rank's private copy has what it knows of.
    pub(super) fn seen(&self, checker: &Checker) {
        if self.is_separate(checker) {
            // With the number of what this rank does next.
            let threads = &mut checker.state().threads;
            checker.stamp(threads);
            let clock = threads.clock().to_vec();
            *self.owner_view.seen.lock().unwrap_or_else(PoisonError::into_inner) = clock;
        }
    }

    /// What this rank knew when it made its private copy, if it accesses its own part.
    pub(super) fn seen_by(&self, checker: &Checker, target: u32) -> Option<Vec<u64>> {
        let is_own = target == self.rank && self.is_separate(checker);
        let seen = || self.owner_view.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        is_own.then(seen)
    }

    /// Adds what the separate model forbids beside this access, which begins with these bytes of the part.
    pub(super) fn find_disjoint(
        &self,
        accessing: &mut Accessing<'_>,
        target: u32,
        first: Option<Range<u64>>,
        found: &mut Vec<FoundConflict>,
    ) {
        let Some(bytes) = first.filter(|_| self.is_separate(accessing.checker)) else { return };
        for number in self.disjoint(accessing, target) {
            if !found.iter().any(|one| one.is_with(number)) {
                FoundConflict::add(found, (number, Finding::Disjoint), bytes.clone());
            }
        }
    }

    /// The stores of this rank to its part are in the public copy from now on.
    pub(super) fn published(&self, checker: &Checker) {
        if !self.is_separate(checker) {
            return;
        }
        let state = &mut *checker.state();
        checker.close(state, Which::Local, |key| key.window == self.block);
        let stamp = checker.stamp(&mut state.threads);
        let CheckState { unpublished, closed, .. } = state;
        for (_, number) in unpublished.extract_if(.., |(window, _)| *window == self.block) {
            checker.operation_at(number).publish(checker.more_at(number), stamp);
            closed.push(number);
        }
    }

    /// The earlier accesses to a part that the separate model forbids before this one, if that is a store of the owner or an
    /// update, whichever bytes they access.
    fn disjoint(&self, accessing: &mut Accessing<'_>, target: u32) -> Vec<u32> {
        let kind = accessing.kind();
        let part = &self.parts[target as usize];
        let updates =
            || (0..self.ranks as u32).map(|rank| &self.origin(target, rank).latest_update);
        let (others, latest): (Vec<&Word32>, &Word32) = match kind {
            AccessKind::Store if target == self.rank => (updates().collect(), &part.latest_store),
            AccessKind::Put | AccessKind::Update => {
                (vec![&part.latest_store], &self.origin(target, self.rank).latest_update)
            }
            _ => return Vec::new(),
        };
        let others = others.into_iter().map(Word32::load).filter(|number| *number != 0);
        let found = others.filter(|number| accessing.judge(*number).found.is_some()).collect();
        let (before, number) = (latest.load(), accessing.number());
        if before != number {
            accessing.retain(number, 1);
            latest.store(number);
            if before != 0 {
                accessing.release(before, 1);
            }
        }
        found
    }
}
