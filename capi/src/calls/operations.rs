//! Put, get and the accumulates (MPI-4.1 §12.3), with and without a request.
//!
//! Each function only collects C's arguments. `PMPI_…` calls `try_run` of the result inline. If that has
//! changed nothing, it calls `run` out of line (`build.rs`). So the fast path needs no stack space for
//! errors, and no argument a place in memory.

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::comm::rank_of;
use crate::datatype::{known, usable};
use crate::failure::{Failure, Outcome};
use crate::op::{COMBINED, Operation};
use crate::request::Request;
use onesided::engine::{Layout, Origin, OriginMut, Transfer, Update, Win};
use onesided::{CommittedDatatype, Flavour, Op, Rank};
use std::ffi::c_int;

/// A count of elements.
#[inline]
pub(crate) fn elements<C: Number>(count: C) -> Outcome<usize> {
    usize::try_from(count.wide()).map_err(|_| negative(MPI_ERR_COUNT, "count", count.wide()))
}

#[cold]
fn negative(code: c_int, what: &str, value: i64) -> Failure {
    Failure::new(code, format!("the {what} {value} is negative"))
}

/// A buffer of this rank.
#[derive(Clone, Copy)]
struct Own<C>(Address, C, MPI_Datatype);

/// The target's side.
#[derive(Clone, Copy)]
struct At<C> {
    win: MPI_Win,
    rank: c_int,
    disp: Aint,
    count: C,
    datatype: MPI_Datatype,
}

/// Arguments that the fast path accepts. A negative rank or displacement becomes larger than any valid one.
struct Usual {
    win: &'static Win,
    rank: Rank,
    disp: u64,
    count: usize,
    datatype: &'static CommittedDatatype,
    /// The kind of the elements.
    kind: u16,
}

/// Arguments that have been checked: window, target, displacement and layout there.
type Checked = (&'static Win, Rank, u64, Layout<'static>);

impl<C: Number> At<C> {
    /// With these buffers, if all is usual.
    #[inline(always)]
    fn usual<const N: usize>(self, own: [Own<C>; N]) -> Option<Usual> {
        let (window, (datatype, kind)) = (self.win.find()?, known(self.datatype)?);
        let count = usize::try_from(self.count.wide()).ok()?;
        let is_usual = |Own(start, count, datatype): Own<C>| {
            start.is_memory() && count.wide() == self.count.wide() && datatype == self.datatype
        };
        let (win, rank, disp) = (&window.win, Rank(self.rank as u32), self.disp as u64);
        let usual = Usual { win, rank, disp, count, datatype, kind };
        if own.into_iter().all(is_usual) { Some(usual) } else { None }
    }

    fn checked(self) -> Outcome<Checked> {
        let At { win, rank, disp, count, datatype } = self;
        let win = &win.get()?.win;
        let rank = rank_of(rank, win.comm().size())?;
        let layout = Layout::new(elements(count)?, usable(datatype)?);
        if disp < 0 && rank != Rank::NULL && win.flavour() != Flavour::Dynamic {
            return Err(negative(MPI_ERR_DISP, "displacement", disp as i64));
        }
        Ok((win, rank, disp as u64, layout))
    }

    /// Returns the request of an operation, which is complete at the origin, to the program.
    fn requested(
        self,
        operation: onesided::Request<'static>,
        request: Ptr<MPI_Request>,
    ) -> Outcome {
        #[cfg(node)]
        return crate::host::request(operation, request);
        #[cfg(not(node))]
        request.set(Request::of_operation(self.win, operation))
    }
}

impl<C: Number> Own<C> {
    /// Checked, of an operation that reads it.
    fn origin(self) -> Outcome<Origin<'static>> {
        let Own(start, count, datatype) = self;
        let (count, datatype) = (elements(count)?, usable(datatype)?);
        check_buffer(start, count, datatype)?;
        Ok(start.origin(count, datatype))
    }

    /// Checked, of an operation that writes it.
    fn origin_mut(self) -> Outcome<OriginMut<'static>> {
        let Own(start, count, datatype) = self;
        let (count, datatype) = (elements(count)?, usable(datatype)?);
        check_buffer(start, count, datatype)?;
        Ok(start.origin_mut(count, datatype))
    }
}

