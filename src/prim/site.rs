//! Names of the places where memory is ordered, where ranks synchronise, and where the models
//! plant faults.

/// One variant per MEM_SYNC of the library (New RMA Design, "RMA + Shared Memory"), plus the
/// labelled fences that the drawings leave to "messages": collectives, carries and parking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// `fence`, before PROC_SYNC: exposes earlier loads and stores of this rank.
    FencePre,
    /// `fence`, after PROC_SYNC: later accesses see what the others exposed.
    FencePost,
    /// `post`, before PROC_SYNC: exposes the target's local stores to the origins.
    PostPre,
    /// `start`, after PROC_SYNC: the origin's accesses follow the target's post.
    StartPost,
    /// `complete`, before PROC_SYNC: the origin's accesses precede the target's wait.
    CompletePre,
    /// `wait` and a successful `test`, after PROC_SYNC: local accesses follow the completes.
    WaitPost,
    /// An exclusive `lock` of a window without `lock_all`: between the entry and the look for one. A full barrier.
    LockAlone,
    /// `lock`, after the grant.
    LockPost,
    /// `unlock`, before the release.
    UnlockPre,
    /// The first `lock_all` of a window, before it looks for exclusive holders. A full barrier.
    LockAllOpens,
    /// Carry: the first `lock_all` of a window, between these looks and the word that lets others pass.
    LockAllOpened,
    /// `lock_all` by the own word, between the word and the look whether the window is biased. A full barrier.
    LockAllReads,
    /// An exclusive `lock` that ends the bias, before it looks for readers. A full barrier.
    LockAllRevokes,
    /// Carry: an exclusive `lock` that ends the bias, between these looks and the word that lets others pass.
    LockAllRevoked,
    /// An exclusive `lock`, between the window's lock and the look whether the window is biased again.
    LockBeside,
    /// `lock_all`, after the grant.
    LockAllPost,
    /// `unlock_all`, before the release.
    UnlockAllPre,
    /// `flush`: accesses before it precede any later PROC_SYNC, and it is a full barrier.
    Flush,
    /// `flush_all`: `flush` for every target.
    FlushAll,
    /// `flush_local`: operations are eager, so it orders exactly what `flush` orders.
    FlushLocal,
    /// `flush_local_all`: `flush_local` for every target.
    FlushLocalAll,
    /// `win_sync`.
    WinSync,
    /// Collectives of a communicator, before PROC_SYNC: exposes the staged contribution.
    CollectivePre,
    /// Collectives of a communicator, after PROC_SYNC: the staged contributions can be read.
    CollectivePost,
    /// Collectives of a few ranks, after PROC_SYNC and before the look whether another one sleeps or has to be rung; and
    /// before the look at their words: of two that arrive, one sees the other. A full barrier.
    EachArrived,
    /// Carry: between the count of a barrier's tree that this rank has completed and the one above.
    ArrivalCarry,
    /// Carry: between the last arrival at a barrier and the words that release the ranks.
    ReleaseCarry,
    /// Accumulate exclusion, after the grant.
    AccumulatePost,
    /// Accumulate exclusion, before the release.
    AccumulatePre,
    /// Allocator of the segment, after its lock was granted.
    HeapPost,
    /// Allocator of the segment, before its lock is released.
    HeapPre,
    /// The launcher, before it records a failure: publishes what the failed rank has written.
    NoticePre,
    /// The launcher, between the record of a failure and the alarm that wakes the sleepers.
    Alarm,
    /// Search of a dynamic window's directory, after the grant: the entries can be read.
    LookPost,
    /// Access to attached memory, before the directory is released.
    LookPre,
    /// Attach and detach, after the grant: no rank accesses detached memory any more.
    AttachPost,
    /// Attach and detach, before the release: exposes the entries.
    AttachPre,
    /// Carry: between "saw that the last holder left" on the state word of a lock
    /// and "admitted the waiters" on its gate.
    LockCarry,
    /// Between clearing new post slots and publishing their offset.
    TablePre,
    /// Carry: between reading the offset of the post slots and the first look at one.
    TableCarry,
    /// `notify`, before the counter grows: exposes the counted operations.
    NotifyPre,
    /// `wait_notify` and a successful `test_notify`: the counted operations can be read.
    NotifyPost,
    /// `wait_until`: between "I watch" and the look at the memory; and after each ring of the bell.
    WatchWaiter,
    /// `wait_until`, after the look that succeeded.
    WatchPost,
    /// Shards, before a rank's first announcement: it takes no part in the barriers of all ranks.
    ShardAlone,
    /// Shards: between the announcement of a single update and the look for a holder.
    ShardAnnounce,
    /// Shards: between that look and the single update.
    ShardLook,
    /// Shards: between the single update and its withdrawal.
    ShardWithdraw,
    /// Shards: between the withdrawal and the look for a waiting holder.
    ShardWithdrawn,
    /// Shards: between becoming the holder and the look for announcements; of all ranks.
    ShardBarrier,
    /// Shards: between a ring of the bell and the look for announcements.
    ShardRung,
    /// Shards: between the look that found no announcement and the bulk update.
    ShardDrained,
    /// Lock of a shard, after the grant to a rank that updates one element.
    ShardPost,
    /// Lock of a shard, before the release.
    ShardPre,
    /// Messages, between writing a record and its state.
    MessagePre,
    /// Messages, between that state and the receiver's bell.
    MessageRing,
    /// Messages: between the bell and the look at the states of records.
    MessageLook,
    /// Messages: between the state of a record and the record.
    MessagePost,
    /// Messages: between the words of a queue and its number in the receiver's list.
    MessageList,
    /// Messages: between the number of a queue and its words.
    MessageFind,
    /// Messages: between reading a chunk and the word that returns it.
    MessageLeave,
    /// Messages: between reading a block and the word that returns it.
    MessageReturn,
    /// Messages: between that word and the next writes to the block.
    MessageReuse,
    /// Messages: between the withdrawal of a rendezvous buffer and the program's next writes to it.
    MessageWithdrawn,
    /// Messages: between reading a rendezvous buffer and the look whether it was withdrawn.
    MessageTaken,
    /// Parking: between "I am about to sleep" and the last look at the word.
    ParkWaiter,
    /// Parking: between the change of the word and the look for sleepers.
    ParkWaker,
    /// Parking on a word that is released by a plain store: as ParkWaiter; of all ranks.
    ParkBarrier,
    /// Parking: between that store and the look for sleepers.
    ParkReleased,
}

