//! Origin buffers: elements in a layout, and bytes between them that no rank may touch.
#![allow(unsafe_code, reason = "the engine takes untyped buffers")]

use crate::programs::layout::Layout;
use crate::programs::value::size;
use onesided::engine::{Origin, OriginMut};
use onesided::{CommittedDatatype, Datatype};

/// What no buffer holds before something is written to it.
pub const FRESH: u8 = 0xEE;
/// What a buffer holds that its owner uses for something else.
const REUSED: u8 = 0x5A;

/// Elements in memory that is aligned for every datatype.
pub struct Buffer {
    words: Vec<u128>,
    /// Where displacement 0 lies.
    zero: usize,
    /// Where the elements begin, in their order.
    starts: Vec<usize>,
    size: usize,
}

impl Buffer {
    /// The elements, which lie behind one another in `bytes`, in a layout without overlap.
    pub fn of(layout: Layout, datatype: Datatype, bytes: &[u8]) -> Buffer {
        let size = size(datatype);
        let count = (bytes.len() / size) as u64;
        let range = layout.range(size, count);
        let zero = range.start.min(0).unsigned_abs().next_multiple_of(16) as usize;
        let starts = layout.offsets(size, count).map(|at| (zero as i64 + at) as usize).collect();
        let words = (zero + range.end.max(0) as usize).div_ceil(16);
        let words = vec![u128::from_ne_bytes([FRESH; 16]); words];
        let mut buffer = Buffer { words, zero, starts, size };
        let all = bytemuck::cast_slice_mut::<_, u8>(&mut buffer.words);
        for (start, element) in buffer.starts.iter().zip(bytes.chunks(size)) {
            all[*start..][..size].copy_from_slice(element);
        }
        buffer
    }

    /// As many elements, fresh.
    pub fn fresh(layout: Layout, datatype: Datatype, count: u64) -> Buffer {
        Buffer::of(layout, datatype, &vec![FRESH; count as usize * size(datatype)])
    }

    /// The elements, if nothing between them has been touched.
    pub fn elements(&self) -> Result<Vec<u8>, String> {
        let mut rest = bytemuck::cast_slice::<_, u8>(&self.words).to_vec();
        let mut elements = Vec::new();
        for start in &self.starts {
            let element = &mut rest[*start..][..self.size];
            elements.extend_from_slice(element);
            element.fill(FRESH);
        }
        match rest.iter().position(|byte| *byte != FRESH) {
            Some(at) => Err(format!("byte {at} of the origin buffer is no element's, and written")),
            None => Ok(elements),
        }
    }

    /// Uses the memory for something else.
    pub fn reuse(&mut self) {
        self.words.fill(u128::from_ne_bytes([REUSED; 16]));
    }

    pub fn origin<'d>(&self, count: usize, datatype: &'d CommittedDatatype) -> Origin<'d> {
        let start = self.words.as_ptr().cast::<u8>().wrapping_add(self.zero);
        // SAFETY: the creator of a buffer passes the datatype of its layout, and as many elements;
        // the buffer lives until the session's calls are complete, and `reuse` comes after.
        unsafe { Origin::new(start, count, datatype) }
    }

    /// [`Buffer::origin`] of a buffer that lives until the session's epoch has ended.
    pub fn lasting<'d>(&self, count: usize, datatype: &'d CommittedDatatype) -> Origin<'d> {
        let start = self.words.as_ptr().cast::<u8>().wrapping_add(self.zero);
        // SAFETY: as above; `reuse` comes when the operation is complete at the origin.
        unsafe { Origin::lasting(start, count, datatype) }
    }

    pub fn origin_mut<'d>(
        &mut self,
        count: usize,
        datatype: &'d CommittedDatatype,
    ) -> OriginMut<'d> {
        let start = self.words.as_mut_ptr().cast::<u8>().wrapping_add(self.zero);
        // SAFETY: as above; the elements are initialised.
        unsafe { OriginMut::new(start, count, datatype) }
    }

    /// [`Buffer::origin_mut`], likewise.
    pub fn lasting_mut<'d>(
        &mut self,
        count: usize,
        datatype: &'d CommittedDatatype,
    ) -> OriginMut<'d> {
        let start = self.words.as_mut_ptr().cast::<u8>().wrapping_add(self.zero);
        // SAFETY: as above.
        unsafe { OriginMut::lasting(start, count, datatype) }
    }
}
