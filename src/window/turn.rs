//! Which calls of a rank's threads may be under way on a window at the same time.
//!
//! Calls that open, close or wait for an epoch share the state below. They take turns at it for
//! moments only, never while they wait for another rank; a call that waits claims the side that
//! it is about instead, and a second call on that side is then refused (New RMA Design, "RMA +
//! Threads": "All other interleaving situations are invalid"). Calls that end an epoch claim
//! nothing, so whoever holds the epoch can always end it.

use super::Win;
use super::posts::Pscw;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::shm::InTurn;
use crate::sync::Round;

/// What only synchronising calls read and write.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) fence_round: Round,
    pub(super) pscw: Pscw,
    /// The call that waits on the access side, and on the exposure side.
    waiting: [Option<Call>; 2],
}

/// The sides that a waiting call claims, as indices.
pub(super) type Sides = &'static [usize];
/// This rank as an origin.
pub(super) const ACCESS: Sides = &[0];
/// This rank as a target.
pub(super) const EXPOSURE: Sides = &[1];
/// A fence is about both.
pub(super) const BOTH: Sides = &[0, 1];

/// A call that waits, until it has ended or is given up.
pub(super) struct Waiting<'w> {
    win: &'w Win,
    sides: Sides,
}

impl Win {
    /// The shared state, for a moment.
    #[inline(always)]
    pub(super) fn turn(&self) -> InTurn<'_, Turn> {
        self.turn.turn()
    }

    /// Refuses `call` while another thread of this rank waits on one of the sides.
    #[inline]
    pub(super) fn check_turn(&self, turn: &Turn, call: Call, sides: Sides) -> Result<()> {
        match sides.iter().find_map(|side| turn.waiting[*side]) {
            None => Ok(()),
            Some(other) => Err(self.not_in_turn(call, other)),
        }
    }

    #[cold]
    fn not_in_turn(&self, call: Call, other: Call) -> Error {
        let problem = format!("another thread of this rank is in {other} on the window");
        self.wrong_epoch(call, problem)
    }

    /// Claims the sides for `call`, which is going to wait.
    #[inline]
    pub(super) fn begin_waiting(
        &self,
        turn: &mut Turn,
        call: Call,
        sides: Sides,
    ) -> Result<Waiting<'_>> {
        self.check_turn(turn, call, sides)?;
        sides.iter().for_each(|side| turn.waiting[*side] = Some(call));
        Ok(Waiting { win: self, sides })
    }
}

impl Turn {
    fn waits_no_more(&mut self, sides: Sides) {
        sides.iter().for_each(|side| self.waiting[*side] = None);
    }

    /// Whether no call waits on one of the sides.
    #[inline(always)]
    pub(super) fn nobody_waits(&self, sides: Sides) -> bool {
        sides.iter().all(|side| self.waiting[*side].is_none())
    }
}

impl Waiting<'_> {
    /// Ends the call with what has changed.
    #[inline]
    pub(super) fn end(mut self, change: impl FnOnce(&mut Turn)) {
        let mut turn = self.win.turn();
        change(&mut turn);
        turn.waits_no_more(std::mem::take(&mut self.sides));
    }
}

impl Drop for Waiting<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.sides.is_empty() {
            self.win.turn().waits_no_more(self.sides);
        }
    }
}
