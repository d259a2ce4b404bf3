//! The pictures of the page, as SVG in it. What a pointer shows of a shape is its title.

use super::super::digest::{Pair, Shares, SizeRow, percent, power_of_two, time};
use super::counted;
use maud::{Markup, html};

/// Bars, and cells of a side, at most: of more ranks each shows several.
const MOST_ROWS: usize = 64;
/// Height of a bar, and of a bar with the space below it, in pixels.
const BAR: usize = 16;
const PITCH: usize = 20;
/// Width and height of the picture of the matrix, and the space of its labels, in its own units.
const SIDE: f64 = 400.0;
const LABELS: f64 = 26.0;

/// Width and height of a cell of the picture of sizes, and the space of the calls' names, in pixels.
const CELL: (usize, usize) = (64, 22);
const NAMES: usize = 180;

/// The parts of a rank's time, and the class of each colour.
const PARTS: [(&str, &str); 4] = [
    ("computing", "computing"),
    ("moving data", "moving"),
    ("waiting", "waiting"),
    ("other in calls", "other"),
];

/// How many of `all` ranks one row or cell shows.
fn block(all: usize) -> usize {
    all.div_ceil(MOST_ROWS).max(1)
}

/// The ranks of a block, in words.
fn ranks_of(block: usize, first: usize, all: usize) -> String {
    match (first, (first + block).min(all) - 1) {
        (first, last) if first == last => format!("rank {first}"),
        (first, last) => format!("ranks {first} to {last}"),
    }
}

/// A bar for each rank, or for each few ranks: their parts of the time.
pub fn shares(all: &[Shares]) -> Markup {
    let block = block(all.len());
    let bars: Vec<Shares> = all
        .chunks(block)
        .map(|some| some.iter().fold(Shares::default(), |sum, one| sum.and(*one)))
        .collect();
    html! {
        p.legend {
            @for (name, class) in PARTS { span { span.swatch.(class) {} (name) } " " }
        }
        @if block > 1 { p.note { "Each bar is the mean of " (block) " ranks." } }
        svg.bars width="100%" height=(bars.len() * PITCH) role="img"
            aria-label="The parts of the ranks' time as bars; the table below has the numbers" {
            @for (at, bar) in bars.iter().enumerate() {
                (one_bar(at * PITCH, &ranks_of(block, at * block, all.len()), at * block, *bar))
            }
        }
    }
}

/// The bar at height `y`, labelled with a rank.
fn one_bar(y: usize, ranks: &str, label: usize, bar: Shares) -> Markup {
    let mut before = 0.0;
    let parts = PARTS.iter().zip(bar.parts()).map(|((name, class), part)| {
        let share = percent(part, bar.all);
        // Behind the label.
        let (x, width) = (8.0 + 0.92 * before, 0.92 * share);
        before += share;
        (*class, x, width, format!("{ranks}: {name} {share:.1} % ({})", time(part)))
    });
    let parts: Vec<_> = parts.filter(|(_, _, width, _)| *width > 0.0).collect();
    html! {
        text x="6.5%" y=(y + BAR - 3) text-anchor="end" { (label) }
        @for (class, x, width, title) in parts {
            rect class=(class) x=(format!("{x:.2}%")) y=(y) width=(format!("{width:.2}%")) height=(BAR) {
                title { (title) }
            }
        }
    }
}

/// A bar for each reason.
pub fn reasons(all: &[(&str, u64)]) -> Markup {
    let most = all.iter().map(|(_, lasted)| *lasted).max().unwrap_or(0);
    let sum: u64 = all.iter().map(|(_, lasted)| lasted).sum();
    html! {
        svg.bars width="100%" height=(all.len() * PITCH) role="img" aria-label="Waits of all ranks by their reason" {
            @for (at, (name, lasted)) in all.iter().enumerate() {
                @let width = 0.4 * percent(*lasted, most);
                @let y = at * PITCH;
                text x="0" y=(y + BAR - 3) { (name) }
                rect.waiting x="36%" y=(y) width=(format!("{width:.2}%")) height=(BAR) {
                    title { (name) ": " (time(*lasted)) }
                }
                text x=(format!("{:.2}%", 37.0 + width)) y=(y + BAR - 3) {
                    (time(*lasted)) (format!(", {:.0} %", percent(*lasted, sum)))
                }
            }
        }
    }
}

