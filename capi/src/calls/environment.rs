//! The job and the machine (MPI-4.1 chapter 9 and §11.2 to §11.4).

use crate::abi::*;
use crate::arguments::{Address, Ptr, TextBuffer};
use crate::failure::{Failure, Outcome};
use crate::form;
use crate::job;
use onesided::launch::monotonic;
use std::ffi::c_int;

/// `MPI_Init`
pub fn init(_argc: Ptr<c_int>, _argv: Address) -> Outcome {
    job::begin(MPI_THREAD_MULTIPLE)
}

/// `MPI_Init_thread`
pub fn init_thread(
    _argc: Ptr<c_int>,
    _argv: Address,
    required: c_int,
    provided: Ptr<c_int>,
) -> Outcome {
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        let why = format!("{required} is no level of thread support");
        return Err(Failure::new(MPI_ERR_ARG, why));
    }
    job::begin(MPI_THREAD_MULTIPLE)?;
    provided.set(MPI_THREAD_MULTIPLE)
}

/// `MPI_Finalize`
pub fn finalize() -> Outcome {
    job::end()
}

/// `MPI_Initialized`
pub fn initialized(flag: Ptr<c_int>) -> Outcome {
    flag.set(job::has_begun().into())
}

/// `MPI_Finalized`
pub fn finalized(flag: Ptr<c_int>) -> Outcome {
    flag.set(job::is_over().into())
}

/// `MPI_Query_thread`
pub fn query_thread(provided: Ptr<c_int>) -> Outcome {
    provided.set(job::threads()?.0)
}

/// `MPI_Is_thread_main`
pub fn is_thread_main(flag: Ptr<c_int>) -> Outcome {
    flag.set(job::threads()?.1.into())
}

/// `MPI_Abort`
pub fn abort(comm: MPI_Comm, errorcode: c_int) -> Outcome {
    let rank = comm.get().map_or_else(|_| "?".into(), |comm| comm.comm.rank().0.to_string());
    job::abort(&format!("MPI_Abort: rank {rank} ends the job with code {errorcode}"), errorcode)
}

/// `MPI_Wtime`: the same clock for all ranks, CLOCK_MONOTONIC of the machine.
pub fn wtime() -> f64 {
    monotonic() as f64 * 1e-9
}

/// `MPI_Wtick`
pub fn wtick() -> f64 {
    1e-9
}

/// `MPI_Get_version`
pub fn get_version(version: Ptr<c_int>, subversion: Ptr<c_int>) -> Outcome {
    version.set(MPI_VERSION)?;
    subversion.set(MPI_SUBVERSION)
}

/// `MPI_Abi_get_version`
pub fn abi_get_version(abi_major: Ptr<c_int>, abi_minor: Ptr<c_int>) -> Outcome {
    abi_major.set(MPI_ABI_VERSION)?;
    abi_minor.set(MPI_ABI_SUBVERSION)
}

/// `MPI_Get_library_version`
pub fn get_library_version(version: TextBuffer, resultlen: Ptr<c_int>) -> Outcome {
    let text = format!("onesided {}, {}", env!("CARGO_PKG_VERSION"), form::NAME);
    resultlen.set(version.write(&text, MPI_MAX_LIBRARY_VERSION_STRING as usize)?)
}

/// `MPI_Get_processor_name`
pub fn get_processor_name(name: TextBuffer, resultlen: Ptr<c_int>) -> Outcome {
    resultlen.set(name.write(&host_name(), MPI_MAX_PROCESSOR_NAME as usize)?)
}

/// The name of this machine.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "localhost".into(), |name| name.trim_end().to_owned())
}

/// `MPI_Aint_add`
pub fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`
pub fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}

/// `MPI_Get_address`
pub fn get_address(location: Address, address: Ptr<Aint>) -> Outcome {
    address.set(location.value() as Aint)
}
