//! The elements of a collective in this process, and scratch memory for some of them.
#![allow(
    unsafe_code,
    reason = "buffers are retained by address until their collective is complete"
)]

use crate::comm::{CHUNK, Function, OpKind, Reduction, Staged};
use crate::datatype::{CommittedDatatype, Datatype, Element};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::ops::{Incoming, Origin, OriginMut, Outgoing};
use crate::shm::{Segment, copy, copy_overlapping};
use std::ops::Deref;
use std::sync::Arc;

/// Replaces each of the instances at the second address by its combination with the one at the first.
type CombineFunction = dyn Fn(*const u8, *mut u8, usize) + Send + Sync;

/// The function of a reduction: replaces each instance of the second buffer by its combination with that
/// of the first, which comes from lower ranks.
#[derive(Clone)]
pub struct Combine {
    /// `None` for an operation on elements of one basic datatype.
    function: Option<Arc<CombineFunction>>,
    pub(super) kind: OpKind,
}

impl std::fmt::Debug for Combine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Combine").finish_non_exhaustive()
    }
}

impl Combine {
    /// An operation of the standard on elements of one basic datatype, for which it is defined.
    pub fn of(op: Op) -> Combine {
        Combine { function: None, kind: OpKind::Predefined(op) }
    }

    /// What a reduction of elements does; `None` if it is not defined for them.
    pub(super) fn by<T: Element>(op: &impl Reduction<T>) -> Option<Combine> {
        match op.user() {
            Some(function) => {
                let commutative = op.kind() == OpKind::User { commutative: true };
                Some(user(function, commutative))
            }
            None => {
                let op = op.predefined().filter(|op| op.is_reduction())?;
                T::operation(op).map(|_| Combine::of(op))
            }
        }
    }

    /// An operation of the standard, by a function.
    pub fn predefined(
        op: Op,
        function: impl Fn(*const u8, *mut u8, usize) + Send + Sync + 'static,
    ) -> Combine {
        Combine { function: Some(Arc::new(function)), kind: OpKind::Predefined(op) }
    }

    /// A function of the program. All ranks agree whether it is commutative.
    pub fn user(
        commutative: bool,
        function: impl Fn(*const u8, *mut u8, usize) + Send + Sync + 'static,
    ) -> Combine {
        Combine { function: Some(Arc::new(function)), kind: OpKind::User { commutative } }
    }
}

/// Elements that are read.
///
/// Its creator promises the obligations of [`Origin::new`] until the collective is complete. The creator
/// of an [`Origin`] has promised them; scratch memory lives as long as its collective.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    start: *const u8,
    pub(super) count: usize,
    pub(super) datatype: HeldDatatype,
}

/// A datatype that lives as long as a collective needs it.
#[derive(Clone, Debug)]
pub(super) enum HeldDatatype {
    /// A predefined one.
    Lasting(&'static CommittedDatatype),
    Counted(CommittedDatatype),
}

impl HeldDatatype {
    #[inline]
    fn of(datatype: &CommittedDatatype) -> HeldDatatype {
        datatype
            .lasting()
            .map_or_else(|| HeldDatatype::Counted(datatype.clone()), HeldDatatype::Lasting)
    }
}

impl Deref for HeldDatatype {
    type Target = CommittedDatatype;

    #[inline]
    fn deref(&self) -> &CommittedDatatype {
        match self {
            HeldDatatype::Lasting(datatype) => datatype,
            HeldDatatype::Counted(datatype) => datatype,
        }
    }
}

/// Elements that are written. Its creator promises the obligations of [`OriginMut::new`], as for
/// [`Buffer`].
#[derive(Clone, Debug)]
pub(super) struct BufferMut(Buffer);

// SAFETY: an address and a datatype; the obligations of `Origin::new` and `OriginMut::new` name no
// thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared, it gives away copies of itself and nothing of what is at the address.
unsafe impl Sync for Buffer {}

impl Buffer {
    #[inline]
    pub(super) fn of(origin: &Origin<'_>) -> Buffer {
        let (start, count, datatype) = origin.parts();
        Buffer { start, count, datatype: HeldDatatype::of(datatype) }
    }

    /// The elements of a slice, which no thread writes until the collective is complete.
    pub(super) fn slice<T: Element>(elements: &[T]) -> Buffer {
        let (start, count) = (elements.as_ptr().cast(), elements.len());
        Buffer { start, count, datatype: HeldDatatype::Lasting(T::DATATYPE.into()) }
    }

    /// No elements.
    pub(super) fn empty() -> Buffer {
        let start = std::ptr::dangling();
        Buffer { start, count: 0, datatype: HeldDatatype::Lasting(Datatype::U8.into()) }
    }

