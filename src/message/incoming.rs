//! A receive that takes its message from a queue itself.

use super::matching::Envelope;
use crate::mail::{Head, RecordKind, Sources, give_back};
use crate::ops::Incoming;
use crate::shm::Segment;

/// The outcome of a receive that looks at the queues itself.
pub(super) enum TakenMessage {
    /// A message with that envelope and that many bytes is in its buffer.
    Message(Envelope, u64),
    /// There is none yet.
    Nothing,
    /// The next record needs the slow path.
    Otherwise,
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
            return TakenMessage::Message(envelope, bytes);
        }
        taken
    }
}
