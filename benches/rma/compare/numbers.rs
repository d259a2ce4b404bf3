//! The numbers that are required of the comparison: each is a ratio of two medians of one run, or a
//! difference of what C programs are given.

use super::Results;
use super::peer::{C, KINDS, MPICH, OPEN_MPI};
use crate::driver::{START, START_LIMIT};
use crate::report::{Row, best, find, ratio, table, time};
use crate::suites::{contended, epochs, foreign, layouts, messages, moves, programs, waiting};

/// One requirement.
struct Number {
    what: &'static str,
    ranks: u32,
    bytes: u64,
    bound: Bound,
}

/// What the median may be.
enum Bound {
    /// At most the given number of times the best of these rows, of the same ranks and bytes.
    Of(f64, &'static str),
    /// At most the given number of times the same row with the given number of ranks.
    OfRanks(f64, u32),
    /// The peer takes at least the given number of times as long.
    Ahead(f64, usize),
    /// At most the given number of times what a C program takes with the peer.
    OfPeer(f64, usize),
    /// At most the given number of nanoseconds longer than a C program takes with the peer.
    LongerThan(f64, usize),
    /// A C program takes at most the given number of nanoseconds longer for this.
    LongerInC(f64, &'static str),
    /// A C program takes at most the given number of nanoseconds.
    TimeInC(f64),
    /// The peer takes at least the given number of times as long as a C program with this library.
    AheadInC(f64, usize),
}

use Bound::{Ahead, AheadInC, LongerInC, LongerThan, Of, OfPeer, OfRanks, TimeInC};

const fn number(what: &'static str, ranks: u32, bytes: u64, bound: Bound) -> Number {
    Number { what, ranks, bytes, bound }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
pub const FETCH: &str = "fetch_and_op sum u64 + flush";
pub const FETCH_BY_ALL: &str = "fetch_and_op sum u64 + flush, contended";
pub const LOCK: &str = "lock exclusive + put + unlock";
const LOCK_SHARED: &str = "lock shared + put + unlock";

const NUMBERS: &[Number] = &[
    number(moves::PUT, 2, 8, Of(1.5, moves::STORE_BARRIER)),
    number(moves::PUT, 2, 8, Ahead(2.0, OPEN_MPI)),
    number(moves::PUT, 2, 8, Ahead(5.0, MPICH)),
    number(moves::GET, 2, 8, Of(1.5, moves::STORE_BARRIER)),
    number(moves::GET, 2, 8, Ahead(2.0, OPEN_MPI)),
    number(moves::GET, 2, 8, Ahead(5.0, MPICH)),
    number("put", 2, 64, Of(1.0 / 0.8, moves::INLINED_TO)),
    number("put", 2, 256, Of(1.0 / 0.8, moves::INLINED_TO)),
    number("put", 2, KIB, Of(1.0 / 0.8, moves::INLINED_TO)),
    number("put", 2, 4 * KIB, Of(1.0 / 0.8, moves::INLINED_TO)),
    number("put", 2, 64, Ahead(3.0, OPEN_MPI)),
    number("get", 2, 64, Of(1.0 / 0.8, moves::INLINED_FROM)),
    number("get", 2, 256, Of(1.0 / 0.8, moves::INLINED_FROM)),
    number("get", 2, KIB, Of(1.0 / 0.8, moves::INLINED_FROM)),
    number("get", 2, 4 * KIB, Of(1.0 / 0.8, moves::INLINED_FROM)),
    number("get", 2, 64, Ahead(3.0, OPEN_MPI)),
    number(moves::PUT, 2, 64 * KIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(moves::PUT, 2, 256 * KIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(moves::PUT, 2, MIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(moves::PUT, 2, 4 * MIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(moves::PUT, 2, 16 * MIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(moves::PUT, 2, 64 * MIB, Of(1.0 / 0.95, moves::MEMCPY_TO)),
    number(FETCH, 2, 8, Of(1.5, moves::LOCKED_ADD)),
    number(FETCH_BY_ALL, 2, 8, Of(1.3, contended::ADD)),
    number(FETCH_BY_ALL, 8, 8, Of(1.3, contended::ADD)),
    number(moves::SUM, 2, MIB, Of(1.0 / 0.8, moves::SUM_PLAIN)),
    number(moves::SUM, 2, 128, Of(1.0, moves::SUM_EACH)),
    number(moves::SUM, 2, 128, Ahead(1.0, MPICH)),
    number(moves::SUM, 2, 128, Ahead(1.0, OPEN_MPI)),
    number(epochs::FENCE, 2, 0, Of(1.3, epochs::BARRIERS)),
    number(epochs::FENCE, 8, 0, Of(1.5, epochs::BARRIERS)),
    number(epochs::FENCE, 64, 0, Of(1.5, epochs::BARRIERS)),
    number(epochs::FENCE, 8, 0, Ahead(1000.0, MPICH)),
    number(epochs::FENCE, 64, 0, Ahead(1000.0, MPICH)),
    number(epochs::FENCE, 8, 0, Ahead(2.0, OPEN_MPI)),
    number(epochs::FENCE, 16, 0, Ahead(2.0, OPEN_MPI)),
    number(epochs::FENCE, 64, 0, Ahead(2.0, OPEN_MPI)),
    number(waiting::BESIDE, 8, 0, Of(2.0, waiting::FUTEX_BESIDE)),
    number(epochs::RING_EPOCH, 2, 8, Of(1.3, epochs::RING)),
    number(epochs::RING_EPOCH, 8, 8, Of(2.0, epochs::RING)),
    number(epochs::RING_EPOCH, 8, 8, Ahead(50.0, MPICH)),
    number(LOCK, 2, 8, Of(1.0, moves::LOCKED)),
    number(LOCK, 2, 8, Ahead(1.5, OPEN_MPI)),
    number(waiting::COMPUTING, 2, 8, Ahead(1.5, OPEN_MPI)),
    number(waiting::ASLEEP, 2, 8, Ahead(1.5, OPEN_MPI)),
    number(waiting::COMPUTING, 2, 8, Of(1.2, LOCK)),
    number(waiting::ASLEEP, 2, 8, Of(1.2, LOCK)),
    number("lock + increment + unlock, contended", 8, 8, Of(1.5, contended::LOCKS)),
    number(epochs::LOCK_ALL, 64, 0, OfRanks(1.2, 2)),
    number(layouts::VECTOR, 2, 8 * 16, Of(1.0 / 0.9, layouts::VECTOR_LOOP)),
    number(layouts::VECTOR, 2, 8 * 64, Of(1.0 / 0.9, layouts::VECTOR_LOOP)),
    number(layouts::VECTOR, 2, 32 * KIB, Of(1.0 / 0.9, layouts::VECTOR_LOOP)),
    number(layouts::VECTOR, 2, MIB, Of(1.0 / 0.9, layouts::VECTOR_LOOP)),
    number(START, 8, 0, Of(2.0, START_LIMIT)),
    number(START, 64, 0, Of(2.0, START_LIMIT)),
    number(programs::GUPS.0, 2, 0, Of(1.0 / 0.6, programs::GUPS.1)),
    number(programs::TABLE.0, 2, 0, Of(1.0 / 0.6, programs::TABLE.1)),
    number(programs::HEAT.0, 2, 128 * KIB, Of(1.0 / 0.95, programs::HEAT.1)),
    number(programs::HEAT.0, 2, 8 * MIB, Of(1.0 / 0.95, programs::HEAT.1)),
    number(programs::TRANSPOSE.0, 2, 32 * MIB, Of(1.0 / 0.95, programs::TRANSPOSE.1)),
    number(programs::SPMV.0, 2, 0, Of(1.0 / 0.95, programs::SPMV.1)),
    number(programs::GUPS.0, 8, 0, Ahead(5.0, MPICH)),
    number(programs::TABLE.0, 8, 0, Ahead(5.0, MPICH)),
    number(programs::HEAT.0, 8, 128 * KIB, Ahead(5.0, MPICH)),
    number(programs::HEAT.0, 8, 8 * MIB, Ahead(5.0, MPICH)),
    number(programs::TRANSPOSE.0, 8, 32 * MIB, Ahead(5.0, MPICH)),
    number(programs::SPMV.0, 8, 0, Ahead(5.0, MPICH)),
    number(programs::STENCIL.0, 8, 2 * MIB, Ahead(5.0, MPICH)),
    number(moves::PUT, 2, 8, LongerInC(10.0, moves::PUT)),
    number(moves::GET, 2, 8, LongerInC(10.0, moves::GET)),
    number(moves::ENGINE_FETCH, 2, 8, LongerInC(10.0, FETCH)),
    number(moves::ENGINE_SWAP, 2, 8, LongerInC(10.0, "compare_and_swap u64 + flush")),
    number(LOCK, 2, 8, LongerInC(10.0, LOCK)),
    number(LOCK_SHARED, 2, 8, LongerInC(10.0, LOCK_SHARED)),
    number(messages::PING_PONG, 2, 8, AheadInC(1.0, MPICH)),
    number(messages::PING_PONG, 2, 8, AheadInC(1.0, OPEN_MPI)),
    number(messages::ONE_WAY, 2, MIB, AheadInC(1.0, MPICH)),
    number(messages::ONE_WAY, 2, MIB, AheadInC(1.0, OPEN_MPI)),
    number(messages::PING_PONG, 8, 8, AheadInC(50.0, MPICH)),
    number(messages::ONE_WAY, 8, MIB, AheadInC(50.0, MPICH)),
    number(START, 8, 0, TimeInC(50e6)),
    number(foreign::NEAR.batch, 2, 8, OfPeer(1.05, MPICH)),
    number(foreign::NEAR.one, 2, 8, LongerThan(30.0, MPICH)),
    number(foreign::PUT[0], 2, 8, Of(1.2, foreign::PUT[1])),
    number(foreign::SUM[0], 2, 8, Of(1.2, foreign::SUM[1])),
    number(foreign::FENCE[0], 2, 0, Of(1.2, foreign::FENCE[1])),
    number(foreign::MESSAGE[0], 2, 8, Of(1.2, foreign::MESSAGE[1])),
    number(foreign::OF_TWO[0], 2, 8, Of(1.2, foreign::PUT[1])),
    number(foreign::OF_TWO[1], 2, 8, Of(1.2, foreign::SUM[1])),
    number(foreign::OF_TWO[2], 2, 0, Of(1.2, foreign::FENCE[1])),
    number(foreign::OF_TWO[3], 2, 8, Of(1.2, foreign::MESSAGE[1])),
];

impl Number {
    /// What the number is of.
    fn own<'a>(&self, results: &'a Results) -> Option<&'a Row> {
        let rows = match self.bound {
            TimeInC(_) | AheadInC(..) => &results.found.peers[C],
            _ => &results.found.ours,
        };
        find(rows, self.what, self.ranks, self.bytes)
    }

    /// What it is compared with, and its name.
    fn other<'a>(&self, results: &'a Results) -> Option<(&'a Row, String)> {
        let found = &results.found;
        match self.bound {
            Of(_, limits) => {
                let row = best(&found.ours, limits, self.ranks, self.bytes)?;
                Some((row, row.what.replace("limit: ", "")))
            }
            OfRanks(_, ranks) => {
                let row = find(&found.ours, self.what, ranks, self.bytes)?;
                Some((row, format!("with {ranks} ranks")))
            }
            Ahead(_, peer) | AheadInC(_, peer) | OfPeer(_, peer) | LongerThan(_, peer) => {
                let row = find(&found.peers[peer], self.what, self.ranks, self.bytes)?;
                Some((row, KINDS[peer].name.into()))
            }
            LongerInC(_, what) => {
                let row = find(&found.peers[C], what, self.ranks, self.bytes)?;
                Some((row, KINDS[C].name.into()))
            }
            TimeInC(_) => Some((self.own(results)?, KINDS[C].name.into())),
        }
    }

    /// The ratio or difference that counts, the bound, and whether it is reached.
    fn judge(&self, ours: f64, other: f64) -> (String, String, bool) {
        match self.bound {
            Of(most, _) | OfRanks(most, _) | OfPeer(most, _) => {
                let times = ours / other;
                (ratio(times), format!("at most {}", ratio(most)), times <= most)
            }
            Ahead(least, _) | AheadInC(least, _) => {
                let times = other / ours;
                (ratio(times), format!("at least {}", ratio(least)), times >= least)
            }
            LongerInC(most, _) | LongerThan(most, _) => {
                let is_in_c = matches!(self.bound, LongerInC(..));
                let longer = if is_in_c { other - ours } else { ours - other };
                let shown = format!("{} longer", time(longer));
                (shown, format!("at most {} longer", time(most)), longer <= most)
            }
            TimeInC(most) => (time(ours), format!("at most {}", time(most)), ours <= most),
        }
    }
}

/// All requirements whose operation has been measured, and how many of them are reached.
pub fn text(results: &Results) -> (String, bool) {
    let mut table = table(&[
        "operation",
        "ranks",
        "bytes",
        "onesided",
        "compared with",
        "ratio",
        "required",
        "",
    ]);
    let (mut reached, mut missed, mut open) = (0, 0, 0);
    for number in NUMBERS {
        let Some(ours) = number.own(results) else { continue };
        let bytes = if number.bytes == 0 { String::new() } else { number.bytes.to_string() };
        let mut cells = vec![number.what.into(), number.ranks.to_string(), bytes, ours.value()];
        let Some((other, name)) = number.other(results) else {
            open += 1;
            let (_, required, _) = number.judge(f64::NAN, f64::NAN);
            cells.extend([String::new(), String::new(), required, "not measured".into()]);
            table.add_row(cells);
            continue;
        };
        let (measured, required, good) = number.judge(ours.median(), other.median());
        *(if good { &mut reached } else { &mut missed }) += 1;
        let verdict = if good { "reached".into() } else { format!("missed: measured {measured}") };
        cells.extend([format!("{name}: {}", other.value()), measured.clone(), required]);
        cells.push(verdict);
        table.add_row(cells);
    }
    let counts =
        format!("{reached} reached, {missed} missed, {open} without the row to compare with.");
    (format!("{table}\n\n{counts}"), missed + open == 0)
}
