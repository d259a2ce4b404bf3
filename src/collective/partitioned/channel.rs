//! One side of a partitioned message: its agreement with the other side, and its progress.

use super::super::buffer::{Buffer, BufferMut};
use super::round::PartitionRound;
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, MismatchKind, Result};
use crate::group::Rank;
use crate::message::{Channel, Driven, MessageRequest, Pending, Status};
use crate::prim::{Awaited, AwaitedKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The buffer of the send or of the receive.
pub(in crate::collective) enum PartitionSide {
    Send(Buffer),
    Receive(BufferMut),
}

pub(super) struct PartitionChannel {
    pub(super) comm: Comm,
    pub(super) call: Call,
    side: PartitionSide,
    pub(super) partitions: u32,
    bytes: u64,
    peer: Rank,
    tag: i32,
    state: Mutex<ChannelState>,
}

struct ChannelState {
    /// It is among the driven operations.
    is_driven: bool,
    stage: ChannelStage,
    /// The start that has not been waited for.
    round: Option<PartitionRound>,
}

/// The state of the agreement with the other side.
enum ChannelStage {
    /// The words of the other side have not arrived.
    Matching(Pending<u64>),
    Matched(Groups),
    /// The sides do not fit, or one has failed; the error, until it has been returned.
    Lost(Option<Error>),
}

/// The messages of every start.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    pub(super) number: u32,
    /// The tag of the first; the others follow.
    tag: u32,
}

impl Groups {
    /// With no rank.
    const NONE: Groups = Groups { number: 0, tag: 0 };
}

/// The description of a side: a tag, a number of partitions or of groups, and bytes.
const WORDS: usize = 3;

impl PartitionChannel {
    pub(super) fn new(
        comm: &Comm,
        call: Call,
        side: PartitionSide,
        partitions: u32,
        peer: Rank,
        tag: i32,
    ) -> Result<PartitionChannel> {
        let buffer = match &side {
            PartitionSide::Send(buffer) => buffer.clone(),
            PartitionSide::Receive(buffer) => buffer.read(),
        };
        let bytes = buffer.bytes().ok_or_else(|| comm.members().too_far(call))?;
        let (found, cut) = (buffer.count, buffer.count.checked_rem(partitions as usize));
        if cut.map_or(found > 0, |left| left > 0) {
            let (at, what) = (comm.place(call), "buffer to be cut");
            let needed = found - cut.unwrap_or(found);
            return Err(Error::Count { at, what, found, needed });
        }
        let round = None;
        let state = Mutex::new(ChannelState {
            is_driven: false,
            stage: ChannelStage::Matched(Groups::NONE),
            round,
        });
        let comm = comm.for_requests();
        let mut line = PartitionChannel { comm, call, side, partitions, bytes, peer, tag, state };
        if peer != Rank::NULL {
            let stage = line.meet()?;
            line.state.get_mut().unwrap_or_else(PoisonError::into_inner).stage = stage;
        }
        Ok(line)
    }

    /// Sends the description of this side, or waits for that of the other.
    fn meet(&self) -> Result<ChannelStage> {
        let (mut channel, mut tag) = (Channel::Partitioned, self.tag);
        if self.is_send() {
            let answer = self.comm.count_partitions(1);
            let words = [answer.into(), self.partitions.into(), self.bytes];
            self.send_words(words, channel, tag)?;
            (channel, tag) = (Channel::Partition, tag_of(answer));
        }
        let words = vec![0u64; WORDS];
        let heard = self.comm.post_receive_owned(self.call, channel, words, self.peer, tag)?;
        Ok(ChannelStage::Matching(heard))
    }

    /// The words are not needed any more when this returns: a short message is copied.
    fn send_words(&self, words: [u64; WORDS], channel: Channel, tag: i32) -> Result<()> {
        let mut words = words.to_vec();
        let words = BufferMut::slice(&mut words).read();
        self.comm.post_send(self.call, channel, &words.origin(), self.peer, tag).map(drop)
    }

    /// The consequence of the other side's description.
    fn heard(&self, words: &[u64]) -> Result<Groups> {
        let (tag, number, bytes) = (words[0] as u32, words[1] as u32, words[2]);
        let groups = match self.side {
            PartitionSide::Send(_) => Groups { number, tag },
            PartitionSide::Receive(_) => {
                let number = common_divisor(number, self.partitions);
                let first = self.comm.count_partitions(number);
                let words = [first.into(), number.into(), self.bytes];
                self.send_words(words, Channel::Partition, tag_of(tag))?;
                Groups { number, tag: first }
            }
        };
        if bytes == self.bytes {
            return Ok(groups);
        }
        let call = |bytes| format!("{} of {bytes} bytes", self.call);
        let (at, ours, theirs) = (self.comm.place(self.call), call(self.bytes), call(bytes));
        Err(Error::Mismatch { kind: MismatchKind::Length, at, ours, other: self.peer, theirs })
    }

    /// Starts the message of a group.
    pub(super) fn post(&self, groups: Groups, group: u32) -> Result<MessageRequest> {
        let tag = tag_of(groups.tag.wrapping_add(group));
        let part = |count: usize| {
            let length = count / groups.number as usize;
            (group as usize * length, length)
        };
        match &self.side {
            PartitionSide::Send(buffer) => {
                let (first, length) = part(buffer.count);
                let from = buffer.part(first, length);
                let (call, channel) = (self.call, Channel::Partition);
                self.comm.post_send(call, channel, &from.origin(), self.peer, tag)
            }
            PartitionSide::Receive(buffer) => {
                let (first, length) = part(buffer.count());
                let mut into = buffer.part(first, length);
                let (call, channel) = (self.call, Channel::Partition);
                self.comm.post_receive(call, channel, &into.origin_mut(), self.peer, tag)
            }
        }
    }

