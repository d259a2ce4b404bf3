//! Windows over memory that the program has: `MPI_Win_create`, `MPI_Win_create_dynamic`.

use super::dynamic::Attachments;
use super::memory::{Private, Unmapped, await_report};
use super::plan::{Follows, PartRequest, WindowPlan};
use super::{Flavour, Win, WindowOptions, block};
use crate::call::Call;
use crate::comm::{Collective, Comm};
use crate::error::{Error, Place, Result};
use crate::foreign::ForeignPart;
use crate::group::Rank;
use crate::launch::JobLauncher;
use crate::mail::serve;
use crate::shm::{Part, Parts, Process, Span, is_gone};
use bytemuck::{Pod, Zeroable};

/// The memory that a rank exposes, as it sends it to the others.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Offer {
    /// Offset in the segment, or address in the rank's process.
    at: u64,
    bytes: u64,
    disp_unit: u64,
    /// The rank's process number if the memory is private, otherwise 0.
    process: u64,
    /// How many notification counters the rank asks for.
    notifications: u64,
    /// The rank's hints.
    flags: u64,
}

const WORDS: usize = size_of::<Offer>() / 8;

impl Offer {
    fn request(&self) -> PartRequest {
        let Offer { bytes, disp_unit, notifications, .. } = *self;
        PartRequest { bytes, disp_unit, notifications }
    }
}

/// `MPI_Win_create` over `memory`, which is `part` for another MPI if that has started the job. The
/// caller keeps it valid and unreferenced until the window has been freed.
#[track_caller]
pub(super) fn create(
    options: &WindowOptions,
    comm: &Comm,
    memory: Span,
    unit: u64,
    part: ForeignPart,
) -> Result<Win> {
    let call = Call::WinCreate;
    comm.collectively(call, |ranks| {
        let mut mine = offer(comm, memory.base(), memory.len(), options.disp_unit.unwrap_or(unit));
        mine.flags = options.hints.flags;
        mine.notifications = u64::from(options.notifications);
        let mine: [u64; WORDS] = bytemuck::cast(mine);
        let all = ranks.gather(&mine)?;
        let offers = || all.iter().map(bytemuck::cast::<_, Offer>);
        check_bases(comm, offers())?;
        let requests = || offers().map(|offer| offer.request());
        let making = options.making(comm, Flavour::Create, offers().map(|o| o.flags));
        making.hints.check(comm, call, requests())?;
        if let Some(over) = comm.foreign() {
            let requests: Vec<PartRequest> = requests().collect();
            return super::foreign::make(over, ranks, making, &requests, part);
        }
        let plan = WindowPlan::new(comm, call, requests(), Follows::Nothing)?;
        let parts = parts(comm, offers());
        let privates = private_parts(offers());
        let unmapped = probed(ranks, comm, privates)?;
        let block = block::take(ranks, &making, &plan)?;
        making.assemble(&plan, block, (parts?, unmapped))
    })
}

/// `MPI_Win_create_dynamic`
#[track_caller]
pub(super) fn create_dynamic(options: &WindowOptions, comm: &Comm) -> Result<Win> {
    let call = Call::WinCreateDynamic;
    comm.collectively(call, |ranks| {
        if comm.foreign().is_none() {
            admit(comm);
        }
        let own = Process::own().number() as u64;
        let mine = [own, options.hints.flags, u64::from(options.notifications)];
        let all = ranks.gather(&mine)?;
        let theirs = || all.iter();
        let processes = theirs().map(|one| Process::numbered(one[0] as i32)).collect();
        let making = options.making(comm, Flavour::Dynamic, theirs().map(|one| one[1]));
        let n = comm.ranks().len();
        let request = |w: [u64; 3]| PartRequest { bytes: 0, disp_unit: 1, notifications: w[2] };
        if let Some(over) = comm.foreign() {
            let requests: Vec<PartRequest> = theirs().map(request).collect();
            return super::foreign::make(over, ranks, making, &requests, ForeignPart::nothing());
        }
        let plan = WindowPlan::new(comm, call, theirs().map(request), Follows::Directories)?;
        let block = block::take(ranks, &making, &plan)?;
        let nothing = (0..n).map(|_| Ok(Part::new(Span::nothing(), 1)));
        let nothing = Parts::collect(comm.size(), nothing)?;
        let directories = comm.context().segment.place_all(block + plan.directories, n)?;
        let attached = Attachments { directories, processes, elsewhere: None };
        making.assemble(&plan, block, (nothing, Unmapped::Dynamic(attached.into())))
    })
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
        let _ = comm.context().launcher.map(JobLauncher::admit_ranks);
        serve(comm.context());
    }
}

