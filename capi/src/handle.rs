//! Handles, which stand for objects in C.
//!
//! A handle that is not predefined is a number of three parts: the kind of the object, the number of uses
//! of its slot, and the index of the slot in the table of that kind; [`form`] has their widths. In the
//! standard ABI the index is also the handle as an integer (`MPI_Comm_toint`). A handle is never an address,
//! so no value from a program is dereferenced. A handle of another kind, of a freed object, or an arbitrary
//! number is detected.
//!
//! 1. An object does not move between [`Table::insert`] and [`Table::remove`]; chunks of slots are never
//!    freed.
//! 2. A slot's `open` is [`NONE`] while it has no object, and otherwise the kind and the uses that a handle of the object
//!    has. It is stored after the object is written, and loaded before it is read.
//! 3. The C program does not free an object while another thread is in a call with it (MPI-4.1 §11.6.2:
//!    that is erroneous). So a reference from [`Table::get`] is valid during a call.
#![allow(unsafe_code, reason = "the tables lend objects without a lock; invariants 1 to 3")]
#![allow(clippy::disallowed_types, reason = "its words are of this process, not of the segment")]

use crate::abi::{PREDEFINED, constant_name};
use crate::failure::{Failure, Outcome};
use crate::form::{self, Width};
use onesided::engine::BiasedMutex;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fmt::{self, Display};
use std::iter;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// A handle of an object of type `T` in C.
#[repr(transparent)]
pub struct Handle<T: Width> {
    value: T::Word,
    kind: PhantomData<fn() -> T>,
}

/// The number that is a handle in C: `usize` or `u32`.
pub trait Word: Copy + Eq + 'static {
    fn wide(self) -> usize;
}

impl Word for usize {
    fn wide(self) -> usize {
        self
    }
}

impl Word for u32 {
    fn wide(self) -> usize {
        self as usize
    }
}

/// A number as one of the two types.
union Bits<W: Copy> {
    wide: usize,
    narrow: u32,
    word: W,
}

const PLACES: usize = (1 << form::PLACE_BITS) - 1;
const USES: u32 = (1 << form::USES_BITS) - 1;
/// More than the uses of any handle.
const NONE: usize = usize::MAX;

/// A type with handles.
pub trait Object: Sized + Send + Sync + Width + 'static {
    /// The name of the handle's type in C.
    const NAME: &'static str;
    /// The null handle.
    const NULL: usize;
    /// The error class of an invalid handle.
    const CLASS: c_int;
    /// A small number, unique to this kind.
    const KIND: usize;
    /// Whether some handles are predefined.
    const HAS_PREDEFINED: bool = true;

    fn table() -> &'static Table<Self>;

    /// The object's name, for a message.
    fn label(&self) -> Option<String> {
        None
    }

    /// What a message has of an object without a name.
    fn description(&self) -> Option<String> {
        None
    }

    /// The object of a predefined handle.
    fn predefined(_value: usize) -> Option<&'static Self> {
        None
    }
}

impl<T: Width> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Width> Copy for Handle<T> {}
impl<T: Width> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl<T: Width> Eq for Handle<T> {}

impl<T: Object> Default for Handle<T> {
    fn default() -> Self {
        Handle::NULL
    }
}

impl<T: Object> Handle<T> {
    pub const NULL: Handle<T> = Handle::predefined(T::NULL);

    /// A predefined handle.
    pub const fn predefined(value: usize) -> Handle<T> {
        Handle::of(value)
    }

    const fn of(value: usize) -> Handle<T> {
        let bits = match size_of::<T::Word>() {
            4 => Bits { narrow: value as u32 },
            _ => Bits { wide: value },
        };
        // SAFETY: the word is one of the two numbers, by its size, and any bits are one.
        Handle { value: unsafe { bits.word }, kind: PhantomData }
    }

    #[inline(always)]
    pub fn value(self) -> usize {
        self.value.wide()
    }

    /// Whether it is a number of none that this library makes.
    #[inline(always)]
    pub fn is_predefined(self) -> bool {
        (self.place().1 ^ Self::KIND) > USES as usize
    }

