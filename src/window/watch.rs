//! Waiting until an element of this rank's part satisfies a condition, and waking those that wait.
//!
//! The protocol is `sync/watch.rs`. A rank that writes to another's part rings that rank's bell in the
//! call that completes the write: flush and unlock for their target, complete for its targets, flush_all,
//! unlock_all and fence for all ranks. Win_sync rings for the own part, in shared windows for all. While
//! no rank watches the window, this costs one load. A window of another MPI is polled.

use super::calls::Calls;
use super::memory::ExposedMemory;
use super::transport::Transport;
use crate::call::Call;
use crate::check::{CheckedWindow, Checker, Frequency};
use crate::datatype::Integer;
use crate::error::Result;
use crate::foreign;
use crate::prim::{Awaited, AwaitedKind, ParkWord, WaitRecord, Waiter, sleep_at_most};
use crate::sync::watch;
use std::cell::Cell;
use std::panic::Location;
use std::time::Duration;

/// What [`Win::wait_until`](crate::engine::Win::wait_until) waits for: how the element compares with the value that is given.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let epoch = window.lock_all()?;
/// epoch.put_flush(&[7], other, 0)?;
/// assert_eq!(epoch.window().wait_until(0, onesided::Until::Gt, 0)?, 7);
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Until {
    /// It is equal.
    Eq,
    /// It is not equal.
    Ne,
    /// It is greater.
    Gt,
    /// It is greater or equal.
    Ge,
    /// It is less.
    Lt,
    /// It is less or equal.
    Le,
}

impl Until {
    /// Whether `found` is what a wait for `value` waits for.
    pub fn holds<T: Ord>(self, found: T, value: T) -> bool {
        let ordering = found.cmp(&value);
        match self {
            Until::Eq => ordering.is_eq(),
            Until::Ne => ordering.is_ne(),
            Until::Gt => ordering.is_gt(),
            Until::Ge => ordering.is_ge(),
            Until::Lt => ordering.is_lt(),
            Until::Le => ordering.is_le(),
        }
    }
}

/// Waits until the element at `disp` of the part of `rank` is `ready`, and returns it. The part is mapped into
/// this process, or this rank's own.
pub(super) fn await_value<T: Integer>(
    (calls, memory, transport): (&Calls, &ExposedMemory, &Transport),
    call: Call,
    at: &'static Location<'static>,
    (rank, disp): (u32, u64),
    ready: impl Fn(T) -> bool,
) -> Result<T> {
    let found = Cell::new(None);
    // The memory is looked up at every look, so that a wait never keeps it attached.
    let look = || {
        let now = memory.load(calls, call, rank, disp);
        let done = now.as_ref().map_or(true, |now| ready(*now));
        if done {
            found.set(Some(now));
        }
        done
    };
    let bell = &transport.words_of(rank).bell;
    let peer = calls.comm().world_rank(rank);
    let wanted = Awaited { kind: AwaitedKind::Value, peer, number: disp, ..Awaited::default() };
    let describe = |record: &WaitRecord| record.set(&wanted);
    let waiter = calls.recording_waiter(at, &describe);
    match transport.is_foreign() {
        true => {
            poll(&waiter, look);
            Ok(())
        }
        false => watch::until(&transport.words.watchers, bell, look, &waiter),
    }
    .map_err(|failed| calls.job_failed(failed, call))?;
    let noticed = |checker: &Checker, window: &CheckedWindow| window.noticed(checker, rank);
    calls.synchronising(Some(at), Frequency::Often, noticed);
    found.take().expect("the wait ends with something found")
}

/// How often a wait spins before its first pause.
const LOOKS: u32 = 4;
/// Between two looks at a part of another MPI.
const PAUSE: Duration = Duration::from_micros(20);

/// Waits until `look` returns true, in a window of another MPI: no rank rings there, and each look lets it make
/// progress. After a while of looking it gives the processor to other ranks between the looks.
pub(super) fn poll(waiter: &Waiter<'_>, look: impl Fn() -> bool) {
    let nothing = ParkWord::default();
    let look = || {
        foreign::progress();
        look()
    };
    if !waiter.spin(LOOKS, &look) {
        while !look() {
            sleep_at_most(&nothing, PAUSE, |_| false);
        }
    }
    watch::found();
}

/// The element at `disp` of this rank's own part, if it compares with `value` as `until` requires.
pub(super) fn test_value<T: Integer>(
    calls: &Calls,
    memory: &ExposedMemory,
    disp: u64,
    until: Until,
    value: T,
) -> Result<Option<T>> {
    let found = memory.load(calls, Call::TestUntil, calls.rank().0, disp)?;
    if !until.holds(found, value) {
        calls.context().serve();
        return Ok(None);
    }
    watch::found();
    calls.synchronising(None, Frequency::Often, |checker, window| {
        window.noticed(checker, calls.rank().0);
    });
    Ok(Some(found))
}
