//! Scatter, alltoall, scans, reduce_scatter, the v-forms and user functions against what their
//! definitions say (MPI-2.2 chapter 5), over the world and over other communicators.

use crate::support;
use crate::support::spmd;
use onesided::{
    Comm, Complex, DoubleInt, Element, ErrorClass, FloatInt, Located, LongInt, Op, Rank, Result,
    ShortInt, TwoInt, UserOp,
};
use std::fmt::Debug;

/// Bytes of a rank's staging buffer.
const STAGE: usize = 4096;

/// Lengths around nothing, one chunk, and several.
fn lengths<T>() -> [usize; 6] {
    let chunk = STAGE / size_of::<T>();
    [0, 1, 3, chunk - 1, chunk + 1, 3 * chunk + 5]
}

/// What `rank` contributes.
fn contribution<T: Element>(make: fn(u32) -> T, rank: u32, len: usize) -> Vec<T> {
    (0..len as u32).map(|i| make(rank * 7 + i * 3)).collect()
}

/// Runs `body` over the world and over communicators of some ranks, in another order.
fn everywhere(world: &Comm, body: impl Fn(&Comm)) {
    body(world);
    let key = -(world.rank().0 as i32);
    let part = world.split(Some(u32::from(world.rank().0 > 1)), key).unwrap().unwrap();
    body(&part);
    part.free().unwrap();
}

/// Scatter and alltoall of every length.
fn cut<T: Element + PartialEq + Debug>(comm: &Comm, make: fn(u32) -> T) {
    let (me, n) = (comm.rank().index(), comm.ranks().len());
    for len in lengths::<T>() {
        let of = |rank: usize| contribution(make, rank as u32, len * n);
        let mine = of(me);
        for root in 0..n {
            let all = (root == me).then_some(&mine[..]);
            let part = comm.scatter(all, Rank(root as u32)).unwrap();
            assert_eq!(part, of(root)[me * len..][..len]);
        }
        let expected: Vec<T> = (0..n).flat_map(|k| of(k)[me * len..][..len].to_vec()).collect();
        assert_eq!(comm.alltoall(&mine).unwrap(), expected);
    }
}

/// The v-forms, and a broadcast of unknown length.
fn uneven<T: Element + PartialEq + Debug>(comm: &Comm, make: fn(u32) -> T) {
    let (me, n) = (comm.rank().0, comm.size());
    for (round, len) in lengths::<T>().into_iter().enumerate() {
        // Some give nothing, one gives much more than the others.
        let of = |rank: u32| {
            let len = [len, 0, len / 2, 5][(rank as usize + round) % 4];
            contribution(make, rank, len)
        };
        let all: Vec<Vec<T>> = (0..n).map(of).collect();
        assert_eq!(comm.allgatherv(&of(me)).unwrap(), all);
        let parts: Vec<&[T]> = all.iter().map(Vec::as_slice).collect();
        for root in 0..n {
            let gathered = comm.gatherv(&of(me), Rank(root)).unwrap();
            assert_eq!(gathered, (root == me).then(|| all.clone()));
            let given = (root == me).then_some(&parts[..]);
            assert_eq!(comm.scatterv(given, Rank(root)).unwrap(), of(me));
            let mut buffer = of(me);
            comm.broadcast_vec(&mut buffer, Rank(root)).unwrap();
            assert_eq!(buffer, of(root));
        }
        // To rank k goes a part whose length depends on both.
        let part = |from: u32, to: u32| contribution(make, from, (len + to as usize) / 2);
        let mine: Vec<Vec<T>> = (0..n).map(|to| part(me, to)).collect();
        let given: Vec<&[T]> = mine.iter().map(Vec::as_slice).collect();
        let expected: Vec<Vec<T>> = (0..n).map(|from| part(from, me)).collect();
        assert_eq!(comm.alltoallv(&given).unwrap(), expected);
    }
}

