//! A record of a message queue (`sync/channel.rs`): the header of a message, and its bytes.

use crate::prim::{Word32, Word64};
use crate::sync::channel::RecordState;

/// The words of a record; its bytes follow.
#[repr(C)]
pub(crate) struct MessageWords {
    /// The kind of the record.
    pub(crate) state: RecordState,
    pub(crate) tag: Word32,
    /// The communicator, and one of its channels.
    pub(crate) context: [Word64; 2],
    /// Bytes of the message.
    pub(crate) bytes: Word64,
    /// A request of the sender or of the receiver, or zero.
    pub(crate) token: Word64,
    /// An offset or address, with a meaning for each kind of record.
    pub(crate) place: Word64,
}

impl MessageWords {
    /// Bytes of the words.
    pub(crate) const HEAD: u64 = size_of::<MessageWords>() as u64;
    /// Records begin at multiples of this, so that a short message is in one line of the cache.
    pub(crate) const ALIGN: u64 = 64;

    /// The distance from a record with `bytes` bytes after its words to the next one; `None` on
    /// overflow.
    pub(crate) fn stride(bytes: u64) -> Option<u64> {
        bytes.checked_add(Self::HEAD)?.checked_next_multiple_of(Self::ALIGN)
    }
}

const _: () = assert!(MessageWords::HEAD == 48);
