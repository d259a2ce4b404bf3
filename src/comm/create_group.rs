//! `MPI_Comm_create_group`: a communicator made by its members alone.
//!
//! They find each other in the registry, a list in the segment of the rooms that are being made:
//! who comes first allocates the room and writes down what it is for; who comes later finds it by
//! parent, tag and members; who comes last takes it off the list and wakes the others. An
//! allocation that fails is written down as well, in a place that needs no allocation, until every
//! member has heard of it: else the others would wait for the one that has given up. Where a member
//! has failed that has not come, the room is given up in the registry, by the first who notices: so
//! all members who live have the communicator, or none has.

use super::Comm;
use super::exchange::hash;
use super::outcome::{Outcome, Told};
use super::room::{self, REGISTRY_SITES, registry};
use crate::attribute::Attributes;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::prim::{Awaited, AwaitedKind, JobFailed, WaitRecord, Word64};
use crate::shm::{Failure, RegistryWords, RoomWords, Scope, room_bytes, room_stages};
use std::panic::Location;

const CALL: Call = Call::CommCreateGroup;
/// Of rooms whose members have not all come: a longer list goes round in a circle.
const MOST_ROOMS: u32 = 1 << 20;
/// Set in the number of a member that has come.
const HAS_COME: u32 = 1 << 31;
/// What the number of members that have come is set to where they do not wait for the rest.
const GIVEN_UP: u32 = 1 << 31;

/// What communicators that are being made are told apart by, beside their members.
#[derive(Clone, Copy)]
pub(super) struct Key {
    /// The block of the communicator that it is made from.
    parent: u64,
    tag: u32,
}

impl Key {
    fn tagged(comm: &Comm, tag: u32) -> Key {
        Key { parent: comm.inner.room.as_ref().map_or(0, |room| room.block), tag }
    }

    /// That of the communicator of those who live. No block is at an odd offset.
    pub(super) fn shrinking(comm: &Comm) -> Key {
        let Key { parent, .. } = Key::tagged(comm, 0);
        Key { parent: parent | 1, tag: 0 }
    }
}

impl Comm {
    /// `MPI_Comm_create_group` (MPI-4.1 §7.4.2): a communicator of the ranks of `group` in its
    /// order. It takes over the error handler of this one.
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
        self.within(CALL, || {
            self.check_subgroup(CALL, group)?;
            if group.rank_of_world(self.context().rank).is_none() {
                let problem = "this rank is not in the group".to_owned();
                return Err(Error::Group { at: self.place(CALL), problem });
            }
            let scope = self.context().scope(group.world_ranks().iter().copied());
            let block = match group.size() {
                1 => 0,
                _ => self.await_members(CALL, group, Key::tagged(self, tag), &scope, at)?,
            };
            self.child(group.clone(), block, Attributes::default())
        })
    }

    /// The block of the room of `group`, when all its members have come for it. `scope` is theirs.
    pub(super) fn await_members(
        &self,
        call: Call,
        group: &Group,
        key: Key,
        scope: &Scope,
        at: &'static Location<'static>,
    ) -> Result<u64> {
        let context = self.context();
        let failed =
            |_| Error::RankFailed { at: self.place(call), failed: scope.named(), lock_of: None };
        let registry = registry(&context.segment)?;
        let wish = Wish { comm: self, call, registry, key, group };
        let waiter = context.excluded();
        let in_registry = |body: &dyn Fn() -> Result<u64>| {
            registry.lock.0.run(REGISTRY_SITES, &waiter, |_| body()).map_err(failed)?
        };
        let block = in_registry(&|| wish.come())?;
        let words = wish.room(block)?;
        let tell = |record: &WaitRecord| {
            record.say(&Awaited {
                kind: AwaitedKind::Arrival,
                others: group.world_ranks(),
                come: words.arrived.load(),
                awaited: group.size(),
                meeting: block,
                ..Awaited::default()
            });
        };
        let telling = context.telling_waiter(scope, at, &tell);
        // Whether they have come, or one of them never will, is decided below.
        let _ = telling.until(&words.arrived, |arrived| arrived >= group.size());
        // In the registry behind the last one to come: what the members have written there lies
        // where they may now stage.
        in_registry(&|| {
            if words.arrived.load() < group.size() {
                wish.take_off(block)?;
                words.arrived.store_and_wake(GIVEN_UP);
            }
            match words.arrived.load() == group.size() {
                true => Ok(block),
                false => Err(failed(JobFailed)),
            }
        })
    }
}

/// A communicator that this rank wants to make; all its functions run in the registry.
struct Wish<'a> {
    comm: &'a Comm,
    call: Call,
    registry: &'a RegistryWords,
    key: Key,
    group: &'a Group,
}

