//! The calls of a window, in the order of the standard's chapter: creation, attributes, synchronisation.
//! Each passes the parts of the window that it needs to its module. The communication calls are in
//! `ops/calls.rs`.

use super::attributes::{MemoryModel, WinKeyval};
use super::recover::recover;
use super::serial::Synchronization;
use super::torn::torn;
use super::{
    Communication, FenceAssert, Flavour, LockAssert, LockType, PostAssert, StartAssert, Torn,
    Until, Win, WindowOptions, allocate, create, flush, free, watch,
};
use crate::call::Call;
use crate::comm::Comm;
use crate::datatype::Integer;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::{Group, Rank};
use crate::handler::ErrorHandler;
use crate::info::Info;
use crate::memory::ExposedBytes;
use crate::sync::notify::NotifyCounter;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

/// Creation of windows (MPI-4.1 §12.2).
impl WindowOptions {
    /// `MPI_Win_create` (MPI-2.2 §11.2.1) over `memory`; 0 bytes are allowed.
    ///
    /// Memory from alloc_mem is accessed directly. Private memory of this process is accessed by
    /// the other ranks through the kernel (`process_vm_readv`, `process_vm_writev`), without help
    /// from this rank. A put of 64 or more pieces is written by a thread of this rank, which sleeps
    /// otherwise. Accumulates take turns under an exclusion. `docs/performance.md`
    /// has the difference: about 1.6 µs against 6 ns for 8 bytes.
    ///
    /// Any alignment will do. Put and get are about as fast at any; accumulates of elements that do not
    /// lie at a multiple of their size take turns under the exclusion too (67 ns against 4 ns for
    /// a fetch_and_op of 8 bytes).
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Base`] for a null address with bytes; [`Error::Size`] for more bytes than a process can
    /// have; [`Error::DispUnit`]; [`Error::Unreachable`] on all ranks if the system forbids one of them
    /// to reach private memory; [`Error::NoMemory`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_create")]
    #[track_caller]
    pub fn create_bytes(&self, comm: &Comm, memory: ExposedBytes, unit: u64) -> Result<Win> {
        let (part, memory) = (memory.foreign(), memory.span());
        let at = Location::caller();
        create::create(self, comm, memory, unit, part).inspect(|win| win.calls.expect_free(at))
    }

    /// `MPI_Win_allocate` of `bytes` bytes for this rank, zeroed; 0 is allowed. `unit` is the
    /// displacement unit where none was chosen.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::DispUnit`], [`Error::NoMemory`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_allocate")]
    #[track_caller]
    pub fn allocate_bytes(&self, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        let at = Location::caller();
        let win = allocate::allocate(self, Flavour::Allocate, comm, bytes, unit);
        win.inspect(|win| win.calls.expect_free(at))
    }

    /// `MPI_Win_allocate_shared` (MPI-4.1 §12.2.3): a window whose parts ranks also load from and store
    /// to directly ([`Win::shared_query`]). `bytes` and `unit` are those of
    /// [`WindowOptions::allocate_bytes`]. Each rank's part begins where that of the rank before it ends,
    /// unless every rank gives [`WindowOptions::noncontig`]. The first is aligned to 128 bytes.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::DispUnit`], [`Error::NoMemory`], [`Error::RankFailed`]. Under another
    /// MPI's launcher also [`Error::Foreign`] on all ranks, of class `RmaShared` if they are not on one node.
    #[doc(alias = "MPI_Win_allocate_shared")]
    #[track_caller]
    pub fn allocate_shared_bytes(&self, comm: &Comm, bytes: u64, unit: u64) -> Result<Win> {
        let at = Location::caller();
        let win = allocate::allocate(self, Flavour::Shared, comm, bytes, unit);
        win.inspect(|win| win.calls.expect_free(at))
    }

    /// `MPI_Win_create_dynamic` (MPI-4.1 §12.2.4): a window without memory; each rank attaches
    /// memory to it, and displacements are addresses in the target's process.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on
    /// all ranks.
    ///
    /// # Errors
    /// [`Error::NoMemory`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_create_dynamic")]
    #[track_caller]
    pub fn create_dynamic_bytes(&self, comm: &Comm) -> Result<Win> {
        let at = Location::caller();
        create::create_dynamic(self, comm).inspect(|win| win.calls.expect_free(at))
    }
}

