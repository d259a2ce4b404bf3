//! The launcher's half of a trace: it reads the events that the ranks publish (`shm/trace_words.rs`).

use super::{Job, View};
use crate::error::{Error, Result};
use crate::prim::sleep_at_most;
use crate::shm::{Segment, TraceBlock, TracePlace, TraceRing, duplicate};
use crate::sync::channel::MailWords;
use std::time::Duration;

pub use crate::shm::TraceEvent;

/// Reads the events of all ranks. It has a mapping of its own, so any thread may have it.
pub struct TraceReader {
    segment: Segment,
    mail: u64,
    /// The next place of each rank.
    places: Vec<ReadPlace>,
}

#[derive(Clone, Copy, Default)]
struct ReadPlace {
    block: usize,
    place: usize,
}

impl Job {
    /// The reader of the events; `None` if the job is not traced. At most one may exist.
    pub fn trace_reader(&self) -> Result<Option<TraceReader>> {
        let Some(mail) = self.segment.layout().trace_mail() else { return Ok(None) };
        let file = duplicate(self.segment.file().number())?;
        let segment = Segment::attach(file, self.ranks, self.nonce)?;
        let places = vec![ReadPlace::default(); self.ranks as usize];
        Ok(Some(TraceReader { segment, mail, places }))
    }

    /// Wakes the reader of the events.
    pub fn wake_trace_reader(&self) {
        let mail = self.segment.layout().trace_mail();
        let mail = mail.and_then(|at| self.segment.mapping().view::<MailWords>(at).ok());
        mail.into_iter().for_each(MailWords::ring);
    }
}

impl TraceReader {
    /// The ranks of the job.
    pub fn view(&self) -> View<'_> {
        View::of(&self.segment)
    }

    fn mail(&self) -> Result<&MailWords> {
        self.segment.mapping().view(self.mail)
    }

    /// Begins a look at all ranks: the argument of [`TraceReader::sleep`].
    pub fn look(&self) -> Result<u32> {
        Ok(self.mail()?.look())
    }

    /// Sleeps until a rank has filled some blocks, or [`Job::wake_trace_reader`] was called, since that look; but no
    /// longer than that.
    pub fn sleep(&self, seen: u32, most: Duration) -> Result<()> {
        sleep_at_most(self.mail()?.bell(), most, |rung| rung != seen);
        Ok(())
    }

    /// Passes the next events of a rank, each with the number of its thread, to `take`: those of one block at most, and
    /// a call that the rank is in only if it `is_gone`. Returns whether there may be more in the next block. Does not
    /// block.
    pub fn read(
        &mut self,
        (rank, is_gone): (u32, bool),
        mut take: impl FnMut(u32, TraceEvent),
    ) -> Result<bool> {
        let outside = || Error::Damaged { what: "offset" };
        let at = self.segment.layout().trace_of(rank).ok_or_else(outside)?;
        let ring: &TraceRing = self.segment.mapping().view(at)?;
        let next = &mut self.places[rank as usize];
        let block = &ring.blocks[next.block];
        while let Some(place) = block.places.get(next.place) {
            match place.state.found() {
                0 => break,
                TracePlace::LINK => {
                    block.words.give_back();
                    *next = ReadPlace { block: (next.block + 1) % TraceRing::BLOCKS, place: 0 };
                    if TraceRing::is_bell_due(next.block) {
                        ring.returned.ring();
                    }
                    return Ok(true);
                }
                state if TracePlace::is_open(state) && !is_gone => break,
                state => {
                    place.read(state).into_iter().for_each(|(thread, event)| take(thread, event));
                    next.place += 1;
                }
            }
        }
        Ok(false)
    }
}

const _: () = assert!(TraceBlock::PLACES > 1 && TraceRing::BLOCKS > 1);
