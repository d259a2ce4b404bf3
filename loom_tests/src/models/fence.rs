//! `fence`.

use crate::explore::{BOUND_2, EXHAUSTIVE, Model, ONE_LOOK, WIDE};
use crate::sync::{
    self, BarrierWords, FenceKind, LockAllWords, LockType, LockWords, OpenEpochs, Queueing, Round,
    fence, lock, unlock_queued,
};
use crate::world::{Data, Job, Nodes, each, passed, run};

const BARRIER: FenceKind = FenceKind::Barrier;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("fence", name, ranks, run);
    vec![
        model("neighbours", 2, |n| neighbours(n, 1)),
        model("neighbours twice", 2, |n| neighbours(n, 2)).within(BOUND_2, EXHAUSTIVE),
        model("neighbours", 3, |n| neighbours(n, 1)),
        model("neighbours", 4, |n| neighbours(n, 1)),
        model("one for all", 2, one_for_all),
        model("one for all", 3, one_for_all).within(BOUND_2, EXHAUSTIVE),
        model("one for all", 4, one_for_all).within(WIDE, BOUND_2),
        model("arrive only", 2, arrive_only).within(BOUND_2, ONE_LOOK),
        model("arrive only, once", 2, arrive_once),
        model("arrive only", 3, arrive_only).within(WIDE, WIDE),
        model("kinds that disagree", 3, kinds_that_disagree),
        model("lent", 2, lent).within(BOUND_2, EXHAUSTIVE),
        model("lent", 3, lent).within(WIDE, BOUND_2),
        model("lent, arrive only", 2, lent_unwaited),
    ]
}

struct World {
    job: Job,
    words: BarrierWords,
    window: Vec<Data>,
    open: Vec<OpenEpochs>,
    /// Those of the window and of the part of rank 0.
    locks: (LockAllWords, LockWords, Nodes),
}

fn world(ranks: usize) -> World {
    let (job, words, locks) = Default::default();
    World { job, words, window: each(ranks), open: each(ranks), locks }
}

impl World {
    fn fence(&self, round: &mut Round, kind: FenceKind) {
        let ranks = self.window.len() as u32;
        passed(fence(&self.words, ranks, round, kind, || (), || (), &self.job.waiter()));
    }
}

/// Local store, fence, get and put at the right neighbour, fence, local load.
pub(super) fn neighbours(ranks: usize, rounds: u32) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (mut round, right) = (Round::default(), (me + 1) % ranks);
            for k in 0..rounds {
                w.window[me].set(100 + 10 * k);
                w.fence(&mut round, BARRIER);
                assert_eq!(w.window[right].get(), 100 + 10 * k, "get");
                w.window[right].set(200 + 10 * k);
                w.fence(&mut round, BARRIER);
                assert_eq!(w.window[me].get(), 200 + 10 * k, "local load");
            }
        },
    );
}

/// One fence makes the local store of every rank known to every rank.
pub(super) fn one_for_all(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            w.window[me].set(7 + me as u32);
            w.fence(&mut Round::default(), BARRIER);
            for (rank, data) in w.window.iter().enumerate() {
                assert_eq!(data.get(), 7 + rank as u32, "get");
            }
        },
    );
}

/// Rank 0 wrongly asserts, in two fences, what the others do not in their one: it may not be
/// counted for rank 2, which is late.
fn kinds_that_disagree(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            let mut round = Round::default();
            match me {
                0 => {
                    w.fence(&mut round, FenceKind::ArriveOnly);
                    w.fence(&mut round, FenceKind::ArriveOnly);
                }
                1 => {
                    w.fence(&mut round, BARRIER);
                    assert_eq!(w.window[2].get(), 5, "get");
                }
                _ => {
                    w.window[2].set(5);
                    w.fence(&mut round, BARRIER);
                }
            }
        },
    );
}

/// The shortest program in which a fence that waits comes after one that does not.
pub(super) fn arrive_once(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let mut round = Round::default();
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.window[me].set(2);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[1 - me].get(), 2, "get after one that did not wait");
        },
    );
}

/// A fence that ends nothing and starts nothing does not wait; those around it still do.
pub(super) fn arrive_only(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (mut round, right) = (Round::default(), (me + 1) % ranks);
            w.window[me].set(1);
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.window[me].set(2);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[right].get(), 2, "get after one that did not wait");
            w.fence(&mut round, FenceKind::ArriveOnly);
            w.fence(&mut round, BARRIER);
            w.window[right].set(3);
            w.fence(&mut round, BARRIER);
            assert_eq!(w.window[me].get(), 3, "local load");
        },
    );
}

/// A rank of a window whose fences say what they open and close, as `src/window/fence.rs` has it.
struct Member<'w> {
    w: &'w World,
    rank: usize,
    round: Round,
    fences: u32,
}

impl<'w> Member<'w> {
    fn new(w: &'w World, rank: usize) -> Member<'w> {
        Member { w, rank, round: Round::default(), fences: 0 }
    }

    fn fence(&mut self, kind: FenceKind, opens: bool) {
        let Member { w, rank, .. } = *self;
        self.fences += 1;
        let announce = || w.open[rank].fenced(self.fences, opens);
        let ranks = w.window.len() as u32;
        passed(fence(&w.words, ranks, &mut self.round, kind, announce, || (), &w.job.waiter()));
    }

    /// Runs `with` on the own part, if no rank may put there without a lock, as `lock_local` in
    /// `src/epoch/local.rs`: whether it has.
    fn lend(&self, with: impl FnOnce(&Data)) -> bool {
        let Member { w, rank, .. } = *self;
        let ((window, target, nodes), waiter) = (&w.locks, w.job.waiter());
        passed(sync::passed(&w.words, w.window.len() as u32, self.round, &waiter));
        w.open[rank].leave_fence();
        nodes.locker(rank, 0, |locker| {
            passed(lock(window, target, LockType::Exclusive, locker, Queueing::Fair, &waiter));
            let lends = !w.open.iter().any(|open| open.is_in_fence_epoch(self.fences));
            if lends {
                with(&w.window[rank]);
            }
            unlock_queued(window, target, LockType::Exclusive, locker);
            lends
        })
    }
}

/// Rank 0 lends its part out where no fence epoch is open; the last rank puts there in one.
fn lent(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let mut member = Member::new(w, me);
            member.fence(BARRIER, true);
            if me == 0 {
                assert!(!member.lend(|part| part.set(1)), "lent while another rank may put there");
            } else if me == ranks - 1 {
                w.window[0].set(7);
            }
            member.fence(BARRIER, false);
            if me == 0 {
                let lends = member.lend(|part| {
                    assert_eq!(part.get(), 7, "put");
                    part.set(8);
                });
                assert!(lends, "not lent although no fence epoch is open");
            }
            member.fence(BARRIER, true);
            assert!(me != ranks - 1 || w.window[0].get() == 8, "get");
        },
    );
}

/// A fence epoch in which nothing is done is closed by a fence that only arrives.
fn lent_unwaited(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            let mut member = Member::new(w, me);
            member.fence(BARRIER, true);
            member.fence(FenceKind::ArriveOnly, false);
            assert!(me != 0 || member.lend(|part| part.set(8)), "not lent although none is open");
            member.fence(BARRIER, true);
            assert!(me == 0 || w.window[0].get() == 8, "get");
        },
    );
}
