//! Notified access: operations that are counted at their target when they are complete there.
//!
//! The check of the counter comes first, so a call that is refused has neither moved a byte nor
//! counted.

use super::transfer::Transfer;
use crate::call::Call;
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::sync::notify::{self, NotifyCounter};
use crate::window::Win;

impl Win {
    /// [`Win::put`] that counts itself in counter number `counter` of `target`
    /// ([`WindowOptions::notifications`](crate::WindowOptions::notifications)) when it is complete
    /// there: no flush is needed. The target waits by [`Win::wait_notify`].
    ///
    /// An extension (as in GASPI and in the proposals for notified access in MPI). What this rank
    /// issued to the target before it is complete there too. A notification says that one operation
    /// is complete, not whose: give each origin a counter of its own where that matters. No more than
    /// 2³¹-1 of one counter may be outstanding.
    ///
    /// Local, in any access epoch that reaches the target; blocks as [`Win::put`] only. Nothing happens, and nothing
    /// is counted, for [`Rank::NULL`].
    ///
    /// # Errors
    /// As [`Win::put`]; [`Error::Argument`](crate::Error::Argument) for a counter that the target has
    /// not.
    #[inline]
    pub fn put_notify<T: Element>(
        &self,
        origin: &[T],
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let counter = self.counter_at(Call::PutNotify, target, counter)?;
        self.transfer(Transfer::put(Call::PutNotify, origin, target, disp))?;
        self.count(Call::PutNotify, target, counter);
        Ok(())
    }

    /// [`Win::get`] that counts itself at `target` when it has read: the target may then change what
    /// was read. See [`Win::put_notify`].
    ///
    /// # Errors
    /// As [`Win::put_notify`].
    pub fn get_notify<T: Element>(
        &self,
        origin: &mut [T],
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let counter = self.counter_at(Call::GetNotify, target, counter)?;
        self.transfer(Transfer::get(Call::GetNotify, origin, target, disp))?;
        self.count(Call::GetNotify, target, counter);
        Ok(())
    }

    /// [`Win::accumulate`] that counts itself at `target` when it is complete there. See
    /// [`Win::put_notify`].
    ///
    /// # Errors
    /// As [`Win::put_notify`] and [`Win::accumulate`].
    pub fn accumulate_notify<T: Element>(
        &self,
        origin: &[T],
        op: Op,
        target: Rank,
        disp: u64,
        counter: u32,
    ) -> Result<()> {
        let counter = self.counter_at(Call::AccumulateNotify, target, counter)?;
        self.accumulate_slice(Call::AccumulateNotify, origin, op, target, disp)?;
        self.count(Call::AccumulateNotify, target, counter);
        Ok(())
    }

    /// Counts in counter number `counter` of `target` that everything this rank has issued to it
    /// before is complete there. See [`Win::put_notify`].
    ///
    /// # Errors
    /// [`Error::Epoch`](crate::Error::Epoch), [`Error::TargetRank`](crate::Error::TargetRank),
    /// [`Error::Argument`](crate::Error::Argument).
    pub fn notify(&self, target: Rank, counter: u32) -> Result<()> {
        let call = Call::Notify;
        let counter = self.counter_at(call, target, counter)?;
        self.handled(match target {
            Rank::NULL => self.check_any_access(call),
            target => self.check_operation(call, target.0),
        })?;
        if target != Rank::NULL {
            self.note_operation();
        }
        self.count(call, target, counter);
        Ok(())
    }

    /// The counter of a target; `None` for [`Rank::NULL`], which has none and needs none.
    #[inline]
    fn counter_at(&self, call: Call, target: Rank, counter: u32) -> Result<Option<&NotifyCounter>> {
        if target == Rank::NULL {
            return Ok(None);
        }
        self.handled(self.check_rank(call, target))?;
        self.handled(self.counter(call, target.0, counter)).map(Some)
    }

    #[inline]
    fn count(&self, call: Call, target: Rank, counter: Option<&NotifyCounter>) {
        let _call = self.enter(call);
        if let Some(counter) = counter {
            notify::notify(counter, 1);
            // Its MEM_SYNC stands between the operation and this, as that of a flush would.
            self.ring([target.0]);
        }
    }
}