impl Win {
    // Creation (MPI-4.1 §12.2).

    /// `MPI_Win_shared_query` (MPI-4.1 §12.2.3): size in bytes, displacement unit, and address in this
    /// process of the part of `rank`; for [`Rank::NULL`], of the first rank whose part is not empty. Also
    /// for windows of `MPI_Win_allocate`, and for those of `MPI_Win_create` if all parts come from
    /// alloc_mem. A part that this process cannot address has size 0. The address of a part of size 0 is
    /// null.
    ///
    /// Local; never blocks. The caller synchronises its reads and writes through the address.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for dynamic windows.
    #[doc(alias = "MPI_Win_shared_query")]
    pub fn shared_query(&self, rank: Rank) -> Result<(u64, u32, *mut u8)> {
        allocate::shared_query(&self.calls, &self.memory, rank)
    }

    /// `MPI_Win_attach` (MPI-4.1 §12.2.4): exposes `bytes` in a dynamic window. Other ranks
    /// address them by this process's addresses.
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if the region is empty or overlaps one that is attached; [`Error::Base`];
    /// [`Error::Flavour`]; [`Error::NoMemory`]; [`Error::RankFailed`]; [`Error::Size`] for more bytes
    /// than a process can have.
    #[doc(alias = "MPI_Win_attach")]
    pub fn attach(&self, bytes: ExposedBytes) -> Result<()> {
        let Win { calls, memory, .. } = self;
        calls.within(Call::Attach, || memory.attach(calls, bytes))
    }

    /// `MPI_Win_detach` (MPI-4.1 §12.2.4): takes the region attached at `start` out of a dynamic
    /// window; afterwards no rank accesses it any more.
    ///
    /// Local; blocks while operations of other ranks on this rank's attached memory are under way.
    ///
    /// # Errors
    /// [`Error::Attach`] if no region was attached at that address; [`Error::Flavour`];
    /// [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_detach")]
    pub fn detach(&self, start: *mut u8) -> Result<()> {
        let Win { calls, memory, .. } = self;
        calls.within(Call::Detach, || memory.detach(calls, start))
    }

    /// `MPI_Win_free` (MPI-2.2 §11.2.1).
    ///
    /// Collective; blocks until every rank has called it, after which no rank can access the
    /// window any more and its memory is given back.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if any rank has an epoch open, or if the delete callback of an
    /// attribute refuses ([`Error::Attribute`] on that rank). The program's handle is then gone, but the
    /// memory stays until the job ends. [`Error::Mismatch`] on all ranks if they free different windows,
    /// with the same consequence. [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_free")]
    #[track_caller]
    pub fn free(self) -> Result<()> {
        let at = Location::caller();
        self.calls.within(Call::WinFree, || free::free(&self, self.delete_attributes(), at))
    }

    /// Whether this rank has no epoch open that [`Win::free`] would be refused for. Local.
    pub fn may_be_freed(&self) -> bool {
        self.calls.epochs.may_free().is_ok()
    }

    /// Whether [`Win::free`] would succeed on all ranks, for a caller that keeps the window otherwise.
    /// `deleted` is the outcome of [`Win::delete_attributes`], if this rank has called it. Returns
    /// whether any rank has attributes of the window.
    ///
    /// Collective; blocks until every rank has called it. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Epoch`] on all ranks if any rank has an epoch open, or if a `deleted` is an error;
    /// [`Error::Mismatch`] on all ranks if they name different windows; [`Error::RankFailed`].
    #[track_caller]
    pub fn agree_to_free(&self, deleted: Result<()>) -> Result<bool> {
        let (at, has_attributes) = (Location::caller(), !self.attributes.is_empty());
        self.calls.within(Call::WinFree, || free::agree(&self.calls, deleted, has_attributes, at))
    }

    // Attributes (MPI-4.1 §12.2.6, §12.2.7, §7.7, §7.8, §9.3).

