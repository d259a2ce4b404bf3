//! Info objects (MPI-4.1 chapter 10).

use crate::abi::*;
use crate::arguments::{Address, Ptr, Text, TextBuffer};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::info::{self, InfoObject};
use crate::text;
use onesided::Info;
use std::ffi::c_int;

/// The most bytes of a key, for which programs have MPI_MAX_INFO_KEY bytes with the null character.
const MAX_KEY: usize = MPI_MAX_INFO_KEY as usize - 1;

const _: () = assert!(MAX_KEY <= Info::MAX_KEY);

/// Refuses an invalid key.
fn checked(key: Text) -> Outcome<String> {
    let key = key.bytes()?;
    let why = match key.len() {
        0 => "an info key must not be empty".into(),
        1..=MAX_KEY => return Ok(text::of_bytes(&key)),
        bytes => format!("the key has {bytes} bytes, more than {MAX_KEY}"),
    };
    Err(Failure::new(MPI_ERR_INFO_KEY, why))
}

/// An info object that the program may change.
fn changeable(info: MPI_Info) -> Outcome<&'static InfoObject> {
    match info.is_predefined() && info != Handle::NULL {
        true => Err(Failure::new(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed")),
        false => info.get(),
    }
}

/// `MPI_Info_create`
pub fn info_create(info: Ptr<MPI_Info>) -> Outcome {
    info.set(Handle::new(InfoObject::default()))
}

/// `MPI_Info_create_env`: what `MPI_INFO_ENV` has, whatever arguments the program passes on.
pub fn info_create_env(_argc: c_int, _argv: Address, info: Ptr<MPI_Info>) -> Outcome {
    info.set(Handle::new(InfoObject::new(info::environment())))
}

/// `MPI_Info_dup`
pub fn info_dup(info: MPI_Info, newinfo: Ptr<MPI_Info>) -> Outcome {
    let pairs = info.get()?.pairs().clone();
    newinfo.set(Handle::new(InfoObject::new(pairs)))
}

/// `MPI_Info_free`
pub fn info_free(info: Ptr<MPI_Info>) -> Outcome {
    info.get()?.remove()?;
    info.set(Handle::NULL)
}

/// `MPI_Info_set`
pub fn info_set(info: MPI_Info, key: Text, value: Text) -> Outcome {
    let (info, value) = (changeable(info)?, value.bytes()?);
    if value.len() >= MPI_MAX_INFO_VAL as usize {
        let why =
            format!("the value has {} bytes, more than {}", value.len(), MPI_MAX_INFO_VAL - 1);
        return Err(Failure::new(MPI_ERR_INFO_VALUE, why));
    }
    info.pairs().put(&checked(key)?, &text::of_bytes(&value));
    Ok(())
}

/// `MPI_Info_delete`
pub fn info_delete(info: MPI_Info, key: Text) -> Outcome {
    let (info, key) = (changeable(info)?, checked(key)?);
    match info.pairs().take(&key) {
        Some(_) => Ok(()),
        None => {
            let why = format!("the key {} is not set", text::quoted(&key));
            Err(Failure::new(MPI_ERR_INFO_NOKEY, why))
        }
    }
}

/// `MPI_Info_get`, deprecated: `valuelen` does not count the null character.
pub fn info_get(
    info: MPI_Info,
    key: Text,
    valuelen: c_int,
    value: TextBuffer,
    flag: Ptr<c_int>,
) -> Outcome {
    let (info, key) = (info.get()?, checked(key)?);
    let Ok(space) = usize::try_from(valuelen) else {
        return Err(Failure::new(MPI_ERR_ARG, format!("the length {valuelen} is negative")));
    };
    let found = info.pairs().get(&key).map(str::to_owned);
    if let Some(found) = &found {
        value.write(found, space + 1)?;
    }
    flag.set(found.is_some().into())
}

/// `MPI_Info_get_string`: `buflen` counts the null character.
pub fn info_get_string(
    info: MPI_Info,
    key: Text,
    buflen: Ptr<c_int>,
    value: TextBuffer,
    flag: Ptr<c_int>,
) -> Outcome {
    let (info, key) = (info.get()?, checked(key)?);
    let space = usize::try_from(buflen.get()?).unwrap_or(0);
    let found = info.pairs().get(&key).map(str::to_owned);
    if let Some(found) = &found {
        value.write(found, space)?;
        buflen.set(text::bytes_of(found).len() as c_int + 1)?;
    }
    flag.set(found.is_some().into())
}

/// `MPI_Info_get_valuelen`, deprecated
pub fn info_get_valuelen(
    info: MPI_Info,
    key: Text,
    valuelen: Ptr<c_int>,
    flag: Ptr<c_int>,
) -> Outcome {
    let (info, key) = (info.get()?, checked(key)?);
    let found = info.pairs().get(&key).map(|value| text::bytes_of(value).len());
    if let Some(bytes) = found {
        valuelen.set(bytes as c_int)?;
    }
    flag.set(found.is_some().into())
}

/// `MPI_Info_get_nkeys`
pub fn info_get_nkeys(info: MPI_Info, nkeys: Ptr<c_int>) -> Outcome {
    nkeys.set(info.get()?.pairs().nkeys() as c_int)
}

/// `MPI_Info_get_nthkey`
pub fn info_get_nthkey(info: MPI_Info, n: c_int, key: TextBuffer) -> Outcome {
    let pairs = info.get()?.pairs();
    let found = usize::try_from(n).ok().and_then(|n| pairs.nthkey(n));
    let Some(found) = found else {
        let why = format!("there is no key {n}; the object has {}", pairs.nkeys());
        return Err(Failure::new(MPI_ERR_ARG, why));
    };
    key.write(found, MPI_MAX_INFO_KEY as usize).map(drop)
}
