//! Heat spreading over a plate: a grid of temperatures shared out by rows, each rank putting the
//! rows at its edges into its neighbours' windows at every step.
//!
//! `rmarun -n 4 --example heat -- --verify --output heat.png`

mod band;

use band::{Band, relaxed, rows_of};
use clap::{Parser, ValueEnum};
use common::{Failure, agree, several};
use onesided::{Access, Comm, FenceAssert, Op, Rank, Window, WindowOptions};
use picture::{Field, Output};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Computes how heat spreads over a plate. The edges of the plate keep their temperature.
#[derive(Parser)]
#[command(name = "heat", max_term_width = 100, after_help = AFTER_HELP)]
struct Options {
    /// Rows of the grid
    #[arg(long, value_name = "N", default_value_t = 512)]
    rows: usize,
    /// Columns of the grid
    #[arg(long, value_name = "N", default_value_t = 512)]
    cols: usize,
    /// Steps in time
    #[arg(long, value_name = "N", default_value_t = 1000)]
    steps: u32,
    /// Starts from this PNG picture, its brightness being the temperature
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "cols"])]
    image: Option<PathBuf>,
    /// How the ranks synchronise
    #[arg(long, value_enum, default_value_t = Sync::Fence)]
    sync: Sync,
    /// Writes the result as a PNG picture, the coldest cell black, the hottest pale yellow
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Lets rank 0 compute everything again by itself, and fails if any bit differs
    #[arg(long)]
    verify: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sync {
    /// All ranks together, by fence
    Fence,
    /// Neighbours with each other, by post, start, complete and wait
    Pscw,
}

const AFTER_HELP: &str = "\
Examples:
  rmarun -n 4 --example heat -- --verify --output heat.png
  rmarun -n 2 --example heat -- --image photo.png --steps 200 --sync pscw --output blurred.png";

fn main() -> ExitCode {
    common::run(run)
}

fn run(world: &Comm, options: Options) -> Result<(), Failure> {
    let start = agree(world, start(world, &options))?;
    let mut grid = agree(world, Grid::new(world, &start))?;
    let output = options.output.as_deref().filter(|_| world.rank() == 0);
    let output = agree(world, output.map(Output::create).transpose())?;

    let mut band = Band::new(world, grid.columns, grid.take(world)?)?;
    let begun = Instant::now();
    let residual = compute(world, &mut band, &options)?;
    let time = begun.elapsed();
    grid.put_back(world, band.own())?;

    let verdict = match world.rank().0 {
        0 => grid.result().map_err(Failure::from).and_then(|result| {
            common::print(&summary(world, &options, &result, residual, time))?;
            output.map_or(Ok(()), |output| output.write(&result))?;
            if options.verify { verify(start, &result, options.steps) } else { Ok(()) }
        }),
        _ => Ok(()),
    };
    agree(world, verdict)?;
    band.free()?;
    grid.window.free()?;
    Ok(())
}

/// The temperatures to start from, on rank 0; no cell on others. Fails if there are too few rows.
fn start(world: &Comm, options: &Options) -> Result<Field, Failure> {
    if world.rank() != 0 {
        return Ok(Field { rows: 0, columns: 0, cells: Vec::new() });
    }
    let field = match &options.image {
        Some(path) => Field::read(path)?,
        None => Field::example(options.rows, options.cols)?,
    };
    let (rows, columns, ranks) = (field.rows, field.columns, world.ranks().len());
    let sentence = match (columns < 3, rows < 2 + ranks) {
        (false, false) => return Ok(field),
        (true, _) => format!("the grid has {columns} columns, but needs 3 or more"),
        _ => format!(
            "the grid has {rows} rows, but {ranks} ranks need {} or more: one for each and two \
             edges",
            2 + ranks
        ),
    };
    Err(Failure::Here(sentence))
}

/// The whole grid in rank 0's part of a window, where the ranks get their rows at the beginning
/// and put them at the end.
struct Grid {
    rows: usize,
    columns: usize,
    window: Window<f64>,
}

impl Grid {
    /// The grid that rank 0 has. Collective.
    fn new(world: &Comm, field: &Field) -> onesided::Result<Grid> {
        let mut size = [field.rows as u64, field.columns as u64];
        world.broadcast(&mut size, Rank(0))?;
        let window = WindowOptions::new().name("grid").allocate(world, field.cells.len())?;
        window.store(0, &field.cells)?;
        Ok(Grid { rows: size[0] as usize, columns: size[1] as usize, window })
    }

