//! Collectives of a communicator against what their definitions say (MPI-2.2 chapter 5).

use crate::support::{needs_rmarun, spmd};
use onesided::{
    Access, Comm, Comparison, Complex, DoubleInt, Element, Error, ErrorClass, Located, Op, Rank,
    Result, Window, WindowOptions,
};
use std::fmt::Debug;

/// Bytes of a rank's staging buffer.
const STAGE: usize = 4096;

/// Lengths around nothing, one chunk, and several; and what a buffer for longer data has, and more.
fn lengths<T>() -> [usize; 9] {
    let chunk = STAGE / size_of::<T>();
    [0, 1, 2, chunk - 1, chunk + 1, 3 * chunk, 10 * chunk + 7, 16 * chunk, 35 * chunk + 3]
}

/// What `rank` contributes in round `round`.
fn contribution<T: Element>(make: fn(u32) -> T, rank: u32, round: usize, len: usize) -> Vec<T> {
    (0..len as u32).map(|i| make(rank * 7 + i * 3 + round as u32)).collect()
}

/// Broadcast, gather and allgather of every length, from every root.
fn moved<T: Element + PartialEq + Debug>(world: &Comm, make: fn(u32) -> T) {
    for (round, len) in lengths::<T>().into_iter().enumerate() {
        let of = |rank| contribution(make, rank, round, len);
        let all: Vec<T> = (0..world.size()).flat_map(of).collect();
        let mine = of(world.rank().0);
        assert_eq!(world.allgather(&mine).unwrap(), all);
        for root in 0..world.size() {
            let mut buffer = mine.clone();
            world.broadcast(&mut buffer, Rank(root)).unwrap();
            assert_eq!(buffer, of(root));
            let gathered = world.gather(&mine, Rank(root)).unwrap();
            assert_eq!(gathered, (root == world.rank().0).then(|| all.clone()));
        }
    }
}

/// Reduce and allreduce of every length, in rank order, against `apply`.
fn reduced<T: Element + PartialEq + Debug>(
    world: &Comm,
    op: Op,
    make: fn(u32) -> T,
    apply: fn(T, T) -> T,
) {
    for (round, len) in lengths::<T>().into_iter().enumerate() {
        let of = |rank| contribution(make, rank, round, len);
        let fold = |a: Vec<T>, b: Vec<T>| a.into_iter().zip(b).map(|(a, b)| apply(a, b)).collect();
        let expected = (0..world.size()).map(of).reduce(fold).unwrap();
        let mine = of(world.rank().0);
        assert_eq!(world.allreduce(&mine, op).unwrap(), expected, "{op:?}");
        let root = Rank(round as u32 % world.size());
        let result = world.reduce(&mine, op, root).unwrap();
        assert_eq!(result, (root.0 == world.rank().0).then_some(expected), "{op:?}");
    }
}

#[test]
fn data_arrives_where_it_should() {
    spmd(4, |world| {
        moved::<u8>(world, |k| k as u8);
        moved::<u16>(world, |k| k as u16);
        moved::<i64>(world, |k| -i64::from(k));
        moved::<f32>(world, |k| k as f32 / 2.0);
        moved::<Complex<f64>>(world, |k| Complex::new(f64::from(k), -1.0));
        moved::<DoubleInt>(world, |k| DoubleInt::new(f64::from(k), k as i32));
    });
}

#[test]
fn reductions_are_what_their_operations_say() {
    spmd(4, |world| {
        reduced::<u64>(world, Op::Sum, u64::from, |a, b| a + b);
        reduced::<u8>(world, Op::Prod, |k| k as u8, |a, b| a.wrapping_mul(b));
        reduced::<i32>(world, Op::Max, |k| (k % 13) as i32 - 6, |a, b| if a > b { a } else { b });
        reduced::<f64>(world, Op::Min, |k| f64::from(k % 13), |a, b| if a < b { a } else { b });
        reduced::<u32>(world, Op::Land, |k| k % 3, |a, b| u32::from(a != 0 && b != 0));
        reduced::<u32>(world, Op::Lxor, |k| k % 2, |a, b| u32::from((a != 0) ^ (b != 0)));
        reduced::<u16>(world, Op::Bxor, |k| k as u16, |a, b| a ^ b);
        // Not associative: the order of the ranks is promised, to the last bit.
        reduced::<f32>(world, Op::Sum, |k| 1.0 / (k as f32 + 0.7), |a, b| a + b);
        let one = |k: u32| Complex::new(k as f32, 1.0);
        reduced::<Complex<f32>>(world, Op::Sum, one, |a, b| Complex::new(a.re + b.re, a.im + b.im));
        // The lowest index of the largest number; elements have padding.
        let pair = |k: u32| DoubleInt::new(f64::from(k % 5), k as i32);
        reduced::<DoubleInt>(world, Op::Maxloc, pair, |a, b| {
            let place = |pair: DoubleInt| (pair.value(), -pair.index());
            if place(a) >= place(b) { a } else { b }
        });
        let me = world.rank().0 as i32;
        let pair = [DoubleInt::new(f64::from(me % 2), me)];
        let best = world.allreduce(&pair, Op::Maxloc).unwrap();
        assert_eq!(best, [DoubleInt::new(1.0, 1)]);
    });
}

