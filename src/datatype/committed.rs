//! A committed datatype, as operations take it.

use super::constructor::Constructor;
use super::cursor::{Cursor, Run};
use super::overlap::{self, Known};
use super::plan::{Item, Items};
use super::{Datatype, DerivedDatatype};
use crate::shm::Strip;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A datatype compiled to loops by [`DerivedDatatype::commit`] (MPI-2.2 §4.1.9). Operations take no
/// other, so an operation with an uncommitted datatype does not compile.
///
/// Offsets are in bytes from displacement 0, the start of the buffer, and may be negative. All
/// functions are local and do not block.
///
/// ```
/// use onesided::{Datatype, DerivedDatatype};
///
/// let rows = DerivedDatatype::vector(2, 3, 5, Datatype::U8)?.commit();
/// assert_eq!(rows.pieces(1).collect::<Vec<_>>(), [(0, 3), (5, 3)]);
/// assert_eq!((rows.bytes(4), rows.is_contiguous(1)), (Some(24), false));
/// # Ok::<(), onesided::Error>(())
/// ```
#[derive(Clone)]
pub struct CommittedDatatype {
    datatype: DerivedDatatype,
    plan: Arc<CommittedPlan>,
    /// The bytes of an instance that is one block from offset 0 on, where several are adjacent; zero for others.
    block: u64,
}

/// The result of a commit.
pub(super) struct CommittedPlan {
    items: Items,
    /// One instance, if it is a single loop over a block.
    run: Option<Run<'static>>,
    size: u64,
    /// The bytes of a slice of its elements; none if these have padding, which is not transferred.
    slice: u64,
    extent: i64,
    /// [`DerivedDatatype::elements`] and [`DerivedDatatype::uniform`], which operations check first.
    elements: u64,
    uniform: Option<Datatype>,
    /// For pairs with padding, the same with the padding among its bytes.
    with_padding: Option<CommittedDatatype>,
    /// As of [`CommittedDatatype`].
    block: u64,
    /// First byte and end of the data of one instance; empty without data.
    bytes: Range<i64>,
    /// Whether one instance overlaps itself.
    overlap: OnceLock<bool>,
    /// The answers for several instances that interleave.
    interleaved: Mutex<Known>,
}

impl CommittedPlan {
    pub(super) fn new(datatype: &DerivedDatatype) -> CommittedPlan {
        let items = datatype.items().clone();
        let start = datatype.true_lower_bound();
        let run = Run::of(&Item::whole(&items)).and_then(Run::into_static);
        let (size, extent, uniform) = (datatype.size(), datatype.extent(), datatype.uniform());
        let has_padding = datatype.summary().padded_size != size;
        let is_padded = has_padding && uniform.is_some();
        let is_block = |run: &Run<'_>| start == 0 && run.blocks == 1 && extent as u64 == run.bytes;
        CommittedPlan {
            block: if run.as_ref().is_some_and(is_block) { size } else { 0 },
            run,
            items,
            size,
            extent,
            elements: datatype.elements(),
            slice: if has_padding { 0 } else { size },
            uniform,
            with_padding: is_padded.then(|| datatype.with_padding().commit()),
            bytes: start..start + datatype.true_extent(),
            overlap: OnceLock::new(),
            interleaved: Mutex::default(),
        }
    }
}

impl CommittedDatatype {
    pub(super) fn new(datatype: DerivedDatatype, plan: Arc<CommittedPlan>) -> CommittedDatatype {
        let block = plan.block;
        CommittedDatatype { datatype, plan, block }
    }

    /// The datatype that was committed, with its queries.
    pub fn datatype(&self) -> &DerivedDatatype {
        &self.datatype
    }

    /// Bytes of data of `count` instances, without gaps; `None` on overflow of a `u64`.
    #[inline]
    pub fn bytes(&self, count: usize) -> Option<u64> {
        self.plan.size.checked_mul(count as u64)
    }

    /// The range from the first byte of `count` instances, one extent apart, to the byte after the
    /// last. Empty without data; `None` on overflow of an `i64`, or of a `u64` for the bytes of data.
    ///
    /// The instances fit wherever this range fits. With a negative lower bound it begins before the
    /// start of the buffer.
    #[inline]
    pub fn range(&self, count: usize) -> Option<Range<i64>> {
        let plan = &*self.plan;
        if count == 1 {
            return Some(plan.bytes.clone());
        }
        self.range_of_many(count)
    }