    /// This rank's rows, one above and one below. Collective.
    fn take(&mut self, world: &Comm) -> onesided::Result<Vec<f64>> {
        let rows = rows_of(world.rank().0, world.size(), self.rows);
        let mut cells = vec![0.0; (rows.len() + 2) * self.columns];
        let epoch = self.window.fence_with(FenceAssert::NOPRECEDE | FenceAssert::NOPUT)?;
        epoch.get(&mut cells, Rank(0), (rows.start - 1) * self.columns)?;
        epoch.close_with(FenceAssert::NOSTORE)?;
        Ok(cells)
    }

    /// Gives this rank's rows back. Collective.
    fn put_back(&mut self, world: &Comm, cells: &[f64]) -> onesided::Result<()> {
        let rows = rows_of(world.rank().0, world.size(), self.rows);
        let epoch = self.window.fence_with(FenceAssert::NOPRECEDE | FenceAssert::NOSTORE)?;
        epoch.put(cells, Rank(0), rows.start * self.columns)?;
        epoch.close_with(FenceAssert::NOSTORE)
    }

    /// The whole grid; for rank 0.
    fn result(&self) -> onesided::Result<Field> {
        let (rows, columns) = (self.rows, self.columns);
        let mut cells = vec![0.0; rows * columns];
        self.window.load(0, &mut cells)?;
        Ok(Field { rows, columns, cells })
    }
}

/// All steps in time; returns how much the cell that changed most changed in the last one.
fn compute(world: &Comm, band: &mut Band, options: &Options) -> Result<f64, Failure> {
    let style = "{bar:40} {pos}/{len} steps, {eta} left, residual {msg}";
    let progress = common::progress(world, options.steps.into(), style);
    let report = (options.steps / 10).max(1);
    let mut residual = 0.0;
    for step in 1..=options.steps {
        band.step(options.sync)?;
        progress.inc(1);
        if step % report == 0 || step == options.steps {
            residual = world.allreduce(&[band.residual()], Op::Max)?[0];
            progress.set_message(format!("{residual:.2e}"));
        }
    }
    progress.finish_and_clear();
    Ok(residual)
}

fn summary(
    world: &Comm,
    options: &Options,
    result: &Field,
    residual: f64,
    time: Duration,
) -> String {
    let Field { rows, columns, cells } = result;
    let sync = if options.sync == Sync::Fence { "fence" } else { "PSCW" };
    let mean = cells.iter().sum::<f64>() / cells.len() as f64;
    let steps = options.steps;
    let step = time / steps.max(1);
    let speed = (cells.len() as f64 * f64::from(steps)) / time.as_secs_f64() / 1e6;
    format!(
        "{rows} x {columns} cells, {steps} steps by {sync} on {}\n\
         {step:.2?} per step, {speed:.0} million cells per second; residual {residual:.3e}, mean \
         temperature {mean:.6}\n",
        several(world.size().into(), "rank"),
    )
}

/// Compares the result with what this process computes alone, bit by bit. For one rank.
fn verify(start: Field, result: &Field, steps: u32) -> Result<(), Failure> {
    let begun = Instant::now();
    let alone = compute_alone(start, steps);
    let differs = |cell: &usize| alone.cells[*cell].to_bits() != result.cells[*cell].to_bits();
    if let Some(cell) = (0..alone.cells.len()).find(differs) {
        return Err(Failure::Here(format!(
            "the cell in row {} and column {} is {}, but {} when one process computes it",
            cell / alone.columns,
            cell % alone.columns,
            result.cells[cell],
            alone.cells[cell]
        )));
    }
    common::print(&format!("verified, bit by bit, by one process in {:.2?}\n", begun.elapsed()))
}

/// Computes without ranks, windows and halos, in the most obvious way.
fn compute_alone(start: Field, steps: u32) -> Field {
    let Field { rows, columns, cells: mut now } = start;
    let mut next = now.clone();
    for _ in 0..steps {
        for row in 1..rows - 1 {
            for column in 1..columns - 1 {
                let at = row * columns + column;
                let around = [now[at - columns], now[at + columns], now[at - 1], now[at + 1]];
                next[at] = relaxed(now[at], around);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    Field { rows, columns, cells: now }
}