/// Scans and reduce_scatter, in rank order, against `apply`.
fn reduced<T: Element + PartialEq + Debug>(
    comm: &Comm,
    op: Op,
    make: fn(u32) -> T,
    apply: fn(T, T) -> T,
) {
    let (me, n) = (comm.rank().index(), comm.ranks().len());
    for len in lengths::<T>() {
        let of = |rank: usize| contribution(make, rank as u32, len * n);
        let fold = |a: Vec<T>, b: Vec<T>| a.into_iter().zip(b).map(|(a, b)| apply(a, b)).collect();
        let up_to = |ranks: usize| (0..ranks).map(of).reduce(fold);
        let mine = of(me);
        assert_eq!(comm.scan(&mine, op).unwrap(), up_to(me + 1).unwrap(), "{op:?}");
        assert_eq!(comm.exscan(&mine, op).unwrap(), up_to(me), "{op:?}");
        let all = up_to(n).unwrap();
        let part = comm.reduce_scatter_block(&mine, op).unwrap();
        assert_eq!(part, all[me * len..][..len], "{op:?}");
        // All to the last but one rank, nothing to the others, and a remainder to the last.
        let mut counts = vec![0; n];
        counts[n - 1] = len.min(2);
        counts[n.saturating_sub(2)] += len * n - len.min(2);
        let start: usize = counts[..me].iter().sum();
        let part = comm.reduce_scatter(&mine, &counts, op).unwrap();
        assert_eq!(part, all[start..][..counts[me]], "{op:?}");
    }
}

fn moved<T: Element + PartialEq + Debug>(comm: &Comm, make: fn(u32) -> T) {
    cut(comm, make);
    uneven(comm, make);
}

#[test]
fn integers_arrive_where_they_should() {
    spmd(5, |world| {
        everywhere(world, |comm| {
            moved::<i8>(comm, |k| k as i8);
            moved::<i16>(comm, |k| k as i16);
            moved::<i32>(comm, |k| -(k as i32));
            moved::<i64>(comm, |k| -i64::from(k));
            moved::<u8>(comm, |k| k as u8);
            moved::<u16>(comm, |k| k as u16);
            moved::<u32>(comm, |k| k);
            moved::<u64>(comm, |k| u64::from(k) << 33);
        });
    });
}

#[test]
fn other_types_arrive_where_they_should() {
    spmd(4, |world| {
        everywhere(world, |comm| {
            moved::<f32>(comm, |k| k as f32 / 2.0);
            moved::<f64>(comm, |k| f64::from(k) / 3.0);
            moved::<Complex<f32>>(comm, |k| Complex::new(k as f32, -1.0));
            moved::<Complex<f64>>(comm, |k| Complex::new(f64::from(k), -1.0));
            moved::<FloatInt>(comm, |k| FloatInt::new(k as f32, k as i32));
            moved::<DoubleInt>(comm, |k| DoubleInt::new(f64::from(k), k as i32));
            moved::<LongInt>(comm, |k| LongInt::new(i64::from(k), k as i32));
            moved::<TwoInt>(comm, |k| TwoInt::new(k as i32, k as i32));
            moved::<ShortInt>(comm, |k| ShortInt::new(k as i16, k as i32));
        });
    });
}

#[test]
fn any_number_of_ranks_will_do() {
    support::for_each_size(&[1, 2, 3, 6, 7, 8], |world| {
        everywhere(world, |comm| {
            moved::<u16>(comm, |k| k as u16);
            reduced::<u64>(comm, Op::Sum, u64::from, |a, b| a + b);
            let concatenation = UserOp::new(|a: u64, b: u64| a * 10 + b);
            let digits = (1..=u64::from(comm.size())).fold(0, |sum, digit| sum * 10 + digit);
            let mine = [u64::from(comm.rank()) + 1];
            assert_eq!(comm.allreduce(&mine, &concatenation).unwrap(), [digits]);
        });
    });
}

#[test]
fn scans_and_scattered_reductions_are_what_their_operations_say() {
    spmd(4, |world| {
        everywhere(world, |comm| {
            reduced::<u64>(comm, Op::Sum, u64::from, |a, b| a + b);
            reduced::<u8>(comm, Op::Prod, |k| k as u8, |a, b| a.wrapping_mul(b));
            reduced::<i16>(comm, Op::Max, |k| (k % 13) as i16 - 6, i16::max);
            reduced::<i64>(comm, Op::Min, |k| i64::from(k % 13) - 6, i64::min);
            reduced::<u32>(comm, Op::Bxor, |k| k, |a, b| a ^ b);
            // Not associative: the order of the ranks is promised, to the last bit.
            reduced::<f32>(comm, Op::Sum, |k| 1.0 / (k as f32 + 0.7), |a, b| a + b);
            reduced::<f64>(comm, Op::Prod, |k| 1.0 + 1.0 / (k as f64 + 7.0), |a, b| a * b);
            let one = |k: u32| Complex::new(f64::from(k), 1.0);
            reduced::<Complex<f64>>(comm, Op::Sum, one, |a, b| a + b);
            let pair = |k: u32| TwoInt::new((k % 5) as i32, k as i32);
            reduced::<TwoInt>(comm, Op::Maxloc, pair, |a, b| match a.value().cmp(&b.value()) {
                std::cmp::Ordering::Less => b,
                std::cmp::Ordering::Greater => a,
                std::cmp::Ordering::Equal => TwoInt::new(a.value(), a.index().min(b.index())),
            });
        });
    });
}

