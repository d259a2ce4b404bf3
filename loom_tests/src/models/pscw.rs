//! `post`, `start`, `complete`, `wait` and `test`.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model, ONE_LOOK, WIDE};
use crate::prim::{Fault, planted};
use crate::sync::{
    BarrierWords, PostSlot, PostTable, PscwWords, Round, collective, complete, post, start_one,
    started, test, wait,
};
use crate::world::{Data, Job, each, passed, run};

pub(super) mod one_way;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("pscw", name, ranks, run);
    vec![
        model("ring", 2, |n| ring(n, 1)),
        model("ring, several epochs", 2, |n| ring(n, 2)).within(BOUND_2, BOUND_3),
        model("ring", 3, |n| ring(n, 1)).within(BOUND_2, BOUND_3),
        model("ring", 4, |n| ring(n, 1)).within(WIDE, WIDE),
        model("several epochs", 2, |n| origins(n, 3)).within(BOUND_3, ONE_LOOK),
        model("two origins", 3, |n| origins(n, 1)).within(BOUND_2, ONE_LOOK),
        model("two origins, several epochs", 3, |n| origins(n, 2)).within(BOUND_2, BOUND_2),
        model("three origins", 4, |n| origins(n, 1)).within(WIDE, WIDE),
        model("two targets at once", 3, two_targets).within(BOUND_2, EXHAUSTIVE),
        model("two targets in turn", 3, alternating_targets).within(BOUND_2, EXHAUSTIVE),
        model("two groups in turn", 3, alternating_groups).within(BOUND_2, EXHAUSTIVE),
        model("nocheck", 2, |_| nocheck(1)).within(BOUND_2, BOUND_3),
        model("nocheck repeated", 2, |_| nocheck(2)).within(BOUND_2, BOUND_3),
        model("test", 2, tested).within(BOUND_2, BOUND_3),
        model("table", 2, table).within(BOUND_2, ONE_LOOK),
        model("table", 3, table).within(WIDE, WIDE),
        model("two lives", 2, two_lives).within(WIDE, WIDE),
        model("one way, two epochs", 2, |n| origins(n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("one way, nocheck", 2, one_way::nocheck).within(BOUND_2, EXHAUSTIVE),
        model("one way, test", 2, one_way::tested).within(BOUND_2, EXHAUSTIVE),
        model("one way, table", 2, one_way::table).within(BOUND_2, EXHAUSTIVE),
        model("one way, two lives", 2, one_way::two_lives).within(BOUND_2, ONE_LOOK),
    ]
}

/// The words and the memory of one window.
pub(super) struct Window {
    pub words: Vec<PscwWords>,
    pub tables: Vec<PostTable>,
    /// Of each target, one slot per origin.
    pub slots: Vec<Vec<PostSlot>>,
    pub data: Vec<Data>,
}

pub(super) struct World {
    pub job: Job,
    pub windows: Vec<Window>,
    pub barrier: BarrierWords,
}

/// What one rank knows of one window.
pub(super) struct LockSide<'a> {
    pub job: &'a Job,
    pub window: &'a Window,
    pub me: usize,
    pub posts_seen: Vec<u32>,
    pub completes_seen: u32,
}

pub(super) fn world(ranks: usize, windows: usize) -> World {
    let window = || Window {
        words: each(ranks),
        tables: each(ranks),
        slots: (0..ranks).map(|_| each(ranks)).collect(),
        data: each(ranks),
    };
    let windows = (0..windows).map(|_| window()).collect();
    World { job: Job::default(), windows, barrier: BarrierWords::default() }
}

impl World {
    pub fn side(&self, window: usize, me: usize) -> LockSide<'_> {
        let window = &self.windows[window];
        let posts_seen = vec![0; window.words.len()];
        LockSide { job: &self.job, window, me, posts_seen, completes_seen: 0 }
    }

    /// Leaves in every slot what an earlier user of the memory may have left there.
    pub fn with_garbage(self) -> World {
        for window in &self.windows {
            for slot in window.slots.iter().flatten() {
                slot.add(5);
            }
        }
        self
    }
}

