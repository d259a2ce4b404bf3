//! The origin's buffers: addresses and layouts, for callers who know the datatype only at run time, such as a C
//! interface; packed, combined, and held until a message or a collective is complete.
#![allow(unsafe_code, reason = "vouches for the caller's address and count")]

use super::layout::{Layout, LocalLayout, are_far};
use super::transfer::copy_sides;
use crate::call::Call;
use crate::datatype::{
    CommittedDatatype, Datatype, DerivedDatatype, Element, Operation, Shaped, ShapedMut,
    TransferSide, Visitor, datatype_of, zip_sides, zip_strips,
};
use crate::error::{Error, Place, Result};
use crate::op::Op;
use crate::prim::Step;
use crate::shm::{Direction, Piece, Process, ReadAs, Segment, copy, copy_overlapping, copy_strip};
use bytemuck::Pod;
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::slice;
use std::sync::{Mutex, PoisonError};

/// An origin buffer that is read: address, and layout of the elements.
///
/// ```
/// use onesided::engine::{Channel, Origin, SendMode};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let numbers = [1.5_f64, 2.5];
/// if world.rank() == 0 {
///     // SAFETY: the numbers stay where they are, and only this thread uses them.
///     let origin = unsafe { Origin::new(numbers.as_ptr().cast(), 2, Datatype::F64) };
///     world.send_untyped(Channel::Program, SendMode::Standard, origin, Rank(1), 7)?;
/// } else {
///     let mut into = [0.0; 2];
///     world.recv(&mut into, Rank(0), 7)?;
///     assert_eq!(into, numbers);
/// }
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Origin<'d> {
    pub(super) start: *const u8,
    pub(super) layout: Layout<'d>,
    /// Whether it is valid until the operation is complete; otherwise until the call returns.
    pub(super) is_lasting: bool,
}

/// An origin buffer that is written.
///
/// ```
/// use onesided::engine::{Channel, OriginMut};
/// use onesided::{Datatype, Rank};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// if world.rank() == 0 {
///     world.send(&[1.5, 2.5], Rank(1), 7)?;
/// } else {
///     let mut numbers = [0.0_f64; 2];
///     // SAFETY: the numbers stay where they are, and only this thread uses them.
///     let into = unsafe { OriginMut::new(numbers.as_mut_ptr().cast(), 2, Datatype::F64) };
///     world.receive_untyped(Channel::Program, into, Some(Rank(0)), Some(7))?;
///     assert_eq!(numbers, [1.5, 2.5]);
/// }
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
pub struct OriginMut<'d> {
    pub(super) start: *mut u8,
    pub(super) layout: Layout<'d>,
    /// As of an [`Origin`].
    pub(super) is_lasting: bool,
}

impl<'d> Origin<'d> {
    /// `count` instances of `datatype`, a [`Datatype`](crate::Datatype) or a
    /// [`&CommittedDatatype`](CommittedDatatype), with displacement 0 at `start`. No alignment is
    /// needed.
    ///
    /// # Safety
    /// 1. The entries, those of pair types without their padding, are valid for reads until the value
    ///    returned is used for the last time.
    /// 2. No other thread or rank writes them until then.
    pub unsafe fn new(
        start: *const u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> Origin<'d> {
        Origin { start, layout: Layout::new(count, datatype), is_lasting: false }
    }

    /// The same, of a buffer that an operation may use until it is complete in this process, as MPI's
    /// functions demand it (MPI-4.1 §12.3).
    ///
    /// # Safety
    /// The obligations of [`Origin::new`], until the standard allows the reuse of the buffer.
    #[inline(always)]
    pub unsafe fn lasting(
        start: *const u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> Origin<'d> {
        Origin { start, layout: Layout::new(count, datatype), is_lasting: true }
    }

    /// A slice, which stays borrowed.
    #[inline(always)]
    pub(super) fn of_slice<T: Element>(slice: &'d [T]) -> Origin<'d> {
        Origin::of_bytes(slice.as_ptr().cast(), Layout::of_slice::<T>(slice.len()))
    }

    /// Of memory that its maker may use as long.
    #[inline(always)]
    fn of_bytes(start: *const u8, layout: Layout<'d>) -> Origin<'d> {
        Origin { start, layout, is_lasting: false }
    }

    /// Where the elements lie in the buffer.
    #[inline(always)]
    pub fn layout(&self) -> Layout<'d> {
        self.layout
    }

    /// Address, number of instances and datatype.
    pub(crate) fn parts(&self) -> (*const u8, usize, &'d CommittedDatatype) {
        let (count, datatype) = self.layout.parts();
        (self.start, count, datatype)
    }

    /// The elements of a slice, which stays borrowed.
    #[inline]
    pub(crate) fn of<T: Pod>(shaped: Shaped<'d, 'd, T>) -> Origin<'d> {
        if let Some(bytes) = shaped.all() {
            return Origin::of_bytes(bytes.as_ptr(), Layout::of_slice::<T>(shaped.len()));
        }
        let (bytes, datatype, count) = shaped.parts();
        Origin::of_bytes(bytes.as_ptr(), Layout::new(count, datatype))
    }

    /// The buffer as a slice, if it lies in memory as one.
    #[inline(always)]
    pub(super) fn slice<E: Element>(&self) -> Option<&[E]> {
        let elements = self.layout.plain()? / size_of::<E>();
        if elements == 0 {
            return Some(&[]);
        }
        if self.layout.uniform() != Some(E::DATATYPE) || !self.start.cast::<E>().is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`: a block of that many elements from `start` on, which
        // is aligned.
        Some(unsafe { std::slice::from_raw_parts(self.start.cast(), elements) })
    }

    /// The buffer as one element, if it is that and lies in memory as one.
    #[inline(always)]
    pub(super) fn single<E: Element>(&self) -> Option<&E> {
        let start = self.start.cast::<E>();
        if !self.layout.is_single::<E>() || !start.is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`: one element at `start`, which is aligned.
        Some(unsafe { &*start })
    }

