//! The library of the other MPI: loading it, looking up its functions, initialising and finalizing; and the
//! calls that give it addresses.
#![allow(unsafe_code, reason = "loads a library and calls its functions")]

use super::abi::{self, ForeignStatus, Handle};
use super::flight::{Effect, Flight, StagedMemory, staged};
use super::{ForeignComm, ForeignError, ForeignResult, ForeignWindow, Results, ThreadLevel, mail};
use crate::datatype::{Datatype, Element, Integer};
use crate::op::Op;
use crate::prim::give_way;
use crate::shm::{Direction, Piece, Span, copy_overlapping, is_forked};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_void};
use std::io::Write;
use std::ops::Range;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr::{from_mut, from_ref, null, null_mut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
        abort: "MPI_Abort" (Handle, c_int);
        error_class: "MPI_Error_class" (c_int, &mut c_int);
        comm_rank: "MPI_Comm_rank" (Handle, &mut c_int);
        comm_size: "MPI_Comm_size" (Handle, &mut c_int);
        comm_split: "MPI_Comm_split" (Handle, c_int, c_int, &mut Handle);
        comm_split_type: "MPI_Comm_split_type" (Handle, c_int, c_int, Handle, &mut Handle);
        comm_dup: "MPI_Comm_dup" (Handle, &mut Handle);
        comm_group: "MPI_Comm_group" (Handle, &mut Handle);
        comm_create_group: "MPI_Comm_create_group" (Handle, Handle, c_int, &mut Handle);
        group_free: "MPI_Group_free" (&mut Handle);
        comm_free: "MPI_Comm_free" (&mut Handle);
        comm_errors: "MPI_Comm_set_errhandler" (Handle, Handle);
        iprobe: "MPI_Iprobe" (c_int, c_int, Handle, &mut c_int, Option<&mut u8>);
        request_free: "MPI_Request_free" (&mut Handle);
        test: "MPI_Test" (&mut Handle, &mut c_int, Option<&mut ForeignStatus>);
        improbe: "MPI_Improbe" (c_int, c_int, Handle, &mut c_int, &mut Handle, &mut ForeignStatus);
        get_count: "MPI_Get_count_c" (&ForeignStatus, Handle, &mut Count);
        ibarrier: "MPI_Ibarrier" (Handle, &mut Handle);
        info_create: "MPI_Info_create" (&mut Handle);
        info_free: "MPI_Info_free" (&mut Handle);
        shared_query: "MPI_Win_shared_query" (Handle, c_int, &mut Address, &mut c_int, &mut *mut u8);
        win_errors: "MPI_Win_set_errhandler" (Handle, Handle);
        win_free: "MPI_Win_free" (&mut Handle);
        lock_all: "MPI_Win_lock_all" (c_int, Handle);
        unlock_all: "MPI_Win_unlock_all" (Handle);
        flush: "MPI_Win_flush" (c_int, Handle);
        flush_all: "MPI_Win_flush_all" (Handle);
        sync: "MPI_Win_sync" (Handle);
    }
    init_thread: "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    library_version: "MPI_Get_library_version" (*mut c_char, *mut c_int);
    make_comm_errors: "MPI_Comm_create_errhandler" (From, *mut Handle);
    make_win_errors: "MPI_Win_create_errhandler" (From, *mut Handle);
    error_string: "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    group_incl: "MPI_Group_incl" (Handle, c_int, *const c_int, *mut Handle);
    isend: "MPI_Isend_c" (From, Count, Handle, c_int, c_int, Handle, *mut Handle);
    irecv: "MPI_Irecv_c" (To, Count, Handle, c_int, c_int, Handle, *mut Handle);
    comm_idup: "MPI_Comm_idup" (Handle, *mut Handle, *mut Handle);
    imrecv: "MPI_Imrecv_c" (To, Count, Handle, *mut Handle, *mut Handle);
    iallgather: "MPI_Iallgather" (From, c_int, Handle, To, c_int, Handle, Handle, *mut Handle);
    win_allocate: "MPI_Win_allocate" (Address, c_int, Handle, Handle, To, *mut Handle);
    win_allocate_shared: "MPI_Win_allocate_shared" (Address, c_int, Handle, Handle, To, *mut Handle);
    info_set: "MPI_Info_set" (Handle, *const c_char, *const c_char);
    win_create: "MPI_Win_create" (To, Address, c_int, Handle, Handle, *mut Handle);
    win_create_dynamic: "MPI_Win_create_dynamic" (Handle, Handle, *mut Handle);
    win_attach: "MPI_Win_attach" (Handle, To, Address);
    win_detach: "MPI_Win_detach" (Handle, From);
    win_attribute: "MPI_Win_get_attr" (Handle, c_int, To, *mut c_int);
    put: "MPI_Put_c" (From, Count, Handle, c_int, Address, Count, Handle, Handle);
    get: "MPI_Get_c" (To, Count, Handle, c_int, Address, Count, Handle, Handle);
    accumulate: "MPI_Accumulate_c" (From, Count, Handle, c_int, Address, Count, Handle, Handle, Handle);
    get_accumulate: "MPI_Get_accumulate_c" (From, Count, Handle, To, Count, Handle, c_int, Address, Count, Handle, Handle, Handle);
    fetch_and_op: "MPI_Fetch_and_op" (From, To, Handle, c_int, Address, Handle, Handle);
    compare_and_swap: "MPI_Compare_and_swap" (From, From, To, Handle, c_int, Address, Handle);
}

/// The other MPI, as this process has initialised it.
struct JoinedLibrary {
    functions: Functions,
    /// Never unloaded.
    _library: Library,
    /// The turn of a thread, if its threads may not call at the same time.
    turn: Option<Mutex<()>>,
}