    /// The object.
    #[inline(always)]
    pub fn get(self) -> Outcome<&'static T> {
        self.find().ok_or_else(|| self.wrong())
    }

    /// [`Handle::get`] without an error, for a caller that finds the error later.
    #[inline(always)]
    pub fn find(self) -> Option<&'static T> {
        match T::HAS_PREDEFINED && self.is_predefined() {
            false => self.find_made(),
            true => T::predefined(self.value()),
        }
    }

    /// The object of a handle that this library has made.
    #[inline(always)]
    pub fn find_made(self) -> Option<&'static T> {
        let (place, key) = self.place();
        T::table().get(place, key)
    }

    /// The object of a slot's first use.
    pub fn first(place: u32) -> Option<&'static T> {
        T::table().get(place, Self::KIND | 1)
    }

    /// A new handle of an object.
    pub fn new(object: T) -> Handle<T> {
        Handle::of_made(|| object)
    }

    /// A new handle of an object that `make` makes in its place of the table: a copy of words that have just been stored
    /// would wait for them, and for all stores before.
    #[inline(always)]
    pub fn of_made(make: impl FnOnce() -> T) -> Handle<T> {
        let (place, key) = T::table().insert(Self::KIND, make);
        Handle::at(place, key)
    }

    fn at(place: u32, key: usize) -> Handle<T> {
        Handle::of(key << form::PLACE_BITS | (place as usize + form::FIRST))
    }

    /// Removes the object; the handle is invalid from now on.
    pub fn remove(self) -> Outcome<T> {
        self.remove_by(Option::take)
    }

    /// The same. The object is dropped in its place.
    #[inline(always)]
    pub fn end(self) -> Outcome {
        self.remove_by(|_| Some(()))
    }

    #[inline(always)]
    fn remove_by<R>(self, take: impl FnOnce(&mut Option<T>) -> Option<R>) -> Outcome<R> {
        let (place, key) = self.place();
        T::table().remove(place, key, take).ok_or_else(|| self.wrong())
    }

    /// The kind of such handles, above the uses.
    const KIND: usize = (form::MARK | T::KIND) << form::USES_BITS;

    /// Its index in the table, and the kind and the uses above it, which the slot must have.
    #[inline(always)]
    fn place(self) -> (u32, usize) {
        let value = self.value();
        // A place before the first one becomes one behind all others.
        let place = ((value & PLACES) as u32).wrapping_sub(form::FIRST as u32);
        (place, value >> form::PLACE_BITS)
    }

    #[cold]
    fn wrong(self) -> Failure {
        let value = self.value();
        let why = if value == T::NULL {
            format!("the {} is null", T::NAME)
        } else if !self.is_predefined() {
            format!("the {} {value:#x} has been freed", T::NAME)
        } else if PREDEFINED.iter().any(|(_, known, _)| *known == value) {
            format!("{value:#x} is no predefined {}, or the job has not begun or is over", T::NAME)
        } else {
            format!("{value:#x} is no {}", T::NAME)
        };
        Failure::new(T::CLASS, why)
    }

    /// The handle as an integer (MPI-5.0 §20.4).
    pub fn to_int(self) -> c_int {
        match form::IS_INT {
            true => self.value() as c_int,
            false => (self.value() & 0x7FFF_FFFF) as c_int,
        }
    }

    /// The handle of an integer; the null handle if it has no object.
    pub fn from_int(value: c_int) -> Handle<T> {
        if form::IS_INT {
            return Handle::of(value as u32 as usize);
        }
        let Ok(value) = usize::try_from(value) else { return Handle::NULL };
        let Some(place) = value.checked_sub(form::FIRST) else { return Handle::predefined(value) };
        let key = T::table().key(place as u32);
        key.map_or(Handle::NULL, |key| Handle::at(place as u32, key))
    }
}

impl<T: Object> Display for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = constant_name(T::NAME, self.value()) {
            return f.write_str(name);
        }
        let object = self.find();
        match object.and_then(T::label).filter(|name| !name.is_empty()) {
            Some(name) => write!(f, "{name:?}"),
            None => match object.and_then(T::description) {
                Some(description) => f.write_str(&description),
                None => write!(f, "{:#x}", self.value()),
            },
        }
    }
}

impl<T: Object> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self}", T::NAME)
    }
}

/// The objects of one kind.
pub struct Table<T> {
    /// Chunk k has 64 << k slots.
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: OnceLock<BiasedMutex<Free>>,
}

const CHUNKS: usize = 25;
/// The slots of the first chunk.
const FIRST_CHUNK: u32 = 64;