    /// The first element of the buffer, which has elements of this size; it need not be aligned.
    #[inline]
    pub(super) fn element<E: Element>(&self) -> E {
        // SAFETY: obligations 1 and 2 of `new`; any bytes are an element.
        unsafe { self.start.cast::<E>().read_unaligned() }
    }
}

impl<'d> LocalLayout<'d> {
    /// The buffer from which it was made.
    #[inline(always)]
    pub(super) fn origin(self) -> Origin<'d> {
        Origin::of_bytes(self.zero, self.layout)
    }

    /// [`LocalLayout::origin`] of one that is written.
    #[inline(always)]
    pub(super) fn origin_mut(self) -> OriginMut<'d> {
        OriginMut::of_bytes(self.zero.cast_mut(), self.layout)
    }
}

impl<'d> OriginMut<'d> {
    /// `count` instances of a datatype at `start`, which an operation writes.
    ///
    /// # Safety
    /// 1. Until the value returned is used for the last time, the entries (without the padding of pair
    ///    types) are initialised, and valid for reads and writes.
    /// 2. No other thread or rank accesses them until then.
    pub unsafe fn new(
        start: *mut u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> OriginMut<'d> {
        OriginMut { start, layout: Layout::new(count, datatype), is_lasting: false }
    }

    /// The same, of a buffer that an operation may write until it is complete in this process
    /// (MPI-4.1 §12.3).
    ///
    /// # Safety
    /// The obligations of [`OriginMut::new`], until the standard allows the reuse of the buffer.
    #[inline(always)]
    pub unsafe fn lasting(
        start: *mut u8,
        count: usize,
        datatype: impl Into<&'d CommittedDatatype>,
    ) -> OriginMut<'d> {
        OriginMut { start, layout: Layout::new(count, datatype), is_lasting: true }
    }

    /// Of memory that its maker may use as long.
    #[inline(always)]
    fn of_bytes(start: *mut u8, layout: Layout<'d>) -> OriginMut<'d> {
        OriginMut { start, layout, is_lasting: false }
    }

    /// Where its elements lie.
    #[inline(always)]
    pub fn layout(&self) -> Layout<'d> {
        self.layout
    }

    /// The elements of a slice.
    #[inline(always)]
    pub(super) fn of_slice<T: Element>(slice: &'d mut [T]) -> OriginMut<'d> {
        let layout = Layout::of_slice::<T>(slice.len());
        OriginMut::of_bytes(slice.as_mut_ptr().cast(), layout)
    }

    /// Address, number of instances and datatype.
    pub(crate) fn parts(&self) -> (*const u8, usize, &'d CommittedDatatype) {
        let (count, datatype) = self.layout.parts();
        (self.start, count, datatype)
    }

    /// The elements of a slice, which stays borrowed.
    #[inline]
    pub(crate) fn of<T: Pod>(mut shaped: ShapedMut<'d, 'd, T>) -> OriginMut<'d> {
        let len = shaped.len();
        if let Some(bytes) = shaped.all() {
            return OriginMut::of_bytes(bytes.as_mut_ptr(), Layout::of_slice::<T>(len));
        }
        let (bytes, datatype, count) = shaped.parts();
        OriginMut::of_bytes(bytes.as_mut_ptr(), Layout::new(count, datatype))
    }

    /// The elements as a slice, if they are one.
    #[inline(always)]
    pub(super) fn slice<E: Element>(&mut self) -> Option<&mut [E]> {
        let elements = self.layout.plain()? / size_of::<E>();
        if elements == 0 {
            return Some(&mut []);
        }
        if self.layout.uniform() != Some(E::DATATYPE) || !self.start.cast::<E>().is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`, as in `Origin::slice`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.cast(), elements) })
    }

    /// The one element, if it is one.
    #[inline(always)]
    pub(super) fn single<E: Element>(&mut self) -> Option<&mut E> {
        let start = self.start.cast::<E>();
        if !self.layout.is_single::<E>() || !start.is_aligned() {
            return None;
        }
        // SAFETY: obligations 1 and 2 of `new`, as in `Origin::single`.
        Some(unsafe { &mut *start })
    }

    /// Sets the first element, as [`Origin::element`].
    #[inline]
    pub(super) fn set_element<E: Element>(&mut self, value: E) {
        // SAFETY: obligations 1 and 2 of `new`.
        unsafe { self.start.cast::<E>().write_unaligned(value) }
    }
}

impl Origin<'_> {
    /// Copies the entries to `to`, one behind the other, as [`CommittedDatatype::pack`] does
    /// (`MPI_Pack`, MPI-2.2 §4.2). They do not lie there. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Count`] if `to` does not have exactly their bytes.
    ///
    /// [`CommittedDatatype::pack`]: crate::CommittedDatatype::pack
    pub fn pack(&self, to: &mut [u8]) -> Result<()> {
        let packed = packed(Call::Pack, &self.layout, to.len())?;
        zip_strips(self.layout.side(), packed, |strip| {
            // SAFETY: 1. the first obligation of `Origin::new`; as many bytes of the slice. 2. The
            // caller's second obligation.
            unsafe { copy_strip(self.start, to.as_mut_ptr(), strip) };
        });
        Ok(())
    }
}

impl OriginMut<'_> {
    /// Copies the packed entries `from` to their places (`MPI_Unpack`,
    /// MPI-2.2 §4.2). Local; does not block.
    ///
    /// # Errors
    /// [`Error::Count`] if `from` does not have exactly their bytes.
    pub fn unpack(&mut self, from: &[u8]) -> Result<()> {
        let packed = packed(Call::Unpack, &self.layout, from.len())?;
        zip_strips(packed, self.layout.side(), |strip| {
            // SAFETY: as in `Origin::pack`, by the first obligation of `OriginMut::new`.
            unsafe { copy_strip(from.as_ptr(), self.start, strip) };
        });
        Ok(())
    }
}

