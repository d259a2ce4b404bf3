//! Atomicity: MPI-2.2 §11.7.1, and the accumulates of MPI-4.1 §12.3.4 under it.
#![cfg(feature = "test-hooks")]

use crate::support::choices::Choices;
use crate::support::spmd;
use onesided::{Access, Comm, DoubleInt, LockType, Op, Rank, Window};

/// What every rank contributes in every round, the same on all ranks.
fn operand(rank: u32, round: u64) -> u64 {
    Choices(u64::from(rank) << 32 | round).next()
}

/// "The outcome of concurrent accumulates to the same location, with the same operation and
/// predefined datatype, is as if the accumulates were done at that location in some serial order":
/// for operations whose order is no matter, there is one outcome.
#[test]
fn concurrent_accumulates_have_the_outcome_of_some_serial_order() {
    const ROUNDS: u64 = 500;
    let ops = [Op::Sum, Op::Prod, Op::Max, Op::Min, Op::Band, Op::Bor, Op::Bxor];
    spmd(4, |world| {
        let mut window = Window::<u64>::allocate(world, ops.len()).unwrap();
        let mine: Vec<u64> = (0..ROUNDS).map(|round| operand(world.rank().0, round) | 1).collect();
        window.store(0, &[0x5555_5555_5555_5555; 7]).unwrap();
        let epoch = window.fence().unwrap();
        for word in mine.chunks(1) {
            for (disp, op) in (0..).zip(ops) {
                epoch.accumulate(word, op, Rank(0), disp).unwrap();
            }
        }
        epoch.close().unwrap();
        let mut found = [0; 7];
        window.load(0, &mut found).unwrap();
        if world.rank() == 0 {
            assert_eq!(found.as_slice(), serially(&ops, world.size(), ROUNDS));
        }
        window.free().unwrap();
    });
}

fn serially(ops: &[Op], ranks: u32, rounds: u64) -> Vec<u64> {
    let mut words = vec![0x5555_5555_5555_5555; ops.len()];
    for (rank, round) in (0..ranks).flat_map(|rank| (0..rounds).map(move |round| (rank, round))) {
        let operand = operand(rank, round) | 1;
        for (word, op) in words.iter_mut().zip(ops) {
            *word = match op {
                Op::Sum => u64::wrapping_add(*word, operand),
                Op::Prod => u64::wrapping_mul(*word, operand),
                Op::Max => operand.max(*word),
                Op::Min => operand.min(*word),
                Op::Band => *word & operand,
                Op::Bor => *word | operand,
                _ => *word ^ operand,
            };
        }
    }
    words
}

/// "If two locations are both updated by two accumulate calls, then the updates may occur in reverse
/// order at the two locations": every element is from one of the calls, and each may be from
/// another. Elements of 16 bytes, which no single instruction updates, are not torn either.
#[test]
fn concurrent_replaces_leave_each_element_whole() {
    const LEN: usize = 40;
    spmd(4, |world| {
        let mut window = Window::<DoubleInt>::allocate(world, LEN).unwrap();
        let rank = world.rank().0 as i32;
        let mine = [pair(rank); LEN];
        for _ in 0..50 {
            let epoch = window.fence().unwrap();
            epoch.accumulate(&mine, Op::Replace, Rank(0), 0).unwrap();
            epoch.close().unwrap();
            if world.rank() == 0 {
                let mut found = [pair(-1); LEN];
                window.load(0, &mut found).unwrap();
                let is_whole = |e: &DoubleInt| (0..4).map(pair).any(|whole| whole == *e);
                assert!(found.iter().all(is_whole), "{found:?}");
            }
        }
        window.free().unwrap();
    });
}

fn pair(rank: i32) -> DoubleInt {
    DoubleInt::new(f64::from(rank) * 1e300, rank)
}

/// Every ticket of a counter under lock_all is drawn once (fetch_and_op), and compare_and_swap lets
/// one rank win each round.
#[test]
fn tickets_are_drawn_once_and_swaps_won_once() {
    const ROUNDS: u64 = 200;
    spmd(4, |world: &Comm| {
        let n = u64::from(world.size());
        let mut window = Window::<u64>::allocate(world, 1 + ROUNDS as usize).unwrap();
        let epoch = window.lock_all().unwrap();
        let mut tickets = Vec::new();
        let mut wins = 0;
        for round in 0..ROUNDS {
            tickets.push(epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0).unwrap());
            let mine = u64::from(world.rank()) + 1;
            let before =
                epoch.compare_and_swap_flush(mine, 0, Rank(0), (1 + round) as usize).unwrap();
            wins += u64::from(before == 0);
        }
        epoch.unlock_all().unwrap();
        assert!(tickets.is_sorted(), "a rank's tickets grow");
        let mut all = world.allgather(&tickets).unwrap();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..n * ROUNDS));
        let wins: u64 = world.allgather(&[wins]).unwrap().iter().sum();
        assert_eq!(wins, ROUNDS);
        window.free().unwrap();
    });
}

/// Accumulates of several ranks under shared locks of one target are concurrent, and add up.
#[test]
fn accumulates_under_shared_locks_add_up() {
    spmd(4, |world| {
        let window = Window::<f64>::allocate(world, 3).unwrap();
        let ones = [1.0; 3];
        for _ in 0..200 {
            let epoch = window.lock(LockType::Shared, Rank(0)).unwrap();
            epoch.accumulate(&ones, Op::Sum, Rank(0), 0).unwrap();
            epoch.unlock().unwrap();
        }
        world.barrier().unwrap();
        let mut sums = [0.0; 3];
        let epoch = window.lock(LockType::Shared, Rank(0)).unwrap();
        epoch.get(&mut sums, Rank(0), 0).unwrap();
        epoch.unlock().unwrap();
        assert_eq!(sums, [800.0; 3]);
        window.free().unwrap();
    });
}
