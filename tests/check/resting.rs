//! Accesses to a long part while its owner sleeps in a barrier or fence, and stores of the owner around it, or of another
//! thread of it meanwhile.

use crate::support::interleave::{free, notify_when_asleep, notify_when_asleep_together};
use crate::support::job;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, Rank, WindowOptions};
use std::rc::Rc;

/// More than the check compares before its owner rests.
const BYTES: u64 = 128 << 10;
/// Where rank 1 puts 4 bytes.
const AT: u64 = 70_000;

/// What rank 0 does beside the put.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Store {
    Before,
    After,
    /// Rank 1 puts again behind it.
    Between,
}

use Store::{After, Before, Between};

struct Case<'c> {
    world: &'c Comm,
    win: Rc<Win>,
    store: Store,
    /// Where rank 0 stores 4 bytes.
    at: u64,
    by_fence: bool,
    flushes: bool,
    /// How often each signal has been raised before.
    raised: u32,
}

impl Case<'_> {
    fn synchronise(&self) {
        match self.by_fence {
            true => self.win.fence().expect("no other epoch is open"),
            false => self.world.barrier().expect("all ranks live"),
        }
    }

    /// Rank 0 owns the part.
    fn own(&self) {
        if self.store == Before {
            self.change();
        }
        match self.by_fence {
            true => notify_when_asleep(&self.win, 0),
            false => notify_when_asleep_together(&self.win, 0),
        }
        self.synchronise();
        if self.store != Before {
            self.change();
        }
        self.world.signal(1);
    }

    fn change(&self) {
        let at = self.win.base().wrapping_add(self.at as usize).cast::<u32>();
        // SAFETY: the part has the bytes, and is aligned. Other processes access it as the program lets them.
        let before = unsafe { at.read_volatile() };
        // SAFETY: as above.
        unsafe { at.write_volatile(before ^ 0x0101_0101) };
    }

    /// Rank 1 puts.
    fn access(&self) {
        self.world.await_signal(0, self.raised + 1);
        self.put(0xa5a5_a5a5);
        if self.flushes {
            self.win.flush(Rank(0)).expect("lock_all is held");
        }
        self.synchronise();
        self.world.await_signal(1, self.raised + 1);
        if self.store == Between {
            self.put(0x5a5a_5a5a);
        }
    }

    fn put(&self, value: u32) {
        self.win.put(&[value], Rank(0), AT).expect("the epoch is open");
    }

    fn run(self) {
        if self.by_fence {
            self.win.fence().expect("no other epoch is open");
        }
        let is_locked = self.world.rank() == Rank(1) && !self.by_fence;
        if is_locked {
            self.win.lock_all().expect("no epoch is open");
        }
        match self.world.rank() {
            Rank(0) => self.own(),
            _ => self.access(),
        }
        if is_locked {
            self.win.unlock_all().expect("lock_all is held");
        }
        if self.by_fence {
            self.win.fence_with(FenceAssert::NOSUCCEED).expect("the epoch is open");
        }
        free(self.win);
    }

    /// Whether a put and the store conflict, or the two puts.
    fn conflicts(&self) -> bool {
        let is_complete = self.by_fence || self.flushes;
        match self.store {
            Before => self.at == AT,
            After => self.at == AT && !is_complete,
            Between => self.at == AT || !is_complete,
        }
    }
}

#[test]
fn a_rank_that_waits_is_not_compared() {
    let outcome = job(2, &["--check=report"], |world| {
        let (mut faults, mut raised, mut before) = (Vec::new(), 0, 0);
        let stores = [Before, After, Between];
        let cases = stores.into_iter().flat_map(|store| [AT, AT + 4].map(|at| (store, at)));
        for (store, at) in cases {
            for (by_fence, flushes) in [(true, false), (false, true), (false, false)] {
                let win = Rc::new(WindowOptions::new().allocate_bytes(world, BYTES, 1).unwrap());
                win.base();
                let case = Case { world, win, store, at, by_fence, flushes, raised };
                let expected = case.conflicts();
                case.run();
                let found = world.conflicts().expect("the job is checked").times;
                if (found > before) != expected {
                    faults.push(format!("{store:?} at {at}, {by_fence} {flushes}: {found}"));
                }
                (before, raised) = (found, raised + 1);
                world.barrier().expect("all ranks live");
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_eq!(raised, 18);
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

/// Rank 0 sleeps in a barrier while its other thread stores between two puts of rank 1.
#[test]
fn a_store_of_another_thread_is_found() {
    let outcome = job(2, &["--check=report"], |world| {
        let win = Rc::new(WindowOptions::new().allocate_bytes(world, BYTES, 1).unwrap());
        if world.rank() == Rank(0) {
            let base = win.base().expose_provenance();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    world.await_signal(1, 1);
                    let at = std::ptr::with_exposed_provenance_mut::<u32>(base + AT as usize);
                    // SAFETY: the part has the bytes, and is aligned.
                    unsafe { at.write_volatile(0x5a5a_5a5a) };
                    world.signal(2);
                });
                notify_when_asleep_together(&win, 0);
                world.barrier().expect("all ranks live");
            });
        } else {
            win.lock_all().expect("no epoch is open");
            world.await_signal(0, 1);
            let put = || {
                win.put(&[0xa5a5_a5a5u32], Rank(0), AT).expect("the epoch is open");
                win.flush(Rank(0)).expect("lock_all is held");
            };
            put();
            world.signal(1);
            world.await_signal(2, 1);
            put();
            world.barrier().expect("all ranks live");
            win.unlock_all().expect("lock_all is held");
        }
        free(win);
        assert!(world.conflicts().expect("the job is checked").times > 0);
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}
