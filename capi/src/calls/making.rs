//! Communicators: creation and release (MPI-4.1 §7.4.2, §7.4.3).

use crate::abi::*;
use crate::arguments::Ptr;
use crate::attribute;
use crate::belonging::leave_behind;
use crate::comm::{Communicator, Inter};
use crate::duplication::Duplication;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::info::{InfoObject, hints};
use crate::raise::Owner;
use crate::request::{Request, Work};
use crate::session::SETS;
use onesided::{Comm, Info};
use std::ffi::c_int;

/// A duplicate, with copies of the attributes.
fn duplicate(handle: MPI_Comm) -> Outcome<MPI_Comm> {
    let comm = handle.get()?;
    let copy = attribute::about(handle, || comm.comm.dup())?;
    let both = comm.inter.as_ref().map(|inter| inter.both.dup()).transpose()?;
    Ok(Handle::new(comm.heritage().with(copy, both)?))
}

/// `MPI_Comm_dup`
pub fn comm_dup(comm: MPI_Comm, newcomm: Ptr<MPI_Comm>) -> Outcome {
    newcomm.set(duplicate(comm)?)
}

/// `MPI_Comm_dup_with_info`
pub fn comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: Ptr<MPI_Comm>) -> Outcome {
    comm.get()?;
    // `Comm::set_info` ignores the hints of communicators.
    hints(info)?;
    newcomm.set(duplicate(comm)?)
}

/// `MPI_Comm_idup`
pub fn comm_idup(comm: MPI_Comm, newcomm: Ptr<MPI_Comm>, request: Ptr<MPI_Request>) -> Outcome {
    let duplication = Duplication::begin(comm, newcomm)?;
    let work = Work::Duplicate(Box::new(duplication));
    request.set(Handle::new(Request::new(Owner::Comm(comm), work)))
}

/// `MPI_Comm_idup_with_info`
pub fn comm_idup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: Ptr<MPI_Comm>,
    request: Ptr<MPI_Request>,
) -> Outcome {
    comm.get()?;
    hints(info)?;
    comm_idup(comm, newcomm, request)
}

/// `MPI_Comm_create`
pub fn comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: Ptr<MPI_Comm>) -> Outcome {
    let (comm, group) = (comm.get()?, group.get()?);
    let Some(inter) = &comm.inter else {
        return newcomm.set(comm.child(comm.comm.create(group)?));
    };
    let own = crate::job::world()?.rank().0;
    let place = group.rank_of_world(own).map(|rank| rank.0);
    let both = inter.both.split(place.map(|_| 0), place.unwrap_or(0) as c_int)?;
    newcomm.set(between(comm, inter, comm.comm.create(group)?, both)?)
}

/// The intercommunicator of a new local communicator and of one with both groups; null if a side of
/// it would be empty (MPI-4.1 §7.4.2).
fn between(
    parent: &Communicator,
    inter: &Inter,
    local: Option<Comm>,
    both: Option<Comm>,
) -> Outcome<MPI_Comm> {
    let (Some(local), Some(both)) = (local, both) else { return Ok(Handle::NULL) };
    let remote = both.group().difference(&local.group());
    if remote.is_empty() {
        return Ok(Handle::NULL);
    }
    let inter = Some(Inter::new(&local, both, remote, inter.first)?);
    let handler = parent.errhandler.share();
    Ok(Handle::new(Communicator { inter, ..Communicator::new(local, handler) }))
}

/// `MPI_Comm_create_group`
pub fn comm_create_group(
    comm: MPI_Comm,
    group: MPI_Group,
    tag: c_int,
    newcomm: Ptr<MPI_Comm>,
) -> Outcome {
    let (comm, group) = (comm.get()?, group.get()?);
    let Ok(tag) = u32::try_from(tag) else {
        return Err(Failure::new(MPI_ERR_TAG, format!("the tag {} is negative", OneOf(tag, TAGS))));
    };
    let own = crate::job::world()?.rank().0;
    // A rank that is not in the group may call it with the others, without effect.
    match group.rank_of_world(own) {
        None => newcomm.set(Handle::NULL),
        Some(_) => newcomm.set(comm.child(Some(comm.intra()?.create_group(group, tag)?))),
    }
}

