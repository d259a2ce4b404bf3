//! How data is represented in a file (MPI-4.1 §14.5).

use super::callback::{ConversionFunction, ExtentFunction};
use crate::abi::*;
use crate::arguments::Address;
use crate::datatype::{Basic, Datatype, Sequence, layout};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use onesided::DerivedDatatype;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// A data representation.
#[derive(Clone, Copy)]
pub enum Representation {
    /// The bytes of memory, which all ranks of a machine share: "native", and "internal" as the same.
    Memory(&'static str),
    /// "external32"
    External,
    /// One of the program's own.
    Registered(&'static Registered),
}

/// What `MPI_Register_datarep` registers, until the program ends.
pub struct Registered {
    pub name: String,
    pub read: Option<ConversionFunction>,
    pub write: Option<ConversionFunction>,
    pub extent: ExtentFunction,
    pub extra_state: Address,
}

static REGISTERED: Mutex<Vec<&'static Registered>> = Mutex::new(Vec::new());

fn find(registered: &[&'static Registered], name: &str) -> Option<Representation> {
    match name {
        "native" => Some(Representation::Memory("native")),
        "internal" => Some(Representation::Memory("internal")),
        "external32" => Some(Representation::External),
        _ => {
            let own = registered.iter().find(|own| own.name == name);
            own.map(|own| Representation::Registered(own))
        }
    }
}

/// `MPI_Register_datarep`
pub fn register(own: Registered) -> Outcome {
    let wrong = |code, why| Err(Failure::new(code, why));
    let name = &own.name;
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let most = MPI_MAX_DATAREP_STRING - 1;
        return wrong(MPI_ERR_ARG, format!("a name has 1 to {most} bytes, and {name:?} has not"));
    }
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if find(&registered, name).is_some() {
        return wrong(MPI_ERR_DUP_DATAREP, format!("there is a representation {name:?} already"));
    }
    registered.push(Box::leak(Box::new(own)));
    Ok(())
}

impl Representation {
    pub fn named(name: &str) -> Outcome<Representation> {
        let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        find(&registered, name).ok_or_else(|| {
            let why = format!(
                "{name:?} is none of \"native\", \"internal\" and \"external32\", and not registered"
            );
            Failure::new(MPI_ERR_UNSUPPORTED_DATAREP, why)
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Representation::Memory(name) => name,
            Representation::External => "external32",
            Representation::Registered(own) => &own.name,
        }
    }

    /// Whether data is in a file as it is in memory.
    pub fn is_memory(&self) -> bool {
        matches!(self, Representation::Memory(_))
    }

    /// The bytes of a predefined datatype in the file.
    fn bytes_of(&self, basic: &Basic) -> Outcome<u64> {
        match self {
            Representation::Memory(_) => Ok(basic.size()),
            Representation::External => Ok(basic.external()),
            Representation::Registered(own) => {
                own.extent.call(Handle::predefined(basic.value), own.extra_state)
            }
        }
    }

    /// Where the elements of a datatype lie in the file.
    pub fn layout(&self, datatype: &Datatype) -> Outcome<DerivedDatatype> {
        match self {
            Representation::Memory(_) => Ok(datatype.derived().clone()),
            _ => layout(datatype.derived(), &|basic| self.bytes_of(basic)),
        }
    }

    /// Bytes of instances in the file.
    pub fn size(&self, sequence: &Sequence, count: u64) -> Outcome<u64> {
        let one = match self {
            Representation::Memory(_) => sequence.size,
            Representation::External => sequence.external,
            Representation::Registered(_) => self.whole(sequence, 1, u64::MAX)?.file,
        };
        one.checked_mul(count).filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| {
            let why = format!("{count} elements have more bytes than a file");
            Failure::new(MPI_ERR_COUNT, why)
        })
    }

    /// What of instances is whole in the first `most` bytes in the file.
    pub fn whole(&self, sequence: &Sequence, count: u64, most: u64) -> Outcome<Whole> {
        let mut whole = Whole::default();
        let walked = sequence.walk(count, &mut |basic, times| {
            let bytes = match self.bytes_of(basic) {
                Ok(bytes) => bytes,
                Err(failure) => return ControlFlow::Break(Err(failure)),
            };
            let fit = (most - whole.file).checked_div(bytes).unwrap_or(times).min(times);
            whole.elements += fit;
            whole.file += fit * bytes;
            whole.memory += fit * basic.size();
            if fit < times { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
        });
        match walked {
            ControlFlow::Break(Err(failure)) => Err(failure),
            _ => Ok(whole),
        }
    }
}

/// Some predefined datatypes of instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    pub elements: u64,
    /// Their bytes in the file, and in memory.
    pub file: u64,
    pub memory: u64,
}