impl LockSide<'_> {
    /// Which slots this origin looks at for `target` (the caller of `sync` chooses them).
    pub fn row(&self, target: usize) -> usize {
        if planted(Fault::PostSlotShared) { 0 } else { target }
    }

    pub fn post(&self, origins: &[usize]) {
        let row = &self.window.slots[self.row(self.me)];
        post(origins.iter().map(|&origin| &row[origin]));
    }

    pub fn start(&mut self, targets: &[usize]) {
        for &target in targets {
            let row = self.row(target);
            let slot = &self.window.slots[row][self.me];
            passed(start_one(slot, &mut self.posts_seen[row], &self.job.waiter()));
        }
        started();
    }

    pub fn start_nocheck(&mut self, target: usize) {
        if planted(Fault::NocheckCounts) {
            self.posts_seen[target] += 1;
        }
        started();
    }

    pub fn complete(&self, targets: &[usize]) {
        complete(targets.iter().map(|&target| &self.window.words[target]));
    }

    pub fn wait(&mut self, origins: u32) {
        let words = &self.window.words[self.me];
        passed(wait(words, origins, &mut self.completes_seen, &self.job.waiter()));
    }

    pub fn data(&self, rank: usize) -> &Data {
        &self.window.data[rank]
    }

    /// The table of slots of `target`, once it exists.
    pub fn find_table(&self, target: usize) {
        let at = self.window.tables[target].find(&self.job.waiter());
        assert_eq!(at, Ok(1), "where the slots are");
    }

    pub fn publish_table(&self) {
        let table = &self.window.tables[self.me];
        if table.own() == 0 {
            table.publish(1, &self.window.slots[self.me]);
        }
    }
}

/// Every rank is the target of its left neighbour and the origin of its right one.
pub(super) fn ring(ranks: usize, epochs: u32) {
    run(
        ranks,
        || world(ranks, 1),
        move |w, me| {
            let (left, right) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
            let mut side = w.side(0, me);
            for epoch in 0..epochs {
                side.data(me).set(100 + epoch);
                side.post(&[left]);
                side.start(&[right]);
                assert_eq!(side.data(right).get(), 100 + epoch, "get");
                side.data(right).set(200 + epoch);
                side.complete(&[right]);
                side.wait(1);
                assert_eq!(side.data(me).get(), 200 + epoch, "local load");
            }
        },
    );
}

/// The last rank is the target of all others, each with an element of its own. The target posts
/// its next epoch as soon as it can: an early post of another epoch for a slow origin.
pub(super) fn origins(ranks: usize, epochs: u32) {
    run(
        ranks,
        || world(ranks, 1),
        move |w, me| {
            let target = ranks - 1;
            let mut side = w.side(0, me);
            let origins: Vec<usize> = (0..target).collect();
            for epoch in 0..epochs {
                if me == target {
                    origins.iter().for_each(|&o| side.data(o).set(100 + epoch));
                    side.post(&origins);
                    side.wait(origins.len() as u32);
                    origins
                        .iter()
                        .for_each(|&o| assert_eq!(side.data(o).get(), 200 + epoch, "local load"));
                } else {
                    side.start(&[target]);
                    assert_eq!(side.data(me).get(), 100 + epoch, "get");
                    side.data(me).set(200 + epoch);
                    side.complete(&[target]);
                }
            }
        },
    );
}

pub(super) fn exposes(side: &mut LockSide<'_>, origin: usize) {
    let me = side.me;
    side.data(me).set(1);
    side.post(&[origin]);
    side.wait(1);
    assert_eq!(side.data(me).get(), 2, "local load");
}

pub(super) fn accesses(side: &mut LockSide<'_>, targets: &[usize]) {
    side.start(targets);
    for &target in targets {
        assert_eq!(side.data(target).get(), 1, "get");
        side.data(target).set(2);
    }
    side.complete(targets);
}

/// One access epoch with two targets.
fn two_targets(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1),
        |w, me| {
            let mut side = w.side(0, me);
            if me == 0 { accesses(&mut side, &[1, 2]) } else { exposes(&mut side, 0) }
        },
    );
}

