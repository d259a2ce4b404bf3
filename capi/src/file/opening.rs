//! Opening, closing and deleting files (MPI-4.1 §14.2).

use super::agreement::{agree, same};
use super::pointer::SharedPointer;
use super::{File, Mode, State, View, cause};
use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handler::{HandlerOf, OF_FILES};
use onesided::{Comm, Rank};
use std::ffi::{OsString, c_int};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The path that a text of the program names.
fn path(name: Vec<u8>) -> Outcome<PathBuf> {
    match name.is_empty() {
        true => Err(Failure::new(MPI_ERR_BAD_FILE, "the name of the file is empty")),
        false => Ok(OsString::from_vec(name).into()),
    }
}

/// A communicator of the same ranks with only this purpose: without the attributes of a duplicate, whose functions
/// are the program's.
fn with_same_ranks(comm: &Comm) -> Outcome<Comm> {
    let same = comm.create(&comm.group())?;
    same.ok_or_else(|| Failure::new(MPI_ERR_INTERN, "a rank is not in its communicator"))
}

/// `MPI_File_open`. Collective: it succeeds on all ranks or on none.
pub fn open(comm: &Comm, name: Outcome<Vec<u8>>, amode: c_int) -> Outcome<File> {
    let comm = with_same_ranks(comm)?;
    match open_all(&comm, name, amode) {
        Ok((path, mode, file, shared)) => {
            // For reports.
            comm.set_name(&path.display().to_string());
            let view = Arc::new(View::bytes());
            let position = start(mode, &file);
            let (is_atomic, is_dirty, split) = (false, false, None);
            let state = Mutex::new(State { view, position, is_atomic, is_dirty, split });
            let errhandler = HandlerOf::new(OF_FILES.share());
            Ok(File { comm, errhandler, mode, path, file, shared, state })
        }
        Err(failure) => {
            comm.free()?;
            Err(failure)
        }
    }
}

/// Where the file pointers are at first, in bytes.
fn start(mode: Mode, file: &fs::File) -> u64 {
    match mode.has(MPI_MODE_APPEND) {
        true => file.metadata().map_or(0, |metadata| metadata.len()),
        false => 0,
    }
}

type Opened = (PathBuf, Mode, fs::File, SharedPointer);

fn open_all(comm: &Comm, name: Outcome<Vec<u8>>, amode: c_int) -> Outcome<Opened> {
    let checked = name.and_then(path).and_then(|path| Ok((path, Mode::new(amode)?)));
    let (path, mode) = agree(comm, checked)?;
    same(comm, "access mode", amode.into())?;
    // One rank creates the file; only then do the others find it.
    let is_first = comm.rank() == Rank(0);
    let first = is_first.then(|| open_one(&path, mode, true)).transpose();
    let file = match agree(comm, first)? {
        Some(file) => agree(comm, Ok(file))?,
        None => agree(comm, open_one(&path, mode, false))?,
    };
    let shared = SharedPointer::new(comm, start(mode, &file))?;
    Ok((path, mode, file, shared))
}

fn open_one(path: &Path, mode: Mode, creates: bool) -> Outcome<fs::File> {
    let opened = mode.options(creates).open(path);
    let file = opened.map_err(|error| cause::failure(path, &error))?;
    match file.metadata().map_err(|error| cause::failure(path, &error))?.is_dir() {
        true => {
            let why = format!("{} is a directory", path.display());
            Err(Failure::new(MPI_ERR_BAD_FILE, why))
        }
        false => Ok(file),
    }
}

/// `MPI_File_close`, of a file that has no handle any more. Collective.
pub fn close(file: File) -> Outcome {
    let File { comm, mode, path, .. } = &file;
    let is_deleted = mode.has(MPI_MODE_DELETE_ON_CLOSE);
    let synchronised = if is_deleted { Ok(()) } else { file.synchronise() };
    // All accesses of all ranks are over.
    let synchronised = agree(comm, synchronised);
    let deleted = match is_deleted && comm.rank() == Rank(0) {
        true => fs::remove_file(path).map_err(|error| cause::failure(path, &error)),
        false => Ok(()),
    };
    let deleted = if is_deleted { agree(comm, deleted) } else { deleted };
    let File { comm, shared, .. } = file;
    let freed = shared.free();
    comm.free()?;
    synchronised.and(deleted).and(freed)
}

/// `MPI_File_delete`
pub fn delete(name: Vec<u8>) -> Outcome {
    let path = path(name)?;
    fs::remove_file(&path).map_err(|error| cause::failure(&path, &error))
}
