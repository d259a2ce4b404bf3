//! Figures of the comparison, as SVG: latency and bandwidth by size, cost by number of ranks.

use super::Results;
use super::peer::{C, KINDS, MPICH, OPEN_MPI};
use crate::machine;
use crate::report::{Row, limit};
use crate::suites::{epochs, moves};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::fs;
use std::path::Path;

/// Pixels.
const SIZE: (u32, u32) = (760, 440);
/// Of it at the right, for the legend.
const LEGEND: u32 = 150;
/// Along the x axis.
const MOST_LABELS: usize = 8;

/// What grows along the x axis.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Size,
    Ranks,
}

/// What the y axis shows.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Time,
    Bandwidth,
}

/// A figure of one operation.
struct Figure {
    file: &'static str,
    title: &'static str,
    what: &'static str,
    by: By,
    scale: Scale,
    /// What the limit is called in the legend.
    limit: &'static str,
}

const FIGURES: [Figure; 8] = [
    figure("put-latency", "put + flush, 2 ranks", moves::PUT, By::Size, Scale::Time, "memcpy"),
    figure("get-latency", "get + flush, 2 ranks", moves::GET, By::Size, Scale::Time, "memcpy"),
    figure(
        "put-bandwidth",
        "put + flush, 2 ranks",
        moves::PUT,
        By::Size,
        Scale::Bandwidth,
        "memcpy",
    ),
    figure(
        "get-bandwidth",
        "get + flush, 2 ranks",
        moves::GET,
        By::Size,
        Scale::Bandwidth,
        "memcpy",
    ),
    figure(
        "sum",
        "accumulate, sum of doubles, 2 ranks",
        moves::SUM,
        By::Size,
        Scale::Time,
        "by hand",
    ),
    figure("fence", "fence", epochs::FENCE, By::Ranks, Scale::Time, "best by hand"),
    figure(
        "pscw",
        "PSCW ring with a put of 8 B",
        epochs::RING_EPOCH,
        By::Ranks,
        Scale::Time,
        "by hand",
    ),
    figure(
        "lock-all",
        "lock_all + unlock_all by one rank",
        epochs::LOCK_ALL,
        By::Ranks,
        Scale::Time,
        "",
    ),
];

const fn figure(
    file: &'static str,
    title: &'static str,
    what: &'static str,
    by: By,
    scale: Scale,
    limit: &'static str,
) -> Figure {
    Figure { file, title, what, by, scale, limit }
}

/// A line of a figure.
struct Series {
    name: &'static str,
    colour: RGBColor,
    /// The power of two on the x axis, and nanoseconds or bytes per nanosecond.
    points: Vec<(f64, f64)>,
}

/// Colours that differ also for the colour-blind (Okabe and Ito).
const OURS: RGBColor = RGBColor(0, 114, 178);
const LIMIT: RGBColor = RGBColor(110, 110, 110);
const PEERS: [RGBColor; KINDS.len()] = {
    let mut colours = [BLACK; KINDS.len()];
    colours[MPICH] = RGBColor(213, 94, 0);
    colours[OPEN_MPI] = RGBColor(0, 158, 115);
    colours[C] = RGBColor(86, 180, 233);
    colours
};

/// Writes those figures for which there are two points or more.
pub fn write(folder: &Path, results: &Results) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    for figure in &FIGURES {
        let series = figure.series(results);
        if series.first().is_some_and(|ours| ours.points.len() > 1) {
            let file = folder.join(figure.file).with_extension("svg");
            let drawn = figure.draw(&file, &series);
            drawn.map_err(|problem| format!("{}: {problem}", file.display()))?;
        }
    }
    Ok(())
}

