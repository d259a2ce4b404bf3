//! Putting a collective together.

use super::buffer::{self, Buffer, BufferMut, Combine};
use super::request::CollectiveRequest;
use super::schedule::{Kept, Schedule, Step};
use crate::call::Call;
use crate::comm::Comm;
use crate::datatype::CommittedDatatype;
use crate::error::{Error, Result};
use crate::group::Rank;
use std::any::Any;

/// A collective that has not begun: nothing of it has been sent, so it can be refused.
pub(super) struct Plan<'c> {
    pub(super) comm: &'c Comm,
    pub(super) call: Call,
    /// This rank, and how many there are.
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// Of a collective between two groups, how many the other one has. They are counted on behind
    /// those of the own group.
    pub(super) remote: u32,
    steps: Vec<Step>,
    combine: Option<Combine>,
    kept: Kept,
}

impl Comm {
    /// Starts the collective that `plan` puts together.
    pub(super) fn start_planned<B: Any>(
        &self,
        call: Call,
        plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
    ) -> Result<CollectiveRequest<B>> {
        self.within(call, || {
            self.check_shares(call, "a collective that does not wait")?;
            let mut planned = Plan::new(self, call, self.rank(), self.size());
            plan(&mut planned)?;
            planned.start()
        })
    }
}

impl Plan<'_> {
    pub(super) fn new(comm: &Comm, call: Call, rank: u32, ranks: u32) -> Plan<'_> {
        let kept = Kept { result: Some(Box::new(())), ..Kept::default() };
        Plan { comm, call, rank, ranks, remote: 0, steps: Vec::new(), combine: None, kept }
    }

    /// Gives every rank the name that it has in the communicator.
    pub(super) fn rename(&mut self, places: &[Rank]) {
        for step in &mut self.steps {
            if let Step::Send(rank, _) | Step::Receive(rank, _) = step {
                *rank = places[rank.0 as usize];
            }
        }
    }

    pub(super) fn start<B: Any>(self) -> Result<CollectiveRequest<B>> {
        let Plan { comm, call, steps, combine, kept, .. } = self;
        CollectiveRequest::start(Schedule::new(comm, call, steps, combine, kept))
    }

    pub(super) fn send(&mut self, to: u32, from: Buffer) {
        self.steps.push(Step::Send(Rank(to), from));
    }

    pub(super) fn receive(&mut self, from: u32, into: BufferMut) {
        self.steps.push(Step::Receive(Rank(from), into));
    }

    /// Ends a round: what follows needs its messages, or its buffers.
    pub(super) fn wait(&mut self) {
        self.steps.push(Step::Await);
    }

    pub(super) fn copy(&mut self, from: Buffer, to: BufferMut) {
        self.steps.push(Step::Copy(from, to));
    }

    pub(super) fn combine(&mut self, lower: Buffer, upper: BufferMut) {
        self.steps.push(Step::Combine(lower, upper));
    }

    /// What [`Plan::combine`] does.
    pub(super) fn combine_by(&mut self, combine: Combine) {
        self.combine = Some(combine);
    }

    /// What the request keeps, and what it gives.
    pub(super) fn keep(&mut self, given: impl Any + Send, result: impl Any + Send) {
        self.kept.given = Some(Box::new(given));
        self.kept.result = Some(Box::new(result));
    }

    /// Memory for `count` instances of a datatype that fit into an address space.
    pub(super) fn scratch(&mut self, count: usize, of: &CommittedDatatype) -> Result<BufferMut> {
        let (memory, buffer) = buffer::scratch(count, of).ok_or_else(|| self.too_far(of))?;
        self.kept.scratch.push(memory);
        Ok(buffer)
    }

    /// A copy of what is in `buffer` when the steps so far have been taken.
    pub(super) fn copied(&mut self, buffer: &Buffer) -> Result<BufferMut> {
        let copy = self.scratch(buffer.count, &buffer.datatype)?;
        self.copy(buffer.clone(), copy.clone());
        Ok(copy)
    }

    /// All ranks but this one, from the next one on, so that not all begin with the same.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, ranks) = (self.rank, self.ranks);
        (1..ranks).map(move |k| (rank + k) % ranks)
    }

    /// The same, beginning with the one before: who sends to this rank first.
    pub(super) fn others_back(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, ranks) = (self.rank, self.ranks);
        (1..ranks).map(move |k| (rank + ranks - k) % ranks)
    }

    /// The bytes of a buffer that reaches no farther than can be said.
    pub(super) fn bytes(&self, buffer: &Buffer) -> Result<u64> {
        buffer.bytes().ok_or_else(|| self.too_far(&buffer.datatype))
    }

    pub(super) fn check_root(&self, root: Rank, ranks: u32) -> Result<()> {
        if root.0 < ranks {
            return Ok(());
        }
        Err(Error::Root { at: self.comm.place(self.call), root: root.0, ranks })
    }

    pub(super) fn check_peer(&self, peer: Rank) -> Result<()> {
        if peer.0 < self.ranks {
            return Ok(());
        }
        Err(Error::Peer { at: self.comm.place(self.call), peer: peer.0, ranks: self.ranks })
    }

    pub(super) fn check_count(
        &self,
        what: &'static str,
        found: usize,
        needed: usize,
    ) -> Result<()> {
        if found == needed {
            return Ok(());
        }
        Err(Error::Count { at: self.comm.place(self.call), what, found, needed })
    }

    /// Refuses two buffers of this rank of which one is to be copied to the other.
    pub(super) fn check_same(&self, from: &Buffer, to: &BufferMut) -> Result<()> {
        let (from, to) = (self.bytes(from)?, self.bytes(&to.read())?);
        self.check_count("own part, in bytes,", from as usize, to as usize)
    }

    pub(super) fn no_buffer(&self, problem: &'static str) -> Error {
        Error::Buffer { at: self.comm.place(self.call), problem }
    }

    pub(super) fn no_operation(&self, op: &'static str, datatype: &'static str) -> Error {
        Error::Operation { at: self.comm.place(self.call), op, datatype }
    }

    #[cold]
    fn too_far(&self, datatype: &CommittedDatatype) -> Error {
        let buffer = format!("a buffer of {datatype:?}");
        Error::Reach { at: self.comm.place(self.call), buffer }
    }
}
