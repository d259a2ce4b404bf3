//! The one waiting policy, and the only loop in the library that waits for another rank.
//!
//! Spin briefly (not at all when there are more ranks than cores), yield a few times, then
//! sleep on the word's shared futex. How long each tier lasts is [`Patience`]'s business, which
//! knows the machine; this file knows the loop. Every wait ends when the job has failed.

use super::{FailedWord, Fault, ParkWord, Patience, planted};

/// What ends a wait that may never be satisfied any more.
pub trait Failure {
    /// Whether the wait is over; once true, it stays so.
    fn is_set(&self) -> bool;
}

impl Failure for FailedWord {
    fn is_set(&self) -> bool {
        FailedWord::is_set(self)
    }
}

/// A wait ended because the job has failed: a rank died, or the launcher is ending the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFailed;

/// How this process waits: its patience, and the word that ends every wait.
#[derive(Clone, Copy)]
pub struct Waiter<'a> {
    /// Set by the launcher when a rank has failed that somebody waits for.
    pub failed: &'a dyn Failure,
    /// Which tier to wait in, learnt from earlier waits of this process.
    pub patience: &'a Patience,
}

/// What to do before looking at the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A short spin has been done; look again.
    Again,
    /// Sleep on the word.
    Sleep,
}

impl Waiter<'_> {
    /// Waits until `ready(value)`; returns the value that satisfied it.
    ///
    /// The value is read relaxed: the caller issues the `mem_sync` that its protocol names.
    #[inline]
    pub fn until(&self, word: &ParkWord, ready: impl Fn(u32) -> bool) -> Result<u32, JobFailed> {
        self.until_or(word, ready, || ())
    }

    /// As [`Waiter::until`]; calls `overdue` whenever another tenth of a second has passed.
    #[inline]
    pub fn until_or(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn(),
    ) -> Result<u32, JobFailed> {
        let value = word.load();
        if ready(value) { Ok(value) } else { self.until_slowly(word, ready, overdue) }
    }

    #[cold]
    fn until_slowly(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn(),
    ) -> Result<u32, JobFailed> {
        let mut tier = self.patience.begin();
        loop {
            let value = word.load();
            if ready(value) {
                return Ok(value);
            }
            if self.failed.is_set() && !planted(Fault::FailureIgnored) {
                return Err(JobFailed);
            }
            if self.patience.next(&mut tier) == Step::Sleep {
                word.sleep_unless(|now| ready(now) || self.failed.is_set());
            }
            if self.patience.is_overdue(&mut tier) {
                overdue();
            }
        }
    }
}
