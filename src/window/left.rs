//! Epochs that are open although their guards are gone: where they began, for errors of later calls and for the end of
//! the job.

use super::calls::Calls;
use super::refusal::Refusal;
use super::state::Epochs;
use crate::context::Expected;
use crate::prim::Word32;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// Epochs that no drop ends, because their end waits for other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftEpoch {
    Fence,
    Exposure,
}

/// Where the epochs began whose guards were dropped: written by drops, read when an error is made.
#[derive(Default)]
pub(super) struct LeftEpochs {
    /// Nonzero once there was one.
    any: Word32,
    began: Mutex<[Option<&'static Location<'static>>; 2]>,
}

impl LeftEpoch {
    /// The sentence about one that began at `began`.
    fn shown(self, began: &Location<'_>) -> String {
        let (what, ends) = match self {
            LeftEpoch::Fence => ("fence", "close"),
            LeftEpoch::Exposure => ("exposure", "wait"),
        };
        let place = format!("{}:{}", began.file(), began.line());
        format!("the {what} epoch of {place} is open, because its guard was dropped without {ends}")
    }

    /// Whether it is open.
    fn is_in(self, epochs: &Epochs) -> bool {
        match self {
            LeftEpoch::Fence => epochs.is_in_fence(),
            LeftEpoch::Exposure => epochs.is_exposed(),
        }
    }

    /// Whether the window cannot be freed in it: a fence epoch without operations was none (MPI-2.2 §11.4.1).
    fn keeps(self, epochs: &Epochs) -> bool {
        match self {
            LeftEpoch::Fence => epochs.is_used(),
            LeftEpoch::Exposure => epochs.is_exposed(),
        }
    }
}

impl LeftEpochs {
    fn set(&self, epoch: LeftEpoch, began: Option<&'static Location<'static>>) {
        self.any.store(1);
        self.began.lock().unwrap_or_else(PoisonError::into_inner)[epoch as usize] = began;
    }

    fn get(&self, epoch: LeftEpoch) -> Option<&'static Location<'static>> {
        self.began.lock().unwrap_or_else(PoisonError::into_inner)[epoch as usize]
    }
}

impl Calls {
    /// A guard of that kind is dropped, whose epoch began at `began`. If the epoch is open, errors name that line, and
    /// so does this rank when it leaves the job, unless the epoch ends before.
    #[cold]
    #[inline(never)]
    pub(crate) fn dropped(&self, epoch: LeftEpoch, began: &'static Location<'static>) {
        if !epoch.is_in(&self.epochs) {
            return;
        }
        self.left.set(epoch, Some(began));
        if epoch.keeps(&self.epochs) {
            let (rank, shown) = (self.rank(), epoch.shown(began));
            let description = self
                .identity
                .describe(move |window| format!("window '{window}', on rank {rank}: {shown}"));
            self.context().expect(self.expected(epoch), description);
        }
    }

    /// An epoch of that kind, which may have had no guard, has ended.
    #[inline]
    pub(crate) fn ended(&self, epoch: LeftEpoch) {
        if self.left.any.load() != 0 {
            self.forget_left(epoch);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_left(&self, epoch: LeftEpoch) {
        self.left.set(epoch, None);
        self.context().done(self.expected(epoch));
    }

    fn expected(&self, epoch: LeftEpoch) -> Expected {
        Expected { block: self.block(), epoch: Some(epoch as u8) }
    }

    /// What an error adds about the epoch that does not admit its call, if it is open without a guard.
    pub(super) fn why_open(&self, refusal: Refusal) -> String {
        let epoch = match refusal {
            Refusal::InFence | Refusal::InUsedFence => LeftEpoch::Fence,
            Refusal::Exposed | Refusal::OwnPartExposed => LeftEpoch::Exposure,
            _ => return String::new(),
        };
        let began = self.left.get(epoch).filter(|_| epoch.is_in(&self.epochs));
        began.map_or_else(String::new, |began| format!("; {}", epoch.shown(began)))
    }
}
