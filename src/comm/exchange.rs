//! One chunk through the staging buffers: every rank stages, all meet, all may read all.

use super::Comm;
use crate::call::Call;
use crate::datatype::{Datatype, Element};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::shm::{STAGE_BYTES, Stage};
use bytemuck::{Pod, Zeroable};

/// Describes the call that a chunk belongs to; all ranks must stage the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Description {
    call: u32,
    root: u32,
    /// Number of the operation plus one, or zero.
    op: u32,
    /// Number of the datatype plus one, or zero.
    datatype: u32,
    /// Elements of the call's buffer, which must be as many on every rank.
    elements: u64,
    /// Chunks of this call before this one.
    chunk: u64,
}

const HEAD: u64 = size_of::<Description>() as u64;
/// Payload bytes of one chunk.
pub(super) const CHUNK: usize = (STAGE_BYTES - HEAD) as usize;

impl Description {
    /// A call without data.
    pub(super) fn bare(call: Call) -> Self {
        Description { call: call as u32, ..Description::zeroed() }
    }

    /// A call with a buffer of `elements` elements of type `T`.
    pub(super) fn of<T: Element>(call: Call, root: Rank, op: Option<Op>, elements: usize) -> Self {
        let op = op.map_or(0, |op| op as u32 + 1);
        let (datatype, elements) = (T::DATATYPE as u32 + 1, elements as u64);
        Description { call: call as u32, root: root.0, op, datatype, elements, chunk: 0 }
    }

    pub(super) fn call(&self) -> Call {
        Call::from_word(self.call).unwrap_or(Call::None)
    }

    pub(super) fn next_chunk(&mut self) {
        self.chunk += 1;
    }

    fn sentence(&self) -> String {
        let Description { root, op, datatype, elements, chunk, .. } = *self;
        let numbered = |number: u32| (number as usize).checked_sub(1);
        let mut text = self.call().to_string();
        if matches!(self.call(), Call::WinAllocate | Call::WinFree) {
            // What these gather among themselves is not what the caller has written.
            return text;
        }
        if let Some(datatype) = numbered(datatype).and_then(|k| Datatype::ALL.get(k)) {
            text += &format!(" of {elements} {}", datatype.name());
        }
        if let Some(op) = numbered(op).and_then(|k| Op::ALL.get(k)) {
            text += &format!(" by {}", op.name());
        }
        if root != 0 {
            text += &format!(", root {root}");
        }
        if chunk != 0 {
            text += &format!(" (part {})", chunk + 1);
        }
        text
    }
}

/// The staged chunks of all ranks, until the next exchange.
pub(super) struct Staged<'a> {
    comm: &'a Comm,
    odd: bool,
}

impl Comm {
    /// Stages `mine` (at most [`CHUNK`] bytes), meets the others, and checks that they agree.
    ///
    /// Collective; blocks until every rank has staged its chunk.
    pub(super) fn exchange(&self, what: Description, mine: &[u8]) -> Result<Staged<'_>> {
        let mut meeting = self.meeting();
        let odd = meeting.odd;
        meeting.odd = !odd;
        drop(meeting);
        let staged = Staged { comm: self, odd };
        let mapping = self.context().segment.mapping();
        let at = staged.offset(self.rank());
        mapping.write(at, bytemuck::bytes_of(&what))?;
        mapping.write(at + HEAD, &mine[..mine.len().min(CHUNK)])?;
        self.synchronise(what.call())?;
        staged.check(what)?;
        Ok(staged)
    }
}

impl Comm {
    /// Refuses a call of this rank, but not without meeting the others: they would wait for ever.
    /// They get an error too, because what is staged here differs from what they stage.
    pub(super) fn refuse(&self, what: Description, error: Error) -> Error {
        // Whatever the others do, this rank's own fault is what it is told.
        let _ = self.exchange(what, &[]);
        error
    }
}

impl Staged<'_> {
    fn offset(&self, rank: u32) -> u64 {
        self.comm.context().segment.layout().stage(Stage { rank, odd: self.odd })
    }

    fn check(&self, ours: Description) -> Result<()> {
        for other in 0..self.comm.size() {
            let mut theirs = Description::zeroed();
            let mapping = self.comm.context().segment.mapping();
            mapping.read(self.offset(other), bytemuck::bytes_of_mut(&mut theirs))?;
            if theirs != ours {
                return Err(Error::Mismatch {
                    at: self.comm.place(ours.call()),
                    ours: ours.sentence(),
                    other,
                    theirs: theirs.sentence(),
                });
            }
        }
        Ok(())
    }

    /// Copies the start of what `rank` staged.
    pub(super) fn read(&self, rank: u32, to: &mut [u8]) -> Result<()> {
        self.comm.context().segment.mapping().read(self.offset(rank) + HEAD, to)
    }
}
