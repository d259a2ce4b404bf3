//! The report about waiting ranks: in a deadlock, and by `--status`.

use crate::Call;
use crate::launch::{Awaited, AwaitedKind, AwaitedRead};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

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
/// Most lines about waiting ranks. If there are more, lines that differ only in the awaited rank are one.
const MOST_LINES: usize = 16;

/// Which rank waits for which. A line about one rank finds here what it needs of the others, without a
/// loop over all: jobs have thousands of ranks.
pub struct WaitGraph<'a> {
    deadlock: &'a Deadlock,
    /// The ranks that wait in each collective.
    there: HashMap<Option<Collective>, HashSet<u32>>,
    /// For each waiting rank, the known ranks that must act before it can continue.
    needs: HashMap<u32, Rc<[u32]>>,
    /// The index in `waiting` of each rank.
    places: HashMap<u32, usize>,
}

/// A collective: its kind, the place of its words, and its number there.
type Collective = (AwaitedKind, u64, u64);

impl Deadlock {
    /// Which rank waits for which.
    pub fn graph(&self) -> WaitGraph<'_> {
        let mut there: HashMap<_, HashSet<u32>> = HashMap::new();
        let mut places = HashMap::new();
        for (at, rank) in self.waiting.iter().enumerate() {
            places.insert(rank.rank, at);
            if let Some(collective) = collective_of(&rank.awaited) {
                there.entry(Some(collective)).or_default().insert(rank.rank);
            }
        }
        let mut graph = WaitGraph { deadlock: self, there, needs: HashMap::new(), places };
        // Ranks in the same barrier need the same ranks.
        let mut shared: HashMap<_, Rc<[u32]>> = HashMap::new();
        for rank in &self.waiting {
            let read = || graph.read_needs(rank);
            let needs = match rank.awaited.kind {
                AwaitedKind::Arrival => {
                    let AwaitedRead { come, awaited, others, .. } = &rank.awaited;
                    let collective = (collective_of(&rank.awaited), *come, *awaited, others.len());
                    shared.entry(collective).or_insert_with(read).clone()
                }
                _ => read(),
            };
            graph.needs.insert(rank.rank, needs);
        }
        graph
    }

    /// Only the ranks whose wait needs a rank that has left the job, if there are any.
    pub fn of_those_that_need_who_left(self) -> Option<Deadlock> {
        let graph = self.graph();
        let needs_one = |rank: &&Waiting| graph.needs(rank).iter().any(|r| graph.has_left(r));
        let waiting: Vec<Waiting> = self.waiting.iter().filter(needs_one).cloned().collect();
        (!waiting.is_empty()).then_some(Deadlock { waiting, ..self })
    }

    /// The message, with a line for each waiting rank. `end` is the consequence for the job.
    pub fn lines(&self, end: &str) -> String {
        let graph = self.graph();
        let mut text = match self.is_suspected {
            false => format!("deadlock: {}; {end}", graph.heart()),
            true => format!(
                "deadlock suspected: {}; only the handler of a signal could wake one; {end}",
                graph.heart()
            ),
        };
        let mut lines = graph.sentences(|rank| graph.sentence(rank));
        if lines.len() > MOST_LINES {
            lines = graph.sentences(|rank| graph.sentence_of_many(rank));
        }
        let hidden: usize = lines.iter().skip(MOST_LINES).map(|line| line.ranks.len()).sum();
        for Line { ranks, place, what, peers } in lines.iter().take(MOST_LINES) {
            let (waits, whom) = match (ranks.len(), peers.len()) {
                (1, _) => ("waits", named(peers)),
                (_, 0 | 1) => ("wait", named(peers)),
                _ => ("wait, each", format!("one of {}", named(peers))),
            };
            text += &format!("\n{} {place}{waits} for {}", named(ranks), what.replace(PEER, &whom));
        }
        if hidden > 0 {
            text += &format!("\n{hidden} more ranks wait for something else each");
        }
        text
    }
}

