//! The table of mutants: everything that is left out, weakened or made wrong, one at a time, and
//! the models that should notice.
//!
//! * **A MEM_SYNC left out**: each [`Site`], on all ranks and on each single rank.
//! * **A full barrier weakened** to an acquire-release fence: the two of parking, each flush
//!   where two ranks put and get crosswise, and those that a watcher and its writer lean on
//!   (`sync/watch.rs`). The other sites run as acquire-release fences in
//!   every model already, and the accesses of the words are relaxed without exception (`prim`,
//!   invariant 1), so there is no further ordering to weaken.
//! * **An algorithm fault**: each [`Fault`], and each [`ToolFault`].
//!
//! A new site does not compile until [`noticed_by`] names its models, a new fault survives until
//! [`found_by`] does, and
//! `tests/mutants.rs` compares the two lists with the source of the enums.

use crate::explore::{Finding, Model};
use crate::models;
use crate::prim::model::Mutant;
use crate::prim::{Fault, Site};
use crate::protocol::Fault as ToolFault;
use std::time::Duration;

/// Every site.
pub const SITES: &[Site] = &[
    Site::FencePre,
    Site::FencePost,
    Site::PostPre,
    Site::StartPost,
    Site::CompletePre,
    Site::WaitPost,
    Site::LockAlone,
    Site::LockPost,
    Site::UnlockPre,
    Site::LockAllOpens,
    Site::LockAllOpened,
    Site::LockAllReads,
    Site::LockAllRevokes,
    Site::LockAllRevoked,
    Site::LockBeside,
    Site::LockAllPost,
    Site::UnlockAllPre,
    Site::Flush,
    Site::FlushAll,
    Site::FlushLocal,
    Site::FlushLocalAll,
    Site::WinSync,
    Site::CollectivePre,
    Site::CollectivePost,
    Site::EachArrived,
    Site::ArrivalCarry,
    Site::ReleaseCarry,
    Site::AccumulatePost,
    Site::AccumulatePre,
    Site::HeapPost,
    Site::HeapPre,
    Site::NoticePre,
    Site::Alarm,
    Site::LookPost,
    Site::LookPre,
    Site::AttachPost,
    Site::AttachPre,
    Site::LockCarry,
    Site::TablePre,
    Site::TableCarry,
    Site::NotifyPre,
    Site::NotifyPost,
    Site::WatchWaiter,
    Site::WatchPost,
    Site::ShardAlone,
    Site::ShardAnnounce,
    Site::ShardLook,
    Site::ShardWithdraw,
    Site::ShardWithdrawn,
    Site::ShardBarrier,
    Site::ShardRung,
    Site::ShardDrained,
    Site::ShardPost,
    Site::ShardPre,
    Site::MessagePre,
    Site::MessageRing,
    Site::MessageLook,
    Site::MessagePost,
    Site::MessageList,
    Site::MessageFind,
    Site::MessageLeave,
    Site::MessageReturn,
    Site::MessageReuse,
    Site::MessageWithdrawn,
    Site::MessageTaken,
    Site::ParkWaiter,
    Site::ParkWaker,
    Site::ParkBarrier,
    Site::ParkReleased,
];

