//! Which message goes to which receive: order, wildcards, probes, modes, cancelling.

use crate::support::{for_each_size, spmd};
use crate::tools::{PROGRAM, bytes_of, irecv, isend, recv, send};
use onesided::engine::{Channel, Origin, OriginMut, SendMode};
use onesided::{Comm, Datatype, ErrorClass, Rank};

const MODES: [SendMode; 4] =
    [SendMode::Standard, SendMode::Synchronous, SendMode::Ready, SendMode::Buffered];

#[test]
fn messages_of_a_pair_do_not_overtake_each_other() {
    for_each_size(&[2, 5], |world| {
        let (me, n) = (world.rank().0, world.size());
        const EACH: usize = 400;
        if me == 0 {
            let mut next = vec![0; n as usize];
            for _ in 0..EACH * (n as usize - 1) {
                let (got, status) = recv(world, 20_000, None, Some(3));
                let from = status.source.index();
                let len = next[from] * 47 % 12_000;
                assert_eq!(got, bytes_of(next[from], len), "message {} of {from}", next[from]);
                next[from] += 1;
            }
            assert!(next[1..].iter().all(|count| *count == EACH));
        } else {
            (0..EACH).for_each(|k| send(world, &bytes_of(k, k * 47 % 12_000), 0, 3));
        }
        world.barrier().unwrap();
    });
}

#[test]
fn wildcards_take_what_came_first() {
    spmd(2, |world| {
        if world.rank() == 0 {
            (0..6).for_each(|k| send(world, &[k], 1, i32::from(k % 3)));
            world.barrier().unwrap();
            return world.barrier().unwrap();
        }
        world.barrier().unwrap();
        let mut got = Vec::new();
        let mut take = |tag| {
            let (bytes, status) = recv(world, 4, None, tag);
            assert_eq!((status.source, status.bytes), (Rank(0), 1));
            assert_eq!(status.tag, i32::from(bytes[0] % 3));
            got.push(bytes[0]);
        };
        [Some(2), None, None, Some(1), None, Some(2)].into_iter().for_each(&mut take);
        assert_eq!(got, [2, 0, 1, 4, 3, 5]);
        world.barrier().unwrap();
    });
}

