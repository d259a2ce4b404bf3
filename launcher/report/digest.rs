//! What the ranks of a job have counted, put together for the tables of `--stats` and the page of `--report`.

use super::reason::Reason;
use crate::Call;
use crate::launch::{RankStatistics, Times, WaitCause, WaitStatistics, WindowStatistics};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The time of a rank, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    pub all: u64,
    pub computing: u64,
    pub moving: u64,
    pub waiting: u64,
    pub other: u64,
}

/// Whether a call moves data and waits for no rank, unless a lock of the library is held.
pub fn moves(call: Call) -> bool {
    call.is_operation() || matches!(call, Call::LocalAccess | Call::SharedAccess)
}

impl Shares {
    pub fn of(rank: &RankStatistics) -> Shares {
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

    /// Of both.
    pub fn and(self, other: Shares) -> Shares {
        Shares {
            all: self.all + other.all,
            computing: self.computing + other.computing,
            moving: self.moving + other.moving,
            waiting: self.waiting + other.waiting,
            other: self.other + other.other,
        }
    }

    /// Computing, moving, waiting and the rest.
    pub fn parts(self) -> [u64; 4] {
        [self.computing, self.moving, self.waiting, self.other]
    }
}

/// Whether any rank has joined the job.
pub fn has_joined(ranks: &[RankStatistics]) -> bool {
    ranks.iter().any(|rank| rank.nanoseconds > 0)
}

/// `part` in hundredths of `all`.
pub fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// For how long the other ranks have waited for each one, where that is known.
pub fn waited_for(ranks: &[RankStatistics]) -> Vec<u64> {
    let mut all = vec![0; ranks.len()];
    let waits = ranks.iter().flat_map(|rank| &rank.waits);
    for (cause, nanoseconds) in waits.flat_map(|wait| &wait.causes) {
        if let Some(sum) = cause.late.and_then(|late| all.get_mut(late as usize)) {
            *sum += nanoseconds;
        }
    }
    all
}

/// A call of all ranks on windows of one name.
pub struct CallRow<'r> {
    pub call: Call,
    pub window: &'r str,
    pub lasted: Times,
    pub bytes: u64,
}

/// The calls of all ranks, those with the most time first.
pub fn calls(ranks: &[RankStatistics]) -> Vec<CallRow<'_>> {
    let mut all: BTreeMap<(&str, &str), CallRow<'_>> = BTreeMap::new();
    for one in ranks.iter().flat_map(|rank| &rank.calls) {
        let (call, window) = (one.call, one.window.as_str());
        let none = CallRow { call, window, lasted: Times::default(), bytes: 0 };
        let row = all.entry((call.name(), window)).or_insert(none);
        (row.lasted, row.bytes) = (row.lasted.and(one.lasted), row.bytes + one.bytes);
    }
    let mut rows: Vec<_> = all.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.lasted.nanoseconds));
    rows
}

/// Calls of all ranks that have moved data of one size.
pub struct SizeRow {
    pub call: Call,
    /// From 2 to this power on, in bytes.
    pub power: u32,
    pub times: u64,
    pub nanoseconds: u64,
}

/// The sizes of the calls of all ranks that have moved data, in ascending order of the calls' names.
pub fn sizes(ranks: &[RankStatistics]) -> Vec<SizeRow> {
    let mut all: BTreeMap<(&str, u32), SizeRow> = BTreeMap::new();
    for one in ranks.iter().flat_map(|rank| &rank.calls) {
        for size in &one.sizes {
            let (call, power) = (one.call, size.power);
            let row = all.entry((call.name(), power));
            let row = row.or_insert(SizeRow { call, power, times: 0, nanoseconds: 0 });
            (row.times, row.nanoseconds) =
                (row.times + size.times, row.nanoseconds + size.nanoseconds);
        }
    }
    all.into_values().collect()
}

/// The waits of all ranks for one reason in one line of the program.
pub struct WaitRow<'r> {
    pub reason: Option<Reason>,
    pub call: Call,
    pub window: &'r str,
    pub line: &'r str,
    pub all: WaitSum,
    /// Of each rank that has waited there, in order.
    pub ranks: Vec<(usize, WaitSum)>,
}

/// Several waits.
#[derive(Clone, Default)]
pub struct WaitSum {
    pub lasted: Times,
    causes: BTreeMap<WaitCause, u64>,
}

