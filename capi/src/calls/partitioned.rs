//! Partitioned communication (MPI-4.1 §4.2).

use super::messages::{check_tag, of_elements};
use super::operations::elements;
use crate::abi::*;
use crate::arguments::{Address, ConstPtr, Ptr};
use crate::collective::Block;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::info::hints;
use crate::raise::Owner;
use crate::request::Request;
use onesided::Rank;
use onesided::engine::Partitioned;
use std::ffi::c_int;

fn wrong(why: String) -> Failure {
    Failure::new(MPI_ERR_ARG, why)
}

/// A number of partitions, or of one.
fn number(argument: c_int) -> Outcome<u32> {
    u32::try_from(argument).map_err(|_| wrong(format!("{argument} is negative")))
}

/// The buffer of all partitions, and how many there are.
fn cut(
    buf: Address,
    partitions: c_int,
    count: Count,
    datatype: MPI_Datatype,
) -> Outcome<(Block, u32)> {
    let partitions = number(partitions)?;
    elements(count)?;
    let total = count.checked_mul(partitions.into()).ok_or_else(|| {
        let why =
            format!("{partitions} partitions of {count} elements are more than can be counted");
        Failure::new(MPI_ERR_COUNT, why)
    })?;
    let datatype = if total == 0 { of_elements(0, datatype) } else { datatype };
    Ok((Block::new(buf, total, datatype)?, partitions))
}

/// The destination or source; wildcards are not allowed.
fn peer(comm: MPI_Comm, rank: c_int, tag: c_int) -> Outcome<Rank> {
    let rank = comm.get()?.peer(rank)?;
    check_tag(tag)?;
    Ok(rank)
}

fn made(comm: MPI_Comm, partitioned: Partitioned, request: Ptr<MPI_Request>) -> Outcome {
    request.set(Handle::new(Request::partitioned(Owner::Comm(comm), partitioned)))
}

/// `MPI_Psend_init`
pub fn psend_init(
    buf: Address,
    partitions: c_int,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, (block, partitions)) =
        (peer(comm, dest, tag)?, cut(buf, partitions, count, datatype)?);
    hints(info)?;
    let over = comm.get()?.messages();
    made(comm, over.init_partitioned_send(block.read(), partitions, peer, tag)?, request)
}

/// `MPI_Precv_init`
pub fn precv_init(
    buf: Address,
    partitions: c_int,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: Ptr<MPI_Request>,
) -> Outcome {
    let (peer, (block, partitions)) =
        (peer(comm, dest, tag)?, cut(buf, partitions, count, datatype)?);
    hints(info)?;
    let over = comm.get()?.messages();
    made(comm, over.init_partitioned_receive(block.write(), partitions, peer, tag)?, request)
}

/// `MPI_Pready`
pub fn pready(partition: c_int, request: MPI_Request) -> Outcome {
    pready_range(partition, partition, request)
}

/// `MPI_Pready_range`
pub fn pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request) -> Outcome {
    request.get()?.ready(|partitions| {
        if partition_low > partition_high {
            return Err(wrong(format!("the range begins behind its end, {partition_high}")));
        }
        let (low, high) = (number(partition_low)?, number(partition_high)?);
        // Of the numbers past the partitions the first is enough for the error.
        Ok((low..=high.min(low.max(partitions))).collect())
    })
}

/// `MPI_Pready_list`
pub fn pready_list(
    length: c_int,
    array_of_partitions: ConstPtr<c_int>,
    request: MPI_Request,
) -> Outcome {
    request.get()?.ready(|_| {
        let partitions = array_of_partitions.list(number(length)? as usize)?;
        partitions.into_iter().map(number).collect()
    })
}

/// `MPI_Parrived`
pub fn parrived(request: MPI_Request, partition: c_int, flag: Ptr<c_int>) -> Outcome {
    flag.set(request.get()?.has_arrived(|| number(partition))?.into())
}
