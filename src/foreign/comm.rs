//! Communicators of the other MPI.
#![allow(unsafe_code, reason = "calls functions of a loaded library")]

use super::abi::{self, Handle};
use super::library::{checked, functions};
use super::{ForeignError, ForeignResult};
use std::ffi::c_int;
use std::ptr::null_mut;

/// A communicator of the other MPI, whose errors are returned. A copy is another handle of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignComm {
    pub(super) handle: Handle,
    pub(crate) rank: u32,
    pub(crate) size: u32,
}

impl ForeignComm {
    /// The communicator of a handle, with its rank and size.
    pub(super) fn of(handle: Handle) -> ForeignResult<ForeignComm> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a live communicator; a place for an int.
        checked(unsafe { (functions().comm_rank)(handle, &raw mut rank) })?;
        // SAFETY: as above.
        checked(unsafe { (functions().comm_size)(handle, &raw mut size) })?;
        // SAFETY: a live communicator, a predefined handler.
        checked(unsafe { (functions().comm_errors)(handle, abi::ERRORS_RETURN) })?;
        Ok(ForeignComm { handle, rank: rank as u32, size: size as u32 })
    }

    /// `MPI_Allgather` of equally many bytes from each rank into `all`, in rank order.
    ///
    /// Collective; blocks until every rank has called it.
    pub(crate) fn allgather(&self, mine: &[u8], all: &mut [u8]) -> ForeignResult<()> {
        let bytes = mine.len() as c_int;
        debug_assert_eq!(all.len(), mine.len() * self.size as usize);
        // SAFETY: a live communicator; both buffers have the given lengths.
        checked(unsafe {
            (functions().allgather)(
                mine.as_ptr().cast(),
                bytes,
                abi::BYTE,
                all.as_mut_ptr().cast(),
                bytes,
                abi::BYTE,
                self.handle,
            )
        })
    }

    /// `MPI_Comm_dup`. Collective; blocks until every rank has called it.
    pub(crate) fn dup(&self) -> ForeignResult<ForeignComm> {
        let mut made = abi::COMM_NULL;
        // SAFETY: a live communicator; a place for a handle.
        checked(unsafe { (functions().comm_dup)(self.handle, &raw mut made) })?;
        ForeignComm::of(made)
    }

    /// `MPI_Comm_split`; `None` is `MPI_UNDEFINED`. Collective; blocks until every rank has called it.
    pub(crate) fn split(
        &self,
        colour: Option<u32>,
        key: u32,
    ) -> ForeignResult<Option<ForeignComm>> {
        let colour = colour.map_or(abi::UNDEFINED, |colour| colour as c_int);
        let mut made = abi::COMM_NULL;
        // SAFETY: as in `dup`.
        checked(unsafe {
            (functions().comm_split)(self.handle, colour, key as c_int, &raw mut made)
        })?;
        if made == abi::COMM_NULL { Ok(None) } else { ForeignComm::of(made).map(Some) }
    }

    /// `MPI_Comm_create_group`, of those ranks of this communicator, in their order. Collective over
    /// them; blocks until each has called it.
    pub(crate) fn create_group(&self, ranks: &[u32], tag: u32) -> ForeignResult<ForeignComm> {
        let ranks: Vec<c_int> = ranks.iter().map(|rank| *rank as c_int).collect();
        let [mut all, mut some] = [abi::GROUP_NULL; 2];
        let mut made = abi::COMM_NULL;
        // Every MPI supports tags up to this one.
        let tag = (tag % 32768) as c_int;
        // SAFETY: a live communicator; a place for a handle.
        checked(unsafe { (functions().comm_group)(self.handle, &raw mut all) })?;
        let n = ranks.len() as c_int;
        // SAFETY: a live group; `n` ranks; a place for a handle.
        checked(unsafe { (functions().group_incl)(all, n, ranks.as_ptr(), &raw mut some) })?;
        // SAFETY: a live communicator and a live group; a place for a handle.
        let code =
            unsafe { (functions().comm_create_group)(self.handle, some, tag, &raw mut made) };
        for mut group in [all, some] {
            // SAFETY: a live group, which is not used any more.
            checked(unsafe { (functions().group_free)(&raw mut group) })?;
        }
        checked(code)?;
        ForeignComm::of(made)
    }

    /// `MPI_Comm_free`, of the last handle that is used. Collective.
    pub(crate) fn free(mut self) -> ForeignResult<()> {
        // SAFETY: a live communicator, which is not used any more.
        checked(unsafe { (functions().comm_free)(&raw mut self.handle) })
    }

    /// Sends a message without data. Does not block.
    pub(super) fn tell(&self, rank: u32, tag: c_int) -> ForeignResult<()> {
        let mut request = abi::REQUEST_NULL;
        // SAFETY: no data; a place for a handle.
        checked(unsafe {
            (functions().isend)(
                null_mut(),
                0,
                abi::BYTE,
                rank as c_int,
                tag,
                self.handle,
                &raw mut request,
            )
        })?;
        // SAFETY: the request of the send, which needs no wait because it has no buffer.
        checked(unsafe { (functions().request_free)(&raw mut request) })
    }

    /// Receives one. Blocks until it arrives.
    pub(super) fn hear(&self, rank: u32, tag: c_int) -> ForeignResult<()> {
        // SAFETY: no data; null stands for an ignored status.
        checked(unsafe {
            (functions().recv)(
                null_mut(),
                0,
                abi::BYTE,
                rank as c_int,
                tag,
                self.handle,
                null_mut(),
            )
        })
    }

    /// Whether one has arrived. Does not block.
    pub(super) fn has_heard(&self, rank: u32, tag: c_int) -> ForeignResult<bool> {
        self.probe(rank as c_int, tag)
    }

    /// Lets the other MPI make progress, which it may do inside calls only.
    pub(super) fn help(&self) {
        // The result is ignored; an error shows in the next call.
        let _ = self.probe(abi::ANY_SOURCE, abi::ANY_TAG);
    }

    fn probe(&self, rank: c_int, tag: c_int) -> ForeignResult<bool> {
        let mut found = 0;
        // SAFETY: a live communicator; a place for an int; as in `hear`.
        let code =
            unsafe { (functions().iprobe)(rank, tag, self.handle, &raw mut found, null_mut()) };
        checked(code)?;
        Ok(found != 0)
    }

    /// Whether `mine` is true on all ranks. Collective; blocks until every rank has called it.
    pub(super) fn all_agree(&self, mine: bool) -> ForeignResult<bool> {
        let mut all = vec![0; self.size as usize];
        self.allgather(&[u8::from(mine)], &mut all)?;
        Ok(all.iter().all(|one| *one == 1))
    }
}

impl ForeignError {
    /// The error on a rank when another one has failed, which alone knows the reason.
    pub(super) fn elsewhere() -> ForeignError {
        ForeignError { class: 16, text: "another rank was refused, and says why".into() }
    }
}