impl Site {
    /// Whether x86-64 needs a fence instruction there, for what it does not order by itself.
    #[inline(always)]
    #[cfg_attr(loom, allow(dead_code, reason = "a model has no processor"))]
    pub(super) const fn is_fence_on_x86(self) -> bool {
        !matches!(
            self,
            // `sleepers += 1` and every change of an awaited word stand immediately before these two.
            Site::ParkWaiter
                | Site::ParkWaker
                // These follow the load that ends a wait, and order later accesses after it. x86-64
                // moves no load or store before an earlier load (Intel SDM 3A, 9.2.2).
                | Site::FencePost
                | Site::CollectivePost
                | Site::StartPost
                | Site::WaitPost
                | Site::TableCarry
                // The first three pair with ParkBarrier and ShardBarrier, which are full barriers in this rank
                // too (`processor`). The next four order loads, or stores after loads, which x86-64 does
                // by itself (Intel SDM 3A, 9.2.2). Of the last two, the first follows a locked
                // instruction, and the other precedes one or a store.
                | Site::ParkReleased
                | Site::ShardAnnounce
                | Site::ShardWithdrawn
                | Site::ShardLook
                | Site::ShardWithdraw
                | Site::ShardRung
                | Site::ShardDrained
                | Site::ShardPost
                | Site::ShardPre
                // These order stores among themselves, loads among themselves, or a store after a load,
                // which x86-64 does by itself (Intel SDM 3A, 9.2.2). A locked instruction follows
                // MessageRing and MessageList.
                | Site::MessagePre
                | Site::MessageRing
                | Site::MessageLook
                | Site::MessagePost
                | Site::MessageList
                | Site::MessageFind
                | Site::MessageLeave
                | Site::MessageReturn
                | Site::MessageReuse
        )
    }
}

/// The PROC_SYNC events, named after the call that performs them (New RMA Design drawings).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcSync {
    /// Arrival at the barrier of a fence.
    FenceArrive,
    /// The barrier of a fence is complete.
    FencePass,
    /// A post became known to one origin.
    Post,
    /// The post of one target was seen.
    Start,
    /// A complete became known to one target.
    Complete,
    /// All completes of an exposure epoch were seen.
    Wait,
    /// A lock was granted.
    LockGranted,
    /// A lock was released.
    LockReleased,
    /// A collective of a communicator was entered.
    CollectiveArrive,
    /// A collective of a communicator may continue.
    CollectivePass,
}

