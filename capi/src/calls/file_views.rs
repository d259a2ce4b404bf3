//! Views of files (MPI-4.1 §14.3), and their data representation (§14.5).

use crate::abi::*;
use crate::arguments::{Address, Function, Number, Ptr, Text, TextBuffer};
use crate::failure::{Failure, Outcome};
use crate::file::{
    ConversionFunction, ExtentFunction, File, Registered, Representation, View, register,
};
use crate::info::hints;

/// The displacement of a view in bytes. Only a sequential file has its own, the shared file pointer (MPI-4.1
/// §14.3).
fn displacement(file: &File, disp: Count) -> Outcome<Count> {
    let is_current = disp == MPI_DISPLACEMENT_CURRENT;
    match file.mode.has(MPI_MODE_SEQUENTIAL) {
        true if is_current => Ok(file.view().byte_at(file.shared.get()?)? as Count),
        false if !is_current => Ok(disp),
        is_sequential => {
            let only = "MPI_DISPLACEMENT_CURRENT belongs to files with MPI_MODE_SEQUENTIAL";
            let has = if is_sequential { "has" } else { "has not" };
            Err(Failure::new(MPI_ERR_ARG, format!("{only}, and the file {has} that mode")))
        }
    }
}

/// `MPI_File_set_view`
pub fn file_set_view(
    fh: MPI_File,
    disp: Count,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: Text,
    info: MPI_Info,
) -> Outcome {
    let file = fh.get()?;
    let view = || {
        hints(info)?;
        let (disp, name) = (displacement(file, disp)?, datarep.read()?);
        View::new(disp, (etype, filetype), Representation::named(&name)?, file.mode.writes())
    };
    file.set_view(view())
}

/// `MPI_File_get_view`
pub fn file_get_view(
    fh: MPI_File,
    disp: Ptr<Count>,
    etype: Ptr<MPI_Datatype>,
    filetype: Ptr<MPI_Datatype>,
    datarep: TextBuffer,
) -> Outcome {
    let view = fh.get()?.view();
    let name = view.representation().name();
    datarep.write(name, MPI_MAX_DATAREP_STRING as usize)?;
    disp.set(view.displacement())?;
    let (own_etype, own_filetype) = view.datatypes();
    etype.set(own_etype)?;
    filetype.set(own_filetype)
}

/// `MPI_File_get_byte_offset`
pub fn file_get_byte_offset(fh: MPI_File, offset: Count, disp: Ptr<Count>) -> Outcome {
    let file = fh.get()?;
    file.check_random()?;
    disp.set(file.view().byte_at(crate::file::offset(offset)?)? as Count)
}

/// `MPI_File_get_type_extent`
pub fn file_get_type_extent<C: Number>(
    fh: MPI_File,
    datatype: MPI_Datatype,
    extent: Ptr<C>,
) -> Outcome {
    let layout = fh.get()?.view().representation().layout(datatype.get()?)?;
    extent.set(super::narrow(layout.extent())?)
}

/// `MPI_Register_datarep`, and with `large` the form whose functions have large counts
pub fn register_datarep(
    large: bool,
    datarep: Text,
    read_conversion_fn: Function,
    write_conversion_fn: Function,
    dtype_file_extent_fn: Function,
    extra_state: Address,
) -> Outcome {
    let Some(extent) = ExtentFunction::of(dtype_file_extent_fn) else {
        return Err(Failure::new(MPI_ERR_ARG, "the function for extents is null"));
    };
    let [read, write] = [read_conversion_fn, write_conversion_fn]
        .map(|function| ConversionFunction::of(function, large));
    register(Registered { name: datarep.read()?, read, write, extent, extra_state })
}
