//! One chunk through the staging buffers: every rank stages, all meet, all may read all.

use super::Comm;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::shm::{STAGE_BYTES, Stage};
use bytemuck::{Pod, Zeroable};

/// Describes the call that a chunk belongs to; all ranks must stage the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Description {
    call: u32,
    /// Root and operation, or zero.
    root: u32,
    op: u32,
    /// Size of an element in bytes.
    unit: u32,
    /// Bytes that this rank contributes in all, where the call wants all to be equal.
    bytes: u64,
    /// Chunks of this call before this one.
    chunk: u64,
}

const HEAD: u64 = size_of::<Description>() as u64;
/// Payload bytes of one chunk.
pub(super) const CHUNK: usize = (STAGE_BYTES - HEAD) as usize;

impl Description {
    pub(super) fn new(call: Call, root: u32, op: u32, unit: usize, bytes: usize) -> Self {
        let (unit, bytes) = (unit as u32, bytes as u64);
        Description { call: call as u32, root, op, unit, bytes, chunk: 0 }
    }

    pub(super) fn call(&self) -> Call {
        Call::from_word(self.call).unwrap_or(Call::None)
    }

    pub(super) fn next_chunk(&mut self) {
        self.chunk += 1;
    }

    fn sentence(&self) -> String {
        let Description { root, op, unit, bytes, chunk, .. } = *self;
        let elements = bytes / u64::from(unit.max(1));
        let mut text = format!("{} of {elements} elements of {unit} bytes", self.call());
        if root != 0 {
            text += &format!(", root {root}");
        }
        if op != 0 {
            text += &format!(", operation number {op}");
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
        let odd = self.inner.odd.replace(!self.inner.odd.get());
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
