//! The arguments from C: addresses, texts and arrays, as types that only a call from C can create.
//!
//! Each is as large as its pointer and has no constructor. So every value comes from a C program, which
//! promises what the standard demands of the parameter:
//! 1. A pointer that is not null points to one value, or to the number that other arguments give. They
//!    can be read, and written unless the parameter is `const`, until the call returns.
//! 2. A text ends with a null character; a buffer for a text has the size that the standard demands.
//! 3. The buffer of a communication, or of the result of a nonblocking call, is valid until the
//!    standard allows its reuse. Meanwhile it is accessed only as the standard allows.
//!
//! Null pointers are errors here.
#![allow(unsafe_code, reason = "takes the C program's word for its pointers")]

use crate::abi::{self, Aint, Count};
use crate::datatype::NumberKind;
use crate::failure::{Failure, Outcome};
use crate::form;
use crate::text;
use onesided::CommittedDatatype;
use onesided::engine::{ExposedBytes, Origin, OriginMut};
use std::alloc::Layout;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};

/// The size of the first page: lower addresses are no buffers.
const PAGE: usize = 4096;

/// `T *`, of one value or of an array.
#[repr(transparent)]
pub struct Ptr<T>(*mut T);

/// `const T *`, of one value or of an array.
#[repr(transparent)]
pub struct ConstPtr<T>(*const T);

/// `void *` and `const void *`, and other addresses.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Address(*mut c_void);

/// `const char *`
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

/// `char *`: a buffer for a text.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct TextBuffer(*mut c_char);

/// A function of the C program.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(usize);

// SAFETY: an address is a number until it is used.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ptr<T> {}
impl<T> Clone for ConstPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ConstPtr<T> {}

fn null() -> Failure {
    Failure::new(abi::MPI_ERR_ARG, "a pointer is null where a value is needed")
}

impl<T: Copy> Ptr<T> {
    /// The address, for the few constants that are no address.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns an error for a null pointer.
    #[inline]
    pub fn given(self) -> Outcome {
        if self.is_null() { Err(null()) } else { Ok(()) }
    }

    /// Returns an error for a null pointer to an array of `count` elements, unless it has none. A call
    /// with several arrays asks for each before it writes one: a refused call changes nothing.
    pub fn given_for(self, count: usize) -> Outcome {
        if count == 0 { Ok(()) } else { self.given() }
    }

    /// The address, for a call that writes the value when it completes.
    pub fn later(self) -> Address {
        Address(self.0.cast())
    }

    /// Writes the value.
    pub fn set(self, value: T) -> Outcome {
        self.set_at(0, value)
    }

    /// Writes the value, unless the program does not ask for it.
    pub fn offer(self, value: T) -> Outcome {
        if self.is_null() { Ok(()) } else { self.set(value) }
    }

    /// Writes element `k` of an array that has it.
    pub fn set_at(self, k: usize, value: T) -> Outcome {
        if self.is_null() {
            return Err(null());
        }
        // SAFETY: promise 1. C's values need not be aligned as Rust's would.
        unsafe { self.0.wrapping_add(k).write_unaligned(value) };
        Ok(())
    }

    /// Reads the value.
    pub fn get(self) -> Outcome<T> {
        self.get_at(0)
    }

    /// Reads element `k` of an array that has it.
    pub fn get_at(self, k: usize) -> Outcome<T> {
        if self.is_null() {
            return Err(null());
        }
        // SAFETY: promise 1.
        Ok(unsafe { self.0.wrapping_add(k).read_unaligned() })
    }

    /// Writes an array, from its beginning on.
    pub fn set_all(self, values: impl IntoIterator<Item = T>) -> Outcome {
        values.into_iter().enumerate().try_for_each(|(k, value)| self.set_at(k, value))
    }

    /// Reads an array of that many elements.
    pub fn list(self, count: usize) -> Outcome<Vec<T>> {
        self.read_only().list(count)
    }

    /// The same, not to be written.
    pub fn read_only(self) -> ConstPtr<T> {
        ConstPtr(self.0.cast_const())
    }
}

impl<T: Copy + Default> Ptr<T> {
    /// The value, for a message.
    pub fn peek(self) -> T {
        self.get().unwrap_or_default()
    }
}

impl<T: Copy> ConstPtr<T> {
    /// The address, for the few constants that are no address.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// Reads element `k` of an array that has it.
    pub fn get_at(self, k: usize) -> Outcome<T> {
        Ptr(self.0.cast_mut()).get_at(k)
    }

    /// Reads an array of that many elements, which has to fit in the address space.
    pub fn list(self, count: usize) -> Outcome<Vec<T>> {
        if Layout::array::<T>(count).is_err() {
            return Err(Failure::new(abi::MPI_ERR_COUNT, format!("no array has {count} elements")));
        }
        (0..count).map(|k| self.get_at(k)).collect()
    }
}

impl Address {
    pub const NULL: Address = Address(std::ptr::null_mut());

