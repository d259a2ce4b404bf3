//! Active target synchronisation: fence, post, start, complete, wait, test (MPI-2.2 §11.4).

use super::turn::{ACCESS, BOTH, EXPOSURE, Turn};
use super::{FenceAssert, PostAssert, StartAssert, Win};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::prim::{Awaited, AwaitedKind, WaitRecord};
use crate::shm::PlacedSlice;
use crate::sync::{self, FenceKind, PostSlot, Side};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::panic::Location;

/// This rank's side of post/start/complete/wait. Costs nothing until it is used.
#[derive(Default)]
pub(super) struct Pscw {
    /// What this rank knows of the targets that it has started on.
    targets: BTreeMap<u32, Posts>,
    /// Completes that this rank has consumed as a target.
    completes_seen: u32,
    /// Whom it has posted for last.
    origins: Option<Group>,
    /// This rank's own slots, once it has posted.
    own: Option<(u64, PlacedSlice<PostSlot>)>,
}

/// The post slots of one target.
struct Posts {
    slots: PlacedSlice<PostSlot>,
    /// Posts that this rank has consumed.
    seen: u32,
}

impl Pscw {
    /// The block of this rank's own slots.
    pub(super) fn table_block(&self) -> Option<u64> {
        self.own.as_ref().map(|(block, _)| *block)
    }
}

impl Win {
    /// The block of the post slots that a rank has published, if it has.
    pub(super) fn slots_of(&self, rank: u32) -> Option<u64> {
        let at = self.words_of(rank).table.own();
        (at != 0).then(|| u64::from(at) * TABLE_UNIT)
    }
}

/// Unit of the table word, in bytes: lets 32 bits reach 512 GiB.
const TABLE_UNIT: u64 = 128;

impl Win {
    /// `MPI_Win_fence` (MPI-2.2 §11.4.1): completes every rank's operations since the last fence,
    /// at origin and target, and opens the next epoch unless NOSUCCEED is asserted.
    ///
    /// Collective; blocks until every rank has called it, except with NOPRECEDE and NOSUCCEED
    /// together.
    ///
    /// # Errors
    /// [`Error::Epoch`]; [`Error::Assertion`] if NOPRECEDE is visibly false;
    /// [`Error::RankFailed`].
    #[track_caller]
    pub fn fence(&self, assert: FenceAssert) -> Result<()> {
        let at = Location::caller();
        self.within(Call::Fence, || {
            let (mut round, waiting) = {
                let mut turn = self.turn();
                let waiting = self.begin_waiting(&mut turn, Call::Fence, BOTH)?;
                (turn.fence_round, waiting)
            };
            self.check_fence(assert)?;
            let opens = !assert.has(FenceAssert::NOSUCCEED);
            let kind = match assert.has(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED) {
                true => FenceKind::ArriveOnly,
                false => FenceKind::Barrier,
            };
            let (words, ranks) = (&self.words.fence, self.meet.size());
            let announce = || self.announce_fence(opens);
            let before = round;
            let tell = |record: &WaitRecord| record.say(&self.meet.arrival(words, before));
            let waiter = self.telling_waiter(at, &tell);
            let passed = sync::fence(words, ranks, &mut round, kind, announce, &waiter);
            waiting.end(|turn| {
                turn.fence_round = round;
                self.epochs.fenced(opens && passed.is_ok());
            });
            passed.map_err(|failed| self.job_failed(failed, Call::Fence))
        })
    }

    fn check_fence(&self, assert: FenceAssert) -> Result<()> {
        self.epochs.may_fence().map_err(|problem| self.wrong_epoch(Call::Fence, problem))?;
        if assert.has(FenceAssert::NOPRECEDE) && self.epochs.is_used() {
            return Err(Error::Assertion {
                at: self.place(Call::Fence),
                assertion: "MPI_MODE_NOPRECEDE",
                why: "this rank has issued operations since the last fence".into(),
            });
        }
        Ok(())
    }

    /// Says, after this rank's operations are published and before its arrival, so that whoever
    /// has passed the fence knows, whether an epoch is open behind it, and since which fence: until all have arrived at that one, it is not yet.
    fn announce_fence(&self, opens: bool) {
        // Zero says "none". All ranks count alike, because a fence is collective.
        self.fences.store(self.fences.load().wrapping_add(1).max(1));
        let since = &self.words_of(self.comm.rank()).open.fence;
        if !opens {
            since.store(0);
        } else if since.load() == 0 {
            since.store(self.fences.load());
        }
        // Behind the MEM_SYNC that publishes this rank's operations, and before it waits for
        // ranks that may themselves be watching.
        self.ring_all();
    }

