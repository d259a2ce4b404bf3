//! What each synchronisation call does, compared with the drawings of the New RMA Design, section
//! "RMA + Shared Memory": which PROC_SYNC and MEM_SYNC, in which order.
//!
//! The drawings know PROC_SYNC between ranks and MEM_SYNC beside it. The library has a few fences
//! more, all of them inside one PROC_SYNC, where the drawings have "sending/receiving messages":
//! parking (a waiter that is about to sleep, a waker that looks for sleepers), the carries between
//! the two words of one protocol (`LockCarry`, `TableCarry` with `TablePre`), and the allocator that
//! the first post calls. [`is_drawn`] leaves them out of the table; the last tests say where they
//! stand.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "asserts NOCHECK")]

use crate::support::interleave::{free, group, notify_when_asleep, others, record, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::Event::{self, MemSync, ProcSync};
use onesided::hooks::ProcSync as P;
use onesided::hooks::{Site, delay};
use onesided::{Access, Comm, FenceAssert, LockAssert, LockType, PostAssert, Rank, StartAssert};
use onesided::{Result, Window};
use std::rc::Rc;
use std::time::Duration;

const FENCE: &[Event] = &[
    MemSync(Site::FencePre),
    ProcSync(P::FenceArrive),
    ProcSync(P::FencePass),
    MemSync(Site::FencePost),
];
const POST: &[Event] = &[MemSync(Site::PostPre), ProcSync(P::Post), ProcSync(P::Post)];
const START: &[Event] = &[ProcSync(P::Start), ProcSync(P::Start), MemSync(Site::StartPost)];
const COMPLETE: &[Event] =
    &[MemSync(Site::CompletePre), ProcSync(P::Complete), ProcSync(P::Complete)];
const WAIT: &[Event] = &[ProcSync(P::Wait), MemSync(Site::WaitPost)];
const LOCK: &[Event] = &[ProcSync(P::LockGranted), MemSync(Site::LockPost)];
const UNLOCK: &[Event] = &[MemSync(Site::UnlockPre), ProcSync(P::LockReleased)];
const LOCK_ALL: &[Event] = &[ProcSync(P::LockGranted), MemSync(Site::LockAllPost)];
const UNLOCK_ALL: &[Event] = &[MemSync(Site::UnlockAllPre), ProcSync(P::LockReleased)];
const NOTHING: &[Event] = &[];

/// Whether the drawings have the event.
fn is_drawn(event: &Event) -> bool {
    !matches!(
        event,
        // No synchronisation: a place where tests let a rank fail.
        Event::Step(_)
            | MemSync(
                Site::ParkWaiter
                    | Site::ParkWaker
                    | Site::ArrivalCarry
                    | Site::ReleaseCarry
                    | Site::ParkBarrier
                    | Site::ParkReleased
                    | Site::LockAlone
                    | Site::LockAllOpens
                    | Site::LockAllOpened
                    | Site::LockAllReads
                    | Site::LockAllRevokes
                    | Site::LockAllRevoked
                    | Site::LockBeside
                    | Site::LockCarry
                    | Site::TablePre
                    | Site::TableCarry
                    | Site::HeapPost
                    | Site::HeapPre
            )
    )
}

/// A call, what it does, and the sequence of the drawings.
type Row<'a> = (&'static str, &'a dyn Fn() -> Result<()>, &'a [Event]);

