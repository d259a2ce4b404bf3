//! A biased mutex between the threads of this process: it costs the favoured thread no locked
//! instruction until a second thread acquires it.
//!
//! The protocol is that of the stripes (`sync/stripes.rs`), over words of this process. The favoured
//! thread plays the single update: it announces itself and looks for a holder. All other threads use
//! an ordinary mutex. The first of them revokes the bias for good, like a bulk update: it becomes the
//! holder, executes the kernel's barrier, and waits until the favoured thread is not announced.
//!
//! 1. Only the thread whose number is in `favoured` announces itself. The word changes once, to
//!    `NOBODY`, under the mutex, by a holder while no thread is announced.
//! 2. A thread that is announced, has seen no holder, and is still favoured has exclusive access:
//!    another thread first revokes the bias, and revocation waits for the withdrawal. A thread that
//!    has seen the last holder leave finds that it is not favoured any more.
//! 3. A number passes from a thread that ends to one that begins, and the bias with it.
#![allow(unsafe_code, reason = "lends what the mutex guards")]

use super::thread;
use crate::prim::{FailedWord, Patience, Waiter, Word32};
use crate::sync::RobustExclusion;
use crate::sync::stripes::{self, Announced, Common, RankLanes, Stripe};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// No thread is favoured. Larger than the numbers of threads.
const NOBODY: u32 = 1 << 16;

/// A value and the biased mutex that guards it.
pub(crate) struct Favouring<T> {
    /// The number of the favoured thread.
    favoured: Word32,
    /// The lane of the favoured thread.
    lanes: [RankLanes; 1],
    slot: RobustExclusion,
    others: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: as for a mutex: the thread that holds it has exclusive access to the value, by invariants 1
// and 2; `T: Sync`, because a guard lends it.
unsafe impl<T: Send + Sync> Sync for Favouring<T> {}

/// The guard of the mutex: the thread holds it until this is dropped.
pub(crate) struct InTurn<'m, T> {
    of: &'m Favouring<T>,
    /// How it is held: by the favoured thread, or by another one.
    _by: By<'m>,
}

enum By<'m> {
    Favour(#[allow(dead_code, reason = "withdraws when dropped")] Favour<'m>),
    Mutex(#[allow(dead_code, reason = "unlocks when dropped")] MutexGuard<'m, ()>),
}

/// The announcement of the favoured thread. It also ends while panicking, so the mutex stays usable
/// after a caught panic.
struct Favour<'m>(Option<Announced<'m, [RankLanes; 1]>>);

impl Drop for Favour<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(announced) = self.0.take() {
            announced.withdraw();
        }
    }
}

impl<T> Favouring<T> {
    /// A mutex that favours this thread if `favours`, which needs this process to take part in the
    /// barriers of all ranks.
    pub(crate) fn new(value: T, favours: bool) -> Favouring<T> {
        let favoured = Word32::default();
        favoured.store(if favours { own() } else { NOBODY });
        let (lanes, slot) = Default::default();
        Favouring { favoured, lanes, slot, others: Mutex::new(()), value: UnsafeCell::new(value) }
    }

    /// Blocks while another thread holds the mutex. It is not reentrant.
    #[inline]
    pub(crate) fn turn(&self) -> InTurn<'_, T> {
        match self.announce() {
            Some(favour) => InTurn { of: self, _by: By::Favour(favour) },
            None => self.turn_among_others(),
        }
    }

    /// Runs `f` if this is the favoured thread and no other holds the mutex; `None` otherwise.
    #[inline(always)]
    pub(crate) fn in_favour<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _favour = self.announce()?;
        // SAFETY: this thread has exclusive access (invariants 1 and 2) until `_favour` is dropped.
        Some(f(unsafe { &mut *self.value.get() }))
    }

    #[inline(always)]
    fn announce(&self) -> Option<Favour<'_>> {
        if !self.is_favoured() {
            return None;
        }
        let announced = stripes::announce(self.lanes[0].lane(0)?, self.stripe())?;
        let favour = Favour(Some(announced));
        self.is_favoured().then_some(favour)
    }

    #[inline(always)]
    fn stripe(&self) -> Stripe<'_, [RankLanes; 1]> {
        Stripe { number: 0, slot: &self.slot, ranks: &self.lanes }
    }

    #[inline(always)]
    fn is_favoured(&self) -> bool {
        self.favoured.load() as usize == thread::number()
    }

    #[cold]
    fn turn_among_others(&self) -> InTurn<'_, T> {
        let locked = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        match self.favoured.load() {
            NOBODY => {}
            _ if self.is_favoured() => {}
            _ => self.end_favour(),
        }
        InTurn { of: self, _by: By::Mutex(locked) }
    }

    /// Revokes the bias, and waits until the favoured thread does not hold the mutex.
    fn end_favour(&self) {
        // The holder of this mutex waits for no rank, so no failure need end this wait.
        let never = FailedWord::default();
        let patience = Patience::new(2, 1);
        let waiter =
            Waiter { rank: 0, failed: &never, patience: &patience, account: None, duties: None };
        let (slots, lanes) = (from_ref(&self.slot), &self.lanes);
        let nobody = || self.favoured.store(NOBODY);
        let ended = stripes::exclusively(slots, 0, lanes, &Common::default(), &waiter, nobody);
        assert!(
            matches!(ended, Ok(Some(()))),
            "membarrier(2), which this process was admitted to, is denied to it"
        );
    }
}

/// The number of this thread, if it has one.
fn own() -> u32 {
    u32::try_from(thread::ask()).map_or(NOBODY, |number| number.min(NOBODY))
}

impl<T> Deref for InTurn<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread has exclusive access (invariants 1 and 2), and lends the value no longer
        // than the guard is borrowed.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for InTurn<'_, T> {
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
    fn count(mutex: &Favouring<[u64; 2]>, times: u64) {
        for _ in 0..times {
            let mut turn = mutex.turn();
            assert_eq!(turn[0], turn[1], "another thread has its turn");
            turn[0] += 1;
            turn[1] = turn[0];
        }
    }

    /// This thread, which is favoured, and others.
    fn counted(favours: bool, threads: u64) -> (Favouring<[u64; 2]>, u64) {
        const TIMES: u64 = 20_000;
        let mutex = Favouring::new([0; 2], favours);
        assert_eq!(mutex.is_favoured(), favours);
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
    fn no_count_is_lost_whoever_is_favoured() {
        let can = take_part();
        for favours in [false, can] {
            for threads in [2, 3, 5] {
                for _ in 0..20 {
                    let (mutex, expected) = counted(favours, threads);
                    assert_eq!(mutex.favoured.load(), NOBODY);
                    assert_eq!(*mutex.turn(), [expected; 2]);
                }
            }
        }
    }

    #[test]
    fn one_thread_stays_favoured() {
        if take_part() {
            let (mutex, expected) = counted(true, 1);
            assert!(mutex.is_favoured() && *mutex.turn() == [expected; 2]);
        }
    }

    #[test]
    fn a_panic_ends_the_turn_of_whoever_has_it() {
        for favours in [false, take_part()] {
            let mutex = Favouring::new(0, favours);
            *mutex.turn() = 1;
            let panics = || {
                *mutex.turn() = 2;
                let _turn = mutex.turn();
                std::panic::resume_unwind(Box::new(()));
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
            std::thread::scope(|scope| scope.spawn(|| *mutex.turn() += 1).join().unwrap());
            assert_eq!(*mutex.turn(), 3);
        }
    }
}