    /// The address in an attribute or window, for C.
    pub fn of<T>(place: *const T) -> Address {
        Address(place.cast_mut().cast())
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns an error for a null pointer.
    pub fn given(self) -> Outcome {
        self.place::<u8>().given()
    }

    /// `MPI_IN_PLACE`
    pub fn is_in_place(self) -> bool {
        self.value() == abi::MPI_IN_PLACE
    }

    pub fn value(self) -> usize {
        self.0 as usize
    }

    /// Whether it may be the address of a buffer: it is above the first page, which is never mapped, and no
    /// constant of the ABI.
    #[inline(always)]
    pub fn is_memory(self) -> bool {
        (PAGE..=form::LAST_ADDRESS).contains(&self.value())
    }

    /// The address `bytes` bytes further on.
    pub fn offset(self, bytes: isize) -> Address {
        Address(self.0.wrapping_byte_offset(bytes))
    }

    pub fn bytes(self) -> *mut u8 {
        self.0.cast()
    }

    /// A pointer to a `T` that the standard declares as `void *`.
    pub fn place<T>(self) -> Ptr<T> {
        Ptr(self.0.cast())
    }

    /// The buffer of a communication that reads it.
    #[inline]
    pub fn origin<'d>(self, count: usize, datatype: &'d CommittedDatatype) -> Origin<'d> {
        // SAFETY: 1. and 2.: promise 3.
        unsafe { Origin::lasting(self.0.cast_const().cast(), count, datatype) }
    }

    /// The buffer of a communication that writes it.
    #[inline]
    pub fn origin_mut<'d>(self, count: usize, datatype: &'d CommittedDatatype) -> OriginMut<'d> {
        // SAFETY: 1. and 2.: promise 3; C has no memory that may not be read.
        unsafe { OriginMut::lasting(self.0.cast(), count, datatype) }
    }

    /// `bytes` bytes there, as memory of a window.
    pub fn exposed(self, bytes: u64) -> ExposedBytes {
        // SAFETY: 1. promise 3: the memory of a window is valid until the window is freed or the memory detached.
        // 2. C has no references of Rust.
        unsafe { ExposedBytes::new(self.bytes(), bytes) }
    }

    /// `bytes` bytes there, which are not written until the call returns.
    pub fn slice<'c>(self, bytes: usize) -> Outcome<&'c [u8]> {
        match (bytes, self.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(null()),
            // SAFETY: promises 1 and 3.
            _ => Ok(unsafe { std::slice::from_raw_parts(self.bytes(), bytes) }),
        }
    }

    /// [`Address::slice`] of bytes that nothing else accesses until the call returns.
    pub fn slice_mut<'c>(self, bytes: usize) -> Outcome<&'c mut [u8]> {
        match (bytes, self.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(null()),
            // SAFETY: promises 1 and 3.
            _ => Ok(unsafe { std::slice::from_raw_parts_mut(self.bytes(), bytes) }),
        }
    }

    /// The bytes there.
    pub fn read(self, bytes: usize) -> Outcome<Vec<u8>> {
        self.place::<u8>().list(bytes)
    }
}

impl Text {
    /// The text in the library's form ([`text`]).
    pub fn read(self) -> Outcome<String> {
        Ok(text::of_bytes(&self.bytes()?))
    }

    /// The bytes without the null character after them.
    pub fn bytes(self) -> Outcome<Vec<u8>> {
        if self.0.is_null() {
            return Err(null());
        }
        // SAFETY: promises 1 and 2.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes().to_vec())
    }
}

impl TextBuffer {
    /// Gives a text as the tool interface does (MPI-4.1 §15.3.3): `length` is the space, and becomes the number of
    /// bytes with the null character. A program that does not ask for one of them passes null.
    pub fn offer(self, text: &str, length: Ptr<c_int>) -> Outcome {
        if length.is_null() {
            return Ok(());
        }
        let space = usize::try_from(length.get()?).unwrap_or_default();
        if !self.0.is_null() {
            self.write(text, space)?;
        }
        length.set(text.len() as c_int + 1)
    }

    /// Writes the bytes of `text` that fit into `space` bytes with a null character; returns their number
    /// without the null character.
    pub fn write(self, text: &str, space: usize) -> Outcome<c_int> {
        let mut bytes = text::bytes_of(text);
        bytes.truncate(space.saturating_sub(1));
        let end = bytes.len();
        let place = Address(self.0.cast()).place::<u8>();
        if space != 0 {
            place.set_all(bytes.into_iter().chain([0]))?;
        }
        Ok(end as c_int)
    }
}

impl Function {
    pub fn address(self) -> usize {
        self.0
    }
}

/// A count or displacement in C: `int`, or the wider type of a large-count function.
pub trait Number: Copy + Display + 'static {
    /// The kind of the type.
    const KIND: NumberKind;
    fn wide(self) -> i64;
    /// The number as this type, if it can hold it.
    fn narrow(value: i64) -> Option<Self>;
}

impl Number for c_int {
    const KIND: NumberKind = NumberKind::Integer;
    fn wide(self) -> i64 {
        self.into()
    }
    fn narrow(value: i64) -> Option<Self> {
        value.try_into().ok()
    }
}

impl Number for Count {
    const KIND: NumberKind = NumberKind::LargeCount;
    fn wide(self) -> i64 {
        self
    }
    fn narrow(value: i64) -> Option<Self> {
        Some(value)
    }
}

impl Number for Aint {
    const KIND: NumberKind = NumberKind::Address;
    fn wide(self) -> i64 {
        self as i64
    }
    fn narrow(value: i64) -> Option<Self> {
        Some(value as isize)
    }
}

/// Arguments in messages.
impl<T> Display for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0 as usize)
    }
}

impl<T> Display for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0 as usize)
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            abi::MPI_IN_PLACE => f.write_str("MPI_IN_PLACE"),
            address => write!(f, "{address:#x}"),
        }
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.read() {
            Ok(text) => f.write_str(&text::quoted(&text)),
            Err(_) => f.write_str("NULL"),
        }
    }
}

impl Display for TextBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0 as usize)
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