    pub(super) fn is_send(&self) -> bool {
        matches!(self.side, PartitionSide::Send(_))
    }

    fn state(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances until it must wait; whether only the program can continue it.
    fn advance(&self, state: &mut ChannelState) -> bool {
        let ChannelState { stage, round, .. } = state;
        *stage = match std::mem::replace(stage, ChannelStage::Lost(None)) {
            ChannelStage::Matching(words) if words.is_done() => {
                let heard = words.outcome(self.call).and_then(|words| self.heard(&words));
                heard.map_or_else(|error| ChannelStage::Lost(Some(error)), ChannelStage::Matched)
            }
            stage => stage,
        };
        let is_matching = matches!(stage, ChannelStage::Matching(..));
        let Some(round) = round else { return !is_matching };
        match stage {
            ChannelStage::Matching(..) => {}
            ChannelStage::Matched(groups) => round.advance(self, *groups),
            ChannelStage::Lost(error) => round.give_up(error.take().unwrap_or_else(|| self.lost())),
        }
        round.is_done()
    }

    /// Refuses to wait for a rank that has failed.
    pub(super) fn check_peer(&self) -> Result<()> {
        match self.comm.failed_rank(self.peer.0) {
            None => Ok(()),
            Some(failed) => {
                let at = self.comm.place(self.call);
                Err(Error::RankFailed { at, failed: Rank(failed), lock_of: None })
            }
        }
    }

    #[cold]
    fn lost(&self) -> Error {
        let problem = "the other side of the partitioned message is lost".into();
        Error::Communicator { at: self.comm.place(self.call), problem }
    }

    /// Continues, and is driven as long as something is left to do.
    ///
    /// Only a driving thread sends, receives, and takes outcomes. Those calls look for messages, and so
    /// drive; with the state locked, they would wait for themselves.
    pub(super) fn follow(self: &Arc<PartitionChannel>) -> Result<()> {
        let was_driven = std::mem::replace(&mut self.state().is_driven, true);
        if !was_driven {
            return self.comm.add_driven(self.clone());
        }
        self.comm.progress();
        Ok(())
    }

    pub(super) fn start(&self) -> Result<()> {
        let mut state = self.state();
        self.check(state.round.is_none(), || {
            "it has been started, and has not been waited for".into()
        })?;
        state.round = Some(PartitionRound::new(self));
        Ok(())
    }

    /// Takes over partitions of a send.
    pub(super) fn ready(&self, partitions: &[u32]) -> Result<()> {
        self.check(self.is_send(), || "it is a receive".into())?;
        let mut state = self.state();
        match &mut state.round {
            Some(round) => round.take_over(self, partitions),
            None => self.check(false, || "it has not been started".into()),
        }
    }

    pub(super) fn check_receive(&self, partition: u32) -> Result<()> {
        self.check(!self.is_send(), || "it is a send".into())?;
        self.check_partition(partition)
    }

    pub(super) fn check_partition(&self, partition: u32) -> Result<()> {
        let partitions = self.partitions;
        self.check(partition < partitions, || {
            format!("there is no partition {partition}; it has {partitions}")
        })
    }

    pub(super) fn has_arrived(&self, partition: u32) -> bool {
        self.state().round.as_ref().is_none_or(|round| round.has_arrived(self, partition))
    }

    pub(super) fn is_active(&self) -> bool {
        self.state().round.is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.state().round.as_ref().is_none_or(PartitionRound::is_done)
    }

    /// What a wait for the start waits for.
    pub(super) fn awaited(&self) -> Awaited<'static> {
        let handed = self.state().round.as_ref().map_or(0, PartitionRound::handed_over);
        let kind = match self.is_send() {
            true if handed < self.partitions => AwaitedKind::Partitions,
            true => AwaitedKind::Receipt,
            false => AwaitedKind::Message,
        };
        let peer = self.comm.world_rank(self.peer.0);
        let (come, awaited, number) = (handed, self.partitions, self.tag as u64);
        Awaited { kind, peer, come, awaited, number, ..Awaited::default() }
    }

    /// The outcome of what is complete.
    pub(super) fn take(&self) -> Result<Status> {
        let round = self.state().round.take();
        let Some(round) = round else { return Ok(Status::NOTHING) };
        round.outcome()?;
        match self.peer {
            Rank::NULL => Ok(Status::NOTHING),
            source => Ok(Status { source, tag: self.tag, bytes: self.bytes, cancelled: false }),
        }
    }
}

impl Driven for PartitionChannel {
    fn drive(&self) -> bool {
        let mut state = self.state();
        let is_idle = self.advance(&mut state);
        state.is_driven = !is_idle;
        is_idle
    }

    fn abandon(&self) {
        let mut state = self.state();
        state.stage = ChannelStage::Lost(Some(self.lost()));
        self.advance(&mut state);
    }

    fn name(&self) -> &'static str {
        "partitioned message"
    }
}

/// Tags are distinguished by 31 bits.
fn tag_of(number: u32) -> i32 {
    (number & i32::MAX as u32) as i32
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
