//! The memory that those who go on take for it is given back, whatever the dead have left undone.

use super::{VICTIM, die, lost, survivors, window};
use crate::support::occupied;
use onesided::engine::{ExposedBytes, Win};
use onesided::hooks::{Event, Site, delay};
use onesided::{Comm, Rank, WindowOptions};

/// Pages that the allocator may keep for headers of blocks: less than any block that could be forgotten
/// here, or as many as there are of it.
const SLACK: u64 = 8 << 10;

/// The victim dies behind `before`, and those who live go on with `then`, which gets what that has
/// returned. Behind it the segment occupies no more than at the beginning.
fn leaves_nothing<R>(before: impl FnOnce(&Comm) -> R, then: impl FnOnce(&Comm, R)) {
    survivors(3, |world| {
        // Those who live meet here without taking memory.
        let rest = world.split(Some(u32::from(world.rank() == VICTIM)), 0).unwrap().unwrap();
        world.barrier().unwrap();
        let occupied_before = occupied();
        world.barrier().unwrap();
        let made = before(world);
        if world.rank() == VICTIM {
            die();
        }
        then(world, made);
        rest.barrier().unwrap();
        let now = occupied();
        assert!(now <= occupied_before + SLACK, "{now} bytes, before {occupied_before}");
    });
}

#[test]
fn a_thousand_recoveries() {
    leaves_nothing(window, |world, mut win| {
        lost(world.barrier());
        for _ in 0..1000 {
            assert_eq!(win.recover().unwrap(), [Rank(VICTIM)]);
        }
        win.free().unwrap();
    });
}

#[test]
fn a_thousand_communicators_of_those_who_live() {
    leaves_nothing(
        |_| (),
        |world, ()| {
            lost(world.barrier());
            for _ in 0..1000 {
                world.shrink().unwrap().free().unwrap();
            }
        },
    );
}

#[test]
fn a_thousand_communicators_that_the_dead_do_not_come_for() {
    leaves_nothing(
        |_| (),
        |world, ()| {
            for tag in 0..1000 {
                lost(world.create_group(&world.group(), tag));
            }
        },
    );
}

#[test]
fn a_communicator_that_others_were_waiting_for() {
    leaves_nothing(
        |world| {
            if world.rank() == VICTIM {
                // The others have come, or are on their way: both must be well.
                world.await_signal(0, 2);
            } else {
                world.signal(0);
            }
        },
        |world, ()| {
            lost(world.create_group(&world.group(), 0));
        },
    );
}

#[test]
fn communicators_that_can_no_longer_be_met_in() {
    leaves_nothing(
        |world| (0..100).map(|_| world.dup().unwrap()).collect::<Vec<Comm>>(),
        |world, dups| {
            lost(world.barrier());
            // As windows keep them, to the last handle.
            let handles = dups.clone();
            dups.into_iter().for_each(|dup| dup.free().unwrap());
            drop(handles);
        },
    );
}

#[test]
fn a_window_that_was_being_made() {
    leaves_nothing(
        |world| {
            if world.rank() == VICTIM {
                // It has asked for the window, and does not learn where it is.
                let second = || delay(Event::MemSync(Site::CollectivePre), || die());
                delay(Event::MemSync(Site::CollectivePre), second);
                let _ = WindowOptions::new().allocate_bytes(world, 16 << 20, 1);
            }
        },
        |world, ()| lost(WindowOptions::new().allocate_bytes(world, 16 << 20, 1)),
    );
}

/// Windows in which the dead rank has something of its own: post slots, a table of attachments.
#[test]
fn what_the_dead_had_for_windows() {
    let make = |world: &Comm| -> Vec<Win> {
        let one = |_| {
            let win = WindowOptions::new().create_dynamic_bytes(world).unwrap();
            for _ in 0..20 {
                // SAFETY: 1. it is leaked. 2. no reference to it is left.
                unsafe {
                    win.attach(ExposedBytes::new(Box::leak(Box::new([0u8; 16])).as_mut_ptr(), 16))
                }
                .unwrap();
            }
            win.post(&world.group().incl(&[0]).unwrap()).unwrap();
            win
        };
        (0..500).map(one).collect()
    };
    leaves_nothing(make, |world, wins| {
        lost(world.barrier());
        for mut win in wins {
            win.recover().unwrap();
            win.free().unwrap();
        }
    });
}
