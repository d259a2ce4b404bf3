//! Which faults a campaign tries.

use crate::case::{ACTIONS, BLOWS, Blow, Case, HOARD, LOSSES, SEGMENTS, WRAPPERS, What};
use crate::choices::Choices;
use crate::job;
use std::collections::BTreeMap;

pub const SIZES: [u32; 3] = [2, 4, 8];

/// How much a campaign tries.
pub struct Extent {
    /// In jobs that end.
    pub ends: Share,
    /// In jobs that go on.
    pub goes_on: Share,
    /// Of those, with a second death in each phase that comes by each site.
    pub phases: Option<Share>,
    /// Blows to the launcher.
    pub launchers: u64,
    /// Ranks killed, and blows to the launcher, while two ranks hold 4 GiB each.
    pub heavy: u64,
}

/// What is tried in jobs of one kind.
pub struct Share {
    /// For each site, action and number of ranks.
    pub each: u64,
    /// One of this many of those at sites; the seed decides which.
    pub one_in: u64,
    /// Jobs in which several ranks die.
    pub several: u64,
    pub ranks_killed: u64,
}

/// How often each rank passes each site, of the sites that it passed in every recording job.
type Passed = BTreeMap<(String, u32), u64>;

fn passed(task: &str, ranks: u32, dies: Option<&str>) -> Passed {
    let run = || {
        let text = job::record(task, ranks, dies);
        let lines = text.lines().filter_map(|line| line.strip_prefix("passed "));
        let one = |line: &str| {
            let [rank, site, times] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("a rank says '{line}'");
            };
            let (rank, times) = (rank.parse().expect("a rank"), times.parse().expect("a count"));
            ((site.to_owned(), rank), times)
        };
        lines.map(one).collect::<Passed>()
    };
    let [first, rest @ ..] = [run(), run(), run()];
    let least = |at: &(String, u32), times: u64| {
        let others = rest.iter().map(|run| run.get(at).copied().unwrap_or_default());
        others.fold(times, u64::min)
    };
    let all = first.into_iter().map(|(at, times)| (at.clone(), least(&at, times)));
    all.filter(|(_, times)| *times > 0).collect()
}

/// By site: which ranks pass it, and how often.
type Sites = BTreeMap<String, Vec<(u32, u64)>>;

fn sites(task: &str, ranks: u32, dies: Option<&str>) -> Sites {
    let mut sites = Sites::new();
    for ((site, rank), times) in passed(task, ranks, dies) {
        sites.entry(site).or_default().push((rank, times));
    }
    sites
}

/// Of all cases of a campaign every `step`-th from `first` on, in the order of the seed.
pub fn cases(extent: &Extent, seed: u64, (first, step): (usize, usize)) -> Vec<Case> {
    let mut choices = Choices(seed);
    let mut cases = Vec::new();
    for ranks in SIZES {
        for (task, share, goes_on) in
            [("record", &extent.ends, false), ("record-survivors", &extent.goes_on, true)]
        {
            let sites = sites(task, ranks, None);
            at_sites(&mut cases, (ranks, goes_on), &sites, share, &mut choices);
            for _ in 0..share.several / SIZES.len() as u64 {
                cases.push(Case { goes_on, ..several(ranks, &sites, &mut choices) });
            }
        }
        if let Some(share) = extent.phases.as_ref().filter(|_| ranks > 2) {
            in_phases(&mut cases, ranks, share, &mut choices);
        }
    }
    cases.extend((0..extent.ends.ranks_killed).map(|_| rank_killed(&mut choices)));
    for k in 0..extent.goes_on.ranks_killed {
        let one = if k % 2 == 0 { rank_killed } else { ranks_killed };
        cases.push(Case { goes_on: true, ..one(&mut choices) });
    }
    for blow in 0..extent.launchers {
        // Every other blow is one that the launcher cannot feel coming.
        let blow = match blow % 4 {
            0 => Blow::KillGuard,
            1 => Blow::KillSupervisor,
            _ => BLOWS[2 + (blow / 4 * 2 + blow % 2) as usize % (BLOWS.len() - 2)].1,
        };
        cases.push(launcher_struck(blow, &mut choices));
    }
    cases.extend((0..extent.heavy).map(|_| heavy(&mut choices)));
    let cases: Vec<Case> = cases.into_iter().skip(first).step_by(step).collect();
    let order = choices.permutation(cases.len() as u64);
    order.into_iter().map(|at| cases[at as usize].clone()).collect()
}

