//! Memory that ranks attach to dynamic windows.
//!
//! 1. Each attachment has a shadow of its own, in a block that its owner allocates. In a process it is a [`CheckedWindow`]
//!    of that one part, which has the clocks of the whole window.
//! 2. Ranks find an attachment by the address in its owner's process, and by its offset in the segment if another window
//!    has the memory there.
//! 3. The blocks of a rank form a list, which changes under the lock of its part of the window. A block stays until the
//!    window is freed, because others may look for it: after detach, the next attachment that fits gets it, with another
//!    number.

use super::window::{AccessedBytes, ByteRun, CheckedWindow};
use super::{Checker, SITES};
use crate::prim::Waiter;
use crate::shm::{AttachedWords, Heap, Placed, Segment, Span};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What this process has of the attachments of a dynamic window.
pub(super) struct AttachedParts {
    segment: Arc<Segment>,
    /// Where the tables of the window are.
    at: u64,
    /// By the offsets of their blocks, and their numbers.
    parts: Mutex<HashMap<(u64, u64), Arc<CheckedWindow>>>,
}

impl AttachedParts {
    pub(super) fn new(segment: &Arc<Segment>, at: u64) -> AttachedParts {
        AttachedParts { segment: segment.clone(), at, parts: Mutex::default() }
    }

    fn parts(&self) -> MutexGuard<'_, HashMap<(u64, u64), Arc<CheckedWindow>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn words(&self, block: u64) -> Option<Placed<AttachedWords>> {
        (block != 0).then(|| self.segment.place(block).ok())?
    }

    /// A block for that many bytes, which is cleared. `None` if there is no memory.
    fn allocate(&self, waiter: &Waiter<'_>, size: u64) -> Option<u64> {
        let block = self.segment.heap().allocate(size, waiter).ok()?;
        for (at, bytes) in Heap::dirty_edges(block, size) {
            self.segment.mapping().clear(at, bytes).ok()?;
        }
        Some(block)
    }
}

/// An attachment of a rank.
#[derive(Clone, Copy)]
struct Attachment {
    block: u64,
    number: u64,
    place: Option<u64>,
    address: u64,
    bytes: u64,
}

/// Where the runs of an access begin.
#[derive(Clone, Copy)]
pub(super) enum AddressSpace {
    /// At addresses of the owner's process.
    Owner,
    /// At offsets in the segment.
    Segment,
}

impl AddressSpace {
    /// Where the memory of an attachment begins.
    fn of(self, words: &AttachedWords) -> Option<u64> {
        match self {
            AddressSpace::Owner => Some(words.address.load()),
            AddressSpace::Segment => words.place.load().checked_sub(1),
        }
    }
}

impl Attachment {
    fn of(block: u64, words: &AttachedWords) -> Attachment {
        let (number, address) = (words.number.load(), words.address.load());
        let place = AddressSpace::Segment.of(words);
        Attachment { block, number, place, address, bytes: words.bytes.load() }
    }
}

/// Bytes of a block before its tables.
const HEAD: u64 = size_of::<AttachedWords>() as u64;

impl CheckedWindow {
    /// The block of the first attachment of a rank that `is_one`. Under the lock of its part.
    fn block_of(&self, rank: u32, is_one: impl Fn(&AttachedWords) -> bool) -> Option<u64> {
        let parts = self.attached.as_ref()?;
        let mut block = self.parts[rank as usize].attached.load();
        loop {
            let words = parts.words(block)?;
            if is_one(&words) {
                return Some(block);
            }
            block = words.next.load();
        }
    }

    /// This rank has attached memory to the dynamic window. Blocks while others look for attachments of this rank.
    pub(crate) fn attach(&self, checker: &Checker, waiter: &Waiter<'_>, memory: Span) {
        match self.new_part(waiter, memory) {
            Some(part) => checker.watch(&part, waiter, false),
            None => {
                checker.words.is_full.store(1);
                checker.attached(memory.base() as u64, memory.len());
            }
        }
    }

    fn new_part(&self, waiter: &Waiter<'_>, memory: Span) -> Option<Arc<CheckedWindow>> {
        let (parts, bytes) = (self.attached.as_ref()?, memory.len());
        let own = &self.parts[self.rank as usize];
        let fits =
            |words: &AttachedWords| words.bytes.load() == 0 && words.capacity.load() >= bytes;
        let size = HEAD + self.bytes_of_attachment(bytes);
        let reused = own.lock.0.run(SITES, waiter, |_| self.block_of(self.rank, fits)).ok()?;
        let block = match reused {
            Some(block) => {
                parts.segment.mapping().clear(block + HEAD, size - HEAD).ok()?;
                block
            }
            None => {
                let block = parts.allocate(waiter, size)?;
                parts.words(block)?.capacity.store(bytes);
                block
            }
        };
        let words = parts.words(block)?;
        let place = parts.segment.offset_of(memory.base(), bytes);
        let attach = |_| {
            words.number.store(words.number.load() + 1);
            words.address.store(memory.base() as u64);
            words.place.store(place.map_or(0, |offset| offset + 1));
            words.bytes.store(bytes);
            if reused.is_none() {
                words.next.store(own.attached.load());
                own.attached.store(block);
            }
        };
        own.lock.0.run(SITES, waiter, attach).ok()?;
        self.part_at(self.rank, Attachment::of(block, &words), memory)
    }

