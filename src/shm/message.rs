//! A record of a queue of messages (`sync/channel.rs`): what is said of a message, and its bytes.

use crate::prim::{Word32, Word64};
use crate::sync::channel::RecordState;

/// The words of a record; its bytes follow.
#[repr(C)]
pub(crate) struct MessageWords {
    /// What the record is.
    pub(crate) state: RecordState,
    pub(crate) tag: Word32,
    /// The communicator, and which of its channels.
    pub(crate) context: [Word64; 2],
    /// Bytes of the message.
    pub(crate) bytes: Word64,
    /// A request of the sender or of the receiver, or zero.
    pub(crate) token: Word64,
    /// Where something is, by the kind of the record.
    pub(crate) place: Word64,
}

impl MessageWords {
    /// Bytes of the words.
    pub(crate) const HEAD: u64 = size_of::<MessageWords>() as u64;
    /// Records begin at multiples of this, so that a short message is in one line of the cache.
    pub(crate) const ALIGN: u64 = 64;

    /// Bytes from a record with that many bytes behind its words to the next one; `None` if they
    /// are no number.
    pub(crate) fn stride(bytes: u64) -> Option<u64> {
        bytes.checked_add(Self::HEAD)?.checked_next_multiple_of(Self::ALIGN)
    }
}

const _: () = assert!(MessageWords::HEAD == 48);