/// Of dlopen: finds a library that is loaded already.
const RTLD_NOLOAD: c_int = 4;

/// How long a failing rank waits for the launcher to pass its output on.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// What there is once this process has joined.
static JOINED: OnceLock<JoinedLibrary> = OnceLock::new();
/// The error handlers of communicators and of windows by which calls return their errors.
static HANDLERS: OnceLock<[Handle; 2]> = OnceLock::new();
/// What this rank does for others while it waits.
static PROGRESS: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();
/// Where the launcher listens to this process, which has not joined.
static LAUNCHER: OnceLock<UnixStream> = OnceLock::new();
/// Set when this rank has finalized.
static LEFT: OnceLock<()> = OnceLock::new();

/// Calls a function of the loaded library; every caller has a handle of it. Where threads take turns, blocks while
/// another one is in `call`, which calls nothing else here.
pub(super) fn called(call: impl FnOnce(&Functions) -> c_int) -> ForeignResult<()> {
    let joined = JOINED.get().expect("there are handles only once the library is loaded");
    let _turn =
        joined.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
    checked(&joined.functions, call(&joined.functions))
}

/// The outcome of a function of the library.
fn checked(functions: &Functions, code: c_int) -> ForeignResult<()> {
    if code == abi::SUCCESS { Ok(()) } else { Err(refusal(functions, code)) }
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

/// [`HANDLERS`], to be set once.
///
/// An MPI may have `MPI_ERRORS_RETURN` and `MPI_ERRORS_ABORT` interchanged, as Intel's 2021.19 has. It gets handlers of
/// this library, which do nothing. MPICH 5.0.2 has both right, and forgets the error when such a handler returns.
fn find_handlers(functions: &Functions, version: &str) -> ForeignResult<[Handle; 2]> {
    extern "C" fn do_nothing(_: *mut Handle, _: *mut c_int) {}
    let mut made = [abi::ERRORS_RETURN; 2];
    if version.starts_with("Intel") {
        let makers = [functions.make_comm_errors, functions.make_win_errors];
        for (make, made) in makers.into_iter().zip(&mut made) {
            // SAFETY: a function that lives as long as the process, called with two pointers and more arguments, which
            // the machine's convention lets it ignore; a place for a handle.
            checked(functions, unsafe { make(do_nothing as From, made) })?;
        }
    }
    Ok(made)
}

/// Lets the calls with a communicator return their errors.
pub(super) fn comm_returns_errors(comm: Handle) -> ForeignResult<()> {
    let handler = HANDLERS.get().map_or(abi::ERRORS_RETURN, |[comm, _]| *comm);
    called(|mpi| (mpi.comm_errors)(comm, handler))
}

/// `MPI_Group_incl`: the group of those ranks of a live group.
pub(super) fn group_of(all: Handle, ranks: &[c_int]) -> ForeignResult<Handle> {
    let mut some = abi::GROUP_NULL;
    // SAFETY: a live group; a slice and its length; a place for a handle.
    called(|mpi| unsafe {
        (mpi.group_incl)(all, ranks.len() as c_int, ranks.as_ptr(), &raw mut some)
    })?;
    Ok(some)
}

/// `MPI_Isend` of a message without data, whose request needs no wait because it has no buffer.
pub(super) fn send_nothing(comm: ForeignComm, rank: u32, tag: c_int) -> ForeignResult<()> {
    let mut request = abi::REQUEST_NULL;
    let (to, comm, place) = (rank as c_int, comm.handle, &raw mut request);
    // SAFETY: a live communicator; no data; a place for a handle.
    called(|mpi| unsafe { (mpi.isend)(null(), 0, abi::BYTE, to, tag, comm, place) })?;
    called(|mpi| (mpi.request_free)(&mut request))
}

impl ForeignComm {
    /// Sends a message, which goes on until it is waited for.
    pub(super) fn send(
        &self,
        rank: u32,
        tag: i32,
        buffer: Box<[u8]>,
    ) -> ForeignResult<ForeignMessage> {
        let mut pending = ForeignMessage::new(buffer);
        let (start, bytes) = (pending.buffer.as_ptr().cast(), pending.buffer.len() as i64);
        let (rank, request) = (rank as c_int, &raw mut pending.request);
        // SAFETY: a buffer of that many bytes, which lives until the request is complete; a place for a
        // handle.
        called(|mpi| unsafe {
            (mpi.isend)(start, bytes, abi::BYTE, rank, tag, self.handle, request)
        })?;
        Ok(pending)
    }

    /// Receives a message of that many bytes, when it is waited for.
    pub(super) fn receive(&self, rank: u32, tag: i32, bytes: u64) -> ForeignResult<ForeignMessage> {
        let mut pending = ForeignMessage::new(vec![0; bytes as usize].into());
        let (start, bytes) = (pending.buffer.as_mut_ptr().cast(), bytes as i64);
        let (rank, request) = (rank as c_int, &raw mut pending.request);
        // SAFETY: as in `send`; no other thread accesses the buffer until then.
        called(|mpi| unsafe {
            (mpi.irecv)(start, bytes, abi::BYTE, rank, tag, self.handle, request)
        })?;
        Ok(pending)
    }

    /// `MPI_Improbe`: begins to receive the next message with that tag that has arrived, if there is one; its
    /// sender, and the message.
    pub(super) fn matched(&self, tag: c_int) -> ForeignResult<Option<(u32, ForeignMessage)>> {
        let (mut found, mut message, mut status) = (0, abi::MESSAGE_NULL, ForeignStatus::default());
        called(|mpi| {
            (mpi.improbe)(abi::ANY_SOURCE, tag, self.handle, &mut found, &mut message, &mut status)
        })?;
        if found == 0 {
            return Ok(None);
        }
        let mut bytes = 0;
        called(|mpi| (mpi.get_count)(&status, abi::BYTE, &mut bytes))?;
        let mut pending = ForeignMessage::new(vec![0; bytes as usize].into());
        let (start, request) = (pending.buffer.as_mut_ptr().cast(), &raw mut pending.request);
        // SAFETY: a matched message; as in `receive`.
        called(|mpi| unsafe { (mpi.imrecv)(start, bytes, abi::BYTE, &raw mut message, request) })?;
        Ok(Some((status[0] as u32, pending)))
    }

    /// `MPI_Iallgather` of equally many bytes from each rank. Complete, it has them in rank order.
    ///
    /// Collective; does not block.
    pub(crate) fn begin_allgather(&self, mine: &[u8]) -> ForeignResult<ForeignMessage> {
        let mut pending = ForeignMessage::new(vec![0; mine.len() * self.size as usize].into());
        pending.given = mine.into();
        let (n, from) = (mine.len() as c_int, pending.given.as_ptr().cast());
        let (to, request) = (pending.buffer.as_mut_ptr().cast(), &raw mut pending.request);
        // SAFETY: a live communicator; buffers of as many bytes, which live until the request is complete
        // and which no other thread accesses until then; a place for a handle.
        called(|mpi| unsafe {
            (mpi.iallgather)(from, n, abi::BYTE, to, n, abi::BYTE, self.handle, request)
        })?;
        Ok(pending)
    }

    /// `MPI_Comm_idup`. Collective; does not block.
    pub(crate) fn begin_dup(&self) -> ForeignResult<ForeignDuplicate> {
        let request = ForeignMessage::new(Box::default());
        let mut pending = ForeignDuplicate { request, made: Box::new(abi::COMM_NULL) };
        let (made, request) = (&raw mut *pending.made, &raw mut pending.request.request);
        // SAFETY: a live communicator; places for handles, of which the first stays until the request is
        // complete.
        called(|mpi| unsafe { (mpi.comm_idup)(self.handle, made, request) })?;
        Ok(pending)
    }

    /// `MPI_Ibarrier`. Collective; does not block.
    pub(super) fn begin_barrier(&self) -> ForeignResult<ForeignMessage> {
        let mut pending = ForeignMessage::new(Box::default());
        called(|mpi| (mpi.ibarrier)(self.handle, &mut pending.request))?;
        Ok(pending)
    }
}

/// What the other MPI moves, with the bytes. They are leaked if it is dropped before it is complete.
pub(crate) struct ForeignMessage {
    request: Handle,
    /// What is sent or received.
    buffer: Box<[u8]>,
    /// What an allgather sends.
    given: Box<[u8]>,
}

impl ForeignMessage {
    fn new(buffer: Box<[u8]>) -> ForeignMessage {
        ForeignMessage { request: abi::REQUEST_NULL, buffer, given: Box::default() }
    }

    /// Bytes that it keeps allocated.
    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// `MPI_Test`: whether it is complete. Does not block.
    pub(crate) fn is_complete(&mut self) -> ForeignResult<bool> {
        let mut done = 0;
        called(|mpi| (mpi.test)(&mut self.request, &mut done, None))?;
        Ok(done != 0)
    }

    /// The bytes, of one that is complete.
    pub(crate) fn taken(mut self) -> Box<[u8]> {
        assert_eq!(self.request, abi::REQUEST_NULL, "the other MPI may access the buffer");
        std::mem::take(&mut self.buffer)
    }

    /// Blocks until it is complete; its bytes. Meanwhile this rank makes progress.
    pub(super) fn wait(mut self) -> ForeignResult<Box<[u8]>> {
        while !self.is_complete()? {
            progress();
            give_way();
        }
        Ok(self.taken())
    }
}

impl Drop for ForeignMessage {
    fn drop(&mut self) {
        if self.request != abi::REQUEST_NULL {
            Box::leak(std::mem::take(&mut self.buffer));
            Box::leak(std::mem::take(&mut self.given));
        }
    }
}

/// A duplicate of a communicator under way.
pub(crate) struct ForeignDuplicate {
    request: ForeignMessage,
    made: Box<Handle>,
}

impl ForeignDuplicate {
    /// Blocks until every rank has begun it; the communicator.
    pub(crate) fn wait(mut self) -> ForeignResult<ForeignComm> {
        std::mem::replace(&mut self.request, ForeignMessage::new(Box::default())).wait()?;
        ForeignComm::of(*self.made)
    }
}

impl Drop for ForeignDuplicate {
    fn drop(&mut self) {
        if self.request.request != abi::REQUEST_NULL {
            Box::leak(std::mem::take(&mut self.made));
        }
    }
}

/// The part that a rank gives a window.
pub(crate) struct ForeignPart(pub(super) ForeignSource);

pub(super) enum ForeignSource {
    New {
        bytes: u64,
        align: u64,
    },
    /// Without an alignment, each rank's part begins where that of the rank before it ends.
    Shared {
        bytes: u64,
        align: Option<u64>,
    },
    Given(Span),
    /// It is attached later.
    Nothing,
}

impl ForeignPart {
    /// `bytes` zeroed bytes of the other MPI's memory, aligned to `align`.
    pub(crate) fn new(bytes: u64, align: u64) -> ForeignPart {
        ForeignPart(ForeignSource::New { bytes, align })
    }

    /// The same, of a node, which its ranks also load from and store to. Without an alignment, it begins where
    /// that of the rank before ends.
    pub(crate) fn shared(bytes: u64, align: Option<u64>) -> ForeignPart {
        ForeignPart(ForeignSource::Shared { bytes, align })
    }

    /// None, until some is attached.
    pub(crate) fn nothing() -> ForeignPart {
        ForeignPart(ForeignSource::Nothing)
    }

    /// Existing memory.
    ///
    /// # Safety
    /// Any rank may access it until the window is freed.
    pub(crate) unsafe fn given(memory: Span) -> ForeignPart {
        ForeignPart(ForeignSource::Given(memory))
    }
}

/// A result that the other MPI writes into memory of its own.
pub(super) struct PendingResult {
    window: Arc<ForeignWindow>,
    rank: u32,
    /// It is there when the part has had more landings.
    landings: u64,
    memory: StagedMemory,
    /// Where its bytes belong, one run after the other.
    to: Vec<(*mut u8, usize)>,
}

// SAFETY: the runs belong to this value alone until it is delivered (`PendingResult::new`).
unsafe impl Send for PendingResult {}

impl PendingResult {
    /// A result of an operation on the part of `rank`, begun when that part had had `landings` landings.
    ///
    /// # Safety
    /// 1. The runs `to` are valid for writes, and not accessed, until this value is delivered or leaked.
    /// 2. They have as many bytes as its memory, at most.
    unsafe fn new(
        (window, rank, landings): (&Arc<ForeignWindow>, u32, u64),
        memory: StagedMemory,
        to: Vec<(*mut u8, usize)>,
    ) -> PendingResult {
        PendingResult { window: window.clone(), rank, landings, memory, to }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.memory[..])
    }

    /// Completes the operation, and writes the result into its buffer.
    pub(super) fn deliver(self) {
        let PendingResult { window, rank, landings, memory, to } = self;
        window.await_landing(rank, landings);
        let mut from = memory.as_ptr().cast::<u8>();
        for (start, bytes) in to {
            // SAFETY: the obligations of `PendingResult::new`; the other MPI has written the memory.
            unsafe { start.copy_from_nonoverlapping(from, bytes) };
            from = from.wrapping_add(bytes);
        }
    }
}

