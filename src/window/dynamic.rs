//! The memory of dynamic windows: attached and detached by each rank (MPI-4.1 §12.2.4), and found by
//! address.

use super::calls::Calls;
use super::create::check_range;
use super::memory::{ExposedMemory, Target, Via, via};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::memory::ExposedBytes;
use crate::shm::{AllocError, AttachError, DirectoryWords, PlacedSlice, Process, Region, range_at};
use std::ops::Range;

/// The attached memory of all ranks.
pub(crate) struct Attachments {
    /// The attachments of each rank.
    pub(super) directories: PlacedSlice<DirectoryWords>,
    /// The process of each rank.
    pub(super) processes: Box<[Process]>,
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
        let attached = directory.find(&context.segment, first, length, &calls.excluded());
        let attached = attached.map_err(|error| calls.heap_error(call, error, 0))?;
        let Some((region, sharing)) = attached else {
            return Ok(None);
        };
        let into = first - region.address;
        let (first, via) = match region.offset {
            None => (first as *mut u8, via(calls, call, rank, self.processes[rank as usize])?),
            Some(offset) => {
                let at = offset.checked_add(into);
                let at = at.and_then(|at| context.segment.mapping().at(at, length));
                (at.ok_or(Error::Damaged { what: "attachment" })?, Via::Mapped)
            }
        };
        let at = first.wrapping_offset((bytes.start as isize).wrapping_neg());
        Ok(Some(Target::new(rank, at, disp, via).sharing(sharing)))
    }
}

impl ExposedMemory {
    fn own_directory(&self, calls: &Calls, call: Call) -> Result<&DirectoryWords> {
        match self.attached() {
            Some(attached) => Ok(&attached.directories[calls.rank().index()]),
            None => Err(calls.wrong_flavour(call, "a dynamic window")),
        }
    }

    /// The block of this rank's own table of attachments.
    pub(super) fn own_directory_block(&self, calls: &Calls) -> Option<u64> {
        self.attached()?.directories[calls.rank().index()].block()
    }

    /// `MPI_Win_attach`: adds memory to this rank's part of a dynamic window.
    pub(crate) fn attach(&self, calls: &Calls, memory: ExposedBytes) -> Result<()> {
        let (call, memory) = (Call::Attach, memory.span());
        let (start, bytes) = (memory.base(), memory.len());
        let directory = self.own_directory(calls, call)?;
        let address = start as u64;
        check_range(|| calls.place(call), calls.rank().0, address, bytes)?;
        if bytes == 0 {
            let problem = "a region of no bytes cannot be attached".into();
            return Err(Error::Attach { at: calls.place(call), problem });
        }
        let segment = &calls.context().segment;
        let region = Region { address, bytes, offset: segment.offset_of(start, bytes) };
        let attached = directory.attach(segment, region, &calls.excluded());
        attached.map_err(|error| match error {
            AttachError::Other(error) => calls.heap_error(call, error, 0),
            AttachError::Overlaps(Region { address: other, bytes: length, .. }) => Error::Attach {
                at: calls.place(call),
                problem: format!(
                    "{bytes} bytes at address {address:#x} overlap the {length} bytes attached at \
                     {other:#x}"
                ),
            },
        })?;
        calls.checked(|checker, window| window.attach(checker, &calls.excluded(), memory));
        calls.resized(bytes.cast_signed());
        Ok(())
    }

    /// `MPI_Win_detach`: removes the region attached at `start` from this rank's part of a dynamic window.
    pub(crate) fn detach(&self, calls: &Calls, start: *mut u8) -> Result<()> {
        let call = Call::Detach;
        let directory = self.own_directory(calls, call)?;
        let segment = &calls.context().segment;
        calls.checked(|checker, window| window.detach(checker, &calls.excluded(), start as u64));
        let detached = directory.detach(segment, start as u64, &calls.excluded());
        match detached.map_err(|error: AllocError| calls.heap_error(call, error, 0))? {
            Some(region) => {
                calls.resized(-region.bytes.cast_signed());
                Ok(())
            }
            None => Err(Error::Attach {
                at: calls.place(call),
                problem: format!("no region is attached at address {start:p}"),
            }),
        }
    }
}
