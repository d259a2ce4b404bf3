//! The fast paths of operations and short messages: an existing window or communicator, the same
//! predefined datatype on both sides, and nothing wrong.
//!
//! Each returns whether it is done. If not it has done nothing, and the function of that name without
//! `_at_once` is called, which has all cases and every error. They are two functions so that the fast path
//! needs no stack space for errors and no place in memory for an argument.

use crate::abi::*;
use crate::arguments::{Address, Number, Ptr};
use crate::datatype::usable_at_once;
use crate::op::{COMBINED, Operation};
use crate::status;
use onesided::Rank;
use onesided::engine::{Channel, Origin, OriginMut, Transfer, Update};
use std::ffi::c_int;

/// Whether there can be buffers at these addresses ([`super::check_buffer`]).
#[inline(always)]
fn are_buffers<const N: usize>(addresses: [Address; N]) -> bool {
    addresses.into_iter().all(|address| address.value() >= 4096)
}

/// The buffer of an operation that reads it, and the kind of its elements.
#[inline(always)]
fn origin<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<(Origin<'static>, u16)> {
    let (datatype, kind) = usable_at_once(datatype)?;
    let count = usize::try_from(count.wide()).ok()?;
    are_buffers([start]).then(|| (start.origin(count, datatype), kind))
}

/// The buffer of an operation that writes it.
#[inline(always)]
fn origin_mut<C: Number>(
    start: Address,
    count: C,
    datatype: MPI_Datatype,
) -> Option<OriginMut<'static>> {
    let (datatype, _) = usable_at_once(datatype)?;
    let count = usize::try_from(count.wide()).ok()?;
    are_buffers([start]).then(|| start.origin_mut(count, datatype))
}

/// Whether the program has described both sides alike.
#[inline(always)]
fn is_like<C: Number>(own: (C, MPI_Datatype), target: (C, MPI_Datatype)) -> bool {
    own.0.wide() == target.0.wide() && own.1 == target.1
}

/// The target's rank and displacement. What is negative becomes larger than all that there are.
#[inline(always)]
fn place(rank: c_int, disp: Aint) -> (Rank, u64) {
    (Rank(rank as u32), disp as u64)
}

/// The fast path of [`super::put`].
#[inline(always)]
pub fn put_at_once<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let Some(window) = win.find() else { return false };
    let Some((origin, _)) = origin(origin_addr, origin_count, origin_datatype) else {
        return false;
    };
    let (rank, disp) = place(target_rank, target_disp);
    is_like((origin_count, origin_datatype), (target_count, target_datatype))
        && window.win.try_transfer(&Transfer::put_layout(origin, rank, disp, origin.layout()))
}

/// The fast path of [`super::get`].
#[inline(always)]
pub fn get_at_once<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let Some(window) = win.find() else { return false };
    let Some(origin) = origin_mut(origin_addr, origin_count, origin_datatype) else {
        return false;
    };
    let (rank, disp) = place(target_rank, target_disp);
    is_like((origin_count, origin_datatype), (target_count, target_datatype)) && {
        let layout = origin.layout();
        window.win.try_transfer(&Transfer::get_layout(origin, rank, disp, layout))
    }
}

/// The fast path of [`super::accumulate`].
#[inline(always)]
pub fn accumulate_at_once<C: Number>(
    origin_addr: Address,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    let Some(window) = win.find() else { return false };
    let Some((origin, kind)) = origin(origin_addr, origin_count, origin_datatype) else {
        return false;
    };
    let Some(op) = Operation::at_once(op, kind | COMBINED) else { return false };
    let (rank, disp) = place(target_rank, target_disp);
    is_like((origin_count, origin_datatype), (target_count, target_datatype)) && {
        let layout = origin.layout();
        window.win.try_update(&Update::accumulate(origin, op, rank, disp, layout))
    }
}

/// The fast path of [`super::fetch_and_op`].
#[inline(always)]
pub fn fetch_and_op_at_once(
    origin_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    let (Some(window), Some((datatype, kind))) = (win.find(), usable_at_once(datatype)) else {
        return false;
    };
    let Some(op) = Operation::at_once(op, kind) else { return false };
    let (rank, disp) = place(target_rank, target_disp);
    are_buffers([origin_addr, result_addr]) && {
        let (origin, result) =
            (origin_addr.origin(1, datatype), result_addr.origin_mut(1, datatype));
        window.win.try_update(&Update::fetch_and_op(origin, result, op, rank, disp))
    }
}

/// The fast path of [`super::compare_and_swap`].
#[inline(always)]
pub fn compare_and_swap_at_once(
    origin_addr: Address,
    compare_addr: Address,
    result_addr: Address,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: Aint,
    win: MPI_Win,
) -> bool {
    let (Some(window), Some((datatype, _))) = (win.find(), usable_at_once(datatype)) else {
        return false;
    };
    let (rank, disp) = place(target_rank, target_disp);
    are_buffers([origin_addr, compare_addr, result_addr]) && {
        let (new, compare) = (origin_addr.origin(1, datatype), compare_addr.origin(1, datatype));
        let result = result_addr.origin_mut(1, datatype);
        window.win.try_compare_and_swap(new, compare, result, rank, disp)
    }
}

/// The fast path of [`super::send`].
#[inline(always)]
pub fn try_send<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some(comm) = comm.find().filter(|comm| comm.inter.is_none()) else { return false };
    let Some((origin, _)) = origin(buf, count, datatype) else { return false };
    comm.comm.try_send(Channel::Program, origin, Rank(dest as u32), tag)
}

/// The fast path of [`super::recv`].
#[inline(always)]
pub fn try_recv<C: Number>(
    buf: Address,
    count: C,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: Ptr<MPI_Status>,
) -> bool {
    let Some(comm) = comm.find().filter(|comm| comm.inter.is_none()) else { return false };
    let Some(into) = origin_mut(buf, count, datatype) else { return false };
    let source = (source != MPI_ANY_SOURCE).then_some(Rank(source as u32));
    let tag = (tag != MPI_ANY_TAG).then_some(tag);
    let received = comm.comm.try_receive(Channel::Program, into, source, tag);
    received.is_some_and(|message| status::set(status, &message).is_ok())
}
