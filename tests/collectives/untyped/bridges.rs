//! Collectives between two groups, of all layouts, at every root, also of groups so large that short
//! messages follow trees.

use crate::support::{for_each_size, spmd};
use crate::untyped::matrices::{COUNTS, FORMS, Laid, Matrix, matrices, matrix, product, starts};
use onesided::engine::{Bridge, Root};
use onesided::{Comm, Error, ErrorClass, Group, Rank};

const SIZES: [u32; 4] = [2, 3, 5, 8];

/// Two groups, of which one is larger and in another order than the communicator.
struct Sides {
    bridge: Bridge,
    side: u32,
    there: u32,
}

/// What rank `rank` of a side contributes.
fn given(side: u32, rank: u32, count: usize) -> Vec<Matrix> {
    matrices(number(side, rank), count)
}

fn number(side: u32, rank: u32) -> u32 {
    1000 * side + rank
}

impl Sides {
    fn new(world: &Comm) -> Sides {
        let few: Vec<u32> = (0..world.size()).filter(|rank| rank % 5 < 2).rev().collect();
        let (few, all) = (world.group().incl(&few).unwrap(), world.group());
        let few = if few.size() < all.size() { few } else { all.incl(&[1]).unwrap() };
        let many = all.difference(&few);
        let side = u32::from(few.rank_of_world(world.rank().0).is_none());
        let (local, remote) = if side == 0 { (&few, &many) } else { (&many, &few) };
        let bridge = Bridge::new(world, local, remote).unwrap();
        assert!(bridge.ranks().eq(local.ranks()) && bridge.remote_ranks().eq(remote.ranks()));
        Sides { there: remote.size(), bridge, side }
    }

    /// The ranks of the own side.
    fn here(&self) -> u32 {
        self.bridge.ranks().len() as u32
    }

    fn mine(&self, count: usize) -> Vec<Matrix> {
        given(self.side, self.bridge.rank().0, count)
    }

    /// Every rank of both sides as the root, and its number.
    fn each_root(&self, body: impl Fn(Root, u32)) {
        for side in 0..2 {
            let ranks = if side == self.side { self.here() } else { self.there };
            for rank in 0..ranks {
                let root = match side == self.side {
                    true if rank == self.bridge.rank().0 => Root::Here,
                    true => Root::Elsewhere,
                    false => Root::There(Rank(rank)),
                };
                body(root, number(side, rank));
            }
        }
    }

    /// The products of what the other side contributes, in its order.
    fn product(&self, count: usize) -> Vec<Matrix> {
        let of = |i| (0..self.there).map(move |rank| matrix(number(1 - self.side, rank), i));
        (0..count).map(|i| of(i).reduce(product).unwrap()).collect()
    }

    /// What the other side contributes, one behind the other.
    fn all_given(&self, counts: &[usize]) -> Vec<Matrix> {
        let parts = (0..).zip(counts);
        parts.flat_map(|(rank, count)| given(1 - self.side, rank, *count)).collect()
    }
}

/// Lengths of parts that differ from rank to rank.
fn uneven(ranks: u32, count: usize) -> Vec<usize> {
    (0..ranks as usize).map(|rank| if rank == 1 { 0 } else { count / (rank + 1) }).collect()
}

#[test]
fn a_broadcast_reaches_the_other_group() {
    for_each_size(&[2, 5, 8, 44], |world| {
        let sides = Sides::new(world);
        for (case, count) in COUNTS.into_iter().enumerate().take(3) {
            sides.each_root(|root, number| {
                let form = FORMS[(case + world.rank().index()) % 4];
                let mut laid = Laid::holding(form, &sides.mine(count));
                let buffer = (root != Root::Elsewhere).then(|| laid.origin_mut());
                sides.bridge.start_broadcast(buffer, root).unwrap().wait().unwrap();
                let came = matches!(root, Root::There(_));
                assert_eq!(
                    laid.get(),
                    if came { matrices(number, count) } else { sides.mine(count) }
                );
            });
        }
    });
}

