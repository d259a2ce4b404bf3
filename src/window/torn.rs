//! What a rank was writing when it failed: recorded before, and read by those who live.

use super::Win;
use crate::call::Call;
use crate::group::Rank;
use crate::shm::Write;
use crate::sync;

/// Bytes of a window that a rank was writing when it failed: each is as before, or as the call would
/// have left it, or, of an accumulate, any step between, element by element. See [`Win::torn`].
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

impl Win {
    /// What ranks of the window that have failed were writing to it then (an extension). All other
    /// bytes are as calls that were whole have left them.
    ///
    /// One entry for each thread of a failed rank that was in the middle of a put, an accumulate, a
    /// local store, or a store to a [`SharedPart`](crate::SharedPart); none for what is written by one
    /// instruction, 8 bytes or one element of an accumulate. Of a layout or a shape the entry covers
    /// everything from the first byte to the last, also what lies between the blocks. It is there if
    /// the rank was about to write the first byte or had just written the last one; so an entry
    /// does not say that anything is torn. Where more than 16 threads of a rank have written, and
    /// one of the others was writing, the whole part of each rank is named (call
    /// [`Call::None`]). Not known is what a program writes without the library: by the address of a
    /// part, or through the slice of [`lock_local`](crate::Window::lock_local).
    ///
    /// Empty in a job started without `--on-failure=continue`, where nobody lives to ask. The
    /// entries stay, also behind [`Win::recover`], until the window is freed: by then, who needs the
    /// bytes has put them right.
    ///
    /// Local; does not block. Its answer is complete for the ranks that
    /// [`Comm::failed`](crate::Comm::failed) names, and those that an error or
    /// [`Win::recover`] has named are among them.
    ///
    /// ```no_run
    /// # use onesided::{Error, FenceAssert, Torn, Universe, Window};
    /// # fn main() -> onesided::Result<()> {
    /// # let universe = Universe::init()?;
    /// # let mut window = Window::<u64>::allocate(universe.world(), 1 << 20)?;
    /// let opened = window.fence().map(drop);
    /// if let Err(Error::RankFailed { .. }) = opened {
    ///     for Torn { origin, call, target, start, bytes, .. } in window.torn() {
    ///         println!("rank {origin} in {call}: {bytes} bytes of rank {target}, from {start} on");
    ///     }
    ///     window.recover()?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn torn(&self) -> Vec<Torn> {
        let origins = || (0..self.comm().size()).map(Rank);
        let failed = |origin: Rank| Some((origin, self.comm().failed_rank(origin.0)?));
        let failed: Vec<(Rank, u32)> = origins().filter_map(failed).collect();
        // Observes what the dead have written last, these records and the bytes; pairs with NoticePre
        // of the launcher, through the word that `failed_rank` has read. Fails without it:
        // models/robust.rs, which has the same pair, by loom_tests/tests/mutants.rs.
        sync::win_sync();
        failed.into_iter().flat_map(|(origin, world)| self.torn_by(origin, world)).collect()
    }

    /// What the world's rank `world`, which is `origin` here and has failed, was writing.
    fn torn_by(&self, origin: Rank, world: u32) -> Vec<Torn> {
        let Ok(slot) = self.context().segment.slot(world) else { return Vec::new() };
        let size = self.comm().size();
        if slot.writing.are_too_few() {
            let whole = |target| {
                let bytes = self.whole_part(target);
                Torn { origin, call: Call::None, target: Rank(target), start: 0, bytes }
            };
            return (0..size).map(whole).collect();
        }
        let ours = |write: &Write| write.window == self.block && write.target < size;
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

    /// Bytes of a rank's part; all addresses, where it attaches what it likes.
    fn whole_part(&self, rank: u32) -> u64 {
        match self.flavour() {
            super::Flavour::Dynamic => u64::MAX,
            _ => self.bytes_of(rank),
        }
    }
}