/// Splits by colours.
fn split(comm: &Communicator, colour: Option<u32>, key: c_int) -> Outcome<MPI_Comm> {
    let local = comm.comm.split(colour, key)?;
    let Some(inter) = &comm.inter else { return Ok(comm.child(local)) };
    between(comm, inter, local, inter.both.split(colour, key)?)
}

/// `MPI_Comm_split`
pub fn comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: Ptr<MPI_Comm>) -> Outcome {
    let comm = comm.get()?;
    let colour = match u32::try_from(color) {
        Ok(colour) => Some(colour),
        Err(_) if color == MPI_UNDEFINED => None,
        Err(_) => {
            let why = format!("the colour {color} is negative, and not MPI_UNDEFINED");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
    };
    newcomm.set(split(comm, colour, key)?)
}

/// `MPI_Comm_split_type`
pub fn comm_split_type(
    comm: MPI_Comm,
    split_type: c_int,
    key: c_int,
    info: MPI_Info,
    newcomm: Ptr<MPI_Comm>,
) -> Outcome {
    let comm = comm.get()?;
    let wishes = hints(info)?;
    let guided = [MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED];
    let colour = match split_type {
        MPI_UNDEFINED => None,
        MPI_COMM_TYPE_SHARED => Some(0),
        // All ranks are on one machine, and the result would have to be a smaller part of it.
        MPI_COMM_TYPE_HW_UNGUIDED => None,
        _ if guided.contains(&split_type) => resource(&wishes, split_type)?,
        _ => {
            let why = format!("{split_type} is no type to split by");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
    };
    newcomm.set(split(comm, colour, key)?)
}

/// The colour of this rank by the resource that hints name (MPI-4.1 §7.4.2); none for an unknown
/// resource.
fn resource(wishes: &Info, split_type: c_int) -> Outcome<Option<u32>> {
    let by_set = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
    Ok(match (wishes.get("mpi_hw_resource_type"), wishes.get("mpi_pset_name")) {
        (Some("mpi_shared_memory"), None) => Some(0),
        (None, Some(set)) if by_set && set == SETS[0] => Some(0),
        (None, Some(set)) if by_set && set == SETS[1] => Some(crate::job::world()?.rank().0),
        _ => None,
    })
}

/// Ends a communicator by `end`. An intercommunicator consists of two; the one of the local group has its
/// attributes.
fn end(comm: Ptr<MPI_Comm>, end: impl Fn(Comm) -> onesided::Result<()>) -> Outcome {
    let handle = comm.get()?;
    let object = handle.get()?;
    if handle.is_predefined() {
        let why = "MPI_COMM_WORLD and MPI_COMM_SELF are not freed";
        return Err(Failure::new(MPI_ERR_COMM, why));
    }
    attribute::about(handle, || end(object.comm.clone()))?;
    leave_behind(handle, object);
    let object = handle.remove()?;
    comm.set(Handle::NULL)?;
    object.inter.map_or(Ok(()), |inter| Ok(end(inter.both)?))
}

/// `MPI_Comm_free`
pub fn comm_free(comm: Ptr<MPI_Comm>) -> Outcome {
    end(comm, Comm::free)
}

/// `MPI_Comm_disconnect`
pub fn comm_disconnect(comm: Ptr<MPI_Comm>) -> Outcome {
    end(comm, Comm::disconnect)
}

/// `MPI_Get_hw_resource_info`: the resources that `MPI_COMM_TYPE_HW_GUIDED` knows, and whether
/// this process stays within one of the kind.
pub fn get_hw_resource_info(hw_info: Ptr<MPI_Info>) -> Outcome {
    let mut info = Info::new();
    info.set("mpi_shared_memory", "true")?;
    hw_info.set(Handle::new(InfoObject::new(info)))
}
