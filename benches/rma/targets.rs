//! The numbers that the library promises, against what this run has measured.

use crate::driver::START;
use crate::report::{Row, find, table, time};
use crate::suites::{datatypes, layouts, trace, waiting};

const BARRIER: &str = "limit: store + full barrier";
const MEMCPY: &str = "limit: memcpy to the target";

/// One requirement.
struct Target {
    sentence: &'static str,
    what: &'static str,
    ranks: u32,
    bytes: u64,
    at_most: Bound,
}

/// What the median may be.
enum Bound {
    /// Nanoseconds.
    Time(f64),
    /// That many times the median of this row with the same ranks and bytes.
    Times(f64, &'static str),
}

const fn target(
    sentence: &'static str,
    what: &'static str,
    ranks: u32,
    bytes: u64,
    at_most: Bound,
) -> Target {
    Target { sentence, what, ranks, bytes, at_most }
}

use Bound::{Time, Times};

const CREATE: &str = "window allocate + free";

const LOOP: Bound = Times(1.0 / 0.8, datatypes::VECTOR_LOOP);
const BLOCK_LOOP: Bound = Times(1.0 / 0.8, datatypes::BLOCK_LOOP);
/// No slower than memcpy, but for what two medians of the same thing differ.
const PRIVATE_MEMCPY: Bound = Times(1.05, datatypes::MEMCPY);

const PUT_LOOP: Bound = Times(1.0 / 0.8, layouts::VECTOR_LOOP);
const PUT_ROWS: Bound = Times(1.0 / 0.8, layouts::BLOCK_LOOP);
const SLICE: Bound = Times(1.05, layouts::SLICE);

const TARGETS: &[Target] = &[
    target("put 8 B + flush: 3 x store + barrier", "put + flush", 2, 8, Times(3.0, BARRIER)),
    target("get 8 B + flush: 3 x store + barrier", "get + flush", 2, 8, Times(3.0, BARRIER)),
    target("put 1 MiB: 0.9 of memcpy", "put + flush", 2, 1 << 20, Times(1.0 / 0.9, MEMCPY)),
    target("vector of doubles: 0.8 of a loop", datatypes::VECTOR, 1, 32 << 10, LOOP),
    target("8x8 of a matrix: 0.8 of a loop", datatypes::BLOCK, 1, 512, BLOCK_LOOP),
    target("contiguous datatype: memcpy", datatypes::CONTIGUOUS, 1, 1 << 20, PRIVATE_MEMCPY),
    target("put of a vector: 0.8 of a loop", layouts::VECTOR, 2, 32 << 10, PUT_LOOP),
    target("put of 8x8: 0.8 of a loop", layouts::BLOCK, 2, 512, PUT_ROWS),
    target("put, contiguous datatype: a slice", layouts::CONTIGUOUS, 2, 1 << 20, SLICE),
    target("event of a trace: 25 ns", trace::EVENT, 1, 0, Time(25.0)),
    target("ten million events: 10 s", trace::MANY, 1, 0, Time(10e9)),
    target("fence, a core per rank: 1 us", waiting::QUIET, 2, 0, Time(1e3)),
    target("fence, 8 ranks, quiet: 20 us", waiting::QUIET, 8, 0, Time(20e3)),
    target("fence, 8 ranks, busy cores: 200 us", waiting::BESIDE, 8, 0, Time(200e3)),
    target("fence, 8 ranks, quiet again: 20 us", waiting::AFTER, 8, 0, Time(20e3)),
    target("a long wait sleeps, 2 ranks", waiting::PROCESSOR_TIME, 2, 0, Time(20e6)),
    target("a long wait sleeps, 8 ranks", waiting::PROCESSOR_TIME, 8, 0, Time(20e6)),
    target("lock + put + unlock, busy target", waiting::COMPUTING, 2, 8, Time(5e3)),
    target("the first one", waiting::COMPUTING_FIRST, 2, 8, Time(5e3)),
    target("window allocate + free, 8 ranks: 300 us", CREATE, 8, 4096, Time(300e3)),
    target("start 8, window, fence, end: 50 ms", START, 8, 0, Time(50e6)),
];

/// Prints which are reached; whether all that were measured are.
pub fn print(rows: &[Row]) -> bool {
    let mut table = table(&["required", "median", "at most", ""]);
    let mut all = true;
    for target in TARGETS {
        let Some(row) = find(rows, target.what, target.ranks, target.bytes) else { continue };
        let at_most = match target.at_most {
            Time(most) => Some(most),
            Times(factor, limit) => {
                find(rows, limit, row.ranks, row.bytes).map(|limit| factor * limit.median())
            }
        };
        let Some(at_most) = at_most else { continue };
        let reached = row.median() <= at_most;
        all &= reached;
        let mark = if reached { "reached" } else { "FALLS SHORT" };
        table.add_row([target.sentence, &time(row.median()), &time(at_most), mark]);
    }
    println!("{table}");
    all
}