    fn range_of_many(&self, count: usize) -> Option<Range<i64>> {
        let plan = &*self.plan;
        if count == 0 || plan.size == 0 {
            return Some(0..0);
        }
        self.bytes(count)?;
        let last = i64::try_from(count - 1).ok()?.checked_mul(plan.extent)?;
        let start = plan.bytes.start.checked_add(last.min(0))?;
        let end = plan.bytes.end.checked_add(last.max(0))?;
        // Every distance between two bytes is an `i64` too (invariant 1 of the module).
        end.checked_sub(start)?;
        Some(start..end)
    }

    /// Whether `count` instances are one contiguous piece, in the order of the type map.
    pub fn is_contiguous(&self, count: usize) -> bool {
        self.bytes(count).is_some_and(|bytes| {
            bytes == 0 || self.run_of(count).is_some_and(|run| run.blocks == 1)
        })
    }

    /// Whether two entries of `count` instances share a byte. Those of a target of put or accumulate must
    /// not (MPI-2.2 §11.3.1), nor those of the origin of a get (§11.3.2).
    ///
    /// Exact. Where the loops alone do not decide it, the first call for a datatype sorts its pieces,
    /// and the answer is remembered.
    #[inline]
    pub fn overlaps(&self, count: usize) -> bool {
        let plan = &*self.plan;
        if count == 1
            && let Some(known) = plan.overlap.get()
        {
            return *known;
        }
        !(self.block != 0 && self.range(count).is_some()) && self.find_out_overlap(count)
    }

    #[inline(never)]
    fn find_out_overlap(&self, count: usize) -> bool {
        let plan = &*self.plan;
        let Some(range) = self.range(count) else { return true };
        if range.is_empty() {
            return false;
        }
        let one = plan.bytes.end - plan.bytes.start;
        if count == 1 || i128::from(plan.extent).abs() >= i128::from(one) {
            // The instances do not interleave.
            return *plan.overlap.get_or_init(|| self.find_overlap(1, &plan.bytes));
        }
        let mut known = plan.interleaved.lock().unwrap_or_else(PoisonError::into_inner);
        known.answer(count, || self.find_overlap(count, &range))
    }

    /// [`CommittedDatatype::overlaps`] for instances with this range.
    fn find_overlap(&self, count: usize, range: &Range<i64>) -> bool {
        // More bytes than the range has must overlap.
        let bytes = i128::from(self.plan.size) * count as i128;
        bytes > i128::from(range.end - range.start) || overlap::overlaps(&self.root(count as u64))
    }

    /// Whether `target_count` instances of `target` can receive the basic elements of `count` instances
    /// without truncation. Their sequence of predefined datatypes is the same, or a longer one that
    /// begins with it (MPI-2.2 §3.3.1, §11.3.1).
    #[inline]
    pub fn fits_into(&self, count: usize, target: &CommittedDatatype, target_count: usize) -> bool {
        let Some(elements) = self.elements(count) else {
            return false;
        };
        let available = target.elements(target_count);
        if elements == 0 || available.is_none_or(|available| available < elements) {
            return elements == 0;
        }
        match (self.plan.uniform, target.plan.uniform) {
            (Some(own), Some(other)) if own == other => true,
            _ => {
                let own = self.datatype.signature_of(elements);
                let other = target.datatype.signature_of(elements);
                own.zip(other).is_some_and(|(own, other)| own.agrees_with(&other))
            }
        }
    }

    /// The same for operations on elements: pairs with their padding.
    #[inline]
    pub(crate) fn with_padding(&self) -> &CommittedDatatype {
        self.plan.with_padding.as_ref().unwrap_or(self)
    }

    /// The number of basic elements of `count` instances; `None` on overflow of a `u64`.
    #[inline]
    pub(crate) fn elements(&self, count: usize) -> Option<u64> {
        self.plan.elements.checked_mul(count as u64)
    }

    /// The number of values of the [uniform](CommittedDatatype::uniform) datatype in one instance: for
    /// pairs, half the number of basic elements.
    #[inline]
    pub(crate) fn values(&self) -> u64 {
        let is_pair = self.plan.uniform.is_some_and(|datatype| datatype.pair().is_some());
        self.plan.elements / if is_pair { 2 } else { 1 }
    }

    /// [`DerivedDatatype::uniform`]
    #[inline]
    pub(crate) fn uniform(&self) -> Option<Datatype> {
        self.plan.uniform
    }

