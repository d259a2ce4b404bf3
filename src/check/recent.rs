//! Open operations of this rank that are found without a search: those of its latest calls.

/// A call of the program that has no request, and whose line a binding has not found. Where such calls are open, those that
/// are the same are one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecentCall {
    /// The address of the program's line.
    pub(super) at: usize,
    /// The slot of its thread.
    pub(super) slot: usize,
    pub(super) window: u64,
    pub(super) target: u32,
    pub(super) what: u32,
}

/// Calls that are remembered: one for each remainder of the target.
const CALLS: usize = 16;

/// The operations of the latest calls.
#[derive(Default)]
pub(super) struct RecentOperations {
    calls: [(u64, RecentCall, u32); CALLS],
    /// Those with a lower number are not open any more.
    cleared: u64,
}

impl RecentOperations {
    /// The number of the operation of such a call, if it is remembered.
    #[inline]
    pub(super) fn find(&self, call: &RecentCall) -> Option<u32> {
        let (since, known, number) = &self.calls[call.target as usize % CALLS];
        (*since == self.cleared && known == call && *number != 0).then_some(*number)
    }

    pub(super) fn add(&mut self, call: RecentCall, number: u32) {
        self.calls[call.target as usize % CALLS] = (self.cleared, call, number);
    }

    /// Some operations are not open any more.
    pub(super) fn clear(&mut self) {
        self.cleared += 1;
    }
}
