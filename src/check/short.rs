//! Accesses to bytes of one granule, as most short operations are: where only the granule's words and its bytes of the copy
//! need a look, they are judged and done at once.

use super::locks::begin_alone;
use super::shadow::{BYTES, GRANULE_BYTES, Granule, Judging};
use super::stores::divided;
use super::window::{ByteRun, CheckedWindow, block_of};
use super::{CheckedAccess, Checker, EpochKind};
use crate::call::Call;
use crate::prim::{Waiter, has_binding};
use crate::shm::{PageHead, PageWords, PartWords, copy_to_words, is_same};
use crate::sync::RobustGuard;

/// Bytes of a granule that has words of its own.
pub(super) struct ShortRun<'w> {
    run: ByteRun,
    part: &'w PartWords,
    head: &'w PageHead,
    granule: Granule<'w>,
}

impl ShortRun<'_> {
    /// Whether only the granule's words say what was there before. Under the lock of the page.
    fn is_alone(&self) -> bool {
        self.head.has_only_entries() && self.head.is_divided(block_of(self.run.start))
    }

    /// The bytes of the granule.
    fn mask(&self) -> u32 {
        (BYTES >> (GRANULE_BYTES - self.run.bytes)) << (self.run.start % GRANULE_BYTES)
    }
}

/// Such an access that has been judged, until [`ShortAccess::end`]. Until then no other rank accesses its page.
#[must_use]
pub(crate) struct ShortAccess<'w> {
    window: &'w CheckedWindow,
    target: u32,
    /// Where it leaves its bytes, besides in the part.
    copies: Copies,
    run: ByteRun,
    alone: RobustGuard<'w>,
}

/// What an operation changes besides the part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    Nothing,
    /// The page is marked, because its owner rests.
    Mark,
    Bytes,
}

impl ShortAccess<'_> {
    /// The operation is done.
    #[inline]
    pub(crate) fn end(self) {
        if self.copies != Copies::Nothing {
            self.window.copy_short(self.target, self.run, self.copies);
        }
        drop(self.alone);
    }
}

impl CheckedWindow {
    /// Begins an access if it is such a one, and conflicts with nothing; then an accumulate has published this rank's clock as by
    /// [`CheckedWindow::updating`]. Otherwise it returns `None`, and nothing has changed. Blocks while another rank accesses the
    /// page. After [`Checker::settle`].
    #[inline(never)]
    pub(crate) fn begin_short(
        &self,
        (checker, waiter): (&Checker, &Waiter<'_>),
        (access, target): (&CheckedAccess, u32),
        (run, epoch): (ByteRun, EpochKind),
    ) -> Option<ShortAccess<'_>> {
        let short = self.short(checker, target, run, access.call)?;
        let lock = (run.start / PageWords::BYTES as u64) as usize % PartWords::LOCKS;
        // If the job ends, so does the check.
        let alone = begin_alone(&short.part.pages[lock], waiter)?;
        let (rests, hidden) = (short.part.rests.load() != 0, self.is_hidden(target));
        if !(rests || hidden || self.is_copied(target, run))
            || access.kind.updates() && self.is_asserted(target, epoch)
            || !self.judge_short((checker, waiter), (access, target), &short)
        {
            return None;
        }
        let copies = match access.kind.only_reads() || hidden {
            true => Copies::Nothing,
            false if rests => Copies::Mark,
            false => Copies::Bytes,
        };
        Some(ShortAccess { window: self, target, copies, run, alone })
    }

    /// Whether bytes of one page of a part are those of its copy.
    fn is_copied(&self, target: u32, run: ByteRun) -> bool {
        let (number, from) = divided(run.start);
        let copy = (&self.pages_of(target)[number].copy[..], from);
        is_same(self.span_here(target), run.start, copy, run.bytes as usize) == Some(true)
    }

    /// An operation has changed them.
    #[inline(never)]
    fn copy_short(&self, target: u32, run: ByteRun, copies: Copies) {
        let (number, from) = divided(run.start);
        match copies {
            Copies::Nothing => {}
            Copies::Mark => self.heads_of(target)[number].is_stale.store(1),
            Copies::Bytes => {
                let to = (&self.pages_of(target)[number].copy[..], from);
                copy_to_words(self.span_here(target), run.start, to, run.bytes as usize);
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
        let is_plain = !has_binding() && !call.has_request();
        if !is_one || !is_plain || checker.is_separate || self.has_overlaps.load() != 0 {
            return None;
        }
        let granule = self.granule(target, run.start / GRANULE_BYTES)?;
        let head = self.heads_of(target).get(divided(run.start).0)?;
        Some(ShortRun { run, part: &self.parts[target as usize], head, granule })
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
        checker.with_state(|state| {
            let of = ((self.block, target), self.block);
            let Some(number) = checker.operation((state, waiter), of, access, None) else {
                return false;
            };
            let of_this = (checker.rank, state.threads.clock());
            let judging = Judging::new(checker, of_this, number, access);
            let Some(change) = judging.access_element(short.granule, short.mask()) else {
                return false;
            };
            checker.count((state, waiter), number, &change);
            if access.kind.updates() {
                self.may_be_seen(checker, state, target);
            }
            if access.kind.is_accumulate() {
                self.updating_in((checker, state), target, short.run);
            }
            true
        })
    }
}