    /// Waits until every rank has arrived at the latest fence of this one, so that what they said
    /// before their arrival is known.
    pub(crate) fn await_latest_fence(
        &self,
        call: Call,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let _call = self.enter(call);
        let (round, words) = (self.turn().fence_round, &self.words.fence);
        let tell = |record: &WaitRecord| record.say(&self.meet.arrival(words, round));
        sync::passed(words, self.meet.size(), round, &self.telling_waiter(at, &tell))
            .map_err(|failed| self.job_failed(failed, call))
    }

    /// Ends a fence epoch that turned out to be none, before an epoch of another kind opens.
    #[inline]
    pub(super) fn leave_fence(&self) {
        let since = &self.words_of(self.comm.rank()).open.fence;
        // Others read the line: who has nothing to say leaves it to them.
        if since.load() != 0 {
            since.store(0);
        }
    }

    /// `MPI_Win_post` (MPI-2.2 §11.4.2): exposes this rank's part to the ranks of `origins`.
    ///
    /// Local; never blocks for another rank's call. An empty group opens an exposure epoch that
    /// `wait` closes at once.
    ///
    /// # Errors
    /// [`Error::Epoch`], also if the part is locked; [`Error::Group`];
    /// [`Error::NoMemory`] at the first post, for the post slots.
    pub fn post(&self, origins: &Group, assert: PostAssert) -> Result<()> {
        self.within(Call::Post, || self.post_in_turn(origins, assert, &mut self.turn()))
    }

    fn post_in_turn(&self, origins: &Group, assert: PostAssert, turn: &mut Turn) -> Result<()> {
        let own = self.comm.rank();
        self.check_turn(turn, Call::Post, EXPOSURE)?;
        self.epochs.may_post(own).map_err(|problem| self.wrong_epoch(Call::Post, problem))?;
        let lock = &self.words_of(own).lock;
        let is_locked = lock.is_held(Side::Left) || lock.is_held(Side::RightExclusive);
        if is_locked || self.words.lock_all.is_held(Side::Left) {
            let problem = "post is not allowed while another rank has locked this rank's part";
            return Err(self.wrong_epoch(Call::Post, problem.into()));
        }
        let group = origins.clone();
        let origins = self.ranks_of(Call::Post, origins)?;
        let checked = if assert.has(PostAssert::NOCHECK) { &[][..] } else { &origins[..] };
        let table = if checked.is_empty() { None } else { Some(self.own_slots(&mut turn.pscw)?) };
        // Nothing can fail from here on, and nobody may see the post before the flag.
        self.words_of(own).open.exposure.store(1);
        let slots =
            table.into_iter().flat_map(|slots| checked.iter().map(|at| &slots[*at as usize]));
        sync::post(slots);
        turn.pscw.origins = Some(group);
        self.epochs.posted(origins.len() as u32);
        Ok(())
    }

    /// `MPI_Win_start` (MPI-2.2 §11.4.2): opens an access epoch on the ranks of `targets`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::RankFailed`].
    #[track_caller]
    pub fn start(&self, targets: &Group, assert: StartAssert) -> Result<()> {
        let at = Location::caller();
        self.within(Call::Start, || {
            let (targets, mut known, waiting) = {
                let mut turn = self.turn();
                self.epochs
                    .may_start()
                    .map_err(|problem| self.wrong_epoch(Call::Start, problem))?;
                let targets = self.ranks_of(Call::Start, targets)?;
                let waiting = self.begin_waiting(&mut turn, Call::Start, ACCESS)?;
                (targets, std::mem::take(&mut turn.pscw.targets), waiting)
            };
            let checked = if assert.is_nocheck() { &[][..] } else { &targets[..] };
            let posted =
                checked.iter().try_for_each(|target| self.await_post(*target, &mut known, at));
            if posted.is_ok() {
                sync::started();
                self.leave_fence();
            }
            waiting.end(|turn| {
                turn.pscw.targets = known;
                if posted.is_ok() {
                    self.epochs.started(targets.into_iter());
                }
            });
            posted
        })
    }

