//! Lock, unlock, lock_all, unlock_all and flush as they mostly are: nobody is in the way, nothing is wrong,
//! and the thread is the one that the window's turn favours.
//!
//! Each says whether it is done. If not it has opened and closed nothing, and the call goes step by
//! step (`passive.rs`), which knows all cases, and why a call is refused.

use super::grant::{Access, Grant};
use super::turn::{ACCESS, BOTH, Turn};
use super::{LockType, Win};
use crate::call::Call;
use crate::group::Rank;
use crate::shm::is_apart;
use crate::sync;

impl Win {
    /// [`Win::lock`], if nothing is in the way: whether it is done.
    #[inline]
    pub fn lock_at_once(&self, lock_type: LockType, target: Rank) -> bool {
        self.at_once(Call::Lock, |turn| {
            let Some(words) = self.ranks.get(target.0 as usize) else { return false };
            let own = self.comm.rank();
            let is_legal = turn.may_wait(ACCESS).is_ok()
                && self.epochs.may_lock(target.0, own).is_ok()
                && words.open.exposure.load() == 0
                && self.may_have_locks(Call::Lock).is_ok();
            if !is_legal {
                return false;
            }
            self.leave_fence();
            let queueing = self.epochs.queueing();
            let locked =
                sync::try_lock(&self.words.lock_all, &words.lock, lock_type, own, queueing);
            if locked {
                self.epochs.awaits_lock(target.0);
                self.epochs.locked(target.0, lock_type, false);
            }
            locked
        })
    }

    /// [`Win::unlock`], if nothing is in the way: whether it is done.
    #[inline]
    pub fn unlock_at_once(&self, target: Rank) -> bool {
        self.at_once(Call::Unlock, |_| {
            let Some(words) = self.ranks.get(target.0 as usize) else { return false };
            let Grant::Locked { held, nocheck: false } = self.epochs.grant(target.0) else {
                return false;
            };
            sync::unlock(&self.words.lock_all, &words.lock, held);
            self.ring([target.0]);
            self.epochs.unlocked(target.0);
            true
        })
    }

    /// [`Win::lock_all`], if nothing is in the way: whether it is done.
    #[inline]
    pub fn lock_all_at_once(&self) -> bool {
        self.at_once(Call::LockAll, |turn| {
            let is_legal = turn.may_wait(BOTH).is_ok()
                && self.epochs.may_lock_all().is_ok()
                && self.may_have_locks(Call::LockAll).is_ok();
            let locked = is_legal && sync::try_lock_all(&self.words.lock_all);
            if locked {
                self.leave_fence();
                self.epochs.locked_all(false);
            }
            locked
        })
    }

    /// [`Win::unlock_all`], if nothing is in the way: whether it is done.
    #[inline]
    pub fn unlock_all_at_once(&self) -> bool {
        self.at_once(Call::UnlockAll, |_| {
            if self.epochs.access() != (Access::LockedAll { nocheck: false }) {
                return false;
            }
            sync::unlock_all(&self.words.lock_all);
            self.ring_all();
            self.epochs.unlocked_all();
            true
        })
    }

    /// [`Win::flush`] in lock_all: whether it is done.
    #[inline(always)]
    pub fn flush_at_once(&self, target: Rank) -> bool {
        let is_reached =
            (target.0 as usize) < self.parts.len() && self.epochs.may_flush(target.0).is_ok();
        if is_reached {
            self.flush_reached(target);
        }
        is_reached
    }

    /// As [`Win::within`], in the turn of this thread, of a body that has no error to show.
    #[inline(always)]
    fn at_once(&self, call: Call, body: impl FnOnce(&mut Turn) -> bool) -> bool {
        if is_apart() {
            return false;
        }
        let said = self.say(call);
        let done = self.turn.in_favour(body) == Some(true);
        said.end();
        done
    }
}