impl WaitSum {
    fn add(&mut self, wait: &WaitStatistics) {
        self.lasted = self.lasted.and(wait.lasted);
        for (cause, nanoseconds) in &wait.causes {
            *self.causes.entry(*cause).or_default() += nanoseconds;
        }
    }

    /// What was waited for the longest, and for how long, if the cause of some waits is known.
    pub fn cause(&self) -> Option<(WaitCause, u64)> {
        let causes = self.causes.iter().map(|(cause, nanoseconds)| (*cause, *nanoseconds));
        causes.max_by_key(|(cause, nanoseconds)| (*nanoseconds, Reverse(*cause)))
    }
}

impl<'r> WaitRow<'r> {
    fn new(of: &'r WaitStatistics, reason: Option<Reason>) -> WaitRow<'r> {
        let (window, line) = (of.window.as_str(), of.line.as_str());
        let (all, ranks) = (WaitSum::default(), Vec::new());
        WaitRow { reason, call: of.call, window, line, all, ranks }
    }

    fn add(&mut self, rank: usize, wait: &WaitStatistics) {
        self.all.add(wait);
        match self.ranks.last_mut() {
            Some((last, sum)) if *last == rank => sum.add(wait),
            _ => {
                let mut sum = WaitSum::default();
                sum.add(wait);
                self.ranks.push((rank, sum));
            }
        }
    }

    /// The rank that has waited there the longest, and for how long.
    pub fn most(&self) -> (usize, u64) {
        let all = self.ranks.iter().map(|(rank, sum)| (*rank, sum.lasted.nanoseconds));
        all.max_by_key(|(rank, nanoseconds)| (*nanoseconds, Reverse(*rank))).unwrap_or_default()
    }
}

/// The waits of all ranks, those with the most time first.
pub fn waits(ranks: &[RankStatistics]) -> Vec<WaitRow<'_>> {
    let mut all: BTreeMap<_, WaitRow<'_>> = BTreeMap::new();
    for (rank, statistics) in ranks.iter().enumerate() {
        for wait in &statistics.waits {
            let reason = Reason::of(wait.call, wait.awaited);
            let key = (wait.call.name(), &wait.window, &wait.line, reason);
            all.entry(key).or_insert_with(|| WaitRow::new(wait, reason)).add(rank, wait);
        }
    }
    let mut rows: Vec<_> = all.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.all.lasted.nanoseconds));
    rows
}

/// What one rank has moved to and from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    pub from: usize,
    pub to: usize,
    pub operations: u64,
    pub bytes: u64,
}

/// The pairs of ranks between which there was something, those with the most bytes first.
pub fn pairs(ranks: &[RankStatistics]) -> Vec<Pair> {
    let of = |(from, rank)| {
        let rank: &RankStatistics = rank;
        rank.traffic.iter().map(move |one| {
            let (to, operations, bytes) = (one.rank as usize, one.operations, one.bytes);
            Pair { from, to, operations, bytes }
        })
    };
    let mut all: Vec<Pair> = ranks.iter().enumerate().flat_map(of).collect();
    all.sort_by_key(|pair| (Reverse((pair.bytes, pair.operations)), pair.from, pair.to));
    all
}

/// A lock of some ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow<'r> {
    pub window: &'r str,
    /// The rank whose part it is of; `None` for all parts.
    pub of: Option<u32>,
    pub held: Times,
    /// The rank that has held it the longest, and for how long.
    pub most: (usize, u64),
    /// How long ranks have waited for it.
    pub waited: u64,
}

/// The locks of all ranks, those first that were held the longest.
pub fn locks(ranks: &[RankStatistics]) -> Vec<LockRow<'_>> {
    let mut all: BTreeMap<(&str, Option<u32>), LockRow<'_>> = BTreeMap::new();
    for (rank, statistics) in ranks.iter().enumerate() {
        for hold in &statistics.holds {
            let (window, of) = (&*hold.window, hold.of);
            let (held, most) = (Times::default(), (rank, 0));
            let new =
                LockRow { window, of, held, most, waited: waited_for_lock(ranks, window, of) };
            let row = all.entry((window, of)).or_insert(new);
            row.held = row.held.and(hold.lasted);
            if hold.lasted.nanoseconds > row.most.1 {
                row.most = (rank, hold.lasted.nanoseconds);
            }
        }
    }
    let mut rows: Vec<_> = all.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.held.nanoseconds));
    rows
}

