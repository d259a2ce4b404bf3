//! How the ranks of a window synchronise: by words of the segment that all of them map, or by another MPI
//! ([`crate::foreign`]). Chosen when the window is made; only this file asks which it is. The calls above
//! check what is legal, and record this rank's epochs.
//!
//! What the other MPI does is always slow: it may block, and it may fail.

use super::LockType;
use super::calls::Calls;
use super::lock::Wanted;
use super::posts::{Pscw, Targets};
use super::serial::SyncState;
use crate::call::Call;
use crate::check::{CheckedWindow, Checker, Frequency};
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::Rank;
use crate::prim::{Awaited, AwaitedKind, WaitRecord, Word32};
use crate::shm::{BiasedMutex, Placed, PlacedSlice};
use crate::sync::{
    self, Arrivals, Barrier, FenceKind, LockSide, Locker, OwnNode, PostSlot, QueueNode, Queueing,
    RankWords, Reader, Round, Tree, TreeLine, WindowWords, watch,
};
use std::panic::Location;
use std::sync::Arc;

/// The words by which the ranks of a window synchronise, or the window of another MPI.
pub(super) struct Transport {
    pub(super) words: Placed<WindowWords>,
    pub(super) ranks: PlacedSlice<RankWords>,
    /// The lines of the tree in which arrivals at fences are combined; none without a tree.
    pub(super) tree: PlacedSlice<TreeLine>,
    /// Fences that this rank has arrived at.
    pub(super) fences: Word32,
    /// Of another MPI's window, one more than the first other rank whose latest fence has opened an epoch, or zero. That
    /// it leaves the epoch before its next fence is not announced. The words of other ranks, of which there may be
    /// many, are not touched.
    opened: Word32,
    /// What this process knows of its rank's node in queues of exclusive lockers.
    pub(super) node: OwnNode,
    /// The ranks that the fast path of flush serves: all or none.
    pub(super) flushable: usize,
    aside: Option<Aside>,
}

/// Why synchronisation takes the slow path.
pub(super) enum Aside {
    /// Another MPI's calls do it.
    Foreign(Arc<foreign::ForeignWindow>),
    /// The job is checked for conflicts.
    Checked(Arc<CheckedWindow>),
}

impl Transport {
    pub(super) fn new(
        words: Placed<WindowWords>,
        ranks: PlacedSlice<RankWords>,
        tree: PlacedSlice<TreeLine>,
        aside: Option<Aside>,
        is_observed: bool,
    ) -> Transport {
        let is_fast = aside.is_none() && !is_observed;
        let flushable = if is_fast { ranks.len() } else { 0 };
        let (fences, opened, node) = (Word32::default(), Word32::default(), OwnNode::default());
        Transport { words, ranks, tree, fences, opened, node, flushable, aside }
    }

    #[inline]
    pub(super) fn words_of(&self, rank: u32) -> &RankWords {
        &self.ranks[rank as usize]
    }

    /// The window of the other MPI, if it is one.
    #[inline]
    fn foreign(&self) -> Option<&foreign::ForeignWindow> {
        match &self.aside {
            Some(Aside::Foreign(window)) => Some(window),
            _ => None,
        }
    }

