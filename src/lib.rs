//! One-sided communication of MPI (RMA) for the processes of one machine.
//!
//! `rmarun -n 8 ./app` starts eight processes, called ranks, that share one memory segment. A rank
//! exposes a [window](Window) of memory; any rank puts, gets and accumulates there, without help
//! from the owner. Ranks synchronise by fence, by post-start-complete-wait or by locks.
//!
//! ```no_run
//! use onesided::{Access, FenceAssert, Op, Rank, Universe, Window};
//!
//! fn main() -> onesided::Result<()> {
//!     let universe = Universe::init()?;
//!     let world = universe.world();
//!     let mut window = Window::<u64>::allocate(world, 1)?;
//!
//!     let mine = [u64::from(world.rank()) + 1];
//!     let epoch = window.fence_with(FenceAssert::NOPRECEDE)?;
//!     epoch.accumulate(&mine, Op::Sum, Rank(0), 0)?;
//!     epoch.close()?;
//!
//!     if world.rank() == 0 {
//!         println!("{} ranks add up to {}", world.size(), window.load_one(0)?);
//!     }
//!     window.free()
//! }
//! ```
//!
//! # Two APIs
//!
//! * The **typed API** is what programs use: [`Window<T>`](Window), and an epoch as a guard whose
//!   methods are the operations. Most of what MPI forbids does not compile.
//! * The **untyped API** ([`engine::Win`]) is shaped like MPI's calls. It checks the same rules at
//!   run time. Libraries and language bindings use it.
//!
//! # Epochs are guards
//!
//! | guard | opened by | reaches | ends by |
//! | --- | --- | --- | --- |
//! | [`FenceEpoch`] | [`Window::fence`] | every rank | `fence` (the next one), `step`, or `close` |
//! | [`AccessEpoch`] | [`AccessSide::start`] | the group's ranks | `complete` |
//! | [`ExposureEpoch`] | [`ExposureSide::post`] | – | `wait`, or `test` when true |
//! | [`LockEpoch`] | [`Window::lock`] | the rank that it has locked | `unlock` |
//! | [`LockAllEpoch`] | [`Window::lock_all`] | every rank | `unlock_all` |
//! | [`LocalEpoch`] | [`Window::lock_local`] | this rank's part, as a slice | `unlock` |
//!
//! The operations of all guards are those of [`Access`]: put, get and accumulate name their target. Those that return
//! a request are in [`PassiveAccess`], for the two guards of locks. The types promise:
//!
//! 1. An operation outside an epoch does not compile: operations are methods of guards.
//! 2. An origin buffer stays borrowed until its epoch (or batch) ends.
//! 3. Two access epochs on one window do not compile, except locks of several targets, which the
//!    standard allows. Two locks of one target are an error at run time.
//! 4. `&mut [T]` of window memory exists only while the library keeps every other rank out.
//!
//! Dropping a guard ends its epoch where that needs no other rank: unlock, unlock_all, complete.
//! Dropping a [`FenceEpoch`] or an [`ExposureEpoch`] leaves the epoch open, because ending it
//! waits for other ranks; errors of later calls name the line where it began, and so does the rank when
//! it leaves the job. While a thread panics, no guard ends its epoch: the rank is about to
//! fail, and the launcher ends the job. A program that catches the panic keeps its locks.
//!
//! Under a lock, operations with `_flush` in their name return their result, complete:
//!
//! ```no_run
//! # use onesided::{LockAssert, Op, Rank, Universe, Window};
//! # fn draw(universe: &Universe) -> onesided::Result<u64> {
//! # let world = universe.world();
//! let mut tickets = Window::<u64>::allocate(world, 1)?;
//! let epoch = tickets.lock_all()?;
//! let ticket = epoch.fetch_and_op_flush(1, Op::Sum, Rank(0), 0)?; // atomic; complete on return
//! epoch.unlock_all()?;
//! # tickets.free()?;
//! # Ok(ticket)
//! # }
//! ```
//!
//! # Tests
//!
//! With the feature `test`, [`#[onesided::test]`](macro@test) makes tests with ranks, and nothing needs to be installed:
//!
//! ```
//! use onesided::Comm;
//!
//! #[onesided::test(ranks = [1, 2, 4])]
//! fn barrier(world: &Comm) -> onesided::Result<()> { world.barrier() }
//! ```
//!
//! # Messages
//!
//! Ranks of a communicator also send each other messages, matched by source and tag:
//! [`Comm::send`], [`Comm::recv`], [`Comm::sendrecv`], [`Comm::isend`], [`Comm::irecv`],
//! [`Comm::probe`]. A message orders only what its sender had completed before: complete an
//! operation on a window before the send that announces it.
//!
//! # Words
//!
//! The standard's: *origin* (the caller), *target* (the owner of the memory), *rank*, *window*,
//! *displacement* in *displacement units*, *access epoch*, *exposure epoch*, *assertion*, *flush*,
//! *group*, *communicator*. Clauses are cited with their edition. Every call documents whether it
//! is collective (every rank of the communicator must call it) or local, and whether it can block.
//!
//! # Errors
//!
//! A call that returns an error for its arguments or its epoch has changed nothing. Errors name
//! the call, the window, the ranks and the values; [`Error::class`] returns MPI's class. When a
//! rank dies, the launcher ends the job.
//!
//! # Threads
//!
//! Handles are `Send` and `Sync`. Any thread of a rank may issue operations and flushes at any time, also
//! while another thread is in a fence or a flush. No operation takes a lock that blocks other threads.
//! Several threads may wait for locks of different targets. While one thread waits in fence, start, wait
//! or lock_all, another call that would wait on the same side of the window returns an error of class
//! `MPI_ERR_RMA_SYNC`. A second collective on a communicator returns one of class `MPI_ERR_COMM`. Guards
//! make most of that impossible to write.

