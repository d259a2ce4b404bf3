//! `MPI_Win_allocate` and `MPI_Win_free`.
//!
//! A window is one block of the segment: header (name), synchronisation words of the window,
//! synchronisation words of each rank, then each rank's part. Sizes and units are agreed by an
//! allgather; rank 0 allocates and clears; the outcome, block or error, is broadcast, so either
//! every rank has the window or every rank has the same error.

use super::{Epochs, Part, Win};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::group::Rank;
use crate::prim::{JobFailed, Word32};
use crate::shm::{AllocError, Heap, Limit, Span, WindowHeader, page_size};
use crate::sync::{RankWords, WindowWords};
use std::sync::{Mutex, RwLock};

/// How a window is allocated; local choices may differ between ranks.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::{Window, WindowOptions};
/// let world = universe.world();
/// let halo: Window<f64> = WindowOptions::new().name("halo").allocate(world, 1024)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct WindowOptions {
    name: Option<String>,
    disp_unit: Option<u64>,
}

impl WindowOptions {
    /// No name, and the size of an element as displacement unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// `MPI_Win_set_name`: the name that errors and reports use.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The displacement unit of this rank's part, in bytes, from 1 to 2³¹-1.
    pub fn disp_unit(mut self, bytes: u64) -> Self {
        self.disp_unit = Some(bytes);
        self
    }

    /// `MPI_Win_allocate` of `bytes` bytes for this rank, zeroed; 0 is allowed. `unit` is the
    /// displacement unit where none was chosen.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::DispUnit`], [`Error::NoMemory`], [`Error::RankFailed`].
    pub fn allocate_bytes(&self, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        let _call = comm.context().enter(Call::WinAllocate, 0);
        let disp_unit = self.disp_unit.unwrap_or(unit);
        let wishes = comm.allgather_within(Call::WinAllocate, &[bytes, disp_unit])?;
        let plan = Plan::new(comm, &wishes)?;
        let number = comm.count_window();
        let name = self.name.clone().unwrap_or_else(|| format!("#{number}"));
        let outcome = match comm.rank() {
            0 => Outcome::of(allocate_block(comm, &plan, &name)),
            _ => Outcome::default(),
        };
        let Outcome { mut words, error } = outcome;
        comm.broadcast_within(Call::WinAllocate, &mut words, Rank(0))?;
        let block = Outcome { words, error }.block(comm, &plan)?;
        assemble(comm, &plan, block, name)
    }
}

/// Where everything lies in the block of a window.
struct Plan {
    /// Start behind the first aligned address after the head, bytes, and displacement unit.
    parts: Vec<(u64, u64, u32)>,
    /// Offset of the ranks' words in the block.
    ranks: u64,
    /// Offset of the window's words in the block.
    words: u64,
    /// Bytes before the parts.
    head: u64,
    /// Alignment of the parts' common start.
    align: u64,
    /// Bytes of the block.
    total: u64,
}

impl Plan {
    /// `wishes` holds (bytes, displacement unit) of every rank; all ranks compute the same plan
    /// or the same error.
    fn new(comm: &Comm, wishes: &[u64]) -> Result<Plan> {
        let at = || Place { call: Call::WinAllocate, window: None, rank: Some(comm.rank()) };
        let too_large = |rank: usize, bytes: u64| Error::Size {
            at: at(),
            problem: format!("with the {bytes} bytes of rank {rank} the window exceeds 2^62 bytes"),
        };
        let words = size_of::<WindowHeader>() as u64;
        let ranks = (words + size_of::<WindowWords>() as u64)
            .next_multiple_of(align_of::<RankWords>() as u64);
        let head = ranks + u64::from(comm.size()) * size_of::<RankWords>() as u64;
        let align = |bytes: u64| if bytes >= page_size() { page_size() } else { 128 };
        let mut end = 0;
        let mut most = 128;
        let mut parts = Vec::with_capacity(comm.size() as usize);
        for (rank, wish) in wishes.chunks_exact(2).enumerate() {
            let (bytes, unit) = (wish[0], wish[1]);
            let disp_unit = i32::try_from(unit).ok().filter(|unit| *unit > 0);
            let disp_unit = disp_unit.ok_or(Error::DispUnit {
                at: at(),
                rank: rank as u32,
                disp_unit: unit,
            })?;
            // A part of a page or more has its pages for itself.
            most = most.max(align(bytes));
            let start = u64::next_multiple_of(end, align(bytes));
            end = start
                .checked_add(bytes)
                .filter(|end| *end <= i64::MAX as u64 / 2)
                .ok_or_else(|| too_large(rank, bytes))?;
            parts.push((start, bytes, disp_unit as u32));
        }
        // The block is aligned to 128 bytes only; what is between makes up for the rest.
        Ok(Plan { parts, ranks, words, head, align: most, total: head + end + (most - 128) })
    }
}

/// Rank 0: takes the block, clears what may hold old bytes, names it.
fn allocate_block(comm: &Comm, plan: &Plan, name: &str) -> std::result::Result<u64, AllocError> {
    let context = comm.context();
    let block = context.segment.heap().allocate(plan.total, &context.waiter())?;
    let mapping = context.segment.mapping();
    for (at, n) in Heap::dirty_edges(block, plan.total) {
        mapping.clear(at, n)?;
    }
    mapping.view::<WindowHeader>(block)?.set_name(name);
    Ok(block)
}