/// The bytes of `n` elements from `at` on.
fn run_of<T>(at: u64, n: usize) -> [Range<u64>; 1] {
    let run = at..at + (n * size_of::<T>()) as u64;
    [run]
}

/// A copy of the elements, which stays until the operations of the flight are complete.
fn copied<T: Element>(elements: &[T], flight: &mut Flight) -> *const T {
    let memory = flight.origin(size_of_val(elements));
    memory.copy_from_slice(bytemuck::cast_slice(elements));
    memory.as_ptr().cast()
}

/// The pieces with their own bytes from `next` on, one behind the other, each with what it was.
fn placed_from(mut next: *mut u8, pieces: &[Piece]) -> impl Iterator<Item = (Piece, &Piece)> {
    pieces.iter().map(move |piece| {
        let own = next;
        next = next.wrapping_add(piece.bytes);
        (Piece { own, ..*piece }, piece)
    })
}

impl ForeignWindow {
    /// Copies pieces to the part of `rank`, or from there; their other addresses are offsets in that part.
    /// Those of a get are there when the call returns, or, if it has `results`, when these are delivered. What is
    /// addressed in this process is copied at once.
    ///
    /// # Safety
    /// 1. The own bytes are valid for reads, or, of [`Direction::Get`], for writes, and nothing accesses them
    ///    meanwhile: until the call returns; those of a get with `results` until these are delivered or leaked.
    /// 2. The pieces do not overlap where they are written.
    pub(crate) unsafe fn move_pieces(
        self: &Arc<Self>,
        direction: Direction,
        rank: u32,
        pieces: &[Piece],
        results: Option<&Results>,
    ) -> ForeignResult<()> {
        let run = |piece: &Piece| piece.other as u64..piece.other as u64 + piece.bytes as u64;
        let (one, many): ([_; 1], Vec<_>);
        let runs = match pieces {
            [piece] => {
                one = [run(piece)];
                &one[..]
            }
            _ => {
                many = pieces.iter().map(run).collect();
                &many
            }
        };
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        let access = if direction == Direction::Put { Effect::Write } else { Effect::Read };
        let mut flight = self.begin(rank, runs, access, bytes);
        if self.near(rank).len() != 0 {
            // SAFETY: the caller's obligations.
            unsafe { self.copy_pieces(direction, rank, pieces) };
            return Ok(());
        }
        let stays = Flight::can_stay(runs, bytes);
        if !stays || direction == Direction::Get && results.is_none() {
            // SAFETY: the caller's obligations, until the flush.
            let moved =
                pieces.iter().try_for_each(|one| unsafe { self.issue(direction, rank, one) });
            // Also those before one that failed.
            self.land(rank, &mut flight);
            return moved;
        }
        let Some(results) = results.filter(|_| direction == Direction::Get) else {
            let copies = placed_from(flight.origin(bytes).as_mut_ptr(), pieces);
            let moved = copies.into_iter().try_for_each(|(copy, piece)| {
                // SAFETY: the caller's obligation; the copies have as many bytes.
                unsafe { copy.own.copy_from_nonoverlapping(piece.own, piece.bytes) };
                // SAFETY: the flight keeps the copy until it is complete.
                unsafe { self.issue(direction, rank, &copy) }
            });
            self.add(rank, &mut flight, runs, access, bytes);
            return moved;
        };
        let mut memory = staged(bytes);
        let mut copies = placed_from(memory.as_mut_ptr().cast(), pieces);
        // SAFETY: the results keep the memory until it is complete.
        let moved = copies.try_for_each(|(one, _)| unsafe { self.issue(direction, rank, &one) });
        let landings = flight.landings;
        self.add(rank, &mut flight, runs, access, bytes);
        drop(flight);
        let to = pieces.iter().map(|piece| (piece.own, piece.bytes)).collect();
        // SAFETY: 1. of the caller; 2. as many bytes.
        results.add(unsafe { PendingResult::new((self, rank, landings), memory, to) });
        moved
    }

