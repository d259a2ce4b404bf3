//! The block of a window: rank 0 takes it from the segment, and its outcome, block or error, is
//! everybody's: either every rank has the window or every rank has the same error.

use super::options::Making;
use super::plan::Plan;
use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::group::Rank;
use crate::prim::JobFailed;
use crate::shm::{AllocError, Heap, Limit, WindowHeader};

/// Takes the block of a window, cleared and named.
///
/// Collective over `comm`; the outcome is the same on all ranks.
pub(super) fn take(making: &Making<'_>, plan: &Plan) -> Result<u64> {
    let (comm, call, name) = (making.comm, making.flavour.call(), &making.name);
    let outcome = match comm.rank() {
        0 => Outcome::of(allocate(comm, plan, name)),
        _ => Outcome::default(),
    };
    let Outcome { mut words, error } = outcome;
    comm.broadcast_within(call, &mut words, Rank(0))?;
    Outcome { words, error }.block(comm, call, plan)
}

/// Rank 0: takes the block, clears what may hold old bytes, names it.
fn allocate(comm: &Comm, plan: &Plan, name: &str) -> std::result::Result<u64, AllocError> {
    let context = comm.context();
    let block = context.segment.heap().allocate(plan.total, &context.waiter())?;
    let mapping = context.segment.mapping();
    for (at, n) in Heap::dirty_edges(block, plan.total) {
        mapping.clear(at, n)?;
    }
    mapping.view::<WindowHeader>(block)?.set_name(name);
    Ok(block)
}

/// What rank 0 broadcasts: the block, or why there is none.
#[derive(Default)]
struct Outcome {
    /// Block, kind of failure, bytes available.
    words: [u64; 3],
    /// The error as rank 0 has it, which only rank 0 keeps in full.
    error: Option<AllocError>,
}

/// Kinds of failure: the limits count on from here.
const OTHER: u64 = 1;
const SHORT: u64 = 2;

impl Outcome {
    fn of(block: std::result::Result<u64, AllocError>) -> Outcome {
        match block {
            Ok(block) => Outcome { words: [block, 0, 0], error: None },
            Err(error) => {
                let words = match &error {
                    AllocError::Short { available, limit } => {
                        [0, SHORT + *limit as u64, *available]
                    }
                    _ => [0, OTHER, 0],
                };
                Outcome { words, error: Some(error) }
            }
        }
    }

    fn block(self, comm: &Comm, call: Call, plan: &Plan) -> Result<u64> {
        let at = Place { call, window: None, rank: Some(comm.rank()) };
        let [block, failure, available] = self.words;
        let limit = failure.checked_sub(SHORT).and_then(|k| Limit::ALL.get(k as usize));
        match (failure, self.error, limit) {
            (0, ..) => Ok(block),
            (_, _, Some(limit)) => {
                let (requested, limit) = (plan.total, limit.name());
                Err(Error::NoMemory { at, requested, available, limit })
            }
            (_, Some(AllocError::Other(error)), _) => Err(error),
            (_, Some(AllocError::JobFailed), _) => Err(comm.context().job_failed(JobFailed, at)),
            _ => Err(Error::system(
                "the block of a window: rank 0 could not allocate it",
                std::io::Error::other("rank 0 says why"),
            )),
        }
    }
}
