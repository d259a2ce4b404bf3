//! Windows over memory that the program has: `MPI_Win_create`, `MPI_Win_create_dynamic`.
#![allow(unsafe_code, reason = "takes the caller's word for memory it exposes")]

use super::plan::{Follows, PartRequest, WindowPlan};
use super::unmapped::{Private, Unmapped, check_range, hear_of_death};
use super::{Flavour, Part, Win, WindowOptions, block};
use crate::call::Call;
use crate::comm::{Collective, Comm};
use crate::error::{Error, Place, Result};
use crate::foreign;
use crate::launch;
use crate::shm::{Process, Span, is_gone};
use bytemuck::{Pod, Zeroable};

/// What each rank says of the memory that it exposes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Offer {
    /// Offset in the segment, or address in the rank's process.
    at: u64,
    bytes: u64,
    disp_unit: u64,
    /// The rank's process number if the memory is private, else 0.
    process: u64,
    /// How many notification counters the rank asks for.
    notifications: u64,
    /// The rank's hints.
    flags: u64,
}

const WORDS: usize = size_of::<Offer>() / 8;

impl Offer {
    fn wish(&self) -> PartRequest {
        let Offer { bytes, disp_unit, notifications, .. } = *self;
        PartRequest { bytes, disp_unit, notifications }
    }
}

impl WindowOptions {
    /// `MPI_Win_create` (MPI-2.2 §11.2.1) over the `bytes` bytes at `start`; 0 bytes are allowed.
    ///
    /// Memory from alloc_mem is accessed directly. Private memory of this process is accessed by
    /// the other ranks through the kernel (`process_vm_readv`, `process_vm_writev`), without help
    /// from this rank; accumulates then take turns under an exclusion. `docs/performance.md`
    /// has the difference: about 1.6 µs against 6 ns for 8 bytes.
    ///
    /// Any alignment will do. Put and get are about as fast at any; accumulates of elements that do not
    /// lie at a multiple of their size take turns under the exclusion too (67 ns against 4 ns for
    /// a fetch_and_op of 8 bytes).
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Base`] for a null address with bytes; [`Error::Size`] for more bytes than a process can
    /// have; [`Error::DispUnit`]; [`Error::Unreachable`] on all ranks if the system forbids one of them
    /// to reach private memory; [`Error::NoMemory`], [`Error::RankFailed`].
    ///
    /// # Safety
    /// Until the window has been freed successfully:
    /// 1. The memory stays valid for reads and writes by any thread.
    /// 2. No Rust reference to it is used, except while the program's synchronisation keeps every
    ///    rank from accessing it through the window.
    #[track_caller]
    pub unsafe fn create_bytes(
        &self,
        comm: &Comm,
        start: *mut u8,
        bytes: u64,
        unit: u64,
    ) -> Result<Win> {
        let call = Call::WinCreate;
        comm.collectively(call, |ranks| {
            let mut mine = offer(comm, start, bytes, self.disp_unit.unwrap_or(unit));
            mine.flags = self.hints.flags;
            mine.notifications = u64::from(self.notifications);
            let mine: [u64; WORDS] = bytemuck::cast(mine);
            let all = ranks.allgather(&mine)?;
            let offers: &[Offer] = bytemuck::cast_slice(&all);
            check_bases(comm, offers)?;
            let wishes: Vec<PartRequest> = offers.iter().map(Offer::wish).collect();
            let making = self.making(comm, Flavour::Create, offers.iter().map(|o| o.flags));
            making.hints.check(comm, call, &wishes)?;
            if let Some(over) = comm.foreign() {
                // SAFETY: the first obligation of this function's caller.
                let part = unsafe { foreign::ForeignPart::given(Span::new(start, bytes)) };
                return Win::made_by(over, ranks, making, &wishes, part);
            }
            let plan = WindowPlan::new(comm, call, &wishes, Follows::Nothing)?;
            let unmapped = private_parts(ranks, comm, offers)?;
            let block = block::take(ranks, &making, &plan)?;
            let parts = parts(comm, offers)?;
            let mut win = Win::assemble(making, &plan, block, parts)?;
            win.unmapped = unmapped;
            Ok(win)
        })
    }

    /// `MPI_Win_create_dynamic` (MPI-4.1 §12.2.4): a window without memory; each rank attaches
    /// memory to it, and displacements are addresses in the target's process.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::RankFailed`].
    #[track_caller]
    pub fn create_dynamic_bytes(&self, comm: &Comm) -> Result<Win> {
        let call = Call::WinCreateDynamic;
        comm.collectively(call, |ranks| {
            admit(comm);
            let own = Process::own().number() as u64;
            let mine = [own, self.hints.flags, u64::from(self.notifications)];
            let all = ranks.allgather(&mine)?;
            let theirs = || all.chunks_exact(mine.len());
            comm.check_shares(call, "a window without memory")?;
            let processes = theirs().map(|one| Process::numbered(one[0] as i32)).collect();
            let making = self.making(comm, Flavour::Dynamic, theirs().map(|one| one[1]));
            let n = comm.size() as usize;
            let wish = |w: &[u64]| PartRequest { bytes: 0, disp_unit: 1, notifications: w[2] };
            let wishes: Vec<PartRequest> = theirs().map(wish).collect();
            let plan = WindowPlan::new(comm, call, &wishes, Follows::Directories)?;
            let block = block::take(ranks, &making, &plan)?;
            let nothing = Part::new(Span::nothing(), 1);
            let mut win = Win::assemble(making, &plan, block, vec![nothing; n].into())?;
            let directories = comm.context().segment.place_all(block + plan.directories, n)?;
            win.unmapped = Unmapped::Dynamic { directories, processes };
            Ok(win)
        })
    }
}

