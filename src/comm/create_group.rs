//! `MPI_Comm_create_group`: a communicator made by its members alone.
//!
//! They find each other in the registry, a list in the segment of pending shared blocks. The first member
//! to arrive allocates the shared block and records what it is for. Later ones find it by parent, tag and
//! members. The last one takes it off the list and wakes the others. If a member has failed before it
//! arrived, the first live member that notices gives the shared block up. So all live members have the
//! communicator, or none has (`sync/gather.rs`). A failed allocation is recorded as well, in a place that
//! needs no allocation, until every member has read it; otherwise the others would wait for ever.

use super::Comm;
use super::create::{check_subgroup, child};
use super::description::hash;
use super::outcome::{CreationOutcome, OutcomeWords};
use super::shared::{self, REGISTRY_SITES, registry};
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::{Group, Rank};
use crate::prim::{
    Awaited, AwaitedKind, JobFailed, Progress, Step, WaitRecord, Waiter, Word64, step,
};
use crate::shm::{CommWords, CreationFailure, RegistryWords, Scope};
use crate::sync::{self, GatherPlace, Gathering};
use std::panic::Location;

const CALL: Call = Call::CommCreateGroup;
/// The most pending shared blocks: a longer list is damaged and circular.
const MOST_BLOCKS: u32 = 1 << 20;
/// Set in the number of a member that has arrived.
const HAS_COME: u32 = 1 << 31;

/// What distinguishes pending communicators, besides their members.
#[derive(Clone, Copy)]
pub(super) struct CreationKey {
    /// The block of the communicator that it is made from, or another even number if it has none.
    parent: u64,
    tag: u32,
}

impl CreationKey {
    fn tagged(comm: &Comm, tag: u32) -> CreationKey {
        let parent = comm.other().map_or(comm.block_offset(), |other| !(other.number << 1) ^ 1);
        CreationKey { parent, tag }
    }

    /// The parent of a communicator of survivors. No block is at an odd offset.
    pub(super) fn shrinking(comm: &Comm) -> CreationKey {
        let CreationKey { parent, .. } = CreationKey::tagged(comm, 0);
        CreationKey { parent: parent | 1, tag: 0 }
    }
}

/// The communicator of `group`, when all its members have arrived; in the call of the program at `at`.
pub(super) fn create(
    comm: &Comm,
    group: &Group,
    tag: u32,
    at: &'static Location<'static>,
) -> Result<Comm> {
    check_subgroup(comm.members(), CALL, group)?;
    if group.rank_of_world(comm.context().rank).is_none() {
        let problem = "this rank is not in the group".to_owned();
        return Err(Error::Group { at: comm.place(CALL), problem });
    }
    if let Some(other) = comm.other()
        && !comm.context().reaches_all(group.members())
    {
        let foreign = other.create_group(comm.members(), group, tag)?;
        return child(comm, group.clone(), 0, Some(foreign), Attributes::default());
    }
    let scope = comm.context().scope(group.members().iter().copied());
    let block = match group.size() {
        1 => 0,
        _ => await_members(comm, CALL, group, CreationKey::tagged(comm, tag), &scope, at)?,
    };
    child(comm, group.clone(), block, None, Attributes::default())
}

/// The block of the communicator of `group`, when all its members have arrived. `scope` is theirs.
pub(super) fn await_members(
    comm: &Comm,
    call: Call,
    group: &Group,
    key: CreationKey,
    scope: &Scope,
    at: &'static Location<'static>,
) -> Result<u64> {
    let context = comm.context();
    let registry = registry(&context.segment)?;
    let wish = CreationRequest { comm, call, registry, key, group, scope, at };
    sync::gather(&registry.lock.0, REGISTRY_SITES, &wish, group.size(), &context.excluded())
}

/// A communicator that this rank creates.
struct CreationRequest<'a> {
    comm: &'a Comm,
    call: Call,
    registry: &'a RegistryWords,
    key: CreationKey,
    group: &'a Group,
    /// The members.
    scope: &'a Scope,
    /// The program's line that made the call.
    at: &'static Location<'static>,
}

