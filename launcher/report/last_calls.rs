//! The last calls of ranks, as a table.

use super::columns;
use crate::launch::{LastCall, View};

const HEAD: [&str; 6] = ["rank", "last calls", "window", "target", "bytes", "times"];

const NOT_RECORDED: &str = "last calls are not recorded (--no-recorder)\n";

/// The last `most` calls of each of these ranks, the latest last; calls that are equal and follow one another are
/// one row. `None` without any. A job that keeps none has a sentence.
pub fn table(view: View<'_>, ranks: impl IntoIterator<Item = u32>, most: usize) -> Option<String> {
    if !view.is_recorded() {
        return ranks.into_iter().next().map(|_| NOT_RECORDED.to_owned());
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    for rank in ranks {
        let calls = view.last_calls(rank).unwrap_or_default();
        rows.extend(rows_of(rank, &calls[calls.len().saturating_sub(most)..]));
    }
    (rows.len() > 1).then(|| columns(&rows))
}

fn rows_of(rank: u32, calls: &[LastCall]) -> Vec<[String; 6]> {
    let row = |run: &[LastCall]| {
        let LastCall { call, window, target, bytes, is_under_way } = &run[0];
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let call = if *is_under_way { format!("in {call}") } else { call.to_string() };
        let number = |number: Option<u64>| or_none(number.map(|number| number.to_string()));
        let (target, bytes) = (number(target.map(u64::from)), number(*bytes));
        [rank.to_string(), call, or_none(window.clone()), target, bytes, run.len().to_string()]
    };
    calls.chunk_by(|a, b| a == b).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    #[test]
    fn equal_calls_are_one_row() {
        let put = LastCall {
            call: Call::Put,
            window: Some("grid".to_owned()),
            target: Some(1),
            bytes: Some(8),
            is_under_way: false,
        };
        let lock = LastCall { call: Call::Lock, bytes: None, is_under_way: true, ..put.clone() };
        let cells = |row: [&str; 6]| row.map(str::to_owned);
        assert_eq!(
            rows_of(3, &[put.clone(), put, lock]),
            [
                cells(["3", "put", "grid", "1", "8", "2"]),
                cells(["3", "in lock", "grid", "1", "-", "1"])
            ]
        );
    }
}
