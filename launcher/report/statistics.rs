//! What `--stats` prints: how each rank has spent its time, its calls, where it has waited and for which rank, and what
//! ranks have moved to and from each other.

use super::columns;
use super::digest::{self, Shares, percent, time};
use crate::launch::{RankStatistics, Times};

/// Ranks, calls, waits and pairs of ranks that are shown at most.
const MOST_RANKS: usize = 16;
const MOST_CALLS: usize = 20;
const MOST_WAITS: usize = 8;
const MOST_PAIRS: usize = 8;

/// The tables of a job, the ranks in their order.
pub fn table(ranks: &[RankStatistics]) -> String {
    let mut text = shares_table(ranks);
    text += &calls_table(ranks);
    text += &waits_table(ranks);
    text += &pairs_table(ranks);
    if ranks.iter().any(|rank| rank.is_full) {
        text += "  a table was full: its last row has the sum of several\n";
    }
    text
}

fn shares_table(ranks: &[RankStatistics]) -> String {
    let waited_for = digest::waited_for(ranks);
    let mut all: Vec<_> = ranks.iter().map(Shares::of).enumerate().collect();
    let mut text = String::from("how the ranks spent their time");
    if all.len() > MOST_RANKS {
        all.sort_by_key(|(rank, shares)| (shares.waiting, *rank));
        all.truncate(MOST_RANKS);
        text += &format!(" (of {} the {MOST_RANKS} that waited least)", ranks.len());
    }
    let head =
        ["rank", "time", "computing", "moving data", "waiting", "other in calls", "waited for"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(all.iter().map(|(rank, shares)| {
        let share = |part: u64| format!("{:.1} %", percent(part, shares.all));
        let [computing, moving, waiting, other] = shares.parts().map(share);
        let for_it = time_or_none(waited_for[*rank]);
        [rank.to_string(), time(shares.all), computing, moving, waiting, other, for_it]
    }));
    text + "\n" + &indented(&columns(&rows))
}

fn calls_table(ranks: &[RankStatistics]) -> String {
    let sorted = digest::calls(ranks);
    let head = ["call", "window", "times", "bytes", "time", "mean", "longest"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(sorted.iter().take(MOST_CALLS).map(|row| {
        let [all, mean, longest] = times(&row.lasted);
        let bytes = if row.bytes == 0 { "-".to_owned() } else { row.bytes.to_string() };
        let (call, window) = (row.call.to_string(), or_none(row.window));
        [call, window, row.lasted.times.to_string(), bytes, all, mean, longest]
    }));
    let what = shown("calls of all ranks, by the time in them", sorted.len(), MOST_CALLS);
    if sorted.is_empty() { String::new() } else { what + &indented(&columns(&rows)) }
}

fn waits_table(ranks: &[RankStatistics]) -> String {
    let sorted = digest::waits(ranks);
    let head = [
        "in",
        "window",
        "at",
        "ranks",
        "times",
        "time",
        "mean",
        "longest",
        "most: rank",
        "reason",
        "for rank",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(sorted.iter().take(MOST_WAITS).map(|row| {
        let [all, mean, longest] = times(&row.all.lasted);
        let [ranks, times] = [row.ranks.len() as u64, row.all.lasted.times].map(|n| n.to_string());
        let (rank, most) = row.most();
        let [window, line] = [row.window, row.line].map(or_none);
        let reason = row.reason.map_or("-", |reason| reason.name()).to_owned();
        let late = row.all.cause().and_then(|(cause, lasted)| Some((cause.late?, lasted)));
        let late =
            late.map_or("-".to_owned(), |(rank, lasted)| format!("{rank}: {}", time(lasted)));
        let (call, most) = (row.call.to_string(), format!("{rank}: {}", time(most)));
        [call, window, line, ranks, times, all, mean, longest, most, reason, late]
    }));
    let what = shown("waits of all ranks, by their time", sorted.len(), MOST_WAITS);
    if sorted.is_empty() { String::new() } else { what + &indented(&columns(&rows)) }
}

fn pairs_table(ranks: &[RankStatistics]) -> String {
    let sorted = digest::pairs(ranks);
    let head = ["from rank", "to rank", "operations", "bytes"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(sorted.iter().take(MOST_PAIRS).map(|pair| {
        let numbers = [pair.from as u64, pair.to as u64, pair.operations, pair.bytes];
        numbers.map(|number| number.to_string())
    }));
    let what =
        shown("operations and messages between ranks, by their bytes", sorted.len(), MOST_PAIRS);
    if sorted.is_empty() { String::new() } else { what + &indented(&columns(&rows)) }
}

/// The heading of a table with that many rows, of which `most` are shown.
fn shown(what: &str, rows: usize, most: usize) -> String {
    if rows > most { format!("{what} (the first {most} of {rows})\n") } else { format!("{what}\n") }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn time_or_none(nanoseconds: u64) -> String {
    if nanoseconds == 0 { "-".to_owned() } else { time(nanoseconds) }
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("  {line}\n")).collect()
}

/// All together, on average, and the longest.
fn times(lasted: &Times) -> [String; 3] {
    [lasted.nanoseconds, lasted.nanoseconds / lasted.times.max(1), lasted.longest].map(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::report::made_up::rank;

    #[test]
    fn calls_of_all_ranks_are_added_and_waits_sorted() {
        let text = table(&[rank(1_000, 100, 400, 300), rank(2_000_000, 100, 1_900_000, 1_500_000)]);
        let has = |row: &str| assert!(text.contains(row), "{row} in\n{text}");
        has("  0     1.0 us  50.0 %     10.0 %       30.0 %   10.0 %          -\n");
        has("  1     2.0 ms  5.0 %      0.0 %        75.0 %   20.0 %          1.5 ms\n");
        has("  fence  grid    8      -      1.9 ms  237.6 us  1.9 ms");
        has("  put    grid    20     160    200 ns  10 ns     100 ns");
        has("waits of all ranks, by their time\n");
        has("  fence  grid    heat.rs:17  2      6      1.5 ms  250.1 us  1.5 ms   1: 1.5 ms");
        has("  wait at fence  1: 1.5 ms\n");
        has("operations and messages between ranks, by their bytes\n");
        has("  0          1        10          80\n");
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
