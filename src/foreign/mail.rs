//! Records of the library's messages, as messages of the other MPI on a communicator of their own.
//!
//! 1. A send keeps its bytes here until the other MPI has them, so it never blocks.
//! 2. The records of one sender are handed out in the order in which it has sent them: one whose bytes are
//!    still on their way holds back those behind it, but not those of other senders.
//! 3. When the job ends, no send is under way ([`settle`]).

use super::library::ForeignMessage;
use super::{ForeignComm, ForeignResult};
use crate::prim::give_way;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The ranks of the job, for records and for the end of the job alone.
static RANKS: OnceLock<ForeignComm> = OnceLock::new();
/// The only tag.
const TAG: c_int = 0;
/// Bytes of sends under way before they are looked at again.
const LEAST: usize = 1 << 20;
/// Bytes of sends under way beside which no long one is begun that could wait.
const MANY: usize = 8 << 20;

/// The records under way, both ways. In a static because they outlive every handle of the job.
static UNDER_WAY: Mutex<RecordsUnderWay> = Mutex::new(RecordsUnderWay::new());

struct RecordsUnderWay {
    sent: Vec<ForeignMessage>,
    /// Bytes of those, and how many of them make it look which are complete.
    bytes: usize,
    most: usize,
    /// Records that have been matched, in order, with their senders.
    coming: VecDeque<(u32, ForeignMessage)>,
}

impl RecordsUnderWay {
    const fn new() -> RecordsUnderWay {
        RecordsUnderWay { sent: Vec::new(), bytes: 0, most: LEAST, coming: VecDeque::new() }
    }

    /// Drops the sends that are complete.
    fn sweep(&mut self) -> ForeignResult<()> {
        let mut outcome = Ok(());
        self.sent.retain_mut(|message| match message.is_complete() {
            Ok(is_complete) => !is_complete,
            Err(refusal) => {
                outcome = Err(refusal);
                false
            }
        });
        self.bytes = self.sent.iter().map(ForeignMessage::bytes).sum();
        self.most = LEAST.max(2 * self.bytes);
        outcome
    }

    /// The first matched record that is complete and has none of its sender before it.
    fn ready(&mut self) -> ForeignResult<Option<(u32, Box<[u8]>)>> {
        let mut late = Vec::new();
        for k in 0..self.coming.len() {
            let (sender, message) = &mut self.coming[k];
            if late.contains(sender) {
                continue;
            }
            if message.is_complete()? {
                let ready = self.coming.remove(k);
                return Ok(ready.map(|(sender, message)| (sender, message.taken())));
            }
            late.push(*sender);
        }
        Ok(None)
    }

    fn next(&mut self) -> ForeignResult<Option<(u32, Box<[u8]>)>> {
        loop {
            if let Some(ready) = self.ready()? {
                return Ok(Some(ready));
            }
            match ranks().matched(TAG)? {
                Some(found) => self.coming.push_back(found),
                None => return Ok(None),
            }
        }
    }
}

fn under_way() -> MutexGuard<'static, RecordsUnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the communicator of the records, from the job's world.
///
/// Collective; blocks until every rank has called it.
pub(super) fn open(world: &ForeignComm) -> ForeignResult<()> {
    let copy = world.dup()?;
    RANKS.get_or_init(|| copy);
    Ok(())
}

fn ranks() -> &'static ForeignComm {
    RANKS.get().expect("a rank that has joined has it")
}

/// Sends a record to that rank of the job. Does not block.
pub(crate) fn send_record(rank: u32, record: Box<[u8]>) -> ForeignResult<()> {
    let mut under_way = under_way();
    let mut message = ranks().send(rank, TAG, record)?;
    if message.is_complete()? {
        return Ok(());
    }
    under_way.bytes += message.bytes();
    under_way.sent.push(message);
    if under_way.bytes > under_way.most { under_way.sweep() } else { Ok(()) }
}

/// Whether this rank's sends keep so much memory that a long one should wait for its receiver.
pub(crate) fn is_crowded() -> ForeignResult<bool> {
    let mut under_way = under_way();
    if under_way.bytes > MANY {
        under_way.sweep()?;
    }
    Ok(under_way.bytes > MANY)
}

/// The next record to this rank that has arrived, and its sender as a rank of the job. Does not block.
pub(crate) fn next_record() -> ForeignResult<Option<(u32, Box<[u8]>)>> {
    under_way().next()
}

/// Completes all sends of all ranks: each receives, and discards, until none has a send under way.
///
/// Collective; blocks until every rank has called it.
pub(super) fn settle() -> ForeignResult<()> {
    let (mut under_way, mut all_sent) = (under_way(), None::<ForeignMessage>);
    loop {
        while under_way.next()?.is_some() {}
        under_way.sweep()?;
        if let Some(barrier) = &mut all_sent {
            if barrier.is_complete()? && under_way.coming.is_empty() {
                return Ok(());
            }
        } else if under_way.sent.is_empty() {
            all_sent = Some(ranks().begin_barrier()?);
        }
        give_way();
    }
}
