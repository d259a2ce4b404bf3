//! Collectives that combine, by a product that is not commutative, in all layouts.

use crate::support::for_each_size;
use crate::untyped::SIZES;
use crate::untyped::matrices::{COUNTS, FORMS, Laid, matrices, product_of};
use onesided::{Comm, Rank};

/// Each length, in a form of its own, not in place and in place.
fn cases(body: impl Fn(crate::untyped::matrices::Form, usize, bool)) {
    for (case, count) in COUNTS.into_iter().enumerate() {
        for (form, in_place) in [(case, false), (case + 1, true), (case + 2, false)] {
            body(FORMS[form % 4], count, in_place);
        }
    }
}

#[test]
fn a_reduction_is_in_rank_order_at_every_root() {
    for_each_size(&SIZES, |world| {
        cases(|form, count, in_place| {
            for root in 0..world.size() {
                let (me, is_root) = (world.rank().0, world.rank().0 == root);
                let mine = Laid::holding(form, &matrices(me, count));
                let mut result = Laid::holding(form, &matrices(me, count));
                let given = (!(in_place && is_root)).then(|| mine.origin());
                // What the others give as a result is left alone.
                let into = Some(result.origin_mut());
                let request = world.start_reduce(given, into, form.product(), Rank(root)).unwrap();
                request.wait().unwrap();
                assert_eq!(mine.get(), matrices(me, count));
                match is_root {
                    true => assert_eq!(result.get(), product_of(world.size(), count)),
                    false => assert_eq!(result.get(), matrices(me, count)),
                }
            }
        });
    });
}

#[test]
fn an_allreduce_is_in_rank_order() {
    for_each_size(&[1, 2, 3, 5, 6, 7, 8], |world| {
        cases(|form, count, in_place| {
            let mine = Laid::holding(form, &matrices(world.rank().0, count));
            let mut result = Laid::holding(form, &matrices(world.rank().0, count));
            let given = (!in_place).then(|| mine.origin());
            let request = world.start_allreduce(given, result.origin_mut(), form.product());
            request.unwrap().wait().unwrap();
            assert_eq!(mine.get(), matrices(world.rank().0, count));
            assert_eq!(result.get(), product_of(world.size(), count));
        });
    });
}

#[test]
fn each_rank_gets_its_part_of_a_reduce_scatter() {
    for_each_size(&SIZES, |world| {
        let (me, ranks) = (world.rank().index(), world.ranks().len());
        cases(|form, count, in_place| {
            let uneven = (0..ranks).map(|rank| if rank == 1 { 0 } else { count / (rank + 1) });
            for counts in [vec![count; ranks], uneven.collect()] {
                let total = counts.iter().sum();
                let mine = Laid::holding(form, &matrices(me as u32, total));
                let mut result = match in_place {
                    true => Laid::holding(form, &matrices(me as u32, total)),
                    false => Laid::empty(form, counts[me]),
                };
                let given = (!in_place).then(|| mine.origin());
                let (into, combine) = (result.origin_mut(), form.product());
                let request = world.start_reduce_scatter(given, into, &counts, combine).unwrap();
                request.wait().unwrap();
                let start: usize = counts[..me].iter().sum();
                let expected = &product_of(world.size(), total)[start..start + counts[me]];
                assert_eq!(result.get()[..counts[me]], *expected);
            }
        });
    });
}

#[test]
fn a_scan_has_the_ranks_up_to_its_own() {
    for_each_size(&SIZES, |world| {
        cases(|form, count, in_place| {
            let mine = Laid::holding(form, &matrices(world.rank().0, count));
            let mut result = Laid::holding(form, &matrices(world.rank().0, count));
            let given = (!in_place).then(|| mine.origin());
            let request = world.start_scan(given, result.origin_mut(), form.product());
            request.unwrap().wait().unwrap();
            assert_eq!(result.get(), product_of(world.rank().0 + 1, count));
        });
    });
}

#[test]
fn an_exclusive_scan_has_the_ranks_below_its_own() {
    for_each_size(&SIZES, |world| {
        cases(|form, count, in_place| {
            let mine = Laid::holding(form, &matrices(world.rank().0, count));
            let mut result = Laid::holding(form, &matrices(world.rank().0, count));
            let given = (!in_place).then(|| mine.origin());
            let request = world.start_exscan(given, result.origin_mut(), form.product());
            request.unwrap().wait().unwrap();
            let expected = match world.rank().0 {
                0 => matrices(0, count),
                rank => product_of(rank, count),
            };
            assert_eq!(result.get(), expected);
        });
    });
}

/// On a communicator with ranks in another order than in the world.
#[test]
fn the_order_is_that_of_the_communicator() {
    for_each_size(&[5], |world: &Comm| {
        let comm = world.split(Some(0), -(world.rank().0 as i32)).unwrap().unwrap();
        let mut result = Laid::holding(FORMS[0], &matrices(comm.rank().0, 9));
        let request = comm.start_allreduce(None, result.origin_mut(), FORMS[0].product()).unwrap();
        // A request outlives the handle of its communicator.
        comm.free().unwrap();
        request.wait().unwrap();
        assert_eq!(result.get(), product_of(5, 9));
    });
}
