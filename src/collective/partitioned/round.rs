//! One start of a partitioned message.

use super::channel::{Groups, PartitionChannel};
use crate::error::{Error, Result};
use crate::message::MessageRequest;

/// A start that has not been waited for.
pub(super) struct PartitionRound {
    /// The partitions of a send that are ready.
    ready: Vec<bool>,
    /// `None` until the two sides have agreed.
    groups: Option<Vec<PartitionGroup>>,
    /// Complete groups whose message has not begun.
    due: Vec<u32>,
    /// The number of groups at the beginning that have moved. Groups after the first one that has not are
    /// not checked.
    passed: usize,
    /// The first error; the other groups continue, because the other side waits for them.
    outcome: Result<()>,
}

/// The state of a group.
enum PartitionGroup {
    /// The number of its partitions that are not ready.
    Missing(u32),
    /// Its message, or the error.
    UnderWay(Result<MessageRequest>),
    /// Its buffer can be used again, or has been filled.
    Moved,
}

impl PartitionRound {
    pub(super) fn new(line: &PartitionChannel) -> PartitionRound {
        let ready = if line.is_send() { vec![false; line.partitions as usize] } else { Vec::new() };
        PartitionRound { ready, groups: None, due: Vec::new(), passed: 0, outcome: Ok(()) }
    }

    pub(super) fn is_done(&self) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.len() == self.passed)
    }

    /// The number of ready partitions of a send.
    pub(super) fn handed_over(&self) -> u32 {
        self.ready.iter().filter(|ready| **ready).count() as u32
    }

    pub(super) fn outcome(self) -> Result<()> {
        self.outcome
    }

    /// Nothing moves any more.
    pub(super) fn give_up(&mut self, error: Error) {
        if self.is_done() {
            return;
        }
        (self.groups, self.passed) = (Some(Vec::new()), 0);
        self.note(error);
    }

    fn note(&mut self, error: Error) {
        if self.outcome.is_ok() {
            self.outcome = Err(error);
        }
    }

    /// Sends complete groups, and records those that have been sent or have arrived.
    pub(super) fn advance(&mut self, line: &PartitionChannel, groups: Groups) {
        if self.groups.is_none() {
            self.begin(line, groups);
        }
        let all = self.groups.as_mut().map_or(&mut [][..], Vec::as_mut_slice);
        for group in std::mem::take(&mut self.due) {
            all[group as usize] = PartitionGroup::UnderWay(line.post(groups, group));
        }
        let peer = line.check_peer();
        let mut errors = Vec::new();
        for group in &mut all[self.passed..] {
            // Without its peer, no rank could receive the rest.
            if !(group.has_moved() || group.is_missing() && peer.is_err()) {
                break;
            }
            errors.extend(match std::mem::replace(group, PartitionGroup::Moved) {
                PartitionGroup::UnderWay(posted) => {
                    posted.and_then(|done| done.outcome(line.call)).err()
                }
                _ => line.check_peer().err(),
            });
            self.passed += 1;
        }
        errors.into_iter().for_each(|error| self.note(error));
    }

    /// Both sides have agreed: the missing partitions of each group are known.
    fn begin(&mut self, line: &PartitionChannel, groups: Groups) {
        let length = (line.partitions.checked_div(groups.number).unwrap_or(0)) as usize;
        // A receive has no missing partitions.
        let missing = |k: u32| {
            let start = k as usize * length;
            let ready = self.ready.get(start..start + length).unwrap_or_default();
            ready.iter().filter(|ready| !**ready).count() as u32
        };
        let missing: Vec<u32> = (0..groups.number).map(missing).collect();
        self.due =
            (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(k, _)| k).collect();
        self.groups = Some(missing.into_iter().map(PartitionGroup::Missing).collect());
    }

    /// Partitions are ready; all of them or, if one is refused, none.
    pub(super) fn take_over(&mut self, line: &PartitionChannel, partitions: &[u32]) -> Result<()> {
        for (k, partition) in partitions.iter().enumerate() {
            let taken = line.check_partition(*partition).and_then(|()| {
                let was_ready = std::mem::replace(&mut self.ready[*partition as usize], true);
                line.check(!was_ready, || format!("partition {partition} is ready already"))
            });
            if let Err(error) = taken {
                let before = partitions[..k].iter();
                before.for_each(|taken| self.ready[*taken as usize] = false);
                return Err(error);
            }
        }
        // Nothing is counted before the two sides have agreed.
        let all = self.groups.as_mut().map_or(&mut [][..], Vec::as_mut_slice);
        for partition in partitions {
            let group = group_of(line, all.len(), *partition);
            if let Some(PartitionGroup::Missing(missing)) = all.get_mut(group) {
                *missing -= 1;
                if *missing == 0 {
                    self.due.push(group as u32);
                }
            }
        }
        Ok(())
    }

    /// Whether a partition has arrived; `true` without a sender.
    pub(super) fn has_arrived(&self, line: &PartitionChannel, partition: u32) -> bool {
        self.groups.as_ref().is_some_and(|groups| {
            let group = groups.get(group_of(line, groups.len(), partition));
            group.is_none_or(PartitionGroup::has_moved)
        })
    }
}

/// The group of a partition, of that many groups.
fn group_of(line: &PartitionChannel, groups: usize, partition: u32) -> usize {
    partition as usize / (line.partitions as usize / groups.max(1))
}

impl PartitionGroup {
    fn is_missing(&self) -> bool {
        matches!(self, PartitionGroup::Missing(_))
    }

    fn has_moved(&self) -> bool {
        match self {
            PartitionGroup::Missing(_) => false,
            PartitionGroup::UnderWay(posted) => {
                posted.as_ref().map_or(true, MessageRequest::is_done)
            }
            PartitionGroup::Moved => true,
        }
    }
}
