//! The word that ends waits when a rank has failed, and the alarm that wakes sleeping ranks.
//!
//! Every sleep is on two words: the awaited word and the alarm of the job.
//!
//! ```text
//!   waiter                                launcher
//!     heard = alarm                         records that the rank has failed
//!     mem_sync(ParkWaiter)                  mem_sync(Alarm)
//!     failed? -> the wait is over           alarm += 1, futex wake
//!     futex wait for alarm != heard
//! ```
//!
//! Either the waiter sees the failure, or its sleep ends. Only the launcher rings the alarm. It reads
//! no count of sleepers, because ranks could not write one: the page is read-only to them.

use super::{Fault, Site, Word32, machine::FutexWord, mem_sync, planted};

/// The word that ends every wait: nonzero once a rank has failed. Ranks only read it.
#[repr(C)]
#[derive(Default)]
pub struct FailedWord {
    cause: Word32,
    alarm: FutexWord,
}

impl FailedWord {
    /// Whether a rank has failed.
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.cause.load() != 0
    }

    /// The cause as the launcher wrote it: rank + 1 of the first rank that failed, or zero.
    pub fn cause(&self) -> u32 {
        self.cause.load()
    }

    /// Records that a rank has failed, and wakes every sleeper. The first cause stays.
    pub fn set(&self, cause: u32) {
        let _ = self.cause.compare_exchange(0, cause);
        self.sound();
    }

    /// Wakes every sleeper of the job, so that it looks again.
    pub fn sound(&self) {
        // Publishes the failure before the alarm: a rank that sees the alarm sees its cause. Pairs
        // with ParkWaiter in `park.rs`. Fails without it: models/robust.rs, by
        // loom_tests/tests/mutants.rs.
        mem_sync(Site::Alarm);
        if !planted(Fault::AlarmForgotten) {
            self.alarm.sound();
        }
    }

    /// The value of the alarm with which a sleep that begins now must compare.
    pub(super) fn heard(&self) -> u32 {
        self.alarm.word().load()
    }

    /// The second word of every sleep.
    pub(super) fn alarm(&self) -> &FutexWord {
        &self.alarm
    }
}