    /// [`ForeignWindow::move_pieces`] of a part that is addressed in this process.
    ///
    /// # Safety
    /// The obligations of [`ForeignWindow::move_pieces`].
    unsafe fn copy_pieces(&self, direction: Direction, rank: u32, pieces: &[Piece]) {
        let near = self.near(rank);
        self.count_copy();
        for &Piece { own, other, bytes } in pieces {
            let there = near.base().wrapping_add(other as usize);
            let (from, to) = match direction {
                Direction::Put => (own, there),
                Direction::Get => (there, own),
            };
            // SAFETY: the caller's obligations; the pieces lie in the part, by its bytes.
            unsafe { copy_overlapping(from, to, bytes) };
        }
    }

    /// Begins to copy a piece.
    ///
    /// # Safety
    /// Until it is complete, the own bytes are valid for reads and not written, or, of [`Direction::Get`], valid
    /// for writes and not accessed.
    unsafe fn issue(
        &self,
        direction: Direction,
        rank: u32,
        &Piece { own, other, bytes }: &Piece,
    ) -> ForeignResult<()> {
        let (n, at, rank) = (bytes as i64, self.place(rank, other as u64), rank as c_int);
        let byte = abi::BYTE;
        called(|mpi| match direction {
            // SAFETY: a live window in lock_all; of the buffer, the caller's obligation.
            Direction::Put => unsafe {
                (mpi.put)(own.cast(), n, byte, rank, at, n, byte, self.data)
            },
            // SAFETY: as above.
            Direction::Get => unsafe {
                (mpi.get)(own.cast(), n, byte, rank, at, n, byte, self.data)
            },
        })
    }