    /// `MPI_WIN_BASE`: the address of this rank's part in this process.
    ///
    /// The caller synchronises its reads and writes through it.
    #[doc(alias = "MPI_WIN_BASE")]
    pub fn base(&self) -> *mut u8 {
        self.calls.checked(|_, window| window.shown(&self.calls.excluded()));
        self.memory.own(&self.calls).base()
    }

    /// `MPI_WIN_SIZE` of a rank's part, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_WIN_SIZE")]
    pub fn size(&self, rank: Rank) -> Result<u64> {
        self.calls.check_rank(Call::WinAttribute, rank)?;
        Ok(self.memory.bytes_of(rank.0))
    }

    /// `MPI_WIN_DISP_UNIT` of a rank's part, in bytes.
    ///
    /// # Errors
    /// [`Error::TargetRank`]
    #[doc(alias = "MPI_WIN_DISP_UNIT")]
    pub fn disp_unit(&self, rank: Rank) -> Result<u32> {
        self.calls.check_rank(Call::WinAttribute, rank)?;
        Ok(self.memory.part(rank.0).disp_unit)
    }

    /// `MPI_WIN_CREATE_FLAVOR`
    #[doc(alias = "MPI_WIN_CREATE_FLAVOR")]
    pub fn flavour(&self) -> Flavour {
        self.calls.flavour()
    }

    /// `MPI_WIN_MODEL`: the same on every machine and for every flavour, because windows are the
    /// target's memory itself.
    #[doc(alias = "MPI_WIN_MODEL")]
    pub fn model(&self) -> MemoryModel {
        MemoryModel::Unified
    }

    /// The communicator that the window was allocated over.
    pub fn comm(&self) -> &Comm {
        self.calls.comm()
    }

    /// `MPI_Win_get_group`
    #[doc(alias = "MPI_Win_get_group")]
    pub fn group(&self) -> Group {
        self.comm().group()
    }

    /// `MPI_Win_get_info` (MPI-4.1 §12.2.7): the keys of `hints.rs` and the values in force.
    /// Local; does not block.
    #[doc(alias = "MPI_Win_get_info")]
    pub fn info(&self) -> Info {
        self.hints.info()
    }

