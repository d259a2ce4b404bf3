//! A mutex between ranks.

use super::words::{Agreed, NEXT_LINES, Words};
use crate::protocol::Cell;
use crate::protocol::mcs::Mcs;
use onesided::{Call, Comm, Error, Rank, Result};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A mutex of the ranks of a communicator. For about a millisecond a rank contends for it: when the mutex
/// becomes free, the first rank to try gets it. Then the rank queues. Queued ranks get it in the order
/// of arrival, before any other.
///
/// It is the queue lock of Mellor-Crummey and Scott over window operations. A waiting rank sleeps on a
/// word of its own part.
///
/// All accesses of the holder before it unlocks, in any window and by any operation, store or load, are
/// complete for the next holder. No flush is needed for that.
///
/// The threads of a rank exclude each other, in no order. A thread that locks it twice deadlocks or
/// panics.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::Rank;
/// use onesided_tools::WindowMutex;
/// let mutex = WindowMutex::new(universe.world(), Rank(0))?;
/// let held = mutex.lock()?;
/// println!("one rank at a time");
/// held.unlock()?;
/// mutex.free()
/// # }
/// ```
pub struct WindowMutex {
    words: Words,
    mcs: Mcs,
    /// Excludes this rank's threads; `true` once the rank's place in the queue is lost.
    of_threads: Mutex<bool>,
}

/// Holds a [`WindowMutex`] until it is unlocked or dropped.
///
/// If it is dropped while panicking, the mutex stays locked, as epochs do: the protected data may be half
/// changed, and the rank is about to fail. If the program catches the panic, the rank's own later calls
/// return errors, and other ranks wait until the job ends.
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct WindowMutexGuard<'m> {
    mutex: &'m WindowMutex,
    of_threads: MutexGuard<'m, bool>,
    held: bool,
}

/// Index of the mutex's own word at the home rank; the rank's two words in the queue are at 0.
const TAIL: u64 = NEXT_LINES;

impl WindowMutex {
    /// Creates a free mutex, with its one common word at rank `home`.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::Root`] if `home` is no rank; [`Error::Mismatch`] if the ranks give different ones;
    /// [`Error::NoMemory`]; [`Error::RankFailed`].
    #[track_caller]
    pub fn new(comm: &Comm, home: Rank) -> Result<WindowMutex> {
        let agreed = Agreed { name: "mutex", home, parameters: [("", 0), ("", 0)] };
        let words = Words::new(comm, &agreed, |is_home| 8 * if is_home { TAIL + 1 } else { 2 })?;
        let tail = Cell { rank: home.0, index: TAIL };
        let mcs = Mcs { tail, node: 0, me: comm.rank().0 };
        Ok(WindowMutex { words, mcs, of_threads: Mutex::new(false) })
    }

    /// The rank whose part has the mutex's common word. Locking costs that rank nothing.
    pub fn home(&self) -> Rank {
        Rank(self.mcs.tail.rank)
    }

    /// Locks the mutex.
    ///
    /// Local; blocks, and sleeps, while another rank holds it or is queued before.
    ///
    /// # Errors
    /// [`Error::RankFailed`]; [`Error::Epoch`] after a thread of this rank has panicked while it held the
    /// mutex, or has got an error here.
    #[track_caller]
    pub fn lock(&self) -> Result<WindowMutexGuard<'_>> {
        let mut of_threads = self.of_threads.lock().or_else(|_| self.is_lost())?;
        if *of_threads {
            return self.is_lost();
        }
        let locked = self.mcs.lock(self.words.during(Call::Lock)?);
        *of_threads = locked.is_err();
        locked.map(|()| WindowMutexGuard { mutex: self, of_threads, held: true })
    }

    /// Locks the mutex if no rank and no other thread of this rank holds it; returns `None` otherwise.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`] after a thread of this rank has panicked while it held the mutex, or has got an
    /// error in [`WindowMutex::lock`].
    pub fn try_lock(&self) -> Result<Option<WindowMutexGuard<'_>>> {
        let of_threads = match self.of_threads.try_lock() {
            Ok(of_threads) => of_threads,
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Poisoned(_)) => return self.is_lost(),
        };
        if *of_threads {
            return self.is_lost();
        }
        let locked = self.mcs.try_lock(self.words.during(Call::Lock)?)?;
        // Not `then_some`, which would create a guard and drop it, and so unlock.
        Ok(locked.then(|| WindowMutexGuard { mutex: self, of_threads, held: true }))
    }

    /// Frees the mutex's memory.
    ///
    /// Collective; blocks until every rank has called it. No rank can hold the mutex then.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.words.free()
    }

    #[cold]
    fn is_lost<R>(&self) -> Result<R> {
        let problem = "a thread of this rank has panicked while it held the mutex, or failed to lock \
                       or unlock it";
        let at = self.words.place(Call::Lock);
        self.words.refused(Error::Epoch { at, problem: problem.into() })
    }

    #[track_caller]
    fn release(&self, of_threads: &mut bool) -> Result<()> {
        let unlocked = self.mcs.unlock(self.words.during(Call::Unlock)?);
        *of_threads = unlocked.is_err();
        unlocked
    }
}

impl WindowMutexGuard<'_> {
    /// Unlocks the mutex, and hands it to the rank that has queued longest. Dropping the guard does the
    /// same, but reports no error.
    ///
    /// Local; blocks only until that rank has written its name, which is its next step.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    #[track_caller]
    pub fn unlock(mut self) -> Result<()> {
        self.held = false;
        self.mutex.release(&mut self.of_threads)
    }
}

impl Drop for WindowMutexGuard<'_> {
    fn drop(&mut self) {
        if self.held && !std::thread::panicking() {
            // Fails only with the job, which the next call reports.
            let _ = self.mutex.release(&mut self.of_threads);
        }
    }
}
