//! Windows over memory that the library allocates: `MPI_Win_allocate`, `MPI_Win_allocate_shared`.

use super::hints::{HUGE_PAGES, Hints, NONCONTIG};
use super::plan::{Follows, LINES, PartRequest, WindowPlan};
use super::{Flavour, Part, Win, WindowOptions, block};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::Rank;
use crate::shm::{Span, has_several_nodes, page_size};

impl WindowOptions {
    /// `MPI_Win_allocate` of `bytes` bytes for this rank, zeroed; 0 is allowed. `unit` is the
    /// displacement unit where none was chosen.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::DispUnit`], [`Error::NoMemory`], [`Error::RankFailed`].
    #[track_caller]
    pub fn allocate_bytes(&self, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        self.allocate_as(Flavour::Allocate, comm, bytes, unit)
    }

    /// `MPI_Win_allocate_shared` (MPI-4.1 §12.2.3): as [`WindowOptions::allocate_bytes`], for
    /// windows that ranks also load from and store to directly ([`Win::shared_query`]). Each
    /// rank's part begins where that of the rank before it ends, unless
    /// [`WindowOptions::noncontig`] is given on every rank. The first is aligned to 128 bytes.
    ///
    /// # Errors
    /// As [`WindowOptions::allocate_bytes`].
    #[track_caller]
    pub fn allocate_shared_bytes(&self, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        self.allocate_as(Flavour::Shared, comm, bytes, unit)
    }

    #[track_caller]
    fn allocate_as(&self, flavour: Flavour, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        let call = flavour.call();
        comm.collectively(call, |ranks| {
            let unit = self.disp_unit.unwrap_or(unit);
            let Hints { flags, alignment, .. } = self.hints;
            let mine = [bytes, unit, u64::from(self.notifications), flags, alignment];
            let all = ranks.allgather(&mine)?;
            let theirs = || all.chunks_exact(mine.len());
            let wish =
                |w: &[u64]| PartRequest { bytes: w[0], disp_unit: w[1], notifications: w[2] };
            let wishes: Vec<PartRequest> = theirs().map(wish).collect();
            let making = self.making(comm, flavour, theirs().map(|wish| wish[3]));
            making.hints.check(comm, call, &wishes)?;
            let align = theirs().map(|wish| wish[4]).fold(1, u64::max);
            if !align.is_power_of_two() || align > page_size() {
                return Err(Error::Damaged { what: "wishes for a window" });
            }
            if let Some(over) = comm.foreign() {
                let part = foreign::ForeignPart::new(bytes, align.max(LINES));
                return Win::made_by(over, ranks, making, &wishes, part);
            }
            let apart = flavour == Flavour::Allocate || making.hints.has(NONCONTIG);
            let follows = if apart { Follows::Parts { align } } else { Follows::OneRun { align } };
            // Huge pages are had only by mapping them; elsewhere it pays to put pages near their
            // owner, but costs a little where all are near (docs/performance.md).
            let huge = theirs().any(|wish| wish[3] & HUGE_PAGES != 0);
            let by_owners = huge || has_several_nodes() || cfg!(feature = "test-hooks");
            let plan = WindowPlan::new(comm, call, &wishes, follows)?.by_owners(by_owners);
            let block = block::take(ranks, &making, &plan)?;
            let parts = mapped_parts(comm, &plan, block)?;
            let win = Win::assemble(making, &plan, block, parts)?;
            // What is said of pages holds for those that are not there yet.
            win.advise_of_kind(plan.first(block), plan.bytes());
            block::reserve_parts(ranks, &win, &plan)?;
            win.advise_of_mapping(plan.first(block), plan.bytes());
            Ok(win)
        })
    }
}

/// The parts of a window that lie in its block.
fn mapped_parts(comm: &Comm, plan: &WindowPlan, block: u64) -> Result<Box<[Part]>> {
    let mapping = comm.context().segment.mapping();
    let first = plan.first(block);
    let part = |(start, bytes, disp_unit): &(u64, u64, u32)| {
        let base = mapping.at(first + start, *bytes).ok_or(Error::Damaged { what: "window" })?;
        Ok(Part::new(Span::new(base, *bytes), *disp_unit))
    };
    plan.parts.iter().map(part).collect()
}

impl Win {
    /// `MPI_Win_shared_query` (MPI-4.1 §12.2.3): size in bytes, displacement unit, and address in
    /// this process of the part of `rank`, or of the first rank whose part is not empty for
    /// [`Rank::NULL`]. Also for windows of `MPI_Win_allocate`, and for those of `MPI_Win_create`
    /// whose parts all come from alloc_mem; a rank whose memory cannot be addressed has size 0. Of a part
    /// of size 0 the address is null.
    ///
    /// Local; never blocks. Reading and writing through the address is for the caller to
    /// synchronise.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for dynamic windows.
    pub fn shared_query(&self, rank: Rank) -> Result<(u64, u32, *mut u8)> {
        let rank = self.shared_query_rank(rank)?.0;
        let part = self.part(rank);
        let span = match self.foreign() {
            Some(window) if rank == self.comm.rank().0 => window.own(),
            _ => part.span,
        };
        let base = if span.len() == 0 { std::ptr::null_mut() } else { span.base() };
        Ok((span.len(), part.disp_unit, base))
    }

    /// The rank whose part [`Win::shared_query`] answers with.
    pub(crate) fn shared_query_rank(&self, rank: Rank) -> Result<Rank> {
        self.within(Call::SharedQuery, || {
            if self.flavour == Flavour::Dynamic {
                let needed = "a window with memory";
                return Err(self.wrong_flavour(Call::SharedQuery, needed));
            }
            if rank != Rank::NULL {
                self.check_rank(Call::SharedQuery, rank)?;
                return Ok(rank);
            }
            let first = self.parts.iter().position(|part| part.span.len() != 0);
            Ok(Rank(first.unwrap_or(0) as u32))
        })
    }
}