/// Places between two steps of a call without any synchronisation, where test builds let a rank die
/// (`launch/fault.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "most are passed above `sync`, which the models do not compile")]
pub enum Step {
    /// The process has found its job and not touched it.
    BeforeJoin,
    /// The segment is mapped; the rank has not recorded that.
    Mapped,
    /// The rank has recorded that it has joined.
    Joined,
    /// All handles are dropped; the rank has not recorded that it has finished.
    Finishing,
    /// The rank has recorded that it has finished.
    Finished,
    /// Allocator: a free block has been found; its memory is not reserved.
    HeapFound,
    /// Allocator: the block is off its list, and not marked.
    HeapUnlisted,
    /// Allocator: the rest of the block is a block of its own, and on no list.
    HeapSplit,
    /// Allocator: the neighbours of a block that is freed are off their lists.
    HeapMerging,
    /// Allocator: a block is free again; its pages are not released yet.
    HeapListed,
    /// Registry of communicators: this rank has recorded its arrival; it is not counted yet.
    SpaceMarked,
    /// Registry of communicators: the record is closed; this rank is not counted yet, or has not decided
    /// yet that some member will not arrive.
    SpaceClosed,
    /// Creation of a window: rank 0 has its block, and it is not cleared.
    WindowTaken,
    /// Creation of a window: rank 0 has its block, and has not announced it.
    WindowNamed,
    /// Creation of a window: this rank knows the block.
    WindowKnown,
    /// Creation of a large window: this rank has tried to reserve its part, and has not announced the
    /// outcome.
    WindowTouched,
    /// Release of a window: all ranks have synchronised; nothing is freed.
    FreeSynced,
    /// Release of a window: this rank has freed its share.
    FreeDone,
    /// Halfway through a large put, or a large store to the rank's own part or a shared one.
    MidPut,
    /// Halfway through a large get.
    MidGet,
    /// Halfway through a long accumulate.
    MidAccumulate,
}

