//! Memory for [`Window::create`](crate::Window::create): from the segment, or the program's own.
//!
//! A [`Memory`] is owned and dereferences to its elements. To be exposed, it becomes a
//! [`WindowMemory`], which does not dereference: other ranks may access it until every window over it
//! has been freed.
#![allow(unsafe_code, reason = "owns memory by address")]

use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Place, Result};
use crate::foreign::ForeignPart;
use crate::group::Rank;
use crate::shm::{AllocError, GRANULE, Heap, Segment, Span, is_forked};
use crate::universe::Universe;
use bytemuck::Pod;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Owned elements in memory over which a window can be created.
///
/// * From [`Universe::alloc_mem`]: memory of the segment, which other ranks access directly. It may
///   outlive the universe; the job's end then frees it.
/// * From a `Vec<T>`, a `Box<[T]>` or a `&'static mut [T]`: private memory of this process, which
///   they access through the kernel.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let mut memory = universe.alloc_mem::<u64>(4)?;
/// memory.fill(7);
/// let window = Window::create(universe.world(), memory)?;
/// assert_eq!(window.load_one(3)?, 7);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[doc(alias = "MPI_Free_mem")]
pub struct Memory<T: Pod> {
    start: NonNull<T>,
    len: usize,
    owner: Owner,
}

enum Owner {
    /// A block of the segment, which stays mapped as long. It is no handle of the job. The memory of a
    /// window that is never freed is never dropped, and must not keep the rank in the job.
    Segment { context: Weak<Context>, block: u64, _mapped: Arc<Segment> },
    /// A vector with that capacity.
    Vec { capacity: usize },
    /// Memory that is never freed.
    Program,
}

// SAFETY: it owns its elements as a vector does.
unsafe impl<T: Pod + Send> Send for Memory<T> {}
// SAFETY: as above; a shared reference only reads.
unsafe impl<T: Pod + Sync> Sync for Memory<T> {}

impl Universe {
    /// `MPI_Alloc_mem` (MPI-2.2 §8.2): `len` zeroed elements of the segment. Dropping them is
    /// `MPI_Free_mem`.
    ///
    /// Local, from any thread; blocks at most while another rank allocates.
    ///
    /// # Errors
    /// [`Error::NoMemory`] if the segment has not enough memory, [`Error::RankFailed`].
    #[doc(alias = "MPI_Alloc_mem")]
    pub fn alloc_mem<T: Pod>(&self, len: usize) -> Result<Memory<T>> {
        let context = self.world().context();
        let at = Place { call: Call::AllocMem, window: None, rank: Some(Rank(context.rank)) };
        if is_forked() {
            return Err(Error::Forked { at });
        }
        const { assert!(align_of::<T>() as u64 <= GRANULE, "alloc_mem aligns to 128 bytes") };
        let _call = context.enter(Call::AllocMem, 0);
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let block = allocate(context, bytes).map_err(|error| context.refusal(error, at, bytes))?;
        let start =
            context.segment.mapping().at(block, bytes).and_then(|at| NonNull::new(at.cast()));
        let start = start.ok_or(Error::Damaged { what: "allocator" })?;
        let (context, _mapped) = (Arc::downgrade(context), context.segment.clone());
        let owner = Owner::Segment { context, block, _mapped };
        Ok(Memory { start, len, owner })
    }
}

fn allocate(context: &Context, bytes: u64) -> std::result::Result<u64, AllocError> {
    let block = context.segment.heap().allocate(bytes.max(1), &context.excluded())?;
    for (at, n) in Heap::dirty_edges(block, bytes) {
        context.segment.mapping().clear(at, n)?;
    }
    Ok(block)
}

impl<T: Pod> Memory<T> {
    /// Memory of `len` elements at `start`, such as a mapped file.
    ///
    /// # Safety
    /// `start` is aligned and valid for reads and writes of `len` elements for the rest of the
    /// process's life, and nothing else accesses them.
    pub unsafe fn from_raw_parts(start: NonNull<T>, len: usize) -> Memory<T> {
        Memory { start, len, owner: Owner::Program }
    }

