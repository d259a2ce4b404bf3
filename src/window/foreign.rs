//! Windows of another MPI: the epochs, checks and errors of this rank are as everywhere; the memory
//! and the meetings are the other MPI's ([`crate::foreign`]).

use super::beyond::Beyond;
use super::options::Making;
use super::plan::{Follows, Plan, Wish};
use super::refusal::Refusal;
use super::turn::{ACCESS, BOTH, EXPOSURE};
use super::{
    FenceAssert, Flavour, LockAssert, LockType, Part, PostAssert, StartAssert, Target, Via, Win,
    block,
};
use crate::call::Call;
use crate::comm::Collective;
use crate::comm::outcome::{Outcome, Told};
use crate::error::Result;
use crate::foreign::{self, Lock, Window};
use crate::group::{Group, Rank};
use crate::shm::{Span, is_forked};

/// The parts of a window of another MPI.
pub(crate) struct Memory {
    pub(super) window: Window,
    /// They begin at address 0, as displacements do.
    pub(super) parts: Box<[Span]>,
    /// Among the windows over the communicator.
    number: u32,
}

impl Win {
    /// The window of the other MPI, if it is one.
    #[inline]
    pub(crate) fn foreign(&self) -> Option<&Window> {
        match &self.beyond {
            Beyond::Foreign(memory) => Some(&memory.window),
            _ => None,
        }
    }

    /// What tells such a window from others, the same on all ranks.
    pub(super) fn foreign_number(&self) -> Option<u32> {
        match &self.beyond {
            Beyond::Foreign(memory) => Some(memory.number),
            _ => None,
        }
    }

    /// Gives the other MPI its part of a window back, when all ranks have freed it.
    pub(super) fn free_foreign(&self) -> Result<()> {
        let Some(window) = self.foreign() else { return Ok(()) };
        self.told(Call::WinFree, window.free())?;
        self.comm.let_window_go(Call::WinFree)
    }

    /// What the other MPI has said to `call`.
    #[inline]
    pub(crate) fn told<R>(&self, call: Call, outcome: foreign::Outcome<R>) -> Result<R> {
        outcome.map_err(|refusal| refusal.at(self.place(call)))
    }

    /// `MPI_Win_allocate` or `MPI_Win_create` by the other MPI. Every rank has the window, or every rank
    /// has an error.
    pub(super) fn made_by(
        over: &foreign::Comm,
        ranks: &mut Collective<'_>,
        making: Making<'_>,
        wishes: &[Wish],
        part: foreign::Part,
    ) -> Result<Win> {
        let making = Making { hints: making.hints.without_pages(), ..making };
        let Making { comm, flavour, number, .. } = making;
        let call = flavour.call();
        if flavour == Flavour::Shared {
            comm.check_shares(call, "memory that all ranks load from and store to")?;
        }
        if wishes.iter().any(|wish| wish.notifications != 0) {
            comm.check_shares(call, "an operation that notifies its target")?;
        }
        let plan = Plan::new(comm, call, wishes, Follows::Nothing)?;
        let block = take_own(ranks, &making, &plan)?;
        let window = Window::make(over, part).map_err(|refusal| {
            // The error of the call is the other one.
            let _ = comm.context().segment.heap().free(block, &comm.context().excluded());
            refusal.at(comm.place(call))
        })?;
        let at_zero = |wish: &Wish| Span::new(std::ptr::null_mut(), wish.bytes);
        let parts = wishes.iter().map(at_zero).collect();
        let mapped = plan.parts.iter().map(|part| Part::new(Span::nothing(), part.2)).collect();
        let mut win = Win::assemble(making, &plan, block, mapped)?;
        win.beyond = Beyond::Foreign(Box::new(Memory { window, parts, number }));
        win.comm.hold_for_window();
        Ok(win)
    }