    /// Combines `origin` into the elements of `rank` from byte `at` on.
    pub(crate) fn accumulate<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        rank: u32,
        at: u64,
    ) -> ForeignResult<()> {
        let (n, bytes) = (origin.len(), size_of_val(origin));
        let (datatype, op) = (abi::datatype(T::DATATYPE), abi::op(op));
        let (runs, access) = (run_of::<T>(at, n), Effect::Update(datatype, op));
        let (at, target, n) = (self.place(rank, at), rank as c_int, n as i64);
        let mut flight = self.begin(rank, &runs, access, bytes);
        // SAFETY: a live window in lock_all; its callers keep `n` elements there until they are complete.
        let issue = |from: From| unsafe {
            called(|mpi| {
                (mpi.accumulate)(from, n, datatype, target, at, n, datatype, op, self.data)
            })
        };
        if !Flight::can_stay(&runs, bytes) {
            let issued = issue(origin.as_ptr().cast());
            self.land(rank, &mut flight);
            return issued;
        }
        let issued = issue(copied(origin, &mut flight).cast());
        self.add(rank, &mut flight, &runs, access, bytes);
        issued
    }

    /// [`ForeignWindow::accumulate`] whose `result` receives the values before. [`Op::NoOp`] needs no `origin`.
    pub(crate) fn fetch<T: Element>(
        &self,
        origin: &[T],
        result: &mut [T],
        op: Op,
        rank: u32,
        at: u64,
    ) -> ForeignResult<()> {
        let access = Effect::Update(abi::datatype(T::DATATYPE), abi::op(op));
        let runs = run_of::<T>(at, result.len());
        let mut flight = self.begin(rank, &runs, access, size_of_val(result));
        let buffers = (origin.as_ptr(), origin.len(), result.as_mut_ptr(), result.len());
        // SAFETY: slices until the flush.
        let issued = unsafe { self.issue_fetch(buffers, op, rank, at) };
        self.land(rank, &mut flight);
        issued
    }

    /// [`ForeignWindow::fetch`] of `n` elements, which are at `result` when the `results` are delivered.
    ///
    /// # Safety
    /// The elements at `result` are valid for writes, and not accessed, until the results are delivered or leaked.
    pub(crate) unsafe fn fetch_later<T: Element>(
        self: &Arc<Self>,
        origin: &[T],
        (result, n): (*mut u8, usize),
        (op, rank, at): (Op, u32, u64),
        results: &Results,
    ) -> ForeignResult<()> {
        let (runs, bytes) = (run_of::<T>(at, n), n * size_of::<T>());
        if !Flight::can_stay(&runs, 2 * bytes) {
            let mut before = vec![T::zeroed(); n];
            self.fetch(origin, &mut before, op, rank, at)?;
            // SAFETY: the caller's obligation; `before` has as many elements.
            unsafe { result.copy_from_nonoverlapping(before.as_ptr().cast(), bytes) };
            return Ok(());
        }
        let access = Effect::Update(abi::datatype(T::DATATYPE), abi::op(op));
        let mut flight = self.begin(rank, &runs, access, 2 * bytes);
        let (from, mut memory) = (copied(origin, &mut flight), staged(bytes));
        let buffers = (from, origin.len(), memory.as_mut_ptr().cast(), n);
        // SAFETY: flight and results keep the memory until it is complete.
        let issued = unsafe { self.issue_fetch(buffers, op, rank, at) };
        let landings = flight.landings;
        self.add(rank, &mut flight, &runs, access, 2 * bytes);
        drop(flight);
        let pending = ((self, rank, landings), vec![(result, bytes)]);
        // SAFETY: 1. the caller's obligation; 2. as many bytes.
        results.add(unsafe { PendingResult::new(pending.0, memory, pending.1) });
        issued
    }

    /// Begins a fetch: the origin with its number of elements, and the result.
    ///
    /// # Safety
    /// Until it is complete, the elements of the origin are valid for reads and not written; those of the result
    /// valid for writes and not accessed.
    unsafe fn issue_fetch<T: Element>(
        &self,
        (origin, given, result, n): (*const T, usize, *mut T, usize),
        op: Op,
        rank: u32,
        at: u64,
    ) -> ForeignResult<()> {
        let (from, to, datatype) = (origin.cast(), result.cast(), abi::datatype(T::DATATYPE));
        let (at, op, target) = (self.place(rank, at), abi::op(op), rank as c_int);
        // Of a pair of 16 and 32 bits, MPICH 5.0.2 and Intel MPI 2021.19 there return 6 bytes of 8.
        if (given, n) == (1, 1) && T::DATATYPE != Datatype::ShortInt {
            // SAFETY: a live window in lock_all; of the buffers, the caller's obligation.
            return called(|mpi| unsafe {
                (mpi.fetch_and_op)(from, to, datatype, target, at, op, self.data)
            });
        }
        let (from, given) = if given == n { (from, n as i64) } else { (null(), 0) };
        let n = n as i64;
        // SAFETY: as above; the other MPI reads no origin of NO_OP.
        called(|mpi| unsafe {
            (mpi.get_accumulate)(
                from, given, datatype, to, n, datatype, target, at, n, datatype, op, self.data,
            )
        })
    }

    /// `MPI_Compare_and_swap`; the value before.
    pub(crate) fn compare_and_swap<T: Integer>(
        &self,
        new: &T,
        compare: &T,
        rank: u32,
        at: u64,
    ) -> ForeignResult<T> {
        let mut before = T::zeroed();
        let (datatype, target) = (abi::datatype(T::DATATYPE), rank as c_int);
        let access = Effect::Update(datatype, abi::OP_NULL);
        let mut flight = self.begin(rank, &run_of::<T>(at, 1), access, size_of::<T>());
        let [new, compare] = [new, compare].map(|one| from_ref(one).cast());
        let (to, at) = (from_mut(&mut before).cast(), self.place(rank, at));
        // SAFETY: a live window in lock_all; the buffers are one element each until the flush.
        let issued = called(|mpi| unsafe {
            (mpi.compare_and_swap)(new, compare, to, datatype, target, at, self.data)
        });
        self.land(rank, &mut flight);
        issued.map(|()| before)
    }
}

