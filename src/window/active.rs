//! Active target synchronisation: fence, post, start, complete, wait, test (MPI-2.2 §11.4).

use super::{FenceAssert, PostAssert, StartAssert, Win};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::shm::PlacedSlice;
use crate::sync::{self, FenceKind, PostSlot, Side};

/// This rank's side of post/start/complete/wait.
pub(super) struct Pscw {
    /// Posts of each target that this rank has consumed.
    posts_seen: Box<[u32]>,
    /// Completes that this rank has consumed as a target.
    completes_seen: u32,
    /// The slots of each target, once this rank has looked them up.
    tables: Box<[Option<PlacedSlice<PostSlot>>]>,
    /// This rank's own slots, once it has posted.
    own: Option<(u64, PlacedSlice<PostSlot>)>,
}

impl Pscw {
    pub(super) fn new(ranks: u32) -> Pscw {
        Pscw {
            posts_seen: vec![0; ranks as usize].into(),
            completes_seen: 0,
            tables: (0..ranks).map(|_| None).collect(),
            own: None,
        }
    }

    /// The block of this rank's own slots.
    pub(super) fn table_block(&self) -> Option<u64> {
        self.own.as_ref().map(|(block, _)| *block)
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
    pub fn fence(&self, assert: FenceAssert) -> Result<()> {
        let _call = self.enter(Call::Fence);
        self.epochs.may_fence().map_err(|problem| self.wrong_epoch(Call::Fence, problem))?;
        if assert.has(FenceAssert::NOPRECEDE) && self.epochs.is_used() {
            return Err(Error::Assertion {
                at: self.place(Call::Fence),
                assertion: "MPI_MODE_NOPRECEDE",
                why: "this rank has issued operations since the last fence".into(),
            });
        }
        let opens = !assert.has(FenceAssert::NOSUCCEED);
        let kind = match assert.has(FenceAssert::NOPRECEDE | FenceAssert::NOSUCCEED) {
            true => FenceKind::ArriveOnly,
            false => FenceKind::Barrier,
        };
        let mut round = self.fence_round.get();
        let (words, ranks, waiter) = (&self.words.fence, self.comm.size(), self.context().waiter());
        let announce = || self.announce_fence(opens);
        let passed = sync::fence(words, ranks, &mut round, kind, announce, &waiter);
        self.fence_round.set(round);
        self.epochs.fenced(opens && passed.is_ok());
        passed.map_err(|failed| self.job_failed(failed, Call::Fence))
    }

    /// Says, after this rank's operations are published and before its arrival, so that whoever
    /// has passed the fence knows, whether an epoch is open behind it, and since which fence: until all have arrived at that one, it is not yet.
    fn announce_fence(&self, opens: bool) {
        // Zero says "none". All ranks count alike, because a fence is collective.
        self.fences.set(self.fences.get().wrapping_add(1).max(1));
        let since = &self.words_of(self.comm.rank()).open.fence;
        if !opens {
            since.store(0);
        } else if since.load() == 0 {
            since.store(self.fences.get());
        }
    }

    /// Waits until every rank has arrived at the latest fence of this one, so that what they said
    /// before their arrival is known.
    pub(crate) fn await_latest_fence(&self, call: Call) -> Result<()> {
        sync::passed(&self.words.fence, self.fence_round.get(), &self.context().waiter())
            .map_err(|failed| self.job_failed(failed, call))
    }

    /// Ends a fence epoch that turned out to be none, before an epoch of another kind opens.
    pub(super) fn leave_fence(&self) {
        self.words_of(self.comm.rank()).open.fence.store(0);
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
        let _call = self.enter(Call::Post);
        let own = self.comm.rank();
        self.epochs.may_post(own).map_err(|problem| self.wrong_epoch(Call::Post, problem))?;
        let lock = &self.words_of(own).lock;
        let is_locked = lock.is_held(Side::Left) || lock.is_held(Side::RightExclusive);
        if is_locked || self.words.lock_all.is_held(Side::Left) {
            let problem = "post is not allowed while another rank has locked this rank's part";
            return Err(self.wrong_epoch(Call::Post, problem.into()));
        }
        let origins = self.ranks_of(Call::Post, origins)?;
        let slots = match assert.has(PostAssert::NOCHECK) {
            true => &[][..],
            false => &origins[..],
        };
        if !slots.is_empty() {
            self.make_table()?;
        }
        // Nothing can fail from here on, and nobody may see the post before the flag.
        self.words_of(own).open.exposure.store(1);
        if slots.is_empty() {
            sync::post([].into_iter());
        } else {
            let pscw = self.pscw.borrow();
            let (_, table) = pscw.own.as_ref().expect("make_table has made it");
            sync::post(slots.iter().map(|origin| &table[*origin as usize]));
        }
        self.epochs.posted(origins.len() as u32);
        Ok(())
    }

    /// `MPI_Win_start` (MPI-2.2 §11.4.2): opens an access epoch on the ranks of `targets`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::RankFailed`].
    pub fn start(&self, targets: &Group, assert: StartAssert) -> Result<()> {
        let _call = self.enter(Call::Start);
        self.epochs.may_start().map_err(|problem| self.wrong_epoch(Call::Start, problem))?;
        let targets = self.ranks_of(Call::Start, targets)?;
        if !assert.is_nocheck() {
            for target in &targets {
                self.await_post(*target)?;
            }
        }
        sync::started();
        self.leave_fence();
        self.epochs.started(targets.into_iter());
        Ok(())
    }

    /// `MPI_Win_complete` (MPI-2.2 §11.4.2): closes the access epoch opened by start; its
    /// operations are complete at the origin, and at each target once that has waited.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn complete(&self) -> Result<()> {
        let _call = self.enter(Call::Complete);
        self.epochs.may_complete().map_err(|problem| self.wrong_epoch(Call::Complete, problem))?;
        let targets = self.epochs.completed();
        sync::complete(targets.iter().map(|target| &self.words_of(*target).pscw));
        Ok(())
    }

