//! What a rank was writing when it failed: recorded before, and read by those who live.
#![allow(unsafe_code, reason = "copies to checked target memory")]

use super::Win;
use crate::call::Call;
use crate::group::Rank;
use crate::prim::Step;
use crate::shm::{Recording, Write, WriteRecords, copy, copy_past, is_one_store};
use crate::sync;
use std::ops::Range;

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
    /// let opened = window.fence(FenceAssert::NONE).map(drop);
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

    /// Says that this thread is about to write `bytes` bytes from `start` of the part of `target`
    /// on, until the record is ended: around every write that is more than one instruction.
    #[inline(always)]
    pub(crate) fn record(&self, call: Call, target: u32, start: u64, bytes: u64) -> Recording<'_> {
        match self.context().records() {
            Some(records) => records.begin(self.write(call, target, start, bytes)),
            None => Recording::Nothing,
        }
    }

    #[inline(always)]
    fn write(&self, call: Call, target: u32, start: u64, bytes: u64) -> Write {
        Write { call, window: self.block, target, start, bytes }
    }

    /// Copies `bytes` bytes to the part of `target`, where `to` is `start` bytes from its beginning: an
    /// operation of the program, recorded unless it is one instruction.
    ///
    /// # Safety
    /// 1. `from` is valid for reads and `to` for writes of `bytes` bytes.
    /// 2. The ranges do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy_out(
        &self,
        call: Call,
        target: Rank,
        start: impl FnOnce() -> u64,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) {
        if is_one_store(bytes) {
            // SAFETY: the caller's obligations 1 and 2.
            unsafe { copy(from, to, bytes) };
        } else if let Some(records) = self.context().records() {
            let write = self.write(call, target.0, start(), bytes as u64);
            // SAFETY: as above.
            unsafe { copy_recorded(records, write, from, to) };
        } else {
            // SAFETY: as above.
            unsafe { copy_past(Step::MidPut, from, to, bytes) };
        }
    }

    /// As [`Win::record`], of `bytes` around displacement `disp`.
    #[inline(always)]
    pub(crate) fn record_around(
        &self,
        call: Call,
        target: Rank,
        disp: u64,
        bytes: &Range<i64>,
    ) -> Recording<'_> {
        let Some(records) = self.context().records() else { return Recording::Nothing };
        let start = self.start_of(target.0, disp).wrapping_add_signed(bytes.start);
        let bytes = bytes.end.wrapping_sub(bytes.start) as u64;
        records.begin(self.write(call, target.0, start, bytes))
    }

    /// Where displacement `disp` of `target`, a rank of the window, is from the beginning of its part,
    /// in bytes; checked, or to be, by whoever reaches it.
    #[inline]
    pub(crate) fn start_of(&self, target: u32, disp: u64) -> u64 {
        disp.wrapping_mul(u64::from(self.part(target).disp_unit))
    }
}

/// A recorded copy. Apart, so that a job that records nothing has no more of it than a branch.
///
/// # Safety
/// As [`Win::copy_out`], of the bytes of `write`.
#[inline(never)]
unsafe fn copy_recorded(records: &WriteRecords, write: Write, from: *const u8, to: *mut u8) {
    // SAFETY: the caller's obligations 1 and 2.
    let copied = || unsafe { copy_past(Step::MidPut, from, to, write.bytes as usize) };
    match records.own() {
        Some(record) => {
            record.begin(write);
            copied();
            record.end();
        }
        None => {
            let recording = records.begin(write);
            copied();
            recording.end();
        }
    }
}