/// A window with memory of its own: its handle, this rank's memory of it, and the bytes before that.
pub(super) type NewWindow = (Handle, Span, u64);

/// `MPI_Win_allocate`, of `bytes` zeroed bytes of each rank, aligned to `align`.
pub(super) fn allocate(comm: &ForeignComm, bytes: u64, align: u64) -> ForeignResult<NewWindow> {
    place(comm, bytes, align, (|mpi| mpi.win_allocate, abi::INFO_NULL))
}

/// `MPI_Win_allocate_shared`: [`ForeignPart::shared`].
pub(super) fn allocate_shared(
    comm: &ForeignComm,
    bytes: u64,
    align: Option<u64>,
) -> ForeignResult<NewWindow> {
    let allocate: fn(&Functions) -> Allocate = |mpi| mpi.win_allocate_shared;
    let Some(align) = align else { return place(comm, bytes, 0, (allocate, abi::INFO_NULL)) };
    let mut info = abi::INFO_NULL;
    called(|mpi| (mpi.info_create)(&mut info))?;
    let (key, value) = (c"alloc_shared_noncontig".as_ptr(), c"true".as_ptr());
    // SAFETY: a live info; strings with their ends.
    called(|mpi| unsafe { (mpi.info_set)(info, key, value) })?;
    let placed = place(comm, bytes, align, (allocate, info));
    called(|mpi| (mpi.info_free)(&mut info))?;
    placed
}

/// The address of the part of `rank`, of the memory that ranks share, in this process.
pub(super) fn shared_base(window: Handle, rank: u32) -> ForeignResult<*mut u8> {
    let (mut bytes, mut unit, mut base) = (0, 0, null_mut());
    called(|mpi| (mpi.shared_query)(window, rank as c_int, &mut bytes, &mut unit, &mut base))?;
    Ok(base)
}

/// `MPI_Win_allocate` or `MPI_Win_allocate_shared`.
type Allocate = unsafe extern "C" fn(Address, c_int, Handle, Handle, To, *mut Handle) -> c_int;

/// Makes a window of `bytes` zeroed bytes of this rank, aligned to `align`, by that function with that info.
fn place(
    comm: &ForeignComm,
    bytes: u64,
    align: u64,
    (allocate, info): (fn(&Functions) -> Allocate, Handle),
) -> ForeignResult<NewWindow> {
    let (mut base, mut window) = (null_mut::<u8>(), abi::WIN_NULL);
    // The other MPI's alignment may be smaller.
    let Ok(size) = isize::try_from(bytes.saturating_add(align)) else {
        return Err(ForeignError { class: 52, text: format!("{bytes} bytes are too many") });
    };
    let place = from_mut(&mut base).cast();
    // SAFETY: a live communicator; places for an address and a handle.
    called(|mpi| unsafe { allocate(mpi)(size, 1, info, comm.handle, place, &raw mut window) })?;
    returns_errors(window)?;
    let before = if align == 0 { 0 } else { base.align_offset(align as usize) };
    let base = base.wrapping_add(before);
    // SAFETY: the own part, which no rank accesses before all have agreed on the window; `align` more bytes
    // were requested.
    unsafe { base.write_bytes(0, bytes as usize) };
    Ok((window, Span::new(base, bytes), before as u64))
}