/// A line of the report: what one or more ranks wait for.
struct Line {
    ranks: Vec<u32>,
    /// The call and its window; empty for an unknown call.
    place: String,
    /// Contains [`PEER`] in the place of `peers`, if there are any.
    what: String,
    peers: Vec<u32>,
}

/// Stands for the awaited rank in a line of ranks that wait for different ones.
const PEER: &str = "\u{0}";

impl WaitGraph<'_> {
    /// The known ranks that must act before `rank` can continue.
    fn needs(&self, rank: &Waiting) -> &[u32] {
        self.needs.get(&rank.rank).map_or(&[], |needs| needs)
    }

    fn read_needs(&self, rank: &Waiting) -> Rc<[u32]> {
        let awaited = &rank.awaited;
        match awaited.kind {
            AwaitedKind::Arrival => self.missing(awaited).unwrap_or_default().into(),
            AwaitedKind::Post | AwaitedKind::Message | AwaitedKind::Receipt => {
                awaited.peer.into_iter().collect()
            }
            // Only the number of arrivals is known, not the ranks; so all or none.
            AwaitedKind::Complete if awaited.come == 0 => awaited.others[..].into(),
            AwaitedKind::Collective => awaited.others[..].into(),
            AwaitedKind::Lock | AwaitedKind::LockAll => awaited.holder.into_iter().collect(),
            _ => [].into(),
        }
    }

    /// The ranks that have not arrived where others wait, if that is certain: some may have arrived
    /// without waiting.
    fn missing(&self, awaited: &AwaitedRead) -> Option<Vec<u32>> {
        let there = self.there.get(&collective_of(awaited));
        let is_there = |rank: &u32| there.is_some_and(|there| there.contains(rank));
        let missing: Vec<u32> =
            awaited.others.iter().copied().filter(|rank| !is_there(rank)).collect();
        let number = awaited.awaited.saturating_sub(awaited.come);
        (missing.len() == number as usize).then_some(missing)
    }

    /// Whether a rank has left the job.
    fn has_left(&self, rank: &u32) -> bool {
        self.deadlock.left.binary_search(rank).is_ok()
    }

    /// The lines of the report: ranks with the same place and sentence share one.
    fn sentences(&self, describe: impl Fn(&Waiting) -> (String, Option<u32>)) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut found: HashMap<(String, String), usize> = HashMap::new();
        for rank in &self.deadlock.waiting {
            let place = match rank.call {
                Call::None => String::new(),
                _ => format!("{} ", rank.place()),
            };
            let (what, peer) = describe(rank);
            let at = *found.entry((place.clone(), what.clone())).or_insert(lines.len());
            if at == lines.len() {
                lines.push(Line { ranks: Vec::new(), place, what, peers: Vec::new() });
            }
            lines[at].ranks.push(rank.rank);
            lines[at].peers.extend(peer);
        }
        for line in &mut lines {
            line.peers.sort_unstable();
            line.peers.dedup();
        }
        lines
    }

    /// Which rank waits for which.
    fn heart(&self) -> String {
        let Deadlock { waiting, left, .. } = self.deadlock;
        if let Some(cycle) = self.cycle() {
            return self.round(&cycle);
        }
        let who_left = |waiting: &Waiting| {
            let left = self.needs(waiting).iter().find(|rank| self.has_left(rank))?;
            Some(format!("rank {} waits for rank {left}, which has left the job", waiting.rank))
        };
        if let Some(text) = waiting.iter().find_map(who_left) {
            return text;
        }
        let ranks: Vec<u32> = waiting.iter().map(|rank| rank.rank).collect();
        match (&ranks[..], &left[..]) {
            ([only], []) => format!("rank {only} waits, and no other can wake it"),
            ([only], left) => format!("rank {only} waits, and {} left the job", have(left)),
            (all, []) => format!("all {} ranks wait, and none can be woken by another", all.len()),
            (all, left) => format!("{} wait, and {} left the job", named(all), have(left)),
        }
    }

    /// The sentence about a cycle.
    fn round(&self, cycle: &[u32]) -> String {
        let rank = |rank: &u32| format!("rank {rank}");
        let whom =
            |ranks: &[u32]| ranks.iter().map(rank).collect::<Vec<_>>().join(", which waits for ");
        let text = match cycle {
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
        let collective = cycle.iter().filter_map(|rank| self.waiting(*rank));
        let collective: Option<HashSet<_>> =
            collective.map(|w| collective_of(&w.awaited)).collect();
        let disagree = collective.is_some_and(|collective| collective.len() > 1);
        text + if disagree { " (in different collectives)" } else { "" }
    }

    /// That rank, if it waits.
    pub fn waiting(&self, rank: u32) -> Option<&Waiting> {
        self.places.get(&rank).map(|at| &self.deadlock.waiting[*at])
    }

    /// The shortest cycle through the first rank that is on one.
    fn cycle(&self) -> Option<Vec<u32>> {
        let on_one = ranks_on_cycles(&self.deadlock.waiting, &self.needs);
        let first = self.deadlock.waiting.iter().find(|rank| on_one.contains(&rank.rank))?;
        way_back(first.rank, &self.needs)
    }

    fn sentence(&self, rank: &Waiting) -> (String, Option<u32>) {
        let (wants, place) = (self.wants(rank), &rank.awaited.place);
        (if place.is_empty() { wants } else { format!("{wants} ({place})") }, None)
    }

    /// [`WaitGraph::sentence`] with [`PEER`] for the awaited rank, and that rank.
    fn sentence_of_many(&self, rank: &Waiting) -> (String, Option<u32>) {
        let (mut sentence, _) = self.sentence(rank);
        let Some(peer) = rank.awaited.peer.or(rank.awaited.holder) else { return (sentence, None) };
        // "rank 1" is no part of "rank 12".
        let name = format!("rank {peer}");
        let mut from = 0;
        while let Some(at) = sentence[from..].find(&name).map(|at| at + from) {
            let is_whole = !sentence[at + name.len()..].starts_with(|l: char| l.is_ascii_digit());
            if is_whole {
                sentence.replace_range(at..at + name.len(), PEER);
            }
            from = at + if is_whole { PEER.len() } else { name.len() };
        }
        (sentence, Some(peer))
    }

    /// What a rank waits for.
    pub fn wants(&self, rank: &Waiting) -> String {
        let needs = self.needs(rank);
        let left: Vec<u32> = needs.iter().copied().filter(|rank| self.has_left(rank)).collect();
        // Of an arrival those that are missing, if they are known.
        let is_arrival = rank.awaited.kind == AwaitedKind::Arrival;
        let missing = Some(needs).filter(|needs| is_arrival && !needs.is_empty());
        match (needs, &left[..]) {
            (_, []) => rank.what(missing) + &self.elsewhere(rank),
            ([only], _) if collective_of(&rank.awaited).is_some() => {
                format!("{}, which has left the job", named(&[*only]))
            }
            ([_], _) => format!("{}, which has left the job", rank.what(None)),
            (_, some) => format!("{}, of which {} left the job", rank.what(missing), have(some)),
        }
    }

    /// For a rank in a collective, the other calls in which its awaited ranks wait.
    fn elsewhere(&self, rank: &Waiting) -> String {
        if rank.awaited.kind != AwaitedKind::Collective {
            return String::new();
        }
        let others = rank.awaited.others.iter().filter_map(|other| self.waiting(*other));
        let is_elsewhere =
            |other: &&Waiting| collective_of(&other.awaited) != collective_of(&rank.awaited);
        let others = others.filter(is_elsewhere).take(WRITTEN_OUT);
        others.map(|other| format!("; rank {} is {}", other.rank, other.place())).collect()
    }
}