fn offer(comm: &Comm, start: *mut u8, bytes: u64, disp_unit: u64) -> Offer {
    match comm.context().segment.offset_of(start, bytes) {
        Some(at) => Offer { at, bytes, disp_unit, process: 0, ..Zeroable::zeroed() },
        None if bytes == 0 => Offer { at: 0, bytes, disp_unit, process: 0, ..Zeroable::zeroed() },
        None => {
            admit(comm);
            let process = Process::own().number() as u64;
            Offer { at: start as u64, bytes, disp_unit, process, ..Zeroable::zeroed() }
        }
    }
}

/// Lets the other ranks of the job reach the private memory of this one.
fn admit(comm: &Comm) {
    if comm.size() > 1 {
        launch::admit_ranks();
    }
}

/// All ranks see the same offers, and so the same fault.
fn check_bases(comm: &Comm, offers: &[Offer]) -> Result<()> {
    let at = || Place { call: Call::WinCreate, window: None, rank: Some(comm.rank().0) };
    let mut privates = offers.iter().zip(0..).filter(|(offer, _)| offer.process != 0);
    privates.try_for_each(|(offer, rank)| check_range(at, rank, offer.at, offer.bytes))
}

/// The parts that are mapped into this process; private ones are empty here.
fn parts(comm: &Comm, offers: &[Offer]) -> Result<Box<[Part]>> {
    let mapping = comm.context().segment.mapping();
    let part = |offer: &Offer| {
        let span = match offer.process {
            0 => {
                let base = mapping.at(offer.at, offer.bytes);
                Span::new(base.ok_or(Error::Damaged { what: "window" })?, offer.bytes)
            }
            _ => Span::nothing(),
        };
        Ok(Part::new(span, offer.disp_unit as u32))
    };
    offers.iter().map(part).collect()
}

/// The private parts, after every rank has tried to reach every other's.
fn private_parts(ranks: &mut Collective<'_>, comm: &Comm, offers: &[Offer]) -> Result<Unmapped> {
    if offers.iter().all(|offer| offer.process == 0) {
        return Ok(Unmapped::Nothing);
    }
    let at = || Place { call: Call::WinCreate, window: None, rank: Some(comm.rank().0) };
    let privates: Box<[Private]> = offers.iter().map(Private::of).collect();
    let own = comm.rank().index();
    let others = privates.iter().enumerate().filter(|(owner, _)| *owner != own);
    let refused = { others }.find_map(|(owner, private)| Some((owner, private.probe().err()?)));
    if let Some((owner, _)) = refused.as_ref().filter(|(_, refusal)| is_gone(refusal)) {
        // No refusal: it has died since it made its offer, and so do the others learn.
        hear_of_death(comm, *owner as u32).map_err(|failed| comm.rank_failed(failed, at()))?;
    }
    let mine = refused.map(|(owner, refusal)| {
        [owner as u64 + 1, refusal.raw_os_error().unwrap_or_default() as u64]
    });
    let verdicts = ranks.allgather(&mine.unwrap_or_default())?;
    let refusal = verdicts.chunks_exact(2).enumerate().find(|(_, verdict)| verdict[0] != 0);
    match refusal {
        None => Ok(Unmapped::Private(privates)),
        Some((rank, verdict)) => Err(Error::Unreachable {
            at: at(),
            rank: rank as u32,
            owner: verdict[0] as u32 - 1,
            source: std::io::Error::from_raw_os_error(verdict[1] as i32),
        }),
    }
}

impl Private {
    fn of(offer: &Offer) -> Private {
        let process = Process::numbered(offer.process as i32);
        match offer.process {
            0 => Private { span: Span::nothing(), process },
            _ => Private { span: Span::new(offer.at as *mut u8, offer.bytes), process },
        }
    }
}

impl Win {
    /// `MPI_Win_attach` (MPI-4.1 §12.2.4): exposes `bytes` bytes at `start` in a dynamic window.
    /// Other ranks address them by this process's addresses (`start as u64` and on).
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if the region is empty or overlaps one that is attached;
    /// [`Error::Base`]; [`Error::Flavour`]; [`Error::NoMemory`]; [`Error::RankFailed`];
    /// [`Error::Size`] for more bytes than a process can have.
    ///
    /// # Safety
    /// As [`WindowOptions::create_bytes`], until it is detached.
    pub unsafe fn attach(&self, start: *mut u8, bytes: u64) -> Result<()> {
        self.within(Call::Attach, || self.attach_region(start, bytes))
    }
}
