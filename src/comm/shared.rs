//! The shared block of a communicator, and its lifetime.

use super::exchange::{DESCRIBED, HEAD, INSIDE};
use crate::context::Context;
use crate::error::Result;
use crate::prim::{ParkWord, Site, monotonic};
use crate::shm::{
    AllocError, CommWords, Placed, PlacedSlice, RegistryWords, Segment, Stages, StagingBuffer,
};
use crate::sync::{Barrier, Tree, TreeLine};
use std::sync::Arc;

/// The memory fences of the registry's lock: the rank inside allocates.
pub(super) const REGISTRY_SITES: (Site, Site) = (Site::HeapPost, Site::HeapPre);

/// Barrier words and staging buffers of one communicator. One of a single rank needs none.
pub(super) struct SharedBlock {
    pub(super) words: Placed<CommWords>,
    pub(super) stages: Stages,
    /// The lines of the trees in which arrivals at the barriers are combined; none without trees.
    trees: PlacedSlice<TreeLine>,
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
        Ok(SharedBlock { words: segment.place(words)?, stages, trees, block })
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

    /// The word that a rank changes when it has staged.
    #[inline]
    pub(super) fn published<'s>(
        &self,
        segment: &'s Segment,
        stage: StagingBuffer,
    ) -> Result<&'s ParkWord> {
        segment.mapping().view(self.stages.beginning(stage) + DESCRIBED as u64)
    }

    /// Where a chunk of `length` bytes is staged.
    #[inline]
    pub(super) fn chunk(&self, stage: StagingBuffer, length: u64) -> u64 {
        match length <= INSIDE as u64 {
            true => self.stages.beginning(stage) + HEAD,
            false => self.stages.rest(stage),
        }
    }

    /// [`leave`] of a freed shared block that the world's ranks `members` use.
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
    mut users: impl Iterator<Item = u32>,
) -> std::result::Result<(), AllocError> {
    let waiter = context.excluded();
    words.left.insert(context.rank);
    match users.all(|user| words.left.contains(user) || waiter.failed.has_failed(user)) {
        true => context.segment.heap().free(block, &waiter),
        false => Ok(()),
    }
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
