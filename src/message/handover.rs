//! Long messages that their receiver cannot fetch: the sender copies them to a block of the segment,
//! which the receiver frees; or another MPI moves them.

use super::mailbox::{MailboxState, send_foreign};
use super::slots::{MessageFailure, MessageSlot, Payload, RequestOutcome, RequestStage};
use crate::context::Context;
use crate::error::Result;
use crate::mail::{Head, RecordKind};
use crate::shm::AllocError;

impl MailboxState {
    /// Copies the bytes of a message of this rank to a block of the segment, for the request `theirs` of
    /// the receiver, which cannot read them where they are.
    #[cold]
    pub(super) fn hand_over(
        &mut self,
        context: &Context,
        to: u32,
        slot: MessageSlot,
        theirs: u64,
    ) -> Result<()> {
        if !context.reaches(to) {
            let data = self.payload_of(slot);
            self.received(slot, 0);
            let head = Head::control(RecordKind::Block, theirs, 0, data.len() as u64);
            return send_foreign(context, to, &head, data);
        }
        let (mut block, mut bytes) = (0, 0);
        if let Some(RequestStage::Offered { payload: Some(payload), bytes: all, .. }) =
            self.slots.stage(slot)
        {
            bytes = *all;
            if let Ok(offset) = context.segment.heap().allocate(bytes, &context.excluded()) {
                block = offset;
                match payload {
                    Payload::Copied(copied) => copied.pack_into(&context.segment, offset)?,
                    Payload::Packed(packed) => context.segment.mapping().write(offset, packed)?,
                }
            }
        }
        let head = Head::control(RecordKind::Block, theirs, block, bytes);
        let put = self.put(context, to, &head, None);
        self.received(slot, 0);
        put.or_else(|error| match error {
            AllocError::Other(error) => Err(error),
            _ => Ok(()),
        })
    }

    /// The bytes of a message of this rank, unless it has been withdrawn.
    fn payload_of(&mut self, slot: MessageSlot) -> Box<[u8]> {
        match self.slots.stage(slot) {
            Some(RequestStage::Offered { payload: Some(payload), .. }) => match payload {
                Payload::Copied(copied) => copied.packed(),
                Payload::Packed(packed) => std::mem::take(packed),
            },
            _ => Box::default(),
        }
    }

    /// Completes a request of this rank whose bytes another MPI has moved.
    #[cold]
    pub(super) fn received_late(&mut self, slot: MessageSlot, data: &[u8]) {
        if let Some(RequestStage::Promised { into, envelope, bytes }) = self.slots.stage(slot) {
            let (envelope, bytes) = (*envelope, *bytes);
            let is_whole = data.len() as u64 == bytes;
            if is_whole {
                into.unpack(data);
            }
            // A sender that has withdrawn the message sends nothing.
            let failure = (!is_whole).then_some(MessageFailure::Damaged);
            self.finish(
                slot,
                RequestOutcome { envelope, is_send: false, bytes, failure, clock: 0 },
            );
        }
    }

    /// Completes a request of this rank whose bytes are now in the segment.
    #[cold]
    pub(super) fn handed_over(
        &mut self,
        context: &Context,
        slot: MessageSlot,
        block: u64,
        bytes: u64,
    ) -> Result<()> {
        let mut failure = (block == 0).then_some(MessageFailure::NoMemory);
        if let Some(RequestStage::Promised { into, envelope, bytes: all }) = self.slots.stage(slot)
        {
            if failure.is_none() && bytes != *all {
                failure = Some(MessageFailure::NoMemory);
            } else if failure.is_none() {
                into.unpack_from(&context.segment, block, bytes)?;
            }
            let outcome =
                RequestOutcome { envelope: *envelope, is_send: false, bytes, failure, clock: 0 };
            self.finish(slot, outcome);
        }
        if block == 0 {
            return Ok(());
        }
        let freed = context.segment.heap().free(block, &context.excluded());
        freed.or_else(|error| match error {
            AllocError::Other(error) => Err(error),
            _ => Ok(()),
        })
    }
}
