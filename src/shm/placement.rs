//! The words of the segment with the processors of the ranks.

use super::segment::{Placed, PlacedSlice, Segment};
use crate::error::Result;
use crate::prim::{JobPlacement, PlacementWords, Word32};
use std::sync::Arc;

/// The words of a job, with the mapping that holds them.
pub(crate) struct SegmentPlacement {
    common: Placed<PlacementWords>,
    ranks: PlacedSlice<Word32>,
}

impl SegmentPlacement {
    pub(crate) fn new(segment: &Arc<Segment>) -> Result<SegmentPlacement> {
        let layout = segment.layout();
        let ranks = layout.places + size_of::<PlacementWords>() as u64;
        Ok(SegmentPlacement {
            common: segment.place(layout.places)?,
            ranks: segment.place_all(ranks, layout.ranks as usize)?,
        })
    }
}

impl JobPlacement for SegmentPlacement {
    fn common(&self) -> &PlacementWords {
        &self.common
    }

    fn ranks(&self) -> &[Word32] {
        &self.ranks
    }
}
