//! `lock_all` against exclusive lockers, and the scenarios that would deadlock without the
//! invariants 6 and 7 of `src/sync/README.md`.

use super::lock::{World, biased, opened, world};
use crate::explore::{BOUND_1, BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model, WIDE};
use crate::sync::{LockType, Queueing, lock_all_nocheck, unlock_all_nocheck};
use crate::world::{Nodes, run};

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = vec![
        Model::new("lock_all", "nocheck", 2, nocheck),
        Model::new("lock_all", "two targets alone", 2, two_alone).within(BOUND_3, BOUND_5),
        Model::new("lock_all", "late revocation", 2, late_revocation).within(BOUND_3, BOUND_5),
        Model::new("lock_all", "nested, two exclusive", 4, nested_four).within(WIDE, BOUND_2),
    ];
    for reader in 0..2 {
        let name = format!("biased again, rank {reader} reads");
        let model = Model::new("lock_all", &name, 2, move |n| biased_again(n, reader));
        models.push(model.within(BOUND_3, BOUND_5));
    }
    for reader in 0..3 {
        let name = format!("two targets revoked, rank {reader} reads");
        let model = Model::new("lock_all", &name, 3, move |n| two_revoked(n, reader));
        models.push(model.within(BOUND_2, BOUND_2));
    }
    // The first `lock_all` of a window makes many more executions, and so does the end of the bias.
    let unused = ("", world as Start, [BOUND_1, BOUND_2], BOUND_5);
    let used = (", opened", opened as Start, [BOUND_2, BOUND_3], EXHAUSTIVE);
    let readers = (", biased", biased as Start, [BOUND_1, BOUND_2], BOUND_5);
    for (when, world, of_three, deep) in [unused, used, readers] {
        let model = |name: &str, ranks, body: fn(usize, Start)| {
            Model::new("lock_all", &format!("{name}{when}"), ranks, move |n| body(n, world))
        };
        models.extend([
            model("read all, write one", 2, read_all_write_one).within(BOUND_3, BOUND_5),
            model("read all, write one", 3, read_all_write_one).within(of_three[0], of_three[1]),
            model("nested", 3, nested),
            model("holder waits for a reader", 3, holder_waits),
        ]);
        for writer in 0..2 {
            let name = format!("one holder, rank {writer} writes{when}");
            let model = Model::new("lock_all", &name, 2, move |n| holders(n, writer, world));
            models.push(model.within(BOUND_3, deep));
        }
        for writer in 0..3 {
            let name = format!("two holders, rank {writer} writes{when}");
            let model = Model::new("lock_all", &name, 3, move |n| holders(n, writer, world));
            models.push(model.within(BOUND_2, BOUND_3));
        }
    }
    models
}

/// Makes the words: before the first `lock_all` of the window; after it, biased or not.
type Start = fn(usize) -> World;

/// Every rank reads all targets under `lock_all`, then writes one under its exclusive lock.
pub(super) fn read_all_write_one(ranks: usize, world: Start) {
    let w = run(
        ranks,
        move || world(2),
        |w, me| {
            w.lock_all(me);
            w.look(0);
            w.look(1);
            w.unlock_all(me);
            w.write(me, (me + 1) % 2);
            w.lock_all(me);
            w.look(0);
            w.unlock_all(me);
        },
    );
    w.assert_free();
}

/// One rank writes, the others hold `lock_all`: two that leave, and one writer they admit.
pub(super) fn holders(ranks: usize, writer: usize, world: Start) {
    let w = run(
        ranks,
        move || world(1),
        move |w, me| {
            if me == writer {
                w.write(me, 0);
            } else {
                w.lock_all(me);
                w.look(0);
                w.unlock_all(me);
            }
        },
    );
    w.assert_free();
}

/// One rank reads both targets by its own word. Of the others, which write one each, one ends the bias.
fn two_revoked(ranks: usize, reader: usize) {
    let w = run(
        ranks,
        || biased(2),
        move |w, me| {
            if me != reader {
                return w.write(me, usize::from(me == (reader + 1) % 3));
            }
            w.lock_all(me);
            w.look(0);
            w.look(1);
            w.unlock_all(me);
        },
    );
    w.assert_free();
}

/// Both ranks write, and end the bias. One biases the window again, and reads by its own word.
fn biased_again(ranks: usize, reader: usize) {
    let w = run(ranks, biasing, move |w, me| {
        w.write(me, 0);
        for _ in 0..if me == reader { 2 } else { 0 } {
            w.lock_all(me);
            w.look(0);
            w.unlock_all(me);
        }
    });
    w.assert_free();
}

