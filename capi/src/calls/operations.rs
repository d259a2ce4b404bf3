//! Put, get and the accumulates (MPI-4.1 §12.3).

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::comm::rank_of;
use crate::datatype::usable;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::op::Operation;
use crate::request::Request;
use crate::window::Window;
use onesided::engine::{Layout, Origin, OriginMut};
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

/// What the operations on a target have in common: window, target, displacement and layout there.
struct Target {
    window: &'static Window,
    rank: Rank,
    disp: u64,
    layout: Layout<'static>,
}

impl Target {
    #[inline]
    fn new<C: Number>(
        win: MPI_Win,
        rank: c_int,
        disp: Aint,
        count: C,
        datatype: MPI_Datatype,
    ) -> Outcome<Target> {
        let window = win.get()?;
        let rank = rank_of(rank, window.win.comm().size())?;
        let layout = Layout::new(elements(count)?, usable(datatype)?);
        if disp < 0 && rank != Rank::NULL && window.win.flavour() != Flavour::Dynamic {
            return Err(negative(MPI_ERR_DISP, "displacement", disp as i64));
        }
        Ok(Target { window, rank, disp: disp as u64, layout })
    }
}

/// The origin's buffer of an operation that reads it.
#[inline]
fn origin<C: Number>(start: Address, count: C, datatype: MPI_Datatype) -> Outcome<Origin<'static>> {
    let (count, datatype) = (elements(count)?, usable(datatype)?);
    check_buffer(start, count, datatype)?;
    Ok(start.origin(count, datatype))
}

/// The origin's buffer of an operation that writes it.
#[inline]
fn origin_mut<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Outcome<OriginMut<'static>> {
    let (count, datatype) = (elements(count)?, usable(datatype)?);
    check_buffer(start, count, datatype)?;
    Ok(start.origin_mut(count, datatype))
}

/// Refuses an address that is no valid buffer of that many elements.
#[inline]
pub(crate) fn check_buffer(start: Address, count: usize, datatype: &CommittedDatatype) -> Outcome {
    let first_page = start.value() < 4096;
    let from_start = || datatype.range(1).is_some_and(|range| range == (0..range.end));
    if first_page && count != 0 && (start.is_in_place() || from_start()) {
        return if datatype.bytes(1) == Some(0) { Ok(()) } else { Err(no_buffer(start)) };
    }
    Ok(())
}

#[cold]
pub(super) fn no_buffer(start: Address) -> Failure {
    Failure::new(MPI_ERR_BUFFER, format!("{start} is no address of a buffer"))
}

/// `MPI_Put`
pub fn put<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let origin = origin(origin_addr, origin_count, origin_datatype)?;
    let Target { window, rank, disp, layout } = target;
    Ok(window.win.put_layout(origin, rank, disp, layout)?)
}

/// `MPI_Get`
pub fn get<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let origin = origin_mut(origin_addr, origin_count, origin_datatype)?;
    let Target { window, rank, disp, layout } = target;
    Ok(window.win.get_layout(origin, rank, disp, layout)?)
}

/// `MPI_Accumulate`
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
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let (origin, op) = combining(
        (origin_addr, origin_count, origin_datatype),
        (target_datatype, target_count),
        op,
    )?;
    let Target { window, rank, disp, layout } = target;
    Ok(window.win.accumulate_layout(origin, op, rank, disp, layout)?)
}

/// `MPI_Get_accumulate`
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
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let (origin, result, op) = fetching(
        (origin_addr, origin_count, origin_datatype),
        (result_addr, result_count, result_datatype),
        (target_datatype, target_count),
        op,
    )?;
    let Target { window, rank, disp, layout } = target;
    Ok(window.win.get_accumulate_layout(origin, result, op, rank, disp, layout)?)
}

/// Origin and operation of an accumulate.
fn combining<C: Number>(
    (origin_addr, origin_count, origin_datatype): (Address, C, MPI_Datatype),
    (datatype, count): (MPI_Datatype, C),
    op: MPI_Op,
) -> Outcome<(Origin<'static>, Op)> {
    let target = (datatype, elements(count)?);
    let op = op.get()?.of_accumulate(target, &[origin_datatype], false)?;
    Ok((origin(origin_addr, origin_count, origin_datatype)?, op))
}