#[test]
fn a_rank_alone_is_its_own_communicator() {
    spmd(1, |world| {
        moved::<u32>(world, |k| k);
        reduced::<u32>(world, Op::Sum, |k| k, |a, b| a + b);
        world.barrier().unwrap();
    });
}

#[test]
fn a_barrier_orders_what_was_written_before_it() {
    spmd(5, |world| {
        let (me, n) = (world.rank().0, world.size());
        let window = Window::<u32>::allocate(world, 1).unwrap();
        for round in 1..500 {
            let next = Rank((me + 1) % n);
            let (value, lock) = ([round], onesided::LockType::Shared);
            let epoch = window.lock(lock, next).unwrap();
            epoch.accumulate(&value, Op::Replace, next, 0).unwrap();
            epoch.unlock().unwrap();
            world.barrier().unwrap();
            assert_eq!(window.load_one(0).unwrap(), round);
            world.barrier().unwrap();
        }
        window.free().unwrap();
    });
}

#[test]
fn a_window_freed_on_one_rank_only_is_a_mismatch() {
    spmd(2, |world| {
        let window: Window<u32> = WindowOptions::new().name("kept").allocate(world, 2).unwrap();
        let error = match world.rank().0 {
            0 => window.free().unwrap_err(),
            _ => world.allreduce(&[1u32], Op::Sum).map(drop).unwrap_err(),
        };
        assert_eq!(error.class(), ErrorClass::Arg, "{error}");
        assert!(error.to_string().contains("window free"), "{error}");
        assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [2]);
    });
}

#[test]
fn groups_are_sets_of_ranks_in_order() {
    spmd(4, |world| {
        let all = world.group();
        assert_eq!((all.size(), all.world_ranks()), (4, &[0, 1, 2, 3].map(Rank)[..]));
        let (odd, last) = (all.incl(&[3, 1]).unwrap(), all.excl(&[0, 1]).unwrap());
        assert_eq!(
            (odd.world_ranks(), last.world_ranks()),
            (&[3, 1].map(Rank)[..], &[2, 3].map(Rank)[..])
        );
        assert_eq!(odd.union(&last).world_ranks(), [3, 1, 2]);
        assert_eq!(last.union(&odd).world_ranks(), [2, 3, 1]);
        assert_eq!(odd.intersection(&last).world_ranks(), [3]);
        assert_eq!(odd.difference(&last).world_ranks(), [1]);
        assert!(odd.difference(&all).is_empty());
        assert_eq!(odd.compare(&all.incl(&[1, 3]).unwrap()), Comparison::Similar);
        assert_eq!(odd.compare(&odd.clone()), Comparison::Identical);
        assert_eq!(odd.compare(&last), Comparison::Unequal);
        assert_eq!(odd.translate(&[0, 1], &last).unwrap(), [Rank(1), Rank::NULL]);
        assert_eq!(odd.rank_of_world(1), Some(Rank(1)));
        assert_eq!(odd.rank_of_world(0), None);
        assert_eq!(Rank::NULL.to_string(), "MPI_PROC_NULL");
    });
}

#[test]
fn a_call_that_one_rank_alone_gets_wrong_holds_nobody_up() {
    spmd(3, |world| {
        let bad_root = match world.rank().0 {
            0 => world.broadcast(&mut [1u8], Rank(9)),
            _ => world.broadcast(&mut [1u8], Rank(1)),
        };
        // A rank that need not wait for rank 0 gets its error here.
        let later = world.barrier();
        let bad_root = bad_root.and(later).unwrap_err().class();
        let class = |own| if world.rank() == 0 { own } else { ErrorClass::Arg };
        assert_eq!(bad_root, class(ErrorClass::Root));
        let op = if world.rank() == 0 { Op::Replace } else { Op::Sum };
        assert_eq!(world.allreduce(&[1u8], op).unwrap_err().class(), class(ErrorClass::Op));
        let other_type = match world.rank().0 {
            0 => world.allreduce(&[1.0f32], Op::Sum).map(drop),
            _ => world.allreduce(&[1u32], Op::Sum).map(drop),
        };
        assert_eq!(other_type.unwrap_err().class(), ErrorClass::Type);
        let barrier = match world.rank().0 {
            0 => world.barrier(),
            _ => world.allgather(&[1u32]).map(drop),
        };
        assert_eq!(barrier.unwrap_err().class(), ErrorClass::Arg);
        assert_eq!(world.allgather(&[world.rank().0]).unwrap(), [0, 1, 2]);
    });
}