    /// Own memory of a window, which is addressed as such.
    pub(crate) fn as_own<'w>(&self, target: Target<'w>) -> Target<'w> {
        match (self.foreign(), target.via) {
            (Some(window), Via::Foreign) => {
                let at = window.own().base().wrapping_add(target.at as usize);
                Target { at, via: Via::Own, ..target }
            }
            _ => target,
        }
    }

    /// Runs `by`, what `call` does on a window of another MPI; `None`, and nothing has been done, if it
    /// is none. Refuses a process that the rank has forked.
    #[cold]
    pub(super) fn apart<R>(
        &self,
        call: Call,
        by: impl FnOnce(&Window) -> Result<R>,
    ) -> Option<Result<R>> {
        if is_forked() {
            return Some(self.handled(Err(self.refused(call, Rank::NULL, Refusal::Forked))));
        }
        self.foreign().map(|window| self.within_any(call, || by(window)))
    }

    pub(super) fn fence_by(&self, window: &Window, assert: FenceAssert) -> Result<()> {
        let waiting = self.begin_waiting(&mut self.turn(), Call::Fence, BOTH)?;
        self.check_fence(assert)?;
        let opens = !assert.has(FenceAssert::NOSUCCEED);
        let met = self.told(Call::Fence, window.fence(u8::from(opens)));
        self.announce_fence(opens);
        for (rank, opens) in (0..).zip(met.as_deref().unwrap_or_default()) {
            // Until its next fence: of what it leaves before, others are not told.
            self.words_of(rank).open.fenced(self.fences.load(), *opens != 0);
        }
        waiting.end(|_| self.epochs.fenced(opens && met.is_ok()));
        met.map(drop)
    }

    pub(super) fn post_by(&self, window: &Window, group: &Group, assert: PostAssert) -> Result<()> {
        let mut turn = self.turn();
        self.allowed(Call::Post, Rank::NULL, turn.may_wait(EXPOSURE))?;
        self.allowed(Call::Post, Rank::NULL, self.epochs.may_post(self.comm.rank()))?;
        // The slots for it are of no use to ranks that do not share them.
        let (origins, _) = turn.pscw.set_origins(self, group, false)?;
        let told = if assert.has(PostAssert::NOCHECK) { &[] } else { origins };
        self.told(Call::Post, window.post(told))?;
        self.words_of(self.comm.rank()).open.exposure.store(1);
        self.epochs.posted(origins.len() as u32);
        Ok(())
    }

    pub(super) fn start_by(
        &self,
        window: &Window,
        group: &Group,
        assert: StartAssert,
    ) -> Result<()> {
        let (mut targets, waiting) = {
            let mut turn = self.turn();
            self.allowed(Call::Start, Rank::NULL, self.epochs.may_start())?;
            let waiting = self.begin_waiting(&mut turn, Call::Start, ACCESS)?;
            (turn.pscw.targets.take().unwrap_or_default(), waiting)
        };
        let awaited = if assert.is_nocheck() { 0 } else { usize::MAX };
        let posted = targets.set(self, group).and_then(|()| {
            let ranks = targets.ranks();
            self.told(Call::Start, window.start(&ranks[..ranks.len().min(awaited)]))
        });
        waiting.end(|turn| {
            if posted.is_ok() {
                self.leave_fence();
                self.epochs.started(targets.ranks());
            }
            turn.pscw.targets = Some(targets);
        });
        posted
    }

    pub(super) fn complete_by(&self, window: &Window) -> Result<()> {
        let turn = self.turn();
        self.allowed(Call::Complete, Rank::NULL, self.epochs.may_complete())?;
        let targets = turn.pscw.targets();
        self.epochs.completed(targets);
        self.told(Call::Complete, window.complete(targets))
    }

    pub(super) fn wait_by(&self, window: &Window) -> Result<()> {
        let (origins, waiting) = {
            let mut turn = self.turn();
            self.origins_to_await(Call::Wait)?;
            let waiting = self.begin_waiting(&mut turn, Call::Wait, EXPOSURE)?;
            (turn.pscw.origins_here().to_vec(), waiting)
        };
        let waited = self.told(Call::Wait, window.wait(&origins));
        waiting.end(|turn| {
            if waited.is_ok() {
                self.unexpose(&turn.pscw);
            }
        });
        waited
    }

    pub(super) fn test_by(&self, window: &Window) -> Result<bool> {
        let turn = self.turn();
        self.allowed(Call::Test, Rank::NULL, turn.may_wait(EXPOSURE))?;
        self.origins_to_await(Call::Test)?;
        let done = self.told(Call::Test, window.test(turn.pscw.origins_here()))?;
        if done {
            self.unexpose(&turn.pscw);
        }
        Ok(done)
    }

    pub(super) fn lock_by(
        &self,
        window: &Window,
        lock_type: LockType,
        target: Rank,
        assert: LockAssert,
    ) -> Result<()> {
        {
            let turn = self.turn();
            self.allowed(Call::Lock, Rank::NULL, turn.may_wait(ACCESS))?;
            self.check_lock(target)?;
            self.leave_fence();
            self.epochs.awaits_lock(target.0);
        }
        let lock = match lock_type {
            LockType::Shared => Lock::Shared,
            LockType::Exclusive => Lock::Exclusive,
        };
        let granted = match assert.is_nocheck() {
            true => Ok(()),
            false => self.told(Call::Lock, window.lock(lock, target.0)),
        };
        let _turn = self.turn();
        match granted {
            Ok(()) => self.epochs.locked(target.0, lock_type, assert.is_nocheck()),
            Err(_) => self.epochs.unlocked(target.0),
        }
        granted
    }

    pub(super) fn unlock_by(&self, window: &Window, target: Rank) -> Result<()> {
        let _turn = self.turn();
        self.check_rank(Call::Unlock, target)?;
        let (_, nocheck) = self.allowed(Call::Unlock, target, self.epochs.may_unlock(target.0))?;
        self.epochs.unlocked(target.0);
        if nocheck { Ok(()) } else { self.told(Call::Unlock, window.unlock(target.0)) }
    }

    pub(super) fn lock_all_by(&self, window: &Window, assert: LockAssert) -> Result<()> {
        let waiting = {
            let mut turn = self.turn();
            self.allowed(Call::LockAll, Rank::NULL, self.may_have_locks(Call::LockAll))?;
            self.allowed(Call::LockAll, Rank::NULL, self.epochs.may_lock_all())?;
            self.begin_waiting(&mut turn, Call::LockAll, BOTH)?
        };
        if !assert.is_nocheck() {
            self.told(Call::LockAll, window.lock_all())?;
        }
        self.leave_fence();
        waiting.end(|_| self.epochs.locked_all(assert.is_nocheck()));
        Ok(())
    }

    pub(super) fn unlock_all_by(&self, window: &Window) -> Result<()> {
        let _turn = self.turn();
        let nocheck = self.allowed(Call::UnlockAll, Rank::NULL, self.epochs.may_unlock_all())?;
        self.epochs.unlocked_all();
        if nocheck { Ok(()) } else { self.told(Call::UnlockAll, window.unlock_all()) }
    }
}

/// Takes a block of this process's own for the words of a window; the outcome is the same on all ranks.
fn take_own(ranks: &mut Collective<'_>, making: &Making<'_>, plan: &Plan) -> Result<u64> {
    let (comm, call) = (making.comm, making.flavour.call());
    let mine = Outcome::of(block::allocate(making, plan));
    let own = mine.told.block;
    let words: [u64; size_of::<Told>() / 8] = bytemuck::cast(mine.told);
    let taken = ranks.allgather(&words).and_then(|words| {
        let told: &[Told] = bytemuck::cast_slice(&words);
        let short = told.iter().position(|told| told.failure != 0);
        let outcome = match short {
            Some(rank) if rank != comm.rank() as usize => told[rank].into(),
            _ => mine,
        };
        outcome.block(comm, call, plan.total)
    });
    if taken.is_err() && own != 0 {
        // The error that all ranks get is the one to report.
        let _ = comm.context().segment.heap().free(own, &comm.context().excluded());
    }
    taken
}
