//! Open operations of this rank, and those of its latest calls, which are found without a search.

use super::{Numbers, OpenKey};

/// Operations that are found by comparing keys. More are found by a hash.
const COMPARED: usize = 8;

/// The numbers of open operations. Mostly there are few.
#[derive(Default)]
pub(super) struct OpenOperations {
    few: Vec<(OpenKey, u32)>,
    others: Numbers<OpenKey>,
}

impl OpenOperations {
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.others.is_empty()
    }

    pub(super) fn find(&self, key: &OpenKey) -> Option<u32> {
        let found = self.few.iter().find(|(open, _)| open == key).map(|(_, number)| *number);
        match self.others.is_empty() {
            true => found,
            false => found.or_else(|| self.others.get(key).copied()),
        }
    }

    /// Adds one that is not there.
    pub(super) fn add(&mut self, key: OpenKey, number: u32) {
        match self.few.len() < COMPARED {
            true => self.few.push((key, number)),
            false => drop(self.others.insert(key, number)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OpenKey, &u32)> {
        self.few.iter().map(|(key, number)| (key, number)).chain(&self.others)
    }

    /// Removes some, and calls `each` with them.
    pub(super) fn take(
        &mut self,
        is_one: impl Fn(&OpenKey, u32) -> bool,
        mut each: impl FnMut(OpenKey, u32),
    ) {
        let mut at = 0;
        while let Some((key, number)) = self.few.get(at) {
            match is_one(key, *number) {
                true => {
                    let (key, number) = self.few.swap_remove(at);
                    each(key, number);
                }
                false => at += 1,
            }
        }
        if !self.others.is_empty() {
            let others = self.others.extract_if(|key, number| is_one(key, *number));
            others.for_each(|(key, number)| each(key, number));
        }
    }
}

/// A call of the program that has no request, and whose line follows from an address. Where such calls are open, those that
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
    /// Whether one has been added since.
    has_some: bool,
}

impl RecentOperations {
    /// The number of the operation of such a call, if it is remembered.
    #[inline]
    pub(super) fn find(&self, call: &RecentCall) -> Option<u32> {
        let (since, known, number) = &self.calls[call.target as usize % CALLS];
        (*since == self.cleared && known == call && *number != 0).then_some(*number)
    }

    /// Whether none is remembered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.has_some
    }

    pub(super) fn add(&mut self, call: RecentCall, number: u32) {
        self.has_some = true;
        self.calls[call.target as usize % CALLS] = (self.cleared, call, number);
    }

    /// Some operations are not open any more.
    pub(super) fn clear(&mut self) {
        self.cleared += 1;
        self.has_some = false;
    }
}
