//! A communicator's calls but the collectives and messages: access, creation, freeing, attributes, in the
//! standard's order (MPI-4.1 chapters 7 and 9); then what the rest of the library needs of one.

use super::exchange::CHUNK;
use super::foreign::OtherComm;
use super::shared::SharedBlock;
use super::{
    Collective, Comm, CommKeyval, CommMembers, CreationVote, Description, Duplicate, Inner,
    NUMBERS, Purpose, SplitType, create, create_group, free, shrink,
};
use crate::call::Call;
use crate::context::{Context, InCall};
use crate::error::{Error, Place, Result};
use crate::foreign;
use crate::group::{Comparison, Group, Rank};
use crate::handler::ErrorHandler;
use crate::info::Info;
use crate::prim::{JobFailed, WaitRecord, Waiter};
use crate::shm::is_forked;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

impl Comm {
    /// `MPI_Comm_rank`: this process's rank, from 0 to `size() - 1`.
    #[doc(alias = "MPI_Comm_rank")]
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank(self.inner.members.rank)
    }

    /// Its ranks, in ascending order. `ranks().len()` is their number as a `usize`.
    pub fn ranks(&self) -> impl DoubleEndedIterator<Item = Rank> + ExactSizeIterator + use<> {
        self.inner.members.group.ranks()
    }

    /// `MPI_Comm_size`
    #[doc(alias = "MPI_Comm_size")]
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// `MPI_Comm_group`
    #[doc(alias = "MPI_Comm_group")]
    pub fn group(&self) -> Group {
        self.inner.members.group.clone()
    }

    /// `MPI_Comm_dup` (MPI-2.2 §6.4.2): a communicator of the same ranks in the same order, with
    /// collectives of its own. The copy callbacks of their keys copy the attributes.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a copy callback of any of them fails;
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Comm_dup")]
    #[track_caller]
    pub fn dup(&self) -> Result<Comm> {
        let line = Location::caller();
        let made = self.within(Call::CommDup, || create::dup(self, line));
        made.inspect(|comm| comm.expect_free(line))
    }

    /// `MPI_Comm_create` (MPI-2.2 §6.4.2): a communicator of the ranks of `group` in its order, or
    /// several of disjoint groups. All members of a group pass that group. Other ranks may pass it, too,
    /// or an empty one, and get `None`.
    ///
    /// Collective over this communicator; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Group`] on all ranks if the members of a group pass different ones. Also on a rank whose
    /// group is not part of this communicator; the others then get [`Error::Mismatch`].
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Comm_create")]
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Comm>> {
        let made = self.collectively(Call::CommCreate, |create| create.create(group));
        made.inspect(|comm| comm.iter().for_each(|comm| comm.expect_free(Location::caller())))
    }

    /// `MPI_Comm_create_group` (MPI-4.1 §7.4.2): a communicator of the ranks of `group` in its order. It
    /// inherits the error handler of this one.
    ///
    /// Collective over `group` alone; blocks until every member has called it with the same group
    /// and tag. Other ranks need not know, and other collectives may be under way on this
    /// communicator. Threads that make communicators at the same time use different tags.
    ///
    /// # Errors
    /// [`Error::Group`] if this rank is not in `group`, or some of `group` not in this
    /// communicator; [`Error::NoMemory`] on all members; [`Error::Communicator`] if another thread
    /// of this rank waits in a call with the same group and tag; [`Error::RankFailed`].
    #[doc(alias = "MPI_Comm_create_group")]
    #[track_caller]
    pub fn create_group(&self, group: &Group, tag: u32) -> Result<Comm> {
        let at = Location::caller();
        let made =
            self.within(Call::CommCreateGroup, || create_group::create(self, group, tag, at));
        made.inspect(|comm| comm.expect_free(at))
    }

    /// `MPI_Comm_split` (MPI-2.2 §6.4.2): one communicator for each colour, of the ranks that pass it, in
    /// the order of their keys. Ranks with equal keys keep the order of this communicator. `None` is
    /// `MPI_UNDEFINED` and gets `None`.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Comm_split")]
    #[track_caller]
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Comm>> {
        let made = self.collectively(Call::CommSplit, |split| split.split(colour, key));
        made.inspect(|comm| comm.iter().for_each(|comm| comm.expect_free(Location::caller())))
    }

    /// `MPI_Comm_split_type` (MPI-4.1 §7.4.2): [`Comm::split`] by a property of the machine. `None` is
    /// `MPI_UNDEFINED`. Hints have no effect ([`Comm::set_info`]).
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Comm_split_type")]
    #[track_caller]
    pub fn split_type(
        &self,
        split_type: Option<SplitType>,
        key: i32,
        info: &Info,
    ) -> Result<Option<Comm>> {
        let _ignored = info;
        let node = self.context().node;
        self.split(split_type.map(|SplitType::Shared| node), key)
    }

    /// `MPI_Comm_free` (MPI-4.1 §7.4.3): calls the delete callbacks of this rank's attributes, the latest
    /// first, and marks the communicator as freed. Its other handles are refused from then on; windows
    /// and requests made over it continue. Its memory is freed when the last rank has freed it and drops
    /// its last handle.
    ///
    /// All ranks free it, in any order with other calls. Local; blocks at most while another rank frees a
    /// communicator.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a delete callback of this rank refuses: the communicator is then not freed
    /// on this rank. Its memory stays until the job ends if no other handle is left to free it.
    /// [`Error::Communicator`] for the job's own communicators, and for one that has been freed.
    #[doc(alias = "MPI_Comm_free")]
    pub fn free(self) -> Result<()> {
        self.within(Call::CommFree, || free::free(&self))
    }

    /// `MPI_Comm_set_info` (MPI-4.1 §7.4.4). The standard's hints for communicators assert what a program
    /// does not do. No call here is faster for that, so this library ignores them, as it may, and
    /// [`Comm::info`] does not return them. Therefore `MPI_Comm_dup_with_info` is [`Comm::dup`].
    ///
    /// Collective; blocks until every rank has called it. The info may differ from rank to rank.
    ///
    /// # Errors
    /// Those of any collective ([`Comm`]).
    #[doc(alias = "MPI_Comm_set_info")]
    #[track_caller]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        let _ignored = info;
        self.collectively(Call::CommSetInfo, |set| {
            set.exchange(&Description::bare(Call::CommSetInfo), &[]).map(drop)
        })
    }

    /// `MPI_Comm_get_info`: the hints that are in use, which are none ([`Comm::set_info`]). Local;
    /// does not block.
    #[doc(alias = "MPI_Comm_get_info")]
    pub fn info(&self) -> Info {
        Info::new()
    }

    /// `MPI_Comm_compare` (MPI-2.2 §6.4.1): [`Comparison::Identical`] for handles of the same
    /// communicator, otherwise by the groups: [`Comparison::Congruent`] if they are identical. Local;
    /// does not block.
    #[doc(alias = "MPI_Comm_compare")]
    pub fn compare(&self, other: &Comm) -> Comparison {
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return Comparison::Identical;
        }
        match self.inner.members.group.compare(&other.inner.members.group) {
            Comparison::Identical => Comparison::Congruent,
            by_groups => by_groups,
        }
    }

    /// `MPI_Comm_set_attr` (MPI-4.1 §7.7.2): sets this rank's attribute under `key`. One that
    /// exists is deleted first, and stays if its delete callback refuses. Local; does not block.
    ///
    /// A value that holds a handle of the communicator keeps it alive, and its rank in the job,
    /// until the attribute is deleted. The job's own communicators drop theirs when it ends.
    ///
    /// # Errors
    /// [`Error::Keyval`] if the key was freed; [`Error::Attribute`] if the delete callback refuses;
    /// [`Error::Communicator`] if the communicator was freed.
    #[doc(alias = "MPI_Comm_set_attr")]
    pub fn set_attribute<T>(&self, key: &CommKeyval<T>, value: T) -> Result<()>
    where
        T: Any + Send + Sync,
    {
        let call = Call::Attribute;
        self.within(call, || self.inner.attached.attributes.set(self.place(call), self, key, value))
    }

    /// `MPI_Comm_get_attr`: this rank's attribute under `key`, if there is one. Local; does not
    /// block.
    #[doc(alias = "MPI_Comm_get_attr")]
    pub fn attribute<T: Any + Send + Sync>(&self, key: &CommKeyval<T>) -> Option<Arc<T>> {
        self.inner.attached.attributes.get(key)
    }

    /// `MPI_Comm_delete_attr`: whether there was an attribute under `key`. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`] if its delete callback refuses: it then stays; [`Error::Communicator`] if the
    /// communicator was freed.
    #[doc(alias = "MPI_Comm_delete_attr")]
    pub fn delete_attribute<T: Any + Send + Sync>(&self, key: &CommKeyval<T>) -> Result<bool> {
        let call = Call::Attribute;
        self.within(call, || self.inner.attached.attributes.delete(self.place(call), self, key))
    }

    /// Deletes all attributes of this rank, the latest first. [`Comm::free`] begins with it, and so does
    /// the end of the job for its communicator of one rank (MPI-4.1 §11.2.4). Local; does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a delete callback refuses: its attribute stays, and those before it.
    pub fn delete_attributes(&self) -> Result<()> {
        self.inner.attached.attributes.delete_all(&self.place(Call::Finalize), self)
    }

    /// `MPI_Comm_get_name` (MPI-4.1 §7.8): empty unless one was set; `MPI_COMM_WORLD` and
    /// `MPI_COMM_SELF` for the job's own. Local; does not block.
    #[doc(alias = "MPI_Comm_get_name")]
    pub fn name(&self) -> String {
        self.inner.attached.name()
    }

    /// `MPI_Comm_set_name`: for all handles of the communicator on this rank. Duplicates do not inherit
    /// it. Local; does not block.
    #[doc(alias = "MPI_Comm_set_name")]
    pub fn set_name(&self, name: &str) {
        self.inner.attached.set_name(name);
    }

    /// `MPI_Comm_get_errhandler` (MPI-4.1 §9.3): inherited from the communicator that it was made from
    /// unless another was set; [`ErrorHandler::Return`] at first. Local; does not block.
    #[doc(alias = "MPI_Comm_get_errhandler")]
    pub fn error_handler(&self) -> ErrorHandler {
        self.inner.attached.handler()
    }

    /// `MPI_Comm_set_errhandler`: what happens with an error of a call on the communicator before the
    /// call returns it. Communicators and windows made from it later inherit it. Local; does not block.
    ///
    /// A function that holds a handle of the communicator keeps it alive, and its rank in the job,
    /// until another handler is set.
    #[doc(alias = "MPI_Comm_set_errhandler")]
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        self.inner.attached.set_handler(handler);
    }

    /// The ranks of this communicator that are known to have failed (`MPIX_Comm_get_failed`). Always
    /// empty in a job started without `--on-failure=continue`, because no rank survives there. Local;
    /// does not block.
    pub fn failed(&self) -> Group {
        Group::of(self.context().lost(&self.inner.members.scope))
    }

    /// A communicator of the live ranks of this one, in the same order (`MPIX_Comm_shrink`). Once a rank
    /// has failed, every other collective of this communicator returns [`Error::RankFailed`] on all live
    /// ranks.
    ///
    /// Collective over the live ranks; blocks until each of them has called it. If another one fails
    /// meanwhile, it is left out on all ranks or on none.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; [`Error::RankFailed`] if the job ends.
    #[track_caller]
    pub fn shrink(&self) -> Result<Comm> {
        let at = Location::caller();
        let made = self.within(Call::CommShrink, || self.shrunk(Call::CommShrink, at));
        made.inspect(|comm| comm.expect_free(at))
    }

    // For the rest of the library.

    pub(crate) fn world(context: Arc<Context>) -> Result<Comm> {
        let group = Group::world(context.ranks);
        let other = context.foreign.map(|world| OtherComm::new(&context, world)).transpose();
        let other = other.map_err(|refusal| {
            refusal.at(Place { call: Call::Init, window: None, rank: Some(Rank(context.rank)) })
        })?;
        let shared = match context.ranks {
            1 => None,
            _ if other.is_some() => None,
            _ => Some(SharedBlock::world(&context.segment)?),
        };
        Ok(Inner::new(context, group, shared, other).permanent("MPI_COMM_WORLD"))
    }

    /// The communicator of this rank alone.
    pub(crate) fn myself(context: Arc<Context>) -> Comm {
        let group = Group::of([context.rank]);
        Inner::new(context, group, None, None).permanent("MPI_COMM_SELF")
    }

    /// Runs the body of a call: records meanwhile that this rank is in it, and passes an error to the
    /// communicator's handler.
    #[inline]
    pub(crate) fn within<R>(&self, call: Call, body: impl FnOnce() -> Result<R>) -> Result<R> {
        self.within_entered(call, |context| context.enter(call, 0), body)
    }

    /// For bindings of other languages: runs what is several calls here as one in records and counts, on the window of that
    /// mark (zero for none).
    #[doc(hidden)]
    pub fn in_one_call<R>(&self, call: Call, mark: u64, body: impl FnOnce() -> R) -> R {
        let _call = (!is_forked()).then(|| self.context().enter(call, mark));
        body()
    }

    /// [`Comm::within`] of a message of that many bytes to or from `peer`.
    #[inline]
    pub(crate) fn within_message<R>(
        &self,
        (call, peer, bytes): (Call, Rank, u64),
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let world = |rank| self.world_rank(rank);
        let reach = (peer, bytes);
        self.within_entered(call, |context| context.enter_operation((call, 0), reach, world), body)
    }

    #[inline(always)]
    fn within_entered<R>(
        &self,
        call: Call,
        enter: impl FnOnce(&Context) -> InCall<'_>,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if is_forked() {
            return self.handled(Err(Error::Forked { at: self.place(call) }));
        }
        let inside = enter(self.context());
        match self.check_alive(call).and_then(|()| body()) {
            Ok(value) => {
                inside.end();
                Ok(value)
            }
            Err(error) => Err(self.handle(error)),
        }
    }

    /// Runs the body of a collective.
    #[track_caller]
    pub(crate) fn collectively<R>(
        &self,
        call: Call,
        body: impl FnOnce(&mut Collective<'_>) -> Result<R>,
    ) -> Result<R> {
        let at = Location::caller();
        self.within(call, || body(&mut Collective::begin(self, call, at)?))
    }

    /// Passes an error to the communicator's handler.
    #[inline]
    pub(crate) fn handled<R>(&self, result: Result<R>) -> Result<R> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.handle(error)),
        }
    }

    #[cold]
    fn handle(&self, error: Error) -> Error {
        // A copy, because the function may replace the handler.
        self.error_handler().handle(&error);
        error
    }

    /// Refuses a communicator that has been freed.
    #[inline]
    pub(crate) fn check_alive(&self, call: Call) -> Result<()> {
        match self.is_freed() {
            false => Ok(()),
            true => Err(self.problem(call, "the communicator has been freed")),
        }
    }

    #[inline]
    pub(crate) fn is_freed(&self) -> bool {
        self.inner.freed.load() != 0
            && !matches!(self.purpose, Purpose::Requests | Purpose::Collective(_))
    }

    /// A handle for a request, which can still start and complete it after the communicator was freed
    /// (MPI-4.1 §7.4.3). Local; does not block.
    pub fn for_requests(&self) -> Comm {
        Comm { purpose: Purpose::Requests, ..self.clone() }
    }

    /// A handle for one persistent collective, which starts it any number of times, each after the start
    /// before is complete. Starts of different handles have no order among them (MPI-4.1 §6.13). Still
    /// valid after the communicator was freed, as that of [`Comm::for_requests`].
    ///
    /// Collective, counted with the other calls of this function; does not block.
    pub fn for_persistent_collective(&self) -> Comm {
        let purpose = Purpose::Collective(self.inner.persistent.fetch_add(1));
        Comm { purpose, ..self.clone() }
    }

    #[cold]
    pub(super) fn problem(&self, call: Call, problem: &str) -> Error {
        Error::Communicator { at: self.place(call), problem: problem.into() }
    }

    /// Its ranks, the only part of it that messages need.
    #[inline]
    pub(crate) fn members(&self) -> &CommMembers {
        &self.inner.members
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.members.context
    }

    /// How this rank waits for others of the communicator.
    #[inline]
    pub(crate) fn waiter(&self) -> Waiter<'_> {
        self.inner.members.waiter()
    }

    /// How this rank waits for one of them that is inside an exclusion of the library's own.
    #[inline]
    #[track_caller]
    pub(crate) fn excluded(&self) -> Waiter<'_> {
        self.inner.members.excluded()
    }

    /// [`Comm::waiter`] in a call that the program has made at `at`; asleep, it records by `describe`
    /// what it waits for. Meanwhile it makes progress for other ranks.
    #[inline]
    pub(crate) fn recording_waiter<'a>(
        &'a self,
        at: &'static Location<'static>,
        describe: &'a dyn Fn(&WaitRecord),
    ) -> Waiter<'a> {
        self.inner.members.recording_waiter(at, describe)
    }

    #[inline]
    pub(super) fn shared(&self) -> Result<&SharedBlock> {
        self.inner.shared.as_ref().ok_or_else(no_block)
    }

    /// The bytes that a rank can stage for a collective, the same on all its ranks.
    #[inline]
    pub(crate) fn longest_staged(&self) -> u64 {
        self.inner.shared.as_ref().map_or(CHUNK as u64, SharedBlock::longest)
    }

    /// How many of the job's ranks share a processor, as all of this communicator know once they stage longer data.
    pub(crate) fn agreed_sharing(&self) -> u32 {
        self.inner.shared.as_ref().map_or(1, SharedBlock::sharing)
    }

    /// In a long collective that waits, of a communicator that can have buffers for longer data and has none: takes
    /// them on one rank. The ranks use them after this collective, if all have called this ([`Staged::learn_longs`]).
    pub(crate) fn take_longs(&self) -> bool {
        let shared = self.inner.shared.as_ref();
        let Some(shared) = shared.filter(|shared| shared.may_get_longs()) else { return false };
        if self.keeps_to_close() {
            return false;
        }
        if self.rank() == Rank(0) {
            shared.take_longs(self.context());
        }
        true
    }

    /// The offset of its shared block in the segment, the same for all its ranks; zero if it needs none.
    pub(crate) fn block_offset(&self) -> u64 {
        self.inner.shared.as_ref().map_or(0, |shared| shared.block)
    }

    /// The error of such a wait that ended because one of them failed.
    #[cold]
    pub(crate) fn rank_failed(&self, failed: JobFailed, at: Place) -> Error {
        self.inner.members.rank_failed(failed, at)
    }

    /// Which rank of the job to name in such an error.
    #[cold]
    pub(crate) fn first_failed(&self) -> u32 {
        self.inner.members.first_failed()
    }

    /// Whether a rank has failed, of this communicator or of a job that does not go on.
    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        self.inner.members.has_lost_any()
    }

    /// The rank of the job that is rank `rank` here, if it has failed.
    pub(crate) fn failed_rank(&self, rank: u32) -> Option<u32> {
        self.inner.members.failed_rank(rank)
    }

    #[cold]
    pub(crate) fn place(&self, call: Call) -> Place {
        self.inner.members.place(call)
    }

    /// Counts a window and returns its number, the same on all ranks.
    pub(crate) fn count_window(&self) -> u32 {
        self.inner.windows.fetch_add(1)
    }

    /// The same communicator for blocking calls: a collective is complete when its start returns.
    pub fn waiting(self) -> Comm {
        Comm { purpose: Purpose::Waiting, ..self }
    }

    /// The same communicator for the initialisation of persistent collectives, which is nonlocal (MPI-4.1
    /// §6.13). A collective on it waits until all ranks have started it, compares their descriptions, and
    /// moves nothing. Later starts need not compare again.
    pub fn agreeing(&self) -> Comm {
        Comm { purpose: Purpose::Agreeing, ..self.clone() }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.purpose, Purpose::Waiting | Purpose::Agreeing)
    }

    pub(crate) fn is_agreeing(&self) -> bool {
        matches!(self.purpose, Purpose::Agreeing)
    }

    /// Whether collectives use a staging area, or another MPI in its place.
    pub(crate) fn has_staging(&self) -> bool {
        self.inner.shared.is_some() || self.inner.other.is_some()
    }

    /// The number of the messages of this persistent collective. Its starts have the same order on each
    /// rank, and so have its messages.
    pub(crate) fn persistent_number(&self) -> Option<u32> {
        match self.purpose {
            Purpose::Collective(number) => Some(NUMBERS + number % NUMBERS),
            _ => None,
        }
    }

    /// Whether the ranks arrive once more at the end of what is long, to see whether all live.
    #[inline]
    pub(crate) fn keeps_to_close(&self) -> bool {
        self.context().records().is_some()
    }

    /// Reserves that many tags for messages to this rank, and returns the first.
    pub(crate) fn count_partitions(&self, tags: u32) -> u32 {
        self.inner.partitions.fetch_add(tags)
    }

    /// The world's rank that `rank` of this communicator is, if it is one.
    pub(crate) fn world_rank(&self, rank: u32) -> Option<u32> {
        self.inner.members.world_rank(rank)
    }

    /// The world's ranks that take part, in order.
    pub(crate) fn world_ranks(&self) -> &[u32] {
        self.inner.members.world_ranks()
    }

    /// The rank of this communicator that the world's rank `world` has.
    pub(crate) fn rank_of_world(&self, world: u32) -> Option<Rank> {
        self.inner.members.rank_of_world(world)
    }

    /// The first half: copies the attributes and, on the first rank, allocates the shared block. Waits at
    /// most for a rank that allocates.
    pub(crate) fn begin_duplicate(&self) -> (Duplicate, CreationVote) {
        create::begin_duplicate(self)
    }

    /// The second half: `vote` has the votes of all ranks, in rank order.
    pub(crate) fn end_duplicate(&self, made: Duplicate, vote: &[CreationVote]) -> Result<Comm> {
        create::end_duplicate(self, made, vote)
    }

    /// Undoes the first half after an error, and returns the error to report: this rank's own, if it has
    /// one.
    pub(crate) fn give_duplicate_up(&self, made: Duplicate, error: Error) -> Error {
        create::give_duplicate_up(self, made, error)
    }

    /// Frees a communicator of which only the library has handles, with the last of them. A rank that
    /// drops its last handle has left it; the last live rank frees its memory.
    pub(crate) fn freed_with_its_handles(self) -> Comm {
        self.inner.freed.store(1);
        self
    }

    /// The program, which has made it at `at`, has to free it, if it has memory of the segment or of another MPI.
    pub(crate) fn expect_free(&self, at: &'static Location<'static>) {
        if let Some(what) = self.inner.expected() {
            let size = self.size();
            let describe = move || {
                format!("communicator of {size} ranks, created at {at}, was not freed (free)")
            };
            self.context().expect_free(self.rank() == 0, what, describe);
        }
    }

    /// Drops the attributes of one of the job's own communicators, without callbacks. They may hold
    /// handles, which would keep the rank in the job for ever.
    pub(crate) fn let_go(&self) {
        self.set_error_handler(ErrorHandler::Return);
        self.inner.attached.attributes.clear();
    }

    /// [`Comm::shrink`] for `call`.
    pub(crate) fn shrunk(&self, call: Call, at: &'static Location<'static>) -> Result<Comm> {
        shrink::shrunk(self, call, at)
    }

    pub(super) fn other(&self) -> Option<&OtherComm> {
        self.inner.other.as_ref()
    }

    /// The other MPI's communicator, if there is one.
    pub(crate) fn foreign(&self) -> Option<&foreign::ForeignComm> {
        self.other().map(|other| &other.comm)
    }

    /// Counts a window that uses it.
    pub(crate) fn hold_for_window(&self) {
        let _ = self.other().map(OtherComm::count_window);
    }

    /// Such a window has been freed. Collective, as that is.
    pub(crate) fn let_window_go(&self, call: Call) -> Result<()> {
        let _ = self.other().map(OtherComm::uncount_window);
        self.free_foreign(call)
    }

    /// Frees the other MPI's communicator once this one is freed and no window uses it any more.
    pub(super) fn free_foreign(&self, call: Call) -> Result<()> {
        let freed = self.other().map_or(Ok(()), |other| other.free(&self.inner.freed));
        freed.map_err(|refusal| self.refused(call, refusal))
    }

    /// Refuses a call that needs mapped memory of all ranks, where they share none.
    pub(crate) fn check_shares(&self, call: Call, what: &str) -> Result<()> {
        match self.foreign() {
            None => Ok(()),
            Some(_) => Err(Error::not_foreign(self.place(call), what)),
        }
    }

    /// An error of the other MPI, as an error of `call`.
    pub(crate) fn refused(&self, call: Call, refusal: foreign::ForeignError) -> Error {
        refusal.at(self.place(call))
    }
}