#[derive(Default)]
struct Free {
    /// Slots that were used and are free again.
    places: Vec<u32>,
    /// Slots from here on have never been used.
    fresh: u32,
}

struct Slot<T> {
    /// The kind and the uses that a handle of its object has (invariant 2).
    open: AtomicUsize,
    /// Odd while it has an object; grows by one with each insertion and removal.
    uses: AtomicU32,
    object: UnsafeCell<Option<T>>,
}

impl<T> Slot<T> {
    /// The object of a handle with that key.
    #[inline(always)]
    fn object(&self, key: usize) -> Option<&T> {
        // Observes the object, which `insert` has written (invariant 2).
        if self.open.load(Ordering::Acquire) != key {
            return None;
        }
        // SAFETY: the slot has an object, which is not written while it is used (invariant 3).
        let object = unsafe { &*self.object.get() };
        // SAFETY: it is not `None` (invariant 2).
        Some(unsafe { object.as_ref().unwrap_unchecked() })
    }
}

// SAFETY: objects are shared and moved between threads, which their type allows.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T> Table<T> {
    pub const fn new() -> Table<T> {
        let chunks = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
        Table { chunks, free: OnceLock::new() }
    }

    /// Biases the lock of a table without objects to this thread, if `is_biased`.
    pub fn prefer(&self, is_biased: bool) {
        self.free.get_or_init(|| BiasedMutex::new(Free::default(), is_biased));
    }

    #[inline(always)]
    fn free(&self) -> &BiasedMutex<Free> {
        self.free.get_or_init(|| BiasedMutex::new(Free::default(), false))
    }

    /// The slot at an index, if its chunk exists.
    #[inline(always)]
    fn slot(&self, place: u32) -> Option<&Slot<T>> {
        let (chunk, k) = position(place);
        self.slot_of(chunk, k)
    }

    #[inline(always)]
    fn slot_of(&self, chunk: usize, k: usize) -> Option<&Slot<T>> {
        // Observes the chunk's slots, which `insert` has initialised.
        let start = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if start.is_null() {
            return None;
        }
        // SAFETY: a chunk that is not null has 64 << chunk slots (invariant 1), and `k` is below that.
        let slot = unsafe { start.add(k) };
        // SAFETY: as above; they are initialised, and no reference to one is exclusive.
        Some(unsafe { &*slot })
    }

    /// The object of a handle, mostly in the first chunk.
    #[inline(always)]
    fn get(&self, place: u32, key: usize) -> Option<&T> {
        match place < FIRST_CHUNK {
            true => self.slot_of(0, place as usize)?.object(key),
            // Not by a call, for which all callers would save their registers.
            false => self.slot(place)?.object(key),
        }
    }

    /// What a slot with an object has in its handle.
    fn key(&self, place: u32) -> Option<usize> {
        let key = self.slot(place)?.open.load(Ordering::Acquire);
        (key != NONE).then_some(key)
    }

    #[inline(always)]
    fn insert(&self, kind: usize, make: impl FnOnce() -> T) -> (u32, usize) {
        let (place, slot) = self.reserve();
        // SAFETY: the slot has no object, so it is not read, and nothing is lost by a write without a drop; no other
        // thread writes it, because it is neither free nor fresh any more.
        unsafe { slot.object.get().write(Some(make())) };
        let uses = slot.uses.load(Ordering::Relaxed) + 1;
        slot.uses.store(uses, Ordering::Relaxed);
        let key = kind | (uses & USES) as usize;
        // Publishes the object to `get` (invariant 2).
        slot.open.store(key, Ordering::Release);
        (place, key)
    }

    /// A slot without an object, which is neither free nor fresh from now on.
    #[inline(always)]
    fn reserve(&self) -> (u32, &Slot<T>) {
        let place = self.free().with(|free| free.places.pop());
        place.and_then(|place| Some((place, self.slot(place)?))).unwrap_or_else(|| self.extend())
    }

    /// A slot that has never been used.
    #[cold]
    fn extend(&self) -> (u32, &Slot<T>) {
        let place = self.free().with(|free| {
            let place = free.fresh;
            assert!((place as usize) < PLACES - form::FIRST, "a process has fewer handles");
            let (chunk, _) = position(place);
            let start = self.chunks.get(chunk).expect("a process has fewer handles");
            if start.load(Ordering::Relaxed).is_null() {
                let new = || Slot {
                    open: AtomicUsize::new(NONE),
                    uses: AtomicU32::new(0),
                    object: UnsafeCell::new(None),
                };
                let slots: Box<[Slot<T>]> = iter::repeat_with(new).take(64 << chunk).collect();
                // Publishes the slots to `slot`.
                start.store(Box::leak(slots).as_mut_ptr(), Ordering::Release);
            }
            free.fresh += 1;
            place
        });
        (place, self.slot(place).expect("the chunk is there now"))
    }

    /// Removes an object by `take`; what that leaves is dropped in its place. Neither `take` nor the drop may use the table.
    #[inline(always)]
    fn remove<R>(
        &self,
        place: u32,
        key: usize,
        take: impl FnOnce(&mut Option<T>) -> Option<R>,
    ) -> Option<R> {
        let slot = self.slot(place)?;
        self.free().with(|free| {
            self.get(place, key)?;
            let uses = slot.uses.load(Ordering::Relaxed) + 1;
            slot.uses.store(uses, Ordering::Relaxed);
            slot.open.store(NONE, Ordering::Release);
            // SAFETY: no thread is in a call with the object (invariant 3), and none can find it any more.
            let object = unsafe { &mut *slot.object.get() };
            let taken = take(object);
            *object = None;
            if uses < form::MOST_USES {
                free.places.push(place);
            }
            taken
        })
    }

    /// Calls `look` with every object; it does not use the table.
    pub fn each(&self, look: impl FnMut(&T)) {
        // No thread removes an object meanwhile.
        let there = |place| self.get(place, self.key(place)?);
        self.free().with(|free| (0..free.fresh).filter_map(there).for_each(look));
    }

    /// Removes all objects at the end of the job.
    pub fn clear(&self) -> Vec<T> {
        let fresh = self.free().with(|free| free.fresh);
        let remove = |place| self.remove(place, self.key(place)?, Option::take);
        let objects = (0..fresh).filter_map(remove);
        objects.collect()
    }
}