    /// `MPI_Win_set_info` (MPI-4.1 §12.2.7): changes `no_locks` (in force if every rank gives it, and not
    /// if any gives `false`) and the `accumulate` keys. Hints about creation have no effect any more.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_set_info")]
    #[track_caller]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        let at = Location::caller();
        self.calls
            .within(Call::WinSetInfo, || self.hints.set_info(self.synchronization(), info, at))
    }

    /// `MPI_Win_get_name`
    #[doc(alias = "MPI_Win_get_name")]
    pub fn name(&self) -> String {
        self.calls.identity.name()
    }

    /// What names it in the records of calls ([`crate::launch::CallStatistics::mark`]).
    #[doc(hidden)]
    pub fn mark(&self) -> u64 {
        self.calls.mark()
    }

    /// `MPI_Win_set_name` (MPI-4.1 §7.8): the name that this rank's errors use. The launcher's reports use the
    /// latest name that any rank has set.
    #[doc(alias = "MPI_Win_set_name")]
    pub fn set_name(&self, name: &str) {
        self.calls.identity.set_name(name);
        self.calls.show_name(name);
    }

    /// `MPI_Win_get_errhandler`; that of the communicator unless another was set.
    #[doc(alias = "MPI_Win_get_errhandler")]
    pub fn error_handler(&self) -> ErrorHandler {
        self.calls.error_handler()
    }

    /// `MPI_Win_set_errhandler` (MPI-4.1 §9.3): what happens with an error of a call on the
    /// window before the call returns it.
    #[doc(alias = "MPI_Win_set_errhandler")]
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        self.calls.set_error_handler(handler);
    }

    /// `MPI_Win_set_attr` (MPI-4.1 §7.7.3): sets this rank's attribute under `key`. One that
    /// exists is deleted first, and stays if its delete callback refuses.
    ///
    /// # Errors
    /// [`Error::Keyval`] if the key was freed; [`Error::Attribute`] if the delete callback refuses.
    #[doc(alias = "MPI_Win_set_attr")]
    pub fn set_attribute<T>(&self, key: &WinKeyval<T>, value: T) -> Result<()>
    where
        T: Any + Send + Sync,
    {
        let (calls, at) = (&self.calls, self.calls.place(Call::Attribute));
        calls.within(Call::Attribute, || self.attributes.set(at, &calls.identity, key, value))
    }

    /// `MPI_Win_get_attr`: this rank's attribute under `key`, if there is one. The predefined
    /// attributes are methods: [`Win::base`], [`Win::size`], [`Win::disp_unit`], [`Win::flavour`],
    /// [`Win::model`].
    #[doc(alias = "MPI_Win_get_attr")]
    pub fn attribute<T: Any + Send + Sync>(&self, key: &WinKeyval<T>) -> Option<Arc<T>> {
        self.attributes.get(key)
    }

    /// `MPI_Win_delete_attr`: whether there was an attribute under `key`.
    ///
    /// # Errors
    /// [`Error::Attribute`] if its delete callback refuses: it then stays.
    #[doc(alias = "MPI_Win_delete_attr")]
    pub fn delete_attribute<T: Any + Send + Sync>(&self, key: &WinKeyval<T>) -> Result<bool> {
        let (calls, at) = (&self.calls, self.calls.place(Call::Attribute));
        calls.within(Call::Attribute, || self.attributes.delete(at, &calls.identity, key))
    }

    /// Deletes all attributes of this rank, the latest first: what [`Win::free`] begins with. Local;
    /// does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a delete callback refuses: its attribute stays, and those before it.
    pub fn delete_attributes(&self) -> Result<()> {
        self.attributes.delete_all(&self.calls.place(Call::WinFree), &self.calls.identity)
    }

    /// From now on accepts such calls on the window; `warn` is called at the first of the job, whichever
    /// rank makes it, with a sentence for the user.
    pub fn accept_what_is_plain(&self, warn: fn(&str)) {
        self.calls.accept_what_is_plain(warn);
    }

    // Synchronisation (MPI-4.1 §12.5).

    /// `MPI_Win_fence` (MPI-2.2 §11.4.1): completes every rank's operations since the last fence,
    /// at origin and target, and opens the next epoch.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_fence")]
    #[track_caller]
    pub fn fence(&self) -> Result<()> {
        self.fence_with(FenceAssert::NONE)
    }

    /// [`Win::fence`] with assertions: see [assertions](crate::assertions). NOSUCCEED opens no epoch.
    /// With NOPRECEDE and NOSUCCEED together it does not block.
    ///
    /// # Errors
    /// [`Error::Assertion`] if NOPRECEDE is visibly false; those of [`Win::fence`].
    #[track_caller]
    pub fn fence_with(&self, assert: FenceAssert) -> Result<()> {
        self.synchronization().fence(assert, Location::caller())
    }

    /// `MPI_Win_start` (MPI-2.2 §11.4.2): opens an access epoch on the ranks of `group`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_start")]
    #[track_caller]
    pub fn start(&self, group: &Group) -> Result<()> {
        self.start_with(group, StartAssert::NONE)
    }

    /// [`Win::start`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::start`].
    #[track_caller]
    pub fn start_with(&self, group: &Group, assert: StartAssert) -> Result<()> {
        self.synchronization().start(group, assert, Location::caller())
    }

    /// `MPI_Win_complete` (MPI-2.2 §11.4.2): closes the access epoch opened by start; its
    /// operations are complete at the origin, and at each target once that has waited.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    #[doc(alias = "MPI_Win_complete")]
    pub fn complete(&self) -> Result<()> {
        self.synchronization().complete()
    }

    /// `MPI_Win_post` (MPI-2.2 §11.4.2): exposes this rank's part to the ranks of `origins`.
    ///
    /// Local; never blocks for another rank's call. An empty group opens an exposure epoch that
    /// `wait` closes at once.
    ///
    /// # Errors
    /// [`Error::Epoch`], also if the part is locked; [`Error::Group`]; [`Error::NoMemory`] at the first
    /// post, for the post slots.
    #[doc(alias = "MPI_Win_post")]
    pub fn post(&self, origins: &Group) -> Result<()> {
        self.post_with(origins, PostAssert::NONE)
    }

    /// [`Win::post`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::post`].
    pub fn post_with(&self, origins: &Group, assert: PostAssert) -> Result<()> {
        self.synchronization().post(origins, assert)
    }

    /// `MPI_Win_wait` (MPI-2.2 §11.4.2): closes the exposure epoch opened by post.
    ///
    /// Local; blocks until every origin of the post has completed.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_wait")]
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.synchronization().wait(Location::caller())
    }

    /// `MPI_Win_test` (MPI-2.2 §11.4.2): as [`Win::wait`] if that would not block, and `true`;
    /// else no effect, and `false`.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    #[doc(alias = "MPI_Win_test")]
    pub fn test(&self) -> Result<bool> {
        self.synchronization().test()
    }

    /// `MPI_Win_lock` (MPI-2.2 §11.4.3): opens an access epoch on `target`. Several targets may be
    /// locked at once.
    ///
    /// Local; blocks while a conflicting lock is held. The target takes no part.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_lock")]
    #[track_caller]
    pub fn lock(&self, lock_type: LockType, target: Rank) -> Result<()> {
        self.lock_with(lock_type, target, LockAssert::NONE)
    }

    /// [`Win::lock`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::lock`].
    #[track_caller]
    #[inline]
    pub fn lock_with(&self, lock_type: LockType, target: Rank, assert: LockAssert) -> Result<()> {
        let at = Location::caller();
        self.synchronization().lock(&self.hints, lock_type, target, assert, at)
    }

    /// Does [`Win::lock_with`] on the fast path, and returns whether it has. If not, it has changed nothing, and that call
    /// does it or returns the error. For language bindings.
    #[inline(always)]
    pub fn try_lock(&self, lock_type: LockType, target: Rank, assert: LockAssert) -> bool {
        self.synchronization().try_lock(lock_type, target, assert)
    }

    /// `MPI_Win_lock_all` (MPI-4.1 §12.5.3): a shared lock on every rank's part, at a cost that
    /// does not depend on their number.
    ///
    /// Local; blocks while any part is locked exclusively.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_lock_all")]
    #[track_caller]
    pub fn lock_all(&self) -> Result<()> {
        self.lock_all_with(LockAssert::NONE)
    }

    /// [`Win::lock_all`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`Win::lock_all`].
    #[track_caller]
    pub fn lock_all_with(&self, assert: LockAssert) -> Result<()> {
        self.synchronization().lock_all(&self.hints, assert, Location::caller())
    }

    /// `MPI_Win_unlock` (MPI-2.2 §11.4.3): the epoch's operations are complete at origin and
    /// target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`].
    #[doc(alias = "MPI_Win_unlock")]
    #[inline]
    pub fn unlock(&self, target: Rank) -> Result<()> {
        self.synchronization().unlock(target)
    }

    /// The same of [`Win::unlock`].
    #[inline(always)]
    pub fn try_unlock(&self, target: Rank) -> bool {
        self.synchronization().try_unlock(target)
    }

    /// `MPI_Win_unlock_all` (MPI-4.1 §12.5.3). Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    #[doc(alias = "MPI_Win_unlock_all")]
    pub fn unlock_all(&self) -> Result<()> {
        self.synchronization().unlock_all()
    }

    /// `MPI_Win_flush` (MPI-4.1 §12.5.4): this rank's operations on `target` are complete at origin
    /// and target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`].
    #[doc(alias = "MPI_Win_flush")]
    #[inline(always)]
    pub fn flush(&self, target: Rank) -> Result<()> {
        flush::flush(&self.calls, &self.sync.transport, target)
    }

    /// The same of [`Win::flush`].
    #[inline(always)]
    pub fn try_flush(&self, target: Rank) -> bool {
        flush::try_flush(&self.calls, &self.sync.transport, target)
    }

    /// `MPI_Win_flush_all`: [`Win::flush`] of every target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    #[doc(alias = "MPI_Win_flush_all")]
    pub fn flush_all(&self) -> Result<()> {
        flush::flush_all(&self.calls, &self.sync.transport)
    }

    /// `MPI_Win_flush_local`: this rank's operations on `target` are complete at the origin.
    /// Operations are eager, so they are complete at the target too. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::TargetRank`].
    #[doc(alias = "MPI_Win_flush_local")]
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        flush::flush_local(&self.calls, target)
    }

    /// `MPI_Win_flush_local_all`: [`Win::flush_local`] of every target. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    #[doc(alias = "MPI_Win_flush_local_all")]
    pub fn flush_local_all(&self) -> Result<()> {
        flush::flush_local_all(&self.calls)
    }

    /// `MPI_Win_sync` (MPI-4.1 §12.5.4; New RMA Design, "RMA + Shared Memory" 3): orders this
    /// rank's loads and stores of the window before it against those after it, and against its
    /// synchronisation with others. Allowed in any epoch and in none. Local; never blocks.
    #[doc(alias = "MPI_Win_sync")]
    pub fn sync(&self) {
        flush::sync(&self.calls, &self.sync.transport);
    }

    // Extensions: waits for values and notifications, and windows that have lost a rank.

    /// Waits until the element at displacement `disp` of this rank's own part compares with `value` as
    /// `until` demands, and returns it.
    ///
    /// An extension (OpenSHMEM: `shmem_wait_until`). Local; allowed in any epoch and in none, and on
    /// several threads at the same time. Blocks, asleep if need be, until some rank has written such an
    /// element and has completed the write by flush, flush_all, unlock, unlock_all, complete, fence or
    /// win_sync, or has announced it by a notification. A flush_local completes nothing at the target, so
    /// this call may not notice the write; nor may it notice a write through another window over the same
    /// memory. What the writer had completed before it began to write the element can be read afterwards.
    ///
    /// # Errors
    /// [`Error::Range`], in dynamic windows [`Error::NotAttached`], also if the memory is detached
    /// meanwhile; [`Error::Alignment`]; [`Error::RankFailed`].
    #[track_caller]
    pub fn wait_until<T: Integer>(&self, disp: u64, until: Until, value: T) -> Result<T> {
        self.wait_until_at(self.calls.rank(), disp, until, value)
    }

    /// [`Win::wait_until`] for an element of the part of `target`, which this process must have mapped:
    /// of any rank in a window of the segment, or of another MPI.
    ///
    /// # Errors
    /// [`Error::TargetRank`]; [`Error::Flavour`] for the private memory of another process;
    /// [`Error::Range`], in dynamic windows [`Error::NotAttached`]; [`Error::Alignment`];
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn wait_until_at<T: Integer>(
        &self,
        target: Rank,
        disp: u64,
        until: Until,
        value: T,
    ) -> Result<T> {
        let (call, at) = (Call::WaitUntil, Location::caller());
        self.calls.within(call, || {
            self.calls.check_rank(call, target)?;
            let parts = (&self.calls, &self.memory, &self.sync.transport);
            let ready = |found| until.holds(found, value);
            watch::await_value(parts, call, at, (target.0, disp), ready)
        })
    }

    /// [`Win::wait_until`] if that would not block; otherwise `None`, without any effect. Local; never
    /// blocks.
    ///
    /// # Errors
    /// [`Error::Range`], in dynamic windows [`Error::NotAttached`]; [`Error::Alignment`].
    pub fn test_until<T: Integer>(&self, disp: u64, until: Until, value: T) -> Result<Option<T>> {
        let Win { calls, memory, .. } = self;
        calls.within(Call::TestUntil, || watch::test_value(calls, memory, disp, until, value))
    }

    /// Waits until `count` notifications of this rank's counter number `counter` have come and were not
    /// consumed, and consumes them. The operations that they announce are then complete, and their data
    /// can be read without further synchronisation.
    ///
    /// An extension, see [`Win::put_notify`]. Local; allowed in any epoch and in none. Blocks, asleep if
    /// need be, until the last of them has come. Threads of the rank that wait on the same counter
    /// exclude each other.
    ///
    /// # Errors
    /// [`Error::Argument`] if this rank has no such counter, or for 2³¹ notifications or more;
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn wait_notify(&self, counter: u32, count: u32) -> Result<()> {
        let (Win { calls, notifications, .. }, at) = (self, Location::caller());
        calls.within(Call::WaitNotify, || notifications.wait(calls, counter, count, at))
    }

    /// [`Win::wait_notify`] and `true` if that would not block; otherwise no effect, and `false`. Also
    /// `false` while another thread of the rank waits on the counter.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] if this rank has no such counter, or for 2³¹ notifications or more.
    pub fn test_notify(&self, counter: u32, count: u32) -> Result<bool> {
        let Win { calls, notifications, .. } = self;
        calls.within(Call::TestNotify, || notifications.test(calls, counter, count))
    }

    /// The notifications of this rank's counter number `counter` that have come and were not consumed.
    /// Only consuming them lets this rank read what they announce. Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] if this rank has no such counter.
    pub fn notifications(&self, counter: u32) -> Result<u32> {
        self.calls.handled(self.notifications.outstanding(&self.calls, counter))
    }

    /// Brings the window back into use after ranks of it have failed, and returns all that have. An
    /// extension, after the proposals for fault tolerance that MPI-4.1 leaves to implementations.
    ///
    /// In a job started with `--on-failure=continue`, once a rank of the window has failed, every call on
    /// it that would wait for others returns [`Error::RankFailed`] on all live ranks. Operations in open
    /// epochs go on, and may still be completed. After this call:
    ///
    /// * No rank has an epoch open on the window or holds a lock of it.
    /// * The ranks keep their numbers. Failed ones take no part in fence and free, and are refused in
    ///   start and post ([`Error::RankFailed`]).
    /// * Their parts in the segment have their contents, and can be accessed and locked. An operation in
    ///   which a rank was killed may have written a part of its bytes: see [`Win::torn`].
    /// * Private memory of a failed rank is gone ([`Error::Unreachable`]), and so is all that it has
    ///   attached ([`Error::NotAttached`]).
    ///
    /// Collective over the live ranks of the window; blocks until each of them has called it. If another
    /// rank fails meanwhile, the call begins again without it.
    ///
    /// # Errors
    /// [`Error::Mismatch`] on all ranks if they recover different windows; [`Error::NoMemory`] on all
    /// ranks; [`Error::RankFailed`] if the job ends.
    #[track_caller]
    pub fn recover(&mut self) -> Result<Vec<Rank>> {
        let recovered = recover(self, Location::caller());
        self.calls.survivors = self.calls.handled(recovered)?;
        let ranks = (0..self.comm().size()).map(Rank);
        Ok(ranks.filter(|rank| self.comm().failed_rank(rank.0).is_some()).collect())
    }

    /// What failed ranks of the window were writing to it when they failed (an extension). All other
    /// bytes are as whole calls have left them.
    ///
    /// One entry for each thread of a failed rank that was inside a put, an accumulate, a local store, or
    /// a store to a [`SharedPart`](crate::SharedPart). One instruction cannot be torn, so 8 bytes or one
    /// element of an accumulate give no entry. The entry of a layout or a shape covers everything from
    /// the first byte to the last, gaps included. A rank that was about to begin or had just ended gives
    /// an entry, too; so an entry is no proof that anything is torn. If more than 16 threads of a rank
    /// have written and one of the others was writing, the whole part of each rank is named (call
    /// [`Call::None`]). The list does not contain what the program writes without the library: by the
    /// address of a part, or through the slice of [`lock_local`](crate::Window::lock_local).
    ///
    /// Empty in a job started without `--on-failure=continue`, in which no rank survives. The entries
    /// stay, also after [`Win::recover`], until the window is freed.
    ///
    /// Local; does not block. The list is complete for the ranks that
    /// [`Comm::failed`](crate::Comm::failed), an error or [`Win::recover`] has named.
    ///
    /// ```no_run
    /// # use onesided::{Error, FenceAssert, Torn, Universe, Window};
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = Universe::init()?;
    /// # let mut window = Window::<u64>::allocate(universe.world(), 1 << 20)?;
    /// let opened = window.fence().map(drop);
    /// if let Err(Error::RankFailed { .. }) = opened {
    ///     for Torn { origin, call, target, start, bytes, .. } in window.torn() {
    ///         println!("rank {origin} in {call}: {bytes} bytes of rank {target}, from {start} on");
    ///     }
    ///     window.recover()?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn torn(&self) -> Vec<Torn> {
        torn(&self.calls, &self.memory)
    }

    // For the layers above.

    /// The parts that synchronising calls are given.
    #[inline(always)]
    fn synchronization(&self) -> Synchronization<'_> {
        Synchronization { calls: &self.calls, parts: &self.sync }
    }

    /// The parts that communication calls are given.
    #[inline(always)]
    pub(crate) fn communication(&self) -> Communication<'_> {
        Communication { calls: &self.calls, memory: &self.memory }
    }

    /// [`Win::flush`] without a check: an operation on `target` has just been allowed under the same
    /// lock.
    #[inline(always)]
    pub(crate) fn flush_reached(&self, target: Rank) {
        self.sync.transport.flush_reached(target);
    }

    /// The slow path of an operation that [`Win::flush_reached`] completes: completes what is under way to another
    /// MPI, and reports the flush to a checked job.
    #[cold]
    pub(crate) fn flushed_slowly(&self, target: Rank) {
        self.sync.transport.complete_elsewhere(Some(target));
        flush::flushed(&self.calls, Call::Flush, Some(target));
    }

    /// [`Win::flush_reached`] directly after a read-modify-write of an element of the target.
    #[inline(always)]
    pub(crate) fn flush_updated(&self, target: Rank) {
        self.sync.transport.flush_updated(target);
    }

    /// Wakes the ranks that wait for a change of the part of `rank`. Called after the MEM_SYNC that follows the change.
    #[inline(always)]
    pub(crate) fn ring(&self, rank: u32) {
        self.sync.transport.ring(rank);
    }

    /// Counter number `counter` of `rank`, a rank of the window.
    pub(crate) fn counter(&self, call: Call, rank: u32, counter: u32) -> Result<&NotifyCounter> {
        self.notifications.counter(&self.calls, call, rank, counter)
    }

    /// Counts a notification by another MPI; returns whether the window is its.
    #[inline]
    pub(crate) fn count_elsewhere(&self, call: Call, rank: u32, counter: u32) -> Result<bool> {
        self.notifications.count_elsewhere(&self.calls, call, (rank, counter))
    }

    /// Waits until every rank has arrived at the latest fence of this one, so that what they recorded
    /// before is visible.
    pub(crate) fn await_latest_fence(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        self.synchronization().await_latest_fence(call, at)
    }

    /// A rank that has a fence epoch open, and so may put at any time without a lock. Called when all
    /// have arrived at the latest fence of this rank ([`Win::await_latest_fence`]), after a MEM_SYNC.
    pub(crate) fn rank_in_fence_epoch(&self) -> Option<u32> {
        self.sync.transport.rank_in_fence_epoch(self.calls.rank().0)
    }

    /// Whether every rank has the window as a [`Window`](crate::Window). Threads that use the untyped
    /// calls can let an operation outlast the lock that it was checked under.
    pub(crate) fn is_typed_everywhere(&self) -> bool {
        self.hints.is_typed_everywhere()
    }

    /// The rank whose part [`Win::shared_query`] answers with.
    pub(crate) fn shared_query_rank(&self, rank: Rank) -> Result<Rank> {
        allocate::shared_query_rank(&self.calls, &self.memory, rank)
    }
}

#[cfg(feature = "test-hooks")]
impl Win {
    /// The address of the window's shadow, and its bytes, in a checked job.
    pub fn shadow(&self) -> Option<(*mut u8, usize)> {
        self.calls.check().map(|(_, window)| window.shadow_bytes())
    }
}
