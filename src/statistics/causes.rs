//! Which rank a wait was for.
//!
//! A post, a message, a lock: the call knows the rank. Where ranks meet, at a fence or in a collective, every rank but the
//! last one to arrive waits, and records before it does where it has arrived. So if all but one have a record, that one
//! was the last. Two that arrive together may both have none; then the cause is unknown.

use super::{Counts, Statistics, WaitCause};
use crate::call::Call;
use crate::prim::{Account, AwaitedKind, AwaitedWords};
use crate::shm::StatisticsWords;

impl Statistics {
    /// This rank has arrived where ranks meet, and has to wait. The other ranks look up its latest arrivals.
    pub(super) fn arrived(&self, awaited: AwaitedWords) {
        let Some(Counts { words, .. }) = &self.counts else { return };
        // Where ranks gather to create a communicator, the meetings have no number.
        if awaited.number == 0 || has_arrived(words, awaited) {
            return;
        }
        let _places = self.places();
        let at = words.next_arrival.load() as usize % StatisticsWords::ARRIVALS;
        let record = &words.arrivals[at];
        record.object.store(0);
        record.number.store(awaited.number);
        record.object.store(awaited.object);
        words.next_arrival.store(at as u32 + 1);
    }

    /// What a wait waits for that begins now: `peer` is the awaited rank also where several could be awaited, but one is. `None` where nothing is counted.
    pub(super) fn awaited_by(&self, account: &Account<'_>) -> Option<AwaitedWords> {
        let Counts { rank: own, .. } = self.counts.as_ref()?;
        let record = account.described();
        let awaited = record.words();
        Some(match awaited.kind {
            AwaitedKind::Complete | AwaitedKind::Requests | AwaitedKind::Collective => {
                let others = record.others().into_iter().filter(|rank| rank != own);
                AwaitedWords { peer: only(others), ..awaited }
            }
            _ => awaited,
        })
    }

    /// This rank begins `call`. If that creates a window or communicator, it may be where one was that has been freed, and
    /// the meetings there are counted anew: the arrivals of before are forgotten. Not when it was freed, because other ranks
    /// may still look up the arrivals of that call.
    pub(super) fn forget_if_created(&self, call: Call) {
        let creates = matches!(
            call,
            Call::WinAllocate
                | Call::WinAllocateShared
                | Call::WinCreate
                | Call::WinCreateDynamic
                | Call::CommDup
                | Call::CommCreate
                | Call::CommCreateGroup
                | Call::CommSplit
                | Call::CommShrink
        );
        if let Some(Counts { words, .. }) = &self.counts
            && creates
            && std::mem::take(&mut self.places().has_freed)
        {
            words.arrivals.iter().for_each(|arrival| arrival.object.store(0));
        }
    }

    /// The cause of a wait that has ended.
    pub(super) fn cause(&self, account: &Account<'_>, awaited: AwaitedWords) -> WaitCause {
        let late = match awaited.kind {
            AwaitedKind::Lock | AwaitedKind::LockAllEnds => {
                return WaitCause { late: awaited.holder, lock_of: awaited.peer };
            }
            AwaitedKind::LockAll => awaited.holder,
            AwaitedKind::Post
            | AwaitedKind::Complete
            | AwaitedKind::Message
            | AwaitedKind::Receipt
            | AwaitedKind::Requests
            | AwaitedKind::Collective => awaited.peer,
            AwaitedKind::Arrival => self.last_to_arrive(&account.described().others(), awaited),
            // Any rank may have notified or written.
            AwaitedKind::Notification | AwaitedKind::Value => None,
            // The sender has not handed over some partitions.
            AwaitedKind::Partitions => None,
            AwaitedKind::Unknown | AwaitedKind::Exclusion | AwaitedKind::Program => None,
        };
        WaitCause { late, lock_of: None }
    }

    fn last_to_arrive(&self, others: &[u32], awaited: AwaitedWords) -> Option<u32> {
        if awaited.number == 0 {
            return None;
        }
        only(others.iter().copied().filter(|rank| {
            let layout = self.segment.layout();
            let words = layout.statistics_of(*rank).map(|at| self.segment.mapping().view(at));
            // A damaged segment names no rank.
            words.is_some_and(|words| words.is_ok_and(|words| !has_arrived(words, awaited)))
        }))
    }
}

fn has_arrived(words: &StatisticsWords, awaited: AwaitedWords) -> bool {
    let AwaitedWords { object, number, .. } = awaited;
    words.arrivals.iter().any(|one| one.object.load() == object && one.number.load() == number)
}

/// The only rank of some.
fn only(mut ranks: impl Iterator<Item = u32>) -> Option<u32> {
    ranks.next().filter(|_| ranks.next().is_none())
}
