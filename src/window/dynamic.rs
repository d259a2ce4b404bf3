//! The memory of dynamic windows: attached and detached by each rank (MPI-4.1 §12.2.4), and found by
//! address.

use super::calls::Calls;
use super::create::check_range;
use super::memory::{ExposedMemory, StaysAttached, Target, Via, via};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::foreign::{AttachedRun, AttachmentHold, ForeignWindow};
use crate::memory::ExposedBytes;
use crate::shm::{AllocError, AttachError, DirectoryWords, PlacedSlice, Process, Region, range_at};
use std::ops::Range;
use std::sync::Arc;

/// The attached memory of all ranks.
pub(crate) struct Attachments {
    /// The attachments of each rank.
    pub(super) directories: PlacedSlice<DirectoryWords>,
    /// The process of each rank.
    pub(super) processes: Box<[Process]>,
    /// The window of another MPI, if it is its. The directories are then this rank's alone: its own, and what
    /// it knows of the others'.
    pub(super) elsewhere: Option<Arc<ForeignWindow>>,
}

impl Attachments {
    /// The bytes around address `disp` of `rank`, if they are attached.
    pub(super) fn find(
        &self,
        calls: &Calls,
        call: Call,
        rank: u32,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Result<Option<Target<'_>>> {
        let (context, directory) = (calls.context(), &self.directories[rank as usize]);
        let Some((first, end)) = range_at(disp, 1, bytes) else {
            return Ok(None);
        };
        let length = end - first;
        let hold = self.hold(calls, call, rank)?;
        let attached = directory.find(&context.segment, first, length, &calls.excluded());
        let attached = attached.map_err(|error| calls.heap_error(call, error, 0))?;
        let Some((region, sharing)) = attached else {
            return Ok(None);
        };
        let at = |first: *mut u8| first.wrapping_offset((bytes.start as isize).wrapping_neg());
        if let Some(hold) = hold {
            let target = Target::new(rank, at(first as *mut u8), disp, Via::Foreign);
            return Ok(Some(target.attached(StaysAttached::Elsewhere(Box::new(hold)))));
        }
        let into = first - region.address;
        let (first, via) = match region.offset {
            None => (first as *mut u8, via(calls, call, rank, self.processes[rank as usize])?),
            Some(offset) => {
                let at = offset.checked_add(into);
                let at = at.and_then(|at| context.segment.mapping().at(at, length));
                (at.ok_or(Error::Damaged { what: "attachment" })?, Via::Mapped)
            }
        };
        Ok(Some(Target::new(rank, at(first), disp, via).attached(StaysAttached::Here(sharing))))
    }

    /// Holds what `rank` has attached to another MPI's window, and makes its directory here that of the rank.
    fn hold(&self, calls: &Calls, call: Call, rank: u32) -> Result<Option<AttachmentHold<'_>>> {
        let Some(window) = &self.elsewhere else { return Ok(None) };
        let mut hold = calls.foreign(call, window.hold_attached(rank))?;
        if let Some(runs) = calls.foreign(call, hold.changed())? {
            let region = |[address, bytes]: AttachedRun| Region { address, bytes, offset: None };
            let regions: Vec<Region> = runs.into_iter().map(region).collect();
            let (segment, directory) = (&calls.context().segment, &self.directories[rank as usize]);
            let replaced = directory.replace(segment, &regions, &calls.excluded());
            replaced.map_err(|error| calls.heap_error(call, error, 0))?;
            hold.seen();
        }
        Ok(Some(hold))
    }

    /// What this rank has attached, for the other ranks of another MPI's window.
    fn own_runs(&self, calls: &Calls) -> Result<Vec<AttachedRun>> {
        let regions = self.directories[calls.rank().index()].regions(&calls.context().segment)?;
        Ok(regions.into_iter().map(|region| [region.address, region.bytes]).collect())
    }
}

impl ExposedMemory {
    fn own_directory(&self, calls: &Calls, call: Call) -> Result<(&Attachments, &DirectoryWords)> {
        match self.attached() {
            Some(attached) => Ok((attached, &attached.directories[calls.rank().index()])),
            None => Err(calls.wrong_flavour(call, "a dynamic window")),
        }
    }

    /// The blocks of the tables of attachments that belong to this rank: its own, and in another MPI's window all.
    pub(super) fn own_directory_blocks(&self, calls: &Calls) -> Vec<u64> {
        let Some(attached) = self.attached() else { return Vec::new() };
        let own = match attached.elsewhere {
            Some(_) => &attached.directories[..],
            None => &attached.directories[calls.rank().index()..][..1],
        };
        own.iter().filter_map(DirectoryWords::block).collect()
    }

    /// `MPI_Win_attach`: adds memory to this rank's part of a dynamic window.
    pub(crate) fn attach(&self, calls: &Calls, memory: ExposedBytes) -> Result<()> {
        let (call, memory) = (Call::Attach, memory.span());
        let (start, bytes) = (memory.base(), memory.len());
        let (attachments, directory) = self.own_directory(calls, call)?;
        let address = start as u64;
        check_range(|| calls.place(call), calls.rank().0, address, bytes)?;
        if bytes == 0 {
            let problem = "a region of no bytes cannot be attached".into();
            return Err(Error::Attach { at: calls.place(call), problem });
        }
        let segment = &calls.context().segment;
        let region = Region { address, bytes, offset: segment.offset_of(start, bytes) };
        let mut change = attachments.elsewhere.as_ref().map(|window| window.change_attached());
        let attached = directory.attach(segment, region, &calls.excluded());
        attached.map_err(|error| not_attached(calls, region, error))?;
        if let Some(change) = &mut change {
            let attached = change.attach(memory, &attachments.own_runs(calls)?);
            calls.foreign(call, attached).inspect_err(|_| {
                // The call already returns another error.
                let _ = directory.detach(segment, address, &calls.excluded());
            })?;
        }
        calls.checked(|checker, window| window.attach(checker, &calls.excluded(), memory));
        calls.resized(bytes.cast_signed());
        Ok(())
    }

    /// `MPI_Win_detach`: removes the region attached at `start` from this rank's part of a dynamic window.
    pub(crate) fn detach(&self, calls: &Calls, start: *mut u8) -> Result<()> {
        let call = Call::Detach;
        let (attachments, directory) = self.own_directory(calls, call)?;
        let segment = &calls.context().segment;
        calls.checked(|checker, window| window.detach(checker, &calls.excluded(), start as u64));
        let mut change = attachments.elsewhere.as_ref().map(|window| window.change_attached());
        let detached = directory.detach(segment, start as u64, &calls.excluded());
        let Some(region) =
            detached.map_err(|error: AllocError| calls.heap_error(call, error, 0))?
        else {
            let problem = format!("no region is attached at address {start:p}");
            return Err(Error::Attach { at: calls.place(call), problem });
        };
        calls.resized(-region.bytes.cast_signed());
        match &mut change {
            None => Ok(()),
            Some(change) => {
                calls.foreign(call, change.detach(start, &attachments.own_runs(calls)?))
            }
        }
    }
}

/// Why a region cannot be attached.
#[cold]
fn not_attached(calls: &Calls, region: Region, why: AttachError) -> Error {
    let Region { address, bytes, .. } = region;
    match why {
        AttachError::Other(error) => calls.heap_error(Call::Attach, error, 0),
        AttachError::Overlaps(Region { address: other, bytes: length, .. }) => Error::Attach {
            at: calls.place(Call::Attach),
            problem: format!(
                "{bytes} bytes at address {address:#x} overlap the {length} bytes attached at \
                 {other:#x}"
            ),
        },
    }
}
