//! What is worth a sentence about a run: the longest waits with their causes, and ranks that move data for long.

use super::digest::{self, Shares, WaitRow, WaitSum, moves, percent, time};
use super::reason::Reason;
use crate::launch::RankStatistics;
use std::cmp::Reverse;

/// Less than that of a rank's time, in hundredths, is no finding.
const LEAST_WAITING: f64 = 5.0;
const LEAST_MOVING: f64 = 25.0;
/// Nor is less than that, in nanoseconds.
const LEAST_TIME: u64 = 1_000_000;
/// A rank that less than that of a wait was for is not its cause.
const LEAST_CAUSE: f64 = 20.0;
/// Findings at most.
const MOST: usize = 8;

/// What is worth a sentence, the most time of all ranks together first.
pub fn of(ranks: &[RankStatistics]) -> Vec<String> {
    let shares: Vec<Shares> = ranks.iter().map(Shares::of).collect();
    let waits = digest::waits(ranks);
    let waiting = waits.iter().filter_map(|row| waiting(row, &shares));
    let mut all: Vec<(u64, String)> = waiting.chain(moving(ranks, &shares)).collect();
    all.sort_by_key(|(nanoseconds, _)| Reverse(*nanoseconds));
    all.into_iter().take(MOST).map(|(_, sentence)| sentence).collect()
}

/// "62 % of rank 3's time is waiting for the lock of rank 0 at app.c:118".
fn waiting(row: &WaitRow<'_>, shares: &[Shares]) -> Option<(u64, String)> {
    let (rank, longest) = row.most();
    let share = percent(longest, shares[rank].all);
    if share < LEAST_WAITING || longest < LEAST_TIME {
        return None;
    }
    let of_rank = row.ranks.iter().find(|(one, _)| *one == rank).map(|(_, sum)| sum)?;
    let mut text = format!("{share:.0} % of rank {rank}'s time is waiting {}", what(row, of_rank));
    if !row.window.is_empty() {
        text += &format!(" on window '{}'", row.window);
    }
    if !row.line.is_empty() {
        text += &format!(" at {}", row.line);
    }
    text += &cause(row, of_rank);
    text += &match row.ranks.len() {
        1 => format!(" ({} in all)", time(row.all.lasted.nanoseconds)),
        ranks => format!(" ({} in all, of {ranks} ranks)", time(row.all.lasted.nanoseconds)),
    };
    Some((row.all.lasted.nanoseconds, text))
}

/// What the rank with these waits waits for.
fn what(row: &WaitRow<'_>, waits: &WaitSum) -> String {
    let cause = waits.cause().map(|(cause, _)| cause).unwrap_or_default();
    let by = |rank: Option<u32>| rank.map_or(String::new(), |rank| format!(" by rank {rank}"));
    let of = |rank: Option<u32>| rank.map_or(String::new(), |rank| format!(" of rank {rank}"));
    match row.reason {
        Some(Reason::LatePost) => format!("in start for the post{}", of(cause.late)),
        Some(Reason::LateComplete) => format!("in wait for the complete{}", of(cause.late)),
        Some(Reason::WaitAtFence) => "at the fence".to_owned(),
        Some(Reason::WaitForLock) => match cause.lock_of {
            Some(rank) => format!("for the lock of rank {rank}"),
            None => "for a lock".to_owned(),
        },
        Some(Reason::WaitAtBarrier) => "at the barrier".to_owned(),
        Some(Reason::WaitAtCreate | Reason::WaitAtFree | Reason::WaitAtCollective) => {
            format!("in the collective {}", row.call)
        }
        Some(Reason::LateSender) => format!("for a message{}", of(cause.late)),
        Some(Reason::LateReceiver) => format!("for a receive{}", by(cause.late)),
        Some(Reason::LatePartner) => format!("in {} for a message or a receive", row.call),
        Some(Reason::LateNotification) => "for a notification".to_owned(),
        Some(Reason::LateStore) => "for a value to be written".to_owned(),
        Some(Reason::WaitInLibrary) => {
            format!("in {} for another rank inside the library", row.call)
        }
        None => format!("in {}", row.call),
    }
}

