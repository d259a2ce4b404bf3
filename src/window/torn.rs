//! What a rank was writing when it failed: recorded before each write, and read by the survivors.

use super::Flavour;
use super::calls::Calls;
use super::memory::ExposedMemory;
use crate::call::Call;
use crate::group::Rank;
use crate::shm::Write;
use crate::sync;

/// Bytes of a window that a rank was writing when it failed. Each is as before, as the call would have
/// left it, or, in an accumulate, any step between, element by element. See
/// [`Win::torn`](crate::engine::Win::torn).
///
/// ```
/// use onesided::{Torn, Window};
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// /// Writes zeros over what failed ranks may have left half written.
/// fn repair(window: &mut Window<u8>) -> onesided::Result<()> {
///     let torn = window.torn();
///     let epoch = window.lock_all()?;
///     for Torn { target, start, bytes, .. } in torn {
///         epoch.put_flush(&vec![0; bytes as usize], target, start as usize)?;
///     }
///     epoch.unlock_all()
/// }
/// let mut window = Window::<u8>::allocate(universe.world(), 1000)?;
/// repair(&mut window)?; // no rank has failed: nothing to do
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// The rank of the window that failed.
    pub origin: Rank,
    /// The call that it was in.
    pub call: Call,
    /// The rank whose part it was writing.
    pub target: Rank,
    /// The first byte, counted from the beginning of that part; of a dynamic window its address, as
    /// a displacement.
    pub start: u64,
    /// How many bytes from there on.
    pub bytes: u64,
}

/// What failed ranks of a window were writing to it when they failed.
pub(super) fn torn(calls: &Calls, memory: &ExposedMemory) -> Vec<Torn> {
    let origins = || (0..calls.comm().size()).map(Rank);
    let failed = |origin: Rank| Some((origin, calls.comm().failed_rank(origin.0)?));
    let failed: Vec<(Rank, u32)> = origins().filter_map(failed).collect();
    // Acquires what the failed ranks wrote last, these records and the bytes; pairs with NoticePre of the
    // launcher, through the word that `failed_rank` has read. Fails without it: models/robust.rs, which
    // has the same pair, by loom_tests/tests/mutants.rs.
    sync::win_sync();
    let torn = |(origin, world)| torn_by(calls, memory, origin, world);
    failed.into_iter().flat_map(torn).collect()
}

/// What the world's rank `world`, which is `origin` here and has failed, was writing.
fn torn_by(calls: &Calls, memory: &ExposedMemory, origin: Rank, world: u32) -> Vec<Torn> {
    let context = calls.context();
    let slot = context.number_of(world).and_then(|number| context.segment.slot(number));
    let Ok(slot) = slot else { return Vec::new() };
    let size = calls.comm().size();
    if slot.writing.are_too_few() {
        let whole = |target| {
            // Any address, because the target attaches what it chooses.
            let is_dynamic = calls.flavour() == Flavour::Dynamic;
            let bytes = if is_dynamic { u64::MAX } else { memory.bytes_of(target) };
            Torn { origin, call: Call::None, target: Rank(target), start: 0, bytes }
        };
        return (0..size).map(whole).collect();
    }
    let ours = |write: &Write| write.window == calls.block() && write.target < size;
    let writes = slot.writing.read().filter(ours);
    let torn = |Write { call, target, start, bytes, .. }: Write| Torn {
        origin,
        call,
        target: Rank(target),
        start,
        bytes,
    };
    writes.map(torn).collect()
}
