//! A biased mutex between the threads of this process: it costs the preferred thread no locked
//! instruction until a second thread acquires it.
//!
//! The protocol is that of the shards (`sync/shards.rs`), over words of this process. The preferred
//! thread plays the single update: it announces itself and looks for a holder. All other threads use an
//! ordinary mutex. The first of them revokes the bias for good, as a bulk update does. It becomes the
//! holder, executes the kernel's barrier, and waits until the preferred thread is not announced.
//!
//! 1. Only the thread whose number is in `preferred` announces itself. The word changes once, to
//!    `NO_THREAD`, under the mutex, by a holder while no thread is announced.
//! 2. A thread that is announced and has seen an open shard has exclusive access: another thread first
//!    revokes the bias, and revocation waits for the withdrawal. It leaves the shard closed, which admits
//!    no announcement. No thread reopens it: that takes single updates by a holder, which are not made here.
//! 3. A number passes from a thread that ends to one that begins, and the bias with it. A forked process has none.
#![allow(unsafe_code, reason = "lends what the mutex guards")]

use super::thread;
use crate::prim::{Backoff, FailedWord, Waiter, Word64, cold_call, thread_word};
use crate::sync::RobustExclusion;
use crate::sync::shards::{self, Announced, Common, RankAnnouncements, Shard};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// No thread is preferred. The word of no thread: larger than those of threads with a number.
const NO_THREAD: u64 = 1 << 16;

/// A value and the mutex that guards it, which may be biased: the thread that makes it then executes no locked instruction
/// to lock it, until another thread does, which waits for a barrier of all processors of the job.
///
/// ```
/// use onesided::engine::BiasedMutex;
///
/// # onesided::testing::Job::new(1).run(|universe| -> onesided::Result<()> {
/// let places = BiasedMutex::new(vec![5, 7], universe.may_prefer());
/// assert_eq!(places.with(|places| places.pop()), Some(7));
/// std::thread::scope(|threads| threads.spawn(|| places.with(|places| places.push(9))).join()).unwrap();
/// assert_eq!(places.with(|places| places.len()), 2);
/// # Ok(())
/// # });
/// ```
pub struct BiasedMutex<T> {
    /// The [`thread_word`] of the preferred thread.
    preferred: Word64,
    /// The announcement of the preferred thread.
    announcements: [RankAnnouncements; 1],
    slot: RobustExclusion,
    others: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: as for a mutex: the thread that holds it has exclusive access to the value, by invariants 1
// and 2; `T: Sync`, because a guard lends it.
unsafe impl<T: Send + Sync> Sync for BiasedMutex<T> {}

/// The guard of the mutex: the thread holds it until this is dropped.
pub(crate) struct BiasedGuard<'m, T> {
    of: &'m BiasedMutex<T>,
    /// How it is held: by the preferred thread, or by another one.
    _by: By<'m>,
}

enum By<'m> {
    Bias(#[allow(dead_code, reason = "withdraws when dropped")] Bias<'m>),
    Mutex(#[allow(dead_code, reason = "unlocks when dropped")] MutexGuard<'m, ()>),
}

/// The announcement of the preferred thread.
type Announcement<'m> = Announced<'m, [RankAnnouncements; 1]>;

/// An announcement that also ends while panicking, so the mutex stays usable after a caught panic.
struct Bias<'m>(Option<Announcement<'m>>);

impl Drop for Bias<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(announced) = self.0.take() {
            announced.withdraw();
        }
    }
}

impl<T> BiasedMutex<T> {
    /// A mutex biased to this thread if `is_biased`, which needs this process to take part in the
    /// barriers of all ranks: [`Universe::may_prefer`](crate::Universe::may_prefer).
    pub fn new(value: T, is_biased: bool) -> BiasedMutex<T> {
        let preferred = Word64::default();
        preferred.store(if is_biased { own() } else { NO_THREAD });
        let (announcements, slot) = Default::default();
        BiasedMutex {
            preferred,
            announcements,
            slot,
            others: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Blocks while another thread holds the mutex. It is not reentrant.
    #[inline]
    pub(crate) fn lock(&self) -> BiasedGuard<'_, T> {
        match self.announce() {
            Some(announced) => BiasedGuard { of: self, _by: By::Bias(Bias(Some(announced))) },
            None => self.lock_among_others(),
        }
    }

    /// Runs `f` with the mutex. Blocks while another thread holds it; `f` does not use it again.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let bias = Bias(self.announce());
        let _other = bias.0.is_none().then(|| self.lock_among_others());
        // SAFETY: this thread has exclusive access (invariants 1 and 2) until `bias` and `_other` are dropped.
        f(unsafe { &mut *self.value.get() })
    }