/// The packed side of `bytes` bytes, if they are those of the entries.
fn packed(call: Call, layout: &Layout<'_>, bytes: usize) -> Result<TransferSide<'static>> {
    let needed = layout.bytes().filter(|_| layout.known_range().is_some());
    if needed == Some(bytes as u64) {
        return Ok(TransferSide::Packed(bytes as u64));
    }
    let at = Place { call, window: None, rank: None };
    let (found, needed) = (bytes, needed.unwrap_or(u64::MAX) as usize);
    Err(Error::Count { at, what: "packed buffer, in bytes,", found, needed })
}

impl OriginMut<'_> {
    /// Replaces each element by `operation` of it and the element of `input` in the same place of the
    /// type map. Both have as many elements of one type, which need not be aligned.
    pub(super) fn combine<E: Element>(&mut self, operation: &Operation<E>, input: &Origin<'_>) {
        let are_of_type = [&input.layout, &self.layout].map(|side| side.uniform());
        assert_eq!(are_of_type, [Some(E::DATATYPE); 2], "the caller has compared the datatypes");
        let (from, to) = (input.start, self.start);
        let layouts = [&input.layout, &self.layout];
        zip_sides(layouts.map(|layout| layout.with_padding().side()), |strip| {
            let n = strip.bytes / size_of::<E>();
            for block in 0..strip.blocks {
                let [input, inout] =
                    strip.patterns.each_ref().map(|pattern| pattern.block(block) as isize);
                let (from, to) = (from.wrapping_offset(input), to.wrapping_offset(inout));
                // SAFETY: `n` entries of the buffers, by the obligations of `Origin::new` and
                // `OriginMut::new`, which no other thread accesses.
                unsafe { combine(operation, from.cast(), to.cast(), n) };
            }
            true
        });
    }
}

impl Op {
    /// Replaces each element of `inout` by this operation of it and the element of `input` in the same
    /// place of the type map (`MPI_Reduce_local`, MPI-2.2 §5.9.7). The buffers do not overlap, and need
    /// not be aligned. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements of both are not of one predefined datatype;
    /// [`Error::Operation`] if the operation is not defined for it; [`Error::Count`] if one has more
    /// elements than the other. Nothing is changed then.
    pub fn reduce_local(self, input: Origin<'_>, inout: OriginMut<'_>) -> Result<()> {
        let (found, needed) = (input.layout.values(), inout.layout.values());
        if found != needed || inout.layout.known_range().is_none() {
            let (found, needed) = (found as usize, needed as usize);
            return Err(Error::Count { at: PLACE, what: "input buffer", found, needed });
        }
        if needed == 0 {
            return Ok(());
        }
        let datatype = inout.layout.uniform();
        match datatype.filter(|_| input.layout.uniform() == datatype) {
            Some(datatype) => datatype.visit(Local { op: self, input, inout }),
            None => Err(mixed(&inout.layout)),
        }
    }
}

const PLACE: Place = Place { call: Call::ReduceLocal, window: None, rank: None };

#[cold]
fn undefined<E: Element>(op: Op) -> Error {
    Error::Operation { at: PLACE, op: op.name(), datatype: E::DATATYPE.name() }
}

#[cold]
fn mixed(layout: &Layout<'_>) -> Error {
    Error::Datatype {
        at: PLACE,
        datatype: format!("{:?}", layout.parts().1),
        why: "all basic elements of a reduction must have the same predefined datatype",
    }
}

/// What is combined: as many elements of both.
struct Local<'d> {
    op: Op,
    input: Origin<'d>,
    inout: OriginMut<'d>,
}

impl Visitor for Local<'_> {
    type Output = Result<()>;

    fn visit<E: Element>(self) -> Result<()> {
        let Some(operation) = E::operation(self.op) else { return Err(undefined::<E>(self.op)) };
        let Local { input, mut inout, .. } = self;
        inout.combine(operation, &input);
        Ok(())
    }
}

/// The element at `from`, which need not be aligned; the padding of a pair is zero, and not read.
///
/// # Safety
/// The bytes of its numbers are valid for reads.
#[inline(always)]
pub(super) unsafe fn load<E: Element>(from: *const u8) -> E {
    let mut value = E::zeroed();
    let to = (&raw mut value).cast::<u8>();
    for (at, bytes) in E::DATATYPE.numbers(size_of::<E>()) {
        // SAFETY: 1. the caller's obligation; bytes of `value`. 2. `value` is new.
        unsafe { copy(from.wrapping_add(at), to.wrapping_add(at), bytes) };
    }
    value
}

/// Stores an element at `to`, which need not be aligned; the padding of a pair there stays as it is.
///
/// # Safety
/// The bytes of its numbers are valid for writes, and not those of `value`.
#[inline(always)]
pub(super) unsafe fn store<E: Element>(value: &E, to: *mut u8) {
    let from = std::ptr::from_ref(value).cast::<u8>();
    for (at, bytes) in E::DATATYPE.numbers(size_of::<E>()) {
        // SAFETY: 1. and 2. bytes of `value`, and the caller's obligation.
        unsafe { copy(from.wrapping_add(at), to.wrapping_add(at), bytes) };
    }
}

/// Replaces each of `n` values at `to` by the operation of it and that at `from`.
///
/// # Safety
/// The numbers of `n` values are valid at `from` for reads and at `to` for reads and writes, no other thread
/// accesses them, and they do not overlap. They need not be aligned.
unsafe fn combine<E: Element>(operation: &Operation<E>, from: *const E, to: *mut E, n: usize) {
    if from.is_aligned() && to.is_aligned() && !E::DATATYPE.is_padded() {
        // SAFETY: the caller's obligation; aligned, and any bytes are elements.
        let from = unsafe { slice::from_raw_parts(from, n) };
        // SAFETY: 1. and 2. of `widest` by the caller's obligation; aligned.
        return unsafe { (operation.many)(to, from) };
    }
    for i in 0..n {
        let (from, at) = (from.wrapping_add(i).cast(), to.wrapping_add(i).cast());
        // SAFETY: the caller's obligation; `i < n`.
        let value = unsafe { load(from) };
        // SAFETY: as above.
        let old = unsafe { load(at) };
        // SAFETY: as above.
        unsafe { store(&(operation.one)(old, value), at) };
    }
}