/// Every fault.
pub const FAULTS: &[Fault] = &[
    Fault::BarrierReset,
    Fault::BarrierEarly,
    Fault::LastArrivalUnrung,
    Fault::PublishedFirst,
    Fault::StagedTooSoon,
    Fault::OrphanForever,
    Fault::OrphanTakenTwice,
    Fault::GivesUpAlone,
    Fault::GivenUpStillCounts,
    Fault::GivenUpBefore,
    Fault::CombinedEarly,
    Fault::Unreleased,
    Fault::FarSharedBlind,
    Fault::FarExclusiveBlind,
    Fault::GatherDecidesAlone,
    Fault::GatherLeftOpen,
    Fault::GatherClosedLate,
    Fault::GatherNotLeft,
    Fault::RunsAhead,
    Fault::Unannounced,
    Fault::AnnouncedUnpublished,
    Fault::AnnouncedUncounted,
    Fault::LatestFenceNotAwaited,
    Fault::PostSlotShared,
    Fault::PostStale,
    Fault::CompletedReset,
    Fault::NocheckCounts,
    Fault::TableEarly,
    Fault::ReaderIgnoresWriter,
    Fault::WriterIgnoresReaders,
    Fault::StaysInside,
    Fault::GrantForgotten,
    Fault::NudgeForgotten,
    Fault::GrantTwo,
    Fault::NestedQueues,
    Fault::FairForever,
    Fault::HoldersPassed,
    Fault::StaleNode,
    Fault::GenerationOpen,
    Fault::HandedToTwo,
    Fault::MarkIgnored,
    Fault::LockAllIgnored,
    Fault::TargetFirst,
    Fault::StageIgnored,
    Fault::NotDrained,
    Fault::OpenedLate,
    Fault::RevocationIgnored,
    Fault::ReadersNotAwaited,
    Fault::BiasIgnored,
    Fault::GenerationIgnored,
    Fault::WindowLockLeft,
    Fault::SleepUnannounced,
    Fault::SleepWithoutCheck,
    Fault::WakeForgotten,
    Fault::WakeOne,
    Fault::AlarmForgotten,
    Fault::FailureIgnored,
    Fault::WatchLooksFirst,
    Fault::BellLate,
    Fault::WatchersForgotten,
    Fault::RingEarly,
    Fault::NotifyEarly,
    Fault::NotifiedTwice,
    Fault::ShardLooksFirst,
    Fault::ShardUnrung,
    Fault::ShardNotEntered,
    Fault::ShardNotDrained,
    Fault::ShardDeadAnnounced,
    Fault::ShardClosedIgnored,
    Fault::ShardOneClosed,
    Fault::ShardOpenEntered,
    Fault::MessageEarly,
    Fault::MessageUncleared,
    Fault::MessageUnrung,
    Fault::MessageBellLate,
    Fault::MessageListCut,
    Fault::MessageReusedEarly,
    Fault::MessageBlockReused,
    Fault::ClockLost,
    Fault::ClockLate,
];

/// Every fault of the protocols over window operations.
pub const TOOL_FAULTS: &[ToolFault] = &[
    ToolFault::McsAbandons,
    ToolFault::McsUnobserved,
    ToolFault::McsUnpublished,
    ToolFault::McsLinkUnrung,
    ToolFault::McsGrantUnrung,
    ToolFault::QueueEarly,
    ToolFault::QueueUnobserved,
    ToolFault::QueueUnpublished,
    ToolFault::QueueUnrung,
    ToolFault::CountSplit,
    ToolFault::TicketSplit,
];

/// The models that should notice when `site` is left out: the names begin with one of these.
/// In each list every rank has the role in which it executes the site.
fn noticed_by(site: Site) -> &'static [&'static str] {
    match site {
        Site::FencePre | Site::FencePost => &["fence/neighbours x"],
        Site::CollectivePre | Site::CollectivePost => &["collective/staging x"],
        Site::EachArrived => &["collective/rung, each x"],
        Site::ArrivalCarry | Site::ReleaseCarry => &["collective/staging, a tree x"],
        Site::PostPre | Site::StartPost | Site::CompletePre | Site::WaitPost => &["pscw/ring x"],
        Site::TablePre | Site::TableCarry => &["pscw/table x"],
        Site::LockPost | Site::UnlockPre => &["lock/shared then exclusive x"],
        Site::LockAllPost | Site::UnlockAllPre => &["lock_all/read all, write one x"],
        Site::LockAlone | Site::LockAllOpens => &["lock_all/one holder, rank"],
        Site::LockAllReads | Site::LockAllRevokes => &["lock_all/one holder, rank"],
        Site::LockAllRevoked => &["lock_all/two targets revoked, rank"],
        Site::LockBeside => &["lock_all/biased again, rank"],
        Site::LockAllOpened => &["lock_all/two holders, rank"],
        Site::LockCarry => &["lock/two readers, rank"],
        Site::Flush => &["flush/flush then message x"],
        Site::FlushAll => &["flush/flush_all then message x"],
        Site::FlushLocal => &["flush/flush_local then message x"],
        Site::FlushLocalAll => &["flush/flush_local_all then message x"],
        Site::WinSync => &["flush/win_sync then message x"],
        Site::AccumulatePost | Site::AccumulatePre => &["accumulate/accumulate x"],
        Site::HeapPost | Site::HeapPre => &["robust/fails Never x"],
        Site::NoticePre | Site::Alarm => &["robust/fails Inside"],
        Site::LookPost | Site::LookPre | Site::AttachPost | Site::AttachPre => {
            &["directory/search and detach x"]
        }
        Site::NotifyPre | Site::NotifyPost => &["notify/there and back x"],
        Site::WatchWaiter | Site::WatchPost => &["watch/after flush, rank"],
        Site::ShardAlone => &["shards/alone, rank"],
        Site::ShardPost => &["shards/the slow way x"],
        Site::ShardLook => &["shards/reopened, rank"],
        Site::ShardAnnounce
        | Site::ShardWithdraw
        | Site::ShardWithdrawn
        | Site::ShardBarrier
        | Site::ShardRung
        | Site::ShardDrained
        | Site::ShardPre => &["shards/one against many, rank"],
        Site::MessagePre | Site::MessagePost => &["channel/both ways x"],
        Site::MessageRing | Site::MessageLook | Site::MessageList | Site::MessageFind => {
            &["channel/both ways once x"]
        }
        Site::MessageLeave => &["channel/given back, rank"],
        Site::MessageReturn | Site::MessageReuse => &["channel/block given back, rank"],
        Site::MessageWithdrawn | Site::MessageTaken => &["channel/withdrawn"],
        Site::ParkWaiter | Site::ParkWaker => PARKED_FENCES,
        Site::ParkBarrier | Site::ParkReleased => &["shards/closed x"],
    }
}

