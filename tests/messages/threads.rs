//! `MPI_THREAD_MULTIPLE`: any thread sends, receives and probes.

use crate::support::spmd;
use crate::tools::{PROGRAM, bytes_of, irecv, isend, recv, send};
use onesided::Datatype;
use onesided::engine::{OriginMut, SendMode};
use std::thread;

#[test]
fn threads_receive_what_is_theirs() {
    spmd(2, |world| {
        let other = 1 - world.rank().0;
        let len = |k: usize| [3, 300, 20_000][k % 3];
        let both = move |tag| {
            for k in 0..300 {
                let from = bytes_of(k, len(k));
                // Not yet complete: the other rank's thread sends before it receives too.
                let sent = isend(world, SendMode::Standard, &from, other, tag).unwrap();
                assert_eq!(recv(world, 20_000, Some(other), Some(tag)).0, from);
                sent.wait().unwrap();
            }
        };
        let sends = move |tag| (0..300).for_each(|k| send(world, &bytes_of(k, len(k)), other, tag));
        let receives = move |tag| {
            for k in 0..300 {
                assert_eq!(recv(world, 20_000, None, Some(tag)).0, bytes_of(k, len(k)));
            }
        };
        thread::scope(|scope| {
            scope.spawn(move || both(0));
            scope.spawn(move || both(1));
            scope.spawn(move || sends(2));
            scope.spawn(move || receives(2));
        });
        world.barrier().unwrap();
    });
}

#[test]
fn threads_of_one_rank_send_to_each_other() {
    spmd(1, |world| {
        thread::scope(|scope| {
            scope.spawn(|| {
                for k in 0..1000 {
                    assert_eq!(recv(world, 100, Some(0), Some(1)).0, bytes_of(k, 50));
                    send(world, &bytes_of(k, 60), 0, 2);
                }
            });
            scope.spawn(|| {
                for k in 0..1000 {
                    send(world, &bytes_of(k, 50), 0, 1);
                    world.probe_message(PROGRAM, None, Some(2), true).unwrap();
                    assert_eq!(recv(world, 100, None, Some(2)).0, bytes_of(k, 60));
                }
            });
        });
    });
}

/// The sender may be asleep when another thread of its rank receives, matches or gives up the message.
#[test]
fn threads_of_one_rank_send_synchronously_to_each_other() {
    spmd(1, |world| {
        let len = |k: usize| [3, 20_000][k % 2];
        thread::scope(|scope| {
            scope.spawn(|| {
                for k in 0..600 {
                    let from = bytes_of(k, len(k));
                    isend(world, SendMode::Synchronous, &from, 0, 1).unwrap().wait().unwrap();
                }
            });
            scope.spawn(|| {
                for k in 0..600 {
                    if k % 3 == 0 {
                        assert_eq!(recv(world, 20_000, Some(0), Some(1)).0, bytes_of(k, len(k)));
                        continue;
                    }
                    let found = world.match_message(PROGRAM, None, Some(1), true).unwrap();
                    let (message, status) = found.unwrap();
                    assert_eq!(status.bytes, len(k) as u64);
                    if k % 3 == 1 {
                        drop(message);
                        continue;
                    }
                    let mut got = vec![0; len(k)];
                    // SAFETY: the buffer is kept until the request is complete.
                    let into = unsafe { OriginMut::new(got.as_mut_ptr(), len(k), Datatype::U8) };
                    message.start_receive(into).unwrap().wait().unwrap();
                    assert_eq!(got, bytes_of(k, len(k)));
                }
            });
        });
    });
}

#[test]
fn a_thread_waits_for_one_of_several() {
    spmd(2, |world| {
        if world.rank() == 0 {
            let mut buffers = [[0u8; 2]; 5];
            let post =
                |(tag, buffer): (usize, &mut [u8; 2])| irecv(world, buffer, None, Some(tag as i32));
            let mut requests: Vec<_> =
                buffers.iter_mut().enumerate().map(|x| Some(post(x).unwrap())).collect();
            let mut order = Vec::new();
            for _ in 0..5 {
                let mut done = None;
                let look = || {
                    done = requests.iter().flatten().position(|request| request.is_complete());
                    done.is_some()
                };
                world.progress_until(look).unwrap();
                let k = requests
                    .iter()
                    .enumerate()
                    .filter(|(_, r)| r.is_some())
                    .nth(done.unwrap())
                    .unwrap()
                    .0;
                let status = requests[k].take().unwrap().wait().unwrap();
                assert_eq!(status.tag, k as i32);
                order.push(k);
                send(world, &[], 1, 0);
            }
            assert_eq!(order, [3, 1, 4, 0, 2]);
        } else {
            for tag in [3, 1, 4, 0, 2] {
                send(world, &[1, 2], 0, tag);
                recv(world, 0, Some(0), None);
            }
        }
        world.barrier().unwrap();
    });
}