impl GatherPlace for CreationRequest<'_> {
    /// The block of the communicator.
    type At = u64;
    type Error = Error;

    fn come(&self) -> Result<(u64, bool)> {
        let block = self.find_or_open()?;
        let all = self.join(block)?;
        step(Step::SpaceMarked);
        Ok((block, all))
    }

    /// Takes the shared block off the list, if it is there.
    fn close(&self, block: u64) -> Result<()> {
        let next = self.shared_words(block)?.next.load();
        let mut link: &Word64 = &self.registry.first;
        for _ in 0..MOST_BLOCKS {
            match link.load() {
                // The rank that has taken it off has failed before it recorded more.
                0 => return Ok(()),
                found if found == block => {
                    link.store(next);
                    step(Step::SpaceClosed);
                    return Ok(());
                }
                before => link = &self.shared_words(before)?.next,
            }
        }
        Err(Error::Damaged { what: "list of communicators" })
    }

    fn leave(&self, block: u64) -> Result<()> {
        let members = self.members(block)?;
        let come = members.iter().filter(|member| **member & HAS_COME != 0);
        let come = come.map(|member| member & !HAS_COME);
        let left = shared::leave(self.comm.context(), self.shared_words(block)?, block, come);
        left.map_err(|error| self.comm.context().refusal(error, self.comm.place(self.call), 0))
    }

    fn words(&self, block: u64) -> Result<&Gathering> {
        Ok(&self.shared_words(block)?.gathering)
    }

    fn wait(
        &self,
        block: u64,
        wait: &dyn Fn(&Waiter<'_>) -> std::result::Result<(), JobFailed>,
    ) -> std::result::Result<(), JobFailed> {
        let describe = |record: &WaitRecord| {
            record.set(&Awaited {
                kind: AwaitedKind::Arrival,
                others: self.group.members(),
                come: self.words(block).map_or(0, Gathering::come),
                awaited: self.group.size(),
                object: block,
                ..Awaited::default()
            });
        };
        let context = self.comm.context();
        let progress = Some(&**context as &dyn Progress);
        let waiter = context.recording_waiter(self.scope, self.at, &describe);
        wait(&Waiter { progress, ..waiter })
    }

    fn failed(&self, _: JobFailed) -> Error {
        let failed = self.comm.context().named(self.scope);
        Error::RankFailed { at: self.comm.place(self.call), failed: Rank(failed), lock_of: None }
    }
}

/// All these run in the registry.
impl<'a> CreationRequest<'a> {
    /// The block of the communicator.
    fn find_or_open(&self) -> Result<u64> {
        let segment = &self.comm.context().segment;
        let bytes = segment.layout().comm_block_bytes(self.group.size());
        if let Some(words) = self.hear_of_failure() {
            return CreationOutcome::from(words).block(self.comm, self.call, bytes);
        }
        if let Some(block) = self.find()? {
            return Ok(block);
        }
        let outcome = CreationOutcome::of(shared::allocate(self.comm.context(), self.group.size()));
        if outcome.is_failure() {
            self.note_failure(&outcome.words);
        }
        let block = outcome.block(self.comm, self.call, bytes)?;
        self.open(block)?;
        Ok(block)
    }