fn compare(rows: &[Row<'_>]) {
    for (call, run, expected) in rows {
        let (result, events) = record(run);
        result.unwrap();
        let drawn: Vec<Event> = events.into_iter().filter(is_drawn).collect();
        assert_eq!(drawn, *expected, "{call}");
    }
}

/// Drawing 1. Every assertion leaves both MEM_SYNCs where they are; with NOPRECEDE and NOSUCCEED the
/// fence arrives and goes on.
#[test]
fn fence_is_mem_sync_proc_sync_mem_sync_whatever_is_asserted() {
    spmd(3, |world| {
        let win = words(world, 1);
        let fence = |assert| win.fence_with(assert);
        compare(&[
            ("fence(NOPRECEDE)", &|| fence(FenceAssert::NOPRECEDE), FENCE),
            ("fence(NOSTORE)", &|| fence(FenceAssert::NOSTORE), FENCE),
            ("fence(NOPUT)", &|| fence(FenceAssert::NOPUT), FENCE),
            ("fence(0)", &|| fence(FenceAssert::NONE), FENCE),
            ("put", &|| win.put(&[1u64], Rank(0), 0), NOTHING),
            ("get", &|| win.get(&mut [1u64], Rank(0), 0), NOTHING),
            ("fence(NOSUCCEED)", &|| fence(FenceAssert::NOSUCCEED), FENCE),
            (
                "fence(NOPRECEDE | NOSUCCEED)",
                &|| fence(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED),
                FENCE,
            ),
        ]);
        free(win);
    });
}

/// Drawing 2, with two targets and two origins: one PROC_SYNC for each of them, one MEM_SYNC in all.
/// Test does what wait does when it is true, and nothing at all when it is false.
#[test]
fn post_and_complete_synchronise_memory_first_start_and_wait_last() {
    spmd(3, |world| {
        let win = words(world, 1);
        let others = group(world, &others(world));
        let test = |expected| win.test().map(|done| assert_eq!(done, expected));
        for _ in 0..2 {
            let post = |assert| win.post_with(&others, assert);
            let all = PostAssert::NOSTORE | PostAssert::NOPUT;
            compare(&[("post", &|| post(PostAssert::NONE), POST)]);
            world.barrier().unwrap();
            compare(&[("test, false", &|| test(false), NOTHING)]);
            world.barrier().unwrap();
            compare(&[
                ("start", &|| win.start(&others), START),
                ("complete", &|| win.complete(), COMPLETE),
                ("wait", &|| win.wait(), WAIT),
                ("post(NOSTORE | NOPUT)", &|| post(all), POST),
                ("start", &|| win.start(&others), START),
                ("complete", &|| win.complete(), COMPLETE),
            ]);
            world.barrier().unwrap();
            compare(&[("test, true", &|| test(true), WAIT)]);
        }
        free(win);
    });
}

/// NOCHECK drops the PROC_SYNC between post and start, never a MEM_SYNC; complete and wait are as
/// ever (MPI-2.2 §11.4.4).
#[test]
fn nocheck_drops_the_proc_sync_of_post_and_start_and_no_mem_sync() {
    spmd(3, |world| {
        let win = words(world, 1);
        let others = group(world, &others(world));
        for _ in 0..3 {
            let post = || win.post_with(&others, PostAssert::NOCHECK);
            compare(&[("post(NOCHECK)", &post, &[MemSync(Site::PostPre)])]);
            world.barrier().unwrap();
            // SAFETY: every rank has posted before the barrier.
            let nocheck = unsafe { StartAssert::nocheck() };
            let start = || win.start_with(&others, nocheck);
            compare(&[
                ("start(NOCHECK)", &start, &[MemSync(Site::StartPost)]),
                ("complete", &|| win.complete(), COMPLETE),
                ("wait", &|| win.wait(), WAIT),
            ]);
        }
        free(win);
    });
}

/// Empty groups: no PROC_SYNC with any rank, and the MEM_SYNC all the same.
#[test]
fn calls_with_an_empty_group_synchronise_memory_only() {
    spmd(2, |world| {
        let win = words(world, 1);
        let empty = group(world, &[]);
        compare(&[
            ("post", &|| win.post(&empty), &POST[..1]),
            ("start", &|| win.start(&empty), &START[2..]),
            ("complete", &|| win.complete(), &COMPLETE[..1]),
            ("wait", &|| win.wait(), WAIT),
        ]);
        free(win);
    });
}

/// Drawing 3: a lock is granted, then memory is synchronised; memory is synchronised, then the lock
/// is released. Flush and win_sync are one MEM_SYNC each. All ranks at once, so some of them wait.
#[test]
fn locks_are_granted_before_and_released_after_their_mem_sync() {
    spmd(3, |world| {
        let win = words(world, 1);
        let to = Rank(0);
        let lock = |lock_type| win.lock(lock_type, to);
        let win_sync = || {
            win.sync();
            Ok(())
        };
        for _ in 0..5 {
            compare(&[
                ("lock(SHARED)", &|| lock(LockType::Shared), LOCK),
                ("put", &|| win.put(&[1u64], to, 0), NOTHING),
                ("get", &|| win.get(&mut [1u64], to, 0), NOTHING),
                ("flush", &|| win.flush(to), &[MemSync(Site::Flush)]),
                ("flush_local", &|| win.flush_local(to), &[MemSync(Site::FlushLocal)]),
                ("flush_all", &|| win.flush_all(), &[MemSync(Site::FlushAll)]),
                ("flush_local_all", &|| win.flush_local_all(), &[MemSync(Site::FlushLocalAll)]),
                ("unlock", &|| win.unlock(to), UNLOCK),
                ("lock(EXCLUSIVE)", &|| lock(LockType::Exclusive), LOCK),
                ("unlock", &|| win.unlock(to), UNLOCK),
                ("lock_all", &|| win.lock_all(), LOCK_ALL),
                ("flush", &|| win.flush(to), &[MemSync(Site::Flush)]),
                ("flush_local", &|| win.flush_local(to), &[MemSync(Site::FlushLocal)]),
                ("flush_all", &|| win.flush_all(), &[MemSync(Site::FlushAll)]),
                ("flush_local_all", &|| win.flush_local_all(), &[MemSync(Site::FlushLocalAll)]),
                ("unlock_all", &|| win.unlock_all(), UNLOCK_ALL),
                ("win_sync", &win_sync, &[MemSync(Site::WinSync)]),
            ]);
        }
        free(win);
    });
}

/// NOCHECK drops grant and release, never a MEM_SYNC: "the coherence operations that may be attached
/// to the lock and unlock calls are still required" (MPI-2.2 §11.4.4).
#[test]
fn nocheck_drops_the_proc_sync_of_locks_and_no_mem_sync() {
    spmd(2, |world| {
        let win = words(world, 1);
        // SAFETY: no rank requests a lock without NOCHECK, and none accesses the window.
        let nocheck = unsafe { LockAssert::nocheck() };
        let to = Rank(0);
        for lock_type in [LockType::Shared, LockType::Exclusive] {
            compare(&[
                ("lock(NOCHECK)", &|| win.lock_with(lock_type, to, nocheck), &LOCK[1..]),
                ("unlock", &|| win.unlock(to), &UNLOCK[..1]),
            ]);
        }
        compare(&[
            ("lock_all(NOCHECK)", &|| win.lock_all_with(nocheck), &LOCK_ALL[1..]),
            ("unlock_all", &|| win.unlock_all(), &UNLOCK_ALL[..1]),
        ]);
        free(win);
    });
}

/// A refused call does nothing.
#[test]
fn a_refused_call_has_no_event() {
    spmd(2, |world| {
        let win = words(world, 1);
        let calls: [(&str, &dyn Fn() -> Result<()>); 6] = [
            ("complete", &|| win.complete()),
            ("wait", &|| win.wait()),
            ("unlock", &|| win.unlock(Rank(0))),
            ("unlock_all", &|| win.unlock_all()),
            ("flush", &|| win.flush(Rank(0))),
            ("lock", &|| win.lock(LockType::Shared, Rank(9))),
        ];
        for (name, call) in calls {
            let (result, events) = record(call);
            assert!(result.is_err() && events.is_empty(), "{name}: {events:?}");
        }
        free(win);
    });
}

/// The typed face makes the same calls, also where a guard is dropped.
#[test]
fn guards_make_the_calls_they_stand_for() {
    spmd(3, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let others = group(world, &others(world));
        let (epoch, events) = record(|| window.lock(LockType::Shared, Rank(0)));
        assert_eq!(events.into_iter().filter(is_drawn).collect::<Vec<_>>(), LOCK);
        dropped("LockEpoch", epoch.unwrap(), UNLOCK);
        let epoch = window.lock_all().unwrap();
        dropped("Batch", epoch.batch(), &[MemSync(Site::FlushAll)]);
        dropped("LockAllEpoch", epoch, UNLOCK_ALL);
        dropped("LocalEpoch", window.lock_local().unwrap(), UNLOCK);
        world.barrier().unwrap();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&others).unwrap();
        dropped("AccessEpoch", access.start(&others).unwrap(), COMPLETE);
        exposed.wait().unwrap();
        let epoch = window.fence().unwrap();
        epoch.put(&[1], Rank(0), 0).unwrap();
        compare_once("close", || epoch.close().unwrap(), FENCE);
        window.free().unwrap();
    });
}

