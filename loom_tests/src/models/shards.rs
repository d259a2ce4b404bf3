//! Updates of one element against updates of many.

use crate::explore::{BOUND_1, BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model};
use crate::prim::{FailedWord, Failure, Site, Waiter, Word32, mem_sync};
use crate::sync::RobustExclusion;
use crate::sync::shards::{
    Common, RankAnnouncements, Shard, announce, exclusively, slowly, try_exclusively,
    try_exclusively_in_two, try_slowly,
};
use crate::world::{Data, Job, each, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for rank in 0..2 {
        let plain = move |name: &str, program: fn(usize, usize)| {
            let name = format!("{name}, rank {rank}");
            let model = Model::new("shards", &name, 2, move |n| program(n, rank));
            model.within(BOUND_3, EXHAUSTIVE)
        };
        let one = plain("one against many", one_against_many);
        models.extend([one.clone(), one.within(BOUND_3, BOUND_5).parked()]);
        // Every execution would take hours since a closed shard is released without a barrier.
        let twice = plain("one against many twice", one_against_many_twice);
        models.push(twice.within(BOUND_3, BOUND_5));
        models.push(plain("one shard of two is closed", one_of_two_closed));
        models.push(plain("two shards are closed", two_closed));
        models.push(plain("alone", alone));
        let bias = plain("the bias ends", bias_ends);
        models.extend([bias.clone(), bias.within(BOUND_3, BOUND_5).parked()]);
        let dead = plain("dies announced", dies_announced);
        models.extend([dead.clone(), dead.within(BOUND_3, BOUND_5).parked()]);
        models.push(plain("dies as the holder", dies_inside));
    }
    for rank in 0..3 {
        let name = format!("reopened, rank {rank}");
        let reopened = Model::new("shards", &name, 3, move |n| reopened(n, rank));
        models.push(reopened.within(BOUND_2, BOUND_2));
    }
    let model = |name: &str, ranks, program: fn(usize)| Model::new("shards", name, ranks, program);
    models.push(model("closed", 2, closed).within(BOUND_3, EXHAUSTIVE));
    models.push(model("closed", 2, closed).within(BOUND_3, EXHAUSTIVE).parked());
    models.push(model("both ways", 2, both_ways).within(BOUND_2, BOUND_3));
    models.push(model("two shards", 2, two_shards).within(BOUND_2, BOUND_3));
    models.push(model("the slow way", 2, the_slow_way));
    models.push(model("two ones and many", 3, mixed).within(BOUND_2, BOUND_2));
    models.push(model("two ones and many", 3, mixed).within(BOUND_1, BOUND_1).parked());
    models
}

#[derive(Default)]
struct World {
    job: Job,
    dead: FailedWord,
    slots: [RobustExclusion; 2],
    ranks: Vec<RankAnnouncements>,
    common: Common,
    /// One element of each shard.
    elements: [Data; 2],
    /// An element that several ranks update by instructions.
    shared: Word32,
    /// 1 once a thread is not preferred any more.
    bias_ended: Word32,
}

fn world(ranks: usize) -> impl FnOnce() -> World {
    move || World { ranks: each(ranks), ..World::default() }
}

/// The failure of a rank ends no wait here: the others go on.
struct GoesOn<'a>(&'a FailedWord);

impl Failure for GoesOn<'_> {
    fn word(&self) -> &FailedWord {
        self.0
    }
    fn is_set(&self) -> bool {
        false
    }
    fn has_failed(&self, rank: u32) -> bool {
        Failure::has_failed(self.0, rank)
    }
}

