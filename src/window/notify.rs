//! Notification counters of a window, as targets wait on them and origins reach them.
//!
//! The protocol is `sync/notify.rs`; the operations that are counted stand in `ops/notify.rs`.

use super::calls::Calls;
use super::plan::WindowPlan;
use super::watch;
use crate::call::Call;
use crate::check::Frequency;
use crate::error::{Error, Result};
use crate::foreign::ForeignWindow;
use crate::prim::{Awaited, AwaitedKind, WaitRecord, Waiter, Word32};
use crate::shm::{PlacedSlice, Segment};
use crate::sync::notify::{self, NotifyCounter};
use std::cell::Cell;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// All counters of a window, and what this rank has consumed of its own.
pub(super) struct Notifications {
    /// Nothing where no rank has a counter.
    counters: Option<PlacedSlice<NotifyCounter>>,
    /// The first counter of each rank, and after the last rank the number of all; empty without counters.
    first: Box<[u64]>,
    own: Box<[Consumed]>,
    /// The window of another MPI, which counts; the counters here then follow it.
    elsewhere: Option<Arc<ForeignWindow>>,
}

/// How many notifications of one counter this rank has consumed, modulo 2³².
#[derive(Default)]
struct Consumed {
    /// Locked by the thread that consumes. The others wait for it; their tests return `false`.
    consuming: Mutex<()>,
    /// Written under `consuming`.
    count: Word32,
}

/// A target never has this many notifications outstanding, so a wait for as many would not end.
const TOO_MANY: u32 = 1 << 31;

impl Notifications {
    /// Those of the window whose block is at `block`, for the rank `own`.
    pub(super) fn place(
        segment: &Arc<Segment>,
        plan: &WindowPlan,
        block: u64,
        own: u32,
    ) -> Result<Notifications> {
        let first = plan.first_counters.clone();
        let all = first.last().map_or(0, |end| *end as usize);
        let counters = match all {
            0 => None,
            _ => Some(segment.place_all(block + plan.counters, all)?),
        };
        let mut placed = Notifications { counters, first, own: Box::default(), elsewhere: None };
        placed.own = (0..placed.of(own)).map(|_| Consumed::default()).collect();
        Ok(placed)
    }

    /// The same, counted by another MPI.
    pub(super) fn by(self, elsewhere: Option<Arc<ForeignWindow>>) -> Notifications {
        Notifications { elsewhere, ..self }
    }

    /// Counts a notification by another MPI; returns whether the window is its.
    #[inline]
    pub(super) fn count_elsewhere(
        &self,
        calls: &Calls,
        call: Call,
        (rank, counter): (u32, u32),
    ) -> Result<bool> {
        let Some(window) = &self.elsewhere else { return Ok(false) };
        calls.foreign(call, window.count(rank, counter))?;
        Ok(true)
    }

    /// Lets a counter of this rank follow the other MPI's. Its consumers are excluded.
    fn follow(&self, calls: &Calls, call: Call, counter: u32, word: &NotifyCounter) -> Result<()> {
        if let Some(window) = &self.elsewhere {
            let come = calls.foreign(call, window.counted(counter))? as u32;
            notify::notify(word, come.wrapping_sub(notify::outstanding(word, 0)));
        }
        Ok(())
    }

    /// Follows it until `count` notifications have come that were not `seen`.
    fn await_elsewhere(
        &self,
        calls: &Calls,
        (counter, word): (u32, &NotifyCounter),
        (seen, count): (u32, u32),
        waiter: &Waiter<'_>,
    ) -> Result<()> {
        let outcome = Cell::new(Ok(()));
        let look = || {
            let followed = self.follow(calls, Call::WaitNotify, counter, word);
            let done = followed.is_err() || notify::outstanding(word, seen) >= count;
            outcome.set(followed);
            done
        };
        if self.elsewhere.is_some() {
            watch::poll(waiter, look);
        }
        outcome.into_inner()
    }

    /// How many counters a rank has.
    fn of(&self, rank: u32) -> u64 {
        let rank = rank as usize;
        self.first.get(rank..rank + 2).map_or(0, |ends| ends[1] - ends[0])
    }

    fn find(&self, rank: u32, counter: u32) -> Option<&NotifyCounter> {
        let all = self.counters.as_ref()?;
        let at = self.first[rank as usize] + u64::from(counter);
        (u64::from(counter) < self.of(rank)).then(|| &all[at as usize])
    }
}

