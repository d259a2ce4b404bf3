//! What only the separate memory model forbids (MPI-2.2 §11.7): it is reported and changes no exit code. Rank 0 owns the part
//! that both ranks access.

use crate::support::job;
use onesided::engine::Win;
use onesided::launch::Conflict;
use onesided::{Comm, FenceAssert, LockType, Op, Rank, WindowOptions};

/// A step of the two ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Rank 1 puts, updates or gets 4 bytes from there on.
    Put(u64),
    Update(u64),
    Get(u64),
    /// Rank 0 loads or stores 4 bytes from there on, by a call, or stores without one.
    Load(u64),
    Store(u64),
    OwnStore(u64),
    /// Rank 1 completes what it has done, and rank 0 waits for that.
    FlushAndBarrier,
    Barrier,
    /// Rank 0 makes both copies the same.
    Sync,
    Fence,
    LockAll,
    UnlockAll,
    /// Rank 0 or rank 1 locks or unlocks the part.
    Lock(u32),
    Unlock(u32),
    Post,
    Start,
    Complete,
    Wait,
}

use Step::*;

/// Programs, and the reason in the report.
const PROGRAMS: [(&[Step], Option<&str>); 20] = [
    (&[LockAll, Put(8), FlushAndBarrier, Load(8), UnlockAll], Some(NOT_PRIVATE)),
    (&[LockAll, Update(8), FlushAndBarrier, Load(8), UnlockAll], Some(NOT_PRIVATE)),
    (&[LockAll, Put(8), FlushAndBarrier, Sync, Load(8), UnlockAll], None),
    (&[LockAll, Put(8), FlushAndBarrier, Load(16), UnlockAll], None),
    (&[LockAll, Get(8), FlushAndBarrier, Store(8), UnlockAll], None),
    (&[LockAll, Store(8), Barrier, Get(8), UnlockAll], Some(NOT_PUBLIC)),
    (&[LockAll, Store(8), Sync, Barrier, Get(8), UnlockAll], None),
    (&[LockAll, Store(8), Barrier, Get(16), UnlockAll], None),
    (&[LockAll, OwnStore(8), Barrier, Get(8), UnlockAll], Some(NOT_PUBLIC)),
    (&[LockAll, OwnStore(8), Sync, Barrier, Get(8), UnlockAll], None),
    (&[LockAll, Store(8), Barrier, Put(8), UnlockAll], Some(NOT_PUBLIC)),
    (&[Fence, Store(0), Put(16), Fence], Some(DISJOINT)),
    (&[Fence, OwnStore(0), Put(16), Fence], Some(DISJOINT)),
    (&[Fence, Store(0), Fence, Put(0), Fence, Load(0), Store(16), Fence], None),
    (&[LockAll, Put(8), FlushAndBarrier, Store(16), UnlockAll], Some(DISJOINT)),
    (&[LockAll, Put(8), FlushAndBarrier, Sync, Store(16), UnlockAll], None),
    (&[LockAll, OwnStore(8), Barrier, Update(16), UnlockAll], Some(DISJOINT)),
    (&[Store(8), Post, Start, Put(16), Complete, Wait, Load(16), OwnStore(0)], None),
    (&[Post, Start, Put(16), OwnStore(8), Complete, Wait], Some(DISJOINT)),
    (
        &[
            Lock(0),
            Store(8),
            Unlock(0),
            Barrier,
            Lock(1),
            Put(8),
            Unlock(1),
            Barrier,
            Lock(0),
            Load(8),
            Unlock(0),
        ],
        None,
    ),
];

const NOT_PRIVATE: &str =
    "need not be visible to the loads and stores of rank 0 yet; rank 0 needs a fence, wait, lock";
const NOT_PUBLIC: &str =
    "need not be visible to operations yet; rank 0 needs a fence, post, unlock";
const DISJOINT: &str =
    "of other bytes of one part may overwrite each other's; put them into different epochs";

