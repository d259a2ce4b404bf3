//! Data movement between fences: Examples 11.1 to 11.3 of MPI-2.2 §11.3.
#![cfg(feature = "test-hooks")]

use crate::support::choices::Choices;
use crate::support::{needs_segment, spmd};
use onesided::hooks::{Event, Site, delay};
use onesided::{Access, Comm, FenceAssert, Op, Rank, Window};

const PRE: Event = Event::MemSync(Site::FencePre);
const POST: Event = Event::MemSync(Site::FencePost);
const ASLEEP: Event = Event::MemSync(Site::ParkWaiter);

/// Entries of each rank: "a block distribution with equal size blocks".
const M: usize = 24;

/// This rank's block of `map`, a permutation of all entries.
fn permutation(world: &Comm, seed: u64) -> Vec<usize> {
    let all = Choices(seed).permutation(u64::from(world.size()) * M as u64);
    let start = world.rank().index() * M;
    all[start..start + M].iter().map(|entry| *entry as usize).collect()
}

/// Where an entry is: (rank, displacement).
fn place(entry: usize) -> (Rank, u64) {
    (Rank((entry / M) as u32), (entry % M) as u64)
}

fn value(entry: usize, round: usize) -> f32 {
    (entry * 10 + round) as f32
}

fn block(world: &Comm, f: impl Fn(usize) -> f32) -> Vec<f32> {
    let start = world.rank().index() * M;
    (start..start + M).map(f).collect()
}

/// Called before the stores of a round. In the first half of the rounds rank `round` stores only
/// when all others sleep in the opening fence; in the second half it leaves that fence only when
/// all others are about to enter the closing one.
fn delay_one(world: &Comm, round: usize) {
    let n = world.size();
    let times = (n - 1) * (round as u32 + 1);
    let comm = world.clone();
    match (world.rank().0 == round as u32 % n, round < n as usize) {
        (true, true) => comm.await_signal(0, times),
        (true, false) => delay(POST, move || comm.await_signal(0, times)),
        (false, true) => delay(ASLEEP, move || comm.signal(0)),
        // The opening fence passes PRE once, the closing one a second time.
        (false, false) => delay(PRE, move || delay(PRE, move || comm.signal(0))),
    }
}

/// MPI-2.2 §11.3.3, Example 11.1: the indirect assignment A = B(map), `map` a permutation, entries
/// grouped by target. The example uses one indexed datatype per target; the library has no derived
/// datatypes yet, so this is one get per entry, target by target in the order of the indices. What
/// is built from `map` is used again while `B` changes from round to round.
#[test]
fn example_11_1_indirect_assignment_grouped_by_target() {
    if needs_segment("delays inside a fence") {
        return;
    }
    spmd(4, |world| {
        let map = permutation(world, 11);
        let mut order: Vec<usize> = (0..M).collect();
        order.sort_by_key(|i| place(map[*i]));
        let mut window = Window::<f32>::allocate(world, M).unwrap();
        for round in 0..8 {
            let mut a = vec![-1.0; M];
            let mut entries: Vec<Option<&mut [f32]>> = a.chunks_mut(1).map(Some).collect();
            delay_one(world, round);
            window.store(0, &block(world, |entry| value(entry, round))).unwrap();
            let epoch = window.fence().unwrap();
            for i in &order {
                let (target, disp) = place(map[*i]);
                epoch.get(entries[*i].take().unwrap(), target, disp as usize).unwrap();
            }
            epoch.close().unwrap();
            let expected: Vec<f32> = map.iter().map(|entry| value(*entry, round)).collect();
            assert_eq!(a, expected);
        }
        window.free().unwrap();
    });
}

fn example_11_2(n: u32) {
    if needs_segment("delays inside a fence") {
        return;
    }
    spmd(n, |world| {
        let map = permutation(world, 112);
        let mut window = Window::<f32>::allocate(world, M).unwrap();
        for round in 0..2 * n as usize {
            let mut a = vec![-1.0; M];
            delay_one(world, round);
            window.store(0, &block(world, |entry| value(entry, round))).unwrap();
            let epoch = window.fence().unwrap();
            for (a, entry) in a.chunks_mut(1).zip(&map) {
                let (target, disp) = place(*entry);
                epoch.get(a, target, disp as usize).unwrap();
            }
            epoch.close().unwrap();
            let expected: Vec<f32> = map.iter().map(|entry| value(*entry, round)).collect();
            assert_eq!(a, expected);
        }
        window.free().unwrap();
    });
}