/// All ranks see the same offers, and so return the same error.
fn check_bases(comm: &Comm, offers: impl Iterator<Item = Offer>) -> Result<()> {
    let at = || Place { call: Call::WinCreate, window: None, rank: Some(comm.rank()) };
    let mut privates = offers.zip(0..).filter(|(offer, _)| offer.process != 0);
    privates.try_for_each(|(offer, rank)| check_range(at, rank, offer.at, offer.bytes))
}

/// The most bytes that a process can have: virtual addresses have at most 57 bits, and the kernel has the
/// upper half.
const MOST_BYTES: u64 = 1 << 56;

/// Refuses memory that the process of `rank` cannot have.
pub(super) fn check_range(
    at: impl FnOnce() -> Place,
    rank: u32,
    base: u64,
    bytes: u64,
) -> Result<()> {
    let problem = || format!("rank {rank} exposes {bytes} bytes at address {base:#x}");
    if bytes > MOST_BYTES {
        let problem = problem() + "; a process has addresses for at most 2^56 bytes";
        return Err(Error::Size { at: at(), problem });
    }
    if base == 0 || base.checked_add(bytes).is_none() {
        return Err(Error::Base { at: at(), problem: problem() });
    }
    Ok(())
}

/// The parts that are mapped into this process; private ones are empty here.
fn parts(comm: &Comm, offers: impl Iterator<Item = Offer>) -> Result<Parts> {
    let mapping = comm.context().segment.mapping();
    let part = |offer: Offer| {
        let span = match offer.process {
            0 => {
                let base = mapping.at(offer.at, offer.bytes);
                Span::new(base.ok_or(Error::Damaged { what: "window" })?, offer.bytes)
            }
            _ => Span::nothing(),
        };
        Ok(Part::new(span, offer.disp_unit as u32))
    };
    Parts::collect(comm.size(), offers.map(part))
}

/// The private part of each rank, if any is private.
fn private_parts(offers: impl Iterator<Item = Offer> + Clone) -> Box<[Private]> {
    match offers.clone().any(|offer| offer.process != 0) {
        true => offers.map(|offer| Private::of(&offer)).collect(),
        false => Box::default(),
    }
}

/// The memory of private parts, after every rank has tried to reach every other's.
fn probed(ranks: &mut Collective<'_>, comm: &Comm, privates: Box<[Private]>) -> Result<Unmapped> {
    if privates.is_empty() {
        return Ok(Unmapped::Nothing);
    }
    let at = || Place { call: Call::WinCreate, window: None, rank: Some(comm.rank()) };
    let own = comm.rank().index();
    let others = privates.iter().enumerate().filter(|(owner, _)| *owner != own);
    let refused = { others }.find_map(|(owner, private)| Some((owner, private.probe().err()?)));
    if let Some((owner, _)) = refused.as_ref().filter(|(_, refusal)| is_gone(refusal)) {
        // Not a refusal: it has died since it sent its offer, which the others find as well.
        await_report(comm, *owner as u32).map_err(|failed| comm.rank_failed(failed, at()))?;
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
            rank: Rank(rank as u32),
            owner: Rank(verdict[0] as u32 - 1),
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
