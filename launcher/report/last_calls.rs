//! The last calls of ranks, as a table.

use super::columns;
use super::standing::roughly;
use crate::launch::{LastCall, View, monotonic};

const HEAD: [&str; 7] = ["rank", "last calls", "window", "target", "bytes", "times", "began"];

const NOT_RECORDED: &str = "last calls are not recorded (--no-recorder)\n";

/// The last `most` calls of each of these ranks, the latest last; calls that are equal and follow one another are
/// one row. `None` without any. A job that keeps none has a sentence.
pub fn table(view: View<'_>, ranks: impl IntoIterator<Item = u32>, most: usize) -> Option<String> {
    if !view.is_recorded() {
        return ranks.into_iter().next().map(|_| NOT_RECORDED.to_owned());
    }
    let (now, mut rows) = (monotonic(), vec![HEAD.map(str::to_owned)]);
    for rank in ranks {
        let calls = view.last_calls(rank).unwrap_or_default();
        rows.extend(rows_of(rank, now, &calls[calls.len().saturating_sub(most)..]));
    }
    (rows.len() > 1).then(|| columns(&rows))
}

fn rows_of(rank: u32, now: u64, calls: &[LastCall]) -> Vec<[String; 7]> {
    let row = |run: &[LastCall]| {
        let LastCall { call, window, target, bytes, is_under_way, .. } = &run[0];
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let call = if *is_under_way { format!("in {call}") } else { call.to_string() };
        let number = |number: Option<u64>| or_none(number.map(|number| number.to_string()));
        let (target, bytes) = (number(target.map(u64::from)), number(*bytes));
        let (rank, times, window) = (rank.to_string(), run.len(), or_none(window.clone()));
        [rank, call, window, target, bytes, times.to_string(), or_none(ago(now, run))]
    };
    let is_equal = |a: &LastCall, b: &LastCall| LastCall { began: a.began, ..b.clone() } == *a;
    calls.chunk_by(is_equal).map(row).collect()
}

/// How long ago equal calls have begun, the first and the last of them. The time is known to some tenths of a second.
fn ago(now: u64, run: &[LastCall]) -> Option<String> {
    let age = |call: &LastCall| Some(now.saturating_sub(call.began?));
    let [first, last] = [run.first().and_then(age)?, run.last().and_then(age)?];
    let [first, last] = [first, last].map(roughly);
    Some(if first == last { format!("{last} ago") } else { format!("{first} to {last} ago") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn equal_calls_are_one_row() {
        let put = LastCall {
            call: Call::Put,
            window: Some("grid".to_owned()),
            target: Some(1),
            bytes: Some(8),
            began: Some(40 * SECOND),
            is_under_way: false,
        };
        let later = LastCall { began: Some(167 * SECOND), ..put.clone() };
        let lock = LastCall { call: Call::Lock, bytes: None, is_under_way: true, ..later.clone() };
        let unlock = LastCall { call: Call::Unlock, began: None, ..lock.clone() };
        let cells = |row: [&str; 7]| row.map(str::to_owned);
        assert_eq!(
            rows_of(3, 170 * SECOND + 250_000_000, &[put.clone(), put, later, lock, unlock]),
            [
                cells(["3", "put", "grid", "1", "8", "3", "2 min 10 s to 3.2 s ago"]),
                cells(["3", "in lock", "grid", "1", "-", "1", "3.2 s ago"]),
                cells(["3", "in unlock", "grid", "1", "-", "1", "-"]),
            ]
        );
    }
}
