//! Collectives that move, in all layouts, from and to all roots, in place and not.

use crate::support::for_each_size;
use crate::untyped::SIZES;
use crate::untyped::matrices::{COUNTS, FORMS, Form, Laid, Matrix, matrices, matrix, starts};
use onesided::{Access, Comm, Op, Rank, Window};

/// Two forms, others for every rank and case.
fn forms(comm: &Comm, case: usize) -> (Form, Form) {
    let number = comm.rank().index() + case;
    (FORMS[number % 4], FORMS[(number / 4 + number) % 4])
}

/// What each rank gives where lengths differ; rank 1 gives nothing.
fn uneven(ranks: u32, count: usize) -> Vec<usize> {
    (0..ranks as usize).map(|rank| if rank == 1 { 0 } else { count / (rank + 1) + rank }).collect()
}

/// The contributions of all ranks, one behind the other.
fn all_of(counts: &[usize]) -> Vec<Matrix> {
    (0..).zip(counts).flat_map(|(rank, count)| matrices(rank, *count)).collect()
}

/// Equal and unequal lengths.
fn lengths(comm: &Comm, count: usize) -> [Vec<usize>; 2] {
    [vec![count; comm.ranks().len()], uneven(comm.size(), count)]
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for_each_size(&SIZES, |world| {
        let mut come = Window::<u32>::allocate(world, 1).unwrap();
        for round in 1..=20 {
            let all = come.lock_all().unwrap();
            let (mut before, mut come_so_far) = (0, 0);
            all.fetch_and_op(&1, &mut before, Op::Sum, Rank(0), 0).unwrap();
            all.flush(Rank(0)).unwrap();
            world.start_barrier().unwrap().wait().unwrap();
            all.fetch_and_op(&0, &mut come_so_far, Op::NoOp, Rank(0), 0).unwrap();
            all.unlock_all().unwrap();
            assert!(come_so_far >= round * world.size(), "{come_so_far} in {round}");
            world.start_barrier().unwrap().wait().unwrap();
        }
        come.free().unwrap();
    });
}

#[test]
fn a_broadcast_reaches_all() {
    for_each_size(&[1, 2, 3, 5, 8, 19], |world| {
        for (case, count) in COUNTS.into_iter().enumerate() {
            for root in 0..world.size() {
                let given = matrices(if world.rank().0 == root { root } else { 99 }, count);
                let mut laid = Laid::holding(forms(world, case).0, &given);
                let request = world.start_broadcast(laid.origin_mut(), Rank(root)).unwrap();
                request.wait().unwrap();
                assert_eq!(laid.get(), matrices(root, count));
            }
        }
    });
}

#[test]
fn what_is_gathered_is_at_the_root() {
    for_each_size(&SIZES, |world| {
        let me = world.rank().0;
        for (case, count) in COUNTS.into_iter().enumerate() {
            for counts in lengths(world, count) {
                for (root, in_place) in (0..world.size()).flat_map(|k| [(k, false), (k, true)]) {
                    let (own, at_root) = forms(world, case);
                    let own_count = counts[me as usize];
                    let mine = Laid::holding(own, &matrices(me, own_count));
                    let mut all = Laid::empty(at_root, counts.iter().sum());
                    let in_place = in_place && me == root;
                    if in_place {
                        let start = starts(&counts).nth(me as usize).unwrap();
                        all.put(start, &matrices(me, own_count));
                    }
                    let given = (!in_place).then(|| mine.origin());
                    let parts = (me == root).then(|| all.parts_mut(&counts));
                    let request = world.start_gatherv(given, parts.as_deref(), Rank(root)).unwrap();
                    request.wait().unwrap();
                    if me == root {
                        assert_eq!(all.get(), all_of(&counts));
                    }
                }
            }
        }
    });
}