/// What each rank, or each few ranks, has moved: rows are the ranks that call or send, columns the other side.
pub fn matrix(pairs: &[Pair], ranks: usize) -> Markup {
    let block = block(ranks);
    let rows = ranks.div_ceil(block);
    let mut cells = vec![Pair::default(); rows * rows];
    for pair in pairs.iter().filter(|pair| pair.from < ranks && pair.to < ranks) {
        let cell = &mut cells[pair.from / block * rows + pair.to / block];
        cell.operations += pair.operations;
        cell.bytes += pair.bytes;
    }
    let weight = |cell: &Pair| if cell.bytes > 0 { cell.bytes } else { cell.operations };
    let most = cells.iter().map(weight).max().unwrap_or(0);
    let size = (SIDE - LABELS) / rows as f64;
    let at = |number: usize| LABELS + size * number as f64;
    // Between labels are that many units at least.
    let step = |least: f64| (least / size).ceil().max(1.0) as usize;
    let label = |number: usize, shift: f64| format!("{:.1}", at(number) + size / 2.0 + shift);
    html! {
        p.note {
            "Rows: from rank; columns: to rank. The stronger the colour, the more bytes."
            @if block > 1 { " Each cell is the sum of " (block) " by " (block) " ranks." }
        }
        svg.matrix viewBox=(format!("0 0 {SIDE} {SIDE}")) role="img"
            aria-label="Bytes from rank to rank as shades; the table below has the numbers" {
            @for number in (0..rows).step_by(step(36.0)) {
                text x=(label(number, 0.0)) y=(LABELS - 5.0) text-anchor="middle" { (number * block) }
            }
            @for number in (0..rows).step_by(step(20.0)) {
                text x=(LABELS - 4.0) y=(label(number, 4.0)) text-anchor="end" { (number * block) }
            }
            rect.frame x=(LABELS) y=(LABELS) width=(SIDE - LABELS) height=(SIDE - LABELS) {}
            @for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.operations > 0) {
                @let (from, to) = (number / rows, number % rows);
                // A tenth of the bytes is a quarter lighter.
                @let shade = (1.0 - (most as f64 / weight(cell).max(1) as f64).log10() / 4.0).clamp(0.12, 1.0);
                rect.cell x=(format!("{:.2}", at(to))) y=(format!("{:.2}", at(from)))
                    width=(format!("{size:.2}")) height=(format!("{size:.2}")) fill-opacity=(format!("{shade:.2}")) {
                    title {
                        (ranks_of(block, from * block, ranks)) " to " (ranks_of(block, to * block, ranks)) ": "
                        (counted(cell.operations as usize, "operation")) ", " (counted(cell.bytes as usize, "byte"))
                    }
                }
            }
        }
    }
}

/// How often each call has moved data of which size.
pub fn sizes(all: &[SizeRow]) -> Markup {
    let least = all.iter().map(|row| row.power).min().unwrap_or(0);
    let last = all.iter().map(|row| row.power).max().unwrap_or(0);
    let longest = all.iter().map(|row| row.nanoseconds).max().unwrap_or(0);
    let mut calls: Vec<&str> = all.iter().map(|row| row.call.name()).collect();
    calls.dedup();
    let x = |power: u32| NAMES + (power - least) as usize * CELL.0;
    let (width, height) = (x(last + 1), (calls.len() + 1) * CELL.1);
    html! {
        svg.sizes width=(width) viewBox=(format!("0 0 {width} {height}")) role="img"
            aria-label="Operations by call and size; the table below has the numbers" {
            @for power in least..=last {
                text x=(x(power) + CELL.0 / 2) y=(CELL.1 - 6) text-anchor="middle" { (power_of_two(power)) }
            }
            @for (at, call) in calls.iter().enumerate() {
                @let y = (at + 1) * CELL.1;
                text x="0" y=(y + CELL.1 - 6) { (call) }
                @for row in all.iter().filter(|row| row.call.name() == *call) {
                    // A tenth of the time is a quarter lighter. The darkest is light enough for its number.
                    @let part = longest.max(1) as f64 / row.nanoseconds.max(1) as f64;
                    @let shade = 0.7 * (1.0 - part.log10() / 4.0).clamp(0.15, 1.0);
                    rect.cell x=(x(row.power)) y=(y) width=(CELL.0 - 2) height=(CELL.1 - 2)
                        fill-opacity=(format!("{shade:.2}")) {
                        title {
                            (call) ": " (row.times) " from " (power_of_two(row.power)) " to below "
                            (power_of_two(row.power + 1)) ", " (time(row.nanoseconds))
                        }
                    }
                    text x=(x(row.power) + CELL.0 / 2 - 1) y=(y + CELL.1 - 6) text-anchor="middle" { (short(row.times)) }
                }
            }
        }
    }
}

/// A number that fits into a cell: "9999", "12k", "34M".
fn short(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| number >= 10 * unit) else {
        return number.to_string();
    };
    format!("{}{name}", number / unit)
}
