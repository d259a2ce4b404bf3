//! Partitioned messages: of all layouts, with partitions that differ, by several threads, and with a
//! rank that dies.

use crate::support::{for_each_size, spmd};
use crate::untyped::failing::without_rank_1;
use crate::untyped::matrices::{FORMS, Laid, matrices};
use onesided::engine::Partitioned;
use onesided::{Comm, Error, ErrorClass, Rank};

/// Partitions of the sender and of the receiver.
const CUTS: [(u32, u32); 6] = [(1, 1), (5, 5), (1, 4), (6, 4), (3, 12), (12, 5)];

fn neighbours(world: &Comm) -> (Rank, Rank) {
    let (rank, ranks) = (world.rank().0, world.size());
    (Rank((rank + ranks - 1) % ranks), Rank((rank + 1) % ranks))
}

/// To the next rank, and from the one before.
fn ring(
    world: &Comm,
    out: &Laid,
    into: &mut Laid,
    (parts, parts_there): (u32, u32),
) -> (Partitioned, Partitioned) {
    let (before, behind) = neighbours(world);
    let receive =
        world.init_partitioned_receive(into.origin_mut(), parts_there, before, 3).unwrap();
    let send = world.init_partitioned_send(out.origin(), parts, behind, 3).unwrap();
    (send, receive)
}

#[test]
fn any_cut_goes_to_any_other() {
    for_each_size(&[1, 2, 3, 5], |world| {
        let before = neighbours(world).0;
        for (case, cut) in CUTS.into_iter().enumerate() {
            for count in [0, 60, 60 * 30] {
                let mut out = Laid::empty(FORMS[case % 4], count);
                let mut into = Laid::empty(FORMS[(case + 1) % 4], count);
                let (send, receive) = ring(world, &out, &mut into, cut);
                for time in 0..3 {
                    receive.start().unwrap();
                    send.start().unwrap();
                    out.put(0, &matrices(world.rank().0 + time, count));
                    let last_first: Vec<u32> = (0..cut.0).rev().collect();
                    let (some, others) = last_first.split_at(cut.0 as usize / 2);
                    send.ready(some).unwrap();
                    send.ready(others).unwrap();
                    let status = receive.wait().unwrap();
                    assert_eq!((status.source, status.tag), (before, 3));
                    assert_eq!(status.bytes, 32 * count as u64);
                    send.wait().unwrap();
                    assert_eq!(read(&into, count), matrices(before.0 + time, count));
                }
            }
        }
    });
}

fn read(laid: &Laid, count: usize) -> Vec<[u64; 4]> {
    assert_eq!(laid.count(), count);
    laid.clone().get()
}

#[test]
fn a_part_that_both_sides_have_arrives_by_itself() {
    for_each_size(&[1, 2, 3], |world| {
        let out = Laid::holding(FORMS[1], &matrices(world.rank().0, 12));
        let mut into = Laid::empty(FORMS[2], 12);
        // Two groups, of three and two partitions.
        let (send, receive) = ring(world, &out, &mut into, (6, 4));
        assert!(
            receive.has_arrived(0).unwrap() && receive.is_complete(),
            "it has not been started"
        );
        receive.start().unwrap();
        send.start().unwrap();
        send.ready(&[3, 5]).unwrap();
        world.barrier().unwrap();
        assert!((0..4).all(|k| !receive.has_arrived(k).unwrap()));
        world.barrier().unwrap();
        send.ready(&[4]).unwrap();
        world.progress_until(|| receive.has_arrived(2).unwrap()).unwrap();
        assert!(receive.has_arrived(3).unwrap() && !receive.has_arrived(1).unwrap());
        assert!(!receive.is_complete() && !send.is_complete() && send.is_active());
        world.barrier().unwrap();
        send.ready(&[0, 1, 2]).unwrap();
        receive.wait().unwrap();
        send.wait().unwrap();
        assert_eq!(into.get(), matrices(neighbours(world).0.0, 12));
    });
}

#[test]
fn threads_hand_over_what_another_waits_for() {
    for_each_size(&[1, 2, 3], |world| {
        let out = Laid::holding(FORMS[0], &matrices(world.rank().0, 240));
        let mut into = Laid::empty(FORMS[3], 240);
        let (send, receive) = ring(world, &out, &mut into, (12, 8));
        for _ in 0..20 {
            send.start().unwrap();
            receive.start().unwrap();
            std::thread::scope(|scope| {
                for first in 0..4 {
                    let send = &send;
                    scope.spawn(move || {
                        (first..12).step_by(4).for_each(|k| send.ready(&[k]).unwrap());
                    });
                }
                scope.spawn(|| send.wait().unwrap());
                receive.wait().unwrap();
            });
        }
        assert_eq!(into.get(), matrices(neighbours(world).0.0, 240));
    });
}

