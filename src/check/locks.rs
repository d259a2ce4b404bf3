//! The locks of a part. Its pages are shared out among some, so that operations on different pages rarely wait for each
//! other.
//!
//! 1. An access has the locks of all pages that it accesses, and takes them in their order.
//! 2. An owner that waits for all of them marks that, and a rank that needs several lets it go first: otherwise one that makes
//!    one long operation after the other would leave it no time.
//! 3. The separate model also judges accesses to different pages of a part against each other, so in its jobs all pages have
//!    the first lock.

use super::SITES;
use super::window::{ByteRun, CheckedWindow};
use crate::prim::Waiter;
use crate::shm::{PageWords, PartWords};
use crate::sync::{Line, RobustExclusion, RobustGuard};

impl CheckedWindow {
    /// Runs `f` while no other rank accesses the pages of a part that some runs lie in. Blocks while one does. `None` if the
    /// job ends: so does the check then.
    pub(super) fn alone_at<R>(
        &self,
        waiter: &Waiter<'_>,
        target: u32,
        runs: &[ByteRun],
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        let part = &self.parts[target as usize];
        let set = if self.has_one_lock { 1 } else { locks_of(runs) };
        if set & (set - 1) == 0 {
            let _alone = self.begin_alone(&part.pages[set.trailing_zeros() as usize], waiter)?;
            return Some(f());
        }
        if part.is_awaited.load() != 0 {
            waiter.backoff.hold_off(0, || part.is_awaited.load() != 0);
        }
        self.alone_with(waiter, (target, set), f)
    }

    /// Runs `f` with the locks of a set.
    fn alone_with<R>(
        &self,
        waiter: &Waiter<'_>,
        (target, set): (u32, u32),
        f: impl FnOnce() -> R,
    ) -> Option<R> {
        let (locks, mut f, mut done) = (&self.parts[target as usize].pages, Some(f), None);
        let mut once = || done = f.take().map(|f| f());
        self.with_all((locks, set), waiter, &mut once);
        done
    }

    /// [`CheckedWindow::alone_at`] all bytes of this rank's part.
    pub(super) fn alone_at_own<R>(&self, waiter: &Waiter<'_>, f: impl FnOnce() -> R) -> Option<R> {
        let all = ByteRun { start: 0, bytes: self.own.len() };
        let set = if self.has_one_lock { 1 } else { locks_of(&[all]) };
        let part = &self.parts[self.rank as usize];
        part.is_awaited.store(1);
        let done = self.alone_with(waiter, (self.rank, set), f);
        part.is_awaited.store(0);
        done
    }

    /// Takes the lock of some pages, until the returned value is dropped, after a rank that is inside; `None` if the job
    /// ends.
    #[inline]
    pub(super) fn begin_alone<'l>(
        &self,
        lock: &'l Line<RobustExclusion>,
        waiter: &Waiter<'_>,
    ) -> Option<RobustGuard<'l>> {
        lock.0.hold_off(waiter);
        self.begin(lock, waiter)
    }

    #[inline]
    fn begin<'l>(
        &self,
        lock: &'l Line<RobustExclusion>,
        waiter: &Waiter<'_>,
    ) -> Option<RobustGuard<'l>> {
        let (_, mut inside) = lock.0.begin(SITES, waiter).ok()?;
        if self.takes_part {
            inside.leave_plainly();
        }
        Some(inside)
    }

    /// Runs `f` with the locks of a set, unless the job ends.
    fn with_all(
        &self,
        (locks, set): (&[Line<RobustExclusion>], u32),
        waiter: &Waiter<'_>,
        f: &mut dyn FnMut(),
    ) {
        if set == 0 {
            return f();
        }
        let (first, rest) = (set.trailing_zeros() as usize, set & (set - 1));
        // If the job ends, so does the check.
        if let Some(_inside) = self.begin(&locks[first], waiter) {
            self.with_all((locks, rest), waiter, f);
        }
    }
}

/// A bit for each lock of the pages that some runs lie in.
fn locks_of(runs: &[ByteRun]) -> u32 {
    let (page, locks) = (PageWords::BYTES as u64, PartWords::LOCKS as u64);
    let of_run = |set: u32, run: &ByteRun| {
        let (first, last) = (run.start / page, (run.start + run.bytes.max(1) - 1) / page);
        if first == last {
            return set | 1 << (first % locks);
        }
        let pages = first..=last.min(first + locks - 1);
        pages.fold(set, |set, page| set | 1 << (page % locks))
    };
    runs.iter().fold(0, of_run).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_locks_of_its_pages() {
        let of = |start, bytes| locks_of(&[ByteRun { start, bytes }]);
        assert_eq!(of(0, 0), 1);
        assert_eq!(of(0, 4096), 1);
        assert_eq!(of(4095, 2), 0b11);
        assert_eq!(of(15 * 4096, 4097), 1 << 15 | 1);
        assert_eq!(of(8, 16 * 4096), 0xffff);
        assert_eq!(of(1 << 40, 1 << 40), 0xffff);
    }
}