#![deny(missing_debug_implementations)]

mod attribute;
mod call;
mod check;
mod collective;
mod comm;
mod context;
mod datatype;
mod epoch;
mod error;
mod foreign;
mod group;
mod handler;
mod info;
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "for the launcher alone")]
pub mod launch;
#[cfg(feature = "launcher")]
#[doc(hidden)]
#[path = "../launcher/mod.rs"]
pub mod launcher;
mod mail;
mod memory;
mod message;
mod mixer;
mod op;
mod ops;
mod prim;
mod race;
mod rank;
mod shm;
mod statistics;
mod sync;
pub mod trace;
mod universe;
mod window;

pub use attribute::{Keyval, KeyvalOptions};
/// The crate whose [`Pod`] and [`Zeroable`] these are.
pub use bytemuck;
pub use call::Call;
pub use collective::{CollectiveRequest, DuplicateRequest};
pub use comm::{Comm, CommKeyval, Reduction, SplitType, UserOp};
pub use datatype::{
    CommittedDatatype, Constructor, Datatype, DerivedDatatype, Distribution, DoubleInt, Element,
    FloatInt, Integer, Located, LongInt, Order, Shape, Shaped, ShapedMut, ShortInt, TwoInt,
};
pub use epoch::{
    Access, AccessEpoch, AccessSide, Batch, ExposureEpoch, ExposureSide, FenceEpoch, FenceStep,
    LocalEpoch, LockAllEpoch, LockEpoch, PassiveAccess, SharedPart, Window, WindowView,
};
pub use error::{Error, ErrorClass, Foreign, MismatchKind, Place, Result};
pub use foreign::ThreadLevel;
pub use group::{Comparison, Group, Rank};
pub use handler::ErrorHandler;
pub use info::Info;
pub use memory::{Memory, WindowMemory};
pub use message::{Pending, Source, Status, Tag};
pub use num_complex::Complex;
pub use op::Op;
pub use ops::Request;
pub use plain::{Pod, Zeroable};
pub use universe::Universe;
pub use window::{
    FenceAssert, Flavour, LockAssert, LockType, MemoryModel, PostAssert, StartAssert, Torn, Until,
    WinKeyval, WindowIdentity, WindowOptions,
};

mod plain {
    // The traits, and the derive of `Zeroable`.
    pub use bytemuck::*;
    /// Plain data, for windows and messages: every pattern of bits is a value.
    ///
    /// The derive is for structs with `#[repr(C)]` or `#[repr(transparent)]`. It implements [`Zeroable`] too.
    ///
    /// ```
    /// use onesided::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq, Pod)]
    /// #[repr(C)]
    /// struct Particle {
    ///     place: [f64; 3],
    ///     mass: f32,
    ///     number: u32,
    /// }
    ///
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// let world = universe.world();
    /// let other = Rank(1 - world.rank().0);
    /// let mine = [Particle { place: [0.0; 3], mass: 1.5, number: world.rank().0 }];
    /// let mut window = Window::<Particle>::allocate(world, 10)?;
    /// let epoch = window.fence()?;
    /// epoch.put(&mine, other, 9)?;
    /// epoch.close()?;
    /// assert_eq!(window.load_one(9)?.number, other.0);
    ///
    /// let mut found = [Particle::zeroed()];
    /// world.sendrecv(&mine, (other, 0), &mut found, (other, 0))?;
    /// assert_eq!(found[0], window.load_one(9)?);
    /// window.free()
    /// # });
    /// ```
    ///
    /// A struct with padding does not compile, and the message names its place. Otherwise bytes that nothing has
    /// written would reach other ranks:
    ///
    /// ```compile_fail,E0080
    /// #[derive(Clone, Copy, onesided::Pod)]
    /// #[repr(C)]
    /// struct Particle {
    ///     number: u32,
    ///     mass: f64, // 4 bytes before it: put it first, and add `_padding: [u8; 4]` at the end
    /// }
    /// ```
    pub use onesided_macros::Pod;
}

