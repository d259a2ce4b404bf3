//! The one waiting policy, and the only loops in the library that wait for another rank.
//!
//! Where each rank can have a core: spin, with a yield now and then, for a millisecond; elsewhere yield
//! a few times. Then sleep on the word's shared futex. How long each tier lasts is [`Patience`]'s
//! business, which knows the machine; this file knows the loop. Every wait ends when the job has failed.

use super::account::Asleep;
use super::{Account, Contention, FailedWord, Fault, ParkWord, Patience, planted};

/// What ends a wait that may never be satisfied any more.
pub trait Failure {
    /// Whether the wait is over; once true, it stays so.
    fn is_set(&self) -> bool;
    /// Whether that rank of the job has failed, whoever waits for it.
    fn has_failed(&self, rank: u32) -> bool;
    /// The word whose alarm wakes whoever sleeps when either of the two may have become true.
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

/// What a rank owes others while it waits for something else.
pub trait Duties {
    /// The word that changes when there may be something to do, if it owes anything.
    fn bell(&self) -> Option<&ParkWord>;
    /// Does what there is to do, without waiting for anybody; whether there was anything.
    fn work(&self) -> bool;
}

/// A wait ended because the job has failed: a rank died, or the launcher is ending the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFailed;

/// How this process waits: its patience, and the word that ends every wait.
#[derive(Clone, Copy)]
pub struct Waiter<'a> {
    /// Whose process it is, in the job.
    pub rank: u32,
    /// Set by the launcher when a rank has failed that somebody waits for.
    pub failed: &'a dyn Failure,
    /// Which tier to wait in, learnt from earlier waits of this process.
    pub patience: &'a Patience,
    /// How to say what is waited for, once the wait sleeps. Without it the rank counts as awake.
    pub account: Option<Account<'a>>,
    /// What to do for others meanwhile. Its bell wakes nobody here: a wait with duties sleeps
    /// briefly, and looks.
    pub duties: Option<&'a dyn Duties>,
}

/// What to do before looking at the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something short of sleeping has been done; look again.
    Again,
    /// The same, in no time: no failure need be looked for yet.
    #[cfg_attr(loom, allow(dead_code, reason = "a model looks for a failure at each look"))]
    Spun,
    /// Sleep on the word.
    Sleep,
}

impl Waiter<'_> {
    /// Waits until `ready(value)`; returns the value that satisfied it.
    ///
    /// The value is read relaxed: the caller issues the `mem_sync` that its protocol names.
    #[inline]
    pub fn until(&self, word: &ParkWord, ready: impl Fn(u32) -> bool) -> Result<u32, JobFailed> {
        self.until_or(word, ready, || false)
    }

    /// As [`Waiter::until`]; calls `overdue` whenever another tenth of a second has passed (longer in
    /// a large job),
    /// which says whether it has changed anything.
    #[inline]
    pub fn until_or(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn() -> bool,
    ) -> Result<u32, JobFailed> {
        let value = word.load();
        if ready(value) { Ok(value) } else { self.until_slowly(word, ready, overdue) }
    }

    /// Asks whether there is anything, once, and again for so many times as long as a wait spins before
    /// it does anything slower; whether there is. For who can see what it waits for in more
    /// places than the word that it sleeps on.
    #[inline]
    pub fn spin(&self, times: u32, mut is_there: impl FnMut() -> bool) -> bool {
        if is_there() {
            return true;
        }
        for _ in 0..times {
            let mut tier = self.patience.begin();
            while self.patience.next(&mut tier) == Step::Spun {
                if is_there() {
                    return true;
                }
            }
        }
        false
    }

    /// Tries again and again, awake, for as long as a rank contends for a lock; whether it has got
    /// what it tried for. Gives up at once where only sleeping makes sense, or the job has failed.
    #[cold]
    pub fn contend<E>(&self, mut attempt: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
        let contention = Contention::begin();
        let mut tier = self.patience.begin();
        for lost in 0.. {
            if contention.is_over(lost) || self.failed.is_set() {
                break;
            }
            if self.patience.next(&mut tier) == Step::Sleep {
                tier = self.patience.begin();
                if self.patience.next(&mut tier) == Step::Sleep {
                    break;
                }
            }
            if attempt()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[cold]
    fn until_slowly(
        &self,
        word: &ParkWord,
        ready: impl Fn(u32) -> bool,
        overdue: impl Fn() -> bool,
    ) -> Result<u32, JobFailed> {
        let mut tier = self.patience.begin();
        let (mut asleep, mut step) = (None, Step::Again);
        let (mut heard, mut worked) = (None, false);
        loop {
            let value = word.load();
            if ready(value) {
                return Ok(value);
            }
            // Who spins looks for a failure at the beginning and at the end, microseconds later.
            let looks = step != Step::Spun && !planted(Fault::FailureIgnored);
            if looks && self.failed.is_set() {
                return Err(JobFailed);
            }
            let duties = self.duties.filter(|_| step != Step::Spun);
            let due = duties.and_then(|duties| Some((duties, duties.bell()?.load())));
            if let Some((duties, rung)) = due {
                worked |= heard.replace(rung) != Some(rung) && duties.work();
            }
            step = self.patience.next(&mut tier);
            if step == Step::Sleep {
                if asleep.is_none() {
                    asleep = self.account.map(Asleep::begin);
                }
                let failed = self.failed;
                let sleep = due.is_none().then(|| self.patience.sleep(&tier));
                word.sleep_unless(failed.word(), sleep, |now| ready(now) || failed.is_set());
                self.patience.settle();
            }
            if self.patience.is_overdue(&mut tier) {
                let changed = overdue() | std::mem::take(&mut worked);
                // Behind a look, a sleep and the overdue action: a complete round of this wait.
                if let Some(asleep) = &mut asleep {
                    asleep.looked(changed);
                }
            }
        }
    }
}
