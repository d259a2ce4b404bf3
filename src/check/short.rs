//! Accesses to bytes of one granule, as most short operations are: where only the granule's words and its bytes of the copy
//! need a look, they are judged and done at once.

use super::locks::alone_with_one;
use super::shadow::{Accessing, BYTES, GRANULE_BYTES};
use super::stores::divided;
use super::window::{AccessedBytes, ByteRun, CheckedWindow, block_of};
use super::{CheckedAccess, Checker};
use crate::call::Call;
use crate::prim::{Waiter, Word32, has_binding};
use crate::shm::{PageHead, PageWords, PartWords, copy_to_words, is_same};

/// Bytes of a granule that has words of its own.
pub(super) struct ShortRun<'w> {
    run: ByteRun,
    part: &'w PartWords,
    head: &'w PageHead,
    page: &'w PageWords,
    granule: &'w [Word32],
}

impl ShortRun<'_> {
    /// Where the bytes are in the page.
    fn from(&self) -> usize {
        self.run.start as usize % PageWords::BYTES
    }

    /// Whether only the granule's words say what was there before. Under the lock of the page.
    fn is_alone(&self) -> bool {
        let (head, block) = (self.head, block_of(self.run.start));
        head.is_accessed.load() != 0
            && head.has_blocks.load() != 0
            && head.has_granules.load() >> block & 1 == 1
            && head.numbers.iter().all(|number| number.load() == 0)
    }

    /// The bytes of the granule.
    fn mask(&self) -> u32 {
        (BYTES >> (GRANULE_BYTES - self.run.bytes)) << (self.run.start % GRANULE_BYTES)
    }
}

impl CheckedWindow {
    /// [`CheckedWindow::access`] if it is such an access, and conflicts with nothing. Otherwise it returns `act`, and nothing
    /// has changed. Blocks while another rank accesses the page.
    #[inline]
    pub(super) fn access_short<R, F: FnOnce() -> R>(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        accessed: &AccessedBytes<'_>,
        act: F,
    ) -> Result<R, F> {
        let Some(short) = self.short(checker, target, accessed, access.call) else {
            return Err(act);
        };
        let (span, bytes) = (self.span_here(target), short.run.bytes as usize);
        let copy = (&short.page.copy[..], short.from());
        let lock = (short.run.start / PageWords::BYTES as u64) as usize % PartWords::LOCKS;
        let mut act = Some(act);
        let done = alone_with_one(&short.part.pages[lock], waiter, || {
            let (rests, hidden) = (short.part.rests.load() != 0, self.is_hidden(target));
            let is_known = rests || hidden;
            let is_stored = !is_known && is_same(span, short.run.start, copy, bytes) != Some(true);
            let is_asserted = access.kind.updates() && self.is_asserted(target, accessed.epoch);
            if is_stored
                || is_asserted
                || !self.judge_short((checker, waiter), (access, target), &short)
            {
                return None;
            }
            let done = act.take().map(|act| act());
            match access.kind.only_reads() {
                true => {}
                false if hidden => {}
                false if rests => short.head.is_stale.store(1),
                false => drop(copy_to_words(span, short.run.start, copy, bytes)),
            }
            done
        });
        match (done, act) {
            (Some(Some(done)), _) => Ok(done),
            (_, act) => Err(act.expect("it was not run")),
        }
    }

    /// The only run of an access, if nothing else may conflict with it.
    #[inline]
    fn short(
        &self,
        checker: &Checker,
        target: u32,
        accessed: &AccessedBytes<'_>,
        call: Call,
    ) -> Option<ShortRun<'_>> {
        let [run] = accessed.runs[..] else { return None };
        let is_one = run.bytes != 0 && run.start % GRANULE_BYTES + run.bytes <= GRANULE_BYTES;
        let is_plain = !has_binding() && accessed.buffer_of.is_none() && !call.has_request();
        if !is_one || !is_plain || checker.is_separate || self.has_overlaps.load() != 0 {
            return None;
        }
        let granule = self.granule(target, run.start / GRANULE_BYTES)?;
        let ((number, _), part) = (divided(run.start), &self.parts[target as usize]);
        let (head, page) = (self.heads_of(target).get(number)?, &self.pages_of(target)[number]);
        Some(ShortRun { run, part, head, page, granule })
    }

    /// [`CheckedWindow::judge`] of such an access. Returns whether it is recorded; otherwise nothing has changed. Under the lock
    /// of the page.
    #[inline]
    fn judge_short(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        short: &ShortRun<'_>,
    ) -> bool {
        let access = &CheckedAccess { op: self.op_of(access), ..*access };
        if !short.is_alone() {
            return false;
        }
        let state = &mut *checker.state();
        let of = ((self.block, target), self.block);
        let Some(number) = checker.operation((state, waiter), of, access, None) else {
            return false;
        };
        let clock = state.threads.take_clock();
        let of_this = (checker.rank, &*clock);
        let mut accessing = Accessing::new((checker, waiter), of_this, number, access);
        let is_recorded = accessing.access_element(short.granule, short.mask());
        accessing.finish(state);
        state.threads.put_back(clock);
        if is_recorded && access.kind.updates() {
            self.may_be_seen(checker, state, target);
        }
        is_recorded
    }
}