    /// The vector from which the memory was made. Returns `None` and drops the memory if it was not made
    /// from one.
    pub fn into_vec(self) -> Option<Vec<T>> {
        let memory = ManuallyDrop::new(self);
        match memory.owner {
            Owner::Vec { capacity } => Some(memory.vec(capacity)),
            _ => {
                drop(ManuallyDrop::into_inner(memory));
                None
            }
        }
    }

    /// The vector from which the memory was made; the caller must not drop it twice.
    fn vec(&self, capacity: usize) -> Vec<T> {
        // SAFETY: taken apart from a vector of this capacity in `from`.
        unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, capacity) }
    }
}

impl<T: Pod> From<Vec<T>> for Memory<T> {
    fn from(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        let start = NonNull::new(vec.as_mut_ptr()).expect("a vector's pointer is never null");
        Memory { start, len: vec.len(), owner: Owner::Vec { capacity: vec.capacity() } }
    }
}

impl<T: Pod> From<Box<[T]>> for Memory<T> {
    fn from(elements: Box<[T]>) -> Self {
        elements.into_vec().into()
    }
}

impl<T: Pod> From<&'static mut [T]> for Memory<T> {
    fn from(elements: &'static mut [T]) -> Self {
        Memory { len: elements.len(), start: NonNull::from(elements).cast(), owner: Owner::Program }
    }
}

impl<T: Pod> Deref for Memory<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: owned and valid (see `owner`); no window exposes it while this can be called,
        // because `WindowMemory` does not lend it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for Memory<T> {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Program => {}
            Owner::Vec { capacity } => drop(self.vec(*capacity)),
            Owner::Segment { context, block, .. } => {
                // A fork of the rank has the handle, but the memory is the rank's.
                let Some(context) = context.upgrade().filter(|_| !is_forked()) else { return };
                // A panic is reported in the call in which it happened.
                let _call = (!std::thread::panicking()).then(|| context.enter(Call::FreeMem, 0));
                // An error means that the job has failed or the segment is damaged.
                let _ = context.segment.heap().free(*block, &context.excluded());
            }
        }
    }
}

impl<T: Pod> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match self.owner {
            Owner::Segment { .. } => "segment",
            Owner::Vec { .. } => "vector",
            Owner::Program => "program",
        };
        write!(f, "Memory({} elements at {:p}, from {from})", self.len, self.start)
    }
}

/// Memory that other ranks may access through windows. Its clones and their parts are the same memory:
/// windows over them overlap.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let window = Window::create(universe.world(), vec![1, 2, 3])?;
/// let memory = window.free_and_take()?.remove(0);
/// let vec = memory.into_memory().ok().and_then(onesided::Memory::into_vec);
/// assert_eq!(vec, Some(vec![1, 2, 3]));
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct WindowMemory<T: Pod> {
    memory: Arc<Memory<T>>,
    start: usize,
    len: usize,
}

impl<T: Pod> WindowMemory<T> {
    /// The elements of `range`; `None` if the memory does not have all of them.
    pub fn part(&self, range: Range<usize>) -> Option<WindowMemory<T>> {
        let fits = range.start <= range.end && range.end <= self.len;
        let (memory, start) = (self.memory.clone(), self.start + range.start);
        fits.then(|| WindowMemory { memory, start, len: range.len() })
    }

    /// Returns the memory if this is its last handle.
    ///
    /// # Errors
    /// Returns `self` if another clone, part or window of the memory exists.
    pub fn into_memory(self) -> std::result::Result<Memory<T>, WindowMemory<T>> {
        let (start, len) = (self.start, self.len);
        Arc::try_unwrap(self.memory).map_err(|memory| WindowMemory { memory, start, len })
    }

    /// Number of elements.
    #[allow(clippy::len_without_is_empty, reason = "memory of no elements is no special case")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Address of the first element in this process.
    pub fn as_ptr(&self) -> *mut T {
        self.memory.start.as_ptr().wrapping_add(self.start)
    }

