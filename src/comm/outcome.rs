//! The outcome of an allocation that one rank makes for several: a block, or an error.

use super::Comm;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::shm::{AllocError, Limit};
use bytemuck::{Pod, Zeroable};

/// As words for other ranks.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct OutcomeWords {
    /// The offset of the block; zero if there is none.
    pub(crate) block: u64,
    /// Why there is none.
    pub(crate) failure: u64,
    /// Bytes available.
    pub(crate) available: u64,
}

/// Kinds of failure; the limits count on from `SHORT`.
const OTHER: u64 = 1;
const SHORT: u64 = 2;

/// The error of the rank that allocates, or the one that it has sent.
pub(crate) struct CreationOutcome {
    pub(crate) words: OutcomeWords,
    /// In full; only the allocating rank has it.
    error: Option<AllocError>,
}

impl From<OutcomeWords> for CreationOutcome {
    fn from(words: OutcomeWords) -> CreationOutcome {
        CreationOutcome { words, error: None }
    }
}

impl CreationOutcome {
    pub(crate) fn of(result: std::result::Result<u64, AllocError>) -> CreationOutcome {
        let (block, error) = match result {
            Ok(block) => (block, None),
            Err(error) => (0, Some(error)),
        };
        let (failure, available) = match &error {
            None => (0, 0),
            Some(AllocError::Short { available, limit }) => (SHORT + *limit as u64, *available),
            Some(_) => (OTHER, 0),
        };
        CreationOutcome { words: OutcomeWords { block, failure, available }, error }
    }

    /// Whether a requested block could not be allocated.
    pub(crate) fn is_failure(&self) -> bool {
        self.words.failure != 0
    }

    /// The block, or the error of `call`, which requested `requested` bytes.
    pub(crate) fn block(self, comm: &Comm, call: Call, requested: u64) -> Result<u64> {
        let block = self.words.block;
        self.check(comm, call, requested)?;
        allocated_block(comm, block, requested)
    }

    /// That error, if the block could not be allocated.
    pub(crate) fn check(self, comm: &Comm, call: Call, requested: u64) -> Result<()> {
        let at = comm.place(call);
        let OutcomeWords { failure, available, .. } = self.words;
        let limit = failure.checked_sub(SHORT).and_then(|k| Limit::ALL.get(k as usize));
        let error = match (failure, self.error, limit) {
            (0, ..) => return Ok(()),
            (_, Some(error), _) => error,
            (_, None, Some(limit)) => AllocError::Short { available, limit: *limit },
            (_, None, None) => AllocError::Other(Error::system(
                "the rank that allocates for the others could not",
                std::io::Error::other("that rank says why"),
            )),
        };
        Err(comm.context().refusal(error, at, requested))
    }
}

/// The block that was sent, or none for a rank that needs none, after a check.
fn allocated_block(comm: &Comm, block: u64, requested: u64) -> Result<u64> {
    let segment = &comm.context().segment;
    let inside =
        block >= segment.layout().arena && segment.mapping().at(block, requested).is_some();
    if block != 0 && !inside {
        return Err(Error::Damaged { what: "block that another rank has taken" });
    }
    Ok(block)
}
