//! Messages of elements: the blocking calls, and requests that own their buffers.

use crate::support::{for_each_size, spmd};
use onesided::{Error, LockType, Rank, Source, Tag, Window};

#[test]
fn elements_go_round() {
    for_each_size(&[1, 2, 5], |world| {
        let (me, n) = (world.rank().0, world.size());
        let (left, right) = (Rank((me + n - 1) % n), Rank((me + 1) % n));
        for len in [0usize, 1, 1000, 50_000] {
            let mine = vec![f64::from(me) + 0.5; len];
            let mut got = vec![0.0; len + 2];
            let status = world.sendrecv(&mine, (right, 4), &mut got, (left, Tag::Any)).unwrap();
            assert_eq!((status.source, status.tag, status.count::<f64>()), (left, 4, Some(len)));
            assert_eq!(got[..len], vec![f64::from(left.0) + 0.5; len]);
            assert_eq!(got[len..], [0.0; 2]);

            let receive = world.irecv(vec![0u16; len], Source::Any, 9).unwrap();
            let send = world.issend(vec![me as u16; len], right, 9).unwrap();
            let (got, status) = receive.wait().unwrap();
            assert_eq!(got, vec![left.0 as u16; len]);
            assert_eq!(status.count::<u16>(), Some(len));
            assert_eq!(send.wait().unwrap().0, vec![me as u16; len]);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn blocking_calls_and_probes() {
    spmd(2, |world| {
        if world.rank() == 0 {
            world.send(&[1u32, 2, 3], Rank(1), 5).unwrap();
            world.ssend(&[4u32], Rank(1), 6).unwrap();
            world.send(&[7u32; 3], Rank(1), 7).unwrap();
        } else {
            assert_eq!(world.probe(Source::Any, 5).unwrap().count::<u32>(), Some(3));
            assert_eq!(world.iprobe(Rank(0), 8).unwrap(), None);
            let mut into = [0u32; 3];
            world.recv(&mut into, Rank(0), Tag::Any).unwrap();
            assert_eq!(into, [1, 2, 3]);
            let status = world.recv(&mut into, Source::Any, Tag::Any).unwrap();
            assert_eq!((into, status.count::<u64>()), ([4, 2, 3], None));
            let error = world.recv(&mut into[..2], Rank(0), 7).unwrap_err();
            assert!(matches!(error, Error::Truncated { sent: 12, capacity: 8, .. }), "{error}");
            assert_eq!(into, [4, 2, 3]);
        }
        world.send(&[1u8], Rank::NULL, 0).unwrap();
        assert_eq!(world.recv(&mut [1u8], Rank::NULL, 0).unwrap().source, Rank::NULL);
        world.barrier().unwrap();
    });
}

#[test]
fn a_sendrecv_with_a_wrong_receive_sends_nothing() {
    spmd(2, |world| {
        let other = Rank(1 - world.rank().0);
        let into = &mut [0u8; 4];
        let error = world.sendrecv(&[1u8], (other, 3), into, (Rank(9), 3)).unwrap_err();
        assert!(matches!(error, Error::Peer { .. }), "{error}");
        let error = world.sendrecv(&[1u8], (other, 3), into, (other, -5)).unwrap_err();
        assert!(matches!(error, Error::Tag { .. }), "{error}");
        world.barrier().unwrap();
        assert_eq!(world.iprobe(Source::Any, Tag::Any).unwrap(), None);
        // The other rank does not send before this one has looked.
        world.barrier().unwrap();
        // A long message here, a short one there, and one that is too long for its buffer.
        let (from, mut long) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        let (from, into) = match world.rank().0 {
            0 => (&from[..2], &mut long[..]),
            _ => (&from[..], &mut into[..2]),
        };
        let length = into.len();
        let status = world.sendrecv(from, (other, 3), into, (other, 3)).unwrap();
        assert_eq!((status.bytes, &*into), (length as u64, &vec![7; length][..]));
        let cut = world.sendrecv(&[1u8, 2], (other, 4), &mut into[..1], (other, 4)).unwrap_err();
        assert!(matches!(cut, Error::Truncated { sent: 2, capacity: 1, .. }), "{cut}");
        assert_eq!(into[0], 7);
        world.barrier().unwrap();
    });
}

#[test]
fn a_request_that_is_dropped_leaves_its_message_to_others() {
    spmd(2, |world| {
        if world.rank() == 0 {
            drop(world.irecv(vec![0u8; 8], Rank(1), 0).unwrap());
            world.barrier().unwrap();
            let mut into = [0u8; 8];
            assert_eq!(world.recv(&mut into, Rank(1), 0).unwrap().bytes, 8);
            assert_eq!(into, [3; 8]);
            let mut long = vec![0u64; 100_000];
            world.recv(&mut long, Rank(1), 1).unwrap();
            assert!(long.iter().all(|element| *element == 9));
        } else {
            world.barrier().unwrap();
            world.send(&[3u8; 8], Rank(0), 0).unwrap();
            drop(world.isend(vec![9u64; 100_000], Rank(0), 1).unwrap());
        }
        world.barrier().unwrap();
    });
}

/// A call that waits for the other rank.
type Elsewhere<'a> = &'a dyn Fn(&mut Window<u64>);

/// MPI-2.2 §3.5, progress: a send whose receive has been posted completes, whatever the receiver
/// waits for next.
#[test]
fn a_rank_that_waits_for_something_else_receives() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let wait_elsewhere: [Elsewhere<'_>; 5] = [
            &|_| world.barrier().unwrap(),
            &|window| drop(window.fence().unwrap().close()),
            &|_| drop(world.allreduce(&[1u8], onesided::Op::Sum).unwrap()),
            &|_| drop(world.dup().unwrap()),
            &|_| drop(world.create_group(&world.group(), 0).unwrap()),
        ];
        for elsewhere in wait_elsewhere {
            for len in [1, 200_000] {
                if world.rank() == 0 {
                    let receive = world.irecv(vec![0u8; len], Rank(1), 0).unwrap();
                    elsewhere(&mut window);
                    assert_eq!(receive.wait().unwrap().0, vec![8; len]);
                } else {
                    world.ssend(&vec![8u8; len], Rank(0), 0).unwrap();
                    elsewhere(&mut window);
                }
            }
        }
        // Rank 1 has the lock until its message has been received.
        for len in [1, 200_000] {
            if world.rank() == 0 {
                let receive = world.irecv(vec![0u8; len], Rank(1), 0).unwrap();
                world.recv::<u8>(&mut [], Rank(1), 1).unwrap();
                let lock = window.lock(LockType::Exclusive, Rank(0)).unwrap();
                lock.unlock().unwrap();
                receive.wait().unwrap();
            } else {
                let lock = window.lock(LockType::Exclusive, Rank(0)).unwrap();
                world.send::<u8>(&[], Rank(0), 1).unwrap();
                world.ssend(&vec![8u8; len], Rank(0), 0).unwrap();
                lock.unlock().unwrap();
            }
            world.barrier().unwrap();
        }
        window.free().unwrap();
    });
}