#[test]
fn receives_are_served_in_the_order_of_posting() {
    spmd(2, |world| {
        let mut buffers = [[0u8; 1]; 6];
        if world.rank() == 0 {
            let asks = [
                (None, Some(1)),
                (Some(1), None),
                (None, None),
                (Some(1), Some(1)),
                (None, Some(0)),
                (None, None),
            ];
            let post =
                |(buffer, (source, tag)): (&mut [u8; 1], _)| irecv(world, buffer, source, tag);
            let requests: Vec<_> = buffers.iter_mut().zip(asks).map(|x| post(x).unwrap()).collect();
            world.barrier().unwrap();
            requests.iter().for_each(|request| assert!(!request.wait().unwrap().cancelled));
            assert_eq!(buffers.concat(), [1, 0, 2, 3, 4, 5]);
        } else {
            world.barrier().unwrap();
            // Tags 0, 1, 0, 1, 0, 0; the numbers are those of the receives that must take them.
            for (number, tag) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (5, 0)] {
                send(world, &[number], 0, tag);
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_hundred_thousand_messages_wait_for_their_receives() {
    spmd(2, |world| {
        const MANY: u32 = 100_000;
        if world.rank() == 0 {
            (0..MANY).for_each(|k| send(world, &k.to_le_bytes(), 1, (k % 1000) as i32));
            world.barrier().unwrap();
        } else {
            world.barrier().unwrap();
            // Backwards by tag: each is looked for behind all others.
            for tag in (0..1000).rev() {
                for round in 0..MANY / 1000 {
                    let (got, _) = recv(world, 4, Some(0), Some(tag));
                    assert_eq!(got, (round * 1000 + tag as u32).to_le_bytes());
                }
            }
            let none = world.probe_message(PROGRAM, None, None, false).unwrap();
            assert!(none.is_none(), "{none:?}");
        }
        world.barrier().unwrap();
    });
}

#[test]
fn both_ways_at_once_and_to_all() {
    for_each_size(&[1, 2, 6], |world| {
        let (me, n) = (world.rank().0, world.size());
        for (round, len) in [0, 1, 8, 100, 5000, 70_000].into_iter().enumerate() {
            let mut into = vec![vec![0u8; len]; n as usize];
            let receives: Vec<_> = (0..n)
                .zip(&mut into)
                .map(|(from, into)| irecv(world, into, Some(from), Some(round as i32)).unwrap())
                .collect();
            let from: Vec<_> = (0..n).map(|to| bytes_of((me * n + to) as usize, len)).collect();
            let sends: Vec<_> = (0..n)
                .zip(&from)
                .map(|(to, from)| {
                    let mode = MODES[(to as usize + round) % 2];
                    isend(world, mode, from, to, round as i32).unwrap()
                })
                .collect();
            let status = |request: &onesided::engine::MessageRequest| request.wait().unwrap();
            for (source, receive) in receives.iter().enumerate() {
                let got = status(receive);
                assert_eq!((got.source, got.bytes), (Rank(source as u32), len as u64));
            }
            sends.iter().for_each(|send| assert!(!status(send).cancelled));
            for (source, into) in into.iter().enumerate() {
                assert_eq!(*into, bytes_of(source * n as usize + me as usize, len));
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_message_to_oneself() {
    spmd(1, |world| {
        for mode in MODES {
            for len in [0, 5, 100_000] {
                let from = bytes_of(len, len);
                let first = isend(world, mode, &from, 0, 7).unwrap();
                assert_eq!(first.is_complete(), mode != SendMode::Synchronous, "{mode:?}");
                let (got, status) = recv(world, len, Some(0), None);
                assert_eq!((got, status.tag), (from.clone(), 7));
                first.wait().unwrap();

                let mut into = vec![0; len];
                let receive = irecv(world, &mut into, None, Some(8)).unwrap();
                assert!(!receive.is_complete());
                let second = isend(world, mode, &from, 0, 8).unwrap();
                assert!(second.is_complete() && receive.is_complete());
                assert_eq!(receive.wait().unwrap().bytes, len as u64);
                assert_eq!(into, from);
            }
        }
    });
}

#[test]
fn modes_complete_when_they_should() {
    spmd(2, |world| {
        for len in [8, 200_000] {
            let from = bytes_of(1, len);
            if world.rank() == 0 {
                let ssend = isend(world, SendMode::Synchronous, &from, 1, 0).unwrap();
                let bsend = isend(world, SendMode::Buffered, &from, 1, 1).unwrap();
                assert!(bsend.is_complete() && !ssend.is_complete());
                world.barrier().unwrap();
                assert!(!ssend.is_complete(), "nobody has posted its receive");
                world.barrier().unwrap();
                assert_eq!(ssend.wait().unwrap().bytes, len as u64);
                assert!(ssend.take().is_none() && ssend.wait().unwrap().source == Rank::NULL);
            } else {
                assert_eq!(recv(world, len, Some(0), Some(1)).0, from);
                world.barrier().unwrap();
                world.barrier().unwrap();
                assert_eq!(recv(world, len, Some(0), Some(0)).0, from);
            }
            world.barrier().unwrap();
        }
    });
}

#[test]
fn probes_find_and_take() {
    spmd(2, |world| {
        if world.rank() == 0 {
            for len in [3, 50_000] {
                isend(world, SendMode::Buffered, &bytes_of(len, len), 1, len as i32).unwrap();
            }
            let long = bytes_of(9, 90_000);
            let ssend = isend(world, SendMode::Synchronous, &long, 1, 9).unwrap();
            ssend.wait().unwrap();
            return world.barrier().unwrap();
        }
        let probe = |tag, blocking| world.probe_message(PROGRAM, None, tag, blocking).unwrap();
        let found = probe(Some(9), true).unwrap();
        assert_eq!((found.source, found.tag, found.bytes), (Rank(0), 9, 90_000));
        assert_eq!(probe(None, false).map(|found| found.tag), Some(3));
        assert!(probe(Some(4), false).is_none());

        let (message, status) =
            world.match_message(PROGRAM, Some(Rank(0)), Some(3), true).unwrap().unwrap();
        assert_eq!(status.bytes, 3);
        assert_eq!(probe(None, false).map(|found| found.tag), Some(50_000), "taken");
        let mut into = [0u8; 3];
        // SAFETY: it is waited for at once.
        let origin = unsafe { OriginMut::new(into.as_mut_ptr(), 3, Datatype::U8) };
        assert_eq!(message.start_receive(origin).unwrap().wait().unwrap().tag, 3);
        assert_eq!(into[..], bytes_of(3, 3));

        assert_eq!(recv(world, 50_000, None, None).0, bytes_of(50_000, 50_000));
        assert_eq!(recv(world, 90_000, None, None).0, bytes_of(9, 90_000));
        assert!(world.match_message(PROGRAM, None, None, false).unwrap().is_none());
        world.barrier().unwrap();
    });
}

#[test]
fn a_receive_can_be_cancelled_and_a_send_cannot() {
    spmd(2, |world| {
        if world.rank() == 0 {
            let (mut first, mut second) = ([0u8; 1], [0u8; 1]);
            let cancelled = irecv(world, &mut first, Some(1), Some(0)).unwrap();
            let retained = irecv(world, &mut second, Some(1), Some(0)).unwrap();
            cancelled.cancel();
            assert!(cancelled.is_complete() && cancelled.wait().unwrap().cancelled);
            world.barrier().unwrap();
            assert!(!retained.wait().unwrap().cancelled);
            assert_eq!((first, second), ([0], [5]));
        } else {
            world.barrier().unwrap();
            let sent = isend(world, SendMode::Standard, &[5], 0, 0).unwrap();
            sent.cancel();
            assert!(!sent.wait().unwrap().cancelled);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn channels_and_communicators_do_not_meet() {
    spmd(2, |world| {
        let mut others = vec![world.dup().unwrap(), world.dup().unwrap()];
        let channels = [Channel::Program, Channel::Collective];
        let check = |comms: &[Comm]| {
            let all = || comms.iter().flat_map(|comm| channels.map(|channel| (comm, channel)));
            if world.rank() == 0 {
                for (k, (comm, channel)) in all().enumerate() {
                    // SAFETY: it is complete at once.
                    let origin = unsafe { Origin::new([k as u8].as_ptr(), 1, Datatype::U8) };
                    comm.start_send(channel, SendMode::Buffered, origin, Rank(1), 0).unwrap();
                }
            } else {
                for (k, (comm, channel)) in all().enumerate().collect::<Vec<_>>().into_iter().rev()
                {
                    let mut into = [0u8; 1];
                    // SAFETY: it is waited for at once.
                    let to = unsafe { OriginMut::new(into.as_mut_ptr(), 1, Datatype::U8) };
                    comm.start_receive(channel, to, None, None).unwrap().wait().unwrap();
                    assert_eq!(into, [k as u8]);
                }
            }
            world.barrier().unwrap();
        };
        check(&[std::slice::from_ref(world), &others[..]].concat());
        // A message that no rank has received, and the next communicator at the same place.
        let freed = others.pop().unwrap();
        if world.rank() == 0 {
            isend(&freed, SendMode::Standard, &[9], 1, 0).unwrap();
        }
        freed.free().unwrap();
        others.push(world.dup().unwrap());
        check(&others);
    });
}

#[test]
fn what_is_wrong_with_arguments_is_said() {
    spmd(2, |world| {
        let class = |result: onesided::Result<_>| match result {
            Err(error) => error.class(),
            Ok::<onesided::engine::MessageRequest, _>(_) => panic!("not refused"),
        };
        assert_eq!(class(isend(world, SendMode::Standard, &[], 2, 0)), ErrorClass::Rank);
        assert_eq!(class(isend(world, SendMode::Standard, &[], 0, -1)), ErrorClass::Tag);
        assert_eq!(class(irecv(world, &mut [], Some(9), None)), ErrorClass::Rank);
        assert_eq!(class(irecv(world, &mut [], None, Some(i32::MIN))), ErrorClass::Tag);
        let null = Rank::NULL.0;
        let status = irecv(world, &mut [1], Some(null), None).unwrap().wait().unwrap();
        assert_eq!((status.source, status.bytes), (Rank::NULL, 0));
        isend(world, SendMode::Synchronous, &[1], null, 0).unwrap().wait().unwrap();
        let found = world.probe_message(PROGRAM, Some(Rank::NULL), None, true).unwrap().unwrap();
        assert_eq!(found.source, Rank::NULL);
    });
}
