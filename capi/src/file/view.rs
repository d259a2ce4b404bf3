//! What a rank sees of a file (MPI-4.1 §14.3).

use super::representation::Representation;
use super::tiles::Tiles;
use crate::abi::*;
use crate::datatype::{Datatype, usable};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use std::ffi::c_int;

/// The view of a rank.
pub struct View {
    disp: i64,
    etype: ViewType,
    filetype: ViewType,
    representation: Representation,
    /// Bytes of an etype in the file, more than none.
    unit: u64,
    tiles: Tiles,
}

/// A datatype of a view, which the program may free.
enum ViewType {
    Lasting(MPI_Datatype),
    Derived(Datatype),
}

impl ViewType {
    fn new(handle: MPI_Datatype) -> Outcome<ViewType> {
        let datatype = handle.get()?;
        Ok(match datatype.lasts() {
            true => ViewType::Lasting(handle),
            false => ViewType::Derived(datatype.shared()),
        })
    }

    /// A handle for the program: a new one, unless the datatype lasts.
    fn handle(&self) -> MPI_Datatype {
        match self {
            ViewType::Lasting(handle) => *handle,
            ViewType::Derived(datatype) => Handle::new(datatype.shared()),
        }
    }
}

/// Where a seek begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    Start,
    Position,
    End,
}

impl Whence {
    pub fn new(whence: c_int) -> Outcome<Whence> {
        match whence {
            MPI_SEEK_SET => Ok(Whence::Start),
            MPI_SEEK_CUR => Ok(Whence::Position),
            MPI_SEEK_END => Ok(Whence::End),
            _ => {
                let names = "MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END";
                Err(Failure::new(MPI_ERR_ARG, format!("{whence} is none of {names}")))
            }
        }
    }
}

impl View {
    /// The view of a file that has just been opened: its bytes.
    pub fn bytes() -> View {
        let byte = MPI_Datatype::predefined(MPI_BYTE);
        View {
            disp: 0,
            etype: ViewType::Lasting(byte),
            filetype: ViewType::Lasting(byte),
            representation: Representation::Memory("native"),
            unit: 1,
            tiles: Tiles::bytes(),
        }
    }

    /// `MPI_File_set_view`, with a displacement in bytes.
    pub fn new(
        disp: i64,
        (etype, filetype): (MPI_Datatype, MPI_Datatype),
        representation: Representation,
        is_written: bool,
    ) -> Outcome<View> {
        let Ok(start) = u64::try_from(disp) else {
            return Err(Failure::new(MPI_ERR_ARG, format!("the displacement {disp} is negative")));
        };
        let layout = |handle: MPI_Datatype| {
            usable(handle)?;
            representation.layout(handle.get()?)
        };
        let (unit, tile) = (layout(etype)?.size(), layout(filetype)?.commit());
        let size = tile.datatype().size();
        if unit == 0 || !size.is_multiple_of(unit) {
            let why = format!("a filetype of {size} bytes is not made of etypes of {unit} bytes");
            return Err(Failure::new(MPI_ERR_ARG, why));
        }
        Ok(View {
            disp,
            etype: ViewType::new(etype)?,
            filetype: ViewType::new(filetype)?,
            representation,
            unit,
            tiles: Tiles::new(start, &tile, is_written)?,
        })
    }

    /// In bytes.
    pub fn displacement(&self) -> i64 {
        self.disp
    }

    /// Etype and filetype, for the program.
    pub fn datatypes(&self) -> (MPI_Datatype, MPI_Datatype) {
        (self.etype.handle(), self.filetype.handle())
    }

    pub fn representation(&self) -> Representation {
        self.representation
    }

    pub fn tiles(&self) -> &Tiles {
        &self.tiles
    }

    /// Bytes of an etype in the file.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// The etypes that an access of some bytes moves.
    pub fn etypes_of(&self, bytes: u64) -> Outcome<u64> {
        if bytes.is_multiple_of(self.unit) {
            return Ok(bytes / self.unit);
        }
        let why = format!("{bytes} bytes are no whole number of etypes of {} bytes", self.unit);
        Err(Failure::new(MPI_ERR_TYPE, why))
    }

    /// The byte of data at which an etype begins.
    pub fn data_at(&self, etypes: u64) -> Outcome<u64> {
        etypes.checked_mul(self.unit).ok_or_else(|| {
            let why = format!("no file has {etypes} etypes of {} bytes", self.unit);
            Failure::new(MPI_ERR_ARG, why)
        })
    }

    /// The byte of the file at which an etype begins.
    pub fn byte_at(&self, etypes: u64) -> Outcome<u64> {
        Ok(self.tiles.place(self.data_at(etypes)?)?.0)
    }

    /// The number of etypes that the first bytes of a file have, also in part.
    pub fn etypes_before(&self, end: u64) -> u64 {
        self.tiles.data_before(end).div_ceil(self.unit)
    }

    /// The etype to which a seek leads, from a position in a file of `size` bytes.
    pub fn sought(&self, offset: i64, whence: Whence, position: u64, size: u64) -> Outcome<u64> {
        let from = match whence {
            Whence::Start => 0,
            Whence::Position => position,
            Whence::End => self.etypes_before(size),
        };
        from.checked_add_signed(offset).filter(|to| *to <= i64::MAX as u64).ok_or_else(|| {
            let why = format!("the offset {offset} from etype {from} leads out of the file");
            Failure::new(MPI_ERR_ARG, why)
        })
    }
}

/// An offset in etypes that must not be negative.
pub fn offset(given: i64) -> Outcome<u64> {
    u64::try_from(given)
        .map_err(|_| Failure::new(MPI_ERR_ARG, format!("the offset {given} is negative")))
}