    /// Whether another MPI synchronises the ranks; the window's block belongs to this rank alone then.
    #[inline(always)]
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign().is_some()
    }

    /// The first other rank of another MPI's window whose latest fence has opened an epoch.
    pub(super) fn opened_elsewhere(&self) -> Option<u32> {
        self.opened.load().checked_sub(1)
    }

    /// Wakes the ranks that wait for a change of the part of `rank`; a number that is no rank has no part. Called after
    /// the MEM_SYNC that follows the change.
    #[inline(always)]
    pub(super) fn ring(&self, rank: u32) {
        if self.words.watchers.are_there() {
            self.ring_slowly(rank);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn ring_slowly(&self, rank: u32) {
        self.ring_each([rank]);
    }

    /// [`Transport::ring`] for the parts of some ranks.
    #[inline]
    pub(super) fn ring_each(&self, ranks: impl IntoIterator<Item = u32>) {
        let bells = ranks.into_iter().filter_map(|rank| Some(&self.ranks.get(rank as usize)?.bell));
        watch::ring(&self.words.watchers, bells);
    }

    /// [`Transport::ring`] for the parts of all ranks.
    #[inline]
    pub(super) fn ring_all(&self) {
        watch::ring(&self.words.watchers, self.ranks.iter().map(|words| &words.bell));
    }

    /// `MPI_Win_free` by the other MPI, when all ranks have freed the window.
    pub(super) fn free(&self, calls: &Calls) -> Result<()> {
        let Some(window) = self.foreign() else { return Ok(()) };
        calls.foreign(Call::WinFree, window.free())?;
        calls.comm().let_window_go(Call::WinFree)
    }
}

/// Fence.
impl Transport {
    /// Announces whether this rank's fence opens an epoch, and meets all ranks, or arrives only.
    #[inline(always)]
    pub(super) fn fence(
        &self,
        calls: &Calls,
        round: &mut Round,
        kind: FenceKind,
        opens: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(aside) = &self.aside {
            return self.fence_aside(calls, aside, round, kind, opens, at);
        }
        self.fence_here(calls, round, kind, opens, at)
    }

    /// [`Transport::fence`] by another MPI, or in a checked job.
    #[cold]
    fn fence_aside(
        &self,
        calls: &Calls,
        aside: &Aside,
        round: &mut Round,
        kind: FenceKind,
        opens: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (window, number) = match aside {
            Aside::Foreign(window) => return self.fence_by(calls, window, opens),
            Aside::Checked(window) => (window, self.fences.load()),
        };
        let fencing = |checker: &Checker, _: &_| {
            window.fencing(checker, &calls.excluded(), number);
        };
        let rest = calls.resting(at, fencing);
        self.fence_here(calls, round, kind, opens, at)?;
        drop(rest);
        // An arrival alone synchronises nothing.
        if matches!(kind, FenceKind::Barrier) {
            calls.checked(|checker, _| window.fenced(checker, number));
        }
        Ok(())
    }

    #[inline(always)]
    fn fence_here(
        &self,
        calls: &Calls,
        round: &mut Round,
        kind: FenceKind,
        opens: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (words, ranks, before) = (self.barrier(calls), calls.survivors.size(), *round);
        let announce = || self.announce_fence(calls, opens);
        let ring = || self.ring_all();
        let describe = |record: &WaitRecord| {
            record.set(&self.arrival(calls, before));
        };
        let waiter = calls.recording_waiter(at, &describe);
        sync::fence(words, ranks, round, kind, announce, ring, &waiter)
            .map_err(|failed| calls.job_failed(failed, Call::Fence))
    }

    /// The barrier of fences, as this rank uses it.
    #[inline(always)]
    pub(super) fn barrier(&self, calls: &Calls) -> Barrier<'_> {
        let tree = Tree::of(&self.tree, 0, || calls.survivors.rank().0);
        Barrier::new(&self.words.fence, tree)
    }

    /// What this rank waits for at a fence to which it has come in round `before`.
    pub(super) fn arrival<'c>(&self, calls: &'c Calls, before: Round) -> Awaited<'c> {
        let words: Arrivals<'_> = Arrivals::Counted(self.barrier(calls));
        calls.survivors.members().arrival(&self.words.fence, words, before)
    }

    #[cold]
    fn fence_by(&self, calls: &Calls, window: &foreign::ForeignWindow, opens: bool) -> Result<()> {
        let opened = calls.foreign(Call::Fence, window.fence(u8::from(opens)));
        self.announce_fence(calls, opens);
        let (own, opened) = (calls.rank().index(), opened?);
        let other = (0..).zip(&opened).find(|(rank, opens)| *rank != own && **opens != 0);
        self.opened.store(other.map_or(0, |(rank, _)| rank as u32 + 1));
        Ok(())
    }

    /// Counts a fence, and announces to the others whether it opens an epoch.
    #[inline(always)]
    fn announce_fence(&self, calls: &Calls, opens: bool) {
        let number = self.fences.load().wrapping_add(1);
        self.fences.store(number);
        self.words_of(calls.rank().0).open.fenced(number, opens);
    }
}

/// General active target synchronisation.
impl Transport {
    /// Whether ranks notify each other of posts by slots.
    pub(super) fn has_slots(&self) -> bool {
        self.foreign().is_none()
    }

    /// Exposes this rank's part, and notifies these origins, or none; `slots` are this rank's.
    #[inline]
    pub(super) fn send_posts(
        &self,
        calls: &Calls,
        origins: &[u32],
        slots: &[PostSlot],
    ) -> Result<()> {
        let exposure = &self.words_of(calls.rank().0).open.exposure;
        match &self.aside {
            None => {}
            Some(Aside::Checked(_)) if origins.is_empty() => {}
            Some(Aside::Checked(window)) => {
                let posting = |checker: &Checker, _: &_| window.posting(checker);
                calls.synchronising(None, Frequency::Seldom, posting);
            }
            Some(Aside::Foreign(window)) => {
                calls.foreign(Call::Post, window.post(origins))?;
                exposure.store(1);
                return Ok(());
            }
        }
        // Nothing can fail from here on, and no rank may see the post before the flag.
        exposure.store(1);
        let notified = || origins.iter().map(|origin| &slots[*origin as usize]);
        sync::post(notified());
        if let Some(log) = calls.context().log() {
            notified().for_each(|slot| log.posted(calls.context().object(slot), slot.load()));
        }
        Ok(())
    }

