//! Info objects, as C has them (MPI-4.1 chapter 10).

use crate::abi::*;
use crate::failure::Outcome;
use crate::handle::{Handle, Object, Table};
use crate::text;
use onesided::Info;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What an `MPI_Info` stands for.
#[derive(Default)]
pub struct InfoObject(Mutex<Info>);

impl InfoObject {
    pub fn new(info: Info) -> InfoObject {
        InfoObject(Mutex::new(info))
    }

    pub fn pairs(&self) -> MutexGuard<'_, Info> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hints of an argument for which `MPI_INFO_NULL` is allowed.
pub fn hints(info: MPI_Info) -> Outcome<Info> {
    if info == MPI_Info::NULL {
        return Ok(Info::new());
    }
    #[cfg(node)]
    return crate::host::hints(info);
    #[cfg(not(node))]
    Ok(info.get()?.pairs().clone())
}

/// A new info of the program.
pub fn of_program(info: Info) -> Outcome<MPI_Info> {
    #[cfg(node)]
    return crate::host::info(&info);
    #[cfg(not(node))]
    Ok(Handle::new(InfoObject::new(info)))
}

/// `MPI_INFO_ENV`: how this process was started (MPI-4.1 §10.2.1, table 11.1).
pub fn environment() -> Info {
    let mut info = Info::new();
    let mut arguments = std::env::args_os().map(|one| text::of_bytes(one.as_encoded_bytes()));
    let command = arguments.next().unwrap_or_default();
    let folder = std::env::current_dir().unwrap_or_default();
    let pairs = [
        ("command", command),
        ("argv", arguments.collect::<Vec<_>>().join(" ")),
        ("maxprocs", onesided::launch::ranks_of_job().to_string()),
        ("host", crate::calls::host_name()),
        ("arch", std::env::consts::ARCH.into()),
        ("wdir", text::of_bytes(folder.as_os_str().as_encoded_bytes())),
        ("thread_level", "MPI_THREAD_MULTIPLE".into()),
    ];
    for (key, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        // A value that is too long is left out.
        let _ = info.set(key, value);
    }
    info
}

impl Object for InfoObject {
    const NAME: &'static str = "MPI_Info";
    const NULL: usize = MPI_INFO_NULL;
    const CLASS: c_int = MPI_ERR_INFO;
    const KIND: usize = 6;

    fn table() -> &'static Table<InfoObject> {
        static TABLE: Table<InfoObject> = Table::new();
        &TABLE
    }

    fn predefined(value: usize) -> Option<&'static InfoObject> {
        static ENVIRONMENT: OnceLock<InfoObject> = OnceLock::new();
        let made = || InfoObject::new(environment());
        (value == MPI_INFO_ENV).then(|| ENVIRONMENT.get_or_init(made))
    }
}
