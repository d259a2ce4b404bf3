//! The one waiting policy, and the only loops in the library that wait for another rank.
//!
//! Where each rank can have a core, a wait spins for a millisecond, with a yield now and then;
//! otherwise it yields a few times. Then it sleeps on the word's shared futex. While yields are slow
//! because other processes compute, it sleeps at once. [`Backoff`] knows the machine and decides how
//! long each tier lasts; this file has the loop. Every wait ends when the job has failed.

use super::account::Asleep;
use super::{
    Account, AwaitedWords, Backoff, FailedWord, Fault, ParkWord, Site, monotonic, planted,
};
use std::time::Duration;

/// How long a sleep of [`sleep_until`] lasts at most.
const LONG: Duration = Duration::from_secs(3600);

/// The condition that ends a wait which may never be satisfied any more.
pub trait Failure {
    /// Whether the wait is over; once true, it stays so.
    fn is_set(&self) -> bool;
    /// Whether that rank of the job has failed.
    fn has_failed(&self, rank: u32) -> bool;
    /// The word whose alarm wakes sleepers when either of the two may have become true.
    fn word(&self) -> &FailedWord;
}

impl Failure for FailedWord {
    fn is_set(&self) -> bool {
        FailedWord::is_set(self)
    }
    fn has_failed(&self, rank: u32) -> bool {
        self.cause() == rank + 1
    }
    fn word(&self) -> &FailedWord {
        self
    }
}

/// Progress on requests of this rank while it waits for something else.
pub trait Progress {
    /// The word that changes when there may be work; `None` without outstanding requests.
    fn bell(&self) -> Option<&ParkWord>;
    /// Whether there may be work without a change of the bell.
    fn polls(&self) -> bool {
        false
    }
    /// Does the work that is ready, without waiting; returns whether there was any.
    fn work(&self) -> bool;
}

/// Counts the waits of this process.
#[cfg_attr(any(loom, simulated), allow(dead_code, reason = "the models count none"))]
pub trait WaitLog: Send + Sync {
    /// A wait begins that did not succeed at its first look; returns what it waits for.
    fn awaits(&self, account: &Account<'_>) -> AwaitedWords;
    /// That wait has ended.
    fn waited(&self, account: Option<&Account<'_>>, awaited: AwaitedWords, nanoseconds: u64);
}

/// A wait that is counted when it ends.
struct LoggedWait<'a> {
    log: &'a dyn WaitLog,
    account: Option<Account<'a>>,
    awaited: AwaitedWords,
    begun: u64,
}

impl Drop for LoggedWait<'_> {
    fn drop(&mut self) {
        let lasted = monotonic().saturating_sub(self.begun);
        self.log.waited(self.account.as_ref(), self.awaited, lasted);
    }
}

/// A wait ended because the job has failed: a rank died, or the launcher is ending the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFailed;

/// How this process waits: its backoff, and the word that ends every wait.
#[derive(Clone, Copy)]
pub struct Waiter<'a> {
    /// The number of this rank in the segment.
    pub rank: u32,
    /// Set by the launcher when an awaited rank has failed.
    pub failed: &'a dyn Failure,
    /// Chooses the tier, from earlier waits of this process.
    pub backoff: &'a Backoff,
    /// How to record what is waited for once the wait sleeps. Without it the rank counts as awake.
    pub account: Option<Account<'a>>,
    /// Progress work to do meanwhile. Its bell does not end this sleep: a wait with such work sleeps
    /// briefly and looks.
    pub progress: Option<&'a dyn Progress>,
}

/// What to do before looking at the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// The wait has spun or yielded; look again.
    Again,
    /// The wait has spun, for so short a time that it need not check for failures yet.
    #[cfg_attr(loom, allow(dead_code, reason = "a model looks for a failure at each look"))]
    Spun,
    /// Sleep on the word.
    Sleep,
}