/// Origin, result and operation of an accumulate that fetches. With `MPI_NO_OP` the origin and its
/// datatype are ignored (MPI-4.1 §12.3.4).
fn fetching<C: Number>(
    (origin_addr, origin_count, origin_datatype): (Address, C, MPI_Datatype),
    (result_addr, result_count, result_datatype): (Address, C, MPI_Datatype),
    (datatype, count): (MPI_Datatype, C),
    op: MPI_Op,
) -> Outcome<(Origin<'static>, OriginMut<'static>, Op)> {
    let (operation, target) = (op.get()?, (datatype, elements(count)?));
    let op = match operation {
        Operation::Predefined(Op::NoOp) => {
            operation.of_accumulate(target, &[result_datatype], true)?
        }
        _ => operation.of_accumulate(target, &[origin_datatype, result_datatype], true)?,
    };
    let result = origin_mut(result_addr, result_count, result_datatype)?;
    Ok((combined_origin(origin_addr, origin_count, origin_datatype, op)?, result, op))
}

/// The origin of an accumulate that fetches.
fn combined_origin<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
    op: Op,
) -> Outcome<Origin<'static>> {
    match op {
        Op::NoOp => Ok(start.origin(0, usable(MPI_Datatype::predefined(MPI_BYTE))?)),
        _ => origin(start, count, datatype),
    }
}

/// Refuses a datatype that the program has made, of an operation on one element (MPI-4.1 §12.3.4).
fn check_predefined(datatype: MPI_Datatype) -> Outcome {
    datatype.get()?;
    if datatype.is_predefined() {
        return Ok(());
    }
    Err(Failure::new(MPI_ERR_TYPE, "the operation takes predefined datatypes only"))
}

/// `MPI_Fetch_and_op`
pub fn fetch_and_op(
    origin_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, 1, datatype)?;
    check_predefined(datatype)?;
    let op = op.get()?.of_accumulate((datatype, 1), &[], true)?;
    let result = origin_mut(result_addr, 1, datatype)?;
    let origin = combined_origin(origin_addr, 1, datatype, op)?;
    Ok(target.window.win.fetch_and_op_untyped(origin, result, op, target.rank, target.disp)?)
}

/// `MPI_Compare_and_swap`
pub fn compare_and_swap(
    origin_addr: Address,
    compare_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    win: MPI_Win,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, 1, datatype)?;
    check_predefined(datatype)?;
    let (new, compare) = (origin(origin_addr, 1, datatype)?, origin(compare_addr, 1, datatype)?);
    let result = origin_mut(result_addr, 1, datatype)?;
    let Target { window, rank, disp, .. } = target;
    Ok(window.win.compare_and_swap_untyped(new, compare, result, rank, disp)?)
}

/// Returns to the program the request of a complete operation; all are complete on return.
fn complete(win: MPI_Win, request: Ptr<MPI_Request>) -> Outcome {
    request.set(Handle::new(Request::complete_operation(win)))
}

/// `MPI_Rput`
pub fn rput<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let origin = origin(origin_addr, origin_count, origin_datatype)?;
    let Target { window, rank, disp, layout } = target;
    window.win.rput_layout(origin, rank, disp, layout)?.wait();
    complete(win, request)
}

/// `MPI_Rget`
pub fn rget<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let origin = origin_mut(origin_addr, origin_count, origin_datatype)?;
    let Target { window, rank, disp, layout } = target;
    window.win.rget_layout(origin, rank, disp, layout)?.wait();
    complete(win, request)
}

/// `MPI_Raccumulate`
pub fn raccumulate<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let (origin, op) = combining(
        (origin_addr, origin_count, origin_datatype),
        (target_datatype, target_count),
        op,
    )?;
    let Target { window, rank, disp, layout } = target;
    window.win.raccumulate_layout(origin, op, rank, disp, layout)?.wait();
    complete(win, request)
}

/// `MPI_Rget_accumulate`
pub fn rget_accumulate<C: Number>(
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
    request: Ptr<MPI_Request>,
) -> Outcome {
    let target = Target::new(win, target_rank, target_disp, target_count, target_datatype)?;
    let (origin, result, op) = fetching(
        (origin_addr, origin_count, origin_datatype),
        (result_addr, result_count, result_datatype),
        (target_datatype, target_count),
        op,
    )?;
    let Target { window, rank, disp, layout } = target;
    window.win.rget_accumulate_layout(origin, result, op, rank, disp, layout)?.wait();
    complete(win, request)
}
