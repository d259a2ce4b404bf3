//! Packing and unpacking (MPI-4.1 §5.2 and §5.3).
//!
//! Packed data has no header and no padding.

use super::operations::{check_buffer, elements, no_buffer};
use crate::abi::*;
use crate::arguments::{Address, Number, Ptr, Text};
use crate::datatype::{Datatype, from_external, to_external, usable};
use crate::failure::{Failure, Outcome};

/// A buffer of packed bytes, and where the next are.
struct Packed<P> {
    start: Address,
    at: usize,
    bytes: usize,
    position: Ptr<P>,
}

impl<P: Number> Packed<P> {
    fn new(start: Address, size: P, position: Ptr<P>) -> Outcome<Packed<P>> {
        let at = position.get()?;
        match (usize::try_from(at.wide()), usize::try_from(size.wide())) {
            (Ok(at), Ok(bytes)) if at <= bytes => Ok(Packed { start, at, bytes, position }),
            (_, Err(_)) => {
                let why = format!("the size {size} of the packed buffer is negative");
                Err(Failure::new(MPI_ERR_ARG, why))
            }
            _ => {
                let why = format!("the position {at} is not in the {size} bytes of the buffer");
                Err(Failure::new(MPI_ERR_ARG, why))
            }
        }
    }

    /// The next `needed` bytes, if they exist.
    fn next(&self, needed: Option<u64>) -> Outcome<(Address, usize)> {
        let (at, left) = (self.at, self.bytes - self.at);
        match needed.and_then(|needed| usize::try_from(needed).ok()) {
            Some(needed) if needed <= left => match self.start.is_in_place() {
                true => Err(no_buffer(self.start)),
                false => Ok((self.start.offset(at as isize), needed)),
            },
            _ => {
                let needed = needed.map_or_else(|| "too many".into(), |bytes| bytes.to_string());
                let why =
                    format!("{needed} bytes are needed, and {left} are left behind byte {at}");
                Err(Failure::new(MPI_ERR_TRUNCATE, why))
            }
        }
    }

    /// Writes the new position.
    fn skip(self, bytes: usize) -> Outcome {
        self.position.set(super::narrow((self.at + bytes) as i64)?)
    }
}

/// `MPI_Pack`
pub fn pack<C: Number>(
    inbuf: Address,
    incount: C,
    datatype: MPI_Datatype,
    outbuf: Address,
    outsize: C,
    position: Ptr<C>,
    comm: MPI_Comm,
) -> Outcome {
    comm.get()?;
    let (count, datatype) = (elements(incount)?, usable(datatype)?);
    check_buffer(inbuf, count, datatype)?;
    let packed = Packed::new(outbuf, outsize, position)?;
    let (to, bytes) = packed.next(datatype.bytes(count))?;
    inbuf.origin(count, datatype).pack(to.slice_mut(bytes)?)?;
    packed.skip(bytes)
}

/// `MPI_Unpack`
pub fn unpack<C: Number>(
    inbuf: Address,
    insize: C,
    position: Ptr<C>,
    outbuf: Address,
    outcount: C,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Outcome {
    comm.get()?;
    let (count, datatype) = (elements(outcount)?, usable(datatype)?);
    check_buffer(outbuf, count, datatype)?;
    let packed = Packed::new(inbuf, insize, position)?;
    let (from, bytes) = packed.next(datatype.bytes(count))?;
    outbuf.origin_mut(count, datatype).unpack(from.slice(bytes)?)?;
    packed.skip(bytes)
}

/// Bytes of that many instances.
fn size_of_all<C: Number, P: Number>(count: C, one: u64) -> Outcome<P> {
    let bytes = one.checked_mul(elements(count)? as u64).and_then(|all| i64::try_from(all).ok());
    super::narrow(bytes.unwrap_or(i64::MAX))
}

/// `MPI_Pack_size`
pub fn pack_size<C: Number>(
    incount: C,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
    size: Ptr<C>,
) -> Outcome {
    comm.get()?;
    usable(datatype)?;
    size.set(size_of_all(incount, datatype.get()?.sequence().size)?)
}

/// The datatype of a call about "external32", the only representation there is.
fn external(datarep: Text, datatype: MPI_Datatype) -> Outcome<&'static Datatype> {
    let name = datarep.read()?;
    if name != "external32" {
        let why = format!("{name:?} is not the representation \"external32\"");
        return Err(Failure::new(MPI_ERR_ARG, why));
    }
    usable(datatype)?;
    datatype.get()
}

/// `MPI_Pack_external`
pub fn pack_external<C: Number, P: Number>(
    datarep: Text,
    inbuf: Address,
    incount: C,
    datatype: MPI_Datatype,
    outbuf: Address,
    outsize: P,
    position: Ptr<P>,
) -> Outcome {
    let datatype = external(datarep, datatype)?;
    let (count, sequence, committed) =
        (elements(incount)?, datatype.sequence(), datatype.committed()?);
    check_buffer(inbuf, count, committed)?;
    let packed = Packed::new(outbuf, outsize, position)?;
    let (to, bytes) = packed.next(sequence.external.checked_mul(count as u64))?;
    let mut native = vec![0; committed.bytes(count).unwrap_or(0) as usize];
    inbuf.origin(count, committed).pack(&mut native)?;
    let outside = to_external(sequence, count as u64, &native)?;
    to.slice_mut(bytes)?.copy_from_slice(&outside);
    packed.skip(bytes)
}

/// `MPI_Unpack_external`
pub fn unpack_external<C: Number, P: Number>(
    datarep: Text,
    inbuf: Address,
    insize: P,
    position: Ptr<P>,
    outbuf: Address,
    outcount: C,
    datatype: MPI_Datatype,
) -> Outcome {
    let datatype = external(datarep, datatype)?;
    let (count, sequence, committed) =
        (elements(outcount)?, datatype.sequence(), datatype.committed()?);
    check_buffer(outbuf, count, committed)?;
    let packed = Packed::new(inbuf, insize, position)?;
    let (from, bytes) = packed.next(sequence.external.checked_mul(count as u64))?;
    let native = from_external(sequence, count as u64, from.slice(bytes)?);
    outbuf.origin_mut(count, committed).unpack(&native)?;
    packed.skip(bytes)
}

/// `MPI_Pack_external_size`
pub fn pack_external_size<C: Number, P: Number>(
    datarep: Text,
    incount: C,
    datatype: MPI_Datatype,
    size: Ptr<P>,
) -> Outcome {
    let datatype = external(datarep, datatype)?;
    size.set(size_of_all(incount, datatype.sequence().external)?)
}