#[test]
fn user_functions_are_applied_in_rank_order() {
    spmd(5, |world| {
        everywhere(world, |comm| {
            let (me, n) = (comm.rank().0, comm.size());
            // Digits one after the other: associative on (digits, length), not commutative.
            let append = |a: Complex<f64>, b: Complex<f64>| {
                Complex::new(a.re * 10f64.powf(b.im) + b.re, a.im + b.im)
            };
            let op = UserOp::new(append);
            assert!(!op.is_commutative() && op.clone().commutative().is_commutative());
            let digits = |ranks: u32| (0..ranks).fold(0.0, |sum, k| sum * 10.0 + f64::from(k + 1));
            let mine = vec![Complex::new(f64::from(me + 1), 1.0); 700];
            let expected = |ranks: u32| vec![Complex::new(digits(ranks), f64::from(ranks)); 700];
            assert_eq!(comm.allreduce(&mine, &op).unwrap(), expected(n));
            let root = Rank(n - 1);
            let reduced = comm.reduce(&mine, &op, root).unwrap();
            assert_eq!(reduced, (root.0 == me).then(|| expected(n)));
            assert_eq!(comm.scan(&mine, &op).unwrap(), expected(me + 1));
            assert_eq!(comm.exscan(&mine, &op).unwrap(), (me > 0).then(|| expected(me)));
            let part = comm.reduce_scatter(&mine, &counts(700, n as usize), &op).unwrap();
            assert_eq!(part, expected(n)[..part.len()]);

            // The slices are as long as each other, and the first comes from the lower ranks.
            let last = UserOp::from_slices(|lower: &[u16], upper: &mut [u16]| {
                assert_eq!(lower.len(), upper.len());
                assert!(lower.iter().zip(upper).all(|(a, b)| *a < *b));
            });
            assert_eq!(comm.allreduce(&[me as u16; 5000], &last).unwrap(), [n as u16 - 1; 5000]);
        });
    });
}

/// `total` shared out among `n`, with something for every rank.
fn counts(total: usize, n: usize) -> Vec<usize> {
    let mut counts = vec![total / n; n];
    counts[0] += total % n;
    counts
}

#[test]
fn what_cannot_be_shared_out_is_refused() {
    spmd(3, |world| {
        let me = world.rank().0;
        let class = |result: Result<Vec<u32>>| result.unwrap_err().class();
        let root_only = |own, others| if me == 1 { own } else { others };
        let root = Rank(1);
        let four: Option<&[u32]> = Some(&[1; 4]);
        let expected = root_only(ErrorClass::Count, ErrorClass::Arg);
        assert_eq!(class(world.scatter(four, root)), expected);
        let expected = root_only(ErrorClass::Buffer, ErrorClass::Arg);
        assert_eq!(class(world.scatter(None, root)), expected);
        assert_eq!(class(world.scatterv(None, root)), expected);
        let expected = root_only(ErrorClass::Count, ErrorClass::Arg);
        let two: Option<&[&[u32]]> = Some(&[&[1], &[2]]);
        assert_eq!(class(world.scatterv(two, root)), expected);
        assert_eq!(class(world.alltoall(&[1; 4])), ErrorClass::Count);
        assert_eq!(class(world.reduce_scatter_block(&[1; 4], Op::Sum)), ErrorClass::Count);
        for counts in [&[1, 2][..], &[1, 2, 3], &[usize::MAX, 1, 1]] {
            let result = world.reduce_scatter(&[1; 4], counts, Op::Sum);
            assert_eq!(class(result), ErrorClass::Count, "{counts:?}");
        }
        assert_eq!(world.alltoallv::<u32>(&[&[]]).unwrap_err().class(), ErrorClass::Count);
        let empty = Rank(3);
        assert_eq!(class(world.scatter(four, empty)), ErrorClass::Root);
        assert_eq!(class(world.scatterv(two, empty)), ErrorClass::Root);
        let result = world.gatherv(&[1u32], Rank::NULL);
        assert_eq!(result.unwrap_err().class(), ErrorClass::Root);
        assert_eq!(
            world.broadcast_vec(&mut vec![1u32], empty).unwrap_err().class(),
            ErrorClass::Root
        );
        assert_eq!(class(world.scan(&[1], Op::Replace)), ErrorClass::Op);
        assert_eq!(world.exscan(&[1.0], Op::Band).unwrap_err().class(), ErrorClass::Op);
        assert_eq!(world.allgather(&[me]).unwrap(), [0, 1, 2]);
    });
}