    pub(super) fn origin(&self) -> Origin<'_> {
        // SAFETY: 1. and 2.: the promise of the maker.
        unsafe { Origin::new(self.start, self.count, &*self.datatype) }
    }

    /// Bytes of the entries; `None` if they or their range are more than can be represented.
    #[inline]
    pub(super) fn bytes(&self) -> Option<u64> {
        self.datatype.range(self.count)?;
        self.datatype.bytes(self.count)
    }

    /// Their bytes, if they lie one behind the other.
    #[inline]
    fn plain(&self) -> Option<u64> {
        self.datatype.plain(self.count).filter(|bytes| *bytes <= isize::MAX as u64)
    }

    /// Copies the entries to `offset` of the segment; their bytes.
    #[inline]
    pub(super) fn pack_into(&self, segment: &Segment, offset: u64) -> Result<u64> {
        if let Some(bytes) = self.plain() {
            let to = segment.mapping().at(offset, bytes).ok_or_else(too_far)?;
            // SAFETY: 1. the promise of the maker; by `at`. 2. To bytes that this rank alone writes.
            unsafe { copy(self.start, to, bytes as usize) };
            return Ok(bytes);
        }
        self.pack_scattered(segment, offset)
    }

    #[cold]
    fn pack_scattered(&self, segment: &Segment, offset: u64) -> Result<u64> {
        let outgoing = Outgoing::of(&self.origin()).ok_or_else(too_far)?;
        outgoing.pack_into(segment, offset)?;
        Ok(outgoing.bytes())
    }

    /// The entries without gaps; their size was checked.
    pub(super) fn packed(&self) -> Box<[u8]> {
        Outgoing::of(&self.origin()).map_or_else(Box::default, |outgoing| outgoing.packed())
    }

    /// Whether it is the same memory.
    pub(super) fn is_at(&self, other: &BufferMut) -> bool {
        self.start == other.0.start
    }

    /// `count` instances from instance `first` on; it has them.
    pub(super) fn part(&self, first: usize, count: usize) -> Buffer {
        assert!(first + count <= self.count, "whoever asks for a part has looked");
        let offset = self.datatype.datatype().extent().wrapping_mul(first as i64);
        let start = self.start.wrapping_offset(offset as isize);
        Buffer { start, count, datatype: self.datatype.clone() }
    }
}

impl BufferMut {
    #[inline]
    pub(super) fn of(origin: &OriginMut<'_>) -> BufferMut {
        let (start, count, datatype) = origin.parts();
        BufferMut(Buffer { start, count, datatype: HeldDatatype::of(datatype) })
    }

    /// The elements of a slice, which no other thread accesses until the collective is complete.
    pub(super) fn slice<T: Element>(elements: &mut [T]) -> BufferMut {
        let (start, count) = (elements.as_mut_ptr().cast_const().cast(), elements.len());
        BufferMut(Buffer { start, count, datatype: HeldDatatype::Lasting(T::DATATYPE.into()) })
    }

    /// No elements.
    pub(super) fn empty() -> BufferMut {
        BufferMut(Buffer::empty())
    }

    /// The same elements, to be read.
    #[inline]
    pub(super) fn read(&self) -> Buffer {
        self.0.clone()
    }

    pub(super) fn count(&self) -> usize {
        self.0.count
    }

    #[inline]
    pub(super) fn bytes(&self) -> Option<u64> {
        self.0.bytes()
    }

    pub(super) fn part(&self, first: usize, count: usize) -> BufferMut {
        BufferMut(self.0.part(first, count))
    }