/// Where the elements of a buffer are.
#[derive(Debug)]
struct PackedElements {
    start: *mut u8,
    bytes: u64,
    /// Their layout, unless they are one block.
    scattered: Option<(CommittedDatatype, usize)>,
}

// SAFETY: an address and a datatype; the obligations of `Origin::new` and `OriginMut::new` name no
// thread.
unsafe impl Send for PackedElements {}
// SAFETY: as above; a shared reference reads at most.
unsafe impl Sync for PackedElements {}

impl PackedElements {
    /// `None` for a layout that reaches farther than can be represented.
    #[inline(always)]
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

    /// Their addresses, if they are one block.
    fn range(&self) -> Option<Range<usize>> {
        let start = self.start.addr();
        self.scattered.is_none().then(|| start..start + self.bytes as usize)
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

/// A buffer that is read until this is dropped. Its creator promises the obligations of [`Origin::new`]
/// for as long.
#[derive(Debug)]
pub(crate) struct Outgoing(PackedElements);

/// A buffer that is written until this is dropped. Its creator promises the obligations of
/// [`OriginMut::new`] for as long.
#[derive(Debug)]
pub(crate) struct Incoming(PackedElements);

impl Outgoing {
    /// `None` for a layout that reaches farther than can be represented.
    #[inline(always)]
    pub(crate) fn of(origin: &Origin<'_>) -> Option<Outgoing> {
        PackedElements::of(origin.start.cast_mut(), &origin.layout).map(Outgoing)
    }

    /// Bytes of the entries.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// The addresses of the entries, if they lie one behind the other.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        self.0.range()
    }

    /// Where the entries lie one behind the other, if they do.
    pub(crate) fn plain(&self) -> Option<*const u8> {
        self.0.scattered.is_none().then(|| self.0.start.cast_const())
    }

    /// Copies the entries to `offset` of the segment.
    #[inline]
    pub(crate) fn pack_into(&self, segment: &Segment, offset: u64) -> Result<()> {
        let to = segment.mapping().at(offset, self.0.bytes);
        let to = to.ok_or_else(no_offset)?;
        match self.plain() {
            // SAFETY: 1. the promise of the caller that made this; by `at`. 2. To bytes that this rank alone writes.
            Some(from) => unsafe { segment.stage(from, to, self.0.bytes as usize, ReadAs::Copied) },
            // SAFETY: by `at`, to bytes that this rank alone writes.
            None => unsafe { self.pack(to) },
        }
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
        // SAFETY: 1. the promise of the caller that made this, and the caller's obligation. 2. The caller's.
        unsafe { copy_sides(Step::MidPut, (from, self.0.side()), (to, packed)) };
    }
}

impl Incoming {
    /// [`Outgoing::range`]
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        self.0.range()
    }

    /// `None` for a layout that reaches farther than can be represented.
    #[inline(always)]
    pub(crate) fn of(origin: &OriginMut<'_>) -> Option<Incoming> {
        PackedElements::of(origin.start, &origin.layout).map(Incoming)
    }

    /// Bytes of the entries: the longest message that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Copies `bytes` packed bytes, at most its capacity, from `offset` of the segment.
    #[inline(always)]
    pub(crate) fn unpack_from(&mut self, segment: &Segment, offset: u64, bytes: u64) -> Result<()> {
        let from = segment.mapping().at(offset, bytes).filter(|_| bytes <= self.0.bytes);
        let from = from.ok_or_else(no_offset)?;
        if self.0.overlaps(from, bytes) {
            // Only a damaged segment can cause this.
            let mut packed = vec![0; bytes as usize];
            segment.mapping().read(offset, &mut packed)?;
            self.unpack(&packed);
            return Ok(());
        }
        // SAFETY: by `at`, and as just looked at.
        unsafe { self.unpack_at(from, bytes) };
        Ok(())
    }

    /// Copies packed bytes, at most its capacity.
    pub(crate) fn unpack(&mut self, from: &[u8]) {
        assert!(from.len() as u64 <= self.0.bytes, "the caller has compared the lengths");
        // SAFETY: a slice.
        unsafe { self.unpack_at(from.as_ptr(), from.len() as u64) };
    }

    /// Copies the entries of another buffer of this process, at most its capacity.
    pub(crate) fn copy_from(&mut self, from: &Outgoing) {
        if from.0.bytes == 0 {
            return;
        }
        let (from, side) = (from.0.start.cast_const(), from.0.side());
        let to = (self.0.start, self.0.side());
        // SAFETY: 1. the promises of those who made both. 2. By the second of `OriginMut::new`.
        unsafe { copy_sides(Step::MidGet, (from, side), to) };
    }

    /// Copies `bytes` bytes, at most its capacity, from the address `from` of another process.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    pub(crate) fn pull(&mut self, process: Process, from: u64, bytes: u64) -> std::io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let other = std::ptr::without_provenance_mut(from as usize);
        let piece = |own: *mut u8| [Piece { own, other, bytes: bytes as usize }];
        if self.0.scattered.is_none() {
            // SAFETY: 1. the first bytes of the entries (`OriginMut::new`). 2. One piece, of a message.
            return unsafe { process.move_pieces(Direction::Get, &piece(self.0.start)) };
        }
        let mut packed = vec![0; bytes as usize];
        // SAFETY: as above, of a new vector of that many bytes.
        unsafe { process.move_pieces(Direction::Get, &piece(packed.as_mut_ptr())) }?;
        self.unpack(&packed);
        Ok(())
    }

    /// # Safety
    /// `from` is valid for reads of `bytes` bytes, and no entry lies there.
    #[inline]
    unsafe fn unpack_at(&mut self, from: *const u8, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if self.0.scattered.is_none() {
            // SAFETY: as below.
            return unsafe { copy(from, self.0.start, bytes as usize) };
        }
        let to = (self.0.start, self.0.side());
        // SAFETY: 1. the caller's obligation, and the promise of the caller that made this. 2. The caller's.
        unsafe { copy_sides(Step::MidGet, (from, TransferSide::Packed(bytes)), to) };
    }
}

