//! The report about waiting ranks: in a deadlock, and by `--status`.

use onesided::Call;
use onesided::launch::{Awaited, AwaitedKind, AwaitedRead};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub rank: u32,
    /// The number of its sleep.
    pub sleep: u32,
    pub call: Call,
    pub window: Option<String>,
    pub awaited: AwaitedRead,
}

/// Waiting ranks that will never be woken, unless that is only suspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// In ascending order.
    pub waiting: Vec<Waiting>,
    /// Ranks that have left the job.
    pub left: Vec<u32>,
    /// Ranks of the job.
    pub ranks: u32,
    /// The handler of a signal might still wake one.
    pub is_suspected: bool,
}

/// The name of an unknown awaited rank.
const ANOTHER: &str = "another rank";
/// Most runs of ranks in a list of them.
const MOST_RUNS: usize = 8;
/// The longest cycle that is written out.
const WRITTEN_OUT: usize = 6;

impl Deadlock {
    /// The known ranks that must act before `rank` can continue.
    fn needs(&self, rank: &Waiting) -> Vec<u32> {
        let awaited = &rank.awaited;
        match awaited.kind {
            AwaitedKind::Arrival => self.missing(awaited).unwrap_or_default(),
            AwaitedKind::Post | AwaitedKind::Message | AwaitedKind::Receipt => {
                awaited.peer.into_iter().collect()
            }
            // Only the number of arrivals is known, not the ranks; so all or none.
            AwaitedKind::Complete if awaited.come == 0 => awaited.others.clone(),
            AwaitedKind::Collective => awaited.others.clone(),
            AwaitedKind::Lock | AwaitedKind::LockAll => awaited.holder.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The ranks that have not arrived where others wait, if that is certain: some may have arrived
    /// without waiting.
    fn missing(&self, awaited: &AwaitedRead) -> Option<Vec<u32>> {
        let there = self.waiting.iter().filter(|rank| met_at(&rank.awaited) == met_at(awaited));
        let there: HashSet<u32> = there.map(|rank| rank.rank).collect();
        let missing: Vec<u32> =
            awaited.others.iter().copied().filter(|rank| !there.contains(rank)).collect();
        let number = awaited.awaited.saturating_sub(awaited.come);
        (missing.len() == number as usize).then_some(missing)
    }

    /// Only the ranks whose wait needs a rank that has left the job, if there are any.
    pub fn of_those_that_need_who_left(self) -> Option<Deadlock> {
        let needs_one = |rank: &&Waiting| self.needs(rank).iter().any(|r| self.left.contains(r));
        let waiting: Vec<Waiting> = self.waiting.iter().filter(needs_one).cloned().collect();
        (!waiting.is_empty()).then_some(Deadlock { waiting, ..self })
    }

    /// The message, with a line for each waiting rank. `end` is the consequence for the job.
    pub fn lines(&self, end: &str) -> String {
        let mut text = match self.is_suspected {
            false => format!("deadlock: {}; {end}", self.heart()),
            true => format!(
                "deadlock suspected: {}; only the handler of a signal could wake one; {end}",
                self.heart()
            ),
        };
        let mut same: Vec<(Vec<u32>, String, String)> = Vec::new();
        for rank in &self.waiting {
            // An unknown call is left out.
            let place = match rank.call {
                Call::None => String::new(),
                _ => format!("{} ", rank.place()),
            };
            let what = self.sentence(rank);
            match same.iter_mut().find(|(_, p, w)| (p, w) == (&place, &what)) {
                Some((ranks, ..)) => ranks.push(rank.rank),
                None => same.push((vec![rank.rank], place, what)),
            }
        }
        for (ranks, place, what) in same {
            let waits = if ranks.len() == 1 { "waits" } else { "wait" };
            text += &format!("\n{} {place}{waits} for {what}", named(&ranks));
        }
        text
    }

    /// Which rank waits for which.
    fn heart(&self) -> String {
        let rank = |rank: &u32| format!("rank {rank}");
        let whom =
            |ranks: &[u32]| ranks.iter().map(rank).collect::<Vec<_>>().join(", which waits for ");
        if let Some(cycle) = self.cycle() {
            let text = match &cycle[..] {
                [only] => format!("rank {only} waits for itself"),
                [first, others @ ..] if cycle.len() <= WRITTEN_OUT => {
                    let others = [others, &[*first]].concat();
                    format!("rank {first} waits for {}", whom(&others))
                }
                [first, others @ ..] => format!(
                    "rank {first} waits for {}, and so on round {} ranks",
                    whom(&others[..2]),
                    cycle.len()
                ),
                [] => unreachable!("a cycle has a rank"),
            };
            let met = self.waiting.iter().filter(|w| cycle.contains(&w.rank));
            let met: Option<HashSet<_>> = met.map(|w| met_at(&w.awaited)).collect();
            let disagree = met.is_some_and(|met| met.len() > 1);
            return text + if disagree { " (in different collectives)" } else { "" };
        }
        let who_left = |waiting: &Waiting| {
            let left = self.needs(waiting).into_iter().find(|rank| self.left.contains(rank))?;
            Some(format!("rank {} waits for rank {left}, which has left the job", waiting.rank))
        };
        if let Some(text) = self.waiting.iter().find_map(who_left) {
            return text;
        }
        let ranks: Vec<u32> = self.waiting.iter().map(|rank| rank.rank).collect();
        match (&ranks[..], &self.left[..]) {
            ([only], []) => format!("rank {only} waits, and no other can wake it"),
            ([only], left) => format!("rank {only} waits, and {} left the job", have(left)),
            (all, []) => format!("all {} ranks wait, and none can be woken by another", all.len()),
            (all, left) => format!("{} wait, and {} left the job", named(all), have(left)),
        }
    }

    /// The shortest cycle through the first rank that is on one.
    fn cycle(&self) -> Option<Vec<u32>> {
        let needs: HashMap<u32, Vec<u32>> =
            self.waiting.iter().map(|rank| (rank.rank, self.needs(rank))).collect();
        self.waiting.iter().find_map(|rank| way_back(rank.rank, &needs))
    }

    fn sentence(&self, rank: &Waiting) -> String {
        let (wants, place) = (self.wants(rank), &rank.awaited.place);
        if place.is_empty() { wants } else { format!("{wants} ({place})") }
    }

    /// What a rank waits for.
    pub fn wants(&self, rank: &Waiting) -> String {
        let needs = self.needs(rank);
        let left: Vec<u32> = needs.iter().copied().filter(|r| self.left.contains(r)).collect();
        let is_arrival = rank.awaited.kind == AwaitedKind::Arrival;
        let missing = if is_arrival { self.missing(&rank.awaited) } else { None };
        match (&needs[..], &left[..]) {
            (_, []) => rank.what(missing.as_deref()) + &self.elsewhere(rank),
            ([only], _) if met_at(&rank.awaited).is_some() => {
                format!("{}, which has left the job", named(&[*only]))
            }
            ([_], _) => format!("{}, which has left the job", rank.what(None)),
            (_, some) => {
                format!("{}, of which {} left the job", rank.what(missing.as_deref()), have(some))
            }
        }
    }

    /// For a rank in a collective, the other calls in which its awaited ranks wait.
    fn elsewhere(&self, rank: &Waiting) -> String {
        if rank.awaited.kind != AwaitedKind::Collective {
            return String::new();
        }
        let is_elsewhere = |other: &&Waiting| {
            rank.awaited.others.contains(&other.rank)
                && met_at(&other.awaited) != met_at(&rank.awaited)
        };
        let others = self.waiting.iter().filter(is_elsewhere).take(WRITTEN_OUT);
        others.map(|other| format!("; rank {} is {}", other.rank, other.place())).collect()
    }
}

/// Identifies the collective in which a rank waits.
fn met_at(awaited: &AwaitedRead) -> Option<(AwaitedKind, u64, u64)> {
    let meets = matches!(awaited.kind, AwaitedKind::Arrival | AwaitedKind::Collective);
    meets.then_some((awaited.kind, awaited.meeting, awaited.number))
}

impl Waiting {
    /// "in fence on window 'halo'"
    pub fn place(&self) -> String {
        match &self.window {
            Some(window) => format!("in {} on window '{window}'", self.call),
            None => format!("in {}", self.call),
        }
    }

    /// What it waits for; `missing` are the ranks that have not arrived, if known.
    pub fn what(&self, missing: Option<&[u32]>) -> String {
        let AwaitedRead { peer, holder, others, come, awaited, number, .. } = &self.awaited;
        let rank = |rank: &Option<u32>| match rank {
            Some(rank) => format!("rank {rank}"),
            None => ANOTHER.to_owned(),
        };
        match self.awaited.kind {
            AwaitedKind::Arrival => match missing {
                Some(missing) if !missing.is_empty() => format!("{} to arrive", named(missing)),
                _ => format!("{} of {awaited} ranks to arrive", awaited.saturating_sub(*come)),
            },
            AwaitedKind::Post => format!("a post by {}", rank(peer)),
            AwaitedKind::Complete if others.len() == 1 => {
                format!("a complete by {}", named(others))
            }
            AwaitedKind::Complete => {
                let left = awaited.saturating_sub(*come);
                // An empty list means that the ranks did not fit into the record.
                let whom = if others.is_empty() { String::new() } else { named(others) };
                let by = if whom.is_empty() { "" } else { ", by " };
                format!("{left} of {awaited} completes{by}{whom}")
            }
            AwaitedKind::Lock => {
                let holder = match holder {
                    Some(holder) => format!("held exclusively by rank {holder}"),
                    None => "held by others".to_owned(),
                };
                format!("the lock of {}, {holder}", rank(peer))
            }
            AwaitedKind::LockAllEnds => {
                format!("the lock of {}, held by others in lock_all", rank(peer))
            }
            AwaitedKind::LockAll => match holder {
                Some(holder) => format!("a lock held exclusively by rank {holder}"),
                None => "a lock held exclusively by another rank".to_owned(),
            },
            AwaitedKind::Notification => {
                let noun = if *awaited == 1 { "notification" } else { "notifications" };
                format!("{awaited} {noun} of counter {number}, of which {come} have come")
            }
            AwaitedKind::Value => match self.call {
                Call::MutexLock => "its turn".to_owned(),
                Call::QueuePush => "a free place".to_owned(),
                Call::QueuePop => "an item".to_owned(),
                _ => format!("a write to displacement {number} of the part of {}", rank(peer)),
            },
            AwaitedKind::Exclusion => format!("{ANOTHER} that is changing what the library shares"),
            AwaitedKind::Unknown => ANOTHER.to_owned(),
            _ => self.message(),
        }
    }

    /// The message for which it waits: a send, a receive, or a collective made of messages.
    fn message(&self) -> String {
        let AwaitedRead { kind, peer, number, others, .. } = &self.awaited;
        let rank = peer.map_or("any rank".to_owned(), |peer| format!("rank {peer}"));
        match kind {
            AwaitedKind::Message => format!("a message from {rank}{}", tagged(*number)),
            AwaitedKind::Receipt => format!("{rank} to receive its message{}", tagged(*number)),
            AwaitedKind::Collective if others.is_empty() => "other ranks to take part".to_owned(),
            AwaitedKind::Collective => format!("{} to take part", named(others)),
            _ => "one of several messages".to_owned(),
        }
    }
}

/// The tag of the awaited messages; empty for any tag.
fn tagged(tag: u64) -> String {
    if tag == Awaited::ANY { String::new() } else { format!(" with tag {tag}") }
}

fn have(ranks: &[u32]) -> String {
    format!("{} {}", named(ranks), if ranks.len() == 1 { "has" } else { "have" })
}

/// The shortest cycle through `start`.
fn way_back(start: u32, needs: &HashMap<u32, Vec<u32>>) -> Option<Vec<u32>> {
    let mut from: BTreeMap<u32, u32> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for to in needs.get(&at).into_iter().flatten() {
            if *to == start {
                let mut way = vec![at];
                while let Some(before) = way.last().filter(|rank| **rank != start) {
                    way.push(from[before]);
                }
                way.reverse();
                return Some(way);
            }
            if *to != start && !from.contains_key(to) {
                from.insert(*to, at);
                next.push_back(*to);
            }
        }
    }
    None
}

/// "rank 3", "ranks 0 and 2", "ranks 0-4, 6 and 8"; only the first of many.
pub fn named(ranks: &[u32]) -> String {
    if let [only] = ranks {
        return format!("rank {only}");
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let mut parts = Vec::new();
    let hidden = if runs.len() > MOST_RUNS { &runs[MOST_RUNS..] } else { &[] };
    let more: u32 = hidden.iter().map(|(first, last)| last - first + 1).sum();
    for (first, last) in runs.iter().take(MOST_RUNS) {
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.extend([first.to_string(), last.to_string()]),
            _ => parts.push(format!("{first}-{last}")),
        }
    }
    if more != 0 {
        parts.push(format!("{more} more"));
    }
    match &parts[..] {
        [] => "no rank".to_owned(),
        [only] => format!("ranks {only}"),
        [others @ .., last] => format!("ranks {} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
#[path = "deadlock_tests.rs"]
mod tests;
