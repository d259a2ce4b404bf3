//! What a rank has combined so far, and its place.

use super::buffer::{Buffer, BufferMut};
use super::plan::Plan;
use crate::error::Result;

/// The combination of the contributions of adjacent ranks. The own contribution is never written.
pub(super) struct Running {
    mine: Buffer,
    /// Where the combination is, once it is more than the own contribution.
    value: Option<BufferMut>,
    /// Memory that is not in use.
    spare: Option<BufferMut>,
}

impl Running {
    /// Only `mine` so far; `space` is the first memory that is used.
    pub(super) fn new(mine: Buffer, space: Option<BufferMut>) -> Running {
        Running { mine, value: None, spare: space }
    }

    pub(super) fn value(&self) -> Buffer {
        self.value.as_ref().map_or_else(|| self.mine.clone(), BufferMut::read)
    }

    /// Memory for another contribution.
    pub(super) fn space(&mut self, plan: &mut Plan<'_>) -> Result<BufferMut> {
        match self.spare.take() {
            Some(spare) => Ok(spare),
            None => plan.scratch(self.mine.count, &self.mine.datatype),
        }
    }

    /// Combines what has been received from lower or from higher ranks.
    pub(super) fn absorb(
        &mut self,
        plan: &mut Plan<'_>,
        received: BufferMut,
        is_lower: bool,
    ) -> Result<()> {
        if !is_lower {
            plan.combine(self.value(), received.clone());
            self.replace(received);
            return Ok(());
        }
        let value = match &self.value {
            Some(value) => value.clone(),
            None => {
                let space = self.space(plan)?;
                plan.copy(self.mine.clone(), space.clone());
                space
            }
        };
        plan.combine(received.read(), value.clone());
        (self.value, self.spare) = (Some(value), Some(received));
        Ok(())
    }

    /// Something else is the value now.
    pub(super) fn replace(&mut self, value: BufferMut) {
        self.spare = self.value.replace(value).or(self.spare.take());
    }

    /// The value goes to `result`.
    pub(super) fn finish(self, plan: &mut Plan<'_>, result: BufferMut) {
        let value = self.value();
        if !value.is_at(&result) {
            plan.copy(value, result);
        }
    }
}
