//! What calls do when a rank has died, and how the others go on.

use super::{VICTIM, die, lost, survivors, window};
use onesided::engine::Win;
use onesided::hooks::{Event, Site, delay};
use onesided::{Comm, FenceAssert, LockType, Op, Rank, Result, WindowOptions};

/// What the victim has done when it dies, and the call in which the others then wait for it.
fn waits(n: u32, before: impl Fn(&Comm, &Win), wait: impl Fn(&Comm, &Win) -> Result<()>) {
    survivors(n, |world| {
        let win = window(world);
        if world.rank() == VICTIM {
            before(world, &win);
            die();
        }
        lost(wait(world, &win));
        lost(world.barrier());
        assert_eq!(world.failed().world_ranks(), [VICTIM]);
    });
}

#[test]
fn a_barrier_ends() {
    waits(4, |_, _| (), |world, _| world.barrier());
}

#[test]
fn a_fence_ends() {
    waits(4, |_, _| (), |_, win| win.fence());
}

#[test]
fn a_start_ends() {
    let victims = |world: &Comm| world.group().incl(&[VICTIM]).unwrap();
    waits(3, |_, _| (), |world, win| win.start(&victims(world)));
}

#[test]
fn a_wait_ends() {
    let post = |world: &Comm, win: &Win| {
        win.post(&world.group().incl(&[VICTIM])?)?;
        win.wait()
    };
    let start = |world: &Comm, win: &Win| {
        let others = world.group().excl(&[VICTIM]).unwrap();
        win.start(&others).unwrap();
    };
    waits(3, start, post);
}

#[test]
fn a_wait_for_a_lock_ends_and_says_who_held_it() {
    let lock = |world: &Comm, win: &Win| {
        win.lock(LockType::Exclusive, Rank(0)).unwrap();
        world.signal(0);
    };
    waits(3, lock, |world, win| {
        world.await_signal(0, 1);
        let error = win.lock(LockType::Shared, Rank(0)).unwrap_err();
        assert!(error.to_string().contains("it held the exclusive lock of rank 0"), "{error}");
        Err(error)
    });
}

#[test]
fn a_wait_for_shared_holders_ends() {
    let lock = |world: &Comm, win: &Win| {
        win.lock_all().unwrap();
        world.signal(0);
    };
    waits(3, lock, |world, win| {
        world.await_signal(0, 1);
        win.lock(LockType::Exclusive, Rank(2))
    });
}

#[test]
fn a_communicator_without_the_dead_goes_on() {
    survivors(4, |world| {
        let pair = world.split(Some(world.rank().0 / 2), 0).unwrap().unwrap();
        if world.rank() == VICTIM {
            die();
        }
        if world.rank().0 > VICTIM {
            // No rank of this communicator has died.
            for _ in 0..100 {
                pair.barrier().unwrap();
            }
        }
        let rest = world.shrink().unwrap();
        assert_eq!(rest.group().world_ranks(), [0, 2, 3]);
        assert_eq!(rest.allreduce(&[world.rank().0], Op::Sum).unwrap(), [5]);
        window(&rest).free().unwrap();
    });
}

/// What the victim had done is there, what it held is free, and everything works again.
pub fn works_again(win: &Win, rest: &[u32]) {
    let (me, world) = (win.comm().rank().0, win.comm().group());
    win.fence().unwrap();
    win.accumulate(&[1u64], Op::Sum, Rank(0), 1).unwrap();
    win.fence_with(FenceAssert::NOSUCCEED).unwrap();
    let mut count = [0u64];
    for (held, target) in [(LockType::Shared, 0), (LockType::Exclusive, VICTIM)] {
        win.lock(held, Rank(target)).unwrap();
        win.get(&mut count, Rank(target), 1).unwrap();
        win.unlock(Rank(target)).unwrap();
        assert_eq!(count[0], if target == VICTIM { 77 } else { rest.len() as u64 });
    }
    win.fence_with(FenceAssert::NOSUCCEED).unwrap();
    let others: Vec<u32> = rest.iter().copied().filter(|rank| *rank != me).collect();
    let others = world.incl(&others).unwrap();
    win.post(&others).unwrap();
    win.start(&others).unwrap();
    win.complete().unwrap();
    win.wait().unwrap();
    let victim = world.incl(&[VICTIM]).unwrap();
    lost(win.start(&victim));
    lost(win.post(&victim));
}

#[test]
fn a_window_is_recovered() {
    survivors(4, |world| {
        let mut win = window(world);
        if world.rank() == VICTIM {
            win.store(1, &[77u64]).unwrap();
            win.lock(LockType::Exclusive, Rank(0)).unwrap();
            win.lock(LockType::Shared, Rank(2)).unwrap();
            world.signal(0);
            die();
        }
        world.await_signal(0, 1);
        if world.rank() == 2 {
            win.lock(LockType::Shared, Rank(3)).unwrap();
        }
        lost(win.lock(LockType::Exclusive, Rank(0)));
        assert_eq!(win.recover().unwrap(), [Rank(VICTIM)]);
        works_again(&win, &[0, 2, 3]);
        win.free().unwrap();
    });
}

#[test]
fn a_window_is_recovered_after_a_fence_that_failed() {
    survivors(3, |world| {
        let mut win = window(world);
        win.store(1, &[if world.rank() == VICTIM { 77u64 } else { 0 }]).unwrap();
        win.fence().unwrap();
        if world.rank() == VICTIM {
            die();
        }
        lost(win.fence());
        win.recover().unwrap();
        works_again(&win, &[0, 2]);
        win.free().unwrap();
    });
}

#[test]
fn the_allocator_goes_on_after_a_death_inside() {
    survivors(3, |world| {
        let own = world.split(Some(u32::from(world.rank() == VICTIM)), 0).unwrap().unwrap();
        if world.rank() == VICTIM {
            // Between the last change and the release.
            delay(Event::MemSync(Site::HeapPre), || die());
            let _ = WindowOptions::new().allocate_bytes(&own, 1 << 20, 1);
            unreachable!("the allocator was not used");
        }
        for _ in 0..50 {
            WindowOptions::new().allocate_bytes(&own, 100_000, 1).unwrap().free().unwrap();
        }
    });
}

/// The victim dies at that event of the creation of a window.
fn made_on_all_or_none(event: Site) {
    survivors(3, |world| {
        world.barrier().unwrap();
        if world.rank() == VICTIM {
            delay(Event::MemSync(event), || die());
        }
        let made = WindowOptions::new().allocate_bytes(world, 4096, 1);
        let rest = world.shrink().unwrap();
        let verdicts = rest.allgather(&[u32::from(made.is_ok())]).unwrap();
        assert!(verdicts.iter().all(|verdict| *verdict == verdicts[0]), "{verdicts:?}");
    });
}

#[test]
fn a_window_is_made_on_all_or_none_if_a_rank_dies_before_it_meets_the_others() {
    made_on_all_or_none(Site::CollectivePre);
}

#[test]
fn a_window_is_made_on_all_or_none_if_a_rank_dies_when_it_has_met_them() {
    made_on_all_or_none(Site::CollectivePost);
}
