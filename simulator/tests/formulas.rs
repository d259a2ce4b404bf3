//! What calls of the library cost by the number of ranks (docs/scaling.md).

use simulator::machine::Topology;
use simulator::programs::{Cost, Machine, PROGRAMS, SERVER};
use simulator::report;

fn cost(program: &str, ranks: u32) -> Cost {
    let (_, run) = PROGRAMS.into_iter().find(|(name, _)| *name == program).expect("a program");
    run(&Machine::new(ranks, Topology::FLAT))
}

const RANKS: [u32; 5] = [2, 4, 16, 64, 256];

/// One to arrive and one to see that all have; the arrivals queue.
#[test]
fn one_counter_is_two_references_and_a_chain_of_all_ranks() {
    let many = RANKS.map(|ranks| ("barrier, one counter", ranks));
    let few = ["barrier", "fence"].into_iter().flat_map(|p| [2, 4, 8].map(|n| (p, n)));
    for (program, ranks) in few.chain(many) {
        let cost = cost(program, ranks);
        assert!(cost.most_remote <= 2.0 && cost.chain < f64::from(ranks + 1), "{program} {cost:?}");
    }
}

/// Four arrivals queue at each count of the tree. The last rank stores a word of each, which each reads.
#[test]
fn a_barrier_and_a_fence_of_many_ranks_are_a_logarithmic_chain() {
    let sizes = [9, 16, 17, 33, 64, 100, 256, 1000, 1024];
    for (program, ranks) in ["barrier", "fence"].into_iter().flat_map(|p| sizes.map(|n| (p, n))) {
        let cost = cost(program, ranks);
        // The logarithm to the base 4, rounded up.
        let levels = (1..).find(|level| 4_u32.pow(*level) >= ranks).expect("enough");
        let chain = f64::from(4 * levels + 2);
        assert!(cost.mean_remote <= 4.0 && cost.chain <= chain, "{program} {ranks} {cost:?}");
    }
}

/// Than those of one counter.
#[test]
fn a_barrier_of_64_ranks_is_eight_times_as_fast_and_one_of_1024_fifty_times() {
    for (ranks, times) in [(2, 1), (4, 1), (8, 1), (9, 1), (16, 2), (64, 8), (1024, 50)] {
        let (barrier, counter) = (cost("barrier", ranks), cost("barrier, one counter", ranks));
        assert!(times * barrier.time <= counter.time, "{ranks} {barrier:?} {counter:?}");
    }
}

/// Each rank writes a word of its own.
#[test]
fn locks_that_exclude_no_rank_are_no_reference() {
    let programs = ["lock_all + unlock_all", "exclusive lock + unlock, own target"];
    for (program, ranks) in programs.into_iter().flat_map(|p| RANKS.map(|n| (p, n))) {
        let cost = cost(program, ranks);
        assert!(cost.most_remote == 0.0 && cost.chain == 0.0, "{program} {ranks} {cost:?}");
    }
}

/// Of many ranks: one reference to the lock's tail, two to the node of the rank ahead, one to the own node. A hand-over
/// is two transfers, and the line of the tail makes one for each rank.
#[test]
fn a_passage_of_a_contended_lock_is_four_references_for_any_number_of_ranks() {
    for ranks in [3, 4, 8, 16, 64, 256, 1024] {
        let cost = cost("exclusive lock + unlock, one target", ranks);
        // The ranks that form the queue make up to eight more in all, in four passages.
        let (remote, chain) = (4.0 + 2.0 / f64::from(ranks), 2.5 * f64::from(ranks));
        assert!(cost.mean_remote <= remote && cost.chain <= chain, "{ranks} {cost:?}");
        // Two transfers, and what is done between them.
        let passage = 2 * SERVER.transfer[1] + 45 * SERVER.hit;
        assert!(cost.time <= u64::from(ranks) * passage + SERVER.transfer[2], "{ranks} {cost:?}");
    }
}

/// Post and start are two references for each neighbour, complete and wait two, for any number of ranks.
#[test]
fn what_neighbours_do_does_not_depend_on_the_number_of_ranks() {
    let bounds = [
        ("post, start, complete, wait with neighbours", 4.0, 4.0),
        ("notify the right neighbour, wait for the left", 2.0, 2.0),
        ("message to the right neighbour", 4.0, 4.0),
    ];
    for ((program, remote, chain), ranks) in bounds.into_iter().flat_map(|b| RANKS.map(|n| (b, n)))
    {
        let cost = cost(program, ranks);
        assert!(cost.most_remote <= remote && cost.chain <= chain, "{program} {ranks} {cost:?}");
    }
}

/// Each rank reads what all have staged.
#[test]
fn an_allreduce_reads_what_each_rank_has_staged() {
    for ranks in RANKS {
        let cost = cost("allreduce of 8 B", ranks);
        assert!(cost.mean_remote <= f64::from(ranks) + 8.0, "{ranks} {cost:?}");
    }
}

/// The tables of docs/scaling.md are those of this tree.
#[test]
fn the_published_tables_are_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scaling.md");
    let text = std::fs::read_to_string(path).expect("docs/scaling.md");
    let few = [2, 16];
    let rows = report::rows(&few);
    for row in rows {
        let section = text.split(&format!("### {}\n", row.program)).nth(1).expect(row.program);
        let line = section.lines().find(|line| line.starts_with(&format!("| {},", row.machine)));
        let column = 2 + report::RANKS.iter().position(|ranks| *ranks == row.ranks).expect("it");
        let cell = line.and_then(|line| line.split('|').nth(column)).map(str::trim);
        assert_eq!(cell, Some(&*report::time(row.cost.time)), "{} {}", row.program, row.machine);
    }
}
