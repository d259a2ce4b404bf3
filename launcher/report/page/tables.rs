//! The sections of the page: each has a picture where one helps, and a table.

use super::super::digest::{self, Shares, WaitRow, WaitSum, percent, time};
use super::{counted, figures};
use crate::launch::{RankStatistics, WaitCause};
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rows that are shown at most of each table.
const MOST_RANKS: usize = 64;
const MOST_WAITS: usize = 100;
const MOST_PAIRS: usize = 100;
const MOST_CALLS: usize = 100;
const MOST_WINDOWS: usize = 100;
const MOST_LOCKS: usize = 100;

/// A column of a table: its heading, and whether it has numbers.
type Column = (&'static str, bool);

/// A table with the first `most` of some rows, which are in the order that `order` describes. It scrolls in a box of its own.
fn table<const N: usize>(
    columns: [Column; N],
    rows: impl ExactSizeIterator<Item = [String; N]>,
    (most, order): (usize, &str),
) -> Markup {
    let all = rows.len();
    let class = |at: usize| columns[at].1.then_some("number");
    html! {
        @if all > most {
            p.note { "The first " (most) " of " (all) " rows, " (order) "; the others are left out." }
        }
        div.scroll tabindex="0" {
            table {
                thead {
                    tr { @for (at, (name, _)) in columns.iter().enumerate() { th scope="col" class=[class(at)] { (name) } } }
                }
                tbody {
                    @for row in rows.take(most) {
                        tr { @for (at, cell) in row.iter().enumerate() { td class=[class(at)] { (cell) } } }
                    }
                }
            }
        }
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "–".to_owned() } else { text.to_owned() }
}

/// How each rank has spent its time.
pub fn shares(ranks: &[RankStatistics]) -> Markup {
    let waited_for = digest::waited_for(ranks);
    let all: Vec<Shares> = ranks.iter().map(Shares::of).collect();
    let mut sorted: Vec<(usize, Shares)> = all.iter().copied().enumerate().collect();
    if sorted.len() > MOST_RANKS {
        sorted.sort_by_key(|(rank, shares)| (Reverse(waited_for[*rank]), shares.waiting, *rank));
    }
    let columns = [
        ("rank", true),
        ("time", true),
        ("computing", true),
        ("moving data", true),
        ("waiting", true),
        ("other in calls", true),
        ("waited for", true),
    ];
    let rows = sorted.iter().map(|(rank, shares)| {
        let share = |part| format!("{:.1} %", percent(part, shares.all));
        let [computing, moving, waiting, other] = shares.parts().map(share);
        let for_it =
            if waited_for[*rank] == 0 { "–".to_owned() } else { time(waited_for[*rank]) };
        [rank.to_string(), time(shares.all), computing, moving, waiting, other, for_it]
    });
    html! {
        section {
            h2 { "How the ranks spent their time" }
            (figures::shares(&all))
            (table(columns, rows, (MOST_RANKS, "those first for which others waited the longest")))
            p.note { "Waited for: how long other ranks waited for this one, where that is known." }
        }
    }
}

/// Why the ranks have waited, and where.
pub fn waits(ranks: &[RankStatistics]) -> Markup {
    let rows = digest::waits(ranks);
    let mut reasons: BTreeMap<_, u64> = BTreeMap::new();
    for row in &rows {
        *reasons.entry(row.reason).or_default() += row.all.lasted.nanoseconds;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, nanoseconds)| Reverse(*nanoseconds));
    let named: Vec<(&str, u64)> = reasons
        .iter()
        .map(|(reason, lasted)| (reason.map_or("other", |reason| reason.name()), *lasted))
        .collect();
    html! {
        section {
            h2 { "Waits by reason" }
            @if rows.is_empty() {
                p { "No rank waited." }
            } @else {
                (figures::reasons(&named))
                dl.meanings {
                    @for reason in reasons.iter().filter_map(|(reason, _)| *reason) {
                        dt { (reason.name()) }
                        dd { (reason.meaning()) }
                    }
                }
                (waits_table(&rows))
            }
        }
    }
}

