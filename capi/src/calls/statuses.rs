//! Statuses (MPI-4.1 §3.2.5, §3.8.4, §5.1.11, §13.3).

use crate::abi::*;
use crate::arguments::{ConstPtr, Number, Ptr};
use crate::failure::{Failure, Outcome};
use std::ffi::c_int;

/// A number that may be undefined, as the type `C`.
fn or_undefined<C: Number>(number: Option<u64>) -> Outcome<C> {
    let number = number.and_then(|number| C::narrow(i64::try_from(number).ok()?));
    number.map_or_else(|| super::narrow(MPI_UNDEFINED.into()), Ok)
}

/// `MPI_Get_count`
pub fn get_count<C: Number>(
    status: ConstPtr<MPI_Status>,
    datatype: MPI_Datatype,
    count: Ptr<C>,
) -> Outcome {
    let bytes = status.get_at(0)?.bytes();
    let instances = match datatype.get()?.sequence().size {
        0 => (bytes == 0).then_some(0),
        size => bytes.is_multiple_of(size).then_some(bytes / size),
    };
    count.set(or_undefined(instances)?)
}

/// `MPI_Get_elements`, `MPI_Get_elements_x`
pub fn get_elements<C: Number>(
    status: ConstPtr<MPI_Status>,
    datatype: MPI_Datatype,
    count: Ptr<C>,
) -> Outcome {
    let bytes = status.get_at(0)?.bytes();
    count.set(or_undefined(datatype.get()?.sequence().elements_of(bytes))?)
}

/// `MPI_Status_set_elements`, `MPI_Status_set_elements_x`
pub fn status_set_elements<C: Number>(
    status: Ptr<MPI_Status>,
    datatype: MPI_Datatype,
    count: C,
) -> Outcome {
    let datatype = datatype.get()?;
    let elements = super::operations::elements(count)? as u64;
    let Some(bytes) = datatype.sequence().bytes_of(elements) else {
        let why = format!("no number of the datatype has {count} elements");
        return Err(Failure::new(MPI_ERR_COUNT, why));
    };
    status.set(status.get()?.with_bytes(bytes))
}

/// `MPI_Status_set_cancelled`
pub fn status_set_cancelled(status: Ptr<MPI_Status>, flag: c_int) -> Outcome {
    status.set(status.get()?.with_cancelled(flag != 0))
}

/// `MPI_Test_cancelled`
pub fn test_cancelled(status: ConstPtr<MPI_Status>, flag: Ptr<c_int>) -> Outcome {
    flag.set(status.get_at(0)?.is_cancelled().into())
}

/// `MPI_Status_get_source`
pub fn status_get_source(status: ConstPtr<MPI_Status>, source: Ptr<c_int>) -> Outcome {
    source.set(status.get_at(0)?.source)
}

/// `MPI_Status_get_tag`
pub fn status_get_tag(status: ConstPtr<MPI_Status>, tag: Ptr<c_int>) -> Outcome {
    tag.set(status.get_at(0)?.tag)
}

/// `MPI_Status_get_error`
pub fn status_get_error(status: ConstPtr<MPI_Status>, error: Ptr<c_int>) -> Outcome {
    error.set(status.get_at(0)?.error)
}

/// `MPI_Status_set_source`
pub fn status_set_source(status: Ptr<MPI_Status>, source: c_int) -> Outcome {
    status.set(MPI_Status { source, ..status.get()? })
}

/// `MPI_Status_set_tag`
pub fn status_set_tag(status: Ptr<MPI_Status>, tag: c_int) -> Outcome {
    status.set(MPI_Status { tag, ..status.get()? })
}

/// `MPI_Status_set_error`
pub fn status_set_error(status: Ptr<MPI_Status>, error: c_int) -> Outcome {
    status.set(MPI_Status { error, ..status.get()? })
}