impl Notifications {
    /// Counter number `counter` of `rank`, a rank of the window.
    pub(super) fn counter(
        &self,
        calls: &Calls,
        call: Call,
        rank: u32,
        counter: u32,
    ) -> Result<&NotifyCounter> {
        let found = self.find(rank, counter);
        found.ok_or_else(|| self.no_such_counter(calls, call, rank, counter))
    }

    #[cold]
    fn no_such_counter(&self, calls: &Calls, call: Call, rank: u32, counter: u32) -> Error {
        let problem = match self.of(rank) {
            0 => format!(
                "rank {rank} has no notification counter {counter}: it asked for none \
                 (WindowOptions::notifications)"
            ),
            n => format!(
                "rank {rank} has no notification counter {counter}: it has {n}, numbered from 0"
            ),
        };
        Error::Argument { at: calls.place(call), problem }
    }

    fn own_counter(
        &self,
        calls: &Calls,
        call: Call,
        counter: u32,
    ) -> Result<(&NotifyCounter, &Consumed)> {
        let word = self.counter(calls, call, calls.rank().0, counter)?;
        Ok((word, &self.own[counter as usize]))
    }

    /// Waits for `count` notifications that were not consumed, and consumes them.
    pub(super) fn wait(
        &self,
        calls: &Calls,
        counter: u32,
        count: u32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let call = Call::WaitNotify;
        let (word, consumed) = self.own_counter(calls, call, counter)?;
        check_count(calls, call, counter, count)?;
        let _consuming = consumed.consuming.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = consumed.count.load();
        let before = seen;
        let describe = |record: &WaitRecord| {
            record.set(&Awaited {
                kind: AwaitedKind::Notification,
                come: notify::outstanding(word, before),
                awaited: count,
                number: counter.into(),
                ..Awaited::default()
            });
        };
        let waiter = calls.recording_waiter(at, &describe);
        self.await_elsewhere(calls, (counter, word), (seen, count), &waiter)?;
        notify::wait(word, &mut seen, count, &waiter)
            .map_err(|failed| calls.job_failed(failed, call))?;
        consumed.count.store(seen);
        publish_consumed(calls, word, (seen, count));
        calls.synchronising(Some(at), Frequency::Often, |checker, window| {
            window.noticed(checker, calls.rank().0);
        });
        Ok(())
    }

    /// [`Notifications::wait`] if that would not block: whether they are consumed.
    pub(super) fn test(&self, calls: &Calls, counter: u32, count: u32) -> Result<bool> {
        let call = Call::TestNotify;
        let (word, consumed) = self.own_counter(calls, call, counter)?;
        check_count(calls, call, counter, count)?;
        let _consuming = match consumed.consuming.try_lock() {
            Ok(consuming) => consuming,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        self.follow(calls, call, counter, word)?;
        let mut seen = consumed.count.load();
        let come = notify::test(word, &mut seen, count);
        consumed.count.store(seen);
        if !come {
            calls.context().serve();
        } else {
            publish_consumed(calls, word, (seen, count));
            calls.synchronising(None, Frequency::Often, |checker, window| {
                window.noticed(checker, calls.rank().0);
            });
        }
        Ok(come)
    }

    /// The number of notifications that were not consumed.
    pub(super) fn outstanding(&self, calls: &Calls, counter: u32) -> Result<u32> {
        let (word, consumed) = self.own_counter(calls, Call::TestNotify, counter)?;
        if let Some(window) = &self.elsewhere {
            let come = calls.foreign(Call::TestNotify, window.counted(counter))? as u32;
            return Ok(come.wrapping_sub(consumed.count.load()));
        }
        Ok(notify::outstanding(word, consumed.count.load()))
    }
}

/// In a traced job: publishes that this rank has consumed the `count` notifications up to number `last`.
fn publish_consumed(calls: &Calls, word: &NotifyCounter, (last, count): (u32, u32)) {
    if let Some(log) = calls.context().log() {
        let counter = calls.context().object(word);
        (0..count).for_each(|before| log.consumed(counter, last.wrapping_sub(before)));
    }
}

fn check_count(calls: &Calls, call: Call, counter: u32, count: u32) -> Result<()> {
    if count < TOO_MANY {
        return Ok(());
    }
    let problem =
        format!("{count} notifications of counter {counter}: at most 2^31-1 can be outstanding");
    Err(Error::Argument { at: calls.place(call), problem })
}