fn waits_table(rows: &[WaitRow<'_>]) -> Markup {
    let columns = [
        ("reason", false),
        ("in", false),
        ("window", false),
        ("at", false),
        ("rank", true),
        ("times", true),
        ("sum", true),
        ("longest", true),
        ("most for", false),
    ];
    let mut all: Vec<_> = rows
        .iter()
        .flat_map(|row| row.ranks.iter().map(move |(rank, sum)| (row, *rank, sum)))
        .collect();
    all.sort_by_key(|(_, rank, sum)| (Reverse(sum.lasted.nanoseconds), *rank));
    let cells = all.into_iter().map(|(row, rank, sum)| {
        let reason = row.reason.map_or("other", |reason| reason.name()).to_owned();
        let [window, line] = [row.window, row.line].map(or_none);
        let [all, longest] = [sum.lasted.nanoseconds, sum.lasted.longest].map(time);
        let (call, times) = (row.call.to_string(), sum.lasted.times.to_string());
        [reason, call, window, line, rank.to_string(), times, all, longest, cause(sum)]
    });
    table(columns, cells, (MOST_WAITS, "by their time"))
}

/// The rank that these waits were for the longest.
fn cause(waits: &WaitSum) -> String {
    let Some((WaitCause { late, lock_of }, _)) = waits.cause() else { return "–".to_owned() };
    let lock = lock_of.map(|rank| format!("lock of rank {rank}"));
    let words: Vec<String> =
        late.map(|rank| format!("rank {rank}")).into_iter().chain(lock).collect();
    words.join(", ")
}

/// What the ranks have moved to and from each other.
pub fn traffic(ranks: &[RankStatistics]) -> Markup {
    let pairs = digest::pairs(ranks);
    let columns = [("from rank", true), ("to rank", true), ("operations", true), ("bytes", true)];
    let rows = pairs.iter().map(|pair| {
        let numbers = [pair.from as u64, pair.to as u64, pair.operations, pair.bytes];
        numbers.map(|number| number.to_string())
    });
    html! {
        section {
            h2 { "Data between ranks" }
            @if pairs.is_empty() {
                p { "No rank moved data to or from another." }
            } @else {
                (figures::matrix(&pairs, ranks.len()))
                p.note {
                    "One-sided operations from the rank that calls them to their target, the bytes of gets among them, and "
                    "messages from sender to receiver. The data of collectives are not counted."
                }
                (table(columns, rows, (MOST_PAIRS, "by their bytes")))
            }
        }
    }
}

/// The calls that have moved data, by their kind and size.
pub fn sizes(ranks: &[RankStatistics]) -> Markup {
    let all = digest::sizes(ranks);
    let columns = [
        ("call", false),
        ("bytes from", true),
        ("to below", true),
        ("times", true),
        ("time", true),
        ("mean", true),
    ];
    let rows = all.iter().map(|row| {
        let [from, below] = [row.power, row.power + 1].map(digest::power_of_two);
        let mean = time(row.nanoseconds / row.times.max(1));
        [row.call.to_string(), from, below, row.times.to_string(), time(row.nanoseconds), mean]
    });
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Operations by size" }
                (figures::sizes(&all))
                p.note {
                    "Operations, messages and collectives of all ranks. A row for each call; a column for the bytes from that number up to the next. "
                    "A cell has the number of calls; the stronger the colour, the more time they took together."
                }
                (table(columns, rows, (MOST_CALLS, "by their names")))
            }
        }
    }
}

/// The calls of all ranks.
pub fn calls(ranks: &[RankStatistics]) -> Markup {
    let all = digest::calls(ranks);
    let columns = [
        ("call", false),
        ("window", false),
        ("times", true),
        ("bytes", true),
        ("bytes each", true),
        ("time", true),
        ("mean", true),
        ("longest", true),
    ];
    let rows = all.iter().map(|row| {
        let times = row.lasted.times.max(1);
        let none_if_zero =
            |bytes: u64| if row.bytes == 0 { "–".to_owned() } else { bytes.to_string() };
        [
            row.call.to_string(),
            or_none(row.window),
            row.lasted.times.to_string(),
            none_if_zero(row.bytes),
            none_if_zero(row.bytes / times),
            time(row.lasted.nanoseconds),
            time(row.lasted.nanoseconds / times),
            time(row.lasted.longest),
        ]
    });
    html! {
        section {
            h2 { "Calls of all ranks" }
            (table(columns, rows, (MOST_CALLS, "by the time in them")))
        }
    }
}

/// For how long locks were held, and waited for.
pub fn locks(ranks: &[RankStatistics]) -> Markup {
    let all = digest::locks(ranks);
    let columns = [
        ("window", false),
        ("of rank", false),
        ("times", true),
        ("held", true),
        ("mean", true),
        ("longest", true),
        ("most by rank", false),
        ("waited for", true),
    ];
    let rows = all.iter().map(|row| {
        let of = row.of.map_or("all".to_owned(), |rank| rank.to_string());
        let mean = row.held.nanoseconds / row.held.times.max(1);
        let [held, mean, longest] = [row.held.nanoseconds, mean, row.held.longest].map(time);
        let most = format!("{}: {}", row.most.0, time(row.most.1));
        let waited = if row.waited == 0 { "–".to_owned() } else { time(row.waited) };
        [or_none(row.window), of, row.held.times.to_string(), held, mean, longest, most, waited]
    });
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Locks" }
                (table(columns, rows, (MOST_LOCKS, "by the time for which they were held")))
            }
        }
    }
}

/// The windows of the job.
pub fn windows(ranks: &[RankStatistics]) -> Markup {
    let all = digest::windows(ranks);
    let created: u64 = ranks.iter().map(|rank| rank.created).max().unwrap_or(0);
    let known = ranks.iter().map(|rank| rank.windows.len()).max().unwrap_or(0);
    let columns = [
        ("window", false),
        ("created by", false),
        ("ranks", true),
        ("bytes", true),
        ("smallest part", true),
        ("largest part", true),
        ("hints in force", false),
    ];
    let rows = all.iter().map(|row| {
        let [all, least, most] = [row.bytes, row.least, row.most].map(|bytes| bytes.to_string());
        let hints = or_none(row.hints);
        [or_none(row.name), row.call.to_string(), row.ranks.to_string(), all, least, most, hints]
    });
    html! {
        section {
            h2 { "Windows" }
            @if all.is_empty() {
                p { "There was none." }
            } @else {
                (table(columns, rows, (MOST_WINDOWS, "in the order of their creation")))
                @if created > known as u64 {
                    p.note { "A rank had " (counted(created as usize, "window")) ", of which the first " (known) " are counted." }
                }
            }
        }
    }
}
