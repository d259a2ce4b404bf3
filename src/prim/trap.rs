//! One trap for the process: an action when an event happens for the nth time, on any thread.

use super::super::{ProcSync, Site, Step};
use super::Event;
use std::sync::{Mutex, OnceLock};

/// Lists the events, and does not compile if one is missing.
macro_rules! events {
    ($($kind:ident($of:ident): $($name:ident)+;)+) => {
        /// Every event and its name, which is that of its variant.
        const EVENTS: &[(Event, &str)] =
            &[$($((Event::$kind($of::$name), stringify!($name)),)+)+];

        /// The name of an event, as [`named`] takes it.
        pub fn name_of(event: Event) -> &'static str {
            match event {
                $($(Event::$kind($of::$name) => stringify!($name),)+)+
            }
        }
    };
}

events! {
    MemSync(Site):
        FencePre FencePost PostPre StartPost CompletePre WaitPost LockAlone LockPost UnlockPre LockAllOpens
        LockAllOpened LockAllReads LockAllRevokes LockAllRevoked LockBeside LockAllPost
        UnlockAllPre Flush FlushAll FlushLocal FlushLocalAll WinSync CollectivePre
        CollectivePost EachArrived ArrivalCarry ReleaseCarry AccumulatePost AccumulatePre HeapPost HeapPre NoticePre Alarm LookPost
        LookPre AttachPost AttachPre LockCarry TablePre TableCarry NotifyPre NotifyPost WatchWaiter
        WatchPost ShardAlone ShardAnnounce ShardLook ShardWithdraw ShardWithdrawn ShardBarrier
        ShardRung ShardDrained ShardPost ShardPre MessagePre MessageRing MessageLook MessagePost
        MessageList MessageFind MessageLeave MessageReturn MessageReuse MessageWithdrawn MessageTaken ParkWaiter
        ParkWaker ParkBarrier ParkReleased;
    ProcSync(ProcSync):
        FenceArrive FencePass Post Start Complete Wait LockGranted LockReleased CollectiveArrive
        CollectivePass;
    Step(Step):
        BeforeJoin Mapped Joined Finishing Finished HeapFound HeapUnlisted HeapSplit HeapMerging
        HeapListed SpaceMarked SpaceClosed WindowTaken WindowNamed WindowKnown WindowTouched FreeSynced FreeDone
        MidPut MidGet MidAccumulate;
}

/// The names of all events.
pub fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|(_, name)| *name)
}

/// The event of that name.
pub fn named(name: &str) -> Option<Event> {
    EVENTS.iter().find(|(_, own)| *own == name).map(|(event, _)| *event)
}

struct Trap {
    at: Event,
    /// How many more times the event must happen.
    left: Mutex<u64>,
    action: Box<dyn Fn() + Send + Sync>,
}

static TRAP: OnceLock<Trap> = OnceLock::new();

/// Runs `action` immediately before `at` happens for the `nth` time from now on. The first trap stays.
pub fn set_trap(at: Event, nth: u64, action: impl Fn() + Send + Sync + 'static) {
    let trap = Trap { at, left: Mutex::new(nth), action: Box::new(action) };
    // A process joins once, and joining sets the trap.
    let _ = TRAP.set(trap);
}

/// To be called immediately before each event.
pub(super) fn spring(event: Event) {
    let Some(trap) = TRAP.get().filter(|trap| trap.at == event) else { return };
    // Not held during the action, which may panic or pass other events.
    let now = {
        let mut left = trap.left.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = *left == 1;
        *left = left.saturating_sub(1);
        now
    };
    if now {
        (trap.action)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_one_event() {
        for (event, name) in EVENTS {
            assert_eq!((named(name), name_of(*event)), (Some(*event), *name));
        }
        assert_eq!(named("Nowhere"), None);
    }
}