/// Sites that must be full barriers, with the models that should notice when they are not.
const FULL_BARRIERS: &[(Site, &[&str])] = &[
    (Site::Flush, &["flush/flush crosswise x"]),
    (Site::FlushAll, &["flush/flush_all crosswise x"]),
    (Site::FlushLocal, &["flush/flush_local crosswise x"]),
    (Site::FlushLocalAll, &["flush/flush_local_all crosswise x"]),
    (Site::WinSync, &["flush/win_sync crosswise x"]),
    (Site::LockAlone, &["lock_all/one holder, rank"]),
    (Site::LockAllOpens, &["lock_all/one holder, rank"]),
    (Site::LockAllReads, &["lock_all/one holder, rank"]),
    (Site::LockAllRevokes, &["lock_all/one holder, rank"]),
    (Site::WatchWaiter, &["watch/after flush, rank"]),
    (Site::Flush, &["watch/after flush, rank"]),
    (Site::FlushAll, &["watch/after flush_all, rank"]),
    (Site::WinSync, &["watch/after win_sync, rank"]),
    (Site::UnlockPre, &["watch/after unlock, rank"]),
    (Site::UnlockAllPre, &["watch/after unlock_all, rank"]),
    (Site::CompletePre, &["watch/after complete, rank"]),
    (Site::FencePre, &["watch/before fence, rank"]),
    (Site::ShardAlone, &["shards/alone, rank"]),
    (Site::ShardAnnounce, &["shards/one against many, rank"]),
    (Site::ShardWithdrawn, &["shards/one against many, rank"]),
    (Site::ShardBarrier, &["shards/one against many, rank"]),
    (Site::ParkWaiter, PARKED_FENCES),
    (Site::ParkWaker, PARKED_FENCES),
    (Site::ParkBarrier, &["shards/closed x"]),
    (Site::ParkReleased, &["shards/closed x"]),
    (Site::EachArrived, &["collective/rung, each x"]),
];

/// Every rank sleeps, and every rank wakes.
const PARKED_FENCES: &[&str] = &["parking/fence x2", "parking/fence x3"];

/// The models that should find `fault`: the names begin with one of these.
fn found_by(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::BarrierReset => &["fence/neighbours x2", "fence/neighbours x3"],
        Fault::CombinedEarly | Fault::Unreleased => &["collective/staging, a tree x"],
        Fault::BarrierEarly => &["fence/neighbours x"],
        Fault::LastArrivalUnrung => &["collective/rung x", "collective/rung, each x"],
        Fault::PublishedFirst => &["collective/ahead x", "collective/ahead, each x"],
        Fault::StagedTooSoon => {
            &["collective/ahead x", "collective/ahead, each x", "collective/ahead, buffers x"]
        }
        Fault::RunsAhead => &["fence/kinds that disagree x"],
        Fault::Unannounced | Fault::AnnouncedUnpublished | Fault::AnnouncedUncounted => {
            &["fence/lent x2"]
        }
        Fault::LatestFenceNotAwaited => &["fence/lent, arrive only x2"],
        Fault::PostSlotShared => &["pscw/two targets in turn x"],
        Fault::PostStale => &["pscw/ring x"],
        Fault::CompletedReset => &["pscw/one way, test x"],
        Fault::NocheckCounts => &["pscw/one way, nocheck x"],
        Fault::TableEarly => &["pscw/one way, table x"],
        Fault::ReaderIgnoresWriter | Fault::WriterIgnoresReaders => {
            &["lock/shared then exclusive x"]
        }
        Fault::StaysInside => &["lock/shared then exclusive x", "lock/one reader"],
        // A rank that polls becomes overdue, and then does what the forgetful holder did not.
        Fault::GrantForgotten => &["parking/lock x"],
        Fault::NudgeForgotten => &["parking/exclusive x2 contending"],
        Fault::GrantTwo => &["lock/exclusive x3"],
        Fault::NestedQueues => &["parking/nested locks x"],
        Fault::FairForever => &["lock/past a mere waiter x"],
        Fault::HoldersPassed => &["lock/shared then exclusive x", "lock/exclusive x"],
        Fault::SleepUnannounced | Fault::SleepWithoutCheck | Fault::WakeForgotten => {
            &["parking/fence x"]
        }
        Fault::WakeOne => &["parking/fence x3"],
        Fault::WatchLooksFirst | Fault::BellLate | Fault::RingEarly => &["watch/after flush, rank"],
        Fault::WatchersForgotten => &["watch/two watchers x"],
        Fault::NotifyEarly => &["notify/there and back x"],
        Fault::NotifiedTwice => &["notify/in turn x"],
        Fault::ShardLooksFirst | Fault::ShardUnrung | Fault::ShardNotDrained => {
            &["shards/one against many, rank"]
        }
        Fault::ShardNotEntered => &["shards/both ways x"],
        Fault::ShardDeadAnnounced => &["shards/dies announced, rank"],
        Fault::ShardClosedIgnored => &["shards/one against many twice, rank"],
        Fault::ShardOpenEntered => &["shards/one against many, rank"],
        Fault::ShardOneClosed => &["shards/one shard of two is closed, rank"],
        other => found_by_lock_all(other),
    }
}