/// Identifies the collective in which a rank waits.
fn collective_of(awaited: &AwaitedRead) -> Option<Collective> {
    let meets = matches!(awaited.kind, AwaitedKind::Arrival | AwaitedKind::Collective);
    meets.then_some((awaited.kind, awaited.object, awaited.number))
}

/// The ranks on a cycle: Tarjan's strongly connected components, without recursion.
fn ranks_on_cycles(waiting: &[Waiting], needs: &HashMap<u32, Rc<[u32]>>) -> HashSet<u32> {
    let none: Rc<[u32]> = [].into();
    let of = |rank: u32| needs.get(&rank).unwrap_or(&none);
    let (mut number, mut low): (HashMap<u32, u32>, HashMap<u32, u32>) = Default::default();
    let (mut open, mut is_open, mut found) = (Vec::new(), HashSet::new(), HashSet::new());
    for start in waiting {
        let mut way = if number.contains_key(&start.rank) { vec![] } else { vec![(start.rank, 0)] };
        while let Some((rank, next)) = way.pop() {
            if next == 0 {
                let count = number.len() as u32;
                number.insert(rank, count);
                low.insert(rank, count);
                open.push(rank);
                is_open.insert(rank);
            } else {
                // It comes back from the rank before `next`.
                let below = low[&of(rank)[next - 1]];
                low.entry(rank).and_modify(|own| *own = below.min(*own));
            }
            let mut at = next;
            let unseen = loop {
                let Some(other) = of(rank).get(at) else { break false };
                match number.get(other) {
                    None => break true,
                    Some(seen) if is_open.contains(other) => {
                        low.entry(rank).and_modify(|own| *own = (*seen).min(*own));
                    }
                    Some(_) => {}
                }
                at += 1;
            };
            if unseen {
                way.extend([(rank, at + 1), (of(rank)[at], 0)]);
            } else if low[&rank] == number[&rank] {
                let first = open.iter().rposition(|one| *one == rank).unwrap_or_default();
                let together = open.split_off(first);
                together.iter().for_each(|one| _ = is_open.remove(one));
                if together.len() > 1 || of(rank).contains(&rank) {
                    found.extend(together);
                }
            }
        }
    }
    found
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
            AwaitedKind::Value => {
                format!("a write to displacement {number} of the part of {}", rank(peer))
            }
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
            AwaitedKind::Partitions => {
                let AwaitedRead { come, awaited, .. } = &self.awaited;
                let left = awaited.saturating_sub(*come);
                format!(
                    "{left} of {awaited} partitions of its message to {rank}{} to be handed over",
                    tagged(*number)
                )
            }
            _ => self.requests(),
        }
    }
}

impl Waiting {
    /// The requests that it waits for, of which one is enough.
    fn requests(&self) -> String {
        let AwaitedRead { kind, others, awaited, .. } = &self.awaited;
        let by_program = *kind == AwaitedKind::Program;
        match (awaited, by_program) {
            (0, _) => "one of several messages".to_owned(),
            (1, true) => "the program to complete its generalized request".to_owned(),
            (_, true) => format!("one of {awaited} requests, of which the program completes some"),
            (1, false) if others.is_empty() => "its request".to_owned(),
            (1, false) => format!("its request, which {} can complete", named(others)),
            (_, false) if others.is_empty() => format!("one of {awaited} requests"),
            (_, false) => {
                format!("one of {awaited} requests, which {} can complete", named(others))
            }
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
fn way_back(start: u32, needs: &HashMap<u32, Rc<[u32]>>) -> Option<Vec<u32>> {
    let mut from: HashMap<u32, u32> = HashMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for to in needs.get(&at).into_iter().flat_map(|needs| needs.iter()) {
            if *to == start {
                let mut way = vec![at];
                while let Some(before) = way.last().filter(|rank| **rank != start) {
                    way.push(from[before]);
                }
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(to) {
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