#[test]
fn who_gets_nothing_from_others_need_not_wait_for_them() {
    if needs_rmarun("ranks that do not wait for others") {
        return;
    }
    spmd(3, |world| {
        let mut value = [world.rank().0];
        if world.rank() == 0 {
            world.broadcast(&mut value, Rank(0)).unwrap();
            world.signal(0);
            // The others have returned before the root calls it.
            world.await_signal(1, 2);
            assert_eq!(world.reduce(&[1u32], Op::Sum, Rank(0)).unwrap(), Some(vec![3]));
        } else {
            world.await_signal(0, 1);
            world.broadcast(&mut value, Rank(0)).unwrap();
            assert_eq!(value, [0]);
            assert_eq!(world.reduce(&[1u32], Op::Sum, Rank(0)).unwrap(), None);
            world.signal(1);
        }
    });
}

#[test]
fn ranks_that_go_ahead_overwrite_nothing() {
    // In slots, in buffers beside them, and as messages; some among collectives that do not wait.
    const ELEMENTS: [usize; 5] = [1, 10, 11, 512, 1000];
    spmd(5, |all| {
        let some = all.split(Some(u32::from(all.rank().0 > 1)), 0).unwrap().unwrap();
        for world in [all, &some] {
            let (own, ranks) = (world.rank().0 as usize, world.ranks().len());
            let mut started = Vec::new();
            for round in 0..400usize {
                let (length, root) = (ELEMENTS[round * 7 % 5], round / 3 % ranks);
                let mut value = vec![(round * 10 + own) as u64; length];
                world.broadcast(&mut value, Rank(root as u32)).unwrap();
                assert_eq!(value, vec![(round * 10 + root) as u64; length], "round {round}");
                let next = Rank((round % ranks) as u32);
                let sum = world.reduce(&vec![(round + own) as u64; length], Op::Sum, next).unwrap();
                let sums = (round * ranks + ranks * (ranks - 1) / 2) as u64;
                assert_eq!(sum, (own == round % ranks).then(|| vec![sums; length]));
                if round % 5 == 0 {
                    let mine = vec![(round + own) as u64; length];
                    started.push((round, world.iallgather(mine).unwrap()));
                }
                if round % 13 == 0 {
                    for (round, request) in started.drain(..) {
                        let all = request.wait().unwrap();
                        for (rank, part) in all.chunks(all.len() / ranks).enumerate() {
                            assert!(part.iter().all(|value| *value == (round + rank) as u64));
                        }
                    }
                }
            }
        }
    });
}

/// What is longer than any memory is refused by the ranks that would receive it, and the others learn it.
#[test]
fn lengths_that_no_memory_holds_are_refused_everywhere() {
    const BYTES: usize = 40 << 40;
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap();
    if overcommit.trim() == "1" {
        return println!("skipped: this machine lends memory that it does not have");
    }
    let endless = memmap2::MmapOptions::new().len(BYTES).no_reserve_swap().map_anon().unwrap();
    let endless: &[u8] = &endless;
    spmd(2, |world| {
        let is_first = world.rank().0 == 0;
        let mine = if is_first { endless } else { &[] };
        let refused = |result: Result<()>| {
            let error = result.expect_err("40 TiB");
            let is_right = match &error {
                Error::NoMemory { requested, .. } => {
                    [BYTES, BYTES / 2].contains(&(*requested as usize))
                }
                Error::Mismatch { .. } => true,
                _ => false,
            };
            assert!(is_right, "{error}");
            // Nothing is out of step afterwards.
            assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [2]);
            u32::from(matches!(error, Error::NoMemory { .. }))
        };
        let parts: [&[u8]; 2] = [&[], mine];
        let unable = [
            refused(world.allgatherv(mine).map(drop)),
            refused(world.gatherv(mine, Rank(1)).map(drop)),
            refused(world.scatterv(is_first.then_some(&parts[..]), Rank(0)).map(drop)),
            refused(world.scatter(is_first.then_some(endless), Rank(0)).map(drop)),
            refused(world.alltoallv(&parts).map(drop)),
        ];
        let unable = world.allreduce(&unable, Op::Sum).unwrap();
        assert!(unable.iter().all(|ranks| *ranks > 0), "{unable:?}");
        let request = world.iscatter::<u64>(None, usize::MAX, Rank(0));
        assert!(matches!(request, Err(Error::NoMemory { .. })), "{request:?}");
    });
}
