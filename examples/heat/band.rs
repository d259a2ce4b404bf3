//! One rank's rows of the grid, and the exchange of the rows at their edges (MPI-2.2 Examples
//! 11.6 and 11.8).

use crate::Sync;
use onesided::{Access, Comm, FenceAssert, Group, PostAssert, Rank, Result, Window, WindowOptions};
use std::ops::Range;

/// How much of the difference to its neighbours a cell takes over in one step; stable up to 1/4.
const RATE: f64 = 0.2;

/// The new temperature of a cell, from its own and that of the cells above, below, left and right.
#[inline]
pub fn relaxed(cell: f64, [above, below, left, right]: [f64; 4]) -> f64 {
    cell + RATE * (above + below + left + right - 4.0 * cell)
}

/// The rows that a rank computes: the first and the last of the grid never change, the others are
/// shared out.
pub fn rows_of(rank: u32, ranks: u32, rows: usize) -> Range<usize> {
    let bound = |rank: u32| 1 + (rows - 2) * rank as usize / ranks as usize;
    bound(rank)..bound(rank + 1)
}

/// A rank's rows, and one more above and below, which belong to its neighbours or to the edge of
/// the grid.
///
/// The cells are in private memory, as they are now and as they will be next. The window holds
/// only what neighbours put there: the row above this rank's rows, then the row below them.
pub struct Band {
    columns: usize,
    now: Vec<f64>,
    next: Vec<f64>,
    halo: Window<f64>,
    /// The ranks that have the rows above and below; at the edge of the grid [`Rank::NULL`], which
    /// a put passes over.
    above: Rank,
    below: Rank,
    neighbours: Group,
}

impl Band {
    /// The band of these cells, rows above and below included. Collective.
    pub fn new(world: &Comm, columns: usize, cells: Vec<f64>) -> Result<Band> {
        let (rank, last) = (world.rank().0, world.size() - 1);
        let above = (rank > 0).then(|| rank - 1);
        let below = (rank < last).then(|| rank + 1);
        let neighbours: Vec<u32> = above.into_iter().chain(below).collect();
        Ok(Band {
            columns,
            next: cells.clone(),
            now: cells,
            halo: WindowOptions::new().name("halo").allocate(world, 2 * columns)?,
            above: above.map_or(Rank::NULL, Rank),
            below: below.map_or(Rank::NULL, Rank),
            neighbours: world.group().incl(&neighbours)?,
        })
    }

    /// The rank's own rows.
    pub fn own(&self) -> &[f64] {
        &self.now[self.columns..self.now.len() - self.columns]
    }

    /// How much the cell that changed most has changed in the last step.
    pub fn residual(&self) -> f64 {
        let inside = self.columns..self.now.len() - self.columns;
        let cells = self.now[inside.clone()].iter().zip(&self.next[inside]);
        cells.map(|(now, before)| (now - before).abs()).fold(0.0, f64::max)
    }

    /// One step in time. By fence all ranks wait for each other, by PSCW only neighbours do.
    pub fn step(&mut self, sync: Sync) -> Result<()> {
        match sync {
            Sync::Fence => self.exchange_by_fence()?,
            Sync::Pscw => self.exchange_by_pscw()?,
        }
        self.take_halo()?;
        let last = self.last();
        relax(self.columns, &self.now, &mut self.next, 1..2);
        relax(self.columns, &self.now, &mut self.next, last..last + 1);
        std::mem::swap(&mut self.now, &mut self.next);
        Ok(())
    }

    /// Puts the first and the last row where the neighbours look for them, and meanwhile computes
    /// the rows that need nothing from neighbours.
    fn exchange_by_fence(&mut self) -> Result<()> {
        let (first, last, inner) = self.edges();
        // Nothing precedes, and no rank stores to the window: only neighbours put there.
        let epoch = self.halo.fence_with(FenceAssert::NOPRECEDE | FenceAssert::NOSTORE)?;
        epoch.put(&self.now[first], self.above, self.columns)?;
        epoch.put(&self.now[last], self.below, 0)?;
        relax(self.columns, &self.now, &mut self.next, inner);
        epoch.close_with(FenceAssert::NOSTORE)
    }

    /// The same by post, start, complete and wait.
    fn exchange_by_pscw(&mut self) -> Result<()> {
        let (first, last, inner) = self.edges();
        let (mut access, mut exposure) = self.halo.sides();
        let exposed = exposure.post_with(&self.neighbours, PostAssert::NOSTORE)?;
        let epoch = access.start(&self.neighbours)?;
        epoch.put(&self.now[first], self.above, self.columns)?;
        epoch.put(&self.now[last], self.below, 0)?;
        // Before the computation, so that neighbours need not wait for it.
        epoch.complete()?;
        relax(self.columns, &self.now, &mut self.next, inner);
        exposed.wait()
    }

    /// Gives the window's memory back. Collective.
    pub fn free(self) -> Result<()> {
        self.halo.free()
    }

    /// Takes what neighbours have put over to the rows above and below. Local.
    fn take_halo(&mut self) -> Result<()> {
        let (columns, end) = (self.columns, self.now.len());
        if self.above != Rank::NULL {
            self.halo.load(0, &mut self.now[..columns])?;
        }
        if self.below != Rank::NULL {
            self.halo.load(columns, &mut self.now[end - columns..])?;
        }
        Ok(())
    }

    /// The last own row, counted in the band; the first is 1.
    fn last(&self) -> usize {
        self.now.len() / self.columns - 2
    }

    /// The cells of the first and the last own row, and the rows between.
    fn edges(&self) -> (Range<usize>, Range<usize>, Range<usize>) {
        let last = self.last();
        let cells = |row: usize| row * self.columns..(row + 1) * self.columns;
        (cells(1), cells(last), 2..last.max(2))
    }
}

/// Computes these rows of `next` from `now`.
fn relax(columns: usize, now: &[f64], next: &mut [f64], rows: Range<usize>) {
    for row in rows {
        let at = |row: usize| &now[row * columns..(row + 1) * columns];
        let (above, here, below) = (at(row - 1), at(row), at(row + 1));
        let next = &mut next[row * columns..(row + 1) * columns];
        for c in 1..columns - 1 {
            next[c] = relaxed(here[c], [above[c], below[c], here[c - 1], here[c + 1]]);
        }
    }
}
