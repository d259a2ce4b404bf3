//! What is pending on a communicator goes on when that is freed (MPI-4.1 §7.4.3).

use crate::support::{needs_rmarun, spmd};
use onesided::engine::{Channel, OriginMut};
use onesided::{Comm, Datatype, ErrorClass, Rank, Tag};

/// Fits a record, and does not.
const LENGTHS: [usize; 2] = [8, 100_000];

fn neighbours(world: &Comm) -> (Rank, Rank) {
    let (me, n) = (world.rank().0, world.size());
    (Rank((me + n - 1) % n), Rank((me + 1) % n))
}

#[test]
fn sends_and_receives_complete() {
    spmd(3, |world| {
        let (left, right) = neighbours(world);
        for length in LENGTHS {
            let comm = world.dup().unwrap();
            let receive = comm.irecv(vec![0u32; length], left, Tag::Any).unwrap();
            let send = comm.issend(vec![world.rank().0 + 1; length], right, 5).unwrap();
            comm.free().unwrap();
            // Takes the place of the other, if that were free.
            let next = world.dup().unwrap();
            next.send(&[9u32], right, 5).unwrap();
            let (got, status) = receive.wait().unwrap();
            assert_eq!((status.source, status.tag, got), (left, 5, vec![left.0 + 1; length]));
            send.wait().unwrap();
            let mut other = [0u32];
            next.recv(&mut other, left, 5).unwrap();
            assert_eq!(other, [9]);
            next.free().unwrap();
        }
    });
}

#[test]
fn a_message_in_hand_is_received() {
    spmd(2, |world| {
        let (left, right) = neighbours(world);
        for length in LENGTHS {
            let comm = world.dup().unwrap();
            let send = comm.isend(vec![world.rank().0; length], right, 5).unwrap();
            let found = comm.match_message(Channel::Program, None, None, true).unwrap();
            let (message, status) = found.expect("it has waited");
            comm.free().unwrap();
            let mut got = vec![7u32; length];
            // SAFETY: it is waited for at once.
            let into = unsafe { OriginMut::new(got.as_mut_ptr().cast(), length, Datatype::U32) };
            let received = message.start_receive(into).unwrap();
            assert_eq!(received.wait().unwrap().bytes, status.bytes);
            assert_eq!(got, vec![left.0; length]);
            send.wait().unwrap();
        }
    });
}

/// A handle for requests goes on where the program's own are refused.
#[test]
fn a_persistent_request_is_started_again() {
    spmd(2, |world| {
        let (left, right) = neighbours(world);
        let comm = world.dup().unwrap();
        let (other, retained) = (comm.clone(), comm.for_requests());
        comm.free().unwrap();
        assert_eq!(other.isend(vec![0u32], right, 5).unwrap_err().class(), ErrorClass::Comm);
        for round in 0..3 {
            let receive = retained.irecv(vec![0u32], left, 5).unwrap();
            retained.isend(vec![round], right, 5).unwrap().wait().unwrap();
            assert_eq!(receive.wait().unwrap().0, [round]);
        }
    });
}

/// Disconnecting waits for the receiver of what has been sent and dropped, and for no other rank.
#[test]
fn disconnecting_waits_for_what_has_been_sent() {
    if needs_rmarun("signals between ranks") {
        return;
    }
    spmd(3, |world| {
        let comm = world.dup().unwrap();
        match world.rank().0 {
            0 => {
                drop(comm.isend(vec![3u8; 100_000], Rank(1), 5).unwrap());
                comm.disconnect().unwrap();
                world.signal(0);
            }
            1 => {
                let mut got = vec![0u8; 100_000];
                comm.recv(&mut got, Rank(0), 5).unwrap();
                assert_eq!(got, vec![3; 100_000]);
                comm.disconnect().unwrap();
            }
            // It has nothing to wait for, and the others do not wait for it.
            _ => {
                world.await_signal(0, 1);
                comm.disconnect().unwrap();
            }
        }
    });
}