impl World {
    fn shard(&self, number: usize) -> Shard<'_, Vec<RankAnnouncements>> {
        Shard { number: number as u32, slot: &self.slots[number], ranks: &self.ranks }
    }

    /// Rank `me` updates one element of a shard.
    fn one(&self, me: usize, shard: usize, update: impl Fn()) {
        let failed = GoesOn(&self.dead);
        let waiter = Waiter { rank: me as u32, failed: &failed, ..self.job.waiter() };
        let announcement = self.ranks[me].announcement(0).expect("a rank has announcements");
        match announce(announcement, self.shard(shard)) {
            Some(announced) => {
                update();
                announced.withdraw();
            }
            None => {
                let done = try_slowly(&self.slots[shard], waiter.rank, &update);
                assert!(done.is_some() || slowly(&self.slots[shard], &waiter, update).is_ok());
            }
        }
    }

    /// Rank `me` updates many elements of these shards; whether it has.
    fn many(&self, me: usize, shards: std::ops::Range<usize>, update: impl Fn()) -> bool {
        let failed = GoesOn(&self.dead);
        let waiter = Waiter { rank: me as u32, failed: &failed, ..self.job.waiter() };
        let first = shards.start as u32;
        let slots = &self.slots[shards];
        if let [slot] = slots
            && try_exclusively(slot, waiter.rank, &update).is_some()
        {
            return true;
        }
        if let [first, second] = slots
            && try_exclusively_in_two([first, second], waiter.rank, &update).is_some()
        {
            return true;
        }
        let done = exclusively(slots, first, &self.ranks, &self.common, &waiter, update);
        assert!(done.is_ok(), "a wait ended although the job has not failed");
        matches!(done, Ok(Some(())))
    }

    fn add(&self, shard: usize) {
        let element = &self.elements[shard];
        element.set(element.get() + 1);
    }

    /// An update of many is a load and a store.
    fn add_plainly(&self) {
        self.shared.store(self.shared.load() + 1);
    }

    fn add_by_an_instruction(&self) {
        self.shared.fetch_add(1);
    }
}

/// One rank updates an element, the other updates many. loom sees whether they meet.
fn one_against_many(ranks: usize, many: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        // The announcement that matters is the last one looked at, so that no later look's fence hides that
        // the one behind it is missing.
        if me == many {
            assert!(w.many(0, 0..1, || w.add(0)));
        } else {
            w.one(1, 0, || w.add(0));
        }
    });
    assert_eq!(w.elements[0].get(), 2, "an update is lost");
}

/// One rank updates many, and many again in the shard that it has closed. The other updates an element twice,
/// which reopens the shard.
fn one_against_many_twice(ranks: usize, many: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        for _ in 0..2 {
            if me == many {
                assert!(w.many(0, 0..1, || w.add(0)));
            } else {
                w.one(1, 0, || w.add(0));
            }
        }
    });
    assert_eq!(w.elements[0].get(), 4, "an update is lost");
}

/// Each rank updates an element of a shard that is closed; the first one reopens it.
fn closed(ranks: usize) {
    let world = move || {
        let world = world(ranks)();
        assert!(world.many(0, 0..1, || {}));
        world
    };
    let w = run(ranks, world, |w, me| w.one(me, 0, || w.add(0)));
    assert_eq!(w.elements[0].get(), ranks as u32, "an update is lost");
}

/// A rank updates many, another reopens the shard, and the third may be announced then.
fn reopened(ranks: usize, last: usize) {
    let w = run(ranks, world(ranks), move |w, me| match (me + ranks - last) % ranks {
        0 => w.one(me, 0, || w.add(0)),
        1 => assert!(w.many(me, 0..1, || w.add(0))),
        _ => w.one(me, 0, || w.add_by_an_instruction()),
    });
    assert_eq!(w.elements[0].get(), 2, "an update is lost");
}

/// One rank closes the second shard, and then updates many in both. The other updates one of the first.
fn one_of_two_closed(ranks: usize, many: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        if me == many {
            assert!(w.many(0, 1..2, || w.add(1)));
            assert!(w.many(0, 0..2, || w.add(0)));
        } else {
            w.one(1, 0, || w.add(0));
        }
    });
    assert_eq!(w.elements[0].get(), 2, "an update is lost");
}

/// Two shards are closed. One rank updates many in both; the other updates one of the second, and reopens it.
fn two_closed(ranks: usize, many: usize) {
    let world = move || {
        let world = world(ranks)();
        assert!(world.many(0, 0..2, || {}));
        world
    };
    let w = run(ranks, world, move |w, me| {
        if me == many {
            assert!(w.many(many, 0..2, || w.add(1)));
        } else {
            w.one(me, 1, || w.add(1));
        }
    });
    assert_eq!(w.elements[1].get(), 2, "an update is lost");
}

