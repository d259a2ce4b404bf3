//! A small number for each thread of this process: the index of its own words in the segment (record of
//! writes, announcement). A process is one rank.

use crate::prim::{set_thread_word, thread_word};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The thread has not requested a number. Larger than all numbers, as [`NONE`] is.
const NOT_ASKED: usize = usize::MAX;
/// The thread has none, and gets none.
const NONE: usize = usize::MAX - 1;

thread_local! {
    /// Separate from the number, so that reading the number has no side effect.
    static LEASE: Lease = const { Lease };
}

/// One bit for each number that a thread has.
static TAKEN: Mutex<u64> = Mutex::new(0);

fn taken() -> MutexGuard<'static, u64> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of a thread when the thread ends.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        let number = number();
        set(NONE);
        if number < u64::BITS as usize {
            *taken() &= !(1 << number);
        }
    }
}

/// The number of this thread, or one larger than all numbers.
#[inline(always)]
pub(super) fn number() -> usize {
    thread_word().wrapping_sub(1) as usize
}

/// Stores the number plus one: the word of a thread that has not requested one is zero.
fn set(number: usize) {
    set_thread_word(number as u64 + 1);
}

/// [`number`], after giving the thread the smallest free one if it has not requested one before.
#[cold]
pub(super) fn ask() -> usize {
    // A thread that is ending can no longer return one.
    if number() != NOT_ASKED || LEASE.try_with(|_| ()).is_err() {
        return number();
    }
    let mut taken = taken();
    let free = taken.trailing_ones();
    let number = if free < u64::BITS { free as usize } else { NONE };
    *taken |= 1u64.checked_shl(free).unwrap_or(0);
    set(number);
    number
}

/// Clears the number of the only thread of a forked process: it belongs to the parent's thread. Neither
/// allocates nor takes a lock.
pub(super) fn forget() {
    set(NONE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    #[test]
    fn threads_have_numbers_of_their_own_while_they_live() {
        for _ in 0..3 {
            let ready = Barrier::new(8);
            let numbers: BTreeSet<usize> = std::thread::scope(|threads| {
                let one = |_| {
                    threads.spawn(|| {
                        assert_eq!(number(), NOT_ASKED);
                        let mine = ask();
                        ready.wait();
                        assert_eq!((number(), ask()), (mine, mine));
                        mine
                    })
                };
                let all: Vec<_> = (0..8).map(one).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(numbers.len() == 8 && *numbers.last().unwrap() < 64, "{numbers:?}");
        }
    }
}