/// Elements that a collective reads, or an operation that takes effect late.
///
/// Its creator promises the obligations of [`Origin::new`] until the collective or operation is complete. The creator
/// of an [`Origin`] has promised them, for an operation by [`Origin::lasting`]; scratch memory lives as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer<D = HeldDatatype> {
    start: *const u8,
    pub(crate) count: usize,
    pub(crate) datatype: D,
}

/// How a buffer has its datatype: held, or lent for the time of a call.
pub(crate) trait HasDatatype: Deref<Target = CommittedDatatype> + Clone {}

impl HasDatatype for HeldDatatype {}
impl HasDatatype for &CommittedDatatype {}

/// A datatype that lives as long as a collective needs it.
#[derive(Clone, Debug)]
pub(crate) enum HeldDatatype {
    /// A predefined one.
    Lasting(&'static CommittedDatatype),
    Counted(CommittedDatatype),
}

impl HeldDatatype {
    /// That of the elements of a slice: their own, or of a type that is no [`Element`] its bytes.
    #[inline(always)]
    fn of_elements<T: Pod>() -> HeldDatatype {
        match datatype_of::<T>() {
            Datatype::U8 if size_of::<T>() != 1 => HeldDatatype::of_bytes(size_of::<T>()),
            of => HeldDatatype::Lasting(of.into()),
        }
    }

    #[cold]
    fn of_bytes(size: usize) -> HeldDatatype {
        let bytes = DerivedDatatype::contiguous(size, Datatype::U8);
        HeldDatatype::Counted(bytes.expect("a type has fewer than 2^63 bytes").commit())
    }

    pub(crate) fn bytes() -> HeldDatatype {
        HeldDatatype::Lasting(Datatype::U8.into())
    }

    #[inline]
    pub(super) fn of(datatype: &CommittedDatatype) -> HeldDatatype {
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

/// Elements that a collective writes. Its creator promises the obligations of [`OriginMut::new`], as for
/// [`Buffer`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferMut<D = HeldDatatype>(Buffer<D>);

// SAFETY: an address and a datatype; the obligations of `Origin::new` and `OriginMut::new` name no
// thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared, it gives away copies of itself and nothing of what is at the address.
unsafe impl Sync for Buffer {}

impl Buffer {
    #[inline]
    pub(crate) fn of(origin: &Origin<'_>) -> Buffer {
        let (start, count, datatype) = origin.parts();
        Buffer { start, count, datatype: HeldDatatype::of(datatype) }
    }

    /// The elements of a slice, which no thread writes until the collective is complete.
    pub(crate) fn slice<T: Pod>(elements: &[T]) -> Buffer {
        let (start, count) = (elements.as_ptr().cast(), elements.len());
        Buffer { start, count, datatype: HeldDatatype::of_elements::<T>() }
    }

    /// No elements.
    pub(crate) fn empty() -> Buffer {
        let start = std::ptr::dangling();
        Buffer { start, count: 0, datatype: HeldDatatype::Lasting(Datatype::U8.into()) }
    }

    /// The entries without gaps; their size was checked.
    pub(crate) fn packed(&self) -> Box<[u8]> {
        Outgoing::of(&self.origin()).map_or_else(Box::default, |outgoing| outgoing.packed())
    }

    /// The same memory as bytes, if the entries lie one behind the other.
    pub(crate) fn as_bytes(&self) -> Option<Buffer> {
        let count = self.plain()? as usize;
        Some(Buffer { start: self.start, count, datatype: HeldDatatype::bytes() })
    }

    /// Whether it is the same memory.
    pub(crate) fn is_at(&self, other: &BufferMut) -> bool {
        self.start == other.0.start
    }

    /// Whether it has no memory in common with another one, both of elements of predefined datatypes.
    pub(crate) fn is_disjoint(&self, other: &BufferMut) -> bool {
        let range = |buffer: &Buffer| {
            0..buffer.datatype.datatype().extent().saturating_mul(buffer.count as i64)
        };
        are_far((self.start, &range(self)), (other.0.start, &range(&other.0)))
    }
}

impl<'d> Buffer<&'d CommittedDatatype> {
    /// Of a call that is complete when it returns.
    #[inline(always)]
    pub(crate) fn lent(origin: &Origin<'d>) -> Buffer<&'d CommittedDatatype> {
        let (start, count, datatype) = origin.parts();
        Buffer { start, count, datatype }
    }
}

impl<D: HasDatatype> Buffer<D> {
    /// The same, in a call that is complete when it returns.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Buffer<&CommittedDatatype> {
        Buffer { start: self.start, count: self.count, datatype: &self.datatype }
    }

    pub(crate) fn origin(&self) -> Origin<'_> {
        // SAFETY: 1. and 2.: the promise of the maker.
        unsafe { Origin::new(self.start, self.count, &*self.datatype) }
    }

    /// The elements, of a buffer that was made of a slice or is scratch memory.
    pub(crate) fn elements<T: Element>(&self) -> &[T] {
        assert!(self.has::<T>(), "a buffer of such elements");
        // SAFETY: the promise of the creator, which has aligned elements of that type; any bytes are one.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.count) }
    }

    fn has<T: Element>(&self) -> bool {
        let extent = self.datatype.datatype().extent();
        extent == size_of::<T>() as i64 && self.start.cast::<T>().is_aligned()
    }

    /// The address of the first instance, for a function of the program.
    pub(crate) fn start(&self) -> *const u8 {
        self.start
    }

    /// Bytes of the entries; `None` if they or their range are more than can be represented.
    #[inline]
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.datatype.range(self.count)?;
        self.datatype.bytes(self.count)
    }

    /// Their addresses, if they lie one behind the other.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        let start = self.start.addr();
        self.plain().map(|bytes| start..start + bytes as usize)
    }

    /// Their bytes, if they lie one behind the other.
    #[inline]
    pub(crate) fn plain(&self) -> Option<u64> {
        self.datatype.plain(self.count).filter(|bytes| *bytes <= isize::MAX as u64)
    }