fn compare_once(what: &str, f: impl FnOnce(), expected: &[Event]) {
    let ((), events) = record(f);
    let drawn: Vec<Event> = events.into_iter().filter(is_drawn).collect();
    assert_eq!(drawn, expected, "{what}");
}

fn dropped<T>(what: &str, guard: T, expected: &[Event]) {
    compare_once(what, || drop(guard), expected);
}

fn lock_events(win: &Win, lock_type: LockType) -> Vec<Event> {
    let (result, events) = record(|| win.lock(lock_type, Rank(0)));
    result.unwrap();
    events
}

/// Where no rank waits or sleeps, the drawings are complete, except for looks: of the rank that leaves, whether a
/// rank contends; and of an exclusive locker and the first `lock_all`, for each other.
#[test]
fn uncontended_locks_have_no_fence_beside_the_drawn_ones() {
    spmd(1, |world: &Comm| {
        let win = words(world, 1);
        let alone: &[Event] = &[MemSync(Site::LockAlone)];
        let beside: &[Event] = &[MemSync(Site::LockBeside)];
        let opening: &[Event] = &[MemSync(Site::LockAllOpens), MemSync(Site::LockAllOpened)];
        for (alone, opening) in [(alone, opening), (NOTHING, NOTHING)] {
            for lock_type in [LockType::Shared, LockType::Exclusive] {
                // An exclusive locker that is not alone leaves the window's lock, too.
                let (entry, looks) = match lock_type {
                    LockType::Shared => (NOTHING, 1),
                    LockType::Exclusive if alone.is_empty() => (beside, 2),
                    LockType::Exclusive => (alone, 1),
                };
                assert_eq!(lock_events(&win, lock_type), [entry, LOCK].concat());
                let unlock = [UNLOCK, &[MemSync(Site::ParkWaker); 2][..looks]].concat();
                assert_eq!(record(|| win.unlock(Rank(0)).unwrap()).1, unlock);
            }
            assert_eq!(record(|| win.lock_all().unwrap()).1, [opening, LOCK_ALL].concat());
            let unlock_all = [UNLOCK_ALL, &[MemSync(Site::ParkWaker)]].concat();
            assert_eq!(record(|| win.unlock_all().unwrap()).1, unlock_all);
        }
        uncontended_locks_of_a_biased_window(&win);
        free(win);
    });
}

