//! The lock of a part of another MPI, by additions to one word.

use crate::explore::{BOUND_2, BOUND_3, BOUND_5, Model};
use crate::prim::{ParkWord, Site, Word64, mem_sync};
use crate::sync::{FarWord, LockType, lock_far, unlock_far};
use crate::world::{Data, Job, run};
use std::cell::Cell;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("far_lock", name, ranks, run);
    vec![
        model("exclusive", 2, exclusive).within(BOUND_3, BOUND_5),
        model("shared and exclusive", 2, shared_and_exclusive).within(BOUND_3, BOUND_5),
        model("shared and exclusive", 3, shared_and_exclusive).within(BOUND_2, BOUND_2),
    ]
}

#[derive(Default)]
struct World {
    job: Job,
    word: Word64,
    /// Counts the additions, so that a rank that pauses need not poll.
    changes: ParkWord,
    memory: Data,
}

/// The word as one rank reaches it, with the number of its own additions.
struct Far<'w>(&'w World, Cell<u32>);

/// The other MPI orders its updates, and what their ranks do before and after.
impl FarWord for Far<'_> {
    type Refusal = ();

    fn add(&self, n: u64) -> Result<u64, ()> {
        mem_sync(Site::UnlockPre);
        let before = self.0.word.fetch_add(n);
        mem_sync(Site::LockPost);
        if n != 0 {
            self.1.set(self.1.get() + 1);
            self.0.changes.add_and_wake(1);
        }
        Ok(before)
    }
}

impl World {
    fn locked(&self, lock: LockType, access: impl FnOnce(&Data)) {
        let (far, known) = (Far(self, Cell::default()), Cell::new(0));
        let pause = || {
            let own = far.1.get();
            let changed = |changes: u32| changes > own + known.get();
            let Ok(changes) = self.job.waiter().until(&self.changes, changed) else {
                panic!("a wait ended although the job has not failed");
            };
            known.set(changes - own);
            false
        };
        assert_eq!(lock_far(&far, lock, true, pause), Ok(()));
        access(&self.memory);
        assert_eq!(unlock_far(&far, lock), Ok(()));
    }

    fn increase(&self) {
        self.locked(LockType::Exclusive, |memory| memory.set(memory.get() + 1));
    }
}

/// All ranks write.
fn exclusive(ranks: usize) {
    let world = run(ranks, World::default, |world, _| world.increase());
    assert_eq!(world.memory.get() as usize, ranks);
}

/// Rank 0 writes, and the others read.
fn shared_and_exclusive(ranks: usize) {
    run(ranks, World::default, |world, rank| match rank {
        0 => world.increase(),
        _ => world.locked(LockType::Shared, |memory| assert!(memory.get() <= 1)),
    });
}