    pub(super) fn origin_mut(&mut self) -> OriginMut<'_> {
        // SAFETY: 1. and 2.: the promise of the maker.
        unsafe { OriginMut::new(self.0.start.cast_mut(), self.0.count, &*self.0.datatype) }
    }

    /// Copies the entries of `from`, which has no more bytes and reaches no farther than can be represented.
    pub(super) fn copy_from(&mut self, from: &Buffer) {
        let from = Outgoing::of(&from.origin());
        if let (Some(mut into), Some(from)) = (Incoming::of(&self.origin_mut()), from) {
            into.copy_from(&from);
        }
    }

    /// Copies its bytes from what `rank` has staged, from byte `first` on.
    #[inline]
    pub(super) fn take(&mut self, staged: &Staged<'_>, rank: u32, first: u64) -> Result<()> {
        match self.0.plain() {
            Some(bytes) if !staged.is_foreign() => {
                let place = staged.place(rank, first, bytes)?;
                let from = staged.segment().mapping().at(place, bytes).ok_or_else(too_far)?;
                let (to, bytes) = (self.0.start.cast_mut(), bytes as usize);
                // SAFETY: by `at`, and by the promise of the maker. In a damaged segment they may overlap.
                unsafe { copy_overlapping(from, to, bytes) };
                Ok(())
            }
            _ => self.take_scattered(staged, rank, first),
        }
    }

    #[cold]
    fn take_scattered(&mut self, staged: &Staged<'_>, rank: u32, first: u64) -> Result<()> {
        let mut incoming = Incoming::of(&self.origin_mut()).ok_or_else(too_far)?;
        let bytes = incoming.bytes();
        if staged.is_foreign() {
            let mut packed = vec![0; bytes as usize];
            staged.bytes(rank, first as usize, &mut packed)?;
            self.unpack(&packed);
            return Ok(());
        }
        incoming.unpack_from(staged.segment(), staged.place(rank, first, bytes)?, bytes)
    }

    /// Replaces the entries, if they lie one behind the other, by the combination of what the first `ranks`
    /// ranks have staged, from byte `first` on, by an operation of the standard. Whether they are that.
    #[inline]
    pub(super) fn take_combined(
        &mut self,
        staged: &Staged<'_>,
        (ranks, first): (u32, u64),
        combine: &Combine,
    ) -> Result<bool> {
        let op = match (&combine.function, combine.kind) {
            (None, OpKind::Predefined(op)) if !staged.is_foreign() => op,
            _ => return Ok(false),
        };
        let Some(bytes) = self.0.plain().filter(|bytes| *bytes <= CHUNK as u64) else {
            return Ok(false);
        };
        let place = |rank| staged.place(rank, first, bytes);
        op.combine_staged(self.origin_mut(), staged.segment(), ranks, place)?;
        Ok(true)
    }

    /// Replaces the entries by as many packed bytes as they have.
    pub(super) fn unpack(&mut self, packed: &[u8]) {
        let incoming = Incoming::of(&self.origin_mut());
        incoming.into_iter().for_each(|mut incoming| incoming.unpack(packed));
    }

    /// Replaces each instance by its combination with that of `lower`, which has as many.
    pub(super) fn combine_with(&mut self, lower: &Buffer, combine: &Combine) -> Result<()> {
        match (&combine.function, combine.kind) {
            _ if self.0.count == 0 => Ok(()),
            (Some(function), _) => {
                function(lower.start, self.0.start.cast_mut(), self.0.count);
                Ok(())
            }
            (None, OpKind::Predefined(op)) => op.reduce_local(lower.origin(), self.origin_mut()),
            (None, OpKind::User { .. }) => Ok(()),
        }
    }
}

/// Plans have checked the range of every buffer.
#[cold]
pub(super) fn too_far() -> Error {
    Error::Damaged { what: "buffer of a collective" }
}

/// Parts that are read.
pub(super) fn read(parts: &[Origin<'_>]) -> Vec<Buffer> {
    parts.iter().map(Buffer::of).collect()
}

/// Parts that are written.
pub(super) fn written(parts: &[OriginMut<'_>]) -> Vec<BufferMut> {
    parts.iter().map(BufferMut::of).collect()
}

/// Memory that belongs to a collective.
pub(super) type Scratch = Vec<u128>;

/// New memory for `count` instances of a datatype, with displacement 0 aligned as in an aligned buffer;
/// `None` on overflow.
pub(super) fn scratch(count: usize, datatype: &HeldDatatype) -> Option<(Scratch, BufferMut)> {
    scratch_beside(&mut [], count, datatype)
}

/// The same, in `small` if that is long enough. The buffer then lives no longer than `small`.
pub(super) fn scratch_beside(
    small: &mut [u128],
    count: usize,
    datatype: &HeldDatatype,
) -> Option<(Scratch, BufferMut)> {
    const UNIT: i64 = size_of::<u128>() as i64;
    let range = datatype.with_padding().range(count)?;
    let before = range.start.div_euclid(UNIT) * UNIT;
    let units = range.end.checked_sub(before)?.max(0) as usize / 16 + 1;
    let mut memory = Scratch::new();
    let first = match units <= small.len() {
        true => small.as_mut_ptr(),
        false => {
            // Zeros, because a message that fails writes nothing there.
            memory = vec![0; units];
            memory.as_mut_ptr()
        }
    };
    let start = first.cast::<u8>().wrapping_offset(-before as isize);
    Some((memory, BufferMut(Buffer { start, count, datatype: datatype.clone() })))
}

/// A function of slices.
fn user<T: Element>(function: Function<T>, commutative: bool) -> Combine {
    Combine::user(commutative, move |lower, upper, count| {
        // SAFETY: buffers of as many elements, of vectors or of scratch memory, so aligned, by the promises
        // of both; any bytes are an element.
        let lower = unsafe { std::slice::from_raw_parts(lower.cast::<T>(), count) };
        // SAFETY: as above, and no other thread has these elements while they are combined.
        let upper = unsafe { std::slice::from_raw_parts_mut(upper.cast::<T>(), count) };
        function(lower, upper);
    })
}
