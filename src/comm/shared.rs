//! The shared block of a communicator, and its lifetime.

use super::exchange::{CHUNK, INSIDE};
use crate::context::Context;
use crate::error::Result;
use crate::prim::{Site, Word32, Word64, monotonic};
use crate::shm::{
    AllocError, CommWords, MOST_LONG, Placed, PlacedSlice, RegistryWords, STAGE_LONG, Segment,
    Stages, StagingBuffer, StagingSlot,
};
use crate::sync::{Barrier, Tree, TreeLine};
use std::sync::Arc;

/// The memory fences of the registry's lock: the rank inside allocates.
pub(super) const REGISTRY_SITES: (Site, Site) = (Site::HeapPost, Site::HeapPre);

/// There is no memory for longer data. No block is there.
const NO_LONGS: u64 = 1;

/// Barrier words and staging buffers of one communicator. One of a single rank needs none.
pub(super) struct SharedBlock {
    pub(super) words: Placed<CommWords>,
    pub(super) stages: Stages,
    /// The beginnings of all staging buffers.
    slots: PlacedSlice<StagingSlot>,
    /// The lines of the trees in which arrivals at the barriers are combined; none without trees.
    trees: PlacedSlice<TreeLine>,
    /// Where this rank knows its buffers for longer data to be; zero before the first long collective, and
    /// [`NO_LONGS`] where there are none.
    longs: Word64,
    /// What all know then of [`CommWords::sharing`].
    sharing: Word32,
    /// Where its block is; zero for the world's, which is no block.
    pub(super) block: u64,
}

impl SharedBlock {
    pub(super) fn world(segment: &Arc<Segment>) -> Result<SharedBlock> {
        let layout = segment.layout();
        SharedBlock::placed(segment, layout.world, layout.stages_of_world(), 0)
    }

    fn placed(
        segment: &Arc<Segment>,
        words: u64,
        stages: Stages,
        block: u64,
    ) -> Result<SharedBlock> {
        let trees = segment.place_all(stages.trees(), stages.lines as usize)?;
        let slots = segment.place_all(stages.at, stages.all_slots() as usize)?;
        let words = segment.place(words)?;
        let (longs, sharing) = (Word64::default(), Word32::default());
        Ok(SharedBlock { words, stages, slots, trees, longs, sharing, block })
    }

    /// The shared block of `members` ranks at `block`, which is zero for a communicator of one rank.
    pub(super) fn at(
        block: u64,
        members: u32,
        segment: &Arc<Segment>,
    ) -> Result<Option<SharedBlock>> {
        if block == 0 {
            return Ok(None);
        }
        let stages = segment.layout().stages_of(block, members);
        SharedBlock::placed(segment, block, stages, block).map(Some)
    }

    /// The barrier of a slot as `rank` uses it.
    #[inline]
    pub(super) fn barrier(&self, slot: usize, rank: u32) -> Barrier<'_> {
        Barrier::new(&self.words.barriers[slot], Tree::of(&self.trees, slot, || rank))
    }

    /// What the ranks stage for a collective.
    #[inline]
    pub(super) fn slots(&self, number: u64) -> &[StagingSlot] {
        let first = self.stages.slot(StagingBuffer { rank: 0, number }) as usize;
        &self.slots[first..][..self.stages.members as usize]
    }

    /// What a rank stages.
    #[inline]
    pub(super) fn slot(&self, stage: StagingBuffer) -> &StagingSlot {
        &self.slots[self.stages.slot(stage) as usize]
    }

    /// Where a chunk of `length` bytes is staged; one that does not fit the slot, in that buffer of its rank.
    #[inline]
    pub(super) fn chunk(&self, stage: StagingBuffer, length: u64, buffer: u64) -> u64 {
        match length {
            _ if length <= INSIDE as u64 => self.stages.inside(stage),
            _ if length <= CHUNK as u64 || !self.has_longs() => {
                self.stages.rest(stage.rank, buffer)
            }
            _ => self.stages.long(self.longs.load(), stage.rank, buffer),
        }
    }

    /// The bytes that a rank can stage.
    #[inline]
    pub(super) fn longest(&self) -> u64 {
        if self.has_longs() { STAGE_LONG } else { CHUNK as u64 }
    }

    /// How many ranks share a processor; the same on all ranks, once they stage longer data.
    pub(super) fn sharing(&self) -> u32 {
        self.sharing.load()
    }

    fn has_longs(&self) -> bool {
        self.longs.load() > NO_LONGS
    }

    /// Whether the ranks have had no long collective yet. After their first one they stage longer data, too.
    pub(super) fn may_get_longs(&self) -> bool {
        self.longs.load() == 0 && self.stages.members <= MOST_LONG
    }

    /// Takes the buffers for longer data, on one rank, before it arrives at the first long collective.
    pub(super) fn take_longs(&self, context: &Context) {
        if self.words.longs.load() != 0 {
            // Taken in one in which ranks did not agree.
            return;
        }
        let taken = context.segment.heap().allocate(self.stages.long_bytes(), &context.excluded());
        // Without them longer data are sent as messages.
        self.words.longs.store(taken.unwrap_or_default());
        self.words.sharing.store(context.sharing());
    }

    /// All ranks have arrived at the first long collective and agree.
    pub(super) fn learn_longs(&self, segment: &Segment) {
        let longs = self.words.longs.load();
        let is_there =
            longs != 0 && segment.mapping().at(longs, self.stages.long_bytes()).is_some();
        self.sharing.store(self.words.sharing.load());
        self.longs.store(if is_there { longs } else { NO_LONGS });
    }

    /// [`leave`] of a freed shared block that the world's ranks `members` use, which share the segment.
    ///
    /// Blocks while another rank is in the registry.
    pub(super) fn leave(
        &self,
        context: &Context,
        members: &[u32],
    ) -> std::result::Result<(), AllocError> {
        let registry = registry(&context.segment)?;
        registry.lock.0.run(REGISTRY_SITES, &context.excluded(), |_| {
            leave(context, &self.words, self.block, members.iter().copied())
        })?
    }
}

/// Records, in the registry, that this rank will not use the shared block at `block` any more. The last
/// live one of its `users` frees it.
pub(super) fn leave(
    context: &Context,
    words: &CommWords,
    block: u64,
    users: impl Iterator<Item = u32>,
) -> std::result::Result<(), AllocError> {
    let waiter = context.excluded();
    words.left.insert(context.here);
    for user in users {
        let number = context.number_of(user)?;
        if !words.left.contains(number) && !waiter.failed.has_failed(number) {
            return Ok(());
        }
    }
    let (heap, longs) = (context.segment.heap(), words.longs.load());
    if longs != 0 {
        heap.free(longs, &waiter)?;
    }
    heap.free(block, &waiter)
}

/// Takes the block of a communicator for `members` ranks and clears its words.
pub(super) fn allocate(context: &Context, members: u32) -> std::result::Result<u64, AllocError> {
    let segment = &context.segment;
    let block =
        segment.heap().allocate(segment.layout().comm_block_bytes(members), &context.excluded())?;
    let stages = segment.layout().stages_of(block, members);
    segment.mapping().clear(block, stages.rests() - block)?;
    segment.mapping().view::<CommWords>(block)?.made.store(monotonic());
    Ok(block)
}

pub(super) fn registry(segment: &Segment) -> Result<&RegistryWords> {
    segment.mapping().view(segment.layout().registry)
}
