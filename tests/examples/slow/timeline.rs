//! The picture of a timeline: one step of the program, as Perfetto shows it, with its colours explained.

use crate::slices::{Slice, Slices};
use std::fmt::Write as _;

/// In pixels.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;
const BAR: f64 = 26.0;
const PITCH: f64 = 48.0;
/// A letter of a label.
const LETTER: f64 = 6.5;

const STYLE: &str = "text { font: 12px sans-serif; fill: #1d2126; } .in text, text.in { fill: #ffffff; } \
    .computing { fill: #2f9e8f; } .call { fill: #5b6570; } .waiting { fill: #dd6b3d; } \
    path { stroke: #1d2126; fill: none; stroke-width: 1.3; marker-end: url(#head); }";

/// The part of time that the picture shows, in nanoseconds.
struct Shown {
    from: u64,
    to: u64,
}

impl Shown {
    fn x(&self, time: u64) -> f64 {
        let share =
            (time.clamp(self.from, self.to) - self.from) as f64 / (self.to - self.from) as f64;
        LEFT + share * (WIDTH - LEFT - 20.0)
    }

    fn has(&self, slice: &Slice) -> bool {
        slice.begin < self.to && slice.end.is_some_and(|end| end > self.from)
    }
}

/// The height of the bar of a rank.
fn y(rank: u32) -> f64 {
    TOP + f64::from(rank) * PITCH
}

/// The step behind the fifth allreduce, to the end of the next.
pub fn draw(slices: &Slices) -> String {
    let mut ends: Vec<u64> = slices.of_call("allreduce").iter().filter_map(|one| one.end).collect();
    ends.sort_unstable();
    let ranks = slices.0.iter().map(|slice| slice.rank + 1).max().expect("a rank");
    let last_of = |step: usize| ends[step * ranks as usize - 1];
    let shown = Shown { from: last_of(5), to: last_of(6) + 400_000 };
    let height = y(ranks) + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"One step of the program, a bar for each rank\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#1d2126;stroke:none;marker-end:none\"/></marker></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    legend(&mut svg);
    for rank in 0..ranks {
        text(&mut svg, 8.0, y(rank) + 17.0, "", &format!("rank {rank}"));
        bar(&mut svg, "computing", (&shown, rank), (shown.from, shown.to), "");
    }
    for slice in slices.0.iter().filter(|slice| shown.has(slice)) {
        let (class, label) = match &slice.inside {
            Some(call) => ("waiting", &**call),
            None => ("call", &*slice.name),
        };
        let times = (slice.begin, slice.end.expect("it has ended"));
        bar(&mut svg, class, (&shown, slice.rank), times, label);
    }
    arrows(&mut svg, slices, &shown);
    axis(&mut svg, &shown, y(ranks));
    svg + "</svg>\n"
}

fn legend(svg: &mut String) {
    let parts =
        [("computing", "computing"), ("call", "in a call"), ("waiting", "waiting in a call")];
    for (at, (class, name)) in parts.into_iter().enumerate() {
        let x = LEFT + 130.0 * at as f64;
        writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"12\" width=\"12\" height=\"12\"/>")
            .expect("memory");
        text(svg, x + 18.0, 22.0, "", name);
    }
    text(svg, LEFT + 430.0, 22.0, "", "arrow: from the call that ends a wait");
}

/// A part of a rank's bar, with a label where it has room.
fn bar(
    svg: &mut String,
    class: &str,
    (shown, rank): (&Shown, u32),
    (begin, end): (u64, u64),
    label: &str,
) {
    let (x, y) = (shown.x(begin), y(rank));
    let width = (shown.x(end) - x).max(1.0);
    writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\"/>"
    )
    .expect("memory");
    if class == "waiting" && width > LETTER * label.len() as f64 + 8.0 {
        text(svg, x + 5.0, y + 17.0, " class=\"in\"", label);
    }
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    writeln!(svg, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>").expect("memory");
}

/// From the beginning of the call where each begins, to the end of the one where it ends.
fn arrows(svg: &mut String, slices: &Slices, shown: &Shown) {
    for to in slices.0.iter().filter(|slice| shown.has(slice)) {
        for arrow in &to.arrows[1] {
            let from = slices.0.iter().find(|from| from.arrows[0].contains(arrow));
            let Some(from) = from.filter(|from| shown.has(from)) else { continue };
            let down = from.rank < to.rank;
            let edge = |rank: u32, lower: bool| y(rank) + if lower { BAR } else { 0.0 };
            let (x0, y0) = (shown.x(from.begin), edge(from.rank, down));
            let (x1, y1) = (shown.x(to.end.unwrap_or(to.begin)), edge(to.rank, !down));
            writeln!(svg, "<path d=\"M{x0:.1} {y0}L{x1:.1} {y1}\"/>").expect("memory");
        }
    }
}

fn axis(svg: &mut String, shown: &Shown, y: f64) {
    let nanoseconds = 5_000_000;
    for (number, time) in (shown.from..shown.to).step_by(nanoseconds).enumerate() {
        let x = shown.x(time) - 4.0;
        if x < WIDTH - 40.0 {
            text(svg, x, y + 2.0, "", &format!("{} ms", 5 * number));
        }
    }
}
