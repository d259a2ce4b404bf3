//! What is under way from this rank to one part of a window (module head, invariant 1).

use super::abi::Handle;
use crate::sync::LockType;
use std::cell::Cell;
use std::mem::take;
use std::ops::Range;

/// The most bytes, and the most runs of bytes, that are under way to one part.
const MOST_BYTES: usize = 1 << 16;
const MOST_RUNS: usize = 256;

/// What an operation does to bytes of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    Write,
    /// An accumulate by that operation on elements of that datatype.
    Update(Handle, Handle),
}

impl Effect {
    /// Whether two operations on the same bytes take effect in the order of their calls, or in an order that
    /// makes no difference. The other MPI orders accumulates of one datatype (MPI-4.1 §12.7.2), and has to
    /// combine only those of one operation.
    fn is_ordered_after(self, earlier: Effect) -> bool {
        self == earlier && self != Effect::Write
    }
}

/// Memory for the buffers of an operation, aligned for every element.
pub(super) type StagedMemory = Vec<u128>;

/// As much, zeroed, as `bytes` bytes need.
pub(super) fn staged(bytes: usize) -> StagedMemory {
    vec![0; bytes.div_ceil(size_of::<u128>())]
}

/// Bytes of the first block of origins, and the most of one that holds several.
const FIRST: usize = 1 << 8;
const LARGEST: usize = 1 << 12;

/// What the other MPI may still read: blocks, of which the last one is filled.
#[derive(Default)]
struct Origins {
    blocks: Vec<StagedMemory>,
    /// Elements of the last block that are used.
    used: usize,
}

impl Origins {
    /// Memory for as many bytes, aligned for every element. It stays where it is.
    fn place(&mut self, bytes: usize) -> &mut [u8] {
        let n = bytes.div_ceil(size_of::<u128>());
        let last = self.blocks.last().map_or(0, Vec::len);
        if n > last - self.used || self.blocks.is_empty() {
            let more = (2 * last * size_of::<u128>()).clamp(FIRST, LARGEST);
            self.blocks.push(staged(more.max(bytes)));
            self.used = 0;
        }
        let place = self.used..self.used + n;
        self.used = place.end;
        let block = self.blocks.last_mut().expect("pushed where there was none");
        &mut bytemuck::cast_slice_mut(&mut block[place])[..bytes]
    }
}

/// The memory of operations under way.
#[derive(Default)]
struct FlightMemory {
    runs: Vec<(Range<u64>, Effect)>,
    origins: Origins,
}

thread_local! {
    /// What this thread's last landing has left, for its next operation: a rank may operate on every part, so parts keep
    /// none, and to allocate it takes a tenth of a microsecond.
    static SPARE: Cell<FlightMemory> = const { Cell::new(FlightMemory::new()) };
}

impl FlightMemory {
    const fn new() -> FlightMemory {
        let origins = Origins { blocks: Vec::new(), used: 0 };
        FlightMemory { runs: Vec::new(), origins }
    }

    /// Leaves the runs and the last block to this thread, empty.
    fn spare(mut self) {
        self.runs.clear();
        let Origins { blocks, used } = &mut self.origins;
        blocks.drain(..blocks.len().saturating_sub(1));
        *used = 0;
        // Where the thread ends, it is freed.
        let _ = SPARE.try_with(|spare| spare.set(self));
    }
}

/// The operations on one part that are under way, and the lock that this rank has of it.
#[derive(Default)]
pub(super) struct Flight {
    memory: FlightMemory,
    /// From the first byte to the end of all runs.
    reach: Range<u64>,
    bytes: usize,
    /// How often all operations were complete.
    pub(super) landings: u64,
    pub(super) lock: Option<LockType>,
}

impl Flight {
    /// Whether an operation can stay under way when its call returns.
    pub(super) fn can_stay(runs: &[Range<u64>], bytes: usize) -> bool {
        runs.len() <= MOST_RUNS && bytes <= MOST_BYTES
    }

    /// Whether an operation can begin while the others are under way.
    pub(super) fn admits(&self, runs: &[Range<u64>], access: Effect, bytes: usize) -> bool {
        let has_space =
            self.bytes + bytes <= MOST_BYTES && self.memory.runs.len() + runs.len() <= MOST_RUNS;
        let meet =
            |run: &Range<u64>, other: &Range<u64>| run.start < other.end && other.start < run.end;
        let meets = |run: &Range<u64>| {
            let mut runs = self.memory.runs.iter();
            meet(run, &self.reach)
                && runs
                    .any(|(other, earlier)| meet(run, other) && !access.is_ordered_after(*earlier))
        };
        self.is_empty() || has_space && !runs.iter().any(meets)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.memory.runs.is_empty()
    }