    /// Runs `f` if this is the preferred thread and no other holds the mutex; `None` otherwise. If `f` panics, this
    /// thread holds the mutex until it next uses it.
    #[inline(always)]
    pub(crate) fn try_biased<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.attempt_biased(|value| Some(f(value)))
    }

    /// [`BiasedMutex::try_biased`] of what may have no result.
    #[inline(always)]
    pub(crate) fn attempt_biased<R>(&self, f: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let announced = self.announce()?;
        // SAFETY: this thread has exclusive access (invariants 1 and 2) until it withdraws.
        match f(unsafe { &mut *self.value.get() }) {
            Some(done) => {
                announced.withdraw_alone();
                Some(done)
            }
            None => cold_call(move || self.give_up()),
        }
    }

    /// Withdraws the announcement of this thread.
    fn give_up<R>(&self) -> Option<R> {
        // An announcement that is made twice is one.
        if let Some(announced) = self.announce() {
            announced.withdraw();
        }
        None
    }

    #[inline(always)]
    fn announce(&self) -> Option<Announcement<'_>> {
        if !self.is_biased_here() {
            return None;
        }
        let announcement = self.announcements[0].announcement(0)?;
        shards::try_announce(announcement, self.shard()).map_err(Announced::withdraw_alone).ok()
    }

    #[inline(always)]
    fn shard(&self) -> Shard<'_, [RankAnnouncements; 1]> {
        Shard { number: 0, slot: &self.slot, ranks: &self.announcements }
    }

    #[inline(always)]
    fn is_biased_here(&self) -> bool {
        self.preferred.load() == thread_word()
    }

    #[cold]
    fn lock_among_others(&self) -> BiasedGuard<'_, T> {
        let locked = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        match self.preferred.load() {
            NO_THREAD => {}
            _ if self.is_biased_here() => {}
            _ => self.end_bias(),
        }
        BiasedGuard { of: self, _by: By::Mutex(locked) }
    }

    /// Revokes the bias, and waits until the preferred thread does not hold the mutex.
    fn end_bias(&self) {
        // The holder of this mutex waits for ranks at most while they are in short critical sections, and not if the job ends,
        // so no failure need end this wait.
        let never = FailedWord::default();
        let backoff = Backoff::new(2, 1);
        let waiter =
            Waiter { rank: 0, failed: &never, backoff: &backoff, account: None, progress: None };
        let (slots, announcements) = (from_ref(&self.slot), &self.announcements);
        let clear = || self.preferred.store(NO_THREAD);
        let ended =
            shards::exclusively(slots, 0, announcements, &Common::default(), &waiter, clear);
        assert!(
            matches!(ended, Ok(Some(()))),
            "membarrier(2), which this process was admitted to, is denied to it"
        );
    }
}

impl<T> fmt::Debug for BiasedMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedMutex")
            .field("preferred", &self.preferred.load())
            .finish_non_exhaustive()
    }
}

/// The word of this thread, if it has a number.
fn own() -> u64 {
    (thread::ask() as u64).saturating_add(1).min(NO_THREAD)
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread has exclusive access (invariants 1 and 2), and lends the value no longer
        // than the guard is borrowed.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; the guard is borrowed exclusively.
        unsafe { &mut *self.of.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::take_part;
    use std::sync::Barrier;

    /// Adds by a load and a store, so that two concurrent threads would lose a count.
    fn count(mutex: &BiasedMutex<[u64; 2]>, times: u64) {
        for _ in 0..times {
            let mut guard = mutex.lock();
            assert_eq!(guard[0], guard[1], "another thread has its guard");
            guard[0] += 1;
            guard[1] = guard[0];
        }
    }

    /// This thread, which is preferred, and others.
    fn counted(is_biased: bool, threads: u64) -> (BiasedMutex<[u64; 2]>, u64) {
        const TIMES: u64 = 20_000;
        let mutex = BiasedMutex::new([0; 2], is_biased);
        assert_eq!(mutex.is_biased_here(), is_biased);
        let begun = Barrier::new(threads as usize);
        let (counting, begins) = (&mutex, &begun);
        let work = move || {
            begins.wait();
            count(counting, TIMES);
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        (mutex, threads * TIMES)
    }

    #[test]
    fn no_count_is_lost_whichever_thread_is_preferred() {
        let can = take_part();
        for is_biased in [false, can] {
            for threads in [2, 3, 5] {
                for _ in 0..20 {
                    let (mutex, expected) = counted(is_biased, threads);
                    assert_eq!(mutex.preferred.load(), NO_THREAD);
                    assert_eq!(*mutex.lock(), [expected; 2]);
                }
            }
        }
    }

    #[test]
    fn one_thread_stays_preferred() {
        if take_part() {
            let (mutex, expected) = counted(true, 1);
            assert!(mutex.is_biased_here() && *mutex.lock() == [expected; 2]);
        }
    }

    #[test]
    fn a_panic_releases_the_mutex() {
        for is_biased in [false, take_part()] {
            let mutex = BiasedMutex::new(0, is_biased);
            *mutex.lock() = 1;
            let panics = || {
                *mutex.lock() = 2;
                let _guard = mutex.lock();
                std::panic::resume_unwind(Box::new(()));
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
            std::thread::scope(|scope| scope.spawn(|| *mutex.lock() += 1).join().unwrap());
            assert_eq!(*mutex.lock(), 3);
        }
    }
}