    /// Copies the entries to `offset` of the segment; their bytes.
    #[inline]
    pub(crate) fn pack_into(&self, segment: &Segment, offset: u64, read_as: ReadAs) -> Result<u64> {
        if let Some(bytes) = self.plain() {
            let to = segment.mapping().at(offset, bytes).ok_or_else(no_offset)?;
            // SAFETY: 1. the promise of the maker; by `at`. 2. To bytes that this rank alone writes.
            unsafe { segment.stage(self.start, to, bytes as usize, read_as) };
            return Ok(bytes);
        }
        self.pack_scattered(segment, offset)
    }

    #[cold]
    fn pack_scattered(&self, segment: &Segment, offset: u64) -> Result<u64> {
        let outgoing = Outgoing::of(&self.origin()).ok_or_else(no_offset)?;
        outgoing.pack_into(segment, offset)?;
        Ok(outgoing.bytes())
    }

    /// `count` instances from instance `first` on; it has them.
    pub(crate) fn part(&self, first: usize, count: usize) -> Buffer<D> {
        assert!(first + count <= self.count, "the caller has compared the counts");
        let offset = self.datatype.datatype().extent().wrapping_mul(first as i64);
        let start = self.start.wrapping_offset(offset as isize);
        Buffer { start, count, datatype: self.datatype.clone() }
    }
}

impl BufferMut {
    #[inline]
    pub(crate) fn of(origin: &OriginMut<'_>) -> BufferMut {
        let (start, count, datatype) = origin.parts();
        BufferMut(Buffer { start, count, datatype: HeldDatatype::of(datatype) })
    }

    /// The elements of a slice, which no other thread accesses until the collective is complete.
    pub(crate) fn slice<T: Pod>(elements: &mut [T]) -> BufferMut {
        let (start, count) = (elements.as_mut_ptr().cast_const().cast(), elements.len());
        BufferMut(Buffer { start, count, datatype: HeldDatatype::of_elements::<T>() })
    }

    /// No elements.
    pub(crate) fn empty() -> BufferMut {
        BufferMut(Buffer::empty())
    }

    /// [`Buffer::as_bytes`]
    pub(crate) fn as_bytes(&self) -> Option<BufferMut> {
        self.0.as_bytes().map(BufferMut)
    }

    /// What is only read, where others are written.
    pub(crate) fn only_read(buffer: Buffer) -> BufferMut {
        BufferMut(buffer)
    }
}

impl<'d> BufferMut<&'d CommittedDatatype> {
    /// [`Buffer::lent`]
    #[inline(always)]
    pub(crate) fn lent(origin: &OriginMut<'d>) -> BufferMut<&'d CommittedDatatype> {
        let (start, count, datatype) = origin.parts();
        BufferMut(Buffer { start, count, datatype })
    }
}

impl<D: HasDatatype> BufferMut<D> {
    /// The same, for as long as its maker has promised.
    #[cold]
    pub(crate) fn held(&self) -> BufferMut {
        let Buffer { start, count, datatype } = &self.0;
        BufferMut(Buffer { start: *start, count: *count, datatype: HeldDatatype::of(datatype) })
    }

    /// [`Buffer::lend`]
    #[inline(always)]
    pub(crate) fn lend(&self) -> BufferMut<&CommittedDatatype> {
        BufferMut(self.0.lend())
    }

    /// The same elements, to be read.
    #[inline]
    pub(crate) fn read(&self) -> Buffer<D> {
        self.0.clone()
    }

    #[inline]
    pub(crate) fn as_read(&self) -> &Buffer<D> {
        &self.0
    }

    #[inline]
    pub(crate) fn into_read(self) -> Buffer<D> {
        self.0
    }

    /// The elements, of a buffer that was made of a slice or is scratch memory.
    pub(crate) fn elements<T: Element>(&mut self) -> &mut [T] {
        assert!(self.0.has::<T>(), "a buffer of such elements");
        // SAFETY: as in `Buffer::elements`; no other thread accesses them.
        unsafe { std::slice::from_raw_parts_mut(self.0.start.cast_mut().cast(), self.0.count) }
    }

    /// The address of the first instance, for a function of the program.
    pub(crate) fn start(&mut self) -> *mut u8 {
        self.0.start.cast_mut()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.count
    }

    #[inline]
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.0.bytes()
    }

    pub(crate) fn part(&self, first: usize, count: usize) -> BufferMut<D> {
        BufferMut(self.0.part(first, count))
    }

    pub(crate) fn origin_mut(&mut self) -> OriginMut<'_> {
        // SAFETY: 1. and 2.: the promise of the maker.
        unsafe { OriginMut::new(self.0.start.cast_mut(), self.0.count, &*self.0.datatype) }
    }

    /// Copies the entries of `from`, which has no more bytes and reaches no farther than can be represented.
    pub(crate) fn copy_from<F: HasDatatype>(&mut self, from: &Buffer<F>) {
        let from = Outgoing::of(&from.origin());
        if let (Some(mut into), Some(from)) = (Incoming::of(&self.origin_mut()), from) {
            into.copy_from(&from);
        }
    }

    /// The bytes of the entries, if they lie one behind the other.
    #[inline]
    pub(crate) fn plain(&self) -> Option<u64> {
        self.0.plain()
    }

    /// Copies the entries, if they lie one behind the other, from the place of as many bytes in the segment.
    /// `None` if they do not.
    #[inline]
    pub(crate) fn copy_staged(
        &mut self,
        segment: &Segment,
        place: impl FnOnce(u64) -> Result<u64>,
    ) -> Option<Result<()>> {
        let bytes = self.plain()?;
        let copied = place(bytes).and_then(|place| {
            let from = segment.mapping().at(place, bytes).ok_or_else(no_offset)?;
            // SAFETY: by `at`, and by the promise of the creator. In a damaged segment they may overlap.
            unsafe { copy_overlapping(from, self.0.start.cast_mut(), bytes as usize) };
            Ok(())
        });
        Some(copied)
    }

    /// Replaces the elements by the combination by `op` of those that each of the first `ranks` ranks, one or
    /// more, has staged, in their order; that of the rank of `own` is there instead. `place`: where as many bytes of a rank
    /// are in the segment. `None` if the elements are not of one predefined datatype, or are staged without their padding.
    #[inline]
    pub(crate) fn combine_staged(
        &mut self,
        op: Op,
        segment: &Segment,
        ranks: u32,
        own: Option<(u32, &Buffer)>,
        place: impl Fn(u32, u64) -> Result<u64>,
    ) -> Option<Result<()>> {
        let (bytes, result) = (self.bytes()?, self.origin_mut());
        let datatype = result.layout.uniform().filter(|datatype| !datatype.is_padded())?;
        let is_like = |own: &&Buffer| own.plain() == Some(bytes);
        let own = match own {
            Some((rank, own)) => Some((rank, Some(own).filter(is_like)?.start)),
            None => None,
        };
        let place = |rank| place(rank, bytes);
        Some(datatype.visit(StagedElements { op, result, segment, ranks, own, place, bytes }))
    }

    /// Replaces the entries by as many packed bytes as they have.
    pub(crate) fn unpack(&mut self, packed: &[u8]) {
        let incoming = Incoming::of(&self.origin_mut());
        incoming.into_iter().for_each(|mut incoming| incoming.unpack(packed));
    }
}