/// The untyped API: windows of bytes, with MPI's calls and every check at run time.
///
/// [`WindowOptions::allocate_bytes`] creates a window. A typed window gives no access to its
/// untyped one, because that could end an epoch whose guard still exists.
pub mod engine {
    pub use crate::attribute::Attributes;
    pub use crate::collective::{Bridge, CollectiveRequest, Combine, Partitioned, Root};
    pub use crate::mail::longest_staged;
    pub use crate::memory::ExposedBytes;
    pub use crate::message::{
        Channel, EAGER, Message, MessageRequest, MessageSlot, SendMode, Status, WaitingMessages,
        Waits, numbers_of,
    };
    pub use crate::ops::{Layout, Origin, OriginMut, Transfer, Update};
    pub use crate::prim::{caller, set_caller, thread_block};
    pub use crate::shm::{BiasedMutex, reserve};
    pub use crate::window::Win;

    /// What a binding reports of the program itself, in jobs that `rmarun --check` has started.
    pub mod race {
        pub use crate::race::written;
        pub use crate::race::{accessed, acquired, fence, follow_threads, forgotten, has_acquired};
        pub use crate::race::{
            read, released, run_task, thread_began, thread_joined, will_release,
        };
    }
}

/// What most programs use: `use onesided::prelude::*;`.
///
/// ```no_run
/// use onesided::prelude::*;
///
/// fn main() -> onesided::Result<()> {
///     let universe = Universe::init()?;
///     let mut window = Window::<u64>::allocate(universe.world(), 1)?;
///     let epoch = window.lock_all()?;
///     epoch.accumulate(&[1], Op::Sum, Rank(0), 0)?;
///     epoch.unlock_all()?;
///     universe.world().barrier()?;
///     window.free()
/// }
/// ```
pub mod prelude {
    pub use crate::{
        Access, Comm, FenceAssert, Group, LockAssert, LockType, Op, PassiveAccess, Pod, PostAssert,
        Rank, StartAssert, Universe, Window, WindowOptions, Zeroable,
    };
}

#[cfg(feature = "test")]
pub use launcher::testing;
/// A test with ranks: a job for each number of ranks, in which every rank runs the function.
///
/// ```
/// use onesided::prelude::*;
///
/// #[onesided::test(ranks = [1, 2, 4], timeout = 10, options = ["--check"])]
/// fn sum(universe: &Universe) -> onesided::Result<()> {
///     let sum = universe.world().allreduce(&[1], Op::Sum)?;
///     assert_eq!(sum, [universe.world().size()]);
///     Ok(())
/// }
/// ```
///
/// The tests are `sum::ranks_1`, `sum::ranks_2` and `sum::ranks_4`. A test fails if a rank panics, returns an error or is
/// killed, if ranks wait for one another for ever, or after `timeout` seconds (60); the message names the rank.
/// `options` are further options of `rmarun`: `--check` lets operations that conflict fail the test.
///
/// The function has no argument, `&Universe` or `&Comm` (the world), and returns nothing or a `Result`. `#[ignore]` and
/// `#[should_panic]` stand behind this attribute. [`testing`] has what happens, and the form for tests of documentation.
#[cfg(feature = "test")]
pub use onesided_macros::test;

#[doc = include_str!("../docs/assertions.md")]
pub mod assertions {
    pub use crate::window::{FenceAssert, LockAssert, PostAssert, StartAssert};
}

/// Test builds only: records where the calling rank synchronises, and delays it there.
#[cfg(feature = "test-hooks")]
pub mod hooks {
    pub use crate::launch::fault::arm as arm_fault;
    pub use crate::prim::hooks::{Event, delay, name_of, names, record};
    pub use crate::prim::{ProcSync, Site, Step};
}
