//! The last calls of ranks, as a table.

use super::columns;
use super::standing::roughly;
use crate::launch::{LastCall, View, monotonic};
use addr2line::Loader;
use std::collections::HashMap;
use std::env::current_dir;
use std::path::{Path, PathBuf};

const HEAD: [&str; 8] = ["rank", "last calls", "window", "target", "bytes", "times", "began", "at"];

const NOT_RECORDED: &str = "last calls are not recorded (--no-recorder)\n";

/// The last `most` calls of each of these ranks, the latest last; calls that are equal and follow one another are
/// one row. `None` without any. A job that keeps none has a sentence.
pub fn table(view: View<'_>, ranks: impl IntoIterator<Item = u32>, most: usize) -> Option<String> {
    if !view.is_recorded() {
        return ranks.into_iter().next().map(|_| NOT_RECORDED.to_owned());
    }
    let (now, mut rows) = (monotonic(), vec![HEAD.map(str::to_owned)]);
    let mut lines = Lines::default();
    for rank in ranks {
        let calls = view.last_calls(rank).unwrap_or_default();
        let program = view.program(rank).ok().flatten();
        let line = |caller| lines.of(program.as_deref()?, caller);
        rows.extend(rows_of(rank, now, &calls[calls.len().saturating_sub(most)..], line));
    }
    let has_lines = rows.iter().skip(1).any(|row| row[HEAD.len() - 1] != NONE);
    match (rows.len(), has_lines) {
        (1, _) => None,
        (_, true) => Some(columns(&rows)),
        (_, false) => {
            let without = rows.into_iter().map(|[rest @ .., _]| rest);
            Some(columns(&without.collect::<Vec<_>>()))
        }
    }
}

/// What a cell without a value has.
const NONE: &str = "-";

/// The lines of programs, by the debugger's information in their files.
#[derive(Default)]
struct Lines(HashMap<PathBuf, Option<Loader>>);

impl Lines {
    /// The line of the call that returns to this address; `None` without debugger's information.
    fn of(&mut self, program: &Path, caller: u64) -> Option<String> {
        let open = || Loader::new(program).ok();
        let loader = self.0.entry(program.to_owned()).or_insert_with(open).as_ref()?;
        // The call's own instruction lies before.
        let found = loader.find_location(caller.checked_sub(1)?).ok()??;
        let (file, here) = (Path::new(found.file?), current_dir().ok());
        let shown = here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file);
        let file = shown.display().to_string();
        // The file's own text is printed on a terminal: nothing in it may move the cursor.
        let file = file.replace(|letter: char| letter.is_control(), "\u{fffd}");
        Some(format!("{file}:{}", found.line?))
    }
}

fn rows_of(
    rank: u32,
    now: u64,
    calls: &[LastCall],
    mut line: impl FnMut(u64) -> Option<String>,
) -> Vec<[String; HEAD.len()]> {
    let mut row = |run: &[LastCall]| {
        let LastCall { call, window, target, bytes, caller, is_under_way, .. } = &run[0];
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let call = if *is_under_way { format!("in {call}") } else { call.to_string() };
        let number = |number: Option<u64>| or_none(number.map(|number| number.to_string()));
        let (target, bytes) = (number(target.map(u64::from)), number(*bytes));
        let (rank, times, window) = (rank.to_string(), run.len(), or_none(window.clone()));
        let (began, at) = (or_none(ago(now, run)), or_none(caller.and_then(&mut line)));
        [rank, call, window, target, bytes, times.to_string(), began, at]
    };
    let is_equal = |a: &LastCall, b: &LastCall| LastCall { began: a.began, ..b.clone() } == *a;
    calls.chunk_by(is_equal).map(&mut row).collect()
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
            caller: Some(0x1234),
            is_under_way: false,
        };
        let later = LastCall { began: Some(167 * SECOND), ..put.clone() };
        let other = LastCall { caller: Some(0x1240), ..later.clone() };
        let lock = LastCall { call: Call::Lock, bytes: None, is_under_way: true, ..later.clone() };
        let unlock = LastCall { call: Call::Unlock, began: None, caller: None, ..lock.clone() };
        let cells = |row: [&str; 8]| row.map(str::to_owned);
        let line = |caller| (caller == 0x1234).then(|| "app.c:7".to_owned());
        let calls = [put.clone(), put, later, other, lock, unlock];
        assert_eq!(
            rows_of(3, 170 * SECOND + 250_000_000, &calls, line),
            [
                cells(["3", "put", "grid", "1", "8", "3", "2 min 10 s to 3.2 s ago", "app.c:7"]),
                cells(["3", "put", "grid", "1", "8", "1", "3.2 s ago", "-"]),
                cells(["3", "in lock", "grid", "1", "-", "1", "3.2 s ago", "app.c:7"]),
                cells(["3", "in unlock", "grid", "1", "-", "1", "-", "-"]),
            ]
        );
    }
}