    /// The library's own instance of a predefined datatype, which lives as long as the process.
    #[inline]
    pub(crate) fn lasting(&self) -> Option<&'static CommittedDatatype> {
        match self.datatype.constructor() {
            Constructor::Predefined(datatype) if !self.datatype.has_padding() => {
                Some((*datatype).into())
            }
            _ => None,
        }
    }

    /// What other ranks compare `count` instances by, beside their bytes: the only basic datatype, or a
    /// digest of the sequence of several. Bytes (`MPI_BYTE`, `MPI_PACKED`) agree with anything.
    #[inline]
    pub(crate) fn signature(&self, count: usize) -> (Option<Datatype>, u64) {
        match self.plan.uniform {
            _ if count == 0 || self.plan.size == 0 => (None, 0),
            Some(Datatype::U8) => (None, 0),
            Some(datatype) if datatype.pair().is_none() => (Some(datatype), 0),
            _ => {
                let signature = self.datatype.summary().signature.repeated(count as u64);
                (None, signature.map_or(1, |signature| signature.digest()))
            }
        }
    }

    /// The bytes of `count` instances, if these are one block from offset 0 on, as a slice is.
    #[inline]
    pub(crate) fn plain(&self, count: usize) -> Option<u64> {
        if self.block == 0 { None } else { self.block.checked_mul(count as u64) }
    }

    /// Whether an instance is one block from offset 0 on of that many bytes, of such elements.
    #[inline(always)]
    pub(crate) fn is_single(&self, datatype: Datatype, bytes: usize) -> bool {
        bytes != 0 && self.block == bytes as u64 && self.plan.uniform == Some(datatype)
    }

    /// The range of one instance, for an operation between it and a slice of `bytes` bytes (more than
    /// none) that transfers all of them.
    #[inline]
    pub(crate) fn range_of_bytes(&self, bytes: u64) -> Option<&Range<i64>> {
        (self.plan.slice == bytes && bytes > 0).then_some(&self.plan.bytes)
    }

    /// Whether [`CommittedDatatype::overlaps`] has been found false for one instance.
    #[inline]
    pub(crate) fn is_known_disjoint(&self) -> bool {
        self.plan.overlap.get() == Some(&false)
    }

    /// The contiguous pieces of `count` instances, in the order of the type map: offset and length in
    /// bytes. Adjacent neighbours in that order form one piece where the datatype's description shows
    /// it. Empty if there is no [range](Self::range).
    pub fn pieces(&self, count: usize) -> impl Iterator<Item = (i64, u64)> {
        let count = if self.range(count).is_some() { count as u64 } else { 0 };
        let run = if count == 0 { None } else { self.run_of(count as usize) };
        let others = if run.is_some() { 0 } else { count };
        let instance =
            |i: u64| Cursor::over(&self.plan.items, self.plan.extent.wrapping_mul(i as i64));
        let runs = run.into_iter().chain((0..others).flat_map(instance));
        runs.flat_map(Run::pieces)
    }

    /// The entries of one instance as blocks at a stride, if they have one.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> Option<Strip<'static, 1>> {
        let Run { pattern, bytes, blocks } = *self.plan.run.as_ref()?;
        Some(Strip { patterns: [pattern], bytes: bytes as usize, blocks: blocks as usize })
    }

    /// `count` instances as a single loop over a block or list of blocks, if they are one. `count` has a
    /// [range](Self::range) with data.
    #[inline(always)]
    pub(super) fn run_of(&self, count: usize) -> Option<Run<'_>> {
        match count {
            1 if self.plan.run.is_some() => self.plan.run,
            _ => self.run_of_others(count),
        }
    }

    /// Slow path of [`CommittedDatatype::run_of`].
    fn run_of_others(&self, count: usize) -> Option<Run<'_>> {
        let plan = &*self.plan;
        match (count, plan.run, &plan.items[..]) {
            (0, ..) => None,
            (1, _, [item]) => Run::of(item),
            (_, Some(run), _) if self.block != 0 => {
                Some(Run { bytes: run.bytes * count as u64, ..run })
            }
            (_, Some(_), _) => Run::of(&self.root(count as u64)).and_then(Run::into_static),
            _ => None,
        }
    }

    /// The loops of `count` instances, at least one. `count` has a [range](Self::range).
    pub(super) fn root(&self, count: u64) -> Item {
        Item::whole(&self.plan.items).repeated(count, self.plan.extent)
    }
}

/// Predefined datatypes need no commit (MPI-2.2 §4.1.9).
impl From<Datatype> for CommittedDatatype {
    fn from(datatype: Datatype) -> CommittedDatatype {
        DerivedDatatype::from(datatype).commit()
    }
}

/// Borrows the library's static instance: no allocation, no reference count.
impl From<Datatype> for &CommittedDatatype {
    #[inline]
    fn from(datatype: Datatype) -> Self {
        static ALL: OnceLock<Vec<CommittedDatatype>> = OnceLock::new();
        let all = || {
            let numbered = Datatype::ALL.into_iter().chain(Datatype::UNTYPED);
            numbered.map(CommittedDatatype::from).collect()
        };
        &ALL.get_or_init(all)[datatype as usize]
    }
}

impl fmt::Debug for CommittedDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.datatype.fmt(f)
    }
}