/// A window over given memory of this rank.
pub(super) fn create(comm: &ForeignComm, part: Span) -> ForeignResult<Handle> {
    let (base, bytes, mut window) = (part.base().cast(), part.len() as isize, abi::WIN_NULL);
    // SAFETY: a live communicator; a place for a handle; the promise of `ForeignPart::given`.
    called(|mpi| unsafe {
        (mpi.win_create)(base, bytes, 1, abi::INFO_NULL, comm.handle, &raw mut window)
    })?;
    returns_errors(window)?;
    Ok(window)
}

/// A window without memory.
pub(super) fn create_dynamic(comm: &ForeignComm) -> ForeignResult<Handle> {
    let mut window = abi::WIN_NULL;
    // SAFETY: a live communicator; a place for a handle.
    called(|mpi| unsafe {
        (mpi.win_create_dynamic)(abi::INFO_NULL, comm.handle, &raw mut window)
    })?;
    returns_errors(window)?;
    Ok(window)
}

/// `MPI_Win_attach` to a dynamic window.
pub(super) fn attach(window: Handle, memory: Span) -> ForeignResult<()> {
    let (start, bytes) = (memory.base().cast(), memory.len() as isize);
    // SAFETY: a live window; the span keeps its memory until it is detached, by the promise of its creator.
    called(|mpi| unsafe { (mpi.win_attach)(window, start, bytes) })
}

/// `MPI_Win_detach` of the memory that was attached at `start`.
pub(super) fn detach(window: Handle, start: *mut u8) -> ForeignResult<()> {
    // SAFETY: a live window, which only compares the address.
    called(|mpi| unsafe { (mpi.win_detach)(window, start.cast()) })
}

fn returns_errors(window: Handle) -> ForeignResult<()> {
    let handler = HANDLERS.get().map_or(abi::ERRORS_RETURN, |[_, window]| *window);
    called(|mpi| (mpi.win_errors)(window, handler))
}

/// Whether operations and stores work on the same copy of the memory.
pub(super) fn is_unified(window: Handle) -> ForeignResult<bool> {
    let (mut model, mut found) = (null_mut::<c_int>(), 0);
    let place = from_mut(&mut model).cast();
    // SAFETY: a live window; places for an address and an int.
    called(|mpi| unsafe { (mpi.win_attribute)(window, abi::WIN_MODEL, place, &raw mut found) })?;
    // SAFETY: an existing attribute is the address of an int.
    Ok(found != 0 && unsafe { *model } == abi::WIN_UNIFIED)
}

/// Reads bytes of a window from byte `at` of the part of `rank` on, at once.
pub(super) fn read_now(window: Handle, rank: u32, at: u64, to: &mut [u8]) -> ForeignResult<()> {
    let (n, rank) = (to.len() as i64, rank as c_int);
    let (to, byte, at) = (to.as_mut_ptr().cast(), abi::BYTE, at as isize);
    // SAFETY: a part in an epoch, which has the bytes; a place for as many until the flush.
    let issued = called(|mpi| unsafe { (mpi.get)(to, n, byte, rank, at, n, byte, window) });
    flushed(window, rank);
    issued
}

/// Writes them.
pub(super) fn write_now(window: Handle, rank: u32, at: u64, from: &[u8]) -> ForeignResult<()> {
    let (n, rank) = (from.len() as i64, rank as c_int);
    let (from, byte, at) = (from.as_ptr().cast(), abi::BYTE, at as isize);
    // SAFETY: a part in an epoch, which has the bytes; a slice until the flush.
    let issued = called(|mpi| unsafe { (mpi.put)(from, n, byte, rank, at, n, byte, window) });
    flushed(window, rank);
    issued
}

/// Completes the operations on the part of `target`. If that fails, the other MPI may still access their memory, so
/// the job ends.
pub(super) fn flushed(window: Handle, target: c_int) {
    if let Err(refusal) = called(|mpi| (mpi.flush)(target, window)) {
        give_up(&refusal);
    }
}

/// [`flushed`] for all parts.
pub(super) fn all_flushed(window: Handle) {
    if let Err(refusal) = called(|mpi| (mpi.flush_all)(window)) {
        give_up(&refusal);
    }
}

/// Adds to word `index` of `rank` in a window of words, at once; what it was.
pub(super) fn add_to_word(window: Handle, rank: u32, index: u64, n: u64) -> ForeignResult<u64> {
    let (mut word, target) = (0u64, rank as c_int);
    let at = index as isize * size_of::<u64>() as isize;
    let (from, to) = (from_ref(&n).cast(), from_mut(&mut word).cast());
    let op = if n == 0 { abi::NO_OP } else { abi::op(Op::Sum) };
    // SAFETY: a part in an epoch, which has the word; a place for one until the flush below.
    called(|mpi| unsafe { (mpi.fetch_and_op)(from, to, abi::UINT64_T, target, at, op, window) })?;
    flushed(window, target);
    Ok(word)
}

