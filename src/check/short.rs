//! Accesses to bytes of one granule, as most short operations are: where only the granule's words, its bytes of the copy
//! and the stores of its page need a look, they are judged and done at once.

use super::shadow::{BYTES, GRANULE_BYTES, Granule, Judging};
use super::stores::divided;
use super::window::{ByteRun, CheckedWindow, block_of};
use super::{CallLine, CheckState, CheckedAccess, Checker, EpochKind, OwnBuffer, report};
use crate::call::Call;
use crate::prim::{Waiter, caller_by_binding, has_binding};
use crate::shm::{PageHead, PageWords, PartWords, copy_to_words, is_same};

/// Bytes of a granule that has words of its own.
pub(super) struct ShortRun<'w> {
    run: ByteRun,
    part: &'w PartWords,
    head: &'w PageHead,
    page: &'w PageWords,
    granule: Granule<'w>,
}

impl ShortRun<'_> {
    /// Whether only the granule's words, and stores of the page, say what was there before. Under the lock of the page.
    #[inline]
    fn is_alone(&self) -> bool {
        self.head.has_entries() && self.head.is_divided(block_of(self.run.start))
    }

    /// The bytes of the granule.
    #[inline]
    fn mask(&self) -> u32 {
        (BYTES >> (GRANULE_BYTES - self.run.bytes)) << (self.run.start % GRANULE_BYTES)
    }
}

impl CheckedWindow {
    /// Does an access by `act` if it is such a one, and conflicts with nothing; before, an accumulate publishes this rank's
    /// clock as by [`CheckedWindow::updating`]. Returns whether it is done; otherwise nothing has changed. Blocks while another
    /// rank accesses the page. After [`Checker::settle`].
    #[inline(never)]
    pub(crate) fn access_short(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        (run, epoch, buffers): (ByteRun, EpochKind, &[OwnBuffer]),
        act: &mut dyn FnMut(),
    ) -> bool {
        let Some(short) = self.short(checker, target, run, access.call) else { return false };
        let caller = caller_by_binding();
        if caller.is_none() && has_binding() {
            return false;
        }
        let lock = (run.start / PageWords::BYTES as u64) as usize % PartWords::LOCKS;
        // If the job ends, so does the check.
        let Some(alone) = self.begin_alone(&short.part.pages[lock], waiter) else {
            return false;
        };
        let (rests, hidden) = (short.part.rests.load() != 0, self.is_hidden(target));
        if !(rests || hidden || self.is_copied(target, &short))
            || access.kind.updates() && self.is_asserted(target, epoch)
            || !short.is_alone()
        {
            return false;
        }
        let judge = |state: &mut CheckState| {
            self.judge_short((checker, waiter, state), (access, caller, target), &short)
        };
        let Some(site) = checker.with_state(judge) else { return false };
        act();
        if !access.kind.only_reads() && !hidden {
            self.copy_short(target, &short, rests);
        }
        drop(alone);
        if !buffers.is_empty() {
            let of = ((checker, waiter), (access, site, target));
            let new = checker.with_state(|state| self.use_buffers(of.0, state, of.1, buffers));
            report::print(&new);
            self.access_buffers_in_parts((checker, waiter), (access, target), buffers);
        }
        true
    }

    /// Whether the bytes are those of the copy of their page.
    fn is_copied(&self, target: u32, short: &ShortRun<'_>) -> bool {
        let ShortRun { run, page, .. } = short;
        let copy = (&page.copy[..], divided(run.start).1);
        is_same(self.span_here(target), run.start, copy, run.bytes as usize) == Some(true)
    }

    /// An operation has changed them; if their owner `rests`, the page is only marked.
    #[inline(never)]
    fn copy_short(&self, target: u32, short: &ShortRun<'_>, rests: bool) {
        let ShortRun { run, head, page, .. } = short;
        let copy = (&page.copy[..], divided(run.start).1);
        match rests {
            true => head.is_stale.store(1),
            false => {
                copy_to_words(self.span_here(target), run.start, copy, run.bytes as usize);
            }
        }
    }

    /// A run of an access, if nothing else may conflict with it.
    #[inline]
    fn short(
        &self,
        checker: &Checker,
        target: u32,
        run: ByteRun,
        call: Call,
    ) -> Option<ShortRun<'_>> {
        let is_one = run.bytes != 0 && run.start % GRANULE_BYTES + run.bytes <= GRANULE_BYTES;
        if !is_one || call.has_request() || checker.is_separate || self.has_overlaps.load() != 0 {
            return None;
        }
        let granule = self.granule(target, run.start / GRANULE_BYTES)?;
        let number = divided(run.start).0;
        let (head, page) = (self.heads_of(target).get(number)?, self.pages_of(target).get(number)?);
        Some(ShortRun { run, part: &self.parts[target as usize], head, page, granule })
    }

    /// [`CheckedWindow::judge`] of such an access, by that address of the program's code if a binding has found one. Returns the
    /// number of its line if it is recorded; otherwise nothing has changed. Under the lock of the page.
    #[inline(always)]
    fn judge_short(
        &self,
        (checker, waiter, state): (&Checker, &Waiter<'_>, &mut CheckState),
        (access, caller, target): (&CheckedAccess, Option<usize>, u32),
        short: &ShortRun<'_>,
    ) -> Option<u32> {
        let access = &CheckedAccess { op: self.op_of(access), ..*access };
        if state.recent.is_empty() {
            self.expect_raise(target, short.run.start);
        }
        let of = ((self.block, target), self.block);
        let line = CallLine { text: None, caller };
        let number = checker.operation((state, waiter), of, access, line)?;
        let CheckState { threads, forgotten, spare, .. } = state;
        let of = ((checker.rank, threads.clock()), (number, self.block));
        let judging = Judging::new(checker, of.0, of.1, access);
        let conflicts = |store: u32| store != 0 && judging.judge(store).found.is_some();
        if short.head.stores().into_iter().any(conflicts) {
            return None;
        }
        let is_new = judging.access_element(short.granule, short.mask(), |number| {
            checker.forget_entry((forgotten, spare, waiter), number);
        });
        if is_new? {
            checker.operation_at(number).take_held(checker.more_at(number));
        }
        if access.kind.updates() {
            self.may_be_seen(checker, state, target);
        }
        if access.kind.is_accumulate() {
            self.updating_one((checker, state), target, short.run.start);
        }
        Some(checker.operation_at(number).site.load())
    }
}