/// Refuses an address that is no valid buffer of that many elements.
#[inline]
pub(crate) fn check_buffer(start: Address, count: usize, datatype: &CommittedDatatype) -> Outcome {
    let from_start = || datatype.range(1).is_some_and(|range| range == (0..range.end));
    if !start.is_memory() && count != 0 && (start.is_in_place() || from_start()) {
        return if datatype.bytes(1) == Some(0) { Ok(()) } else { Err(no_buffer(start)) };
    }
    Ok(())
}

#[cold]
pub(super) fn no_buffer(start: Address) -> Failure {
    Failure::new(MPI_ERR_BUFFER, format!("{start} is no address of a buffer"))
}

/// The arguments of a put.
#[derive(Clone, Copy)]
pub struct Put<C> {
    own: Own<C>,
    at: At<C>,
}

/// `MPI_Put` and `MPI_Rput`
#[inline(always)]
pub fn put<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> Put<C> {
    let own = Own(origin_addr, origin_count, origin_datatype);
    let (rank, disp, count, datatype) = (target_rank, target_disp, target_count, target_datatype);
    Put { own, at: At { win, rank, disp, count, datatype } }
}

impl<C: Number> Put<C> {
    /// The transfer that the fast path tries.
    #[inline(always)]
    fn usual(self) -> Option<(&'static Win, Transfer<'static>)> {
        let Usual { win, rank, disp, count, datatype, .. } = self.at.usual([self.own])?;
        let origin = self.own.0.origin(count, datatype);
        Some((win, Transfer::put_layout(origin, rank, disp, origin.layout())))
    }

    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.usual().is_some_and(|(win, transfer)| win.try_transfer(&transfer))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let ((win, rank, disp, layout), origin) = (self.at.checked()?, self.own.origin()?);
        Ok(win.put_layout(origin, rank, disp, layout)?)
    }

    /// The same of the form with a request, after the fast path.
    pub fn run_requested(self, request: Ptr<MPI_Request>) -> Outcome {
        if let Some(done) = self.usual().and_then(|(win, usual)| win.try_requested(usual)) {
            return self.at.requested(done, request);
        }
        let ((win, rank, disp, layout), origin) = (self.at.checked()?, self.own.origin()?);
        self.at.requested(win.rput_layout(origin, rank, disp, layout)?, request)
    }
}

/// The arguments of a get.
#[derive(Clone, Copy)]
pub struct Get<C> {
    own: Own<C>,
    at: At<C>,
}

/// `MPI_Get` and `MPI_Rget`
#[inline(always)]
pub fn get<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> Get<C> {
    let own = Own(origin_addr, origin_count, origin_datatype);
    let (rank, disp, count, datatype) = (target_rank, target_disp, target_count, target_datatype);
    Get { own, at: At { win, rank, disp, count, datatype } }
}

impl<C: Number> Get<C> {
    /// The transfer that the fast path tries.
    #[inline(always)]
    fn usual(self) -> Option<(&'static Win, Transfer<'static>)> {
        let Usual { win, rank, disp, count, datatype, .. } = self.at.usual([self.own])?;
        let origin = self.own.0.origin_mut(count, datatype);
        let layout = origin.layout();
        Some((win, Transfer::get_layout(origin, rank, disp, layout)))
    }

    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.usual().is_some_and(|(win, transfer)| win.try_transfer(&transfer))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let ((win, rank, disp, layout), origin) = (self.at.checked()?, self.own.origin_mut()?);
        Ok(win.get_layout(origin, rank, disp, layout)?)
    }

    /// The same of the form with a request, after the fast path.
    pub fn run_requested(self, request: Ptr<MPI_Request>) -> Outcome {
        if let Some(done) = self.usual().and_then(|(win, usual)| win.try_requested(usual)) {
            return self.at.requested(done, request);
        }
        let ((win, rank, disp, layout), origin) = (self.at.checked()?, self.own.origin_mut()?);
        self.at.requested(win.rget_layout(origin, rank, disp, layout)?, request)
    }
}

/// The arguments of an accumulate that fetches nothing.
#[derive(Clone, Copy)]
pub struct Accumulate<C> {
    own: Own<C>,
    op: MPI_Op,
    at: At<C>,
}

