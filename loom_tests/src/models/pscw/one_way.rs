//! Programs of `pscw` in which one rank is the target and the other the origin: short enough to
//! be explored without a bound, where the programs of two equal ranks are not.

use super::{accesses, exposes, world};
use crate::sync::{Round, collective, post, start_one, started, test};
use crate::world::{Message, passed, run};

/// An epoch without check on both sides, then one that checks again: the origin may not have
/// counted a post that was not made.
pub(super) fn nocheck(ranks: usize) {
    run(
        ranks,
        || (world(ranks, 1), Message::default()),
        |(w, exposed), me| {
            let mut side = w.side(0, me);
            if me == 0 {
                side.data(0).set(1);
                post(std::iter::empty());
                exposed.send();
                side.wait(1);
                assert_eq!(side.data(0).get(), 2, "local load");
                exposes(&mut side, 1);
            } else {
                exposed.receive(&w.job, 1);
                side.start_nocheck(0);
                assert_eq!(side.data(0).get(), 1, "get");
                side.data(0).set(2);
                side.complete(&[0]);
                accesses(&mut side, &[0]);
            }
        },
    );
}

/// `test` that fails has no effect; one that succeeds is a `wait`. Twice, because a count that
/// was reset is wrong from the second epoch on.
pub(super) fn tested(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1),
        |w, me| {
            let mut side = w.side(0, me);
            for _ in 0..2 {
                if me == 1 {
                    accesses(&mut side, &[0]);
                    continue;
                }
                side.data(0).set(1);
                side.post(&[1]);
                let words = &side.window.words[0];
                if !test(words, 1, &mut side.completes_seen) {
                    side.wait(1);
                }
                assert_eq!(side.data(0).get(), 2, "local load");
            }
        },
    );
}

/// The slots are allocated at the first post, in memory that holds garbage.
pub(in crate::models) fn table(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1).with_garbage(),
        |w, me| {
            let mut side = w.side(0, me);
            if me == 0 {
                side.publish_table();
                exposes(&mut side, 1);
            } else {
                side.find_table(0);
                accesses(&mut side, &[0]);
            }
        },
    );
}

/// The shortest program that waits for a table: rank 1 finds it, and its slot cleared.
pub(in crate::models) fn table_found(ranks: usize) {
    run(
        ranks,
        || world(ranks, 1).with_garbage(),
        |w, me| {
            let side = w.side(0, me);
            if me == 0 {
                side.publish_table();
            } else {
                side.find_table(0);
                assert_eq!(side.window.slots[0][1].load(), 0, "posts of an earlier window");
            }
        },
    );
}

/// A window is freed, and the next one gets zeroed words, but slots and memory as they were left:
/// the target of the first life is the origin of the second, over the same slot. Only the second
/// life has a table, because the slot of the first is zero anyway.
pub(super) fn two_lives(ranks: usize) {
    run(
        ranks,
        || world(ranks, 2),
        |w, me| {
            let (slots, memory) = (&w.windows[0].slots[0][..1], &w.windows[0].data[0]);
            for target in 0..2 {
                let mut side = w.side(target, me);
                if me == target {
                    if target == 1 {
                        side.window.tables[me].publish(1, slots);
                    }
                    memory.set(1);
                    post(slots.iter());
                    side.wait(1);
                    assert_eq!(memory.get(), 2, "local load");
                } else {
                    if target == 1 {
                        side.find_table(target);
                    }
                    passed(start_one(&slots[0], &mut side.posts_seen[target], &w.job.waiter()));
                    started();
                    assert_eq!(memory.get(), 1, "get");
                    memory.set(2);
                    side.complete(&[target]);
                }
                if target == 0 {
                    passed(collective(&w.barrier, 2, &mut Round::default(), &w.job.waiter()));
                }
            }
        },
    );
}