/// How long ranks have waited for the lock of that rank's part of a window, where that is known.
fn waited_for_lock(ranks: &[RankStatistics], window: &str, of: Option<u32>) -> u64 {
    let waits = ranks.iter().flat_map(|rank| &rank.waits).filter(|wait| wait.window == window);
    let causes = waits.flat_map(|wait| &wait.causes);
    let for_it = causes.filter(|(cause, _)| of.is_some() && cause.lock_of == of);
    for_it.map(|(_, nanoseconds)| nanoseconds).sum()
}

/// A window of some ranks.
pub struct WindowRow<'r> {
    pub name: &'r str,
    pub call: Call,
    /// How many ranks have a part, and the bytes of the smallest part, of the largest, and of all.
    pub ranks: usize,
    pub least: u64,
    pub most: u64,
    pub bytes: u64,
    /// The hints in force at the first rank that are not the default ones.
    pub hints: &'r str,
}

/// The windows of all ranks, in the order of their creation.
pub fn windows(ranks: &[RankStatistics]) -> Vec<WindowRow<'_>> {
    let mut rows: Vec<WindowRow<'_>> = Vec::new();
    let mut places: BTreeMap<(u64, usize), usize> = BTreeMap::new();
    for rank in ranks {
        // How often the rank has had each mark: a later window may have that of one that was freed.
        let mut had: BTreeMap<u64, usize> = BTreeMap::new();
        for WindowStatistics { mark, name, call, bytes, hints } in &rank.windows {
            let times = had.entry(*mark).or_default();
            let at = *places.entry((*mark, *times)).or_insert(rows.len());
            *times += 1;
            if at == rows.len() {
                let (ranks, bytes, most) = (0, 0, 0);
                let least = u64::MAX;
                rows.push(WindowRow { name, call: *call, ranks, least, most, bytes, hints });
            }
            let row = &mut rows[at];
            row.name = if row.name.is_empty() { name } else { row.name };
            row.ranks += 1;
            (row.least, row.most) = (row.least.min(*bytes), row.most.max(*bytes));
            row.bytes += bytes;
        }
    }
    rows
}

/// A time in a unit that suits it.
pub fn time(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

/// A power of two as bytes: "8 B", "64 KiB".
pub fn power_of_two(power: u32) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (power as usize / 10).min(UNITS.len() - 1);
    format!("{} {}", 1u64 << (power as usize - 10 * unit), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{CallStatistics, SizeStatistics};
    use crate::launcher::report::made_up::rank;

    #[test]
    fn sizes_of_a_call_on_all_windows_and_ranks_add_up() {
        let mut ranks = vec![rank(100, 0, 0, 0), rank(100, 0, 0, 0)];
        let size = |power, times| SizeStatistics { power, times, nanoseconds: 10 * times };
        ranks[0].calls[0].sizes = vec![size(3, 2), size(40, 1)];
        ranks[1].calls[0].sizes = vec![size(3, 5)];
        let other = ranks[1].calls[0].clone();
        ranks[1].calls.push(CallStatistics { window: "other".to_owned(), ..other });
        let rows = sizes(&ranks);
        let rows: Vec<_> = rows.iter().map(|row| (row.power, row.times, row.nanoseconds)).collect();
        assert_eq!(rows, [(3, 12, 120), (40, 1, 10)]);
        let names = [0, 3, 10, 19, 29, 40, 41].map(power_of_two);
        assert_eq!(names, ["1 B", "8 B", "1 KiB", "512 KiB", "512 MiB", "1 TiB", "2 TiB"]);
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
    fn windows_of_ranks_are_put_together() {
        let window = |mark, name: &str, bytes| {
            let (name, call) = (name.to_owned(), Call::WinAllocate);
            WindowStatistics { mark, name, call, bytes, hints: String::new() }
        };
        let mut ranks = vec![rank(1, 0, 0, 0), rank(1, 0, 0, 0)];
        ranks[0].windows = vec![window(7, "a", 10), window(7, "b", 1)];
        ranks[1].windows = vec![window(7, "a", 30), window(9, "c", 2), window(7, "b", 1)];
        let rows = windows(&ranks);
        let of = |at: usize| (rows[at].name, rows[at].ranks, rows[at].least, rows[at].bytes);
        assert_eq!([of(0), of(1), of(2)], [("a", 2, 10, 40), ("b", 2, 1, 2), ("c", 1, 2, 2)]);
    }
}