    /// `MPI_Win_wait` (MPI-2.2 §11.4.2): closes the exposure epoch opened by post.
    ///
    /// Local; blocks until every origin of the post has completed.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::RankFailed`].
    pub fn wait(&self) -> Result<()> {
        let _call = self.enter(Call::Wait);
        let origins = self.origins_to_await(Call::Wait)?;
        let words = &self.words_of(self.comm.rank()).pscw;
        let seen = &mut self.pscw.borrow_mut().completes_seen;
        sync::wait(words, origins, seen, &self.context().waiter())
            .map_err(|failed| self.job_failed(failed, Call::Wait))?;
        self.unexpose();
        Ok(())
    }

    /// `MPI_Win_test` (MPI-2.2 §11.4.2): as [`Win::wait`] if that would not block, and `true`;
    /// else no effect, and `false`.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// [`Error::Epoch`]
    pub fn test(&self) -> Result<bool> {
        let _call = self.enter(Call::Test);
        let origins = self.origins_to_await(Call::Test)?;
        let words = &self.words_of(self.comm.rank()).pscw;
        let done = sync::test(words, origins, &mut self.pscw.borrow_mut().completes_seen);
        if done {
            self.unexpose();
        }
        Ok(done)
    }

    fn unexpose(&self) {
        self.words_of(self.comm.rank()).open.exposure.store(0);
        self.epochs.waited();
    }

    fn origins_to_await(&self, call: Call) -> Result<u32> {
        self.epochs.may_wait(call.name()).map_err(|problem| self.wrong_epoch(call, problem))
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
                Ok(rank.0)
            })
            .collect()
    }

    fn await_post(&self, target: u32) -> Result<()> {
        let waiter = self.context().waiter();
        let failed = |failed| self.job_failed(failed, Call::Start);
        let mut pscw = self.pscw.borrow_mut();
        if pscw.tables[target as usize].is_none() {
            let at = self.words_of(target).pscw.table(&waiter).map_err(failed)?;
            let offset = u64::from(at) * TABLE_UNIT;
            let slots = self.context().segment.place_all(offset, self.comm.size() as usize)?;
            pscw.tables[target as usize] = Some(slots);
        }
        let pscw = &mut *pscw;
        let table = pscw.tables[target as usize].as_ref().expect("just looked up");
        let slot = &table[self.comm.rank() as usize];
        sync::start_one(slot, &mut pscw.posts_seen[target as usize], &waiter).map_err(failed)
    }

    /// Allocates this rank's post slots at its first post (what is per pair of ranks
    /// costs memory only in windows that use it).
    fn make_table(&self) -> Result<()> {
        let words = &self.words_of(self.comm.rank()).pscw;
        if words.own_table() != 0 {
            return Ok(());
        }
        let context = self.context();
        let n = self.comm.size() as usize;
        let bytes = (n * size_of::<PostSlot>()) as u64;
        let block = context
            .segment
            .heap()
            .allocate(bytes, &context.waiter())
            .map_err(|error| self.heap_error(Call::Post, error, bytes))?;
        let at = u32::try_from(block / TABLE_UNIT).map_err(|_| Error::NoMemory {
            at: self.place(Call::Post),
            requested: bytes,
            available: 0,
            limit: "post slots lie in the first 512 GiB of the segment",
        })?;
        let slots = context.segment.place_all(block, n)?;
        words.publish_table(at, &slots);
        self.pscw.borrow_mut().own = Some((block, slots));
        Ok(())
    }
}