impl Figure {
    fn series(&self, results: &Results) -> Vec<Series> {
        let ours: Vec<&Row> =
            results.found.ours.iter().filter(|row| row.what == self.what).collect();
        let limits =
            ours.iter().filter_map(|row| limit(&results.found.ours, row).map(|l| (*row, l)));
        let limits = limits.map(|(row, limit)| self.point(row, limit.median())).collect();
        let points = ours.iter().map(|row| self.point(row, row.median())).collect();
        let mut series = vec![
            Series { name: "onesided", colour: OURS, points },
            Series { name: self.limit, colour: LIMIT, points: limits },
        ];
        for (i, kind) in KINDS.iter().enumerate() {
            let rows = results.found.peers[i].iter().filter(|row| row.what == self.what);
            let points = rows.map(|row| self.point(row, row.median())).collect();
            series.push(Series { name: kind.name, colour: PEERS[i], points });
        }
        for one in &mut series {
            one.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        series.retain(|one| !one.name.is_empty() && !one.points.is_empty());
        series
    }

    fn point(&self, row: &Row, nanoseconds: f64) -> (f64, f64) {
        let x = if self.by == By::Size { row.bytes as f64 } else { f64::from(row.ranks) };
        let y = match self.scale {
            Scale::Time => nanoseconds,
            Scale::Bandwidth => row.bytes as f64 / nanoseconds,
        };
        (x.log2(), y)
    }

    fn draw(&self, file: &Path, series: &[Series]) -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::new(file, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (area, legend) = root.split_horizontally(SIZE.0 - LEGEND);
        let points = || series.iter().flat_map(|one| &one.points);
        let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let most = points().map(|point| point.1).fold(0.0, f64::max);
        let first = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let last = points().map(|point| point.0).fold(0.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(first..last, (least / 1.5..most * 1.5).log_scale())?;
        self.mesh(&mut chart)?;
        for one in series {
            let style = one.colour.stroke_width(2);
            chart.draw_series(LineSeries::new(one.points.iter().copied(), style))?;
            let dot = |point: &(f64, f64)| Circle::new(*point, 3, one.colour.filled());
            chart.draw_series(one.points.iter().map(dot))?;
        }
        key(&legend, series)?;
        root.present()?;
        Ok(())
    }

    /// Axes, their names, and a grid.
    fn mesh<DB: DrawingBackend, Y: Ranged<ValueType = f64> + ValueFormatter<f64>>(
        &self,
        chart: &mut ChartContext<
            '_,
            DB,
            Cartesian2d<<std::ops::Range<f64> as AsRangedCoord>::CoordDescType, Y>,
        >,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let x = |power: &f64| match self.by {
            By::Size => size(power.exp2()),
            By::Ranks => format!("{:.0}", power.exp2()),
        };
        let y = |value: &f64| match self.scale {
            Scale::Time => time(*value),
            Scale::Bandwidth => format!("{value}"),
        };
        let names = (
            match self.by {
                By::Size => "size".to_owned(),
                By::Ranks => format!("ranks, on {} cores", machine::cores()),
            },
            if self.scale == Scale::Time { "time of one, median" } else { "GB/s" },
        );
        chart
            .configure_mesh()
            .x_labels(MOST_LABELS)
            .x_label_formatter(&x)
            .y_label_formatter(&y)
            .x_desc(names.0)
            .y_desc(names.1)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .draw()
    }
}

/// The legend, beside the data.
fn key<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    series: &[Series],
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    for (i, one) in series.iter().enumerate() {
        let y = 60 + 26 * i as i32;
        area.draw(&PathElement::new([(4, y), (28, y)], one.colour.stroke_width(2)))?;
        area.draw(&Circle::new((16, y), 3, one.colour.filled()))?;
        area.draw(&Text::new(one.name, (36, y - 5), ("sans-serif", 14)))?;
    }
    Ok(())
}

/// A power of two of bytes.
fn size(bytes: f64) -> String {
    match bytes {
        n if n < 1024.0 => format!("{n:.0} B"),
        n if n < 1024.0 * 1024.0 => format!("{:.0} KiB", n / 1024.0),
        n => format!("{:.0} MiB", n / 1024.0 / 1024.0),
    }
}

/// A power of ten of nanoseconds.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n} ns"),
        n if n < 1e6 => format!("{} us", n / 1e3),
        n if n < 1e9 => format!("{} ms", n / 1e6),
        n => format!("{} s", n / 1e9),
    }
}