    /// `MPI_Win_complete` (MPI-2.2 §11.4.2): closes the access epoch opened by start; its
    /// operations are complete at the origin, and at each target once that has waited.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn complete(&self) -> Result<()> {
        self.within(Call::Complete, || {
            let _turn = self.turn();
            let may = self.epochs.may_complete();
            may.map_err(|problem| self.wrong_epoch(Call::Complete, problem))?;
            let targets = self.epochs.completed();
            sync::complete(targets.iter().map(|target| &self.words_of(*target).pscw));
            self.ring(targets);
            Ok(())
        })
    }

    /// `MPI_Win_wait` (MPI-2.2 §11.4.2): closes the exposure epoch opened by post.
    ///
    /// Local; blocks until every origin of the post has completed.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        let at = Location::caller();
        self.within(Call::Wait, || {
            let (origins, group, mut seen, waiting) = {
                let mut turn = self.turn();
                let origins = self.origins_to_await(Call::Wait)?;
                let waiting = self.begin_waiting(&mut turn, Call::Wait, EXPOSURE)?;
                (origins, turn.pscw.origins.clone(), turn.pscw.completes_seen, waiting)
            };
            let words = &self.words_of(self.comm.rank()).pscw;
            let before = seen;
            let tell = |record: &WaitRecord| {
                record.say(&Awaited {
                    kind: AwaitedKind::Complete,
                    others: group.as_ref().map_or(&[], Group::world_ranks),
                    come: words.come(before),
                    awaited: origins,
                    ..Awaited::default()
                });
            };
            let waiter = self.telling_waiter(at, &tell);
            let waited = sync::wait(words, origins, &mut seen, &waiter);
            waiting.end(|turn| {
                turn.pscw.completes_seen = seen;
                if waited.is_ok() {
                    self.unexpose();
                }
            });
            waited.map_err(|failed| self.job_failed(failed, Call::Wait))
        })
    }

    /// `MPI_Win_test` (MPI-2.2 §11.4.2): as [`Win::wait`] if that would not block, and `true`;
    /// else no effect, and `false`.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn test(&self) -> Result<bool> {
        self.within(Call::Test, || {
            let mut turn = self.turn();
            self.check_turn(&turn, Call::Test, EXPOSURE)?;
            let origins = self.origins_to_await(Call::Test)?;
            let words = &self.words_of(self.comm.rank()).pscw;
            let done = sync::test(words, origins, &mut turn.pscw.completes_seen);
            if done {
                self.unexpose();
            }
            Ok(done)
        })
    }

    fn unexpose(&self) {
        self.words_of(self.comm.rank()).open.exposure.store(0);
        self.epochs.waited();
    }

    fn origins_to_await(&self, call: Call) -> Result<u32> {
        self.epochs.may_wait(call.name()).map_err(|problem| self.wrong_epoch(call, problem))
    }

    /// Refuses a rank of the window that has failed, and would be waited for.
    fn check_lives(&self, call: Call, rank: u32) -> Result<()> {
        match self.comm.failed_rank(rank) {
            None => Ok(()),
            Some(failed) => Err(Error::RankFailed { at: self.place(call), failed, lock_of: None }),
        }
    }

    /// The ranks that the members of `group` have in this window.
    fn ranks_of(&self, call: Call, group: &Group) -> Result<Vec<u32>> {
        let members = group.world_ranks().iter();
        members
            .map(|world| {
                let rank = self.comm.rank_of_world(*world).ok_or_else(|| Error::Group {
                    at: self.place(call),
                    problem: format!("rank {world} of the world is no rank of the window"),
                })?;
                self.check_lives(call, rank.0)?;
                Ok(rank.0)
            })
            .collect()
    }

    fn await_post(
        &self,
        target: u32,
        known: &mut BTreeMap<u32, Posts>,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let peer = self.comm.world_rank(target);
        let wanted = Awaited { kind: AwaitedKind::Post, peer, ..Awaited::default() };
        let tell = |record: &WaitRecord| record.say(&wanted);
        let waiter = self.telling_waiter(at, &tell);
        let failed = |failed| self.job_failed(failed, Call::Start);
        let posts = match known.entry(target) {
            Entry::Occupied(posts) => posts.into_mut(),
            Entry::Vacant(unknown) => {
                let at = self.words_of(target).table.find(&waiter).map_err(failed)?;
                let offset = u64::from(at) * TABLE_UNIT;
                let slots = self.context().segment.place_all(offset, self.comm.size() as usize)?;
                unknown.insert(Posts { slots, seen: 0 })
            }
        };
        let slot = &posts.slots[self.comm.rank() as usize];
        sync::start_one(slot, &mut posts.seen, &waiter).map_err(failed)
    }

    /// This rank's post slots, allocated at its first post (what is per pair of ranks costs
    /// memory only in windows that use it).
    fn own_slots<'p>(&self, pscw: &'p mut Pscw) -> Result<&'p [PostSlot]> {
        if pscw.own.is_none() {
            pscw.own = Some(self.make_slots()?);
        }
        let (_, slots) = pscw.own.as_ref().expect("just made");
        Ok(slots)
    }

    fn make_slots(&self) -> Result<(u64, PlacedSlice<PostSlot>)> {
        let context = self.context();
        let n = self.comm.size() as usize;
        let bytes = (n * size_of::<PostSlot>()) as u64;
        let block = context
            .segment
            .heap()
            .allocate(bytes, &context.excluded())
            .map_err(|error| self.heap_error(Call::Post, error, bytes))?;
        let at = u32::try_from(block / TABLE_UNIT).map_err(|_| Error::NoMemory {
            at: self.place(Call::Post),
            requested: bytes,
            available: 0,
            limit: "post slots lie in the first 512 GiB of the segment",
        })?;
        let slots = context.segment.place_all(block, n)?;
        self.words_of(self.comm.rank()).table.publish(at, &slots);
        Ok((block, slots))
    }
}