fn take(world: &Comm, win: &Win, step: Step) {
    let (rank, target, mut into) = (world.rank().0, Rank(0), [0u32]);
    let group = |of: u32| world.group().incl(&[of]).expect("a rank of the world");
    let done = match (step, rank) {
        (Put(at), 1) => win.put(&[1u32], target, at),
        (Update(at), 1) => win.accumulate(&[1u32], Op::Sum, target, at),
        (Get(at), 1) => win.get(&mut into, target, at),
        (Load(at), 0) => win.load(at, &mut into),
        (Store(at), 0) => win.store(at, &[2u32]),
        (OwnStore(at), 0) => {
            let at = win.base().wrapping_add(at as usize).cast::<u32>();
            // SAFETY: the part has the bytes, which no other rank accesses meanwhile.
            let value = unsafe { at.read_volatile() };
            // SAFETY: as above.
            unsafe { at.write_volatile(value + 1) };
            Ok(())
        }
        (FlushAndBarrier, 1) => win.flush(target).and_then(|()| world.barrier()),
        (FlushAndBarrier | Barrier, _) => world.barrier(),
        (Sync, 0) => {
            win.sync();
            Ok(())
        }
        (Fence, _) => win.fence(),
        (LockAll, _) => win.lock_all(),
        (UnlockAll, _) => win.unlock_all(),
        (Lock(of), here) if of == here => win.lock(LockType::Exclusive, target),
        (Unlock(of), here) if of == here => win.unlock(target),
        (Post, 0) => win.post(&group(1)),
        (Wait, 0) => win.wait(),
        (Start, 1) => win.start(&group(0)),
        (Complete, 1) => win.complete(),
        _ => Ok(()),
    };
    done.unwrap_or_else(|error| panic!("{step:?}: {error}"));
}

/// What was found: its rule, and its reason and remedy if it is the first pair of these lines.
type Found = (&'static str, Option<String>);

/// Runs a program. Returns what was found, on rank 0.
fn run(world: &Comm, steps: &[Step], is_shared: bool) -> Vec<Found> {
    let all = || world.all_conflicts();
    let before: Vec<_> = all().iter().map(|one| one.times).collect();
    world.barrier().expect("all ranks live");
    let new = WindowOptions::new();
    let win = match is_shared {
        true => new.allocate_shared_bytes(world, 64, 1),
        false => new.allocate_bytes(world, 64, 1),
    };
    let win = win.expect("there is memory");
    steps.iter().for_each(|step| take(world, &win, *step));
    if steps.contains(&Fence) {
        win.fence_with(FenceAssert::NOSUCCEED).expect("an epoch is open");
    }
    win.free().expect("no epoch is open");
    let is_new = |at: &usize, times: u32| before.get(*at).is_none_or(|known| times > *known);
    let new = all().into_iter().enumerate().filter(|(at, one)| is_new(at, one.times));
    let text = |one: &Conflict| format!("{}; {}", one.reason(), one.remedy());
    let is_first = |at: usize| at >= before.len();
    let found = new.map(|(at, one)| (one.rule(), is_first(at).then(|| text(&one)))).collect();
    world.barrier().expect("all ranks live");
    found
}

/// Runs all programs in a job with that option; `judge` gets what each has found, on rank 0.
fn judge(option: &str, is_shared: bool, judge: impl Fn(&[Step], Option<&str>, Vec<Found>)) {
    let body = |world: &Comm| {
        for (steps, reason) in PROGRAMS {
            let found = run(world, steps, is_shared);
            if world.rank() == 0 {
                judge(steps, reason, found);
            }
        }
    };
    if let Some(outcome) = job(2, &[option], body) {
        assert!(outcome.status.success(), "{}", outcome.output);
        let printed = outcome.output.contains("not portable to the separate memory model");
        assert_eq!(printed, option.contains("separate") && !is_shared, "{}", outcome.output);
    }
}

#[test]
fn what_the_separate_model_forbids() {
    judge("--check=separate", false, |steps, reason, found| match (reason, &found[..]) {
        (None, []) => {}
        (Some(_), [("separate", None)]) => {}
        (Some(reason), [("separate", Some(found))]) if found.contains(reason) => {}
        _ => panic!("{steps:?}: {found:?}"),
    });
}

#[test]
fn the_unified_model_permits_it() {
    judge("--check", false, |steps, _, found| assert_eq!(found, [], "{steps:?}"));
}

/// They have it everywhere (MPI-4.1 §12.2.3).
#[test]
fn shared_windows_have_the_unified_model() {
    judge("--check=separate", true, |steps, _, found| assert_eq!(found, [], "{steps:?}"));
}
