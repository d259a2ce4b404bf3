//! The library of the other MPI: loading it, looking up its functions, initialising and finalizing.
#![allow(unsafe_code, reason = "loads a library and calls its functions")]

use super::abi::{self, Handle};
use super::{ForeignComm, ForeignError, ForeignResult};
use crate::shm::is_forked;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::Duration;

/// The functions of a library that return an error code. Those under `safe` take no address but of one
/// value, as a reference; their callers pass live handles.
macro_rules! functions {
    (safe { $($easy:ident: $easily:literal ($($given:ty),*);)* }
     $($name:ident: $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions, by the prototypes of the ABI (`capi/abi/functions.txt`).
        #[derive(Clone, Copy)]
        pub(super) struct Functions {
            $(pub(super) $easy: extern "C" fn($($given),*) -> c_int,)*
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            fn find(library: &Library) -> std::result::Result<Functions, String> {
                Ok(Functions {
                    $($name: {
                        // SAFETY: the standard's ABI gives the function this type.
                        let found = unsafe { library.get($symbol.as_bytes()) };
                        *found.map_err(|error| error.to_string())?
                    },)*
                    $($easy: {
                        // SAFETY: the standard's ABI gives the function this type: a reference is the
                        // address of a value, and no reference is null.
                        let found = unsafe { library.get($easily.as_bytes()) };
                        *found.map_err(|error| error.to_string())?
                    },)*
                })
            }
        }
    };
}

type Count = i64;
type Address = isize;
type From = *const c_void;
type To = *mut c_void;

functions! {
    safe {
        finalize: "MPI_Finalize" ();
        barrier: "MPI_Barrier" (Handle);
        abort: "MPI_Abort" (Handle, c_int);
        error_class: "MPI_Error_class" (c_int, &mut c_int);
        comm_rank: "MPI_Comm_rank" (Handle, &mut c_int);
        comm_size: "MPI_Comm_size" (Handle, &mut c_int);
        comm_split: "MPI_Comm_split" (Handle, c_int, c_int, &mut Handle);
        comm_dup: "MPI_Comm_dup" (Handle, &mut Handle);
        comm_group: "MPI_Comm_group" (Handle, &mut Handle);
        comm_create_group: "MPI_Comm_create_group" (Handle, Handle, c_int, &mut Handle);
        group_free: "MPI_Group_free" (&mut Handle);
        comm_free: "MPI_Comm_free" (&mut Handle);
        comm_errors: "MPI_Comm_set_errhandler" (Handle, Handle);
        iprobe: "MPI_Iprobe" (c_int, c_int, Handle, &mut c_int, Option<&mut u8>);
        request_free: "MPI_Request_free" (&mut Handle);
        wait: "MPI_Wait" (&mut Handle, Option<&mut u8>);
        win_errors: "MPI_Win_set_errhandler" (Handle, Handle);
        win_free: "MPI_Win_free" (&mut Handle);
        lock: "MPI_Win_lock" (c_int, c_int, c_int, Handle);
        unlock: "MPI_Win_unlock" (c_int, Handle);
        lock_all: "MPI_Win_lock_all" (c_int, Handle);
        unlock_all: "MPI_Win_unlock_all" (Handle);
        flush: "MPI_Win_flush" (c_int, Handle);
        sync: "MPI_Win_sync" (Handle);
    }
    init_thread: "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    library_version: "MPI_Get_library_version" (*mut c_char, *mut c_int);
    error_string: "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    group_incl: "MPI_Group_incl" (Handle, c_int, *const c_int, *mut Handle);
    isend: "MPI_Isend_c" (From, Count, Handle, c_int, c_int, Handle, *mut Handle);
    irecv: "MPI_Irecv_c" (To, Count, Handle, c_int, c_int, Handle, *mut Handle);
    recv: "MPI_Recv" (To, c_int, Handle, c_int, c_int, Handle, To);
    allgather: "MPI_Allgather" (From, c_int, Handle, To, c_int, Handle, Handle);
    win_allocate: "MPI_Win_allocate" (Address, c_int, Handle, Handle, To, *mut Handle);
    win_create: "MPI_Win_create" (To, Address, c_int, Handle, Handle, *mut Handle);
    win_attribute: "MPI_Win_get_attr" (Handle, c_int, To, *mut c_int);
    put: "MPI_Put_c" (From, Count, Handle, c_int, Address, Count, Handle, Handle);
    get: "MPI_Get_c" (To, Count, Handle, c_int, Address, Count, Handle, Handle);
    accumulate: "MPI_Accumulate_c" (From, Count, Handle, c_int, Address, Count, Handle, Handle, Handle);
    get_accumulate: "MPI_Get_accumulate_c" (From, Count, Handle, To, Count, Handle, c_int, Address, Count, Handle, Handle, Handle);
    fetch_and_op: "MPI_Fetch_and_op" (From, To, Handle, c_int, Address, Handle, Handle);
    compare_and_swap: "MPI_Compare_and_swap" (From, From, To, Handle, c_int, Address, Handle);
}

/// How long a failing rank waits for the launcher to pass its output on.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The functions, once this process has joined, and their library, which is never unloaded.
static JOINED: OnceLock<(Functions, Library)> = OnceLock::new();
/// Set when this rank has finalized.
static LEFT: OnceLock<()> = OnceLock::new();

/// The functions of the loaded library; every caller has a handle of it.
pub(super) fn functions() -> &'static Functions {
    &JOINED.get().expect("there are handles only once the library is loaded").0
}