/// `MPI_Accumulate` and `MPI_Raccumulate`
#[inline(always)]
pub fn accumulate<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> Accumulate<C> {
    let own = Own(origin_addr, origin_count, origin_datatype);
    let (rank, disp, count, datatype) = (target_rank, target_disp, target_count, target_datatype);
    Accumulate { own, op, at: At { win, rank, disp, count, datatype } }
}

impl<C: Number> Accumulate<C> {
    fn checked(self) -> Outcome<(Origin<'static>, Op, Checked)> {
        let (Accumulate { own, op, at }, checked) = (self, self.at.checked()?);
        let op = op.get()?.of_accumulate((at.datatype, elements(at.count)?), &[own.2], false)?;
        Ok((own.origin()?, op, checked))
    }

    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.usual().is_some_and(|(win, update)| win.try_update(&update))
    }

    /// The update, if its arguments are such as most calls have.
    #[inline(always)]
    fn usual(self) -> Option<(&'static Win, Update<'static>)> {
        let Usual { win, rank, disp, count, datatype, kind } = self.at.usual([self.own])?;
        let op = Operation::known(self.op, kind | COMBINED)?;
        let origin = self.own.0.origin(count, datatype);
        Some((win, Update::accumulate(origin, op, rank, disp, origin.layout())))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        if self.usual().is_some_and(|(win, update)| win.try_update_checked(&update)) {
            return Ok(());
        }
        let (origin, op, (win, rank, disp, layout)) = self.checked()?;
        Ok(win.accumulate_layout(origin, op, rank, disp, layout)?)
    }

    /// The same of the form with a request.
    pub fn run_requested(self, request: Ptr<MPI_Request>) -> Outcome {
        let (origin, op, (win, rank, disp, layout)) = self.checked()?;
        self.at.requested(win.raccumulate_layout(origin, op, rank, disp, layout)?, request)
    }
}

/// The arguments of a get_accumulate.
#[derive(Clone, Copy)]
pub struct GetAccumulate<C> {
    own: Own<C>,
    result: Own<C>,
    op: MPI_Op,
    at: At<C>,
}

/// `MPI_Get_accumulate` and `MPI_Rget_accumulate`
#[inline(always)]
pub fn get_accumulate<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    result_addr: Address,
    result_count: C,
    result_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> GetAccumulate<C> {
    let own = Own(origin_addr, origin_count, origin_datatype);
    let (rank, disp, count, datatype) = (target_rank, target_disp, target_count, target_datatype);
    let result = Own(result_addr, result_count, result_datatype);
    GetAccumulate { own, result, op, at: At { win, rank, disp, count, datatype } }
}

impl<C: Number> GetAccumulate<C> {
    /// With `MPI_NO_OP` the origin and its datatype are ignored (MPI-4.1 §12.3.4).
    fn checked(self) -> Outcome<(Origin<'static>, OriginMut<'static>, Op, Checked)> {
        let (GetAccumulate { own, result, op, at }, checked) = (self, self.at.checked()?);
        let (operation, target) = (op.get()?, (at.datatype, elements(at.count)?));
        let op = match operation {
            Operation::Predefined(Op::NoOp) => {
                operation.of_accumulate(target, &[result.2], true)?
            }
            _ => operation.of_accumulate(target, &[own.2, result.2], true)?,
        };
        let result = result.origin_mut()?;
        Ok((combined_origin(own, op)?, result, op, checked))
    }

    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        let Some(usual) = self.at.usual([self.own, self.result]) else { return false };
        let Usual { win, rank, disp, count, datatype, kind } = usual;
        let Some(op) = Operation::known(self.op, kind) else { return false };
        let origin = self.own.0.origin(count, datatype);
        let result = self.result.0.origin_mut(count, datatype);
        let layout = origin.layout();
        win.try_fetch(&Update::get_accumulate(origin, result, op, rank, disp, layout))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (origin, result, op, (win, rank, disp, layout)) = self.checked()?;
        Ok(win.get_accumulate_layout(origin, result, op, rank, disp, layout)?)
    }

    /// The same of the form with a request.
    pub fn run_requested(self, request: Ptr<MPI_Request>) -> Outcome {
        let (origin, result, op, (win, rank, disp, layout)) = self.checked()?;
        let operation = win.rget_accumulate_layout(origin, result, op, rank, disp, layout)?;
        self.at.requested(operation, request)
    }
}

