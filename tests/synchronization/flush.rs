//! Flush and win_sync: the last two drawings of "RMA + Shared Memory" in the New RMA Design, and
//! MPI-4.1 §12.5.4.
#![cfg(feature = "test-hooks")]

use crate::support::interleave::{before, free, get, load, locked_put, put, store, words};
use crate::support::spmd;
use onesided::hooks::{Event, Site};
use onesided::{Comm, LockType, Rank, Window};

/// New RMA Design, third drawing: lock_all, put, flush(1), PROC_SYNC; then rank 1 locks itself and
/// sees the put, although rank 0 has not unlocked. The PROC_SYNC is a signal, which orders nothing.
/// Each form of flush takes its turn; the last put is made immediately before the MEM_SYNC.
#[test]
fn what_is_flushed_is_seen_before_unlock_all() {
    let sites = [Site::Flush, Site::FlushAll, Site::FlushLocal, Site::FlushLocalAll];
    spmd(2, |world| {
        let win = words(world, 2);
        if world.rank() == 0 {
            win.lock_all().unwrap();
        }
        for (round, site) in (1..=40).zip(sites.into_iter().cycle()) {
            let word = u64::from(round);
            if world.rank() == 0 {
                put(&win, word, 1, 0);
                before(&win, Event::MemSync(site), move |win| put(win, word, 1, 1));
                match site {
                    Site::Flush => win.flush(Rank(1)).unwrap(),
                    Site::FlushAll => win.flush_all().unwrap(),
                    Site::FlushLocal => win.flush_local(Rank(1)).unwrap(),
                    _ => win.flush_local_all().unwrap(),
                }
                world.signal(0);
                world.await_signal(1, round);
            } else {
                world.await_signal(0, round);
                win.lock(LockType::Shared, Rank(1)).unwrap();
                assert_eq!([load(&win, 0), load(&win, 1)], [word; 2], "{site:?}");
                win.unlock(Rank(1)).unwrap();
                world.signal(1);
            }
        }
        if world.rank() == 0 {
            win.unlock_all().unwrap();
        }
        free(win);
    });
}

/// The same under a lock of one target, where a shared lock of the target by itself is compatible.
#[test]
fn what_is_flushed_under_a_shared_lock_is_seen_before_unlock() {
    spmd(3, |world| {
        let win = words(world, 1);
        for round in 1..=30 {
            if world.rank() == 0 {
                win.lock(LockType::Shared, Rank(2)).unwrap();
                put(&win, u64::from(round), 2, 0);
                win.flush(Rank(2)).unwrap();
                world.signal(0);
                world.await_signal(1, round);
                win.unlock(Rank(2)).unwrap();
            } else if world.rank() == 1 {
                world.await_signal(0, round);
                win.lock(LockType::Shared, Rank(2)).unwrap();
                assert_eq!(get(&win, 2, 0), u64::from(round));
                win.unlock(Rank(2)).unwrap();
                world.signal(1);
            }
        }
        free(win);
    });
}

/// New RMA Design, fourth drawing: rank 1 accesses its own part between two win_syncs, rank 0 under
/// a lock, with a PROC_SYNC between each.
#[test]
fn local_accesses_between_win_syncs_take_turns_with_a_locked_origin() {
    spmd(2, |world| {
        let win = words(world, 1);
        for round in 1..=50 {
            let word = u64::from(round);
            if world.rank() == 1 {
                win.sync();
                assert_eq!(load(&win, 0), 10 * (word - 1));
                store(&win, 0, word);
                win.sync();
                world.signal(0);
                world.await_signal(1, round);
            } else {
                world.await_signal(0, round);
                win.lock(LockType::Exclusive, Rank(1)).unwrap();
                let found = get(&win, 1, 0);
                put(&win, 10 * word, 1, 0);
                win.unlock(Rank(1)).unwrap();
                assert_eq!(found, word);
                world.signal(1);
            }
        }
        free(win);
    });
}

/// Flush is a full barrier (src/sync, `flush`): of two ranks that put, flush and get crosswise, at
/// least one sees the other's put. Each round has words of its own, on cache lines of their own.
#[test]
fn of_two_ranks_that_put_flush_and_get_crosswise_one_sees_the_other() {
    const ROUNDS: usize = 3000;
    spmd(2, |world: &Comm| {
        let peer = Rank(1 - world.rank().0);
        let mut window = Window::<u64>::allocate(world, 8 * ROUNDS).unwrap();
        let epoch = window.lock_all().unwrap();
        let mut saw = vec![0u8; ROUNDS];
        world.barrier().unwrap();
        for (disp, saw) in (0..).step_by(8).zip(&mut saw) {
            epoch.put_flush(&[1], peer, disp).unwrap();
            let mut own = [0];
            epoch.get_flush(&mut own, world.rank(), disp).unwrap();
            *saw = own[0] as u8;
            // Both begin the next round together.
            while own[0] == 0 {
                std::thread::yield_now();
                epoch.get_flush(&mut own, world.rank(), disp).unwrap();
            }
        }
        epoch.unlock_all().unwrap();
        let both = world.allgather(&saw).unwrap();
        let (first, second) = both.split_at(ROUNDS);
        let missed = first.iter().zip(second).position(|(a, b)| a + b == 0);
        assert_eq!(missed, None, "neither saw the other's put in this round");
        window.free().unwrap();
    });
}

/// A buffer is free again after a flush that ends the batch, and the target has the words
/// (MPI-4.1 §12.5.4: "RMA operations issued prior to this call [...] will have completed both at
/// the origin and at the target").
#[test]
fn a_buffer_is_free_after_flush() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 30).unwrap();
        if world.rank() == 0 {
            let epoch = window.lock_all().unwrap();
            let mut buffer = [0];
            for disp in 0..30 {
                buffer[0] = disp + 1;
                epoch.put_flush(&buffer, Rank(1), disp as usize).unwrap();
                buffer[0] = 0;
            }
            epoch.unlock_all().unwrap();
        }
        world.barrier().unwrap();
        if world.rank() == 1 {
            let mut words = [0; 30];
            window.load(0, &mut words).unwrap();
            assert!(words.iter().zip(1..).all(|(word, expected)| *word == expected), "{words:?}");
        }
        window.free().unwrap();
    });
}

/// A put that is neither flushed nor unlocked may be seen or not; after the unlock it is.
#[test]
fn a_put_under_a_held_lock_is_old_or_new_until_unlock() {
    spmd(2, |world| {
        let win = words(world, 1);
        locked_put(&win, LockType::Exclusive, 7, world.rank().0, 0);
        world.barrier().unwrap();
        if world.rank() == 0 {
            win.lock(LockType::Shared, Rank(1)).unwrap();
            put(&win, 8, 1, 0);
            world.barrier().unwrap();
            world.await_signal(0, 1);
            win.unlock(Rank(1)).unwrap();
            world.barrier().unwrap();
        } else {
            world.barrier().unwrap();
            win.lock(LockType::Shared, Rank(1)).unwrap();
            let found = load(&win, 0);
            assert!(found == 7 || found == 8, "{found}");
            win.unlock(Rank(1)).unwrap();
            world.signal(0);
            world.barrier().unwrap();
            win.lock(LockType::Shared, Rank(1)).unwrap();
            assert_eq!(load(&win, 0), 8);
            win.unlock(Rank(1)).unwrap();
        }
        free(win);
    });
}
