//! Words for vector clocks, beside the words by which ranks synchronise: for each rank or thread the latest of its clocks
//! that is known there. What synchronises them makes the words visible: a clock is published before the MEM_SYNC that
//! releases others, and merged after their own.

use crate::prim::{Fault, Word64, planted};
use std::ops::Range;

/// Publishes a clock to words that no other rank writes.
pub fn publish(words: &[Word64], clock: &[u64]) {
    words.iter().zip(clock).for_each(|(word, clock)| word.store(*clock));
}

/// Publishes a clock to words to which others may publish at the same time. The number `own` of the clock grows only
/// here: others have no larger one, and what they raise its word to meanwhile is no more than this stores.
pub fn raise(words: &[Word64], clock: &[u64], own: usize) {
    raise_own(words, clock, own);
    raise_earlier(words, clock);
}

/// [`raise`] of what a clock was earlier: the words may know a later one.
pub fn raise_earlier(words: &[Word64], clock: &[u64]) {
    words.iter().zip(clock).for_each(|(word, clock)| raise_one(word, *clock));
}

/// [`raise`] of a clock of which all other numbers have been raised there before.
pub fn raise_own(words: &[Word64], clock: &[u64], own: usize) {
    if let (Some(word), Some(number)) = (words.get(own), clock.get(own)) {
        word.store(*number);
    }
}

/// Makes a word at least `value`.
pub fn raise_one(word: &Word64, value: u64) {
    let mut found = word.load();
    while found < value {
        if planted(Fault::ClockLost) {
            return word.store(value);
        }
        match word.compare_exchange(found, value) {
            Ok(_) => return,
            Err(other) => found = other,
        }
    }
}

/// Merges the words into a clock. Calls `learn` with the number of each entry that grows, and its values before and now.
pub fn merge(clock: &mut [u64], words: &[Word64], mut learn: impl FnMut(usize, Range<u64>)) {
    for (at, (clock, word)) in clock.iter_mut().zip(words).enumerate() {
        let other = word.load();
        if other > *clock {
            learn(at, *clock..other);
            *clock = other;
        }
    }
}
