//! What `--stats` prints: how each rank has spent its time, its calls, and where it has waited.

use super::columns;
use crate::Call;
use crate::launch::{RankStatistics, Times, WaitStatistics};
use std::collections::BTreeMap;

/// Ranks, calls and waits that are shown at most.
const MOST_RANKS: usize = 16;
const MOST_CALLS: usize = 20;
const MOST_WAITS: usize = 8;

/// The time of a rank, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    all: u64,
    computing: u64,
    moving: u64,
    waiting: u64,
    other: u64,
}

/// The tables of a job, the ranks in their order.
pub fn table(ranks: &[RankStatistics]) -> String {
    let mut text = shares_table(ranks);
    text += &calls_table(ranks);
    text += &waits_table(ranks);
    if ranks.iter().any(|rank| rank.is_full) {
        text += "  a table was full: its last row has the sum of several\n";
    }
    text
}

/// Whether a call moves data and waits for no rank, unless a lock of the library is held.
fn moves(call: Call) -> bool {
    matches!(
        call,
        Call::Put
            | Call::Get
            | Call::Accumulate
            | Call::GetAccumulate
            | Call::FetchAndOp
            | Call::CompareAndSwap
            | Call::Rput
            | Call::Rget
            | Call::Raccumulate
            | Call::RgetAccumulate
            | Call::PutNotify
            | Call::GetNotify
            | Call::AccumulateNotify
            | Call::LocalAccess
            | Call::SharedAccess
    )
}

impl Shares {
    fn of(rank: &RankStatistics) -> Shares {
        let sum = |is_one: fn(Call) -> bool| -> u64 {
            let calls = rank.calls.iter().filter(|one| is_one(one.call));
            let waits = rank.waits.iter().filter(|one| is_one(one.call));
            let waited: u64 = waits.map(|one| one.lasted.nanoseconds).sum();
            calls.map(|one| one.lasted.nanoseconds).sum::<u64>().saturating_sub(waited)
        };
        let (moving, other) = (sum(moves), sum(|call| !moves(call)));
        let waiting = rank.waits.iter().map(|one| one.lasted.nanoseconds).sum();
        // Several threads of a rank may be in calls at the same time.
        let all = rank.nanoseconds.max(moving + waiting + other);
        Shares { all, computing: all - moving - waiting - other, moving, waiting, other }
    }
}

