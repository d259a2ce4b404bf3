//! Windows over memory that the library allocates: `MPI_Win_allocate`, `MPI_Win_allocate_shared`.

use super::calls::Calls;
use super::hints::{HUGE_PAGES, Hints, NONCONTIG, RESERVE};
use super::memory::{ExposedMemory, Unmapped};
use super::plan::{Follows, LINES, PartRequest, WindowPlan};
use super::{Flavour, Win, WindowOptions, block};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::foreign::ForeignPart;
use crate::group::Rank;
use crate::shm::{Part, Parts, Span, has_several_nodes, page_size};

/// A window with `bytes` bytes of this rank; `unit` is the displacement unit if none was chosen.
#[track_caller]
pub(super) fn allocate(
    options: &WindowOptions,
    flavour: Flavour,
    comm: &Comm,
    bytes: u64,
    unit: u64,
) -> Result<Win> {
    let call = flavour.call();
    comm.collectively(call, |ranks| {
        let unit = options.disp_unit.unwrap_or(unit);
        let Hints { flags, alignment, .. } = options.hints;
        let mine = [bytes, unit, u64::from(options.notifications), flags, alignment];
        let all = ranks.gather(&mine)?;
        let theirs = || all.iter();
        let request =
            |w: [u64; 5]| PartRequest { bytes: w[0], disp_unit: w[1], notifications: w[2] };
        let requests = || theirs().map(request);
        // Once over the requests: a large job has many.
        let (all_flags, any_flags, align) = theirs()
            .fold((u64::MAX, 0, 1), |(all, any, most), [.., flags, align]| {
                (all & flags, any | flags, align.max(most))
            });
        let making = options.making(comm, flavour, std::iter::once(all_flags));
        making.hints.check(comm, call, requests())?;
        if !align.is_power_of_two() || align > page_size() {
            return Err(Error::Damaged { what: "requests for a window" });
        }
        let separate = flavour == Flavour::Allocate || making.hints.has(NONCONTIG);
        let follows = if separate { Follows::Parts { align } } else { Follows::OneRun { align } };
        // Only mapping gives huge pages. Pages that are reserved anyway are placed near their owner, at a
        // small cost where all memory is near (docs/performance.md).
        let segment = &comm.context().segment;
        let any = |flag| any_flags & flag != 0;
        let near = has_several_nodes() && !segment.is_backed_on_touch();
        let better = any(HUGE_PAGES) || near || cfg!(feature = "test-hooks");
        let plan =
            WindowPlan::new(comm, call, requests(), follows)?.by_owners(any(RESERVE), better);
        let parts = parts_of(comm, &plan, requests())?;
        if let Some(over) = comm.foreign() {
            let requests: Vec<PartRequest> = requests().collect();
            let part = part_elsewhere(flavour, bytes, follows);
            return super::foreign::make(over, ranks, making, &requests, part);
        }
        let block = block::take(ranks, &making, &plan)?;
        let first = segment.mapping().at(plan.first(block), plan.bytes());
        let parts = parts.behind(first.ok_or(Error::Damaged { what: "window" })?);
        let own = parts.part(comm.rank().0).span;
        let win = making.assemble(&plan, block, (parts, Unmapped::Nothing))?;
        // Advice holds for pages that do not exist yet.
        let first = plan.first(block);
        win.hints.advise_of_kind(segment, own, first, plan.bytes());
        block::reserve_parts(ranks, (comm, call), (&plan, block, own), &win.hints)?;
        win.hints.advise_of_mapping(segment, first, plan.bytes());
        // A hint that the kernel has refused is not in force.
        win.hints.show(&win.calls);
        Ok(win)
    })
}

/// A part of another MPI's memory, which lies as one here does.
fn part_elsewhere(flavour: Flavour, bytes: u64, follows: Follows) -> ForeignPart {
    let align = match follows {
        Follows::Parts { align } => Some(align.max(LINES)),
        _ => None,
    };
    match (flavour, align) {
        (Flavour::Allocate, Some(align)) => ForeignPart::new(bytes, align),
        _ => ForeignPart::shared(bytes, align),
    }
}

/// The parts of a window, behind the first one's address.
fn parts_of(
    comm: &Comm,
    plan: &WindowPlan,
    requests: impl Iterator<Item = PartRequest>,
) -> Result<Parts> {
    let part = |placed: Result<(u64, u64, u32)>| {
        let (start, bytes, disp_unit) = placed?;
        if start.checked_add(bytes).is_none_or(|end| end > plan.bytes()) {
            return Err(Error::Damaged { what: "requests for a window" });
        }
        let start = std::ptr::without_provenance_mut(start as usize);
        Ok(Part::new(Span::new(start, bytes), disp_unit))
    };
    Parts::collect(comm.size(), plan.parts(requests).map(part))
}

/// `MPI_Win_shared_query`: size in bytes, displacement unit, and address in this process.
pub(super) fn shared_query(
    calls: &Calls,
    memory: &ExposedMemory,
    rank: Rank,
) -> Result<(u64, u32, *mut u8)> {
    let rank = shared_query_rank(calls, memory, rank)?.0;
    if rank != calls.rank().0 {
        // From now on this rank may store there without a call.
        calls.checked(|_, window| window.ignore_stores(rank));
    }
    let span = memory.shared(rank);
    let base = if span.len() == 0 { std::ptr::null_mut() } else { span.base() };
    Ok((span.len(), memory.part(rank).disp_unit, base))
}

/// The rank whose part [`shared_query`] answers with.
pub(super) fn shared_query_rank(calls: &Calls, memory: &ExposedMemory, rank: Rank) -> Result<Rank> {
    calls.within(Call::SharedQuery, || {
        if calls.flavour() == Flavour::Dynamic {
            return Err(calls.wrong_flavour(Call::SharedQuery, "a window with memory"));
        }
        if rank != Rank::NULL {
            calls.check_rank(Call::SharedQuery, rank)?;
            return Ok(rank);
        }
        Ok(Rank(memory.first_shared().unwrap_or(0)))
    })
}
