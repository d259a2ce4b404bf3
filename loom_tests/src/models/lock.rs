//! The lock of one target, and its meeting with the window-wide one.

use crate::explore::{BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model, WIDE};
use crate::sync::{
    LockAllWords, LockSide, LockType, LockWords, Queueing, holder, lock, lock_all, lock_nocheck,
    try_lock, try_lock_all, unlock_all, unlock_nocheck, unlock_queued,
};
use crate::world::{Data, Job, Message, Nodes, each, passed, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name: &str, ranks, run: fn(usize)| Model::new("lock", name, ranks, run);
    let mut models = vec![
        model("exclusive", 2, |n| exclusive(n, 1)),
        model("exclusive twice", 2, |n| exclusive(n, 2)).within(BOUND_3, BOUND_5),
        model("exclusive", 3, |n| exclusive(n, 1)),
        model("exclusive twice", 3, |n| exclusive(n, 2)).within(BOUND_2, BOUND_2),
        model("exclusive", 4, |n| exclusive(n, 1)).within(WIDE, BOUND_2),
        model("shared then exclusive", 2, shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("shared then exclusive", 3, shared_then_exclusive),
        model("several targets", 2, several_targets).within(BOUND_3, BOUND_5),
        model("several targets", 3, several_targets),
        model("past a mere waiter", 3, past_a_mere_waiter),
        model("nocheck", 2, nocheck),
        model("owner", 2, owner),
    ];
    for writer in 0..2 {
        let name = format!("one reader, rank {writer} writes");
        let model = Model::new("lock", &name, 2, move |n| readers(n, writer));
        models.push(model.within(BOUND_3, EXHAUSTIVE));
    }
    models.push(model("one twice", 2, one_twice).within(BOUND_3, BOUND_5));
    models.push(model("two targets at once", 2, two_targets).within(BOUND_3, EXHAUSTIVE));
    for writer in 0..3 {
        let name = format!("two readers, rank {writer} writes");
        models.push(
            Model::new("lock", &name, 3, move |n| readers(n, writer)).within(BOUND_3, BOUND_3),
        );
    }
    models.push(Model::new("lock", "three readers", 4, |n| readers(n, 0)).within(BOUND_2, BOUND_3));
    let contended = [
        model("exclusive", 2, |n| exclusive(n, 1)),
        model("shared then exclusive", 2, shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("exclusive", 3, |n| exclusive(n, 1)),
        model("past a mere waiter", 3, past_a_mere_waiter),
    ];
    models.extend(contended.map(Model::contending));
    // Ranks 1 and 2 queue by their nodes while rank 0 holds the lock.
    let queued = [
        model("exclusive", 2, |n| exclusive(n, 1)),
        model("exclusive twice", 2, |n| exclusive(n, 2)).within(BOUND_3, BOUND_5),
        model("shared then exclusive", 2, shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("exclusive", 3, |n| exclusive(n, 1)).within(BOUND_3, BOUND_5),
        model("exclusive twice", 3, |n| exclusive(n, 2)).within(BOUND_2, BOUND_3),
        model("write then read", 3, write_then_read).within(BOUND_3, BOUND_3),
        model("two targets in turn", 3, two_targets_in_turn).within(BOUND_2, BOUND_3),
    ];
    models.extend(queued.map(Model::queued));
    models
}

/// All ranks write; rank 0 reads afterwards, while the others may still queue for the exclusive lock.
pub(super) fn write_then_read(ranks: usize) {
    let w = run(
        ranks,
        || world(1),
        |w, me| {
            w.write(me, 0);
            if me == 0 {
                assert!(w.read(me, 0) > 0, "a write is lost");
            }
        },
    );
    assert_eq!(w.data[0][0].get(), ranks as u32, "an update is lost");
    w.assert_free();
}

/// All ranks write to one target, and then rank 1 to another one with rank 2: its node serves both.
fn two_targets_in_turn(ranks: usize) {
    let w = run(
        ranks,
        || world(2),
        |w, me| {
            w.write(me, 0);
            if me != 0 {
                w.write(me, 1);
            }
        },
    );
    assert_eq!([0, 1].map(|target| w.data[target][0].get()), [3, 2], "an update is lost");
    w.assert_free();
}

/// Rank 0 keeps its shared lock until rank 2 writes to it. Rank 2 asks for a shared lock, too, while rank
/// 1 waits for an exclusive one. No rank holds a lock that conflicts with rank 2's.
fn past_a_mere_waiter(ranks: usize) {
    run(
        ranks,
        || world(1),
        |w, me| match me {
            0 => {
                w.lock(me, 0, LockType::Shared, Queueing::Fair);
                w.messages[0].send();
                w.messages[1].receive(&w.job, 1);
                w.look(0);
                w.unlock(me, 0, LockType::Shared);
            }
            1 => {
                w.messages[0].receive(&w.job, 1);
                w.write(me, 0);
            }
            _ => {
                w.messages[0].receive(&w.job, 1);
                w.lock(me, 0, LockType::Shared, Queueing::Fair);
                w.look(0);
                w.messages[1].send();
                w.unlock(me, 0, LockType::Shared);
            }
        },
    );
}

/// One lock per target; two elements per target.
pub(super) struct World {
    pub job: Job,
    pub window: LockAllWords,
    pub targets: Vec<LockWords>,
    pub nodes: Nodes,
    pub data: Vec<[Data; 2]>,
    pub messages: Vec<Message>,
}

pub(super) fn world(targets: usize) -> World {
    World {
        job: Job::default(),
        window: LockAllWords::default(),
        targets: each(targets),
        nodes: Nodes::default(),
        data: each(targets),
        messages: each(2),
    }
}

/// [`world`] after the first `lock_all`.
pub(super) fn opened(targets: usize) -> World {
    after_one(world(targets))
}

/// [`opened`], and biased.
pub(super) fn biased(targets: usize) -> World {
    let w = after_one(World { nodes: Nodes::biasing(), ..world(targets) });
    World { nodes: Nodes::default(), ..w }
}

fn after_one(w: World) -> World {
    w.lock_all(0);
    w.unlock_all(0);
    w
}

impl World {
    pub fn lock_all(&self, me: usize) {
        let reader = self.nodes.reader(me);
        if !try_lock_all(&self.window, reader) {
            passed(lock_all(&self.window, &self.targets, reader, &self.job.waiter()));
        }
    }

    pub fn unlock_all(&self, me: usize) {
        unlock_all(&self.window, self.nodes.reader(me).node);
    }

    pub fn lock(&self, me: usize, target: usize, held: LockType, queueing: Queueing) {
        let (window, words, waiter) = (&self.window, &self.targets[target], self.job.waiter());
        let (rank, node) = self.nodes.own(me);
        if !try_lock(window, words, held, (|| rank, node), queueing) {
            self.nodes.locker(me, target, |locker| {
                passed(lock(window, words, held, locker, queueing, &waiter));
            });
        }
    }

    pub fn unlock(&self, me: usize, target: usize, held: LockType) {
        let words = &self.targets[target];
        self.nodes.locker(me, target, |locker| unlock_queued(&self.window, words, held, locker));
    }

    /// A rank begins to lock a target exclusively, and fails before it has waited.
    pub fn fail_to_lock(&self, me: usize, target: usize) {
        let (window, words, job) = (&self.window, &self.targets[target], Job::default());
        job.failed.set(1);
        let (held, queueing, waiter) = (LockType::Exclusive, Queueing::Fair, job.waiter());
        let locked =
            self.nodes.locker(me, target, |l| lock(window, words, held, l, queueing, &waiter));
        assert!(locked.is_err(), "a rank that has failed goes on");
    }

    /// Counts up both elements of a target under its exclusive lock.
    pub fn write(&self, me: usize, target: usize) {
        self.lock(me, target, LockType::Exclusive, Queueing::Fair);
        self.count_up(target);
        self.unlock(me, target, LockType::Exclusive);
    }

    pub fn count_up(&self, target: usize) {
        let [a, b] = &self.data[target];
        a.set(a.get() + 1);
        b.set(b.get() + 1);
    }

    /// Reads both elements of a target under its shared lock.
    pub fn read(&self, me: usize, target: usize) -> u32 {
        self.lock(me, target, LockType::Shared, Queueing::Fair);
        let value = self.look(target);
        self.unlock(me, target, LockType::Shared);
        value
    }

    pub fn look(&self, target: usize) -> u32 {
        let [a, b] = &self.data[target];
        let value = a.get();
        assert_eq!(value, b.get(), "a reader saw half of a write");
        value
    }

    pub fn assert_free(&self) {
        for side in [LockSide::Left, LockSide::RightExclusive] {
            let of_targets = self.targets.iter().any(|lock| lock.is_held(side));
            assert!(!of_targets && !self.window.is_held(side), "a lock is left held");
        }
        assert!(!self.window.is_locked_all(self.nodes.all()), "lock_all is left held");
    }
}

/// All ranks count up under the exclusive lock.
pub(super) fn exclusive(ranks: usize, rounds: u32) {
    let w = run(
        ranks,
        || world(1),
        move |w, me| {
            for _ in 0..rounds {
                w.write(me, 0);
            }
        },
    );
    assert_eq!(w.data[0][0].get(), ranks as u32 * rounds, "an update is lost");
    w.assert_free();
}

/// Every rank reads and then writes: each role for each rank.
pub(super) fn shared_then_exclusive(ranks: usize) {
    let w = run(
        ranks,
        || world(1),
        move |w, me| {
            assert!(w.read(me, 0) < ranks as u32, "a write before it happened");
            w.write(me, 0);
        },
    );
    assert_eq!(w.data[0][0].get(), ranks as u32, "an update is lost");
    w.assert_free();
}

/// One rank writes, the others read: two readers that leave, and one writer that they admit.
pub(super) fn readers(ranks: usize, writer: usize) {
    let w = run(
        ranks,
        || world(1),
        move |w, me| {
            if me == writer {
                w.write(me, 0);
            } else {
                w.read(me, 0);
            }
        },
    );
    w.assert_free();
}

/// Locks of different targets are held together, and do not keep each other out.
fn several_targets(ranks: usize) {
    let w = run(
        ranks,
        || world(2),
        |w, me| {
            let (first, second) = (me % 2, (me + 1) % 2);
            w.write(me, first);
            w.lock(me, 0, LockType::Shared, Queueing::Fair);
            w.lock(me, 1, LockType::Shared, Queueing::HoldersOnly);
            w.look(first);
            w.look(second);
            w.unlock(me, 0, LockType::Shared);
            w.unlock(me, 1, LockType::Shared);
        },
    );
    w.assert_free();
}

/// Rank 0 comes back for the exclusive lock while rank 1 may still wait for it.
fn one_twice(ranks: usize) {
    let w = run(
        ranks,
        || world(1),
        |w, me| {
            for _ in 0..2 - me {
                w.write(me, 0);
            }
        },
    );
    assert_eq!(w.data[0][0].get(), 3, "an update is lost");
    w.assert_free();
}

/// Rank 0 holds the locks of two targets together, one of which rank 1 writes.
fn two_targets(ranks: usize) {
    let w = run(
        ranks,
        || world(2),
        |w, me| {
            if me == 0 {
                w.lock(me, 0, LockType::Shared, Queueing::Fair);
                w.lock(me, 1, LockType::Exclusive, Queueing::HoldersOnly);
                w.look(0);
                w.count_up(1);
                w.unlock(me, 1, LockType::Exclusive);
                w.unlock(me, 0, LockType::Shared);
            } else {
                w.write(me, 0);
            }
        },
    );
    w.assert_free();
}

/// NOCHECK on either side: the messages of the program keep the accesses apart.
fn nocheck(ranks: usize) {
    run(
        ranks,
        || world(1),
        |w, me| {
            if me == 1 {
                w.messages[0].receive(&w.job, 1);
            }
            lock_nocheck();
            w.count_up(0);
            unlock_nocheck();
            if me == 0 {
                w.messages[0].send();
                w.messages[1].receive(&w.job, 1);
                lock_nocheck();
                assert_eq!(w.look(0), 2, "get");
                unlock_nocheck();
            } else {
                w.messages[1].send();
            }
        },
    );
}

/// The words name the holder while it is inside, and no rank afterwards.
fn owner(ranks: usize) {
    let w = run(
        ranks,
        || world(1),
        |w, me| {
            w.lock(me, 0, LockType::Exclusive, Queueing::Fair);
            assert_eq!(holder(&w.targets[0], 0, w.nodes.all().iter()), Some(me as u32), "holder");
            w.unlock(me, 0, LockType::Exclusive);
        },
    );
    assert_eq!(holder(&w.targets[0], 0, w.nodes.all().iter()), None, "holder of a free lock");
}