impl Waiter<'_> {
    fn logged(&self) -> Option<LoggedWait<'_>> {
        let (log, account) = (self.backoff.log()?, self.account);
        let awaited = account.as_ref().map(|account| log.awaits(account)).unwrap_or_default();
        Some(LoggedWait { log, account, awaited, begun: monotonic() })
    }

    /// Waits until `ready(value)`; returns the value that satisfied it.
    ///
    /// The value is read relaxed: the caller issues the `mem_sync` that its protocol names.
    #[inline]
    pub fn until(&self, word: &ParkWord, ready: impl Fn(u32) -> bool) -> Result<u32, JobFailed> {
        self.until_or(word, ready, || false)
    }

    /// [`Waiter::until`] that also calls `overdue` after each tenth of a second (longer in a large
    /// job). `overdue` returns whether it has changed anything.
    #[inline]
    pub fn until_or(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn() -> bool,
    ) -> Result<u32, JobFailed> {
        let value = word.load();
        let awake = || Some(word.load());
        match ready(value) {
            true => Ok(value),
            false => self.until_slowly(awake, (word, Site::ParkWaiter), ready, overdue),
        }
    }

    /// [`Waiter::until`] for a word that ranks release by a plain store ([`ParkWord::release_and_wake`]).
    #[inline]
    pub fn until_left(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
    ) -> Result<u32, JobFailed> {
        let value = word.load();
        let awake = || Some(word.load());
        match ready(value) {
            true => Ok(value),
            false => self.until_slowly(awake, (word, Site::ParkBarrier), ready, || false),
        }
    }

    /// [`Waiter::until`] by a rank that looks, while it is awake, whether it is `released`, and not at the
    /// word: a value that the word has had, for which `ready` holds. Asleep it waits for the word.
    #[inline]
    pub fn until_released(
        &self,
        released: impl Fn() -> Option<u32>,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
    ) -> Result<u32, JobFailed> {
        match released() {
            Some(value) => Ok(value),
            None => self.until_slowly(released, (word, Site::ParkWaiter), ready, || false),
        }
    }

    /// Polls a condition once, and then for a number of times as long as a wait spins, or for a few yields
    /// where ranks share cores; returns whether it holds. For callers that can see the awaited state in more
    /// places than the word on which they sleep.
    #[inline]
    pub fn spin(&self, times: u32, mut is_there: impl FnMut() -> bool) -> bool {
        if is_there() {
            return true;
        }
        let _logged = self.logged();
        for _ in 0..times {
            let mut tier = self.backoff.begin();
            while self.backoff.polls(&mut tier) {
                if is_there() {
                    return true;
                }
            }
        }
        false
    }

    /// [`Backoff::hold_off`] of a rank that has a core; `false` at once for others.
    pub fn hold_off(&self, unseen: u32, is_inside: impl Fn() -> bool) -> bool {
        if !self.backoff.has_core() {
            return false;
        }
        let _logged = self.logged();
        self.backoff.hold_off(unseen, is_inside)
    }

    #[cold]
    fn until_slowly(
        &self,
        awake: impl Fn() -> Option<u32>,
        (word, barrier): (&ParkWord, Site),
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn() -> bool,
    ) -> Result<u32, JobFailed> {
        let _logged = self.logged();
        let mut tier = self.backoff.begin();
        let (mut asleep, mut step) = (None, WaitStep::Again);
        let (mut heard, mut worked, mut is_first) = (None, false, true);
        loop {
            let value = if step == WaitStep::Sleep { Some(word.load()) } else { awake() };
            if let Some(value) = value.filter(|value| ready(*value)) {
                return Ok(value);
            }
            // A spinning wait checks for failures at the beginning and at the end, microseconds later.
            let looks = step != WaitStep::Spun && !planted(Fault::FailureIgnored);
            if looks && self.failed.is_set() {
                return Err(JobFailed);
            }
            let progress = self.progress.filter(|_| step != WaitStep::Spun);
            let rung = progress.and_then(|progress| Some(progress.bell()?.load()));
            let polls = progress.is_some_and(Progress::polls);
            let rings = rung.is_some_and(|rung| heard.replace(rung) != Some(rung));
            // What is awaited often comes while the wait spins: not before that.
            if rings || polls && !is_first {
                worked |= progress.is_some_and(Progress::work);
            }
            is_first = false;
            step = self.backoff.next(&mut tier);
            if step == WaitStep::Sleep {
                if asleep.is_none() {
                    asleep = self.account.map(Asleep::begin);
                }
                let failed = self.failed;
                let bounds = self.backoff.sleep(&tier);
                let sleep = (rung.is_none() && !polls).then_some(bounds);
                word.sleep_unless(failed.word(), barrier, sleep, |now| {
                    ready(now) || failed.is_set()
                });
                self.backoff.settle();
            }
            if self.backoff.is_overdue(&mut tier) {
                let changed = overdue() | std::mem::take(&mut worked);
                // After a look, a sleep and the overdue action: a complete look of this wait.
                if let Some(asleep) = &mut asleep {
                    asleep.looked(changed);
                }
            }
        }
    }
}

/// Sleeps until `ready(value)`: the wait of a thread that serves other ranks, which neither spins nor ends when
/// the job fails.
pub fn sleep_until(word: &ParkWord, ready: impl Fn(u32) -> bool) {
    while !ready(word.load()) {
        sleep_at_most(word, LONG, &ready);
    }
}

/// One sleep of such a thread. It also ends after that time, or by a signal.
pub fn sleep_at_most(word: &ParkWord, most: Duration, ready: impl Fn(u32) -> bool) {
    word.sleep_unless(&FailedWord::default(), Site::ParkWaiter, Some((false, most)), ready);
}