#[test]
fn what_is_scattered_is_everywhere() {
    for_each_size(&SIZES, |world| {
        let me = world.rank().0;
        for (case, count) in COUNTS.into_iter().enumerate() {
            for counts in lengths(world, count) {
                for (root, in_place) in (0..world.size()).flat_map(|k| [(k, false), (k, true)]) {
                    let (own, at_root) = forms(world, case);
                    let all = Laid::holding(at_root, &all_of(&counts));
                    let mut mine = Laid::empty(own, counts[me as usize]);
                    let in_place = in_place && me == root;
                    let parts = (me == root).then(|| all.parts(&counts));
                    let given = (!in_place).then(|| mine.origin_mut());
                    let request =
                        world.start_scatterv(parts.as_deref(), given, Rank(root)).unwrap();
                    request.wait().unwrap();
                    if !in_place {
                        assert_eq!(mine.get(), matrices(me, counts[me as usize]));
                    }
                }
            }
        }
    });
}

#[test]
fn what_is_gathered_by_all_is_everywhere() {
    for_each_size(&SIZES, |world| {
        let me = world.rank().0;
        for (case, count) in COUNTS.into_iter().enumerate() {
            for (counts, in_place) in lengths(world, count).into_iter().zip([false, true]) {
                let (own, whole) = forms(world, case);
                let given = matrices(me, counts[me as usize]);
                let (mine, mut all) =
                    (Laid::holding(own, &given), Laid::empty(whole, counts.iter().sum()));
                if in_place {
                    all.put(starts(&counts).nth(me as usize).unwrap(), &given);
                }
                let mine = (!in_place).then(|| mine.origin());
                let request = world.start_allgatherv(mine, &all.parts_mut(&counts)).unwrap();
                request.wait().unwrap();
                assert_eq!(all.get(), all_of(&counts));
            }
        }
    });
}

/// What rank `from` has for rank `to`.
fn letter(from: u32, to: u32, count: usize) -> Vec<Matrix> {
    (0..count).map(|i| matrix(from * 100 + to, i)).collect()
}

#[test]
fn all_to_all() {
    for_each_size(&SIZES, |world| {
        let (me, ranks) = (world.rank().0, world.size());
        for (case, count) in COUNTS.into_iter().enumerate() {
            for in_place in [false, true] {
                // Its length is the sum of both ranks, so equal in both directions.
                let length = |other: u32| count / ((me + other) as usize % 3 + 1);
                let counts: Vec<usize> = (0..ranks).map(length).collect();
                let sent: Vec<Matrix> =
                    (0..ranks).flat_map(|to| letter(me, to, length(to))).collect();
                let (out, back) = forms(world, case);
                let outgoing = Laid::holding(out, &sent);
                let mut incoming = match in_place {
                    true => Laid::holding(back, &sent),
                    false => Laid::empty(back, counts.iter().sum()),
                };
                let given = (!in_place).then(|| outgoing.parts(&counts));
                let parts = incoming.parts_mut(&counts);
                world.start_alltoallv(given.as_deref(), &parts).unwrap().wait().unwrap();
                let expected: Vec<Matrix> =
                    (0..ranks).flat_map(|from| letter(from, me, length(from))).collect();
                assert_eq!(incoming.get(), expected);
            }
        }
    });
}

#[test]
fn neighbours_of_a_ring_exchange() {
    for_each_size(&SIZES, |world| {
        let (me, ranks) = (world.rank().0, world.size());
        let (left, right) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
        for (case, count) in COUNTS.into_iter().enumerate() {
            let (out, back) = forms(world, case);
            let sent = Laid::holding(out, &letter(me, 0, 2 * count));
            let mut received = Laid::empty(back, 2 * count);
            // What goes to the right is received from the left; so it is first on both sides.
            let outgoing = [
                (Rank(right), sent.part(count, count)),
                (Rank::NULL, sent.part(0, count)),
                (Rank(left), sent.part(0, count)),
            ];
            let incoming = [
                (Rank(left), received.part_mut(0, count)),
                (Rank(right), received.part_mut(count, count)),
                (Rank::NULL, received.part_mut(0, count)),
            ];
            world.start_neighbours(&outgoing, &incoming).unwrap().wait().unwrap();
            let mut expected = letter(left, 0, 2 * count).split_off(count);
            expected.extend(&letter(right, 0, 2 * count)[..count]);
            assert_eq!(received.get(), expected);
        }
    });
}
