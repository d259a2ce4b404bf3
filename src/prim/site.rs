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
    /// `lock`, after the grant.
    LockPost,
    /// `unlock`, before the release.
    UnlockPre,
    /// `lock_all`, after the grant.
    LockAllPost,
    /// `unlock_all`, before the release.
    UnlockAllPre,
    /// `flush`: accesses before it precede any later PROC_SYNC, and it is a full barrier.
    Flush,
    /// `flush_all`, as `flush` for every target.
    FlushAll,
    /// `flush_local`: operations are eager, so it orders exactly what `flush` orders.
    FlushLocal,
    /// `flush_local_all`, as `flush_local` for every target.
    FlushLocalAll,
    /// `win_sync`.
    WinSync,
    /// Collectives of a communicator, before PROC_SYNC: exposes the staged contribution.
    CollectivePre,
    /// Collectives of a communicator, after PROC_SYNC: the staged contributions can be read.
    CollectivePost,
    /// Accumulate exclusion, after the grant.
    AccumulatePost,
    /// Accumulate exclusion, before the release.
    AccumulatePre,
    /// Allocator of the segment, after its lock was granted.
    HeapPost,
    /// Allocator of the segment, before its lock is released.
    HeapPre,
    /// The launcher, before it says that a rank has failed: what that rank has written.
    NoticePre,
    /// The launcher, between what it says of a failure and the alarm that wakes the sleepers.
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
    /// Between clearing fresh post slots and telling the origins where they are.
    TablePre,
    /// Carry: between "saw the table of post slots" and the first look into it.
    TableCarry,
    /// `notify`, before the counter grows: exposes the operations that it counts.
    NotifyPre,
    /// `wait_notify` and a successful `test_notify`: the operations that were counted can be read.
    NotifyPost,
    /// `wait_until`: between "I watch" and the look at the memory; and after each ring of the bell.
    WatchWaiter,
    /// `wait_until`, after the look that succeeded.
    WatchPost,
    /// Stripes, before a rank's first announcement: it takes no part in the barriers of all ranks.
    StripeAlone,
    /// Stripes: between "I update one element" and the look whether anybody updates many.
    StripeAnnounce,
    /// Stripes: between that look and the update of one element.
    StripeLook,
    /// Stripes: between the update of one element and "I have".
    StripeWithdraw,
    /// Stripes: between "I have updated one element" and the look whether anybody waits for that.
    StripeWithdrawn,
    /// Stripes: between "I update many elements" and the look who updates one; of all ranks.
    StripeBarrier,
    /// Stripes: between a ring of the bell and the look who updates one element.
    StripeRung,
    /// Stripes: between the look that found nobody and the update of many elements.
    StripeDrained,
    /// Exclusion of a stripe, after the grant to a rank that updates one element.
    StripePost,
    /// Exclusion of a stripe, before the release.
    StripePre,
    /// Messages, between a record and the state that lets it be found.
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
    /// Messages: between the reading of a chunk and the word that gives it back.
    MessageLeave,
    /// Messages: between "I have taken an offer back" and what the program does with its memory.
    MessageWithdrawn,
    /// Messages: between the reading of what was offered and the look whether it was taken back.
    MessageTaken,
    /// Parking: between "I am about to sleep" and the last look at the word.
    ParkWaiter,
    /// Parking: between the change of the word and "does anybody sleep?".
    ParkWaker,
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
    /// A collective of a communicator may go on.
    CollectivePass,
}

/// Places between two steps of a call where nothing is ordered and nobody is met: test builds let
/// a rank die there (`launch/fault.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "most are passed above `sync`, which the models do not compile")]
pub enum Step {
    /// The process has found its job and not touched it.
    BeforeJoin,
    /// The segment is mapped; the rank has not said so.
    Mapped,
    /// The rank has said that it has joined.
    Joined,
    /// All handles are gone; the rank has not said that it has finished.
    Finishing,
    /// The rank has said that it has finished.
    Finished,
    /// Allocator: a free block has been found; its memory is not reserved.
    HeapFound,
    /// Allocator: the block is off its list, and not marked.
    HeapUnlisted,
    /// Allocator: what remains of the block is a block of its own, and on no list.
    HeapSplit,
    /// Allocator: the neighbours of a block that is freed are off their lists.
    HeapMerging,
    /// Allocator: a block is free again; its pages are not given back.
    HeapListed,
    /// Registry of communicators: this rank has written down that it has come; it is not counted.
    RoomMarked,
    /// Registry of communicators: nobody finds the room any more; this rank is not counted, or has not
    /// decided that not all will come.
    RoomClosed,
    /// Creation of a window: rank 0 has its block, and it is not cleared.
    WindowTaken,
    /// Creation of a window: rank 0 has its block, and has told nobody.
    WindowNamed,
    /// Creation of a window: this rank knows the block.
    WindowTold,
    /// Creation of a large window: this rank has reserved its part, or has not been able to, and has
    /// told nobody.
    WindowTouched,
    /// Release of a window: all have met; nothing is given back.
    FreeMet,
    /// Release of a window: this rank has given back all that it had to.
    FreeDone,
    /// Halfway through a large put, or a large store to the own part or to a shared one.
    MidPut,
    /// Halfway through a large get.
    MidGet,
    /// Halfway through a long accumulate.
    MidAccumulate,
}

