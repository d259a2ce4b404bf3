//! Algorithms of the literature come out in the order known from there: Mellor-Crummey and Scott,
//! "Algorithms for scalable synchronization on shared-memory multiprocessors" (1991).

use simulator::machine::{Topology, progress};
use simulator::prim::{ParkWord, Word32};
use simulator::programs::{Cost, Job, Machine, barrier, counter};
use simulator::sync::Line;

fn flat(ranks: u32) -> Machine {
    Machine::new(ranks, Topology::FLAT)
}

fn lines<T: Default>(count: u32) -> Vec<Line<T>> {
    (0..count).map(|_| Line::default()).collect()
}

fn until(job: &Job, rank: u32, word: &ParkWord, value: u32) {
    assert!(job.waiter(rank).until(word, |now| now == value).is_ok());
}

/// In round k a rank notifies the one 2ᵏ behind it.
fn dissemination(machine: &Machine) -> Cost {
    let (job, ranks) = (Job::new(machine.ranks), machine.ranks);
    let rounds = ranks.next_power_of_two().ilog2();
    let flags: Vec<Line<ParkWord>> = lines(ranks * rounds);
    machine.cost(|rank, number: &mut u32| {
        *number += 1;
        for round in 0..rounds {
            let to = (rank + (1 << round)) % ranks;
            flags[(to * rounds + round) as usize].0.add(1);
            until(&job, rank, &flags[(rank * rounds + round) as usize].0, *number);
        }
    })
}

/// Pairs combine their arrivals. The last of a pair goes on to the next node, and the first waits there until
/// the last comes back.
fn combining_tree(machine: &Machine) -> Cost {
    let (job, ranks) = (Job::new(machine.ranks), machine.ranks);
    assert!(ranks.is_power_of_two());
    // As a heap: node 1 is the root, and the leaves are the ranks / 2 last ones.
    let (nodes, released): (Vec<Line<Word32>>, Vec<Line<ParkWord>>) = (lines(ranks), lines(ranks));
    machine.cost(|rank, number: &mut u32| {
        *number += 1;
        let (mut node, mut won) = ((ranks + rank) as usize / 2, Vec::new());
        while node > 0 && nodes[node].0.fetch_add(1) % 2 == 1 {
            won.push(node);
            node /= 2;
        }
        if node > 0 {
            until(&job, rank, &released[node].0, *number);
        }
        won.into_iter().rev().for_each(|node| _ = released[node].0.add(1));
    })
}

/// All ranks try to change one word.
fn test_and_set(machine: &Machine) -> Cost {
    let (job, word) = (Job::new(machine.ranks), Line::<ParkWord>::default());
    machine.cost(|rank, _: &mut ()| {
        while word.0.replace_and_wake(0, 1).is_err() {
            until(&job, rank, &word.0, 0);
        }
        word.0.store_and_wake(0);
    })
}

/// The queue lock: a rank waits on a word of its own.
fn queue_lock(machine: &Machine) -> Cost {
    let (job, tail) = (Job::new(machine.ranks), Line::<Word32>::default());
    // Of each rank: its successor plus one, and how often it has been granted the lock.
    let (next, granted): (Vec<Line<ParkWord>>, Vec<Line<ParkWord>>) =
        (lines(machine.ranks), lines(machine.ranks));
    machine.cost(|rank, grants: &mut u32| {
        let own = rank as usize;
        next[own].0.store_and_wake(0);
        let before = tail.0.swap(rank + 1);
        if before != 0 {
            *grants += 1;
            next[before as usize - 1].0.store_and_wake(rank + 1);
            until(&job, rank, &granted[own].0, *grants);
        }
        if tail.0.compare_exchange(rank + 1, 0).is_err() {
            let waited = job.waiter(rank).until(&next[own].0, |next| next != 0);
            granted[waited.expect("no rank fails") as usize - 1].0.add(1);
        }
    })
}

/// A central counter is as good for few ranks, a tree beyond sixteen, and by much for many.
#[test]
fn a_central_counter_falls_behind_a_tree_beyond_sixteen_ranks() {
    let time = |program: fn(&Machine) -> Cost, ranks| program(&flat(ranks)).time as f64;
    assert!(time(counter, 2) <= time(combining_tree, 2));
    assert!(time(counter, 4) < 1.3 * time(combining_tree, 4));
    for ranks in [16, 64, 256] {
        let (central, tree) = (time(counter, ranks), time(combining_tree, ranks));
        assert!(tree < central, "{ranks}: {tree} {central}");
    }
    let gain = |ranks| time(counter, ranks) / time(combining_tree, ranks);
    assert!(gain(64) > 4.0 && gain(1024) > 40.0, "{} {}", gain(64), gain(1024));
    // O(P) against O(log P).
    let growth = |program| time(program, 256) / time(program, 64);
    assert!(growth(counter) > 3.5 && growth(dissemination) < 1.5);
}

/// Dissemination makes two references in each of its rounds; a tree makes four at most, for any number.
#[test]
fn a_tree_makes_fewer_references_than_dissemination() {
    for ranks in [16_u32, 64, 256] {
        let rounds = f64::from(ranks.ilog2());
        assert_eq!(dissemination(&flat(ranks)).mean_remote, 2.0 * rounds);
        assert!(combining_tree(&flat(ranks)).mean_remote <= 4.0);
    }
}

/// Of ranks that contend for a lock, each passage of a queue lock makes a fixed number of references, and one
/// of test-and-set as many as there are ranks.
#[test]
fn a_queue_lock_makes_as_many_references_for_any_number_of_ranks() {
    let remote = |program: fn(&Machine) -> Cost, ranks| program(&flat(ranks)).mean_remote;
    let few = remote(queue_lock, 8);
    for ranks in [32, 128] {
        assert!(remote(queue_lock, ranks) < few + 1.0 && few < 8.0, "{ranks} {few}");
    }
    assert!(remote(test_and_set, 128) > 3.0 * remote(test_and_set, 32));
}

/// Ranks of a complex reach each other sooner.
#[test]
fn near_cores_are_faster() {
    let near = Machine::new(8, Topology { complex: 8, ..Topology::FLAT });
    assert!(2 * barrier(&near).time < barrier(&flat(8)).time);
}

/// What a program reads of its own progress is its own.
#[test]
fn ranks_have_clocks_of_their_own() {
    let cost = flat(4).cost(|_, _: &mut ()| assert_eq!(progress().remote, 0));
    assert_eq!((cost.time, cost.mean_remote), (0, 0.0));
}
