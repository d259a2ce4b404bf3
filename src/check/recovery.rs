//! A window that its survivors use again (`Win::recover`). Recovery ends all its epochs: a rank that has failed accesses it no
//! more, and survivors have synchronised. So all that was done before is complete, also what the failed ranks have done.

use super::threads::ALWAYS;
use super::window::CheckedWindow;
use super::{Checker, SITES};
use crate::prim::Waiter;

impl CheckedWindow {
    /// This rank's operations in epochs that are lost are complete.
    pub(crate) fn recovering(&self, checker: &Checker) {
        self.forget_late();
        checker.complete(&mut checker.state(), self.block, None);
        self.latest_store.clear();
        self.fences.store(0);
    }

    /// All survivors know of what `failed` ranks of the window have done. By one survivor, while no other is in a call of the
    /// window. Blocks while another rank uses the tables of the check.
    pub(crate) fn recovered(&self, checker: &Checker, waiter: &Waiter<'_>, failed: &[u32]) {
        let failed_in_job: Vec<u32> =
            failed.iter().map(|rank| self.world[*rank as usize]).collect();
        // If the job ends, so does the check.
        let _ = checker.words.lock.0.run(SITES, waiter, |_| {
            for number in 1..=checker.used_operations() as u32 {
                let operation = checker.operation_at(number);
                if operation.window.load() == self.block
                    && failed_in_job.contains(&operation.rank.load())
                {
                    operation.issued.store(ALWAYS);
                    operation.completed.store(ALWAYS);
                    operation.publish(checker.more_at(number), ALWAYS);
                }
            }
        });
        // What a failed rank has stored by itself is not found any more.
        failed.iter().for_each(|rank| self.ignore_stores(*rank));
        for part in self.parts.iter() {
            part.noput.store(0);
            part.noput_fences.iter().for_each(|fence| fence.store(0));
        }
        for origin in self.origins.iter() {
            origin.locks.iter().for_each(|held| held.what.store(0));
            origin.posts.store(0);
            origin.starts.store(0);
        }
    }
}