/// MPI-2.2 §11.3.3, Example 11.2: A = B(map) with one get per entry.
#[test]
fn example_11_2_indirect_assignment_entry_by_entry() {
    example_11_2(4);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_2_with_eight_ranks() {
    example_11_2(8);
}

/// The whole `map` of Example 11.3: neither one-to-one nor onto.
fn many_to_one(n: usize) -> Vec<usize> {
    let mut choices = Choices(113);
    (0..n * M).map(|_| (choices.below((n * M) as u64) / 3 * 2) as usize).collect()
}

/// `B(j)`, the sum of A(i) over map(i) = j, in rounds whose A is [`value`].
fn sums(map: &[usize], round: usize) -> Vec<f32> {
    let mut b = vec![0.0; map.len()];
    map.iter().enumerate().for_each(|(i, j)| b[*j] += value(i, round));
    b
}

fn example_11_3(n: u32, map: impl Fn(usize) -> Vec<usize>) {
    if needs_segment("delays inside a fence") {
        return;
    }
    spmd(n, |world| {
        let map = map(n as usize);
        let start = world.rank().index() * M;
        let mut window = Window::<f32>::allocate(world, M).unwrap();
        for round in 0..2 * n as usize {
            let a = block(world, |entry| value(entry, round));
            delay_one(world, round);
            window.store(0, &[0.0; M]).unwrap();
            let epoch = window.fence().unwrap();
            for (a, entry) in a.chunks(1).zip(&map[start..]) {
                let (target, disp) = place(*entry);
                epoch.accumulate(a, Op::Sum, target, disp as usize).unwrap();
            }
            epoch.close().unwrap();
            let mut b = vec![-1.0; M];
            window.load(0, &mut b).unwrap();
            assert_eq!(b, sums(&map, round)[start..start + M]);
        }
        window.free().unwrap();
    });
}

/// MPI-2.2 §11.3.4, Example 11.3: B(j) becomes the sum of the A(i) with map(i) = j, by one
/// accumulate per entry. The values are whole numbers, so that the order of the sums is no matter.
#[test]
fn example_11_3_sums_by_accumulate() {
    example_11_3(4, many_to_one);
}

/// As above with more ranks than the machine has cores.
#[test]
fn example_11_3_with_eight_ranks() {
    example_11_3(8, many_to_one);
}

/// MPI-2.2 §11.3.4, after Example 11.3: "if `map` is one-to-one, then the code computes
/// B = A(map⁻¹), which is the reverse assignment".
#[test]
fn example_11_3_reverses_the_assignment_if_map_is_one_to_one() {
    let permutation = |n: usize| {
        let all = Choices(1130).permutation((n * M) as u64);
        all.iter().map(|entry| *entry as usize).collect()
    };
    example_11_3(3, permutation);
}

/// MPI-2.1, "Communication Calls": "we allow two concurrent puts with overlapping send buffers", and
/// "the target process may be identical with the origin process".
#[test]
fn concurrent_puts_may_overlap_at_the_origin() {
    spmd(3, |world| {
        let n = world.size();
        let mut window = Window::<u64>::allocate(world, 4 * n as usize).unwrap();
        let message: Vec<u64> = (0..6).map(|i| 10 * u64::from(world.rank()) + i).collect();
        let epoch = window.fence_with(FenceAssert::NOPRECEDE).unwrap();
        for target in 0..n {
            let start = target as usize;
            let disp = 4 * u64::from(world.rank());
            epoch.put(&message[start..start + 4], Rank(target), disp as usize).unwrap();
        }
        epoch.close().unwrap();
        let mut found = vec![0; 4 * n as usize];
        window.load(0, &mut found).unwrap();
        for (from, words) in (0..).zip(found.chunks(4)) {
            let first = 10 * from + u64::from(world.rank());
            assert!(words.iter().copied().eq(first..first + 4), "{words:?} from rank {from}");
        }
        window.free().unwrap();
    });
}

/// MPI-2.1, "Communication Calls": MPI_PROC_NULL is a valid target of put, get and accumulate, which
/// then do nothing; "it is still necessary to finish the RMA epoch".
#[test]
fn operations_on_nobody_do_nothing() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let mut got = [7];
        let epoch = window.fence().unwrap();
        epoch.put(&[1], Rank::NULL, 0).unwrap();
        epoch.accumulate(&[1], Op::Sum, Rank::NULL, 0).unwrap();
        epoch.get(&mut got, Rank::NULL, 0).unwrap();
        epoch.close().unwrap();
        assert_eq!((got, window.load_one(0).unwrap()), ([7], 0));
        window.free().unwrap();
    });
}