    /// Waits until each of the targets has posted for this rank, if it `awaits` that.
    #[inline]
    pub(super) fn await_posts(
        &self,
        calls: &Calls,
        targets: &mut Targets,
        awaits: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(aside) = &self.aside {
            return self.await_posts_aside(calls, aside, targets, awaits, at);
        }
        self.await_posts_here(calls, targets, awaits, at)
    }

    /// [`Transport::await_posts`] by another MPI, or in a checked job.
    #[cold]
    fn await_posts_aside(
        &self,
        calls: &Calls,
        aside: &Aside,
        targets: &mut Targets,
        awaits: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        match aside {
            Aside::Foreign(window) => {
                let awaited = if awaits { targets.ranks() } else { &[] };
                calls.foreign(Call::Start, window.start(awaited))
            }
            Aside::Checked(window) => {
                self.await_posts_here(calls, targets, awaits, at)?;
                if !awaits {
                    calls.checked(|checker, window| {
                        window.starts_unchecked(checker, &calls.excluded(), targets.ranks(), at);
                    });
                    return Ok(());
                }
                let started = |checker: &Checker, _: &_| window.started(checker, targets.ranks());
                calls.synchronising(Some(at), Frequency::Seldom, started);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn await_posts_here(
        &self,
        calls: &Calls,
        targets: &mut Targets,
        awaits: bool,
        at: &'static Location<'static>,
    ) -> Result<()> {
        targets.expect_complete(self);
        if awaits {
            targets.await_posts(calls, self, at)?;
        }
        sync::started();
        Ok(())
    }

    /// Notifies the targets that this rank's accesses are complete.
    #[inline]
    pub(super) fn send_completes(&self, calls: &Calls, targets: &[u32]) -> Result<()> {
        match &self.aside {
            None => {}
            Some(Aside::Checked(window)) => {
                let completing = |checker: &Checker, _: &_| {
                    window.completing(checker, &calls.excluded(), targets);
                };
                calls.synchronising(None, Frequency::Seldom, completing);
            }
            Some(Aside::Foreign(window)) => {
                return calls.foreign(Call::Complete, window.complete(targets));
            }
        }
        sync::complete(targets.iter().map(|target| &self.words_of(*target).pscw));
        self.ring_each(targets.iter().copied());
        Ok(())
    }

    /// Waits for `awaited` more completes than those `seen`.
    #[inline]
    pub(super) fn await_completes(
        &self,
        calls: &Calls,
        state: &BiasedMutex<SyncState>,
        awaited: u32,
        seen: &mut u32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(aside) = &self.aside {
            return self.await_completes_aside(calls, aside, state, awaited, seen, at);
        }
        self.await_completes_here(calls, state, awaited, seen, at)
    }

    /// [`Transport::await_completes`] by another MPI, or in a checked job.
    #[cold]
    fn await_completes_aside(
        &self,
        calls: &Calls,
        aside: &Aside,
        state: &BiasedMutex<SyncState>,
        awaited: u32,
        seen: &mut u32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        match aside {
            Aside::Foreign(window) => {
                let origins = state.lock().pscw.origins_here().to_vec();
                calls.foreign(Call::Wait, window.wait(&origins))
            }
            Aside::Checked(window) => {
                self.await_completes_here(calls, state, awaited, seen, at)?;
                let waited = |checker: &Checker, _: &_| window.waited(checker);
                calls.synchronising(Some(at), Frequency::Seldom, waited);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn await_completes_here(
        &self,
        calls: &Calls,
        state: &BiasedMutex<SyncState>,
        awaited: u32,
        seen: &mut u32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (words, before) = (&self.words_of(calls.rank().0).pscw, *seen);
        let describe = |record: &WaitRecord| {
            record.set(&Awaited {
                kind: AwaitedKind::Complete,
                others: state.lock().pscw.origins(),
                come: words.come(before),
                awaited,
                ..Awaited::default()
            });
        };
        sync::wait(words, awaited, seen, &calls.recording_waiter(at, &describe))
            .map_err(|failed| calls.job_failed(failed, Call::Wait))
    }

    /// Whether that many completes more have come than this rank has seen.
    #[inline]
    pub(super) fn test_completes(
        &self,
        calls: &Calls,
        awaited: u32,
        pscw: &mut Pscw,
    ) -> Result<bool> {
        let words = &self.words_of(calls.rank().0).pscw;
        match &self.aside {
            None => Ok(sync::test(words, awaited, &mut pscw.completes_seen)),
            Some(Aside::Foreign(window)) => {
                calls.foreign(Call::Test, window.test(pscw.origins_here()))
            }
            Some(Aside::Checked(window)) => {
                let have_come = sync::test(words, awaited, &mut pscw.completes_seen);
                if have_come {
                    let waited = |checker: &Checker, _: &_| window.waited(checker);
                    calls.synchronising(None, Frequency::Seldom, waited);
                }
                Ok(have_come)
            }
        }
    }
}

/// Lock.
impl Transport {
    /// Locks a target with these words, if that need not wait. Of a window of another MPI, only with NOCHECK.
    #[inline(always)]
    pub(super) fn try_lock(
        &self,
        calls: &Calls,
        wanted: Wanted,
        words: &RankWords,
        queueing: Queueing,
    ) -> Option<()> {
        let (window, rank) = (&self.words.lock_all, || calls.rank().0);
        if wanted.nocheck {
            sync::lock_nocheck();
            return Some(());
        }
        sync::try_lock(window, &words.lock, wanted.lock_type, (rank, &self.node), queueing)
            .then_some(())
    }

    /// Waits for a lock of `target`.
    pub(super) fn await_lock(
        &self,
        calls: &Calls,
        lock_type: LockType,
        target: u32,
        queueing: Queueing,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(window) = self.foreign() {
            return calls.foreign(Call::Lock, window.lock(lock_type, target));
        }
        let (window, words) = (&self.words.lock_all, &self.words_of(target).lock);
        let describe =
            |record: &WaitRecord| record.set(&self.wanted_lock(calls, lock_type, target));
        let waiter = calls.recording_waiter(at, &describe);
        let node_of = |rank| self.words_of(rank).lock.node();
        let locker = self.locker(calls.rank().0, target, &node_of);
        sync::lock(window, words, lock_type, &locker, queueing, &waiter)
            .map_err(|_| self.lock_failed(calls, target))
    }

    /// A rank of this process that locks `target`.
    fn locker<'a, 'w>(
        &'a self,
        rank: u32,
        target: u32,
        node_of: &'a dyn Fn(u32) -> &'w QueueNode,
    ) -> Locker<'a, 'w> {
        Locker { rank, target, ranks: self.ranks.len() as u32, own: &self.node, node_of }
    }

    /// Releases a lock of the target while this rank holds some lock through its node.
    pub(super) fn release_queued(&self, own: Rank, target: Rank, held: LockType) {
        let node_of = |rank| self.words_of(rank).lock.node();
        let locker = self.locker(own.0, target.0, &node_of);
        sync::unlock_queued(&self.words.lock_all, &self.words_of(target.0).lock, held, &locker);
    }

    /// Releases a lock of the target by the other MPI.
    pub(super) fn release_elsewhere(&self, calls: &Calls, target: Rank) -> Result<()> {
        let Some(window) = self.foreign() else { return Ok(()) };
        calls.foreign(Call::Unlock, window.unlock(target.0))
    }

    /// In a traced job: leaves the mark of a release of a target's lock, or of all, for the ranks that wait for it.
    pub(super) fn mark_release(&self, held: LockType, target: Option<u32>, mark: u64) {
        let window = &self.words.lock_all;
        match (target.map(|target| &self.words_of(target).lock), held) {
            (Some(lock), LockType::Shared) => lock.mark_release(LockSide::Left, mark),
            (Some(lock), LockType::Exclusive) => {
                lock.mark_release(LockSide::RightExclusive, mark);
                window.mark_release(LockSide::RightShared, mark);
            }
            (None, _) => window.mark_release(LockSide::LeftOfShared, mark),
        }
    }

    /// The mark of the latest release that a lock of the target, or of all, can have waited for. While it is held, no
    /// rank releases another such lock.
    pub(super) fn awaited_release(&self, lock_type: LockType, target: Option<u32>) -> u64 {
        let window = &self.words.lock_all;
        match (target.map(|target| &self.words_of(target).lock), lock_type) {
            (Some(lock), LockType::Shared) => lock.released(LockSide::RightExclusive),
            (Some(lock), LockType::Exclusive) => {
                let of_target = [LockSide::Left, LockSide::RightExclusive];
                let latest = of_target.map(|side| lock.released(side)).into_iter().max();
                latest.unwrap_or(0).max(window.released(LockSide::LeftOfShared))
            }
            (None, _) => window.released(LockSide::RightShared),
        }
    }

    /// A rank of this process that locks all targets.
    #[inline(always)]
    fn reader<'a>(&'a self, own: &'a RankWords) -> Reader<'a> {
        Reader::new(own.lock.node(), &self.node, self.ranks.len() as u32)
    }

    /// Whether any rank holds `lock_all`.
    pub(super) fn is_locked_all(&self) -> bool {
        self.words.lock_all.is_locked_all(self.ranks.iter().map(|words| words.lock.node()))
    }

    /// Locks all targets, if that need not wait.
    #[inline(always)]
    pub(super) fn try_lock_all(&self, own: &RankWords, nocheck: bool) -> Option<()> {
        if nocheck {
            sync::lock_all_nocheck();
            return Some(());
        }
        let may = !self.is_foreign();
        (may && sync::try_lock_all(&self.words.lock_all, self.reader(own))).then_some(())
    }

    /// Waits for a lock of all targets.
    pub(super) fn await_lock_all(
        &self,
        calls: &Calls,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if let Some(window) = self.foreign() {
            return calls.foreign(Call::LockAll, window.lock_all());
        }
        let describe = |record: &WaitRecord| {
            let holder =
                (0..calls.comm().size()).find_map(|rank| self.exclusive_holder(calls, rank));
            record.set(&Awaited { kind: AwaitedKind::LockAll, holder, ..Awaited::default() });
        };
        let targets = self.ranks.iter().map(|words| &*words.lock);
        let reader = self.reader(self.words_of(calls.rank().0));
        let waiter = calls.recording_waiter(at, &describe);
        sync::lock_all(&self.words.lock_all, targets, reader, &waiter)
            .map_err(|failed| calls.job_failed(failed, Call::LockAll))
    }

    /// Releases the lock of all targets, unless [`Transport::release_all_elsewhere`] has to.
    #[inline(always)]
    pub(super) fn release_all(&self, own: Rank, nocheck: bool) {
        if self.is_foreign() {
            return;
        } else if nocheck {
            sync::unlock_all_nocheck();
        } else {
            sync::unlock_all(&self.words.lock_all, self.words_of(own.0).lock.node());
        }
        self.ring_all();
    }

    /// [`Transport::release_all`] by the other MPI.
    pub(super) fn release_all_elsewhere(&self, calls: &Calls) -> Result<()> {
        let Some(window) = self.foreign() else { return Ok(()) };
        calls.foreign(Call::UnlockAll, window.unlock_all())
    }

    /// Completes the operations on `target`, or on all, that are under way to another MPI.
    pub(super) fn complete_elsewhere(&self, target: Option<Rank>) {
        match (self.foreign(), target) {
            (Some(window), Some(target)) => window.complete_at(target.0),
            (Some(window), None) => window.complete_all(),
            (None, _) => {}
        }
    }

    /// The other MPI's `MPI_Win_sync`. An error shows in the next call that can return one.
    pub(super) fn sync_elsewhere(&self) {
        let _ = self.foreign().map(foreign::ForeignWindow::sync);
    }

    /// What is in the way of a lock that this rank waits for.
    fn wanted_lock(&self, calls: &Calls, lock_type: LockType, target: u32) -> Awaited<'_> {
        let holder = self.exclusive_holder(calls, target);
        let of_all = lock_type == LockType::Exclusive && self.is_locked_all();
        let kind = match holder {
            None if of_all => AwaitedKind::LockAllEnds,
            _ => AwaitedKind::Lock,
        };
        Awaited { kind, peer: calls.comm().world_rank(target), holder, ..Awaited::default() }
    }

    /// The world's rank that holds the lock of `target` exclusively, if one does.
    fn exclusive_holder(&self, calls: &Calls, target: u32) -> Option<u32> {
        self.holder(target).and_then(|holder| calls.comm().world_rank(holder))
    }

    /// The rank of the window that holds the lock of `target` exclusively, if one does.
    fn holder(&self, target: u32) -> Option<u32> {
        let nodes = self.ranks.iter().map(|words| words.lock.node());
        sync::holder(&self.words_of(target).lock, target, nodes)
    }

    /// The error of a wait for a lock that ended because the job failed.
    #[cold]
    fn lock_failed(&self, calls: &Calls, target: u32) -> Error {
        let owner = self.holder(target).and_then(|holder| calls.comm().failed_rank(holder));
        let failed = owner.unwrap_or_else(|| calls.survivors.first_failed());
        Error::RankFailed {
            at: calls.place(Call::Lock),
            failed: Rank(failed),
            lock_of: owner.map(|_| Rank(target)),
        }
    }
}
