//! What becomes of a barrier in whose tree a rank dies: all survivors pass it, or none does.

use super::going_on::works_again;
use super::{VICTIM, die, lost, one_was_killed, window};
use crate::support::in_a_tree;
use onesided::hooks::{Event, Site, delay};
use onesided::{Comm, Op};

const RANKS: u32 = 9;

fn survivors(body: impl FnOnce(&Comm)) {
    let outcome = in_a_tree(RANKS, &["--on-failure=continue"], body);
    outcome.into_iter().for_each(|outcome| one_was_killed(RANKS, &outcome));
}

/// The victim arrives at a barrier where the others sleep, and dies before `event` there. All others pass it, or none does.
fn dies(event: Event, passes: bool) {
    survivors(|world| {
        world.barrier().unwrap();
        if world.rank().0 == VICTIM {
            world.await_signal(0, RANKS - 1);
            delay(event, || die());
            let _ = world.barrier();
            unreachable!("it is the last to arrive");
        }
        let asleep = world.clone();
        delay(Event::MemSync(Site::ParkWaiter), move || asleep.signal(0));
        let passed = world.barrier();
        if passes {
            passed.unwrap();
            lost(world.barrier());
        } else {
            lost(passed);
        }
        lost(world.barrier());
        let rest = world.shrink().unwrap();
        assert_eq!(rest.allreduce(&[1_u32], Op::Sum).unwrap(), [RANKS - 1]);
    });
}

#[test]
fn no_rank_passes_if_one_dies_before_it_arrives() {
    dies(Event::MemSync(Site::CollectivePre), false);
}

/// It has counted the arrivals of the ranks beside it, and not yet in the barrier's word.
#[test]
fn no_rank_passes_if_one_dies_with_the_arrivals_of_others() {
    dies(Event::MemSync(Site::ArrivalCarry), false);
}

#[test]
fn all_ranks_pass_although_the_one_that_releases_them_dies() {
    dies(Event::MemSync(Site::ReleaseCarry), true);
}

/// Fewer ranks use the words of the tree then.
#[test]
fn a_window_is_recovered_whose_ranks_combine() {
    survivors(|world| {
        let mut win = window(world);
        win.store(1, &[if world.rank() == VICTIM { 77u64 } else { 0 }]).unwrap();
        for _ in 0..3 {
            win.fence().unwrap();
        }
        if world.rank() == VICTIM {
            die();
        }
        lost(win.fence());
        win.recover().unwrap();
        for _ in 0..20 {
            win.fence().unwrap();
        }
        let rest: Vec<u32> = (0..RANKS).filter(|rank| *rank != VICTIM).collect();
        works_again(&win, &rest);
        win.free().unwrap();
    });
}