impl<'a> Wish<'a> {
    /// Counts this rank as one that has come; returns the block of the room.
    fn come(&self) -> Result<u64> {
        let bytes = room_bytes(self.group.size());
        if let Some(told) = self.hear_of_failure() {
            return Outcome::from(told).block(self.comm, self.call, bytes);
        }
        if let Some(block) = self.find()? {
            self.join(block)?;
            return Ok(block);
        }
        let outcome = Outcome::of(room::allocate(self.comm.context(), self.group.size()));
        if outcome.is_failure() {
            self.note_failure(&outcome.told);
        }
        let block = outcome.block(self.comm, self.call, bytes)?;
        self.open(block)?;
        self.join(block)?;
        Ok(block)
    }

    fn room(&self, block: u64) -> Result<&'a RoomWords> {
        self.comm.context().segment.mapping().view(block)
    }

    /// The awaited room of just these members.
    fn find(&self) -> Result<Option<u64>> {
        let mut block = self.registry.first.load();
        for _ in 0..MOST_ROOMS {
            if block == 0 {
                return Ok(None);
            }
            let room = self.room(block)?;
            let (parent, tag, members) = (room.parent.load(), room.tag.load(), room.members.load());
            if (parent, tag, members) == (self.key.parent, self.key.tag, self.group.size()) {
                let members = self.members(block)?;
                let world = self.group.world_ranks();
                if members.iter().zip(world).all(|(member, world)| member & !HAS_COME == *world) {
                    return Ok(Some(block));
                }
            }
            block = room.next.load();
        }
        Err(Error::Damaged { what: "list of communicators" })
    }

    /// Writes down in a fresh room whom it is for, and puts it on the list.
    fn open(&self, block: u64) -> Result<()> {
        let room = self.room(block)?;
        room.parent.store(self.key.parent);
        room.tag.store(self.key.tag);
        room.members.store(self.group.size());
        self.set_members(block, self.group.world_ranks())?;
        room.next.store(self.registry.first.load());
        self.registry.first.store(block);
        Ok(())
    }

    /// Counts this rank; the last one takes the room off the list and wakes the others.
    fn join(&self, block: u64) -> Result<()> {
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
        if members.iter().all(|member| member & HAS_COME != 0) {
            self.take_off(block)?;
        }
        self.room(block)?.arrived.add_and_wake(1);
        Ok(())
    }

    fn take_off(&self, block: u64) -> Result<()> {
        let next = self.room(block)?.next.load();
        let mut link: &Word64 = &self.registry.first;
        for _ in 0..MOST_ROOMS {
            match link.load() {
                0 => break,
                found if found == block => {
                    link.store(next);
                    return Ok(());
                }
                before => link = &self.room(before)?.next,
            }
        }
        Err(Error::Damaged { what: "list of communicators" })
    }

    fn members(&self, block: u64) -> Result<Vec<u32>> {
        let mut members = vec![0; self.group.size() as usize];
        let mapping = self.comm.context().segment.mapping();
        mapping.read(room_stages(block), bytemuck::cast_slice_mut(&mut members))?;
        Ok(members)
    }

    fn set_members(&self, block: u64, members: &[u32]) -> Result<()> {
        let mapping = self.comm.context().segment.mapping();
        mapping.write(room_stages(block), bytemuck::cast_slice(members))
    }

    /// Tells failures for these members from others.
    fn digest(&self) -> u64 {
        let members = self.group.world_ranks().iter().map(|world| u64::from(*world));
        hash([self.key.parent, u64::from(self.key.tag)].into_iter().chain(members))
    }

    /// The word and the bit of this rank among those that have heard of a failure.
    fn own_bit(&self) -> (usize, u64) {
        let own = self.comm.context().rank;
        ((own / 64) as usize, 1 << (own % 64))
    }

    /// The oldest failure that this rank has to hear of.
    fn hear_of_failure(&self) -> Option<Told> {
        let (word, bit) = self.own_bit();
        let unheard = |failure: &&Failure| {
            failure.number.load() != 0
                && failure.key.load() == self.digest()
                && failure.aware[word].load() & bit == 0
        };
        let failures = self.registry.failures.iter().filter(unheard);
        let failure = failures.min_by_key(|failure| failure.number.load())?;
        failure.aware[word].store(failure.aware[word].load() | bit);
        failure.unaware.store(failure.unaware.load().saturating_sub(1));
        if failure.unaware.load() == 0 {
            failure.number.store(0);
        }
        let [kind, available] = &failure.what;
        Some(Told { block: 0, failure: kind.load(), available: available.load() })
    }

    /// Writes a failure down for the other members: in a free place, whose number is zero, or in
    /// that of the oldest failure, whose members have most likely ended otherwise.
    fn note_failure(&self, told: &Told) {
        let failures = self.registry.failures.iter();
        let Some(failure) = failures.min_by_key(|failure| failure.number.load()) else { return };
        let number = self.registry.failures_noted.load().wrapping_add(1);
        self.registry.failures_noted.store(number);
        failure.number.store(number);
        failure.key.store(self.digest());
        failure.unaware.store(u64::from(self.group.size()) - 1);
        failure.what[0].store(told.failure);
        failure.what[1].store(told.available);
        let (word, bit) = self.own_bit();
        for (k, aware) in failure.aware.iter().enumerate() {
            aware.store(if k == word { bit } else { 0 });
        }
    }
}