/// [`found_by`] for `lock_all` against exclusive lockers.
fn found_by_lock_all(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::StaleNode | Fault::GenerationOpen | Fault::HandedToTwo | Fault::MarkIgnored => &[
            "lock/exclusive x3 queued",
            "lock/exclusive twice x2 queued",
            "lock/write then read x",
        ],
        Fault::TargetFirst => &["lock_all/holder waits for a reader x"],
        Fault::OpenedLate => &["lock_all/two targets alone x"],
        Fault::LockAllIgnored
        | Fault::StageIgnored
        | Fault::NotDrained
        | Fault::RevocationIgnored
        | Fault::ReadersNotAwaited
        | Fault::BiasIgnored => &["lock_all/one holder, rank"],
        Fault::GenerationIgnored => &["lock_all/late revocation x"],
        Fault::FarSharedBlind | Fault::FarExclusiveBlind => &["far_lock/shared and exclusive x2"],
        other => found_by_failure(other),
    }
}

/// The models that should find a fault of the protocols over window operations.
fn found_by_tool(fault: ToolFault) -> &'static [&'static str] {
    match fault {
        ToolFault::McsAbandons => &["mutex/counted x2"],
        ToolFault::McsUnobserved | ToolFault::McsUnpublished => &["mutex/counted x"],
        ToolFault::McsLinkUnrung | ToolFault::McsGrantUnrung => &["mutex/with bells x2"],
        ToolFault::QueueEarly | ToolFault::QueueUnobserved | ToolFault::QueueUnpublished => {
            &["queue/one slot x2", "queue/two producers x"]
        }
        ToolFault::QueueUnrung => &["queue/with bells x2"],
        ToolFault::CountSplit => &["counter/two threads x"],
        ToolFault::TicketSplit => &["counter/tickets x"],
    }
}

/// [`found_by`] for what goes wrong when a rank has failed.
fn found_by_failure(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::OrphanForever => &["robust/fails Inside x2"],
        Fault::OrphanTakenTwice => &["robust/fails Inside x3"],
        Fault::GivesUpAlone | Fault::GivenUpStillCounts | Fault::GivenUpBefore => {
            &["agreement/fences"]
        }
        Fault::GatherDecidesAlone | Fault::GatherLeftOpen => &["gather/fails Counted x3"],
        Fault::GatherClosedLate => &["gather/fails Closing twice x2"],
        Fault::GatherNotLeft => &["gather/fails Before x2"],
        Fault::WindowLockLeft => &["failure/exclusive lock of a shared one"],
        Fault::AlarmForgotten | Fault::FailureIgnored => &["failure/fence"],
        message => found_by_channel(message),
    }
}

/// [`found_by`] for the rest; a fault that is not named here either survives.
fn found_by_channel(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::MessageEarly | Fault::MessageUnrung | Fault::MessageBellLate => {
            &["channel/both ways x"]
        }
        Fault::MessageUncleared => &["channel/chunks in turn, answered x"],
        Fault::MessageListCut => &["channel/two senders x"],
        Fault::MessageReusedEarly => &["channel/chunks in turn, rank"],
        Fault::MessageBlockReused => &["channel/block given back, rank"],
        Fault::ClockLost | Fault::ClockLate => &["clock/raised x"],
        _ => &[],
    }
}