/// What [`BufferMut::combine_staged`] combines.
struct StagedElements<'d, F> {
    op: Op,
    result: OriginMut<'d>,
    segment: &'d Segment,
    ranks: u32,
    /// A rank that has not staged its bytes, and where they are.
    own: Option<(u32, *const u8)>,
    place: F,
    bytes: u64,
}

/// Bytes of which the contributions of all ranks are combined at once, in the nearest cache.
const COMBINED_AT_ONCE: usize = 8 << 10;

impl<F: Fn(u32) -> Result<u64>> Visitor for StagedElements<'_, F> {
    type Output = Result<()>;

    #[inline]
    fn visit<E: Element>(self) -> Result<()> {
        let StagedElements { op, mut result, segment, ranks, own, place, bytes } = self;
        let Some(operation) = E::operation(op) else { return Err(undefined::<E>(op)) };
        let start = |rank| match own {
            Some((of, start)) if of == rank => Ok(start),
            _ => segment
                .mapping()
                .at(place(rank)?, bytes)
                .map(<*mut u8>::cast_const)
                .ok_or_else(no_offset),
        };
        if let Some(into) = result.single::<E>() {
            let element = |rank| {
                let start = start(rank)?;
                // SAFETY: by `at`, or the promise for `own`, the bytes of one element.
                Ok::<E, Error>(unsafe { load(start) })
            };
            let mut all = element(0)?;
            for rank in 1..ranks {
                all = (operation.one)(all, element(rank)?);
            }
            *into = all;
            return Ok(());
        }
        let range = result.layout.known_range().ok_or_else(no_offset)?;
        let to = result.start;
        let far = |rank| {
            // Places in the segment may be damaged.
            let is_far = |start| are_far((start, &(0..bytes as i64)), (to, &range));
            start(rank)
                .and_then(|start| Some(start).filter(|start| is_far(*start)).ok_or_else(no_offset))
        };
        let elements = bytes as usize / size_of::<E>();
        if result.layout.plain().is_some() {
            // SAFETY: by `at`, or the promise for `own`; the first obligation of `OriginMut::new`; by `far`.
            return unsafe { combine_blocks(operation, ranks, far, to.cast(), elements) };
        }
        for rank in 0..ranks {
            let start = far(rank)?;
            let replace = E::operation(Op::Replace).filter(|_| rank == 0);
            let operation = replace.unwrap_or(operation);
            result.combine(operation, &Origin::of_bytes(start, Layout::of_slice::<E>(elements)));
        }
        Ok(())
    }
}

/// Replaces `n` elements at `to` by the combination of those from where each of the ranks has them, in their order.
///
/// # Safety
/// `n` elements are valid where `from` returns, for reads, and at `to`, for reads and writes; no other thread accesses those
/// at `to`, and the two do not overlap. They need not be aligned.
unsafe fn combine_blocks<E: Element>(
    operation: &Operation<E>,
    ranks: u32,
    from: impl Fn(u32) -> Result<*const u8>,
    to: *mut E,
    n: usize,
) -> Result<()> {
    let most = COMBINED_AT_ONCE / size_of::<E>();
    for first in (0..n).step_by(most) {
        let (n, to) = (most.min(n - first), to.wrapping_add(first));
        for rank in 0..ranks {
            let from = from(rank)?.cast::<E>().wrapping_add(first);
            match rank {
                // SAFETY: the caller's obligations; the elements from `first` on are among them.
                0 => unsafe { copy(from.cast(), to.cast(), n * size_of::<E>()) },
                // SAFETY: the same.
                _ => unsafe { combine(operation, from, to, n) },
            }
        }
    }
    Ok(())
}

/// Memory that belongs to a collective. When it is dropped, large memory is used again, because the kernel
/// would give new pages, and each would be cleared.
#[derive(Default)]
pub(crate) struct Scratch(Vec<u128>);

/// Scratch memory of this process that is free, with at most [`MOST_UNUSED`] units together.
static UNUSED: Mutex<Vec<Vec<u128>>> = Mutex::new(Vec::new());
/// 4 MiB.
const MOST_UNUSED: usize = (4 << 20) / size_of::<u128>();
/// Smaller memory is not reused: 16 KiB.
const LARGE: usize = (16 << 10) / size_of::<u128>();