    /// Adds an operation of `bytes` bytes.
    pub(super) fn add(&mut self, runs: &[Range<u64>], access: Effect, bytes: usize) {
        for run in runs {
            self.reach = match self.is_empty() {
                true => run.clone(),
                false => self.reach.start.min(run.start)..self.reach.end.max(run.end),
            };
            self.memory().runs.push((run.clone(), access));
        }
        self.bytes += bytes;
    }

    /// Memory for what an operation reads that is about to be added.
    pub(super) fn origin(&mut self, bytes: usize) -> &mut [u8] {
        self.memory().origins.place(bytes)
    }

    fn memory(&mut self) -> &mut FlightMemory {
        if self.memory.runs.capacity() == 0 {
            self.memory = SPARE.try_with(Cell::take).unwrap_or_default();
            self.memory.runs.reserve(1);
        }
        &mut self.memory
    }

    /// All are complete.
    pub(super) fn land(&mut self) {
        if self.memory.runs.capacity() != 0 {
            take(&mut self.memory).spare();
        }
        self.bytes = 0;
        self.landings += 1;
    }
}

impl Drop for Flight {
    /// What is never complete is leaked.
    fn drop(&mut self) {
        take(&mut self.memory.origins.blocks).leak();
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "operations of one run")]
mod tests {
    use super::*;

    const SUM: Effect = Effect::Update(1, 1);

    fn after(earlier: Effect, access: Effect, run: Range<u64>) -> bool {
        let mut flight = Flight::default();
        flight.add(&[0..8, 16..24], earlier, 16);
        flight.admits(&[run], access, 8)
    }

    #[test]
    fn what_the_other_mpi_might_reorder_waits() {
        let of_other = [Effect::Update(1, 2), Effect::Update(2, 1)];
        for access in [Effect::Read, SUM] {
            assert!(after(access, access, 0..8) && !after(Effect::Write, access, 7..9));
            assert!(!after(access, Effect::Write, 16..17));
            assert!(of_other.into_iter().all(|other| !after(access, other, 0..1)));
        }
        assert!(!after(Effect::Write, Effect::Write, 23..30));
        assert!(after(Effect::Write, Effect::Write, 8..16), "between the two runs");
    }

    #[test]
    fn space_is_bounded_and_free_again_after_a_landing() {
        let mut flight = Flight::default();
        for run in 0..MOST_RUNS as u64 {
            assert!(flight.admits(&[run..run + 1], Effect::Write, 1));
            flight.add(&[run..run + 1], Effect::Write, 1);
        }
        assert!(!flight.admits(&[1000..1001], Effect::Write, 1));
        flight.land();
        assert!(flight.is_empty() && flight.landings == 1);
        flight.add(&[0..1], Effect::Read, MOST_BYTES);
        assert!(!flight.admits(&[8..9], Effect::Read, 1));
        assert!(
            Flight::can_stay(&[0..1], MOST_BYTES) && !Flight::can_stay(&[0..1], MOST_BYTES + 1)
        );
    }

    #[test]
    fn origins_of_operations_under_way_stay_where_they_are() {
        let mut flight = Flight::default();
        for round in 0..3u8 {
            let places: Vec<(*const u8, usize, u8)> = (0..200)
                .map(|i| {
                    let place = flight.origin(usize::from(i) * 7 + 1);
                    assert!(place.as_ptr().addr().is_multiple_of(size_of::<u128>()));
                    place.fill(i ^ round);
                    (place.as_ptr(), place.len(), i ^ round)
                })
                .collect();
            let blocks = &flight.memory.origins.blocks;
            let all: Vec<&[u8]> = blocks.iter().map(|block| bytemuck::cast_slice(block)).collect();
            for (start, bytes, value) in places {
                let found = all.iter().find_map(|block| {
                    let at = start.addr().checked_sub(block.as_ptr().addr())?;
                    block.get(at..at + bytes)
                });
                assert!(found.is_some_and(|place| place.iter().all(|byte| *byte == value)));
            }
            flight.land();
            assert!(flight.memory.origins.blocks.is_empty());
        }
    }
}