/// A mutant, and the models that are tried in turn until one kills it.
pub struct Row {
    /// What is different.
    pub mutant: Mutant,
    /// The model that should notice.
    pub candidates: Vec<Model>,
}

/// What became of a mutant.
pub struct Verdict {
    /// Its name.
    pub mutant: String,
    /// The model that killed it, and what it found; `None` for a survivor.
    pub killer: Option<(String, String)>,
    /// Executions of all candidates that were tried.
    pub executions: usize,
    /// Wall time of all candidates that were tried.
    pub elapsed: Duration,
}

impl Row {
    /// What is different, in words.
    pub fn name(&self) -> String {
        let Mutant { site_off, fault, above, weakened } = self.mutant;
        let (what, rank) = match (site_off, weakened, fault) {
            (Some((site, rank)), _, _) => (format!("without {site:?}"), rank),
            (_, Some((site, rank)), _) => (format!("weak {site:?}"), rank),
            (_, _, Some(fault)) => (format!("{fault:?}"), None),
            (None, None, None) => (above.map_or("no mutant".into(), tool_fault), None),
        };
        rank.map_or(what.clone(), |rank| format!("{what} on rank {rank}"))
    }

    /// Tries the candidates in turn, within the bounds of the ordinary test command.
    pub fn run(&self) -> Verdict {
        let (mut executions, mut elapsed) = (0, Duration::ZERO);
        let mut killer = None;
        for model in &self.candidates {
            match model.explore(self.mutant, model.short) {
                Ok(explored) => {
                    executions += explored.executions;
                    elapsed += explored.elapsed;
                }
                Err(Finding { message, executions: more, elapsed: longer }) => {
                    executions += more;
                    elapsed += longer;
                    killer = Some((model.name.clone(), message));
                    break;
                }
            }
        }
        Verdict { mutant: self.name(), killer, executions, elapsed }
    }
}

fn candidates(prefixes: &[&str]) -> Vec<Model> {
    let all = models::all();
    all.into_iter().filter(|model| prefixes.iter().any(|p| model.name.starts_with(p))).collect()
}

/// The name of a fault of the protocols over window operations.
fn tool_fault(number: u8) -> String {
    TOOL_FAULTS.iter().filter(|fault| **fault as u8 == number).map(|f| format!("{f:?}")).collect()
}

/// The whole table.
pub fn all() -> Vec<Row> {
    [deletions(), weakenings(), faults()].into_iter().flatten().collect()
}

/// Each site left out on all ranks, and on each rank of its models.
pub fn deletions() -> Vec<Row> {
    let rows = SITES.iter().flat_map(|&site| {
        on_each_rank(noticed_by(site), move |rank| Mutant {
            site_off: Some((site, rank)),
            ..Mutant::default()
        })
    });
    rows.collect()
}

/// Each full barrier weakened on all ranks, and on each rank of its models.
pub fn weakenings() -> Vec<Row> {
    let rows = FULL_BARRIERS.iter().flat_map(|&(site, models)| {
        on_each_rank(models, move |rank| Mutant {
            weakened: Some((site, rank)),
            ..Mutant::default()
        })
    });
    rows.collect()
}

/// One mutant for all ranks, and one for each rank of the models.
fn on_each_rank(models: &[&str], mutant: impl Fn(Option<usize>) -> Mutant) -> Vec<Row> {
    let candidates = candidates(models);
    let ranks = candidates.iter().map(|model| model.ranks).max().unwrap_or(0);
    let row = |rank: Option<usize>| {
        let able = |model: &&Model| rank.is_none_or(|rank| rank < model.ranks);
        let candidates = candidates.iter().filter(able).cloned().collect();
        Row { mutant: mutant(rank), candidates }
    };
    std::iter::once(None).chain((0..ranks).map(Some)).map(row).collect()
}

/// Each algorithm fault.
pub fn faults() -> Vec<Row> {
    let row = |&fault| {
        let mutant = Mutant { fault: Some(fault), ..Mutant::default() };
        Row { mutant, candidates: candidates(found_by(fault)) }
    };
    let tool = |&fault: &ToolFault| {
        let mutant = Mutant { above: Some(fault as u8), ..Mutant::default() };
        Row { mutant, candidates: candidates(found_by_tool(fault)) }
    };
    FAULTS.iter().map(row).chain(TOOL_FAULTS.iter().map(tool)).collect()
}