/// Whether no code of the program runs at that site. Inside the allocator, the registry and the release of a
/// lock nothing panics, and a panic there would leave the allocator locked.
fn is_inside(site: &str) -> bool {
    ["Heap", "Space"].iter().any(|place| site.starts_with(place))
        || ["LockCarry", "ParkWaker", "ParkReleased"].contains(&site)
}

fn at_sites(
    cases: &mut Vec<Case>,
    (ranks, goes_on): (u32, bool),
    sites: &Sites,
    share: &Share,
    choices: &mut Choices,
) {
    let actions = if goes_on { &LOSSES[..] } else { &ACTIONS[..] };
    for (site, passed) in sites {
        let can = |action: &&&str| **action != "panic" || !is_inside(site);
        for action in actions.iter().filter(can) {
            for _ in 0..share.each {
                let (rank, times) = passed[choices.below(passed.len() as u64) as usize];
                let nth = 1 + choices.below(times);
                if choices.below(share.one_in) == 0 {
                    let what = What::Site { rank, site: site.clone(), nth, action };
                    cases.push(Case { goes_on, what, ..plain(ranks) });
                }
            }
        }
    }
}

fn plain(ranks: u32) -> Case {
    let what = What::Rank { rank: 0, micros: 0 };
    Case { ranks, wrapper: "plain", segment: "memfd", goes_on: false, what }
}

/// One rank is killed, and another fails in a phase of what the others do before or then: in the
/// creation or release of something, while they find together, mend a window or use it again.
fn in_phases(cases: &mut Vec<Case>, ranks: u32, share: &Share, choices: &mut Choices) {
    let first = choices.below(ranks.into()) as u32;
    let dies = format!("{first}:NotifyPost:1:kill");
    for (site, passed) in sites("record-phases", ranks, Some(&dies)) {
        for _ in 0..share.each {
            let (rank, most) = passed[choices.below(passed.len() as u64) as usize];
            let action = LOSSES[choices.below(LOSSES.len() as u64) as usize];
            let name = site.rsplit('/').next().expect("a site");
            let action = if is_inside(name) { "kill" } else { action };
            let nth = 1 + choices.below(most);
            let faults = format!("{dies},{rank}:{site}:{nth}:{action}");
            if choices.below(share.one_in) == 0 {
                cases.push(Case { goes_on: true, what: What::Several { faults }, ..plain(ranks) });
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
    Case { what, ..plain(ranks) }
}

/// From two ranks to all but one are killed, each at its own time.
pub fn ranks_killed(choices: &mut Choices) -> Case {
    let ranks = SIZES[1 + choices.below(2) as usize];
    let count = 2 + choices.below(u64::from(ranks) - 2) as usize;
    let mut kills: Vec<_> = choices.permutation(ranks.into());
    kills.truncate(count);
    let mut times: Vec<u64> = kills.iter().map(|_| choices.below(200_000)).collect();
    times.sort_unstable();
    let kills: Vec<String> =
        kills.iter().zip(times).map(|(rank, micros)| format!("{rank}@{micros}")).collect();
    let what = What::Ranks { kills: kills.join(",") };
    Case { goes_on: true, what, ..wrapped(ranks, choices) }
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

/// A rank or the launcher of two ranks of 4 GiB, while they take them or when they have them.
pub fn heavy(choices: &mut Choices) -> Case {
    let micros = choices.below(5_000_000);
    let blow = BLOWS.get(choices.below(2 * BLOWS.len() as u64) as usize);
    let (what, goes_on) = match blow {
        Some((_, blow)) => (What::Launcher { blow: *blow, micros }, false),
        None => (What::Rank { rank: choices.below(2) as u32, micros }, choices.below(2) == 0),
    };
    Case { wrapper: HOARD, goes_on, what, ..plain(2) }
}

fn wrapped(ranks: u32, choices: &mut Choices) -> Case {
    let wrapper = WRAPPERS[choices.below(3) as usize];
    // One in four with a segment of another kind.
    let segment = SEGMENTS[(choices.below(8) as usize).saturating_sub(5)];
    Case { wrapper, segment, ..plain(ranks) }
}
