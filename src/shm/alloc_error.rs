//! Why the allocator of the segment has no block.

use crate::error::Error;
use crate::prim::JobFailed;

/// The limit that an allocation exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Segment,
    Machine,
    Block,
    File,
}

impl Limit {
    pub(crate) const ALL: [Limit; 4] = [Limit::Segment, Limit::Machine, Limit::Block, Limit::File];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Limit::Segment => "the size of the segment; see rmarun --segment-size",
            Limit::Machine => "the memory of the machine or of its control group",
            Limit::Block => "the largest free block of the segment; see rmarun --segment-size",
            Limit::File => "the system refused to reserve memory for the segment",
        }
    }
}

/// Why there is no block.
#[derive(Debug)]
pub(crate) enum AllocError {
    /// Less than requested is available, because of the limit named.
    Short { available: u64, limit: Limit },
    /// The job failed while the allocator was held by another rank.
    JobFailed,
    /// Damage, or an error of the system.
    Other(Error),
}

impl From<Error> for AllocError {
    fn from(error: Error) -> Self {
        AllocError::Other(error)
    }
}

impl From<JobFailed> for AllocError {
    fn from(_: JobFailed) -> Self {
        AllocError::JobFailed
    }
}