/// Looks: of a reader, whether the bias is being revoked; of an exclusive locker, for readers; and whether the window
/// is biased again.
fn uncontended_locks_of_a_biased_window(win: &Win) {
    let unlock_all = [UNLOCK_ALL, &[MemSync(Site::ParkWaker)]].concat();
    let reads: &[Event] = &[MemSync(Site::LockAllReads)];
    let mut ways = Vec::new();
    for _ in 0..20 {
        ways.push(record(|| win.lock_all().unwrap()).1);
        assert_eq!(record(|| win.unlock_all().unwrap()).1, unlock_all);
    }
    ways.dedup();
    assert_eq!(ways, [LOCK_ALL.to_vec(), [reads, LOCK_ALL].concat()]);
    let beside = MemSync(Site::LockBeside);
    let revoking = [MemSync(Site::LockAllRevokes), MemSync(Site::LockAllRevoked), beside];
    for looks in [&revoking[..], &[beside]] {
        assert_eq!(lock_events(win, LockType::Exclusive), [looks, LOCK].concat());
        win.unlock(Rank(0)).unwrap();
    }
}

/// The fences that the drawings leave to "messages": who sleeps in lock announces itself, and who
/// admits it carries over what it saw on the state word, then looks for sleepers; all between the
/// drawn events, never between a MEM_SYNC and the accesses that it orders. The rank that is nudged instead
/// reads the state word itself, and needs no carry.
#[test]
#[allow(clippy::disallowed_methods, reason = "a rank queues when it has contended for some time")]
fn parking_and_the_carry_of_a_contended_lock_belong_to_its_proc_sync() {
    contended_lock(&[ADMITTED], |win| {
        let win = win.clone();
        // It has contended for as long as ranks do when it goes to sleep: so it queues, and sleeps
        // there.
        delay(MemSync(Site::ParkWaiter), move || {
            std::thread::sleep(Duration::from_millis(5));
            notify_when_asleep(&win, 0);
        });
    });
}

