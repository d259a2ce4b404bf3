//! Datatypes in C (MPI-4.1 chapter 5).
//!
//! For the library a datatype is a [`onesided::DerivedDatatype`], which has the places of the elements.
//! This module has the rest: the standard's names of the elements ([`basic`]), their sequence
//! ([`sequence`]), and the constructor with its arguments ([`made`]).

mod basic;
mod external;
mod layout;
mod made;
mod sequence;

pub use basic::{Basic, Kind};
pub use external::{from_external, to_external};
pub use layout::layout;
pub use made::{Made, NumberKind};
pub use sequence::Sequence;

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::form;
use crate::handle::{Handle, Object, Table};
use basic::BASICS;
use onesided::engine::Attributes;
use onesided::{CommittedDatatype, DerivedDatatype};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What an `MPI_Datatype` stands for.
pub struct Datatype {
    shape: Arc<Shape>,
    committed: OnceLock<CommittedDatatype>,
    /// Whether the program cannot free it.
    lasts: bool,
    name: Mutex<Option<String>>,
    pub attributes: Attributes<()>,
}

/// The properties that a datatype shares with its duplicates.
#[derive(Debug)]
pub struct Shape {
    pub derived: DerivedDatatype,
    pub sequence: Sequence,
    pub made: Made,
}

impl Datatype {
    pub fn new(derived: DerivedDatatype, sequence: Sequence, made: Made) -> Datatype {
        Datatype::of(Arc::new(Shape { derived, sequence, made }))
    }

    fn of(shape: Arc<Shape>) -> Datatype {
        let (committed, name, attributes) = Default::default();
        Datatype { shape, committed, lasts: false, name, attributes }
    }

    /// A predefined datatype, which the program cannot free.
    fn lasting(basic: &'static Basic, made: Made) -> Datatype {
        let (derived, sequence) = (basic.derived(), Sequence::of(basic));
        let datatype = Datatype { lasts: true, ..Datatype::new(derived, sequence, made) };
        datatype.commit();
        datatype
    }

    /// A duplicate with the given attributes and without a name, committed if this one is (`MPI_Type_dup`).
    pub fn duplicate(&self, made: Made, attributes: Attributes<()>) -> Outcome<Datatype> {
        let shape = &self.shape;
        let new = Datatype::new(shape.derived.dup()?, shape.sequence.clone(), made);
        let new = Datatype { attributes, ..new };
        if self.committed.get().is_some() {
            new.commit();
        }
        Ok(new)
    }

    /// The same datatype under a handle of its own, committed if this one is.
    pub fn shared(&self) -> Datatype {
        let shared = Datatype::of(self.shape.clone());
        if self.committed.get().is_some() {
            shared.commit();
        }
        shared
    }

    pub fn commit(&self) {
        self.committed.get_or_init(|| self.shape.derived.commit());
    }

    /// The committed datatype, for communication.
    #[inline]
    pub fn committed(&self) -> Outcome<&CommittedDatatype> {
        self.committed
            .get()
            .ok_or_else(|| Failure::new(MPI_ERR_TYPE, "the datatype has not been committed"))
    }

    pub fn derived(&self) -> &DerivedDatatype {
        &self.shape.derived
    }

    pub fn sequence(&self) -> &Sequence {
        &self.shape.sequence
    }

    pub fn made(&self) -> &Made {
        &self.shape.made
    }

    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// The name of a predefined datatype, or the one that the program has set.
    pub fn name(&self) -> String {
        let given = self.name.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*given, self.shape.made.combiner) {
            (Some(name), _) => name.clone(),
            (None, MPI_COMBINER_NAMED) => self.derived().name().unwrap_or_default().into(),
            (None, _) => String::new(),
        }
    }

    pub fn set_name(&self, name: String) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }
}

/// The datatype of an argument of a communication.
#[inline(always)]
pub fn usable(datatype: MPI_Datatype) -> Outcome<&'static CommittedDatatype> {
    match known(datatype) {
        Some((datatype, _)) => Ok(datatype),
        None => committed(datatype),
    }
}

#[cold]
#[inline(never)]
fn committed(datatype: MPI_Datatype) -> Outcome<&'static CommittedDatatype> {
    datatype.get()?.committed()
}

/// A predefined datatype, and the kind of its elements, by one look at a table.
#[inline(always)]
pub fn known(datatype: MPI_Datatype) -> Option<(&'static CommittedDatatype, u16)> {
    KNOWN.get(form::datatype_place(datatype.value()))?.get().copied()
}

/// What communication needs of the [`predefined`] datatypes, from the start of the job on. Whether one is there stands beside
/// it: otherwise the first use of a datatype would miss the caches once more.
static KNOWN: [OnceLock<(&CommittedDatatype, u16)>; 256] = [const { OnceLock::new() }; 256];

/// By the places of their numbers in the ABI.
fn predefined() -> &'static [Option<Datatype>; 256] {
    static ALL: OnceLock<[Option<Datatype>; 256]> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = [const { None }; 256];
        for basic in BASICS {
            let named = Made::new(MPI_COMBINER_NAMED);
            all[form::datatype_place(basic.value)] = Some(Datatype::lasting(basic, named));
        }
        all
    })
}

/// Fills the table of [`known`] datatypes.
pub fn prepare() {
    for (known, datatype) in KNOWN.iter().zip(predefined()) {
        if let Some(datatype) = datatype
            && let Some(committed) = datatype.committed.get()
        {
            known.get_or_init(|| (committed, datatype.sequence().kinds));
        }
    }
}

/// The datatype of `MPI_Type_create_f90_integer`, `_real` and `_complex`: the same one for the same arguments,
/// as large as a predefined one, and never freed (MPI-4.1 §19.1.5).
pub fn parameterised(combiner: c_int, arguments: &[c_int], like: usize) -> Outcome<MPI_Datatype> {
    type Known = BTreeMap<(c_int, Vec<c_int>), MPI_Datatype>;
    static KNOWN: Mutex<Known> = Mutex::new(Known::new());
    let Some(basic) = BASICS.iter().find(|basic| basic.value == like) else {
        return Err(Failure::new(MPI_ERR_INTERN, format!("{like:#x} is no predefined datatype")));
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || {
        let made = Made::new(combiner).integers(arguments);
        Handle::new(Datatype::lasting(basic, made))
    };
    Ok(*known.entry((combiner, arguments.into())).or_insert_with(new))
}

/// The datatype of a handle that this library has not made.
#[cfg(not(node))]
fn made_elsewhere(_: usize) -> Option<&'static Datatype> {
    None
}
#[cfg(node)]
use crate::host::datatype as made_elsewhere;

impl Object for Datatype {
    const NAME: &'static str = "MPI_Datatype";
    const NULL: usize = MPI_DATATYPE_NULL;
    const CLASS: c_int = MPI_ERR_TYPE;
    const KIND: usize = 4;

    fn label(&self) -> Option<String> {
        Some(self.name())
    }

    fn description(&self) -> Option<String> {
        Some(format!("{:?}", self.derived()))
    }

    fn table() -> &'static Table<Datatype> {
        static TABLE: Table<Datatype> = Table::new();
        &TABLE
    }

    #[inline]
    fn predefined(value: usize) -> Option<&'static Datatype> {
        let Some(own) = predefined().get(form::datatype_place(value)) else {
            return made_elsewhere(value);
        };
        own.as_ref()
    }
}