impl Scratch {
    /// `units` units, with whatever is there.
    fn new(units: usize) -> Scratch {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |memory: &Vec<u128>| units >= LARGE && (units..2 * units).contains(&memory.len());
        match unused.iter().position(fits) {
            Some(place) => Scratch(unused.swap_remove(place)),
            // Initialised, because a message that fails writes nothing there.
            None => Scratch(vec![0; units]),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.len() < LARGE {
            return;
        }
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.push(std::mem::take(&mut self.0));
        let mut units = unused.iter().map(Vec::len).sum::<usize>();
        while units > MOST_UNUSED {
            // What was used last is most likely to be used again.
            units -= unused.remove(0).len();
        }
    }
}

/// New memory for `count` instances of a datatype, with displacement 0 aligned as in an aligned buffer;
/// `None` on overflow.
pub(crate) fn scratch(count: usize, datatype: &HeldDatatype) -> Option<(Scratch, BufferMut)> {
    scratch_beside(&mut [], count, datatype)
}

/// The same, in `small` if that is long enough. The buffer then lives no longer than `small`.
pub(crate) fn scratch_beside(
    small: &mut [u128],
    count: usize,
    datatype: &HeldDatatype,
) -> Option<(Scratch, BufferMut)> {
    const UNIT: i64 = size_of::<u128>() as i64;
    let range = datatype.with_padding().range(count)?;
    let before = range.start.div_euclid(UNIT) * UNIT;
    let units = range.end.checked_sub(before)?.max(0) as usize / 16 + 1;
    let mut memory = Scratch::default();
    let first = match units <= small.len() {
        true => small.as_mut_ptr(),
        false => {
            memory = Scratch::new(units);
            memory.0.as_mut_ptr()
        }
    };
    let start = first.cast::<u8>().wrapping_offset(-before as isize);
    Some((memory, BufferMut(Buffer { start, count, datatype: datatype.clone() })))
}

#[cold]
fn no_offset() -> Error {
    Error::Damaged { what: "offset" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::DerivedDatatype;
    use crate::error::ErrorClass;

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let datatype = DerivedDatatype::indexed(&[2, 1], &[3, 0], Datatype::I16).unwrap().commit();
        let from: Vec<u8> = (0..20).collect();
        // SAFETY: two instances, ten bytes apart, lie in the slice.
        let origin = unsafe { Origin::new(from.as_ptr(), 2, &datatype) };
        let mut packed = [0; 12];
        origin.pack(&mut packed).unwrap();
        assert_eq!(packed, [6, 7, 8, 9, 0, 1, 16, 17, 18, 19, 10, 11]);
        let mut to = [0xFF; 20];
        // SAFETY: as above.
        let mut into = unsafe { OriginMut::new(to.as_mut_ptr(), 2, &datatype) };
        assert_eq!(into.unpack(&packed[..11]).unwrap_err().class(), ErrorClass::Count);
        into.unpack(&packed).unwrap();
        for (k, byte) in to.into_iter().enumerate() {
            let gap = matches!(k % 10, 2..6);
            assert_eq!(byte, if gap { 0xFF } else { from[k] });
        }
    }

    /// `op` on the bytes of two slices from that byte on.
    fn run(
        op: Op,
        datatype: &CommittedDatatype,
        count: usize,
        from: &[u8],
        to: &mut [u8],
    ) -> Result<()> {
        let range = datatype.range(count).unwrap();
        assert!(range.start >= 0 && range.end as usize <= from.len().min(to.len()));
        // SAFETY: the range lies in the slice, which is borrowed.
        let input = unsafe { Origin::new(from.as_ptr(), count, datatype) };
        // SAFETY: as above, for writing too.
        let inout = unsafe { OriginMut::new(to.as_mut_ptr(), count, datatype) };
        op.reduce_local(input, inout)
    }

    #[test]
    fn elements_are_combined_wherever_they_lie() {
        let every_second = DerivedDatatype::vector(3, 1, 2, Datatype::I32).unwrap().commit();
        let from: Vec<u8> = (0..6i32).flat_map(|k| (10 * k).to_ne_bytes()).collect();
        for shift in 0..4 {
            // Aligned or not.
            let mut to = vec![0; shift];
            to.extend((0..6i32).flat_map(i32::to_ne_bytes));
            run(Op::Sum, &every_second, 1, &from, &mut to[shift..]).unwrap();
            let (now, _) = to[shift..].as_chunks();
            let now: Vec<i32> = now.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect();
            assert_eq!(now, [0, 1, 22, 3, 44, 5]);
        }
    }

    #[test]
    fn what_is_not_defined_changes_nothing() {
        let mixed = DerivedDatatype::structure(
            &[1, 1],
            &[0, 8],
            &[Datatype::I32.into(), Datatype::F64.into()],
        );
        let cases = [
            (Op::Band, CommittedDatatype::from(Datatype::F64), ErrorClass::Op),
            (Op::Maxloc, Datatype::I32.into(), ErrorClass::Op),
            (Op::Sum, mixed.unwrap().commit(), ErrorClass::Type),
        ];
        for (op, datatype, class) in cases {
            let mut to = [7; 16];
            let refused = run(op, &datatype, 1, &[1; 16], &mut to).unwrap_err();
            assert_eq!((refused.class(), to), (class, [7; 16]), "{refused}");
        }
    }

    #[test]
    fn every_operation_of_every_datatype_is_that_of_its_type() {
        struct Expected<'a>(Op, &'a [u8], &'a [u8]);
        impl Visitor for Expected<'_> {
            type Output = Option<Vec<u8>>;
            fn visit<E: Element>(self) -> Option<Vec<u8>> {
                let read = |bytes: &[u8]| bytemuck::pod_read_unaligned::<E>(bytes);
                let value = E::function(self.0)?(read(self.2), read(self.1));
                Some(bytemuck::bytes_of(&value).to_vec())
            }
        }
        for datatype in Datatype::ALL.into_iter().chain(Datatype::UNTYPED) {
            let bytes = |seed: usize| (0..datatype.size()).map(move |k| (k * 7 + seed) as u8 % 63);
            let (from, to): (Vec<u8>, Vec<u8>) = (bytes(3).collect(), bytes(50).collect());
            for op in Op::ALL {
                let expected = datatype.visit(Expected(op, &from, &to));
                let mut now = to.clone();
                let done = run(op, datatype.into(), 1, &from, &mut now);
                assert_eq!(done.is_ok(), expected.is_some(), "{op:?} {datatype:?}");
                assert_eq!(now, expected.unwrap_or(to.clone()), "{op:?} {datatype:?}");
            }
        }
    }
}