/// The outcome of a function of the library.
pub(super) fn checked(code: c_int) -> ForeignResult<()> {
    if code == abi::SUCCESS { Ok(()) } else { Err(refusal(functions(), code)) }
}

#[cold]
fn refusal(functions: &Functions, code: c_int) -> ForeignError {
    let (mut class, mut length) = (0, 0);
    let mut text = [0u8; abi::MAX_ERROR_STRING];
    (functions.error_class)(code, &mut class);
    // SAFETY: the longest string of the ABI fits; a place for an int.
    unsafe { (functions.error_string)(code, text.as_mut_ptr().cast(), &raw mut length) };
    let text = text.get(..length.max(0) as usize).unwrap_or(&text);
    ForeignError { class, text: String::from_utf8_lossy(text).into_owned() }
}

/// `MPI_Allgather` of equally many bytes from each rank of `comm` into `all`, in rank order.
///
/// Collective; blocks until every rank has called it.
pub(super) fn allgather(comm: ForeignComm, mine: &[u8], all: &mut [u8]) -> ForeignResult<()> {
    assert_eq!(all.len(), mine.len() * comm.size as usize);
    let (bytes, from, to) = (mine.len() as c_int, mine.as_ptr().cast(), all.as_mut_ptr().cast());
    let allgather = functions().allgather;
    // SAFETY: a live communicator; both buffers have the given lengths, as asserted.
    checked(unsafe { allgather(from, bytes, abi::BYTE, to, bytes, abi::BYTE, comm.handle) })
}

/// `MPI_Group_incl`: the group of those ranks of a live group.
pub(super) fn group_of(all: Handle, ranks: &[c_int]) -> ForeignResult<Handle> {
    let mut some = abi::GROUP_NULL;
    // SAFETY: a live group; a slice and its length; a place for a handle.
    checked(unsafe {
        (functions().group_incl)(all, ranks.len() as c_int, ranks.as_ptr(), &raw mut some)
    })?;
    Ok(some)
}

/// `MPI_Isend` of a message without data, whose request needs no wait because it has no buffer.
pub(super) fn send_nothing(comm: ForeignComm, rank: u32, tag: c_int) -> ForeignResult<()> {
    let (mut request, isend) = (abi::REQUEST_NULL, functions().isend);
    let (to, comm, place) = (rank as c_int, comm.handle, &raw mut request);
    // SAFETY: a live communicator; no data; a place for a handle.
    checked(unsafe { isend(std::ptr::null(), 0, abi::BYTE, to, tag, comm, place) })?;
    checked((functions().request_free)(&mut request))
}

/// `MPI_Recv` of one. Blocks until it arrives.
pub(super) fn receive_nothing(comm: ForeignComm, rank: u32, tag: c_int) -> ForeignResult<()> {
    let (nothing, from, recv) = (std::ptr::null_mut(), rank as c_int, functions().recv);
    // SAFETY: a live communicator; no data; null stands for an ignored status.
    checked(unsafe { recv(nothing, 0, abi::BYTE, from, tag, comm.handle, nothing) })
}

impl ForeignComm {
    /// Sends a message, which goes on until it is waited for.
    pub(crate) fn send(
        &self,
        rank: u32,
        tag: i32,
        buffer: Box<[u8]>,
    ) -> ForeignResult<ForeignMessage> {
        let mut pending = ForeignMessage { request: abi::REQUEST_NULL, buffer };
        let (start, bytes) = (pending.buffer.as_ptr().cast(), pending.buffer.len() as i64);
        let (rank, request) = (rank as c_int, &raw mut pending.request);
        // SAFETY: a buffer of that many bytes, which lives until the request is complete; a place for a
        // handle.
        checked(unsafe {
            (functions().isend)(start, bytes, abi::BYTE, rank, tag, self.handle, request)
        })?;
        Ok(pending)
    }

