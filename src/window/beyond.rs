//! Memory of other ranks that is not mapped into this process, or only known by address: the
//! private parts of `MPI_Win_create`, and what is attached to dynamic windows.

use super::{Flavour, Win};
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Result};
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

/// What an operation that finds no mapped part looks at.
pub(crate) enum Beyond {
    /// All parts are mapped.
    Nothing,
    /// Parts of `MPI_Win_create`; those that are mapped are empty here.
    Private(Box<[Private]>),
    /// Memory of another MPI.
    Foreign(Box<super::foreign::Memory>),
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

/// Memory of a target beyond its mapped part.
pub(crate) struct Reached<'w> {
    pub(crate) at: *mut u8,
    pub(crate) via: Via,
    /// Keeps the memory attached.
    pub(crate) sharing: Option<Sharing<'w>>,
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
    /// The bytes (not none) around displacement `disp` of `target`, a rank that has no mapped bytes
    /// there; the address is that of the displacement. Blocks while the target attaches or
    /// detaches.
    pub(crate) fn reach_beyond(
        &self,
        call: Call,
        target: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Reached<'_>>> {
        match &self.beyond {
            Beyond::Nothing => Ok(None),
            Beyond::Private(privates) => {
                let private = &privates[target as usize];
                let at = private.span.around(disp, self.part(target).disp_unit, bytes);
                let via = self.via(call, target, private.process)?;
                Ok(at.map(|at| Reached { at, via, sharing: None }))
            }
            Beyond::Foreign(memory) => {
                let at =
                    memory.parts[target as usize].around(disp, self.part(target).disp_unit, bytes);
                Ok(at.map(|at| Reached { at, via: Via::Foreign, sharing: None }))
            }
            Beyond::Dynamic { directories, processes } => {
                let context = self.context();
                let directory = &directories[target as usize];
                let Some((start, end)) = range_at(disp, 1, bytes) else {
                    return Ok(None);
                };
                let length = end - start;
                let found = directory.find(&context.segment, start, length, &self.excluded());
                let found = found.map_err(|error| self.heap_error(call, error, 0))?;
                let Some((region, sharing)) = found else {
                    return Ok(None);
                };
                let into = start - region.address;
                let (first, via) = match region.offset {
                    None => (start as *mut u8, self.via(call, target, processes[target as usize])?),
                    Some(offset) => {
                        let at = offset.checked_add(into);
                        let at = at.and_then(|at| context.segment.mapping().at(at, length));
                        (at.ok_or(Error::Damaged { what: "attachment" })?, Via::Mapped)
                    }
                };
                let at = first.wrapping_offset((bytes.start as isize).wrapping_neg());
                Ok(Some(Reached { at, via, sharing: Some(sharing) }))
            }
        }
    }

    fn via(&self, call: Call, target: u32, process: Process) -> Result<Via> {
        if target == self.comm().rank() {
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
        match &self.beyond {
            Beyond::Private(privates) => privates[rank as usize].span,
            Beyond::Foreign(memory) if rank == self.comm().rank() => memory.window.own(),
            Beyond::Foreign(memory) => memory.parts[rank as usize],
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
        Error::Unreachable { at: self.place(call), rank: self.comm().rank(), owner: target, source }
    }

    #[cold]
    pub(crate) fn wrong_flavour(&self, call: Call, needed: &'static str) -> Error {
        Error::Flavour { at: self.place(call), flavour: self.flavour.call().name(), needed }
    }

    fn own_directory(&self, call: Call) -> Result<&DirectoryWords> {
        match &self.beyond {
            Beyond::Dynamic { directories, .. } => Ok(&directories[self.comm().rank() as usize]),
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
        if address == 0 || address.checked_add(bytes).is_none() {
            let problem = format!("{bytes} bytes at address {address:#x} are no memory");
            return Err(Error::Base { at: self.place(call), problem });
        }
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
