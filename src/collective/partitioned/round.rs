//! One start of a partitioned message.

use super::line::{Groups, Line};
use crate::error::{Error, Result};
use crate::message::MessageRequest;

/// What has been started, and not been waited for.
pub(super) struct Round {
    /// Which partitions of a send the program has handed over.
    ready: Vec<bool>,
    /// From when the two sides have met.
    groups: Option<Vec<Group>>,
    /// Groups that have not moved.
    left: usize,
    /// The first error; the other groups go on, because the other side waits for them.
    outcome: Result<()>,
}

/// How far a group is.
enum Group {
    /// So many of its partitions are not ready.
    Missing(u32),
    /// Its message, or why there is none.
    UnderWay(Result<MessageRequest>),
    /// Its buffer can be used again, or has been filled.
    Moved,
}

impl Round {
    pub(super) fn new(line: &Line) -> Round {
        let ready = if line.is_send() { vec![false; line.partitions as usize] } else { Vec::new() };
        Round { ready, groups: None, left: 0, outcome: Ok(()) }
    }

    pub(super) fn is_done(&self) -> bool {
        self.groups.is_some() && self.left == 0
    }

    pub(super) fn outcome(self) -> Result<()> {
        self.outcome
    }

    /// Nothing moves any more.
    pub(super) fn give_up(&mut self, error: Error) {
        if self.is_done() {
            return;
        }
        (self.groups, self.left) = (Some(Vec::new()), 0);
        self.note(error);
    }

    fn note(&mut self, error: Error) {
        if self.outcome.is_ok() {
            self.outcome = Err(error);
        }
    }

    /// Sends what has become whole, and takes note of what has been sent or has come.
    pub(super) fn advance(&mut self, line: &Line, groups: Groups) {
        if self.groups.is_none() {
            self.begin(line, groups);
        }
        let has_failed = line.check_peer().is_err();
        let (mut moved, mut errors) = (0, Vec::new());
        for (number, group) in (0..).zip(self.groups.iter_mut().flatten()) {
            if let Group::Missing(0) = group {
                *group = Group::UnderWay(line.post(groups, number));
            }
            let is_over = match group {
                // Nobody is left who could get it.
                Group::Missing(_) => has_failed,
                Group::UnderWay(Ok(request)) => request.is_done(),
                Group::UnderWay(Err(_)) => true,
                Group::Moved => false,
            };
            if is_over {
                errors.extend(match std::mem::replace(group, Group::Moved) {
                    Group::UnderWay(posted) => {
                        posted.and_then(|done| done.outcome(line.call)).err()
                    }
                    _ => line.check_peer().err(),
                });
                moved += 1;
            }
        }
        self.left -= moved;
        errors.into_iter().for_each(|error| self.note(error));
    }

    /// Both sides have met: what is missing of each group is known.
    fn begin(&mut self, line: &Line, groups: Groups) {
        let length = (line.partitions.checked_div(groups.number).unwrap_or(0)) as usize;
        self.left = groups.number as usize;
        // Of a receive nothing is missing.
        let missing = |k: usize| match self.ready.get(k * length..(k + 1) * length) {
            Some(ready) => ready.iter().filter(|ready| !**ready).count() as u32,
            None => 0,
        };
        self.groups = Some((0..self.left).map(|k| Group::Missing(missing(k))).collect());
    }

    /// Partitions are ready; all of them or, if one is refused, none.
    pub(super) fn take_over(&mut self, line: &Line, partitions: &[u32]) -> Result<()> {
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
        for partition in partitions {
            // Before the two sides have met, nobody counts.
            if let Some(Group::Missing(missing)) = self.group_of(line, *partition) {
                *missing -= 1;
            }
        }
        Ok(())
    }

    fn group_of(&mut self, line: &Line, partition: u32) -> Option<&mut Group> {
        let groups = self.groups.as_mut()?;
        let length = line.partitions as usize / groups.len().max(1);
        groups.get_mut(partition as usize / length)
    }

    /// Whether a partition has come; without a sender, yes.
    pub(super) fn has_moved(&mut self, line: &Line, partition: u32) -> bool {
        let is_known = self.groups.is_some();
        self.group_of(line, partition).map_or(is_known, |group| matches!(group, Group::Moved))
    }
}
