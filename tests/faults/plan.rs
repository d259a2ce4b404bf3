//! Which faults a campaign tries.

use crate::case::{ACTIONS, BLOWS, Blow, Case, SEGMENTS, WRAPPERS, What};
use crate::choices::Choices;
use crate::job;
use std::collections::BTreeMap;

pub const SIZES: [u32; 3] = [2, 4, 8];

/// How much a campaign tries.
pub struct Extent {
    /// For each site, action and number of ranks.
    pub each: u64,
    /// Of those at sites, one in so many; which, the seed decides.
    pub one_in: u64,
    /// Jobs in which several ranks die.
    pub several: u64,
    pub ranks_killed: u64,
    pub launchers: u64,
}

/// How often each rank passes each site, of the sites that it passed in every recording job.
type Passed = BTreeMap<(String, u32), u64>;

fn passed(ranks: u32) -> Passed {
    let runs = [job::record(ranks), job::record(ranks), job::record(ranks)].map(|text| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("passed "));
        let one = |line: &str| {
            let [rank, site, times] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("a rank says '{line}'");
            };
            let (rank, times) = (rank.parse().expect("a rank"), times.parse().expect("a count"));
            ((site.to_owned(), rank), times)
        };
        lines.map(one).collect::<Passed>()
    });
    let [first, rest @ ..] = runs;
    let least = |at: &(String, u32), times: u64| {
        let others = rest.iter().map(|run| run.get(at).copied().unwrap_or_default());
        others.fold(times, u64::min)
    };
    let all = first.into_iter().map(|(at, times)| (at.clone(), least(&at, times)));
    all.filter(|(_, times)| *times > 0).collect()
}

/// The cases of a campaign, in the order of the seed.
pub fn cases(extent: &Extent, seed: u64) -> Vec<Case> {
    let mut choices = Choices(seed);
    let mut cases = Vec::new();
    for ranks in SIZES {
        let mut sites = BTreeMap::new();
        for ((site, rank), times) in passed(ranks) {
            sites.entry(site).or_insert_with(Vec::new).push((rank, times));
        }
        at_sites(&mut cases, ranks, &sites, extent, &mut choices);
        for _ in 0..extent.several / SIZES.len() as u64 {
            cases.push(several(ranks, &sites, &mut choices));
        }
    }
    for _ in 0..extent.ranks_killed {
        cases.push(rank_killed(&mut choices));
    }
    for blow in 0..extent.launchers {
        // Every other blow is one that the launcher cannot feel coming.
        let blow = match blow % 4 {
            0 => Blow::KillGuard,
            1 => Blow::KillSupervisor,
            _ => BLOWS[2 + blow as usize / 2 % (BLOWS.len() - 2)].1,
        };
        cases.push(launcher_struck(blow, &mut choices));
    }
    let order = choices.permutation(cases.len() as u64);
    order.into_iter().map(|at| cases[at as usize].clone()).collect()
}

/// By site: which ranks pass it, and how often.
type Sites = BTreeMap<String, Vec<(u32, u64)>>;

fn at_sites(
    cases: &mut Vec<Case>,
    ranks: u32,
    sites: &Sites,
    extent: &Extent,
    choices: &mut Choices,
) {
    for (site, passed) in sites {
        // No code of the program runs inside the allocator or the release of a lock, so that
        // nothing panics there; and who did would keep the allocator from itself.
        let inside = site.starts_with("Heap") || ["LockCarry", "ParkWaker"].contains(&&**site);
        let can = |action: &&&str| **action != "panic" || !inside;
        for action in ACTIONS.iter().filter(can) {
            for _ in 0..extent.each {
                let (rank, times) = passed[choices.below(passed.len() as u64) as usize];
                let nth = 1 + choices.below(times);
                if choices.below(extent.one_in) == 0 {
                    let what = What::Site { rank, site: site.clone(), nth, action };
                    cases.push(Case { ranks, wrapper: "plain", segment: "memfd", what });
                }
            }
        }
    }
}

/// From two ranks to all of them die at the same site, or each at its own.
fn several(ranks: u32, sites: &Sites, choices: &mut Choices) -> Case {
    let names: Vec<&String> = sites.keys().collect();
    let (together, any) = (choices.below(2) == 0, choices.below(names.len() as u64) as usize);
    let victims = choices.permutation(ranks.into());
    let count = 2 + choices.below(u64::from(ranks) - 1) as usize;
    let mut faults = Vec::new();
    for victim in &victims[..count] {
        let at = if together { any } else { choices.below(names.len() as u64) as usize };
        let passed = sites[names[at]].iter().find(|(rank, _)| u64::from(*rank) == *victim);
        // All meet everywhere, but only some allocate.
        let (site, times) = passed.map_or(("FencePre", 1), |(_, times)| (names[at], *times));
        faults.push(format!("{victim}:{site}:{}:kill", 1 + choices.below(times)));
    }
    let what = What::Several { faults: faults.join(",") };
    Case { ranks, wrapper: "plain", segment: "memfd", what }
}

/// A rank is killed while the job starts, or while it runs.
pub fn rank_killed(choices: &mut Choices) -> Case {
    let ranks = SIZES[choices.below(3) as usize];
    let until = if choices.below(3) == 0 { 5_000 } else { 80_000 };
    let micros = choices.below(until);
    let rank = choices.below(ranks.into()) as u32;
    Case { what: What::Rank { rank, micros }, ..wrapped(ranks, choices) }
}

/// Half of the blows fall within the first five milliseconds.
pub fn launcher_struck(blow: Blow, choices: &mut Choices) -> Case {
    let ranks = SIZES[choices.below(3) as usize];
    let until = if choices.below(2) == 0 { 5_000 } else { 80_000 };
    let micros = choices.below(until);
    Case { what: What::Launcher { blow, micros }, ..wrapped(ranks, choices) }
}

fn wrapped(ranks: u32, choices: &mut Choices) -> Case {
    let wrapper = WRAPPERS[choices.below(3) as usize];
    // One in four with a segment of another kind.
    let segment = SEGMENTS[(choices.below(8) as usize).saturating_sub(5)];
    Case { ranks, wrapper, segment, what: What::Rank { rank: 0, micros: 0 } }
}
