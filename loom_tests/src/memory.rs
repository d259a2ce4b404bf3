//! The window operations of `protocol::Cells`, on loom's words.

use crate::prim::{Contention, JobFailed, ParkWord, Site, Word32, mem_sync, model};
use crate::protocol::{Cell, Cells, Fault};
use crate::sync::{self, Bell, Watchers, watch};
use crate::world::{Job, each};

/// The words of a window: one part per rank. The values of the models fit 32 bits.
pub struct Memory {
    job: Job,
    parts: Vec<Vec<Word32>>,
    watchers: Watchers,
    bells: Option<Vec<Bell>>,
    /// What is waited on where there are no bells; it never changes.
    nothing: ParkWord,
}

impl Memory {
    /// `words` words in each part. Waiters poll the word that they wait for. So the model does not
    /// contain the protocol of waiting, and depends on the memory order of the caller.
    pub fn new(ranks: usize, words: usize) -> Memory {
        let parts = (0..ranks).map(|_| each(words)).collect();
        let (watchers, nothing) = Default::default();
        Memory { job: Job::default(), parts, watchers, bells: None, nothing }
    }

    /// The same with waiters that wait by `sync::watch`, as a window's do.
    #[must_use]
    pub fn with_bells(self) -> Memory {
        Memory { bells: Some(each(self.parts.len())), ..self }
    }

    fn word(&self, at: Cell) -> &Word32 {
        &self.parts[at.rank as usize][at.index as usize]
    }
}

impl Cells for Memory {
    type Error = JobFailed;

    fn fetch(&self, at: Cell) -> Result<u64, JobFailed> {
        Ok(self.word(at).load().into())
    }

    fn replace(&self, at: Cell, value: u64) -> Result<u64, JobFailed> {
        Ok(self.word(at).swap(value as u32).into())
    }

    fn add(&self, at: Cell, n: u64) -> Result<u64, JobFailed> {
        Ok(self.word(at).fetch_add(n as u32).into())
    }

    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64, JobFailed> {
        let (Ok(before) | Err(before)) =
            self.word(at).compare_exchange(expected as u32, new as u32);
        Ok(before.into())
    }

    fn flush(&self, rank: u32) -> Result<(), JobFailed> {
        sync::flush();
        if let Some(bells) = &self.bells {
            watch::ring(&self.watchers, [&bells[rank as usize]]);
        }
        Ok(())
    }

    fn contend(
        &self,
        mut attempt: impl FnMut() -> Result<bool, JobFailed>,
    ) -> Result<bool, JobFailed> {
        let contention = Contention::begin();
        let mut attempts = (0..).take_while(|lost| !contention.is_over(*lost));
        attempts.try_fold(false, |done, _| Ok(done || attempt()?))
    }

    fn wait_while(&self, at: Cell, value: u64) -> Result<u64, JobFailed> {
        let (word, found) = (self.word(at), std::cell::Cell::new(0));
        let look = || {
            found.set(word.load().into());
            found.get() != value
        };
        match &self.bells {
            Some(bells) => {
                let bell = &bells[at.rank as usize];
                watch::until(&self.watchers, bell, look, &self.job.waiter())?;
            }
            None => {
                self.job.waiter().until(&self.nothing, |_| look())?;
                mem_sync(Site::WatchPost);
            }
        }
        Ok(found.get())
    }

    fn planted(&self, fault: Fault) -> bool {
        model::planted_above(fault as u8)
    }
}
