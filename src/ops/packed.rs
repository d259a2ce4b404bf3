//! Buffers of messages: kept by address until a request is complete, and moved as packed bytes.
#![allow(unsafe_code, reason = "copies between a kept buffer and checked memory of the segment")]

use super::layout::{Layout, are_far};
use super::transfer::copy_sides;
use super::untyped::{Origin, OriginMut};
use crate::datatype::{CommittedDatatype, TransferSide};
use crate::error::{Error, Result};
use crate::prim::Step;
use crate::shm::{Process, Segment, copy};
use std::mem::MaybeUninit;

/// Where the elements of a buffer are.
#[derive(Debug)]
struct PackedElements {
    start: *mut u8,
    bytes: u64,
    /// How they lie there, unless as one block: then nothing has to be counted.
    scattered: Option<(CommittedDatatype, usize)>,
}

// SAFETY: an address and a datatype; the obligations of `Origin::new` and `OriginMut::new` name no
// thread.
unsafe impl Send for PackedElements {}
// SAFETY: as above; a shared reference reads at most.
unsafe impl Sync for PackedElements {}

impl PackedElements {
    /// `None` for a layout that reaches farther than can be said.
    #[inline]
    fn of(start: *mut u8, layout: &Layout<'_>) -> Option<PackedElements> {
        let Some(bytes) = layout.plain().filter(|bytes| *bytes <= isize::MAX as usize) else {
            return PackedElements::of_scattered(start, layout);
        };
        Some(PackedElements { start, bytes: bytes as u64, scattered: None })
    }

    #[cold]
    fn of_scattered(start: *mut u8, layout: &Layout<'_>) -> Option<PackedElements> {
        layout.known_range()?;
        let (count, datatype) = layout.parts();
        Some(PackedElements {
            start,
            bytes: layout.bytes()?,
            scattered: Some((datatype.clone(), count)),
        })
    }

    /// Whether an entry may share a byte with the `bytes` bytes at `other`.
    fn overlaps(&self, other: *const u8, bytes: u64) -> bool {
        let range = match &self.scattered {
            None => 0..self.bytes as i64,
            Some((datatype, count)) => datatype.range(*count).unwrap_or(i64::MIN..i64::MAX),
        };
        !are_far((other, &(0..bytes as i64)), (self.start, &range))
    }

    fn side(&self) -> TransferSide<'_> {
        match &self.scattered {
            None => TransferSide::Packed(self.bytes),
            Some((datatype, count)) => TransferSide::Typed(datatype, *count),
        }
    }
}

/// A buffer that is read, until this is dropped. Whoever makes one promises what [`Origin::new`]
/// asks for, for as long.
#[derive(Debug)]
pub(crate) struct Outgoing(PackedElements);

/// A buffer that is written, until this is dropped; as [`Outgoing`], by [`OriginMut::new`].
#[derive(Debug)]
pub(crate) struct Incoming(PackedElements);

impl Outgoing {
    /// `None` for a layout that reaches farther than can be said.
    pub(crate) fn of(origin: &Origin<'_>) -> Option<Outgoing> {
        PackedElements::of(origin.start.cast_mut(), &origin.layout).map(Outgoing)
    }

    /// Bytes of the entries.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Where the entries lie one behind the other, if they do.
    pub(crate) fn plain(&self) -> Option<*const u8> {
        self.0.scattered.is_none().then(|| self.0.start.cast_const())
    }

    /// Copies the entries to `offset` of the segment.
    pub(crate) fn pack_into(&self, segment: &Segment, offset: u64) -> Result<()> {
        let to = segment.mapping().at(offset, self.0.bytes);
        let to = to.ok_or(Error::Damaged { what: "offset" })?;
        // SAFETY: by `at`, to bytes that this rank alone writes.
        unsafe { self.pack(to) };
        Ok(())
    }

    /// The entries one behind the other.
    pub(crate) fn packed(&self) -> Box<[u8]> {
        let mut to: Box<[MaybeUninit<u8>]> = Box::new_uninit_slice(self.0.bytes as usize);
        // SAFETY: a new slice of that many bytes.
        unsafe { self.pack(to.as_mut_ptr().cast()) };
        // SAFETY: the entries have as many bytes, and all have been written.
        unsafe { to.assume_init() }
    }