/// The origin of an accumulate that fetches.
fn combined_origin<C: Number>(own: Own<C>, op: Op) -> Outcome<Origin<'static>> {
    match op {
        Op::NoOp => Ok(own.0.origin(0, usable(MPI_Datatype::predefined(MPI_BYTE))?)),
        _ => own.origin(),
    }
}

/// Refuses a datatype that the program has made, of an operation on one element (MPI-4.1 §12.3.4).
fn check_predefined(datatype: MPI_Datatype) -> Outcome {
    datatype.get()?;
    if known(datatype).is_some() {
        return Ok(());
    }
    Err(Failure::new(MPI_ERR_TYPE, "the operation takes predefined datatypes only"))
}

/// The arguments of a fetch_and_op.
#[derive(Clone, Copy)]
pub struct FetchAndOp {
    own: Own<c_int>,
    result: Own<c_int>,
    op: MPI_Op,
    at: At<c_int>,
}

/// `MPI_Fetch_and_op`
#[inline(always)]
pub fn fetch_and_op(
    origin_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> FetchAndOp {
    let [own, result] = [origin_addr, result_addr].map(|start| Own(start, 1, datatype));
    let at = At { win, rank: target_rank, disp: target_disp, count: 1, datatype };
    FetchAndOp { own, result, op, at }
}

impl FetchAndOp {
    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        let Some(usual) = self.at.usual([self.own, self.result]) else { return false };
        let Usual { win, rank, disp, datatype, kind, .. } = usual;
        let Some(op) = Operation::known(self.op, kind) else { return false };
        let (origin, result) =
            (self.own.0.origin(1, datatype), self.result.0.origin_mut(1, datatype));
        win.try_update(&Update::fetch_and_op(origin, result, op, rank, disp))
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        let (FetchAndOp { own, result, op, at }, (win, rank, disp, _)) = (self, self.at.checked()?);
        check_predefined(at.datatype)?;
        let op = op.get()?.of_accumulate((at.datatype, 1), &[], true)?;
        let (result, origin) = (result.origin_mut()?, combined_origin(own, op)?);
        Ok(win.fetch_and_op_untyped(origin, result, op, rank, disp)?)
    }
}

/// The arguments of a compare_and_swap.
#[derive(Clone, Copy)]
pub struct CompareAndSwap {
    /// The new value, the one to compare with, the result.
    own: [Own<c_int>; 3],
    at: At<c_int>,
}

/// `MPI_Compare_and_swap`
#[inline(always)]
pub fn compare_and_swap(
    origin_addr: Address,
    compare_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    win: MPI_Win,
) -> CompareAndSwap {
    let own = [origin_addr, compare_addr, result_addr].map(|start| Own(start, 1, datatype));
    CompareAndSwap { own, at: At { win, rank: target_rank, disp: target_disp, count: 1, datatype } }
}

impl CompareAndSwap {
    /// The fast path: whether it is done. If not, it has changed nothing.
    #[inline(always)]
    pub fn try_run(self) -> bool {
        self.try_by(Win::try_compare_and_swap)
    }

    /// The same by `swap`.
    #[inline(always)]
    fn try_by(
        self,
        swap: impl FnOnce(&Win, Origin<'_>, Origin<'_>, OriginMut<'_>, Rank, u64) -> bool,
    ) -> bool {
        let Some(usual) = self.at.usual(self.own) else { return false };
        let Usual { win, rank, disp, datatype, .. } = usual;
        let [new, compare, result] = self.own;
        let (new, compare) = (new.0.origin(1, datatype), compare.0.origin(1, datatype));
        swap(win, new, compare, result.0.origin_mut(1, datatype), rank, disp)
    }

    /// Checks all arguments, and does it or returns the error.
    pub fn run(self) -> Outcome {
        if self.try_by(Win::try_compare_and_swap_checked) {
            return Ok(());
        }
        let (win, rank, disp, _) = self.at.checked()?;
        check_predefined(self.at.datatype)?;
        let [new, compare, result] = self.own;
        let (new, compare, result) = (new.origin()?, compare.origin()?, result.origin_mut()?);
        Ok(win.compare_and_swap_untyped(new, compare, result, rank, disp)?)
    }
}