    /// Its bytes, to be exposed: an [`Exposed`] has the memory then. That does not drop it, and lends no
    /// reference to it, until [`Exposed::take`], which follows the release of the window.
    pub(crate) fn bytes(&self) -> ExposedBytes {
        ExposedBytes(Span::new(self.as_ptr().cast(), (self.len * size_of::<T>()) as u64))
    }

    /// Whether this is the last handle of the memory.
    pub(crate) fn is_only(&self) -> bool {
        Arc::strong_count(&self.memory) == 1
    }
}

/// Bytes of this process that a window may expose, by their address.
///
/// ```
/// use onesided::{Rank, WindowOptions, engine::ExposedBytes};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let mut numbers = vec![0_u64; 10];
/// // SAFETY: the vector lives until the window is freed, and is not used before.
/// let bytes = unsafe { ExposedBytes::new(numbers.as_mut_ptr().cast(), 80) };
/// let win = WindowOptions::new().create_bytes(universe.world(), bytes, 8)?;
/// win.fence()?;
/// if universe.world().rank() == 0 {
///     win.put(&[7_u64], Rank(1), 9)?;
/// }
/// win.fence()?;
/// win.free()?;
/// assert_eq!(numbers[9], if universe.world().rank() == 1 { 7 } else { 0 });
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ExposedBytes(Span);

impl ExposedBytes {
    /// The `bytes` bytes at `start`; 0 bytes are allowed. Any alignment will do.
    ///
    /// # Safety
    /// Until each window that was created over them has been freed successfully, and each dynamic window to
    /// which they were attached has detached them:
    /// 1. The memory stays valid for reads and writes by any thread.
    /// 2. No Rust reference to it is used, except while the program's synchronisation keeps every
    ///    rank from accessing it through a window.
    pub unsafe fn new(start: *mut u8, bytes: u64) -> ExposedBytes {
        ExposedBytes(Span::new(start, bytes))
    }

    pub(crate) fn span(self) -> Span {
        self.0
    }

    /// The same, for a window of another MPI.
    pub(crate) fn foreign(self) -> ForeignPart {
        // SAFETY: the first obligation of `new`.
        unsafe { ForeignPart::given(self.0) }
    }
}

/// The memory that a window exposes for the program, by its address. A drop of this does not drop it, because
/// other ranks may access it until the window is freed.
pub(crate) struct Exposed<T: Pod>(ManuallyDrop<Mutex<BTreeMap<u64, WindowMemory<T>>>>);

impl<T: Pod> Exposed<T> {
    /// An element has a displacement unit, which is at least one byte.
    const ELEMENTS_HAVE_BYTES: () =
        assert!(size_of::<T>() > 0, "elements of a window have at least one byte");

    pub(crate) fn nothing() -> Self {
        let () = Self::ELEMENTS_HAVE_BYTES;
        Exposed(ManuallyDrop::default())
    }

    pub(crate) fn of(memory: WindowMemory<T>) -> Self {
        let exposed = Exposed::nothing();
        exposed.map().insert(memory.as_ptr() as u64, memory);
        exposed
    }

    /// The one memory that is exposed, if there is one.
    pub(crate) fn only(&self) -> ExposedBytes {
        let only = self.map().values().next().map(WindowMemory::bytes);
        only.unwrap_or(ExposedBytes(Span::nothing()))
    }

    pub(crate) fn map(&self) -> MutexGuard<'_, BTreeMap<u64, WindowMemory<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no other window exposes any of the memory.
    pub(crate) fn is_only(&self) -> bool {
        self.map().values().all(WindowMemory::is_only)
    }

    /// Returns the memory, which no rank accesses through the window any more.
    pub(crate) fn take(self) -> Vec<WindowMemory<T>> {
        let map = ManuallyDrop::into_inner(self.0).into_inner();
        map.unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}

impl<T: Pod, M: Into<Memory<T>>> From<M> for WindowMemory<T> {
    fn from(memory: M) -> Self {
        let memory = Arc::new(memory.into());
        WindowMemory { start: 0, len: memory.len, memory }
    }
}