/// Each rank updates many, and then one element, in a shard that both use.
fn both_ways(ranks: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        assert!(w.many(me, 0..1, || w.add_plainly()));
        w.one(me, 0, || w.add_by_an_instruction());
    });
    assert_eq!(w.shared.load(), 4, "an update is lost");
}

/// Updates of many elements that have one shard of two in common.
fn two_shards(ranks: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        let shards = if me == 0 { 0..2 } else { 1..2 };
        assert!(w.many(me, shards, || {
            w.add(1);
            if me == 0 {
                w.add(0);
            }
        }));
        w.one(me, me, || w.add_by_an_instruction());
    });
    assert_eq!([w.elements[0].get(), w.elements[1].get()], [1, 2], "an update is lost");
}

/// Every rank goes the slow way, as those do that have found a holder.
fn the_slow_way(ranks: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        let failed = GoesOn(&w.dead);
        let waiter = Waiter { rank: me as u32, failed: &failed, ..w.job.waiter() };
        assert!(slowly(&w.slots[0], &waiter, || w.add(0)).is_ok());
    });
    assert_eq!(w.elements[0].get(), ranks as u32, "an update is lost");
}

/// Two ranks update one element by instructions, another updates many.
fn mixed(ranks: usize) {
    let w = run(ranks, world(ranks), move |w, me| {
        if me == 0 {
            assert!(w.many(me, 0..1, || w.add_plainly()));
        } else {
            w.one(me, 0, || w.add_by_an_instruction());
        }
    });
    assert_eq!(w.shared.load(), ranks as u32, "an update is lost");
}

/// A rank takes no part in barriers of all ranks: it announces itself without one. The other
/// updates many, unless it knows.
fn alone(ranks: usize, alone: usize) {
    run(ranks, world(ranks), move |w, me| {
        if me == alone {
            w.common.opt_out();
            if w.shard(0).is_open() {
                mem_sync(Site::ShardLook);
                w.add(0);
            }
        } else {
            w.many(me, 0..1, || w.add(0));
        }
    });
}

/// The biased mutex of a rank's threads (`src/shm/biased.rs`), by the words of two ranks. One is
/// preferred until it finds that it is not; the other revokes that, and then needs no exclusion.
fn bias_ends(ranks: usize, ends: usize) {
    run(ranks, world(ranks), move |w, me| {
        if me == ends {
            assert!(w.many(me, 0..1, || w.bias_ended.store(1)));
            w.add(0);
            return;
        }
        for _ in 0..2 {
            let announcement = w.ranks[me].announcement(0).expect("a rank has announcements");
            if let Some(announced) = announce(announcement, w.shard(0)) {
                if w.bias_ended.load() == 0 {
                    w.add(0);
                }
                announced.withdraw();
            }
        }
    });
}

/// A rank fails while it is announced.
fn dies_announced(ranks: usize, victim: usize) {
    run(ranks, world(ranks), move |w, me| {
        if me == victim {
            let announcement = w.ranks[me].announcement(0).expect("a rank has announcements");
            if announce(announcement, w.shard(0)).is_some() {
                w.add(0);
            }
            mem_sync(Site::NoticePre);
            w.dead.set(me as u32 + 1);
        } else {
            assert!(w.many(me, 0..1, || w.add(0)));
        }
    });
}

/// A rank fails while it updates many elements.
fn dies_inside(ranks: usize, victim: usize) {
    run(ranks, world(ranks), move |w, me| {
        if me == victim {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                w.many(me, 0..1, || {
                    w.add(0);
                    std::panic::resume_unwind(Box::new(Stopped));
                })
            }));
            assert!(stopped.is_err_and(|why| why.is::<Stopped>()));
            mem_sync(Site::NoticePre);
            w.dead.set(me as u32 + 1);
        } else {
            w.one(me, 0, || w.add(0));
        }
    });
}

/// What a rank stops by that stops inside: as a process that is killed, it does not leave.
struct Stopped;