    /// This rank has detached the memory that begins there.
    pub(crate) fn detach(&self, checker: &Checker, waiter: &Waiter<'_>, address: u64) {
        let Some(parts) = &self.attached else { return };
        checker.settle_all(waiter);
        let is_it =
            |words: &AttachedWords| words.bytes.load() != 0 && words.address.load() == address;
        let detach = |_| {
            let block = self.block_of(self.rank, is_it)?;
            let words = parts.words(block)?;
            words.bytes.store(0);
            Some((block, words.number.load()))
        };
        let detached = self.parts[self.rank as usize].lock.0.run(SITES, waiter, detach);
        let part = detached.ok().flatten().and_then(|key| parts.parts().remove(&key));
        part.iter().for_each(|part| checker.unwatch_parts(part));
    }

    /// The dynamic window is freed.
    pub(super) fn detach_all(&self, checker: &Checker) {
        let parts = self.attached.iter().flat_map(|all| std::mem::take(&mut *all.parts()));
        parts.for_each(|(_, part)| checker.unwatch_parts(&part));
    }

    /// The offset of mapped memory of another window in the segment.
    pub(super) fn place_of(&self, mapped: Span) -> Option<u64> {
        let segment = &self.attached.as_ref()?.segment;
        (mapped.len() != 0).then(|| segment.offset_of(mapped.base(), mapped.len()))?
    }

    /// The blocks of this rank's attachments.
    pub(super) fn attached_blocks(&self) -> Vec<u64> {
        let Some(parts) = &self.attached else { return Vec::new() };
        let mut next = self.parts[self.rank as usize].attached.load();
        let mut blocks = Vec::new();
        while let Some(words) = parts.words(next) {
            blocks.push(next);
            next = words.next.load();
        }
        blocks
    }

    /// The part of an attachment in this process.
    fn part_at(&self, rank: u32, of: Attachment, own: Span) -> Option<Arc<CheckedWindow>> {
        let parts = self.attached.as_ref()?;
        let key = (of.block, of.number);
        if let Some(part) = parts.parts().get(&key) {
            return Some(part.clone());
        }
        let mapped = of.place.and_then(|offset| parts.segment.mapping().at(offset, of.bytes));
        let elsewhere = || std::ptr::without_provenance_mut(of.address as usize);
        let there = Span::new(mapped.unwrap_or_else(elsewhere), of.bytes);
        let place = (rank, of.block + HEAD, of.bytes);
        let spans = (own, there, mapped.is_some());
        let part = self.place_attachment(&parts.segment, parts.at, place, spans);
        let part = Arc::new(part.ok()?);
        let mut all = parts.parts();
        // The block's earlier attachment.
        all.retain(|(block, _), _| *block != of.block);
        all.insert(key, part.clone());
        Some(part)
    }

    /// Runs `f` with the part of the attachment that has the bytes of an access, and with these bytes of it; with the whole
    /// window if there is none.
    pub(super) fn in_attachment<R>(
        &self,
        waiter: &Waiter<'_>,
        (rank, space): (u32, AddressSpace),
        accessed: &AccessedBytes<'_>,
        f: impl FnOnce(&CheckedWindow, &AccessedBytes<'_>) -> R,
    ) -> R {
        let (first, last) = (accessed.runs.first(), accessed.runs.last());
        let found = first.zip(last).and_then(|(first, last)| {
            let has = |words: &AttachedWords| {
                let end = last.start + last.bytes;
                let has_all =
                    |start: u64| start <= first.start && end <= start + words.bytes.load();
                words.bytes.load() != 0 && space.of(words).is_some_and(has_all)
            };
            let look = |_| {
                let block = self.block_of(rank, has)?;
                let words = self.attached.as_ref()?.words(block)?;
                Some((Attachment::of(block, &words), space.of(&words)?))
            };
            let lock = &self.parts[rank as usize].lock.0;
            let (of, start) = lock.run(SITES, waiter, look).ok().flatten()?;
            Some((self.part_at(rank, of, Span::nothing())?, start))
        });
        let Some((part, start)) = found else { return f(self, accessed) };
        let by = |run: &ByteRun, by: u64| ByteRun { start: run.start.wrapping_add(by), ..*run };
        let read = |runs: &[ByteRun], to: &mut [u8]| {
            let runs: Vec<_> = runs.iter().map(|run| by(run, start)).collect();
            (accessed.read)(&runs, to)
        };
        let runs = accessed.runs.iter().map(|run| by(run, start.wrapping_neg())).collect();
        let AccessedBytes { epoch, buffer_of, .. } = *accessed;
        let buffers = accessed.buffers.clone();
        f(&part, &AccessedBytes { runs, read: &read, buffers, epoch, buffer_of })
    }
}