#[test]
fn parts_are_gathered_and_scattered() {
    for_each_size(&SIZES, |world| {
        let sides = Sides::new(world);
        let me = sides.bridge.rank().index();
        for (case, count) in COUNTS.into_iter().enumerate() {
            let (form, other) = (FORMS[(case + me) % 4], FORMS[case % 4]);
            let (own, theirs) = (uneven(sides.here(), count), uneven(sides.there, count));
            sides.each_root(|root, number| {
                let mine = Laid::holding(form, &sides.mine(own[me]));
                let mut all = Laid::empty(other, theirs.iter().sum());
                let parts = (root == Root::Here).then(|| all.parts_mut(&theirs));
                let given = matches!(root, Root::There(_)).then(|| mine.origin());
                let request = sides.bridge.start_gather(given, parts.as_deref(), root);
                request.unwrap().wait().unwrap();
                if root == Root::Here {
                    assert_eq!(all.get(), sides.all_given(&theirs));
                }
                let all = Laid::holding(other, &sides.mine(theirs.iter().sum()));
                let mut mine = Laid::empty(form, own[me]);
                let parts = (root == Root::Here).then(|| all.parts(&theirs));
                let into = matches!(root, Root::There(_)).then(|| mine.origin_mut());
                let request = sides.bridge.start_scatter(parts.as_deref(), into, root);
                request.unwrap().wait().unwrap();
                if let Root::There(_) = root {
                    let start = starts(&own).nth(me).unwrap();
                    assert_eq!(mine.get(), matrices(number, start + own[me])[start..]);
                }
            });
        }
    });
}

#[test]
fn every_rank_gives_to_every_rank_of_the_other_group() {
    for_each_size(&SIZES, |world| {
        let sides = Sides::new(world);
        let me = sides.bridge.rank().index();
        for (case, count) in COUNTS.into_iter().enumerate() {
            let (own, theirs) = (uneven(sides.here(), count), uneven(sides.there, count));
            let mine = Laid::holding(FORMS[case % 4], &sides.mine(own[me]));
            let mut all = Laid::empty(FORMS[(case + me) % 4], theirs.iter().sum());
            let request =
                sides.bridge.start_allgather(Some(mine.origin()), &all.parts_mut(&theirs));
            request.unwrap().wait().unwrap();
            assert_eq!(all.get(), sides.all_given(&theirs));
            // One matrix goes from the first side to the other, two come back.
            let (out, back) = if sides.side == 0 { (1, 2) } else { (2, 1) };
            let there = sides.there as usize;
            let outgoing = Laid::holding(FORMS[case % 4], &sides.mine(out * there));
            let mut incoming = Laid::empty(FORMS[(case + me) % 4], back * there);
            let (parts, into) =
                (outgoing.parts(&vec![out; there]), incoming.parts_mut(&vec![back; there]));
            sides.bridge.start_alltoall(Some(&parts), &into).unwrap().wait().unwrap();
            let from = |rank| given(1 - sides.side, rank, back * (me + 1)).split_off(back * me);
            let expected: Vec<Matrix> = (0..sides.there).flat_map(from).collect();
            assert_eq!(incoming.get(), expected);
        }
    });
}

#[test]
fn contributions_are_combined_in_their_order() {
    for_each_size(&[2, 3, 5, 8, 44], |world| {
        let sides = Sides::new(world);
        for (case, count) in COUNTS.into_iter().enumerate() {
            let form = FORMS[case % 4];
            let mine = Laid::holding(form, &sides.mine(count));
            let mut result = Laid::empty(form, count);
            let (given, into) = (Some(mine.origin()), result.origin_mut());
            let request = sides.bridge.start_allreduce(given, into, form.product());
            request.unwrap().wait().unwrap();
            assert_eq!(result.get(), sides.product(count));
            if world.size() > 8 {
                continue;
            }
            sides.each_root(|root, _| {
                let mut result = Laid::empty(form, count);
                let (given, into) = (Some(mine.origin()), Some(result.origin_mut()));
                let request = sides.bridge.start_reduce(given, into, form.product(), root);
                request.unwrap().wait().unwrap();
                if root == Root::Here {
                    assert_eq!(result.get(), sides.product(count));
                }
            });
            assert_eq!(mine.get(), sides.mine(count));
        }
    });
}