/// The chunk of an index, and the index within it.
fn position(place: u32) -> (usize, usize) {
    let first = u64::from(FIRST_CHUNK);
    let shifted = u64::from(place) + first;
    let chunk = (shifted / first).ilog2();
    (chunk as usize, (shifted - (first << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: usize = 5 << form::USES_BITS;

    #[test]
    fn places_fill_the_chunks_one_after_the_other() {
        let mut expected = (0..5).flat_map(|chunk| (0..64usize << chunk).map(move |k| (chunk, k)));
        for place in 0..64 * 31 {
            assert_eq!(Some(position(place)), expected.next());
        }
    }

    #[test]
    fn an_object_is_found_until_it_is_removed() {
        let table: Table<u32> = Table::new();
        let places: Vec<_> = (0..1000).map(|k| table.insert(KIND, || k)).collect();
        for (k, (place, key)) in places.iter().enumerate() {
            assert_eq!(table.get(*place, *key), Some(&(k as u32)));
        }
        let (place, key) = places[500];
        assert_eq!(table.remove(place, key, Option::take), Some(500));
        assert_eq!((table.get(place, key), table.remove(place, key, Option::take)), (None, None));
        let again = table.insert(KIND, || 7);
        assert_eq!((again.0, again.1), (place, key + 2));
        assert_eq!((table.get(place, key), table.get(again.0, again.1)), (None, Some(&7)));
        assert_eq!(table.clear().len(), 1000);
    }

    #[test]
    fn a_handle_is_never_that_of_an_earlier_object() {
        let table: Table<u32> = Table::new();
        let (place, first) = table.insert(KIND, || 1);
        assert_eq!(table.remove(place, first, Option::take), Some(1));
        // As after the largest number of uses that can be distinguished.
        table.slot(place).unwrap().uses.store(form::MOST_USES - 2, Ordering::Relaxed);
        let last = KIND | ((form::MOST_USES - 1) & USES) as usize;
        assert_eq!(table.insert(KIND, || 2), (place, last));
        assert_eq!(table.remove(place, last, Option::take), Some(2));
        let (other, _) = table.insert(KIND, || 3);
        assert_ne!(other, place);
        assert_eq!(table.get(place, first), None);
    }
}