fn shares_table(ranks: &[RankStatistics]) -> String {
    let mut all: Vec<_> = ranks.iter().map(Shares::of).enumerate().collect();
    let mut text = String::from("how the ranks spent their time");
    if all.len() > MOST_RANKS {
        all.sort_by_key(|(rank, shares)| (shares.waiting, *rank));
        all.truncate(MOST_RANKS);
        text += &format!(" (of {} the {MOST_RANKS} that waited least)", ranks.len());
    }
    let head = ["rank", "time", "computing", "moving data", "waiting", "other in calls"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(all.iter().map(|(rank, shares)| {
        let share = |part: u64| format!("{:.1} %", 100.0 * part as f64 / shares.all.max(1) as f64);
        let [computing, moving, waiting, other] =
            [shares.computing, shares.moving, shares.waiting, shares.other].map(share);
        [rank.to_string(), time(shares.all), computing, moving, waiting, other]
    }));
    text + "\n" + &indented(&columns(&rows))
}

fn calls_table(ranks: &[RankStatistics]) -> String {
    let mut all: BTreeMap<(&str, &str), (Times, u64)> = BTreeMap::new();
    for one in ranks.iter().flat_map(|rank| &rank.calls) {
        let (lasted, bytes) = all.entry((one.call.name(), &one.window)).or_default();
        (*lasted, *bytes) = (lasted.and(one.lasted), *bytes + one.bytes);
    }
    let mut sorted: Vec<_> = all.into_iter().collect();
    sorted.sort_by_key(|(_, (lasted, _))| std::cmp::Reverse(lasted.nanoseconds));
    let head = ["call", "window", "times", "bytes", "time", "mean", "longest"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(sorted.iter().take(MOST_CALLS).map(|((call, window), (lasted, bytes))| {
        let [all, mean, longest] = times(lasted);
        let bytes = if *bytes == 0 { "-".to_owned() } else { bytes.to_string() };
        [call.to_string(), or_none(window), lasted.times.to_string(), bytes, all, mean, longest]
    }));
    let what = shown("calls of all ranks, by the time in them", sorted.len(), MOST_CALLS);
    if sorted.is_empty() { String::new() } else { what + &indented(&columns(&rows)) }
}

/// The waits in one line of the program.
#[derive(Default)]
struct LineWaits {
    lasted: Times,
    ranks: usize,
    /// The rank that has waited there the longest, and for how long.
    most: (usize, u64),
}

fn waits_table(ranks: &[RankStatistics]) -> String {
    let mut all: BTreeMap<(&str, &str, &str), LineWaits> = BTreeMap::new();
    for (rank, one) in ranks.iter().enumerate() {
        for WaitStatistics { call, window, line, lasted, .. } in &one.waits {
            let at = all.entry((call.name(), window, line)).or_default();
            (at.lasted, at.ranks) = (at.lasted.and(*lasted), at.ranks + 1);
            if lasted.nanoseconds > at.most.1 {
                at.most = (rank, lasted.nanoseconds);
            }
        }
    }
    let mut sorted: Vec<_> = all.into_iter().collect();
    sorted.sort_by_key(|(_, at)| std::cmp::Reverse(at.lasted.nanoseconds));
    let head = ["in", "window", "at", "ranks", "times", "time", "mean", "longest", "most: rank"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(sorted.iter().take(MOST_WAITS).map(|((call, window, line), at)| {
        let [all, mean, longest] = times(&at.lasted);
        let [ranks, times] = [at.ranks.to_string(), at.lasted.times.to_string()];
        let most = format!("{}: {}", at.most.0, time(at.most.1));
        let [window, line] = [window, line].map(|text| or_none(text));
        [(*call).to_owned(), window, line, ranks, times, all, mean, longest, most]
    }));
    let what = shown("waits of all ranks, by their time", sorted.len(), MOST_WAITS);
    if sorted.is_empty() { String::new() } else { what + &indented(&columns(&rows)) }
}

/// The heading of a table with that many rows, of which `most` are shown.
fn shown(what: &str, rows: usize, most: usize) -> String {
    if rows > most { format!("{what} (the first {most} of {rows})\n") } else { format!("{what}\n") }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("  {line}\n")).collect()
}

/// All together, on average, and the longest.
fn times(lasted: &Times) -> [String; 3] {
    [lasted.nanoseconds, lasted.nanoseconds / lasted.times.max(1), lasted.longest].map(time)
}

fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{AwaitedKind, CallStatistics};

    fn lasted(times: u64, nanoseconds: u64) -> Times {
        Times { times, nanoseconds, longest: nanoseconds }
    }

    fn rank(nanoseconds: u64, put: u64, fence: u64, waited: u64) -> RankStatistics {
        let call =
            |call, lasted, bytes| CallStatistics { call, window: "grid".into(), lasted, bytes };
        let line = "heat.rs:17".to_owned();
        let (call_of, window, lasted_of) = (Call::Fence, "grid".to_owned(), lasted(3, waited));
        let (awaited, causes) = (AwaitedKind::Arrival, Vec::new());
        let wait =
            WaitStatistics { call: call_of, window, line, awaited, lasted: lasted_of, causes };
        let calls =
            vec![call(Call::Put, lasted(10, put), 80), call(Call::Fence, lasted(4, fence), 0)];
        RankStatistics { nanoseconds, calls, waits: vec![wait], ..RankStatistics::default() }
    }

    #[test]
    fn the_parts_of_a_ranks_time_add_up() {
        let shares = Shares::of(&rank(1_000, 100, 400, 300));
        assert_eq!(
            shares,
            Shares { all: 1_000, computing: 500, moving: 100, waiting: 300, other: 100 }
        );
        // Two threads in calls at once.
        let shares = Shares::of(&rank(300, 100, 400, 300));
        assert_eq!((shares.all, shares.computing), (500, 0));
    }

    #[test]
    fn calls_of_all_ranks_are_added_and_waits_sorted() {
        let text = table(&[rank(1_000, 100, 400, 300), rank(2_000_000, 100, 1_900_000, 1_500_000)]);
        let has = |row: &str| assert!(text.contains(row), "{row} in\n{text}");
        has("  0     1.0 us  50.0 %     10.0 %       30.0 %   10.0 %");
        has("  fence  grid    8      -      1.9 ms  237.6 us  1.9 ms");
        has("  put    grid    20     160    200 ns  10 ns     100 ns");
        has("waits of all ranks, by their time\n");
        has("  fence  grid    heat.rs:17  2      6      1.5 ms  250.1 us  1.5 ms   1: 1.5 ms");
    }

    #[test]
    fn many_ranks_are_cut_to_those_that_waited_least() {
        let ranks: Vec<_> = (0..40).map(|k| rank(1_000, 0, 500, 400 - 10 * k)).collect();
        let text = table(&ranks);
        assert!(
            text.starts_with("how the ranks spent their time (of 40 the 16 that waited least)\n")
        );
        assert!(text.contains("\n  39 ") && !text.contains("\n  20 "), "{text}");
    }
}