/// Two access epochs with one target each: the post of the second is early for the first.
fn alternating_targets(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1),
        |w, me| {
            let mut side = w.side(0, me);
            if me == 0 {
                accesses(&mut side, &[1]);
                accesses(&mut side, &[2]);
            } else {
                exposes(&mut side, 0);
            }
        },
    );
}

/// One target, two exposure epochs with one origin each.
fn alternating_groups(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1),
        |w, me| {
            let mut side = w.side(0, me);
            if me == 0 {
                exposes(&mut side, 1);
                exposes(&mut side, 2);
            } else {
                accesses(&mut side, &[0]);
            }
        },
    );
}

/// MPI-2.2 Example 11.10: two windows, NOCHECK on both sides of every epoch of the loop, a barrier
/// before it; then an epoch that checks again.
fn nocheck(iterations: u32) {
    run(
        2,
        || world(2, 2),
        move |w, me| {
            let other = 1 - me;
            let mut sides = [w.side(0, me), w.side(1, me)];
            sides[0].data(me).set(100);
            post(std::iter::empty());
            let mut round = Round::default();
            passed(collective(&w.barrier, 2, &mut round, &w.job.waiter()));
            for k in 0..2 * iterations {
                let [now, next] = [(k % 2) as usize, ((k + 1) % 2) as usize];
                sides[now].start_nocheck(other);
                assert_eq!(sides[now].data(other).get(), 100 + k, "get");
                sides[next].data(me).set(101 + k);
                post(std::iter::empty());
                sides[now].complete(&[other]);
                sides[now].wait(1);
            }
            let side = &mut sides[1];
            side.data(me).set(1);
            side.post(&[other]);
            accesses(side, &[other]);
            side.wait(1);
            assert_eq!(side.data(me).get(), 2, "local load");
        },
    );
}

/// `test` that fails has no effect; one that succeeds is a `wait`.
fn tested(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1),
        |w, me| {
            let other = 1 - me;
            let mut side = w.side(0, me);
            for _ in 0..2 {
                side.data(me).set(1);
                side.post(&[other]);
                accesses(&mut side, &[other]);
                let words = &side.window.words[me];
                if !test(words, 1, &mut side.completes_seen) {
                    side.wait(1);
                }
                assert_eq!(side.data(me).get(), 2, "local load");
            }
        },
    );
}

/// The slots are allocated at the first post, in memory that holds garbage.
pub(super) fn table(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1).with_garbage(),
        move |w, me| {
            let (left, right) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
            let mut side = w.side(0, me);
            side.publish_table();
            side.data(me).set(1);
            side.post(&[left]);
            side.find_table(right);
            accesses(&mut side, &[right]);
            side.wait(1);
            assert_eq!(side.data(me).get(), 2, "local load");
        },
    );
}

/// A window is freed. The next one gets zeroed words, but slots and memory as they were left: in its
/// second life a rank's slots lie where the other rank's were.
fn two_lives(ranks: usize) {
    let world = move || {
        let World { job, windows, barrier } = world(ranks, 2);
        World { job, windows, barrier }
    };
    run(ranks, world, |w, me| {
        let (other, mut round) = (1 - me, Round::default());
        for life in 0..2 {
            let place = (me + life) % 2;
            let mut side = w.side(life, me);
            let (mine, theirs) = (&w.windows[0].slots[place], &w.windows[0].slots[1 - place]);
            let (memory, remote) = (&w.windows[0].data[place], &w.windows[0].data[1 - place]);
            side.window.tables[me].publish(1, mine);
            memory.set(1);
            post(std::iter::once(&mine[other]));
            side.find_table(other);
            passed(start_one(&theirs[me], &mut side.posts_seen[other], &w.job.waiter()));
            started();
            assert_eq!(remote.get(), 1, "get");
            remote.set(2);
            side.complete(&[other]);
            side.wait(1);
            assert_eq!(memory.get(), 2, "local load");
            passed(collective(&w.barrier, 2, &mut round, &w.job.waiter()));
        }
    });
}