    /// # Safety
    /// `to` is valid for writes of the bytes of the entries, of which none lies there.
    unsafe fn pack(&self, to: *mut u8) {
        if self.0.bytes == 0 {
            return;
        }
        let (from, packed) = (self.0.start.cast_const(), TransferSide::Packed(self.0.bytes));
        if self.0.scattered.is_none() {
            // SAFETY: as below.
            return unsafe { copy(from, to, self.0.bytes as usize) };
        }
        // SAFETY: 1. the promise of whoever made this, and the caller's obligation. 2. The caller's.
        unsafe { copy_sides(Step::MidPut, (from, self.0.side()), (to, packed)) };
    }
}

impl Incoming {
    /// `None` for a layout that reaches farther than can be said.
    pub(crate) fn of(origin: &OriginMut<'_>) -> Option<Incoming> {
        PackedElements::of(origin.start, &origin.layout).map(Incoming)
    }

    /// Bytes of the entries: the longest message that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Copies `bytes` packed bytes, no more than it takes, from `offset` of the segment.
    pub(crate) fn unpack_from(&mut self, segment: &Segment, offset: u64, bytes: u64) -> Result<()> {
        let from = segment.mapping().at(offset, bytes).filter(|_| bytes <= self.0.bytes);
        let from = from.ok_or(Error::Damaged { what: "offset" })?;
        if self.0.overlaps(from, bytes) {
            // It should not; but what the segment says of places may be anything.
            let mut packed = vec![0; bytes as usize];
            segment.mapping().read(offset, &mut packed)?;
            self.unpack(&packed);
            return Ok(());
        }
        // SAFETY: by `at`, and as just looked at.
        unsafe { self.unpack_at(from, bytes) };
        Ok(())
    }

    /// Copies packed bytes, no more than it takes.
    pub(crate) fn unpack(&mut self, from: &[u8]) {
        assert!(from.len() as u64 <= self.0.bytes, "whoever unpacks has compared the lengths");
        // SAFETY: a slice.
        unsafe { self.unpack_at(from.as_ptr(), from.len() as u64) };
    }

    /// Copies the entries of another buffer of this process, which has no more.
    pub(crate) fn copy_from(&mut self, from: &Outgoing) {
        if from.0.bytes == 0 {
            return;
        }
        let (from, side) = (from.0.start.cast_const(), from.0.side());
        let to = (self.0.start, self.0.side());
        // SAFETY: 1. the promises of those who made both. 2. By the second of `OriginMut::new`.
        unsafe { copy_sides(Step::MidGet, (from, side), to) };
    }

    /// Copies `bytes` bytes, no more than it takes, from the address `from` of another process.
    ///
    /// # Errors
    /// As [`Process::read`].
    pub(crate) fn pull(&mut self, process: Process, from: u64, bytes: u64) -> std::io::Result<()> {
        let from = std::ptr::without_provenance::<u8>(from as usize);
        if self.0.scattered.is_none() {
            // SAFETY: the first bytes of the entries, which nobody else accesses (`OriginMut::new`).
            return unsafe { process.read(from, self.0.start, bytes as usize) };
        }
        let mut packed = vec![0; bytes as usize];
        // SAFETY: a new vector of that many bytes.
        unsafe { process.read(from, packed.as_mut_ptr(), packed.len()) }?;
        self.unpack(&packed);
        Ok(())
    }

    /// # Safety
    /// `from` is valid for reads of `bytes` bytes, and no entry lies there.
    unsafe fn unpack_at(&mut self, from: *const u8, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if self.0.scattered.is_none() {
            // SAFETY: as below.
            return unsafe { copy(from, self.0.start, bytes as usize) };
        }
        let to = (self.0.start, self.0.side());
        // SAFETY: 1. the caller's obligation, and the promise of whoever made this. 2. The caller's.
        unsafe { copy_sides(Step::MidGet, (from, TransferSide::Packed(bytes)), to) };
    }
}