    fn shared_words(&self, block: u64) -> Result<&'a CommWords> {
        self.comm.context().segment.mapping().view(block)
    }

    /// The awaited shared block of just these members.
    fn find(&self) -> Result<Option<u64>> {
        let mut block = self.registry.first.load();
        for _ in 0..MOST_BLOCKS {
            if block == 0 {
                return Ok(None);
            }
            let words = self.shared_words(block)?;
            let (parent, tag, members) =
                (words.parent.load(), words.tag.load(), words.members.load());
            if (parent, tag, members) == (self.key.parent, self.key.tag, self.group.size()) {
                let members = self.members(block)?;
                let world = self.group.members();
                if members.iter().zip(world).all(|(member, world)| member & !HAS_COME == *world) {
                    return Ok(Some(block));
                }
            }
            block = words.next.load();
        }
        Err(Error::Damaged { what: "list of communicators" })
    }

    /// Records in a new shared block its members, and puts it on the list.
    fn open(&self, block: u64) -> Result<()> {
        let words = self.shared_words(block)?;
        words.parent.store(self.key.parent);
        words.tag.store(self.key.tag);
        words.members.store(self.group.size());
        self.set_members(block, self.group.members())?;
        words.next.store(self.registry.first.load());
        self.registry.first.store(block);
        Ok(())
    }

    /// Records that this rank has arrived; returns whether all have.
    fn join(&self, block: u64) -> Result<bool> {
        let mut members = self.members(block)?;
        let own = self.comm.context().rank;
        let Some(mine) = members.iter_mut().find(|member| **member & !HAS_COME == own) else {
            return Err(Error::Damaged { what: "members of a communicator" });
        };
        if *mine & HAS_COME != 0 {
            let problem = "another thread of this rank waits with the same group and tag";
            return Err(self.comm.problem(self.call, problem));
        }
        *mine |= HAS_COME;
        self.set_members(block, &members)?;
        Ok(members.iter().all(|member| member & HAS_COME != 0))
    }

    /// Where the members are until all have come: their staging areas are not in use before.
    fn listed(&self, block: u64) -> u64 {
        self.comm.context().segment.layout().stages_of(block, self.group.size()).rests()
    }

    fn members(&self, block: u64) -> Result<Vec<u32>> {
        let mut members = vec![0; self.group.ranks().len()];
        let mapping = self.comm.context().segment.mapping();
        mapping.read(self.listed(block), bytemuck::cast_slice_mut(&mut members))?;
        Ok(members)
    }

    fn set_members(&self, block: u64, members: &[u32]) -> Result<()> {
        let mapping = self.comm.context().segment.mapping();
        mapping.write(self.listed(block), bytemuck::cast_slice(members))
    }

    /// Distinguishes failures of these members from others.
    fn digest(&self) -> u64 {
        let members = self.group.members().iter().map(|world| u64::from(*world));
        hash([self.key.parent, u64::from(self.key.tag)].into_iter().chain(members))
    }

    /// The oldest failure that this rank has to read.
    fn hear_of_failure(&self) -> Option<OutcomeWords> {
        let own = self.comm.context().here;
        let unheard = |failure: &&CreationFailure| {
            failure.number.load() != 0
                && failure.key.load() == self.digest()
                && !failure.aware.contains(own)
        };
        let failures = self.registry.failures.iter().filter(unheard);
        let failure = failures.min_by_key(|failure| failure.number.load())?;
        failure.aware.insert(own);
        failure.unaware.store(failure.unaware.load().saturating_sub(1));
        if failure.unaware.load() == 0 {
            failure.number.store(0);
        }
        let [kind, available] = &failure.what;
        Some(OutcomeWords { block: 0, failure: kind.load(), available: available.load() })
    }

    /// Records a failure for the other members, in a free place (number zero) or in that of the oldest
    /// failure, whose members have probably ended for another reason.
    fn note_failure(&self, words: &OutcomeWords) {
        let failures = self.registry.failures.iter();
        let Some(failure) = failures.min_by_key(|failure| failure.number.load()) else { return };
        let number = self.registry.failures_noted.load().wrapping_add(1);
        self.registry.failures_noted.store(number);
        // The place is free until all is written, because this rank may fail in between.
        failure.number.store(0);
        failure.key.store(self.digest());
        failure.unaware.store(u64::from(self.group.size()) - 1);
        failure.what[0].store(words.failure);
        failure.what[1].store(words.available);
        failure.aware.clear();
        failure.aware.insert(self.comm.context().here);
        failure.number.store(number);
    }
}