#[test]
fn a_rank_that_contends_for_a_lock_is_nudged_behind_the_release() {
    // On a machine that does much else it may have contended long enough meanwhile.
    contended_lock(&[&[MemSync(Site::ParkWaker)], ADMITTED], |win| notify_when_asleep(win, 0));
}

/// What who leaves does for one that queues.
const ADMITTED: &[Event] = &[MemSync(Site::LockCarry), MemSync(Site::ParkWaker)];

/// Rank 0 unlocks, and does one of `told` behind the drawn events, when rank 1 has gone to sleep as
/// `before` has.
fn contended_lock(reported: &'static [&'static [Event]], before: fn(&Rc<Win>)) {
    spmd(2, move |world| {
        let win = words(world, 1);
        let waker = MemSync(Site::ParkWaker);
        if world.rank() == 0 {
            assert_eq!(lock_events(&win, LockType::Shared), LOCK);
            world.signal(1);
            world.await_signal(0, 1);
            let ((), events) = record(|| win.unlock(Rank(0)).unwrap());
            let (drawn, more) = events.split_at(UNLOCK.len());
            assert_eq!(drawn, UNLOCK);
            assert!(reported.contains(&more), "{more:?}");
        } else {
            world.await_signal(1, 1);
            before(&win);
            let events = lock_events(&win, LockType::Exclusive);
            let (waits, drawn) = events.split_at(events.len() - LOCK.len());
            assert_eq!(drawn, LOCK);
            // The first is that of the signal which the delay point raised.
            let parks = [MemSync(Site::ParkWaiter), waker, MemSync(Site::LockAlone)];
            assert!(!waits.is_empty() && waits.iter().all(|event| parks.contains(event)));
            win.unlock(Rank(0)).unwrap();
        }
        free(win);
    });
}

/// The first post clears and publishes its slots before its MEM_SYNC, and the first start on a
/// target looks them up before its PROC_SYNC; later ones do not. A post looks for sleepers once per
/// origin.
#[test]
fn the_table_of_post_slots_is_made_and_found_once() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &others(world));
        let waker = MemSync(Site::ParkWaker);
        let again = [POST[0], POST[1], waker];
        for round in 0..3 {
            let ((), events) = record(|| win.post(&peer).unwrap());
            let (made, post) = events.split_at(events.len() - again.len());
            assert_eq!(post, again);
            let made: Vec<&Event> = made.iter().filter(|event| **event != waker).collect();
            let first = [Site::HeapPost, Site::HeapPre, Site::TablePre].map(MemSync);
            let is_first = |event: &&&Event| first.contains(event);
            assert_eq!(made.iter().filter(is_first).count(), if round == 0 { 3 } else { 0 });
            world.barrier().unwrap();
            let ((), events) = record(|| win.start(&peer).unwrap());
            let carries = usize::from(round == 0);
            assert_eq!(events[..carries], vec![MemSync(Site::TableCarry); carries]);
            assert_eq!(events[carries..], START[1..]);
            win.complete().unwrap();
            win.wait().unwrap();
        }
        free(win);
    });
}
