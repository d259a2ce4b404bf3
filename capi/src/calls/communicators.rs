//! Communicators: inquiries, names and hints (MPI-4.1 §7.4, §7.8).

use super::groups::comparison;
use crate::abi::*;
use crate::arguments::{Ptr, Text, TextBuffer};
use crate::comm::Communicator;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::info::{InfoObject, hints};
use crate::text;
use onesided::Comparison;
use std::ffi::c_int;

/// `MPI_Comm_rank`
pub fn comm_rank(comm: MPI_Comm, rank: Ptr<c_int>) -> Outcome {
    rank.set(comm.get()?.comm.rank().0 as c_int)
}

/// `MPI_Comm_size`
pub fn comm_size(comm: MPI_Comm, size: Ptr<c_int>) -> Outcome {
    size.set(comm.get()?.comm.size() as c_int)
}

/// `MPI_Comm_group`
pub fn comm_group(comm: MPI_Comm, group: Ptr<MPI_Group>) -> Outcome {
    group.set(Handle::new(comm.get()?.comm.group()))
}

/// `MPI_Comm_test_inter`
pub fn comm_test_inter(comm: MPI_Comm, flag: Ptr<c_int>) -> Outcome {
    flag.set(comm.get()?.inter.is_some().into())
}

/// `MPI_Comm_remote_size`
pub fn comm_remote_size(comm: MPI_Comm, size: Ptr<c_int>) -> Outcome {
    size.set(comm.get()?.inter()?.remote.size() as c_int)
}

/// `MPI_Comm_remote_group`
pub fn comm_remote_group(comm: MPI_Comm, group: Ptr<MPI_Group>) -> Outcome {
    group.set(Handle::new(comm.get()?.inter()?.remote.clone()))
}

/// `MPI_Comm_compare`
pub fn comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: Ptr<c_int>) -> Outcome {
    let found = compare(comm1.get()?, comm2.get()?);
    result.set(if comm1 == comm2 { MPI_IDENT } else { comparison(found) })
}

/// Compares two different communicators by their groups; of intercommunicators, by both groups.
fn compare(one: &Communicator, other: &Communicator) -> Comparison {
    let local = one.comm.compare(&other.comm);
    let remote = match (&one.inter, &other.inter) {
        (None, None) => return local,
        (Some(one), Some(other)) => one.remote.compare(&other.remote),
        _ => return Comparison::Unequal,
    };
    match (local, remote) {
        (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
        (Comparison::Similar, _) | (_, Comparison::Similar) => Comparison::Similar,
        _ => Comparison::Congruent,
    }
}

/// A name that fits C's buffers.
pub(super) fn name(given: Text) -> Outcome<String> {
    let mut name = given.bytes()?;
    name.truncate(MPI_MAX_OBJECT_NAME as usize - 1);
    Ok(text::of_bytes(&name))
}

/// `MPI_Comm_set_name`
pub fn comm_set_name(comm: MPI_Comm, comm_name: Text) -> Outcome {
    comm.get()?.comm.set_name(&name(comm_name)?);
    Ok(())
}

/// `MPI_Comm_get_name`; the null handle has a name too.
pub fn comm_get_name(comm: MPI_Comm, comm_name: TextBuffer, resultlen: Ptr<c_int>) -> Outcome {
    let name = match comm == Handle::NULL {
        true => "MPI_COMM_NULL".into(),
        false => comm.get()?.comm.name(),
    };
    resultlen.set(comm_name.write(&name, MPI_MAX_OBJECT_NAME as usize)?)
}

/// `MPI_Comm_set_info`
pub fn comm_set_info(comm: MPI_Comm, info: MPI_Info) -> Outcome {
    let comm = comm.get()?;
    let hints = hints(info)?;
    match &comm.inter {
        None => Ok(comm.comm.set_info(&hints)?),
        Some(inter) => Ok(inter.both.set_info(&hints)?),
    }
}

/// `MPI_Comm_get_info`
pub fn comm_get_info(comm: MPI_Comm, info_used: Ptr<MPI_Info>) -> Outcome {
    info_used.set(Handle::new(InfoObject::new(comm.get()?.comm.info())))
}

/// `MPI_Comm_get_parent`: no rank is started by others.
pub fn comm_get_parent(parent: Ptr<MPI_Comm>) -> Outcome {
    if !crate::job::has_begun() || crate::job::is_over() {
        return Err(Failure::new(MPI_ERR_OTHER, "MPI is not initialised, or finalised already"));
    }
    parent.set(Handle::NULL)
}
