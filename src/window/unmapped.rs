//! Memory of other ranks that is not mapped into this process, or only known by address: the
//! private parts of `MPI_Win_create`, and what is attached to dynamic windows.

use super::{Flavour, Win};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::prim::{JobFailed, ParkWord};
use crate::shm::{
    AllocError, AttachError, DirectoryWords, PlacedSlice, Process, Region, Span, is_gone, range_at,
};
use crate::sync::Sharing;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Longer than a launcher that lives takes to tell of a death.
const TELLS_WITHIN: Duration = Duration::from_secs(1);

const LEFT: &str = "the rank has left the job";

/// Waits for the launcher to tell of the death of `rank`, whose process the kernel says is gone. Not if
/// the rank has left in good order, of which nobody tells; and not for ever, because a process may be
/// gone to this one alone.
#[cold]
pub(super) fn hear_of_death(comm: &Comm, rank: u32) -> std::result::Result<(), JobFailed> {
    let (nobody, began) = (ParkWord::default(), Instant::now());
    let left = || has_left(comm, rank).unwrap_or_default();
    comm.waiter().until(&nobody, |_| left() || began.elapsed() > TELLS_WITHIN)?;
    Ok(())
}

/// Whether `rank` has left the job in good order.
fn has_left(comm: &Comm, rank: u32) -> Result<bool> {
    let world = comm.world_ranks()[rank as usize];
    Ok(comm.context().segment.slot(world)?.finished.is_set())
}

/// The most bytes that a process can have: the widest virtual addresses have 57 bits, and the upper half
/// of them is the kernel's.
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

/// What an operation that finds no mapped part looks at.
pub(crate) enum Unmapped {
    /// All parts are mapped.
    Nothing,
    /// Parts of `MPI_Win_create`; those that are mapped are empty here.
    Private(Box<[Private]>),
    /// Memory of another MPI.
    Foreign(Box<super::foreign::ForeignMemory>),
    /// What each rank has attached.
    Dynamic {
        /// The attachments of each rank.
        directories: PlacedSlice<DirectoryWords>,
        /// The process of each rank.
        processes: Box<[Process]>,
    },
}

/// Private memory of a rank, by its address in that rank's process.
pub(crate) struct Private {
    pub(super) span: Span,
    pub(super) process: Process,
}

/// How memory of a target is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// It is mapped into this process from the segment.
    Mapped,
    /// It is private memory of this process.
    Own,
    /// It is private memory of that process.
    Kernel(Process),
    /// It is another MPI's, also where it is this process's own; the address is the number of bytes
    /// from the beginning of the part.
    Foreign,
}

/// Bytes of a target's part that an operation may access.
pub(crate) struct Target<'w> {
    pub(crate) rank: u32,
    /// Where they are, in the process that `via` says.
    pub(crate) at: *mut u8,
    /// Where that is, in bytes from the beginning of the part.
    pub(crate) start: u64,
    pub(crate) via: Via,
    /// Keeps memory of a dynamic window attached while the operation is under way.
    pub(super) _sharing: Option<Sharing<'w>>,
}

impl Target<'_> {
    /// What lies `by` bytes behind the beginning; kept, as long as it is used, by the whole.
    pub(crate) fn part(&self, by: i64) -> Target<'_> {
        let at = self.at.wrapping_offset(by as isize);
        let start = self.start.wrapping_add_signed(by);
        Target { at, start, _sharing: None, ..*self }
    }
}

impl Private {
    /// Whether this process may reach the memory.
    pub(super) fn probe(&self) -> std::io::Result<()> {
        match self.span.len() {
            0 => Ok(()),
            bytes => self.process.probe(self.span.base(), bytes as usize),
        }
    }
}

impl Win {
    /// The bytes (not none) around displacement `disp` of a rank of the window, wherever they are; the
    /// address is that of the displacement. Blocks while the rank attaches or detaches memory.
    pub(crate) fn memory(
        &self,
        call: Call,
        rank: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Target<'_>> {
        if let Some(at) = self.part(rank).around(disp, bytes) {
            return Ok(self.mapped_target(rank, disp, at));
        }
        let found = self.unmapped(call, rank, disp, bytes)?;
        found.ok_or_else(|| self.out_of_range(call, rank, disp, bytes))
    }

