//! The calls that make, free and describe communicators, in the standard's order (MPI-4.1 chapters 7 and 9).

use super::foreign::OtherComm;
use super::{
    Comm, CommKeyval, CreationVote, Description, Duplicate, SplitType, create, create_group, free,
    shrink,
};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::{Comparison, Group};
use crate::handler::ErrorHandler;
use crate::info::Info;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

impl Comm {
    /// `MPI_Comm_dup` (MPI-2.2 §6.4.2): a communicator of the same ranks in the same order, with
    /// collectives of its own. The copy callbacks of their keys copy the attributes.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Attribute`] on all ranks if a copy callback of any of them fails;
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn dup(&self) -> Result<Comm> {
        let line = Location::caller();
        self.within(Call::CommDup, || create::dup(self, line))
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
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Comm>> {
        self.collectively(Call::CommCreate, |create| create.create(group))
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
    #[track_caller]
    pub fn create_group(&self, group: &Group, tag: u32) -> Result<Comm> {
        let at = Location::caller();
        self.within(Call::CommCreateGroup, || create_group::create(self, group, tag, at))
    }

    /// `MPI_Comm_split` (MPI-2.2 §6.4.2): one communicator for each colour, of the ranks that pass it, in
    /// the order of their keys. Ranks with equal keys keep the order of this communicator. `None` is
    /// `MPI_UNDEFINED` and gets `None`.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Comm>> {
        self.collectively(Call::CommSplit, |split| split.split(colour, key))
    }

    /// `MPI_Comm_split_type` (MPI-4.1 §7.4.2): [`Comm::split`] by a property of the machine. `None` is
    /// `MPI_UNDEFINED`. Hints have no effect ([`Comm::set_info`]).
    ///
    /// # Errors
    /// [`Error::NoMemory`] on all ranks; those of any collective ([`Comm`]).
    #[track_caller]
    pub fn split_type(
        &self,
        split_type: Option<SplitType>,
        key: i32,
        info: &Info,
    ) -> Result<Option<Comm>> {
        let _ignored = info;
        // Under another MPI, no rank shares memory with another.
        let machine = self.foreign().map_or(0, |_| self.rank().0);
        self.split(split_type.map(|SplitType::Shared| machine), key)
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
    #[track_caller]
    pub fn set_info(&self, info: &Info) -> Result<()> {
        let _ignored = info;
        self.collectively(Call::CommSetInfo, |set| {
            set.exchange(&Description::bare(Call::CommSetInfo), &[]).map(drop)
        })
    }

    /// `MPI_Comm_get_info`: the hints that are in use, which are none ([`Comm::set_info`]). Local;
    /// does not block.
    pub fn info(&self) -> Info {
        Info::new()
    }

    /// `MPI_Comm_compare` (MPI-2.2 §6.4.1): [`Comparison::Identical`] for handles of the same
    /// communicator, otherwise by the groups: [`Comparison::Congruent`] if they are identical. Local;
    /// does not block.
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
    pub fn set_attribute<T>(&self, key: &CommKeyval<T>, value: T) -> Result<()>
    where
        T: Any + Send + Sync,
    {
        let call = Call::Attribute;
        self.within(call, || self.inner.attached.attributes.set(self.place(call), self, key, value))
    }

    /// `MPI_Comm_get_attr`: this rank's attribute under `key`, if there is one. Local; does not
    /// block.
    pub fn attribute<T: Any + Send + Sync>(&self, key: &CommKeyval<T>) -> Option<Arc<T>> {
        self.inner.attached.attributes.get(key)
    }

    /// `MPI_Comm_delete_attr`: whether there was an attribute under `key`. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Attribute`] if its delete callback refuses: it then stays; [`Error::Communicator`] if the
    /// communicator was freed.
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
    pub fn name(&self) -> String {
        self.inner.attached.name()
    }

    /// `MPI_Comm_set_name`: for all handles of the communicator on this rank. Duplicates do not inherit
    /// it. Local; does not block.
    pub fn set_name(&self, name: &str) {
        self.inner.attached.set_name(name);
    }

    /// `MPI_Comm_get_errhandler` (MPI-4.1 §9.3): inherited from the communicator that it was made from
    /// unless another was set; [`ErrorHandler::Return`] at first. Local; does not block.
    pub fn error_handler(&self) -> ErrorHandler {
        self.inner.attached.handler()
    }

    /// `MPI_Comm_set_errhandler`: what happens with an error of a call on the communicator before the
    /// call returns it. Communicators and windows made from it later inherit it. Local; does not block.
    ///
    /// A function that holds a handle of the communicator keeps it alive, and its rank in the job,
    /// until another handler is set.
    pub fn set_error_handler(&self, handler: ErrorHandler) {
        self.inner.attached.set_handler(handler);
    }

    /// The ranks of this communicator that are known to have failed (`MPIX_Comm_get_failed`). Always
    /// empty in a job started without `--on-failure=continue`, because no rank survives there. Local;
    /// does not block.
    pub fn failed(&self) -> Group {
        Group::of(self.inner.members.scope.lost())
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
        self.within(Call::CommShrink, || self.shrunk(Call::CommShrink, at))
    }

    // For the rest of the library.

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
        match self.context().foreign {
            None => Ok(()),
            Some(_) => Err(Error::not_foreign(self.place(call), what)),
        }
    }

    /// An error of the other MPI, as an error of `call`.
    pub(crate) fn refused(&self, call: Call, refusal: foreign::ForeignError) -> Error {
        refusal.at(self.place(call))
    }
}
