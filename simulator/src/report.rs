//! Tables and pictures of what calls cost.

use crate::machine::Topology;
use crate::programs::{Cost, Machine, PROGRAMS, Program};
use plotters::prelude::*;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The numbers of ranks of the published tables.
pub const RANKS: [u32; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// A machine's name, and its topology for a number of ranks.
type NamedTopology = (&'static str, fn(u32) -> Topology);

/// The machines of the tables.
pub const MACHINES: [NamedTopology; 3] = [
    ("flat", |_| Topology::FLAT),
    ("complexes of 8", |_| Topology { complex: 8, ..Topology::FLAT }),
    ("two sockets", |ranks| {
        let socket = ranks.div_ceil(2);
        Topology { complex: socket.min(8), socket }
    }),
];

/// What a call of a program costs with a number of ranks on a machine.
pub struct Row {
    /// The program's name.
    pub program: &'static str,
    /// The machine's name.
    pub machine: &'static str,
    /// How many.
    pub ranks: u32,
    /// Of one call.
    pub cost: Cost,
}

/// Every program on every machine.
pub fn rows(ranks: &[u32]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (program, run) in PROGRAMS {
        for (machine, topology) in MACHINES {
            rows.extend(ranks.iter().map(|&ranks| {
                let cost = run(&Machine::new(ranks, topology(ranks)));
                Row { program, machine, ranks, cost }
            }));
        }
    }
    rows
}

/// Of each program, a table with a line for each machine, and one of references and chains.
pub fn tables(rows: &[Row], ranks: &[u32]) -> String {
    let heads: String = ranks.iter().map(|ranks| format!(" {ranks} |")).collect();
    let mut text = String::new();
    for (program, _) in PROGRAMS {
        let of = |machine| {
            rows.iter().filter(move |row| (row.program, row.machine) == (program, machine))
        };
        let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |\n", cells.join(" | "));
        let mut table = format!("### {program}\n\n| ranks |{heads}\n| --- |");
        table += &" ---: |".repeat(ranks.len());
        table.push('\n');
        for (machine, _) in MACHINES {
            let times = of(machine).map(|row| time(row.cost.time));
            table += &line(&format!("{machine}, µs"), times.collect());
        }
        let flat = MACHINES[0].0;
        let remote = of(flat).map(|row| format!("{:.1}", row.cost.most_remote));
        let mean = of(flat).map(|row| format!("{:.1}", row.cost.mean_remote));
        table += &line("remote references, mean", mean.collect());
        table += &line("of the rank with most", remote.collect());
        table += &line("chain", of(flat).map(|row| format!("{:.1}", row.cost.chain)).collect());
        let _ = writeln!(text, "{table}");
    }
    text
}

/// In microseconds, with three digits.
pub fn time(time: crate::machine::Time) -> String {
    let microseconds = time as f64 / 1e6;
    let digits = (2 - microseconds.log10().floor() as i32).clamp(0, 3) as usize;
    format!("{microseconds:.digits$}")
}

/// Before and behind the tables in the file.
const MARKS: [&str; 2] = ["<!-- tables -->\n", "<!-- end of tables -->\n"];

/// The file with new tables.
///
/// # Errors
/// If the file has no marks.
pub fn with_tables(file: &str, tables: &str) -> Result<String, String> {
    let [begin, end] = MARKS;
    let parts = file.split_once(begin).and_then(|(before, behind)| {
        let (_, behind) = behind.split_once(end)?;
        Some(format!("{before}{begin}\n{tables}{end}{behind}"))
    });
    parts.ok_or_else(|| format!("the file lacks the marks {begin:?} and {end:?}"))
}

/// Writes the tables into the file, and a picture of each program into the folder.
///
/// # Errors
/// If either cannot be written.
pub fn write(file: &Path, folder: &Path, tables: &str, rows: &[Row]) -> Result<(), String> {
    let in_file = |error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| in_file(error.to_string()))?;
    fs::write(file, with_tables(&text, tables).map_err(in_file)?)
        .map_err(|error| in_file(error.to_string()))?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for program in PROGRAMS {
        let path = folder.join(format!("scaling-{}.svg", slug(program)));
        picture(&path, program, rows).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// A file's name for a program.
fn slug((name, _): Program) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Time over ranks, both in powers, a line for each machine.
fn picture(path: &Path, (program, _): Program, rows: &[Row]) -> Result<(), String> {
    let drawn = || -> Result<(), Box<dyn std::error::Error>> {
        let of = |machine: &'static str| {
            let rows =
                rows.iter().filter(move |row| (row.program, row.machine) == (program, machine));
            rows.map(|row| (f64::from(row.ranks), row.cost.time as f64 / 1e6))
        };
        let all: Vec<(f64, f64)> = MACHINES.iter().flat_map(|(machine, _)| of(machine)).collect();
        let range = |f: fn(&(f64, f64)) -> f64| {
            let least = all.iter().map(f).fold(f64::INFINITY, f64::min);
            (least, all.iter().map(f).fold(0.0, f64::max))
        };
        let ((fewest, most), (least, longest)) = (range(|point| point.0), range(|point| point.1));
        let area = SVGBackend::new(path, (760, 440)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(program, ("sans-serif", 20))
            .margin(12)
            .margin_right(30)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d(
                (fewest..most).log_scale().base(2.0),
                (least / 2.0..longest * 2.0).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("ranks")
            .x_label_formatter(&|ranks| format!("{ranks:.0}"))
            .y_desc("modelled µs")
            .y_label_formatter(&|microseconds| microseconds.to_string())
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (index, (machine, _)) in MACHINES.iter().enumerate() {
            let colour = [BLUE, RED, BLACK][index];
            chart
                .draw_series(LineSeries::new(of(machine), colour.stroke_width(2)).point_size(3))?
                .label(*machine)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour));
        }
        let labels = chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .draw();
        labels?;
        area.present()?;
        Ok(())
    };
    drawn().map_err(|error| error.to_string())
}
