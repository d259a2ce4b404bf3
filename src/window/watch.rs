//! Waiting until an element of this rank's part satisfies a condition, and telling those who wait.
//!
//! The protocol is `sync/watch.rs`. Who writes to the part of a rank rings its bell at the call
//! that completes the writing there: flush and unlock for their target; flush_all, unlock_all and
//! fence for all ranks; complete for its targets; win_sync for the own part, in shared windows for
//! all. It costs one load while nobody watches the window.
#![allow(unsafe_code, reason = "reads elements of a window by atomic loads")]

use super::{Via, Win};
use crate::call::Call;
use crate::datatype::{Carrier, Integer};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::prim::{Awaited, AwaitedKind, WaitRecord};
use crate::sync::watch;
use bytemuck::{Zeroable, must_cast};
use std::cell::Cell;
use std::panic::Location;

/// What [`Win::wait_until`] waits for: how the element compares with the value that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Until {
    /// It is equal.
    Eq,
    /// It is not equal.
    Ne,
    /// It is greater.
    Gt,
    /// It is greater or equal.
    Ge,
    /// It is less.
    Lt,
    /// It is less or equal.
    Le,
}

impl Until {
    /// Whether `found` is what a wait for `value` waits for.
    pub fn holds<T: Ord>(self, found: T, value: T) -> bool {
        let ordering = found.cmp(&value);
        match self {
            Until::Eq => ordering.is_eq(),
            Until::Ne => ordering.is_ne(),
            Until::Gt => ordering.is_gt(),
            Until::Ge => ordering.is_ge(),
            Until::Lt => ordering.is_lt(),
            Until::Le => ordering.is_le(),
        }
    }
}

impl Win {
    /// Waits until the element at displacement `disp` of this rank's own part compares with `value`
    /// as `until` says, and returns it.
    ///
    /// An extension (OpenSHMEM: `shmem_wait_until`). Local, allowed in any epoch and in none, on
    /// several threads at once; blocks, asleep if need be, until some rank has written such an
    /// element and completed the writing by flush, flush_all, unlock, unlock_all, complete, fence or
    /// win_sync, or has told of it by a notification. Flush_local completes nothing at the target
    /// and may stay unnoticed, and so may a write through another window over the same memory. What
    /// the writer had completed before it began to write the element can be read afterwards.
    ///
    /// # Errors
    /// [`Error::Range`], in dynamic windows [`Error::NotAttached`], also if the memory is detached
    /// meanwhile; [`Error::Alignment`]; [`Error::RankFailed`].
    #[track_caller]
    pub fn wait_until<T: Integer>(&self, disp: u64, until: Until, value: T) -> Result<T> {
        self.wait_until_at(self.comm.rank(), disp, until, value)
    }

    /// [`Win::wait_until`] for an element of the part of `target`, which this process must have mapped:
    /// of any rank in a window of the segment.
    ///
    /// # Errors
    /// Those of [`Win::wait_until`], and [`Error::TargetRank`]; [`Error::Flavour`] for the private memory
    /// of another process.
    #[track_caller]
    pub fn wait_until_at<T: Integer>(
        &self,
        target: Rank,
        disp: u64,
        until: Until,
        value: T,
    ) -> Result<T> {
        let at = Location::caller();
        self.within(Call::WaitUntil, || {
            self.check_rank(Call::WaitUntil, target)?;
            self.await_value(at, target.0, disp, |found| until.holds(found, value))
        })
    }

    /// As [`Win::wait_until`] if that would not block; `None`, without any effect, if it would.
    ///
    /// # Errors
    /// As [`Win::wait_until`], except [`Error::RankFailed`].
    pub fn test_until<T: Integer>(&self, disp: u64, until: Until, value: T) -> Result<Option<T>> {
        self.within(Call::TestUntil, || {
            let found = self.peek(Call::TestUntil, self.comm.rank().0, disp)?;
            if !until.holds(found, value) {
                return Ok(None);
            }
            watch::found();
            Ok(Some(found))
        })
    }

    /// Waits until the element at `disp` of the part of `rank` is `ready`, and returns it. The part
    /// is mapped into this process, or this rank's own.
    fn await_value<T: Integer>(
        &self,
        at: &'static Location<'static>,
        rank: u32,
        disp: u64,
        ready: impl Fn(T) -> bool,
    ) -> Result<T> {
        let found = Cell::new(None);
        let call = Call::WaitUntil;
        // The memory is looked up at every look, so that a wait never keeps it attached.
        let look = || {
            let now = self.peek(call, rank, disp);
            let done = now.as_ref().map_or(true, |now| ready(*now));
            if done {
                found.set(Some(now));
            }
            done
        };
        let bell = &self.words_of(rank).bell;
        let peer = self.comm.world_rank(rank);
        let wanted = Awaited { kind: AwaitedKind::Value, peer, number: disp, ..Awaited::default() };
        let tell = |record: &WaitRecord| record.say(&wanted);
        watch::until(&self.words.watchers, bell, look, &self.telling_waiter(at, &tell))
            .map_err(|failed| self.job_failed(failed, call))?;
        found.take().expect("the wait ends with something found")
    }

    /// One atomic load of the element at `disp` of the part of `rank`.
    fn peek<T: Integer>(&self, call: Call, rank: u32, disp: u64) -> Result<T> {
        const { assert!(T::Carrier::IS_NATIVE) };
        let bytes = size_of::<T>();
        let found = self.memory(call, rank, disp, &(0..bytes as i64))?;
        match found.via {
            Via::Mapped | Via::Own => {}
            Via::Kernel(_) => return Err(self.wrong_flavour(call, "memory of this process")),
            Via::Foreign => {
                let what = "waiting until an element has a value";
                return Err(Error::not_foreign(self.place(call), what));
            }
        }
        let at = found.at;
        if !(at as usize).is_multiple_of(bytes) {
            return Err(self.misaligned(call, rank, disp, bytes));
        }
        let at = at.cast::<T::Carrier>();
        // SAFETY: 1. asserted above. 2. The part has the element, mapped or in this process's own
        // memory, and its alignment was checked. 3. By invariant 4 of `shm`, and by the obligation
        // of whoever exposed own memory.
        let now = unsafe { T::Carrier::fetch_op(at, Op::NoOp, T::Carrier::zeroed()) };
        Ok(must_cast(now.expect("every carrier that the machine has can be loaded")))
    }

    #[cold]
    fn misaligned(&self, call: Call, rank: u32, displacement: u64, bytes: usize) -> Error {
        let disp_unit = self.part(rank).disp_unit;
        Error::Alignment { at: self.place(call), displacement, disp_unit, bytes }
    }

    /// Tells whoever watches the part of one of `ranks` that it may have changed; a number that is no
    /// rank has no part. Behind a MEM_SYNC that is behind the change.
    #[inline(always)]
    pub(crate) fn ring(&self, ranks: impl IntoIterator<Item = u32>) {
        let bells = ranks.into_iter().filter_map(|rank| Some(&self.ranks.get(rank as usize)?.bell));
        watch::ring(&self.words.watchers, bells);
    }

    /// As [`Win::ring`], for the parts of all ranks.
    #[inline]
    pub(super) fn ring_all(&self) {
        watch::ring(&self.words.watchers, self.ranks.iter().map(|words| &words.bell));
    }
}