    /// Receives a message of that many bytes, when it is waited for.
    pub(crate) fn receive(&self, rank: u32, tag: i32, bytes: u64) -> ForeignResult<ForeignMessage> {
        let buffer = vec![0; bytes as usize].into();
        let mut pending = ForeignMessage { request: abi::REQUEST_NULL, buffer };
        let (start, bytes) = (pending.buffer.as_mut_ptr().cast(), bytes as i64);
        let (rank, request) = (rank as c_int, &raw mut pending.request);
        // SAFETY: as in `send`; no other thread accesses the buffer until then.
        checked(unsafe {
            (functions().irecv)(start, bytes, abi::BYTE, rank, tag, self.handle, request)
        })?;
        Ok(pending)
    }
}

/// A message under way, with its bytes. They are leaked if it is never waited for.
pub(crate) struct ForeignMessage {
    request: Handle,
    buffer: Box<[u8]>,
}

impl ForeignMessage {
    /// Blocks until the message is complete; its bytes.
    pub(crate) fn wait(mut self) -> ForeignResult<Box<[u8]>> {
        checked((functions().wait)(&mut self.request, None))?;
        Ok(std::mem::take(&mut self.buffer))
    }
}

impl Drop for ForeignMessage {
    fn drop(&mut self) {
        // Empty, unless the other MPI may still access it.
        Box::leak(std::mem::take(&mut self.buffer));
    }
}

/// Calls `MPI_Init_thread` of the library `name` and returns the world, or a sentence for the error.
/// Once per process; blocks until every rank has called it.
pub(crate) fn join(name: &str) -> std::result::Result<ForeignComm, String> {
    // SAFETY: the library is an MPI that the user has named or installed, with its initialisers.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| error.to_string())?;
    let found = Functions::find(&library)?;
    let version = version(&found);
    if version.contains(env!("CARGO_PKG_NAME")) {
        return Err(format!(
            "{name} is this library's own C interface, which needs rmarun; for a C program, let \
             LD_LIBRARY_PATH name the folder of the other MPI's"
        ));
    }
    let mut provided = 0;
    // SAFETY: null stands for arguments that are not given; a place for an int.
    let code = unsafe {
        (found.init_thread)(
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            abi::THREAD_MULTIPLE,
            &raw mut provided,
        )
    };
    if code != abi::SUCCESS {
        return Err(refusal(&found, code).text);
    }
    let (functions, _) = JOINED.get_or_init(|| (found, library));
    watch_exit()?;
    if provided < abi::THREAD_MULTIPLE {
        return Err(format!("{} grants no MPI_THREAD_MULTIPLE", version.trim_end()));
    }
    let code = (functions.comm_errors)(abi::COMM_WORLD, abi::ERRORS_RETURN);
    checked(code).and_then(|()| ForeignComm::of(abi::COMM_WORLD)).map_err(|refusal| refusal.text)
}

fn version(functions: &Functions) -> String {
    let (mut text, mut length) = (vec![0u8; abi::MAX_LIBRARY_VERSION_STRING], 0);
    // SAFETY: the longest version of the ABI fits; a place for an int.
    unsafe { (functions.library_version)(text.as_mut_ptr().cast(), &raw mut length) };
    text.truncate(length.max(0) as usize);
    String::from_utf8_lossy(&text).into_owned()
}

/// Records that this rank has dropped its handles of the job. `MPI_Finalize` follows at the end of the
/// process, if that succeeds. It is not called here: it waits for ranks that might be waiting for this
/// one, if this one is failing.
pub(crate) fn leave_well() {
    let _ = LEFT.set(());
}

/// Makes the end of the process the end of its job, by finalize or abort (invariant 4).
fn watch_exit() -> std::result::Result<(), String> {
    unsafe extern "C" {
        /// glibc's `atexit` whose function gets the exit status.
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    #[allow(clippy::disallowed_methods, reason = "nothing is waited for: a pause at the very end")]
    extern "C" fn at_exit(status: c_int, _: *mut c_void) {
        let Some((functions, _)) = JOINED.get().filter(|_| !is_forked()) else { return };
        if status == 0 && LEFT.get().is_some() {
            // Other ranks may still access this rank's windows, which a finalized MPI does not serve.
            (functions.barrier)(abi::COMM_WORLD);
            // No rank has a handle of the job any more.
            (functions.finalize)();
        } else {
            // The rank's output is on its way through the launcher, which may drop it with the job.
            std::thread::sleep(LAST_WORDS);
            (functions.abort)(abi::COMM_WORLD, status.max(1));
        }
    }
    // SAFETY: the function has the expected type, and uses nothing that is destroyed by then.
    match unsafe { on_exit(at_exit, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err("the end of the process cannot be watched".into()),
    }
}

/// Ends the job, because the other MPI may still access memory of this process.
#[cold]
pub(super) fn give_up(why: &ForeignError) -> ! {
    eprintln!("onesided: the MPI underneath cannot complete an operation: {}", why.text);
    (functions().abort)(abi::COMM_WORLD, 1);
    std::process::abort()
}