/// Algorithm faults that the mutation run plants, one at a time. Natively [`super::planted`] is
/// a constant `false`, so none of this reaches a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "some are planted where the models do what `window/active.rs` does")]
pub enum Fault {
    /// The last arriver resets the barrier's counter instead of letting it grow.
    BarrierReset,
    /// A rank leaves the barrier one arrival early.
    BarrierEarly,
    /// Nobody takes the place of a rank that failed in a robust exclusion.
    OrphanForever,
    /// Everybody who sees that a rank failed in a robust exclusion takes its place.
    OrphanTakenTwice,
    /// A barrier that waits for a failed rank is given up by each rank for itself.
    GivesUpAlone,
    /// A barrier that is given up keeps the arrivals that it has counted.
    GivenUpStillCounts,
    /// A member that waits for one that has failed gives up for itself.
    GatherDecidesAlone,
    /// A gathering that is given up stays open for members that have yet to come.
    GatherLeftOpen,
    /// The last member to come is counted before nobody else can come.
    GatherClosedLate,
    /// Nobody says that it has left a gathering that is given up.
    GatherNotLeft,
    /// A rank arrives at a fence although one that it did not wait in is not complete.
    RunsAhead,
    /// A fence does not say what it opens and closes.
    Unannounced,
    /// A fence says it behind the MEM_SYNC that publishes it.
    AnnouncedUnpublished,
    /// What a fence announces is taken to hold before this rank has passed that fence.
    AnnouncedUncounted,
    /// Who has not waited in a fence does not wait for it before it looks at what others announced.
    LatestFenceNotAwaited,
    /// One post slot shared by all targets of an origin (a bare count of posts).
    PostSlotShared,
    /// `start` accepts the post of an earlier epoch.
    PostStale,
    /// `wait` resets the completion counter instead of letting it grow.
    CompletedReset,
    /// A NOCHECK start counts the post it did not wait for.
    NocheckCounts,
    /// The table of post slots is published before it is cleared.
    TableEarly,
    /// A shared locker does not look at the exclusive side.
    ReaderIgnoresWriter,
    /// An exclusive locker does not look at the shared side.
    WriterIgnoresReaders,
    /// The last holder leaves without admitting those who wait.
    GrantForgotten,
    /// A lock becomes free, and those who contend for it are not told.
    NudgeForgotten,
    /// Two exclusive waiters are admitted at once.
    GrantTwo,
    /// A rank that already holds a lock queues behind waiters it blocks itself.
    NestedQueues,
    /// An overdue waiter stays behind ranks that only wait themselves.
    FairForever,
    /// An overdue waiter goes in although a holder is in its way.
    HoldersPassed,
    /// An exclusive locker does not respect `lock_all`.
    LockAllIgnored,
    /// An exclusive locker enters its target before the window-wide room.
    TargetFirst,
    /// An exclusive locker whose wait for its target fails stays in the window-wide room.
    RoomKept,
    /// A waiter sleeps without announcing itself.
    SleepUnannounced,
    /// A waiter does not look at the word again after announcing itself (and sleeps on it blindly).
    SleepWithoutCheck,
    /// A change of the word wakes nobody.
    WakeForgotten,
    /// A change of the word wakes one sleeper instead of all.
    WakeOne,
    /// A failure wakes nobody who sleeps.
    AlarmForgotten,
    /// A wait does not look whether the job has failed.
    FailureIgnored,
    /// A watcher announces itself after its look, and does not look again.
    WatchLooksFirst,
    /// A watcher reads its bell after the look.
    BellLate,
    /// A watcher that is done forgets that there are others.
    WatchersForgotten,
    /// The bell is rung before the MEM_SYNC that completes the stores.
    RingEarly,
    /// An operation is counted before its data is stored.
    NotifyEarly,
    /// A notification that was consumed is not remembered.
    NotifiedTwice,
    /// A mutex is left without waiting for a successor that is about to say who it is.
    McsAbandons,
    /// A mutex is granted without observing what its last holder published.
    McsUnobserved,
    /// A mutex is left without publishing the holder's accesses.
    McsUnpublished,
    /// A waiter links itself to its predecessor and does not ring.
    McsLinkUnrung,
    /// A holder hands the mutex over and does not ring.
    McsGrantUnrung,
    /// A slot of a queue is passed on before it is used.
    QueueEarly,
    /// A slot of a queue is used without observing what the other side published.
    QueueUnobserved,
    /// A slot of a queue is passed on without publishing what was done to it.
    QueueUnpublished,
    /// A slot of a queue is passed on and nobody is told.
    QueueUnrung,
    /// A stripe of a counter is read and written instead of added to.
    CountSplit,
    /// The word of an exact counter is read and written instead of added to.
    TicketSplit,
    /// Who updates one element looks for a holder before it announces itself.
    StripeLooksFirst,
    /// Who has updated one element does not look whether a holder waits for that.
    StripeUnrung,
    /// Who updates many elements does not enter the exclusion of their stripes.
    StripeNotEntered,
    /// Who updates many elements does not wait for those who update one.
    StripeNotDrained,
    /// Who updates many elements waits for a dead rank that was updating one.
    StripeDeadAnnounced,
    /// A record of a message can be found before it is written.
    MessageEarly,
    /// The record behind one that is published is not cleared.
    MessageUncleared,
    /// A message is published and its receiver is not told.
    MessageUnrung,
    /// A receiver takes the bell to have been rung once more than it has seen.
    MessageBellLate,
    /// A sender puts its queue into the list without those that are in it.
    MessageListCut,
    /// A sender uses a chunk that the receiver still reads.
    MessageReusedEarly,
}