/// Algorithm faults that the mutation run plants, one at a time. Natively [`super::planted`] is
/// a constant `false`, so none of this reaches a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "some are planted where the models do what `window/fence.rs` does")]
pub enum Fault {
    /// The last arriver resets the barrier's counter instead of letting it grow.
    BarrierReset,
    /// A rank leaves the barrier one arrival early.
    BarrierEarly,
    /// The last rank to arrive at a barrier does not ring for those that do not wait there.
    LastArrivalUnrung,
    /// A rank publishes for those that wait for it alone before it has staged.
    PublishedFirst,
    /// A rank that has gone ahead stages in a slot that others still read.
    StagedTooSoon,
    /// No rank takes over from one that failed in a robust exclusion.
    OrphanForever,
    /// Every rank that sees a failure in a robust exclusion takes over.
    OrphanTakenTwice,
    /// Each rank for itself cancels a barrier that waits for a failed rank.
    GivesUpAlone,
    /// A cancelled barrier is complete when all ranks have arrived at it.
    GivenUpStillCounts,
    /// A barrier is taken for cancelled when the one after it is.
    GivenUpBefore,
    /// The first rank that counts in a word of a barrier's tree counts the others in the word above.
    CombinedEarly,
    /// The last rank to arrive at a barrier with a tree does not release those that are awake.
    Unreleased,
    /// A rank takes a lock of another MPI's memory shared while it is held exclusively.
    FarSharedBlind,
    /// A rank takes such a lock exclusively while it is held shared.
    FarExclusiveBlind,
    /// A member that waits for a failed one decides for itself.
    GatherDecidesAlone,
    /// A cancelled gathering stays open for members that have not arrived.
    GatherLeftOpen,
    /// The last member to arrive is counted before the gathering is closed.
    GatherClosedLate,
    /// No member records that it has left a cancelled gathering.
    GatherNotLeft,
    /// A rank arrives at a fence although an earlier one, in which it did not wait, is not complete.
    RunsAhead,
    /// A fence does not announce the epochs that it opens and closes.
    Unannounced,
    /// A fence announces them after the MEM_SYNC that publishes them.
    AnnouncedUnpublished,
    /// An announcement counts before this rank has passed the announcing fence.
    AnnouncedUncounted,
    /// A rank that has not waited in a fence reads announcements without waiting for it.
    LatestFenceNotAwaited,
    /// One post slot shared by all targets of an origin (a bare count of posts).
    PostSlotShared,
    /// `start` accepts the post of an earlier epoch.
    PostStale,
    /// `wait` resets the completion counter instead of letting it grow.
    CompletedReset,
    /// A NOCHECK start counts a post for which it did not wait.
    NocheckCounts,
    /// The table of post slots is published before it is cleared.
    TableEarly,
    /// A shared locker does not look at the exclusive side.
    ReaderIgnoresWriter,
    /// An exclusive locker does not look at the shared side.
    WriterIgnoresReaders,
    /// A rank that was counted as a holder although another was in its way stays counted.
    StaysInside,
    /// The last holder leaves without admitting waiters.
    GrantForgotten,
    /// A lock becomes free without a nudge for contending ranks.
    NudgeForgotten,
    /// Two exclusive waiters are admitted together.
    GrantTwo,
    /// A rank that already holds a lock queues behind waiters that it blocks.
    NestedQueues,
    /// An overdue waiter stays behind mere waiters.
    FairForever,
    /// An overdue waiter enters although a holder is in its way.
    HoldersPassed,
    /// A rank that announces itself does not look whether the rank ahead of it has ended its generation.
    StaleNode,
    /// A rank leaves the lock without the end of its generation, although another is behind it.
    GenerationOpen,
    /// A rank hands the lock over and leaves it, too.
    HandedToTwo,
    /// A rank takes the lock for handed over although the rank ahead has left it for others.
    MarkIgnored,
    /// An exclusive locker does not respect `lock_all`.
    LockAllIgnored,
    /// An exclusive locker takes its target's lock before the window's.
    TargetFirst,
    /// An exclusive locker without the window's lock does not look whether `lock_all` has begun.
    StageIgnored,
    /// The first `lock_all` does not wait for exclusive holders without the window's lock.
    NotDrained,
    /// The first `lock_all` waits for them while it holds the window's lock.
    OpenedLate,
    /// `lock_all` by the own word does not look whether the bias is being revoked.
    RevocationIgnored,
    /// An exclusive locker does not wait for the ranks that hold `lock_all` by their own words.
    ReadersNotAwaited,
    /// An exclusive locker does not look whether the window is biased.
    BiasIgnored,
    /// A revocation that comes late ends that of a later bias.
    GenerationIgnored,
    /// An exclusive locker whose wait for its target fails keeps the window's lock.
    WindowLockLeft,
    /// A waiter sleeps without announcing itself.
    SleepUnannounced,
    /// A waiter does not look at the word again after announcing itself (and sleeps on it blindly).
    SleepWithoutCheck,
    /// A change of the word wakes no thread.
    WakeForgotten,
    /// A change of the word wakes one sleeper instead of all.
    WakeOne,
    /// A failure wakes no sleeper.
    AlarmForgotten,
    /// A wait does not check whether the job has failed.
    FailureIgnored,
    /// A watcher announces itself after its look, and does not look again.
    WatchLooksFirst,
    /// A watcher reads its bell after the look.
    BellLate,
    /// A watcher that is done clears the count of all watchers.
    WatchersForgotten,
    /// The bell is rung before the MEM_SYNC that completes the stores.
    RingEarly,
    /// An operation is counted before its data is stored.
    NotifyEarly,
    /// A consumed notification is not remembered.
    NotifiedTwice,
    /// A single update looks for a holder before its announcement.
    ShardLooksFirst,
    /// A single update does not ring for a waiting holder.
    ShardUnrung,
    /// A bulk update does not take the locks of its shards.
    ShardNotEntered,
    /// A bulk update does not wait for announced single updates.
    ShardNotDrained,
    /// A bulk update waits for the announcement of a dead rank.
    ShardDeadAnnounced,
    /// A single update is announced in a closed shard.
    ShardClosedIgnored,
    /// A bulk update of several shards looks whether the last one is closed, and not at the others.
    ShardOneClosed,
    /// An update that needs a closed shard enters an open one, too.
    ShardOpenEntered,
    /// A record of a message can be found before it is written.
    MessageEarly,
    /// The record behind one that is published is not cleared.
    MessageUncleared,
    /// A message is published without a ring of the receiver's bell.
    MessageUnrung,
    /// A receiver counts one ring of the bell more than it has seen.
    MessageBellLate,
    /// A sender puts its queue into the list without those that are in it.
    MessageListCut,
    /// A sender reuses a chunk that the receiver still reads.
    MessageReusedEarly,
    /// A sender reuses a block that the receiver still reads.
    MessageBlockReused,
    /// A rank writes a clock over a later one that another has published meanwhile.
    ClockLost,
    /// A rank publishes its clock after it has released others.
    ClockLate,
}
