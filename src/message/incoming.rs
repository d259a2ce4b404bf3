//! A receive that takes its message from a queue itself.

use super::matching::Envelope;
use crate::mail::{Head, RecordKind, Sources, give_back};
use crate::ops::Incoming;
use crate::shm::Segment;

/// The outcome of a receive that looks at the queues itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TakenMessage {
    /// A message is in its buffer, with what [`MessageSource`] has.
    Message,
    /// There is none yet.
    Nothing,
    /// The next record needs the slow path.
    Otherwise,
}

/// A message that has been taken. It is filled in its place: a copy would load several fields at once that have just been
/// stored one by one, which waits for these and all earlier stores.
#[derive(Default)]
pub(super) struct MessageSource {
    /// A rank of the job.
    pub(super) rank: u32,
    pub(super) tag: i32,
    pub(super) bytes: u64,
}

impl Sources {
    /// Takes the next record of a known queue if it is a wanted message that fits `into`, and its sender
    /// waits for no acknowledgement.
    #[inline]
    pub(super) fn take(
        &mut self,
        segment: &Segment,
        wanted: &Envelope,
        into: &mut Incoming,
        from: &mut MessageSource,
    ) -> TakenMessage {
        let mut taken = TakenMessage::Otherwise;
        for source in &mut self.all {
            if wanted.source != source.sender && wanted.source != Envelope::ANY_SOURCE {
                continue;
            }
            let Ok(next) = source.next(segment) else { return TakenMessage::Otherwise };
            let Some(record) = next else {
                taken = TakenMessage::Nothing;
                continue;
            };
            let Head { kind, tag, context, bytes, token, place } = record.head;
            let envelope = Envelope { context, source: source.sender, tag };
            let at = match kind {
                RecordKind::Data if token == 0 => record.inside,
                RecordKind::Staged => place,
                _ => return TakenMessage::Otherwise,
            };
            let fits = wanted.takes(&envelope) && bytes <= into.bytes();
            if !fits || into.unpack_from(segment, at, bytes).is_err() {
                return TakenMessage::Otherwise;
            }
            if kind == RecordKind::Staged && give_back(segment, place).is_err() {
                return TakenMessage::Otherwise;
            }
            source.pass(&record);
            (from.rank, from.tag, from.bytes) = (source.sender, tag, bytes);
            return TakenMessage::Message;
        }
        taken
    }
}