/// As `biased_again`, and a third rank begins to end the second bias, and fails. Rank 0 may come too late to the end of
/// the first one: it must not take the second for ended.
fn late_revocation(ranks: usize) {
    run(ranks, biasing, |w, me| {
        w.write(me, 0);
        if me == 1 {
            w.lock_all(me);
            w.unlock_all(me);
            w.lock_all(me);
            w.fail_to_lock(2, 0);
            w.look(0);
            w.unlock_all(me);
        }
    });
}

/// [`biased`], and whenever a rank takes the window's lock again.
fn biasing() -> World {
    World { nodes: Nodes::biasing(), ..biased(1) }
}

/// NOCHECK: the messages of the program keep the accesses apart.
fn nocheck(ranks: usize) {
    run(
        ranks,
        move || world(1),
        |w, me| {
            if me == 1 {
                w.messages[0].receive(&w.job, 1);
            }
            lock_all_nocheck();
            w.count_up(0);
            unlock_all_nocheck();
            if me == 0 {
                w.messages[0].send();
                w.messages[1].receive(&w.job, 1);
                lock_all_nocheck();
                assert_eq!(w.look(0), 2, "get");
                unlock_all_nocheck();
            } else {
                w.messages[1].send();
            }
        },
    );
}

/// Invariant 6: rank 0 holds target 0 and wants target 1. Rank 1 waits for target 0 on the exclusive side
/// of the window's lock. Rank 2 waits for that side. Rank 0 must not queue behind rank 2.
pub(super) fn nested(ranks: usize, world: Start) {
    let w = run(
        ranks,
        move || world(2),
        |w, me| match me {
            0 => {
                w.lock(me, 0, LockType::Shared, Queueing::Fair);
                w.look(0);
                w.lock(me, 1, LockType::Exclusive, Queueing::HoldersOnly);
                w.count_up(1);
                w.unlock(me, 1, LockType::Exclusive);
                w.unlock(me, 0, LockType::Shared);
            }
            1 => w.write(me, 0),
            _ => {
                w.lock_all(me);
                w.look(0);
                w.look(1);
                w.unlock_all(me);
            }
        },
    );
    w.assert_free();
}

/// Rank 0 holds target 0 without the window's lock, and wants target 1. Rank 1 begins the first `lock_all`, and must
/// not keep rank 0 out while it waits for it.
fn two_alone(ranks: usize) {
    let w = run(
        ranks,
        || world(2),
        |w, me| match me {
            0 => {
                w.lock(me, 0, LockType::Exclusive, Queueing::Fair);
                w.count_up(0);
                w.lock(me, 1, LockType::Exclusive, Queueing::HoldersOnly);
                w.count_up(1);
                w.unlock(me, 1, LockType::Exclusive);
                w.unlock(me, 0, LockType::Exclusive);
            }
            _ => {
                w.lock_all(me);
                w.look(0);
                w.look(1);
                w.unlock_all(me);
            }
        },
    );
    w.assert_free();
}

/// Invariant 7: rank 0 holds `lock_all` until rank 1 has read target 0 under a shared lock, which
/// does not conflict. Rank 2 wants target 0 exclusively: while it waits for rank 0 it must not
/// keep rank 1 out.
fn holder_waits(ranks: usize, world: Start) {
    let w = run(
        ranks,
        move || world(1),
        |w, me| match me {
            0 => {
                w.lock_all(me);
                w.look(0);
                w.messages[0].receive(&w.job, 1);
                w.unlock_all(me);
            }
            1 => {
                w.read(me, 0);
                w.messages[0].send();
            }
            _ => w.write(me, 0),
        },
    );
    w.assert_free();
}

/// As `nested`, but rank 0 wants target 1 shared, and rank 3 wants it exclusively: it may stand
/// behind the waiting `lock_all` of rank 2.
fn nested_four(ranks: usize) {
    let w = run(
        ranks,
        || opened(2),
        |w, me| match me {
            0 => {
                w.lock(me, 0, LockType::Shared, Queueing::Fair);
                w.messages[0].send();
                w.lock(me, 1, LockType::Shared, Queueing::HoldersOnly);
                w.look(0);
                w.look(1);
                w.unlock(me, 1, LockType::Shared);
                w.unlock(me, 0, LockType::Shared);
            }
            1 => {
                w.messages[0].receive(&w.job, 1);
                w.write(me, 0);
            }
            2 => {
                w.lock_all(me);
                w.look(0);
                w.unlock_all(me);
            }
            _ => w.write(me, 1),
        },
    );
    w.assert_free();
}
