//! Several collectives under way, waited for in another order, beside messages, and by several threads.

use crate::support::{for_each_size, spmd};
use crate::untyped::SIZES;
use crate::untyped::matrices::{FORMS, Laid, matrices, product_of};
use onesided::engine::{Channel, CollectiveRequest, SendMode};
use onesided::{Comm, Op, Rank, Result, Window};

/// Lengths of those under way: short, and long enough to be fetched and cut.
const LENGTHS: [usize; 3] = [3, 700, 40];

#[test]
fn those_under_way_complete_in_any_order() {
    for_each_size(&SIZES, |world| {
        let (me, ranks) = (world.rank().0, world.size());
        let mut reduced: Vec<(Laid, CollectiveRequest)> = Vec::new();
        let mut cast = Vec::new();
        for (k, count) in LENGTHS.into_iter().cycle().take(30).enumerate() {
            let form = FORMS[k % 4];
            let mut result = Laid::holding(form, &matrices(me, count));
            let into = result.origin_mut();
            let request = world.start_allreduce(None, into, form.product()).unwrap();
            reduced.push((result, request));
            let root = k as u32 % ranks;
            let given = matrices(if me == root { root } else { 77 }, count);
            let mut buffer = Laid::holding(form, &given);
            let request = world.start_broadcast(buffer.origin_mut(), Rank(root)).unwrap();
            cast.push((root, buffer, request));
        }
        let barrier = world.start_barrier().unwrap();
        // Every rank in an order of its own.
        while !reduced.is_empty() {
            let (result, request) = reduced.swap_remove((me as usize * 7 + 3) % reduced.len());
            request.wait().unwrap();
            let result = result.get();
            assert_eq!(result, product_of(ranks, result.len()));
        }
        barrier.wait().unwrap();
        while let Some((root, buffer, request)) = cast.pop() {
            request.wait().unwrap();
            let buffer = buffer.get();
            assert_eq!(buffer, matrices(root, buffer.len()));
        }
    });
}

#[test]
fn a_request_is_asked_until_it_is_complete() {
    spmd(3, |world| {
        if world.rank() == 1 {
            receive(world, 0).unwrap();
        }
        let barrier = world.start_barrier().unwrap();
        assert!(format!("{barrier:?}").contains("barrier"));
        if world.rank() == 0 {
            // Rank 1 does not come before it hears from this one.
            assert!(!barrier.is_complete() && barrier.take().is_none());
            send(world, 1).unwrap();
        }
        world.progress_until(|| barrier.is_complete()).unwrap();
        barrier.take().expect("complete").unwrap();
        assert!(barrier.take().is_none(), "an outcome is given once");
        assert!(barrier.wait().is_err());
    });
}

fn send(world: &Comm, to: u32) -> Result<()> {
    let word = Laid::holding(FORMS[0], &matrices(0, 1));
    let (channel, mode) = (Channel::Program, SendMode::Standard);
    world.start_send(channel, mode, word.origin(), Rank(to), 4)?.wait().map(drop)
}

fn receive(world: &Comm, from: u32) -> Result<()> {
    let mut word = Laid::empty(FORMS[1], 1);
    let into = word.origin_mut();
    world.start_receive(Channel::Program, into, Some(Rank(from)), Some(4))?.wait()?;
    assert_eq!(word.get(), matrices(0, 1));
    Ok(())
}

/// Rank 0 has a part in the collective of the others; it is in a receive, and they send only when
/// theirs is complete (MPI-4.1 §6.12, progress).
#[test]
fn a_rank_in_a_receive_takes_collectives_further() {
    for_each_size(&[2, 5, 8], |world| {
        let mut result = Laid::holding(FORMS[2], &matrices(world.rank().0, 20));
        let into = result.origin_mut();
        let request = world.start_allreduce(None, into, FORMS[2].product()).unwrap();
        if world.rank() == 0 {
            (1..world.size()).for_each(|rank| receive(world, rank).unwrap());
            request.wait().unwrap();
        } else {
            request.wait().unwrap();
            send(world, 0).unwrap();
        }
        assert_eq!(result.get(), product_of(world.size(), 20));
    });
}

/// Rank 0 has a part in the collective of the others too while it waits for a fence, to which they come
/// only when theirs is complete.
#[test]
fn a_rank_in_a_fence_takes_collectives_further() {
    for_each_size(&[2, 5], |world| {
        let mut window = Window::<u8>::allocate(world, 1).unwrap();
        let request = world.iallreduce(vec![world.rank().0; 9], Op::Max).unwrap();
        let rest = if world.rank() == 0 { Some(request) } else { check(request, world) };
        window.fence().unwrap().close().unwrap();
        rest.map(|request| check(request, world));
        window.free().unwrap();
    });
}

type Maxima = CollectiveRequest<Vec<u32>>;

fn check(request: Maxima, world: &Comm) -> Option<Maxima> {
    assert_eq!(request.wait().unwrap(), vec![world.size() - 1; 9]);
    None
}

#[test]
fn a_dropped_request_goes_on() {
    spmd(5, |world| {
        for _ in 0..10 {
            // Rank 0 is in the middle of the reduction, and does not want to know about it.
            let request = world.iallreduce(vec![world.rank().0; 5000], Op::Sum).unwrap();
            match world.rank().0 {
                0 => drop(request),
                _ => assert_eq!(request.wait().unwrap(), vec![10; 5000]),
            }
        }
        world.ibarrier().unwrap().wait().unwrap();
    });
}

/// A rank that leaves the job with a collective under way leaves it as it is.
#[test]
fn a_rank_leaves_with_a_request_under_way() {
    spmd(2, |world| {
        if world.rank() == 0 {
            let _ = world.ibarrier().unwrap();
            let request = world.iallreduce(vec![1u64; 3], Op::Sum).unwrap();
            assert!(!request.is_complete());
        }
    });
}

#[test]
fn threads_have_collectives_of_their_own() {
    spmd(3, |world| {
        let comms: Vec<Comm> = (0..3).map(|_| world.dup().unwrap()).collect();
        std::thread::scope(|scope| {
            for comm in &comms {
                scope.spawn(|| {
                    for round in 0..300u64 {
                        let mine = vec![u64::from(comm.rank()) + round; 3];
                        let first = comm.iallreduce(mine.clone(), Op::Sum).unwrap();
                        let second = comm.iscan(mine, Op::Max).unwrap();
                        let expected = u64::from(comm.rank()) + round;
                        assert_eq!(second.wait().unwrap(), [expected; 3]);
                        assert_eq!(first.wait().unwrap(), [3 + 3 * round; 3]);
                    }
                });
            }
        });
        for comm in comms {
            comm.free().unwrap();
        }
    });
}

/// One thread waits for a request while another takes it further.
#[test]
fn a_thread_waits_while_others_look() {
    spmd(2, |world| {
        for _ in 0..100 {
            let requests: Vec<_> =
                (0..4u64).map(|k| world.iallreduce(vec![k; 2000], Op::Sum).unwrap()).collect();
            std::thread::scope(|scope| {
                for (k, request) in (0..).zip(requests) {
                    scope.spawn(move || assert_eq!(request.wait().unwrap(), vec![2 * k; 2000]));
                }
            });
        }
    });
}
