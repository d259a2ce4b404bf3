//! Why a rank waits, in the words of Scalasca where it has one: the one table from calls to reasons.

use crate::Call;
use crate::launch::AwaitedKind;

/// Why a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    LatePost,
    LateComplete,
    WaitAtFence,
    WaitForLock,
    WaitAtCreate,
    WaitAtFree,
    WaitAtBarrier,
    WaitAtCollective,
    LateSender,
    LateReceiver,
    LatePartner,
    LateNotification,
    LateStore,
    WaitInLibrary,
}

impl Reason {
    /// Of a wait in `call` for something of that kind; `None` if neither determines it.
    ///
    /// A start waits for the posts of its targets, so no operation waits for one: Scalasca's *early transfer* is a late
    /// post here.
    pub fn of(call: Call, awaited: AwaitedKind) -> Option<Reason> {
        Some(match awaited {
            AwaitedKind::Post => Reason::LatePost,
            AwaitedKind::Complete => Reason::LateComplete,
            AwaitedKind::Lock | AwaitedKind::LockAllEnds | AwaitedKind::LockAll => {
                Reason::WaitForLock
            }
            AwaitedKind::Message => Reason::LateSender,
            AwaitedKind::Receipt => Reason::LateReceiver,
            AwaitedKind::Requests => Reason::LatePartner,
            AwaitedKind::Notification => Reason::LateNotification,
            AwaitedKind::Value => Reason::LateStore,
            AwaitedKind::Exclusion => Reason::WaitInLibrary,
            // The program completes what it waits for itself.
            AwaitedKind::Partitions | AwaitedKind::Program => return None,
            AwaitedKind::Arrival | AwaitedKind::Collective | AwaitedKind::Unknown => {
                return Reason::of_call(call, awaited != AwaitedKind::Unknown);
            }
        })
    }

    /// Of a wait in `call`, for other ranks to arrive if `is_arrival`.
    fn of_call(call: Call, is_arrival: bool) -> Option<Reason> {
        Some(match call {
            Call::Start => Reason::LatePost,
            Call::Wait => Reason::LateComplete,
            Call::Fence => Reason::WaitAtFence,
            Call::Lock | Call::LockAll => Reason::WaitForLock,
            Call::Barrier => Reason::WaitAtBarrier,
            Call::WinCreate
            | Call::WinAllocate
            | Call::WinAllocateShared
            | Call::WinCreateDynamic => Reason::WaitAtCreate,
            Call::WinFree => Reason::WaitAtFree,
            Call::Receive | Call::Probe | Call::MatchProbe => Reason::LateSender,
            Call::Send => Reason::LateReceiver,
            Call::SendReceive | Call::MessageWait | Call::WaitAny | Call::WaitSome => {
                Reason::LatePartner
            }
            Call::WaitNotify => Reason::LateNotification,
            Call::WaitUntil => Reason::LateStore,
            _ if is_arrival => Reason::WaitAtCollective,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        self.words().1
    }

    /// Its name, and what it means.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Reason::LatePost => ("late post", "the target opened its window after the start"),
            Reason::LateComplete => {
                ("late complete", "an origin completed after the target called wait")
            }
            Reason::WaitAtFence => ("wait at fence", "another rank came later to the fence"),
            Reason::WaitForLock => ("wait for lock", "another rank held the lock, or came before"),
            Reason::WaitAtCreate => {
                ("wait at create", "another rank came later to create a window")
            }
            Reason::WaitAtFree => ("wait at free", "another rank came later to free the window"),
            Reason::WaitAtBarrier => ("wait at barrier", "another rank came later to the barrier"),
            Reason::WaitAtCollective => {
                ("wait at collective", "another rank came later to the collective call")
            }
            Reason::LateSender => ("late sender", "the message was sent after the receive began"),
            Reason::LateReceiver => ("late receiver", "the receive began after the send"),
            Reason::LatePartner => {
                ("late partner", "the other side of a request came later: a sender or a receiver")
            }
            Reason::LateNotification => {
                ("late notification", "the notified operation came after the wait began")
            }
            Reason::LateStore => ("late value", "the value was written after the wait began"),
            Reason::WaitInLibrary => {
                ("wait in library", "another rank was in the library's own exclusion")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_awaited_decides_before_the_call() {
        let cases = [
            (Call::Start, AwaitedKind::Post, Some(Reason::LatePost)),
            (Call::Start, AwaitedKind::Unknown, Some(Reason::LatePost)),
            (Call::MessageWait, AwaitedKind::Message, Some(Reason::LateSender)),
            (Call::MessageWait, AwaitedKind::Receipt, Some(Reason::LateReceiver)),
            (Call::MessageWait, AwaitedKind::Requests, Some(Reason::LatePartner)),
            (Call::Fence, AwaitedKind::Arrival, Some(Reason::WaitAtFence)),
            (Call::Fence, AwaitedKind::Exclusion, Some(Reason::WaitInLibrary)),
            (Call::Allreduce, AwaitedKind::Arrival, Some(Reason::WaitAtCollective)),
            (Call::Put, AwaitedKind::Unknown, None),
            (Call::MessageWait, AwaitedKind::Program, None),
        ];
        for (call, awaited, reason) in cases {
            assert_eq!(Reason::of(call, awaited), reason, "{call}, {awaited:?}");
        }
    }
}