/// What rank 0 broadcasts: the block, or why there is none.
#[derive(Default)]
struct Outcome {
    /// Block, kind of failure, bytes available.
    words: [u64; 3],
    /// The error as rank 0 has it, which only rank 0 keeps in full.
    error: Option<AllocError>,
}

/// Kinds of failure: the limits count on from here.
const OTHER: u64 = 1;
const SHORT: u64 = 2;

impl Outcome {
    fn of(block: std::result::Result<u64, AllocError>) -> Outcome {
        match block {
            Ok(block) => Outcome { words: [block, 0, 0], error: None },
            Err(error) => {
                let words = match &error {
                    AllocError::Short { available, limit } => {
                        [0, SHORT + *limit as u64, *available]
                    }
                    _ => [0, OTHER, 0],
                };
                Outcome { words, error: Some(error) }
            }
        }
    }

    fn block(self, comm: &Comm, plan: &Plan) -> Result<u64> {
        let at = Place { call: Call::WinAllocate, window: None, rank: Some(comm.rank()) };
        let [block, failure, available] = self.words;
        let limit = failure.checked_sub(SHORT).and_then(|k| Limit::ALL.get(k as usize));
        match (failure, self.error, limit) {
            (0, ..) => Ok(block),
            (_, _, Some(limit)) => {
                let (requested, limit) = (plan.total, limit.name());
                Err(Error::NoMemory { at, requested, available, limit })
            }
            (_, Some(AllocError::Other(error)), _) => Err(error),
            (_, Some(AllocError::JobFailed), _) => Err(comm.context().job_failed(JobFailed, at)),
            _ => Err(Error::system(
                "window allocate: rank 0 could not allocate",
                std::io::Error::other("rank 0 says why"),
            )),
        }
    }
}

fn assemble(comm: &Comm, plan: &Plan, block: u64, name: String) -> Result<Win> {
    let segment = &comm.context().segment;
    let first = (block + plan.head).next_multiple_of(plan.align);
    let parts = plan.parts.iter().map(|(start, bytes, disp_unit)| {
        let base =
            segment.mapping().at(first + start, *bytes).ok_or(Error::Damaged { what: "window" })?;
        Ok(Part { span: Span::new(base, *bytes), disp_unit: *disp_unit })
    });
    Ok(Win {
        name: name.into(),
        block,
        words: segment.place(block + plan.words)?,
        ranks: segment.place_all(block + plan.ranks, comm.size() as usize)?,
        parts: parts.collect::<Result<_>>()?,
        epochs: Epochs::new(comm.size()),
        fences: Word32::default(),
        turn: Mutex::default(),
        handler: RwLock::default(),
        comm: comm.clone(),
    })
}

impl Win {
    /// `MPI_Win_free` (MPI-2.2 §11.2.1).
    ///
    /// Collective; blocks until every rank has called it, after which no rank can access the
    /// window any more and its memory is given back.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if any of them has an epoch open: the window is then gone for
    /// the program, but its memory stays until the job ends. [`Error::Mismatch`] on all ranks if
    /// they free different windows, with the same consequence. [`Error::RankFailed`].
    pub fn free(self) -> Result<()> {
        let _call = self.enter(Call::WinFree);
        let verdict = self.epochs.may_free();
        // Nobody is inside a call on this window once all have met here; only then does anybody
        // take memory away.
        let mine = [self.block, u64::from(verdict.is_ok())];
        let all = self.comm.allgather_within(Call::WinFree, &mine)?;
        self.check_same_window(&all)?;
        verdict.map_err(|problem| self.wrong_epoch(Call::WinFree, problem))?;
        if let Some(rank) = all.chunks_exact(2).position(|theirs| theirs[1] == 0) {
            let problem = format!("rank {rank} frees the window while it has an epoch open");
            return Err(self.wrong_epoch(Call::WinFree, problem));
        }
        let own_table = self.turn(Call::WinFree)?.pscw.table_block();
        let block = (self.comm.rank() == 0).then_some(self.block);
        for at in own_table.into_iter().chain(block) {
            let heap = self.context().segment.heap();
            heap.free(at, &self.context().waiter())
                .map_err(|error| self.heap_error(Call::WinFree, error, 0))?;
        }
        Ok(())
    }

    /// `all` holds the block of the window that each rank frees, and another word.
    fn check_same_window(&self, all: &[u64]) -> Result<()> {
        match all.chunks_exact(2).position(|theirs| theirs[0] != self.block) {
            None => Ok(()),
            Some(other) => Err(Error::Mismatch {
                at: self.place(Call::WinFree),
                ours: "window free of this window".into(),
                other: other as u32,
                theirs: "window free of another window".into(),
            }),
        }
    }

    /// What the allocator said, as an error of `call`.
    pub(super) fn heap_error(&self, call: Call, error: AllocError, requested: u64) -> Error {
        match error {
            AllocError::JobFailed => self.job_failed(JobFailed, call),
            AllocError::Other(error) => error,
            AllocError::Short { available, limit } => {
                let limit = limit.name();
                Error::NoMemory { at: self.place(call), requested, available, limit }
            }
        }
    }
}