#[test]
fn the_first_meets_the_first() {
    spmd(2, |world| {
        let other = Rank(1 - world.rank().0);
        let sent: Vec<Laid> = (0..4)
            .map(|k| Laid::holding(FORMS[0], &matrices(10 * world.rank().0 + k, 3)))
            .collect();
        let mut got: Vec<Laid> = (0..4).map(|_| Laid::empty(FORMS[1], 3)).collect();
        let start = |message: Partitioned| {
            message.start().unwrap();
            message
        };
        let sends: Vec<Partitioned> = sent
            .iter()
            .map(|laid| world.init_partitioned_send(laid.origin(), 3, other, 0).unwrap())
            .collect();
        let receives: Vec<Partitioned> = got
            .iter_mut()
            .map(|laid| world.init_partitioned_receive(laid.origin_mut(), 1, other, 0).unwrap())
            .collect();
        // Dropped while it is under way, it goes on.
        for send in sends.into_iter().rev().map(start) {
            send.ready(&[2, 0, 1]).unwrap();
        }
        for receive in receives.into_iter().map(start) {
            receive.wait().unwrap();
        }
        for (k, laid) in (0..).zip(got) {
            assert_eq!(laid.get(), matrices(10 * other.0 + k, 3));
        }
        world.barrier().unwrap();
    });
}

#[test]
fn what_is_wrong_changes_nothing() {
    fn class<T: std::fmt::Debug>(result: onesided::Result<T>) -> ErrorClass {
        result.unwrap_err().class()
    }
    spmd(2, |world| {
        let out = Laid::holding(FORMS[0], &matrices(world.rank().0, 6));
        let mut into = Laid::empty(FORMS[0], 6);
        let (empty, other) = (Rank(2), Rank(1 - world.rank().0));
        assert_eq!(class(world.init_partitioned_send(out.origin(), 2, empty, 0)), ErrorClass::Rank);
        assert_eq!(class(world.init_partitioned_send(out.origin(), 2, other, -1)), ErrorClass::Tag);
        for parts in [0, 4] {
            let refused = world.init_partitioned_send(out.origin(), parts, other, 0);
            assert_eq!(class(refused), class(world.ialltoall(vec![0u8; 3])));
        }
        let (send, receive) = ring(world, &out, &mut into, (3, 3));
        let refused = [
            class(send.ready(&[0])),
            class(send.has_arrived(0)),
            class(receive.has_arrived(3)),
            {
                send.start().unwrap();
                receive.start().unwrap();
                class(send.start())
            },
            class(receive.ready(&[0])),
            class(send.ready(&[0, 3])),
            class(send.ready(&[1, 0, 1])),
        ];
        assert_eq!(refused, [ErrorClass::Arg; 7]);
        send.ready(&[0, 1, 2]).unwrap();
        assert_eq!(class(send.ready(&[1])), ErrorClass::Arg);
        receive.wait().unwrap();
        send.wait().unwrap();
        assert_eq!(send.wait().unwrap().source, Rank::NULL);
        assert_eq!(into.get(), matrices(other.0, 6));
        // Both sides learn that they have not the same bytes.
        let mut into = Laid::empty(FORMS[0], 3);
        let (send, receive) = ring(world, &out, &mut into, (3, 3));
        for message in [&send, &receive] {
            message.start().unwrap();
            assert!(matches!(message.wait(), Err(Error::Mismatch { .. })));
            message.start().unwrap();
            assert!(message.wait().is_err());
        }
    });
}

/// Of one that is under way, of one whose partitions are missing, and of one that no rank meets.
#[test]
fn those_of_a_dead_rank_end() {
    without_rank_1(3, |world| {
        let out = Laid::holding(FORMS[0], &matrices(world.rank().0, 4000));
        let mut into: Vec<Laid> = (0..2).map(|_| Laid::empty(FORMS[0], 4000)).collect();
        let mut made: Vec<Partitioned> = Vec::new();
        for (tag, into) in (0..).zip(&mut into) {
            let other = Rank(1 - world.rank().0.min(1));
            if world.rank().0 < 2 && (tag == 0 || world.rank() == 0) {
                made.push(world.init_partitioned_send(out.origin(), 4, other, tag).unwrap());
                let receive = world.init_partitioned_receive(into.origin_mut(), 2, other, tag);
                made.push(receive.unwrap());
            }
        }
        world.barrier().unwrap();
        for message in &made {
            message.start().unwrap();
        }
        if world.rank() == 1 {
            std::process::abort();
        }
        if let Some(send) = made.first() {
            send.ready(&[0, 2]).unwrap();
        }
        for message in &made {
            let ended = message.wait();
            assert!(matches!(ended, Err(Error::RankFailed { failed: Rank(1), .. })), "{ended:?}");
        }
    });
}
