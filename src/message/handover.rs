//! Long messages that their receiver cannot fetch: the sender copies them to a block of the segment,
//! which the receiver frees.

use super::mailbox::MailboxState;
use super::slots::{MessageFailure, Payload, RequestOutcome, RequestStage, Slot};
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
        slot: Slot,
        theirs: u64,
    ) -> Result<()> {
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
        let put = self.put(context, to, &head, 0, |_| Ok(()));
        self.received(slot, 0);
        put.or_else(|error| match error {
            AllocError::Other(error) => Err(error),
            _ => Ok(()),
        })
    }

    /// Completes a request of this rank whose bytes are now in the segment.
    #[cold]
    pub(super) fn handed_over(
        &mut self,
        context: &Context,
        slot: Slot,
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
            let outcome = RequestOutcome { envelope: *envelope, bytes, failure, clock: 0 };
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
