//! Messages of every length and layout, and those that do not fit.

use crate::support::{launch, needs_rmarun, spmd, universe};
use crate::tools::{PROGRAM, bytes_of, irecv, isend, recv, send};
use onesided::engine::{Origin, OriginMut, SendMode};
use onesided::{Datatype, DerivedDatatype, Error, Rank};

#[test]
fn every_length_arrives() {
    spmd(2, |world| {
        let around = |n: usize| [n - 1, n, n + 1];
        let lengths = [1, 16, 64, 4096, 8192, 16384, 32768, 65536, 1 << 18, 1 << 20, 4 << 20];
        for (k, len) in std::iter::once(0).chain(lengths.into_iter().flat_map(around)).enumerate() {
            for posted in [false, true] {
                if world.rank() == 0 {
                    world.barrier().unwrap();
                    send(world, &bytes_of(k, len), 1, 0);
                    continue;
                }
                if !posted {
                    world.barrier().unwrap();
                }
                let mut into = vec![0; len + 3];
                let receive = irecv(world, &mut into, Some(0), Some(0)).unwrap();
                if posted {
                    world.barrier().unwrap();
                }
                assert_eq!(receive.wait().unwrap().bytes, len as u64);
                assert_eq!(into[..len], bytes_of(k, len), "{len} bytes");
                assert_eq!(into[len..], [0; 3]);
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn layouts_go_to_layouts() {
    spmd(2, |world| {
        let every_third = DerivedDatatype::vector(4000, 1, 3, Datatype::U32).unwrap().commit();
        let backwards = DerivedDatatype::vector(2000, 2, -2, Datatype::U32).unwrap().commit();
        let numbers: Vec<u32> = (0..12_000).collect();
        for (tag, mode) in
            [SendMode::Standard, SendMode::Synchronous, SendMode::Buffered].into_iter().enumerate()
        {
            if world.rank() == 0 {
                // SAFETY: it is waited for at once.
                let origin = unsafe { Origin::new(numbers.as_ptr().cast(), 1, &every_third) };
                let sent = world.start_send(PROGRAM, mode, origin, Rank(1), tag as i32).unwrap();
                assert_eq!(sent.wait().unwrap().bytes, 16_000);
                continue;
            }
            let mut into = vec![0u32; 4000];
            let last = into[3998..].as_mut_ptr().cast();
            // SAFETY: as above; from the last two elements backwards.
            let to = unsafe { OriginMut::new(last, 1, &backwards) };
            let received =
                world.start_receive(PROGRAM, to, Some(Rank(0)), Some(tag as i32)).unwrap();
            assert_eq!(received.wait().unwrap().bytes, 16_000);
            for (k, pair) in into.chunks(2).rev().enumerate() {
                assert_eq!(pair, [6 * k as u32, 6 * k as u32 + 3]);
            }
        }
        world.barrier().unwrap();
    });
}

/// Messages of all sizes of blocks, received in another order: those that have blocks are complete before,
/// also after the blocks have been returned by a receive, a truncated receive and a dropped message.
#[test]
fn blocks_are_returned() {
    spmd(2, |world| {
        for len in [10_000, 20_000, 60_000, 100_000, 200_000, 500_000, 1 << 20] {
            for round in 0..5 {
                if world.rank() == 0 {
                    let from = [0, 1].map(|k| bytes_of(round + k, len));
                    let sends = [0, 1]
                        .map(|k| isend(world, SendMode::Standard, &from[k], 1, k as i32).unwrap());
                    assert!(sends.iter().all(|send| send.is_complete()), "{len} bytes, {round}");
                    world.barrier().unwrap();
                    world.barrier().unwrap();
                    continue;
                }
                world.barrier().unwrap();
                let second = recv(world, len, Some(0), Some(1)).0;
                assert_eq!(second, bytes_of(round + 1, len));
                match round % 3 {
                    0 => assert_eq!(recv(world, len, Some(0), Some(0)).0, bytes_of(round, len)),
                    1 => {
                        let receive = irecv(world, &mut [0u8; 9], Some(0), Some(0)).unwrap();
                        assert!(matches!(receive.wait(), Err(Error::Truncated { .. })));
                    }
                    _ => drop(world.match_message(PROGRAM, Some(Rank(0)), Some(0), true).unwrap()),
                }
                world.barrier().unwrap();
            }
        }
    });
}

/// While the blocks of a size are in use, messages stay with their sender.
#[test]
fn more_messages_than_blocks() {
    if needs_rmarun("blocks of the segment") {
        return;
    }
    spmd(2, |world| {
        const MANY: usize = 200;
        let len = |k: usize| 10_000 << (k % 3);
        if world.rank() == 0 {
            let from: Vec<_> = (0..MANY).map(|k| bytes_of(k, len(k))).collect();
            let sends: Vec<_> = (0..MANY)
                .map(|k| isend(world, SendMode::Standard, &from[k], 1, k as i32).unwrap())
                .collect();
            assert!(sends[0].is_complete() && !sends[MANY - 1].is_complete());
            world.barrier().unwrap();
            sends.iter().for_each(|send| assert!(!send.wait().unwrap().cancelled));
        } else {
            world.barrier().unwrap();
            for k in (0..MANY).rev() {
                assert_eq!(recv(world, len(k), Some(0), Some(k as i32)).0, bytes_of(k, len(k)));
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn memory_of_the_segment_is_copied_where_it_is() {
    universe(2, |universe| {
        let world = universe.world();
        let mut memory = universe.alloc_mem::<u8>(1 << 20).unwrap();
        if world.rank() == 0 {
            memory.copy_from_slice(&bytes_of(4, 1 << 20));
            send(world, &memory, 1, 0);
        } else {
            let receive = irecv(world, &mut memory, Some(0), None).unwrap();
            receive.wait().unwrap();
            assert_eq!(memory[..], bytes_of(4, 1 << 20));
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_message_that_does_not_fit_is_received_and_leaves_the_buffer_alone() {
    spmd(2, |world| {
        for (sent, space) in [(1, 0), (100, 99), (100_000, 8), (1 << 20, 1 << 19)] {
            for posted in [false, true] {
                if world.rank() == 0 {
                    world.barrier().unwrap();
                    let ssend =
                        isend(world, SendMode::Synchronous, &bytes_of(0, sent), 1, 6).unwrap();
                    ssend.wait().unwrap();
                    send(world, &[1, 2, 3], 1, 6);
                    continue;
                }
                let mut into = vec![0xaa; space];
                let mut receive = None;
                if posted {
                    receive = Some(irecv(world, &mut into, None, Some(6)).unwrap());
                }
                world.barrier().unwrap();
                if !posted {
                    world.probe_message(PROGRAM, None, Some(6), true).unwrap();
                }
                let receive =
                    receive.unwrap_or_else(|| irecv(world, &mut into, None, Some(6)).unwrap());
                match receive.wait().unwrap_err() {
                    Error::Truncated {
                        from: Rank(0), tag: 6, sent: found, capacity: had, ..
                    } => {
                        assert_eq!((found, had), (sent as u64, space as u64));
                    }
                    other => panic!("{other}"),
                }
                drop(receive);
                assert!(into.iter().all(|byte| *byte == 0xaa));
                assert_eq!(recv(world, 3, Some(0), Some(6)).0, [1, 2, 3]);
            }
        }
        // To oneself.
        let mut into = [0u8; 2];
        let receive = irecv(world, &mut into, Some(world.rank().0), None).unwrap();
        send(world, &[1, 2, 3], world.rank().0, 0);
        assert!(matches!(receive.wait(), Err(Error::Truncated { sent: 3, capacity: 2, .. })));
        send(world, &[1, 2, 3], world.rank().0, 0);
        let receive = irecv(world, &mut into, Some(world.rank().0), None).unwrap();
        assert!(matches!(receive.take(), Some(Err(Error::Truncated { .. }))));
        assert_eq!(into, [0, 0]);
        world.barrier().unwrap();
    });
}

#[test]
fn many_long_messages_at_once() {
    spmd(3, |world| {
        let (me, n) = (world.rank().0, world.size());
        const LEN: usize = 300_000;
        const EACH: usize = 10;
        let from: Vec<_> = (0..EACH).map(|k| bytes_of(k + 100 * me as usize, LEN)).collect();
        let mut into = vec![vec![vec![0u8; LEN]; EACH]; n as usize];
        let sends: Vec<_> = (0..EACH * n as usize)
            .map(|k| {
                let to = (k % n as usize) as u32;
                isend(world, SendMode::Standard, &from[k / n as usize], to, 1).unwrap()
            })
            .collect();
        for (source, into) in into.iter_mut().enumerate() {
            for into in into {
                irecv(world, into, Some(source as u32), None).unwrap().wait().unwrap();
            }
        }
        sends.iter().for_each(|send| assert!(!send.wait().unwrap().cancelled));
        for (source, into) in into.iter().enumerate() {
            for (k, into) in into.iter().enumerate() {
                assert_eq!(*into, bytes_of(k + 100 * source, LEN));
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn a_segment_that_is_full_says_so() {
    let outcome = launch(2, &["--segment-size=2M"], |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            let message = bytes_of(0, 8000);
            let mut sent = 0;
            let error = loop {
                match isend(world, SendMode::Standard, &message, 1, 0) {
                    Ok(_) => sent += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, Error::NoMemory { .. }) && sent > 50, "{sent}: {error}");
            world.broadcast(&mut [sent], Rank(0)).unwrap();
        } else {
            let mut sent = [0];
            world.broadcast(&mut sent, Rank(0)).unwrap();
            (0..sent[0])
                .for_each(|_| assert_eq!(recv(world, 8000, Some(0), None).0, bytes_of(0, 8000)));
        }
        world.barrier().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}
