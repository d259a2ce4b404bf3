//! The table that `--status` prints.

use super::columns;
use crate::Call;
use crate::launch::RankStatus;

/// The state of one rank.
#[derive(Clone, Debug)]
pub struct Row {
    pub rank: u32,
    /// Its process, if it has joined the job.
    pub pid: Option<u32>,
    pub is_stopped: bool,
    pub status: RankStatus,
    /// If it sleeps in a wait: what for, and the program's line.
    pub waits_for: Option<String>,
    pub place: Option<String>,
    /// For how long it has slept there, or else has been in its call or in none, where that is long enough to be known.
    pub nanoseconds: Option<u64>,
}

const HEAD: [&str; 6] = ["rank", "pid", "is", "for", "waits for", "called at"];

/// A heading and one line for each rank, in columns.
pub fn table(rows: &[Row]) -> String {
    let lines: Vec<[String; 6]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    columns(&lines)
}

/// The cells of a rank.
pub fn cells(row: &Row) -> [String; 6] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        row.rank.to_string(),
        or_none(row.pid.map(|pid| pid.to_string())),
        format!("{}{}", standing(&row.status), if row.is_stopped { ", stopped" } else { "" }),
        or_none(row.nanoseconds.map(duration)),
        or_none(row.waits_for.clone()),
        or_none(row.place.clone()),
    ]
}

/// Whether a rank of the job is in no call.
pub fn is_outside(status: &RankStatus) -> bool {
    status.joined && !status.finished && status.call == Call::None
}

fn standing(status: &RankStatus) -> String {
    let RankStatus { joined, finished, call, window, .. } = status;
    match (joined, finished, call, window) {
        (false, ..) => "not in the job yet".to_owned(),
        (true, true, ..) => "no longer in the job".to_owned(),
        (true, false, Call::None | Call::NotRecorded, _) => call.to_string(),
        (true, false, call, Some(window)) => format!("in {call} on window '{window}'"),
        (true, false, call, None) => format!("in {call}"),
    }
}

/// The same of a time that is known to some tenths of a second: "0.3 s".
pub fn roughly(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000_000_000 => format!("{:.1} s", nanoseconds as f64 / 1e9),
        _ => duration(nanoseconds),
    }
}

/// "0.34 s", "12 s", "3 min 5 s", "2 h 5 min".
fn duration(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match seconds {
        0..10 => format!("{:.2} s", nanoseconds as f64 / 1e9),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (seconds, text) in
            [(0.344, "0.34 s"), (12.9, "12 s"), (185.0, "3 min 5 s"), (7500.0, "2 h 5 min")]
        {
            assert_eq!(duration((seconds * 1e9) as u64), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let status = |joined, call| RankStatus {
            joined,
            finished: false,
            has_left: false,
            call,
            window: None,
            since: None,
        };
        let waiting = Row {
            rank: 0,
            pid: Some(4321),
            is_stopped: false,
            status: status(true, Call::Barrier),
            waits_for: Some("rank 1 to arrive".into()),
            place: Some("src/main.rs:7".into()),
            nanoseconds: Some(2_500_000_000),
        };
        let absent = Row {
            rank: 1,
            pid: None,
            status: status(false, Call::None),
            waits_for: None,
            place: None,
            nanoseconds: None,
            ..waiting.clone()
        };
        assert_eq!(
            table(&[waiting, absent]),
            "rank  pid   is                  for     waits for         called at\n\
             0     4321  in barrier          2.50 s  rank 1 to arrive  src/main.rs:7\n\
             1     -     not in the job yet  -       -                 -\n"
        );
    }
}