/// The rank that made it wait, if the sentence does not name it yet.
fn cause(row: &WaitRow<'_>, waits: &WaitSum) -> String {
    let Some((cause, nanoseconds)) = waits.cause() else { return String::new() };
    let Some(late) = cause.late else { return String::new() };
    let share = percent(nanoseconds, waits.lasted.nanoseconds);
    let part = if share >= 99.5 { String::new() } else { format!(" for {share:.0} % of it") };
    match row.reason {
        _ if share < LEAST_CAUSE => String::new(),
        Some(Reason::WaitForLock) => format!(", held by rank {late}{part}"),
        Some(Reason::LatePost | Reason::LateComplete) => String::new(),
        Some(Reason::LateSender | Reason::LateReceiver) => String::new(),
        _ => format!(", for rank {late}, which came last{part}"),
    }
}

/// "40 % of rank 2's time is moving data, most of it by put on window 'grid': 300 calls of 8 bytes each on average".
fn moving(ranks: &[RankStatistics], shares: &[Shares]) -> Option<(u64, String)> {
    let (rank, most) = shares
        .iter()
        .enumerate()
        .max_by(|(_, a), (_, b)| percent(a.moving, a.all).total_cmp(&percent(b.moving, b.all)))?;
    let share = percent(most.moving, most.all);
    if share < LEAST_MOVING || most.moving < LEAST_TIME {
        return None;
    }
    let calls = ranks[rank].calls.iter().filter(|one| moves(one.call));
    let by = calls.max_by_key(|one| one.lasted.nanoseconds)?;
    let window =
        if by.window.is_empty() { String::new() } else { format!(" on window '{}'", by.window) };
    let (times, mean) = (by.lasted.times, by.bytes / by.lasted.times.max(1));
    let text = format!(
        "{share:.0} % of rank {rank}'s time is moving data, most of it by {}{window}: {times} calls of \
         {mean} bytes each on average",
        by.call
    );
    Some((shares.iter().map(|shares| shares.moving).sum(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;
    use crate::launch::{AwaitedKind, WaitCause};
    use crate::launcher::report::made_up::rank;

    #[test]
    fn a_sentence_names_rank_line_and_cause() {
        let mut ranks =
            vec![rank(100_000_000, 0, 62_000_000, 62_000_000), rank(100_000_000, 0, 0, 0)];
        let fence = "62 % of rank 0's time is waiting at the fence on window 'grid' at heat.rs:17, for \
                     rank 1, which came last (62.0 ms in all, of 2 ranks)";
        assert_eq!(of(&ranks), [fence]);
        let wait = &mut ranks[0].waits[0];
        (wait.call, wait.awaited) = (Call::Lock, AwaitedKind::Lock);
        wait.causes = vec![(WaitCause { late: Some(2), lock_of: Some(1) }, 31_000_000)];
        let lock = "62 % of rank 0's time is waiting for the lock of rank 1 on window 'grid' at heat.rs:17, \
                    held by rank 2 for 50 % of it (62.0 ms in all)";
        assert_eq!(of(&ranks), [lock]);
    }

    #[test]
    fn the_cause_is_that_of_the_rank_in_the_sentence() {
        let mut ranks = vec![rank(100_000_000, 0, 40_000_000, 40_000_000); 2];
        ranks[1].waits[0].lasted.nanoseconds -= 1;
        ranks[0].waits[0].causes = vec![(WaitCause { late: Some(1), lock_of: None }, 40_000_000)];
        let other = WaitCause { late: Some(0), lock_of: None };
        ranks[1].waits[0].causes = vec![(other, 39_000_000)];
        for (late, first) in [(1, 0), (0, 1)] {
            let found = of(&ranks).remove(0);
            assert!(found.starts_with(&format!("40 % of rank {first}'s time")), "{found}");
            assert!(found.contains(&format!("for rank {late}, which came last")), "{found}");
            ranks[1].waits[0].lasted.nanoseconds += 2;
        }
    }

    #[test]
    fn a_run_without_long_waits_has_no_findings() {
        assert!(of(&[rank(100_000_000, 0, 4_000_000, 4_000_000)]).is_empty());
        assert!(of(&[rank(1_000, 0, 900, 900)]).is_empty());
        let moving = of(&[rank(100_000_000, 50_000_000, 0, 0)]);
        assert!(moving[0].starts_with("50 % of rank 0's time is moving data"), "{moving:?}");
        assert!(
            moving[0].ends_with("by put on window 'grid': 10 calls of 8 bytes each on average")
        );
    }
}
