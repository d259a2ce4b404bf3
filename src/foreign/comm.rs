//! Communicators of the other MPI.

use super::abi::{self, Handle};
use super::library::{self, called};
use super::{ForeignError, ForeignResult};
use std::ffi::c_int;
use std::sync::OnceLock;

/// See [`ForeignComm::become_host`].
static HOST: OnceLock<ForeignComm> = OnceLock::new();

/// The ranks of the job in the MPI that the program itself uses, if it does.
pub(crate) fn host() -> Option<ForeignComm> {
    HOST.get().copied()
}

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
        called(|mpi| (mpi.comm_rank)(handle, &mut rank))?;
        called(|mpi| (mpi.comm_size)(handle, &mut size))?;
        library::comm_returns_errors(handle)?;
        Ok(ForeignComm { handle, rank: rank as u32, size: size as u32 })
    }

    /// These are the ranks of the job in the MPI that the program itself uses. The first call counts.
    pub(crate) fn become_host(&self) {
        let _ = HOST.set(*self);
    }

    /// The handle as a number.
    pub(crate) fn number(&self) -> usize {
        self.handle
    }

    /// `MPI_Allgather` of equally many bytes from each rank into `all`, in rank order.
    ///
    /// Collective; blocks until every rank has called it.
    pub(crate) fn allgather(&self, mine: &[u8], all: &mut [u8]) -> ForeignResult<()> {
        all.copy_from_slice(&self.begin_allgather(mine)?.wait()?);
        Ok(())
    }

    /// `MPI_Comm_dup`. Collective; blocks until every rank has called it.
    pub(crate) fn dup(&self) -> ForeignResult<ForeignComm> {
        let mut made = abi::COMM_NULL;
        called(|mpi| (mpi.comm_dup)(self.handle, &mut made))?;
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
        called(|mpi| (mpi.comm_split)(self.handle, colour, key as c_int, &mut made))?;
        if made == abi::COMM_NULL { Ok(None) } else { ForeignComm::of(made).map(Some) }
    }

    /// The ranks that can share memory with this one (`MPI_COMM_TYPE_SHARED`), in their order here.
    ///
    /// Collective; blocks until every rank has called it.
    pub(super) fn near(&self) -> ForeignResult<ForeignComm> {
        let (kind, key, mut made) = (abi::COMM_TYPE_SHARED, self.rank as c_int, abi::COMM_NULL);
        called(|mpi| (mpi.comm_split_type)(self.handle, kind, key, abi::INFO_NULL, &mut made))?;
        ForeignComm::of(made)
    }

    /// `MPI_Comm_create_group`, of those ranks of this communicator, in their order. Collective over
    /// them; blocks until each has called it.
    pub(crate) fn create_group(&self, ranks: &[u32], tag: u32) -> ForeignResult<ForeignComm> {
        // Every MPI supports tags up to this one.
        let tag = (tag % (1 << 14)) as c_int;
        self.gather(ranks, tag | 1 << 14)?;
        ForeignComm::of(self.created(ranks, tag)?)
    }

    /// The ranks among those of `MPI_COMM_WORLD` that can share memory with this one. The world's error handler stays.
    ///
    /// Collective over `ranks`; blocks until each has called it.
    pub(crate) fn near_among(ranks: &[u32]) -> ForeignResult<ForeignComm> {
        let world = ForeignComm { handle: abi::COMM_WORLD, rank: 0, size: 0 };
        let all = ForeignComm::of(world.created(ranks, 0)?)?;
        let near = all.near()?;
        all.free()?;
        Ok(near)
    }

    /// `MPI_Comm_create_group`, of those ranks.
    fn created(&self, ranks: &[u32], tag: c_int) -> ForeignResult<Handle> {
        let ranks: Vec<c_int> = ranks.iter().map(|rank| *rank as c_int).collect();
        let (mut all, mut made) = (abi::GROUP_NULL, abi::COMM_NULL);
        called(|mpi| (mpi.comm_group)(self.handle, &mut all))?;
        let some = library::group_of(all, &ranks)?;
        let created = called(|mpi| (mpi.comm_create_group)(self.handle, some, tag, &mut made));
        for mut group in [all, some] {
            called(|mpi| (mpi.group_free)(&mut group))?;
        }
        created.map(|()| made)
    }

    /// Waits until all of those ranks have called this: what waits in the other MPI makes no progress for
    /// others.
    fn gather(&self, ranks: &[u32], tag: c_int) -> ForeignResult<()> {
        let Some((first, rest)) = ranks.split_first() else { return Ok(()) };
        if *first != self.rank {
            self.notify(*first, tag)?;
            return self.hear(*first, tag);
        }
        rest.iter().try_for_each(|rank| self.hear(*rank, tag))?;
        rest.iter().try_for_each(|rank| self.notify(*rank, tag))
    }

    /// `MPI_Comm_free`, of the last handle that is used. Collective.
    pub(crate) fn free(mut self) -> ForeignResult<()> {
        called(|mpi| (mpi.comm_free)(&mut self.handle))
    }

    /// Sends a message without data. Does not block.
    pub(super) fn notify(&self, rank: u32, tag: c_int) -> ForeignResult<()> {
        library::send_nothing(*self, rank, tag)
    }

    /// Receives one. Blocks until it arrives.
    pub(super) fn hear(&self, rank: u32, tag: c_int) -> ForeignResult<()> {
        self.receive(rank, tag, 0)?.wait().map(drop)
    }

    /// Whether one has arrived. Does not block.
    pub(super) fn has_heard(&self, rank: u32, tag: c_int) -> ForeignResult<bool> {
        self.probe(rank as c_int, tag)
    }

    /// Lets the other MPI make progress, which it may do inside calls only.
    pub(crate) fn help(&self) {
        // The result is ignored; an error shows in the next call.
        let _ = self.probe(abi::ANY_SOURCE, abi::ANY_TAG);
    }

    fn probe(&self, rank: c_int, tag: c_int) -> ForeignResult<bool> {
        let mut found = 0;
        called(|mpi| (mpi.iprobe)(rank, tag, self.handle, &mut found, None))?;
        Ok(found != 0)
    }

    /// Whether `mine` is true on all ranks. Collective; blocks until every rank has called it.
    pub(crate) fn all_agree(&self, mine: bool) -> ForeignResult<bool> {
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
