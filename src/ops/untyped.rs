//! The operations for callers who know the datatype only at run time, such as a C interface.
#![allow(unsafe_code, reason = "turns the caller's address and count into a slice")]

use crate::call::Call;
use crate::datatype::{Datatype, Element, Visitor};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::window::Win;

/// An origin buffer that is read: address, number of elements, datatype.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    start: *const u8,
    count: usize,
    datatype: Datatype,
}

/// An origin buffer that is written.
#[derive(Debug)]
pub struct OriginMut {
    start: *mut u8,
    count: usize,
    datatype: Datatype,
}

impl Origin {
    /// `count` elements of `datatype` at `start`.
    ///
    /// # Safety
    /// 1. Unless `count` is 0, `start` is valid for reads of `count` elements, aligned to the element's Rust type,
    ///    until the value returned is used for the last time.
    /// 2. Nobody writes them until then.
    pub unsafe fn new(start: *const u8, count: usize, datatype: Datatype) -> Origin {
        Origin { start, count, datatype }
    }

    /// The buffer as elements.
    fn slice<E: Element>(&self) -> &[E] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: obligations 1 and 2 of `new`; `E` is the type of `datatype` (`Datatype::visit`).
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.count) }
    }
}

impl OriginMut {
    /// `count` elements of `datatype` at `start`.
    ///
    /// # Safety
    /// 1. Unless `count` is 0, `start` is valid for reads and writes of `count` initialised elements, aligned to the
    ///    element's Rust type, until the value returned is used for the last time.
    /// 2. Nobody else accesses them until then.
    pub unsafe fn new(start: *mut u8, count: usize, datatype: Datatype) -> OriginMut {
        OriginMut { start, count, datatype }
    }

    /// The buffer as elements.
    fn slice<E: Element>(&mut self) -> &mut [E] {
        if self.count == 0 {
            return &mut [];
        }
        // SAFETY: obligations 1 and 2 of `new`; `E` is the type of `datatype` (`Datatype::visit`).
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.count) }
    }
}

/// Calls a method of the window with the buffers as slices of the datatype's type.
struct With<'a, F> {
    win: &'a Win,
    buffers: F,
    target: Rank,
    disp: u64,
}

struct Put(Origin);
struct Get(OriginMut);
struct Accumulate(Origin, Op);
struct GetAccumulate(Origin, OriginMut, Op);

impl Visitor for With<'_, Put> {
    type Output = Result<()>;
    fn visit<E: Element>(self) -> Result<()> {
        self.win.put(self.buffers.0.slice::<E>(), self.target, self.disp)
    }
}

impl Visitor for With<'_, Get> {
    type Output = Result<()>;
    fn visit<E: Element>(mut self) -> Result<()> {
        self.win.get(self.buffers.0.slice::<E>(), self.target, self.disp)
    }
}

impl Visitor for With<'_, Accumulate> {
    type Output = Result<()>;
    fn visit<E: Element>(self) -> Result<()> {
        let Accumulate(origin, op) = self.buffers;
        self.win.accumulate(origin.slice::<E>(), op, self.target, self.disp)
    }
}

impl Visitor for With<'_, GetAccumulate> {
    type Output = Result<()>;
    fn visit<E: Element>(self) -> Result<()> {
        let GetAccumulate(origin, mut result, op) = self.buffers;
        let (win, target, disp) = (self.win, self.target, self.disp);
        let origin = if op == Op::NoOp { &[] } else { origin.slice::<E>() };
        win.get_accumulate(origin, result.slice::<E>(), op, target, disp)
    }
}

impl Win {
    /// [`Win::put`] of an untyped buffer.
    ///
    /// # Errors
    /// As [`Win::put`].
    pub fn put_untyped(&self, origin: Origin, target: Rank, disp: u64) -> Result<()> {
        let datatype = origin.datatype;
        datatype.visit(With { win: self, buffers: Put(origin), target, disp })
    }

    /// [`Win::get`] into an untyped buffer.
    ///
    /// # Errors
    /// As [`Win::get`].
    pub fn get_untyped(&self, origin: OriginMut, target: Rank, disp: u64) -> Result<()> {
        let datatype = origin.datatype;
        datatype.visit(With { win: self, buffers: Get(origin), target, disp })
    }

    /// [`Win::accumulate`] of an untyped buffer.
    ///
    /// # Errors
    /// As [`Win::accumulate`].
    pub fn accumulate_untyped(
        &self,
        origin: Origin,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let datatype = origin.datatype;
        datatype.visit(With { win: self, buffers: Accumulate(origin, op), target, disp })
    }

    /// [`Win::get_accumulate`] of untyped buffers.
    ///
    /// # Errors
    /// As [`Win::get_accumulate`], and [`Error::Datatype`] if the buffers' datatypes differ.
    pub fn get_accumulate_untyped(
        &self,
        origin: Origin,
        result: OriginMut,
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Result<()> {
        let datatype = result.datatype;
        if datatype != origin.datatype && op != Op::NoOp {
            let why = "origin and result must have the same predefined datatype";
            let at = self.place(Call::GetAccumulate);
            return Err(Error::Datatype { at, datatype: origin.datatype.name(), why });
        }
        let buffers = GetAccumulate(origin, result, op);
        datatype.visit(With { win: self, buffers, target, disp })
    }
}