    /// Mapped bytes of a rank: `at` is the address of displacement `disp`.
    #[inline(always)]
    pub(crate) fn mapped_target(&self, rank: u32, disp: u64, at: *mut u8) -> Target<'_> {
        let start = self.start_of(rank, disp);
        Target { rank, at, start, via: Via::Mapped, _sharing: None }
    }

    /// Where displacement `disp` of `target`, a rank of the window, is from the beginning of its part,
    /// in bytes; checked, or to be, by whoever reaches it.
    #[inline]
    pub(crate) fn start_of(&self, target: u32, disp: u64) -> u64 {
        disp.wrapping_mul(u64::from(self.part(target).disp_unit))
    }

    /// The bytes around displacement `disp` of `rank`, which has no mapped bytes there.
    fn unmapped(
        &self,
        call: Call,
        rank: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Target<'_>>> {
        let (unit, start) = (self.part(rank).disp_unit, self.start_of(rank, disp));
        let found = |at, via, sharing| Target { rank, at, start, via, _sharing: sharing };
        match &self.unmapped {
            Unmapped::Nothing => Ok(None),
            Unmapped::Private(privates) => {
                let private = &privates[rank as usize];
                let at = private.span.around(disp, unit, bytes);
                let via = self.via(call, rank, private.process)?;
                Ok(at.map(|at| found(at, via, None)))
            }
            Unmapped::Foreign(memory) => {
                let at = memory.parts[rank as usize].around(disp, unit, bytes);
                Ok(at.map(|at| found(at, Via::Foreign, None)))
            }
            Unmapped::Dynamic { directories, processes } => {
                let context = self.context();
                let directory = &directories[rank as usize];
                let Some((first, end)) = range_at(disp, 1, bytes) else {
                    return Ok(None);
                };
                let length = end - first;
                let attached = directory.find(&context.segment, first, length, &self.excluded());
                let attached = attached.map_err(|error| self.heap_error(call, error, 0))?;
                let Some((region, sharing)) = attached else {
                    return Ok(None);
                };
                let into = first - region.address;
                let (first, via) = match region.offset {
                    None => (first as *mut u8, self.via(call, rank, processes[rank as usize])?),
                    Some(offset) => {
                        let at = offset.checked_add(into);
                        let at = at.and_then(|at| context.segment.mapping().at(at, length));
                        (at.ok_or(Error::Damaged { what: "attachment" })?, Via::Mapped)
                    }
                };
                let at = first.wrapping_offset((bytes.start as isize).wrapping_neg());
                Ok(Some(found(at, via, Some(sharing))))
            }
        }
    }

    /// Why a part has no such bytes.
    #[cold]
    fn out_of_range(
        &self,
        call: Call,
        target: u32,
        displacement: u64,
        range: &Range<i64>,
    ) -> Error {
        let at = self.place(call);
        // The distance of two `i64`s, each of them perhaps the smallest or largest.
        let bytes = range.end.wrapping_sub(range.start) as u64;
        if self.flavour() == Flavour::Dynamic {
            let displacement = displacement.saturating_add_signed(range.start);
            return Error::NotAttached { at, target, address: displacement, bytes };
        }
        let (disp_unit, size) = (self.part(target).disp_unit, self.bytes_of(target));
        if range.start != 0 {
            let (start, end) = (range.start, range.end);
            return Error::LayoutRange { at, target, displacement, start, end, disp_unit, size };
        }
        Error::Range { at, target, displacement, bytes, disp_unit, size }
    }

    fn via(&self, call: Call, target: u32, process: Process) -> Result<Via> {
        if target == self.comm().rank().0 {
            return Ok(Via::Own);
        }
        // Its number may soon be another process's.
        if self.comm().failed_rank(target).is_some() {
            return Err(self.gone(call, target, "the rank has failed"));
        }
        if has_left(self.comm(), target)? {
            return Err(self.gone(call, target, LEFT));
        }
        Ok(Via::Kernel(process))
    }

    /// The private part of a rank, empty if it has none.
    pub(super) fn private(&self, rank: u32) -> Span {
        match &self.unmapped {
            Unmapped::Private(privates) => privates[rank as usize].span,
            Unmapped::Foreign(memory) if rank == self.comm().rank().0 => memory.window.own(),
            Unmapped::Foreign(memory) => memory.parts[rank as usize],
            _ => Span::nothing(),
        }
    }

    /// What the kernel said of an access to the memory of `target`. If its process is gone, the
    /// rank has died, and the launcher is about to say so: the death is the error, not the access.
    #[cold]
    pub(crate) fn kernel_error(&self, call: Call, target: u32, source: std::io::Error) -> Error {
        if is_gone(&source) {
            if let Err(failed) = hear_of_death(self.comm(), target) {
                return self.job_failed(failed, call);
            }
            // It was still there when that was asked.
            return self.gone(call, target, LEFT);
        }
        self.unreachable(call, target, source)
    }

    #[cold]
    fn gone(&self, call: Call, target: u32, why: &str) -> Error {
        self.unreachable(call, target, std::io::Error::other(why))
    }

    fn unreachable(&self, call: Call, target: u32, source: std::io::Error) -> Error {
        Error::Unreachable {
            at: self.place(call),
            rank: self.comm().rank().0,
            owner: target,
            source,
        }
    }

    #[cold]
    pub(crate) fn wrong_flavour(&self, call: Call, needed: &'static str) -> Error {
        Error::Flavour { at: self.place(call), flavour: self.flavour.call().name(), needed }
    }

    fn own_directory(&self, call: Call) -> Result<&DirectoryWords> {
        match &self.unmapped {
            Unmapped::Dynamic { directories, .. } => Ok(&directories[self.comm().rank().index()]),
            _ => Err(self.wrong_flavour(call, "a dynamic window")),
        }
    }

    /// The block of this rank's own table of attachments.
    pub(super) fn own_directory_block(&self) -> Option<u64> {
        match self.flavour {
            Flavour::Dynamic => self.own_directory(Call::WinFree).ok()?.block(),
            _ => None,
        }
    }

    /// Adds memory to this rank's part of a dynamic window, which whoever calls this keeps valid and
    /// unreferenced until it is detached; [`Win::attach`] is the public face.
    pub(crate) fn attach_region(&self, start: *mut u8, bytes: u64) -> Result<()> {
        let call = Call::Attach;
        let directory = self.own_directory(call)?;
        let address = start as u64;
        check_range(|| self.place(call), self.comm().rank().0, address, bytes)?;
        if bytes == 0 {
            let problem = "a region of no bytes cannot be attached".into();
            return Err(Error::Attach { at: self.place(call), problem });
        }
        let context = self.context();
        let region = Region { address, bytes, offset: context.segment.offset_of(start, bytes) };
        directory.attach(&context.segment, region, &self.excluded()).map_err(|error| match error {
            AttachError::Other(error) => self.heap_error(call, error, 0),
            AttachError::Overlaps(Region { address: other, bytes: length, .. }) => Error::Attach {
                at: self.place(call),
                problem: format!(
                    "{bytes} bytes at address {address:#x} overlap the {length} bytes attached at \
                     {other:#x}"
                ),
            },
        })
    }

    /// `MPI_Win_detach` (MPI-4.1 §12.2.4): takes the region attached at `start` out of a dynamic
    /// window; afterwards no rank accesses it any more.
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if no region was attached at that address; [`Error::Flavour`];
    /// [`Error::RankFailed`].
    pub fn detach(&self, start: *mut u8) -> Result<()> {
        self.within(Call::Detach, || self.detach_region(start))
    }

    /// The body of [`Win::detach`].
    pub(crate) fn detach_region(&self, start: *mut u8) -> Result<()> {
        let directory = self.own_directory(Call::Detach)?;
        let context = self.context();
        let detached = directory.detach(&context.segment, start as u64, &self.excluded());
        match detached.map_err(|error: AllocError| self.heap_error(Call::Detach, error, 0))? {
            Some(_) => Ok(()),
            None => Err(Error::Attach {
                at: self.place(Call::Detach),
                problem: format!("no region is attached at address {start:p}"),
            }),
        }
    }
}
