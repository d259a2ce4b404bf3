//! Datatypes, as C has them (MPI-4.1 chapter 5).

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use onesided::engine::Attributes;
use onesided::{CommittedDatatype, Datatype as Element, DerivedDatatype};
use std::ffi::c_int;
use std::sync::OnceLock;

/// What an `MPI_Datatype` stands for.
pub struct Datatype {
    pub derived: DerivedDatatype,
    committed: OnceLock<CommittedDatatype>,
    pub attributes: Attributes<()>,
}

impl Datatype {
    pub fn new(derived: DerivedDatatype) -> Datatype {
        Datatype { derived, committed: OnceLock::new(), attributes: Attributes::default() }
    }

    pub fn commit(&self) {
        self.committed.get_or_init(|| self.derived.commit());
    }

    /// What communication takes.
    #[inline]
    pub fn committed(&self) -> Outcome<&CommittedDatatype> {
        self.committed
            .get()
            .ok_or_else(|| Failure::new(MPI_ERR_TYPE, "the datatype has not been committed"))
    }
}

/// The datatype of an argument of a communication.
#[inline]
pub fn usable(datatype: MPI_Datatype) -> Outcome<&'static CommittedDatatype> {
    datatype.get()?.committed()
}

/// The predefined datatypes that the machine has arithmetic for, and what they are made of.
const ELEMENTS: &[(usize, Element)] = &[
    (MPI_AINT, Element::I64),
    (MPI_COUNT, Element::I64),
    (MPI_OFFSET, Element::I64),
    (MPI_PACKED, Element::U8),
    (MPI_SHORT, Element::I16),
    (MPI_INT, Element::I32),
    (MPI_LONG, Element::I64),
    (MPI_LONG_LONG, Element::I64),
    (MPI_UNSIGNED_SHORT, Element::U16),
    (MPI_UNSIGNED, Element::U32),
    (MPI_UNSIGNED_LONG, Element::U64),
    (MPI_UNSIGNED_LONG_LONG, Element::U64),
    (MPI_FLOAT, Element::F32),
    (MPI_C_FLOAT_COMPLEX, Element::C32),
    (MPI_CXX_FLOAT_COMPLEX, Element::C32),
    (MPI_DOUBLE, Element::F64),
    (MPI_C_DOUBLE_COMPLEX, Element::C64),
    (MPI_CXX_DOUBLE_COMPLEX, Element::C64),
    (MPI_FLOAT_INT, Element::FloatInt),
    (MPI_DOUBLE_INT, Element::DoubleInt),
    (MPI_LONG_INT, Element::LongInt),
    (MPI_2INT, Element::TwoInt),
    (MPI_SHORT_INT, Element::ShortInt),
    (MPI_C_BOOL, Element::U8),
    (MPI_CXX_BOOL, Element::U8),
    (MPI_WCHAR, Element::I32),
    (MPI_INT8_T, Element::I8),
    (MPI_UINT8_T, Element::U8),
    (MPI_CHAR, Element::I8),
    (MPI_SIGNED_CHAR, Element::I8),
    (MPI_UNSIGNED_CHAR, Element::U8),
    (MPI_BYTE, Element::U8),
    (MPI_INT16_T, Element::I16),
    (MPI_UINT16_T, Element::U16),
    (MPI_INT32_T, Element::I32),
    (MPI_UINT32_T, Element::U32),
    (MPI_INT64_T, Element::I64),
    (MPI_UINT64_T, Element::U64),
];

/// By their numbers in the ABI, from `MPI_DATATYPE_NULL` on.
fn predefined() -> &'static [Option<Datatype>; 256] {
    static ALL: OnceLock<[Option<Datatype>; 256]> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = [const { None }; 256];
        for (value, element) in ELEMENTS {
            let datatype = Datatype::new(DerivedDatatype::from(*element));
            datatype.commit();
            all[value - MPI_DATATYPE_NULL] = Some(datatype);
        }
        all
    })
}

impl Object for Datatype {
    const NAME: &'static str = "MPI_Datatype";
    const NULL: usize = MPI_DATATYPE_NULL;
    const CLASS: c_int = MPI_ERR_TYPE;
    const KIND: usize = 4;

    fn table() -> &'static Table<Datatype> {
        static TABLE: Table<Datatype> = Table::new();
        &TABLE
    }

    #[inline]
    fn predefined(value: usize) -> Option<&'static Datatype> {
        predefined().get(value.checked_sub(MPI_DATATYPE_NULL)?)?.as_ref()
    }
}