#[cold]
fn no_block() -> Error {
    Error::Damaged { what: "communicator without memory" }
}

/// Test builds only: signals that do not depend on the code under test.
#[cfg(feature = "test-hooks")]
impl Comm {
    /// What the ranks of a checked job have found.
    pub fn conflicts(&self) -> Option<crate::launch::Conflicts> {
        crate::launch::Conflicts::of(&self.context().segment).expect("the layout has the tables")
    }

    /// The same one by one, in the order in which they were found.
    pub fn all_conflicts(&self) -> Vec<crate::launch::Conflict> {
        crate::launch::Conflict::all(&self.context().segment).expect("the layout has the tables")
    }

    /// The address of the check's tables behind the lock, and their bytes, in a checked job.
    pub fn check_tables(&self) -> Option<(*mut u8, u64)> {
        let segment = &self.context().segment;
        let layout = segment.layout();
        let (start, end) = (layout.check?.unlocked(), layout.arena);
        let base = segment.base().cast_mut();
        Some((base.wrapping_add(start as usize), end - start))
    }

    /// Raises signal `number` (below 16) by one. It orders nothing but itself.
    pub fn signal(&self, number: usize) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        signals[number].add_and_wake(1);
    }

    /// The address of the segment, and its parts: name, first byte, end.
    pub fn segment_regions(&self) -> (*mut u8, [(&'static str, u64, u64); 11]) {
        let segment = &self.context().segment;
        let base = segment.mapping().at(0, 0).expect("the mapping has a beginning");
        (base, segment.layout().regions())
    }

    /// Blocks until signal `number` has been raised `times` times since the job began.
    pub fn await_signal(&self, number: usize, times: u32) {
        let signals = self.context().segment.signals().expect("the layout has signals");
        let raised = self.context().waiter().until(&signals[number], |raised| raised >= times);
        raised.expect("the job goes on");
    }

    /// [`Comm::await_signal`] for a signal that all ranks of this communicator raise together.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    pub fn await_signal_of_members(&self, number: usize, times: u32) -> Result<()> {
        let signals = self.context().segment.signals().expect("the layout has signals");
        let raised = self.waiter().until(&signals[number], |raised| raised >= times);
        raised.map(drop).map_err(|failed| self.rank_failed(failed, self.place(Call::None)))
    }
}