/// Calls `MPI_Init_thread` of the library `name` and returns the world and the ranks of this node, or a
/// sentence for the error. Once per process; blocks until every rank has called it.
pub(crate) fn join(
    name: &str,
    level: ThreadLevel,
) -> std::result::Result<(ForeignComm, ForeignComm), String> {
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
    let (wanted, named) = match level {
        ThreadLevel::Serialized => (abi::THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
        ThreadLevel::Multiple => {
            (abi::THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE (ThreadLevel::Serialized needs less)")
        }
    };
    // SAFETY: null stands for arguments that are not given; a place for an int.
    let code = unsafe {
        (found.init_thread)(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &raw mut provided)
    };
    if code != abi::SUCCESS {
        return Err(refusal(&found, code).text);
    }
    let turn = (level == ThreadLevel::Serialized).then(Mutex::default);
    let joined = JoinedLibrary { functions: found, _library: library, turn };
    let JoinedLibrary { functions, .. } = JOINED.get_or_init(|| joined);
    watch_exit()?;
    if provided < wanted {
        return Err(format!("{} grants no {named}", version.trim_end()));
    }
    let opened = find_handlers(functions, &version).and_then(|handlers| {
        let _ = HANDLERS.set(handlers);
        let world = ForeignComm::of(abi::COMM_WORLD)?;
        // Errors of calls without a communicator or window are this one's (MPI-4.1 §9.3).
        comm_returns_errors(abi::COMM_SELF)?;
        mail::open(&world)?;
        Ok((world, world.near()?))
    });
    opened.map_err(|refusal| refusal.text)
}

/// Uses the library `name` that the program itself has loaded and initialised; this rank of its world, and how many
/// there are. Local.
pub(crate) fn adopt(name: &str) -> std::result::Result<(u32, u32), String> {
    // SAFETY: only a library that is loaded already is opened, so nothing of it runs.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) };
    let library = library.map_err(|_| {
        format!("the program has not loaded {name}, so its MPI is one of another ABI")
    })?;
    let found = Functions::find(&library)?;
    let version = version(&found);
    let joined = JoinedLibrary { functions: found, _library: library, turn: None };
    let JoinedLibrary { functions, .. } = JOINED.get_or_init(|| joined);
    let world = || {
        let _ = HANDLERS.set(find_handlers(functions, &version)?);
        let (mut rank, mut size) = (0, 0);
        called(|mpi| (mpi.comm_rank)(abi::COMM_WORLD, &mut rank))?;
        called(|mpi| (mpi.comm_size)(abi::COMM_WORLD, &mut size))?;
        Ok((rank as u32, size as u32))
    };
    world().map_err(|refusal: ForeignError| refusal.text)
}

fn version(functions: &Functions) -> String {
    let (mut text, mut length) = (vec![0u8; abi::MAX_LIBRARY_VERSION_STRING], 0);
    // SAFETY: the longest version of the ABI fits; a place for an int.
    unsafe { (functions.library_version)(text.as_mut_ptr().cast(), &raw mut length) };
    text.truncate(length.max(0) as usize);
    String::from_utf8_lossy(&text).into_owned()
}

/// What a rank that waits does for others meanwhile; does not wait.
pub(crate) fn progress() {
    if let Some(progress) = PROGRESS.get() {
        progress();
    }
}

/// Waits for the other MPI also call `progress`, which must not wait. The first call counts.
pub(crate) fn make_progress(progress: impl Fn() + Send + Sync + 'static) {
    let _ = PROGRESS.set(Box::new(progress));
}

/// Records that this rank has dropped its handles of the job. If that is one of another MPI, `MPI_Finalize` follows at the end of the
/// process, if that succeeds. It is not called here: it waits for ranks that might be waiting for this
/// one, if this one is failing.
pub(crate) fn leave_well() {
    let _ = LEFT.set(());
}

/// Makes the end of the process the end of its job, by finalize or abort (invariant 5).
fn watch_exit() -> std::result::Result<(), String> {
    unsafe extern "C" {
        /// glibc's `atexit` whose function gets the exit status.
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    extern "C" fn at_exit(status: c_int, _: *mut c_void) {
        if is_forked() {
            return;
        }
        let Some(JoinedLibrary { functions, .. }) = JOINED.get() else {
            return end_by_launcher(status.max(1));
        };
        if status == 0 && LEFT.get().is_some() {
            // Other ranks may still access this rank's windows and wait for their sends, which a finalized
            // MPI does not serve. An error shows in what follows.
            let _ = mail::settle();
            // No rank has a handle of the job any more.
            (functions.finalize)();
        } else {
            await_output();
            (functions.abort)(abi::COMM_WORLD, status.max(1));
        }
    }
    // SAFETY: the function has the expected type, and uses nothing that is destroyed by then.
    match unsafe { on_exit(at_exit, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err("the end of the process cannot be watched".into()),
    }
}

/// The rank's output is on its way through the launcher, which may drop it with the job.
#[allow(clippy::disallowed_methods, reason = "nothing is waited for: a pause at the very end")]
fn await_output() {
    std::thread::sleep(LAST_WORDS);
}

/// This process cannot join its job, for which the other ranks wait. When it ends, the launcher ends the job, if it is
/// one with PMI, which listens at `descriptor`.
pub(crate) fn end_job_at_exit(descriptor: Option<RawFd>) {
    // Another program between may have closed it.
    let socket =
        descriptor.filter(|number| *number > 2 && JOINED.get().is_none()).and_then(|number| {
            // SAFETY: a number that is not -1; if it is open, no other thread closes it while a rank begins.
            unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()
        });
    if let Some(launcher) = socket.map(UnixStream::from).filter(|it| it.peer_addr().is_ok())
        && LAUNCHER.set(launcher).is_ok()
    {
        // If that cannot be watched, the launcher sees by itself that a rank ends.
        let _ = watch_exit();
    }
}

/// What `MPI_Abort` sends to a launcher with PMI, by a process without an MPI.
fn end_by_launcher(status: c_int) {
    if let Some(mut launcher) = LAUNCHER.get() {
        await_output();
        // A launcher that does not listen has ended.
        let _ = writeln!(launcher, "cmd=abort exitcode={status}");
    }
}

/// Ends the job, because the other MPI may still access memory of this process.
#[cold]
pub(super) fn give_up(why: &ForeignError) -> ! {
    eprintln!("onesided: the MPI underneath cannot complete an operation: {}", why.text);
    if let Some(joined) = JOINED.get() {
        (joined.functions.abort)(abi::COMM_WORLD, 1);
    }
    std::process::abort()
}