#[test]
fn each_group_cuts_what_the_other_combines() {
    for_each_size(&SIZES, |world| {
        let sides = Sides::new(world);
        let (me, here) = (sides.bridge.rank().index(), sides.here() as usize);
        for (case, count) in COUNTS.into_iter().enumerate() {
            let form = FORMS[case % 4];
            // The first rank of each side gets nothing, unless it is alone.
            let mut counts = vec![count / here; here];
            counts[0] = 0;
            counts[here - 1] = count - counts[..here - 1].iter().sum::<usize>();
            let mine = Laid::holding(form, &sides.mine(count));
            let mut result = Laid::empty(form, counts[me]);
            let (given, into) = (Some(mine.origin()), result.origin_mut());
            let request = sides.bridge.start_reduce_scatter(given, into, &counts, form.product());
            request.unwrap().wait().unwrap();
            let start = starts(&counts).nth(me).unwrap();
            assert_eq!(result.get(), sides.product(count)[start..start + counts[me]]);
        }
    });
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_sent() {
    fn class<T: std::fmt::Debug>(result: onesided::Result<T>) -> ErrorClass {
        result.unwrap_err().class()
    }
    spmd(5, |world| {
        let (bridge, form) = (Sides::new(world).bridge, FORMS[0]);
        let (mine, mut other) = (Laid::holding(form, &matrices(0, 3)), Laid::empty(form, 3));
        let given = || Some(mine.origin());
        let empty = Root::There(Rank(bridge.remote_ranks().len() as u32));
        let refused = [
            class(bridge.start_broadcast(Some(other.origin_mut()), empty)),
            class(bridge.start_gather(given(), None, empty)),
            class(bridge.start_scatter(None, Some(other.origin_mut()), empty)),
            class(bridge.start_reduce(given(), None, form.product(), empty)),
        ];
        assert_eq!(refused, [ErrorClass::Root; 4]);
        let there = Root::There(Rank(0));
        let refused = [
            class(bridge.start_broadcast(None, Root::Here)),
            class(bridge.start_gather(None, None, there)),
            class(bridge.start_gather(None, None, Root::Here)),
            class(bridge.start_scatter(None, None, there)),
            class(bridge.start_scatter(None, None, Root::Here)),
            class(bridge.start_allgather(None, &other.parts_mut(&[1, 1, 1]))),
            class(bridge.start_alltoall(None, &other.parts_mut(&[1, 1, 1]))),
            class(bridge.start_reduce(None, None, form.product(), there)),
            class(bridge.start_reduce(None, None, form.product(), Root::Here)),
            class(bridge.start_allreduce(None, other.origin_mut(), form.product())),
            class(bridge.start_reduce_scatter(None, other.origin_mut(), &[3], form.product())),
        ];
        assert_eq!(refused, [ErrorClass::Buffer; 11]);
        let count = class(bridge.start_gather(None, Some(&other.parts_mut(&[3])), Root::Here));
        let refused = [
            class(bridge.start_scatter(Some(&mine.parts(&[3])), None, Root::Here)),
            class(bridge.start_allgather(given(), &other.parts_mut(&[3]))),
            class(bridge.start_alltoall(Some(&mine.parts(&[3])), &other.parts_mut(&[3]))),
            class(bridge.start_allreduce(
                Some(mine.part(0, 2)),
                other.origin_mut(),
                form.product(),
            )),
            class(bridge.start_reduce_scatter(given(), other.origin_mut(), &[3], form.product())),
        ];
        assert_eq!(refused, [count; 5]);
        // The collectives are still in step.
        let request = bridge.start_allreduce(given(), other.origin_mut(), form.product());
        request.unwrap().wait().unwrap();
        assert_eq!(mine.get(), matrices(0, 3));
    });
}

#[test]
fn groups_that_are_none_of_two_are_refused() {
    spmd(3, |world| {
        let (all, empty) = (world.group(), Group::empty());
        let own = all.incl(&[world.rank().0]).unwrap();
        let wrong = [(&all, &own), (&empty, &all)];
        for (local, remote) in wrong {
            let refused = Bridge::new(world, local, remote).unwrap_err();
            assert!(matches!(refused, Error::Communicator { .. }), "{refused}");
        }
    });
}
