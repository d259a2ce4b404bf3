//! Packing and unpacking: the entries of a datatype without the gaps between them.

use super::strips::{TransferSide, zip_strips};
use super::{CommittedDatatype, build};
use crate::call::Call;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use std::ops::Range;

impl CommittedDatatype {
    /// Copies the entries of `count` instances from `from` to `to`, without gaps, in the order of the
    /// type map (`MPI_Pack`, MPI-2.2 §4.2). Displacement 0 is at byte `base` of `from`. Local; does
    /// not block.
    ///
    /// # Errors
    /// [`Error::Count`] if `to` does not have exactly the bytes of the entries; [`Error::Argument`] if an
    /// entry leaves `from`.
    pub fn pack(&self, count: usize, from: &[u8], base: usize, to: &mut [u8]) -> Result<()> {
        let (start, bytes) = (base, to.len());
        let base = self.check(Call::Pack, count, from.len(), base, bytes)?;
        if self.plain(count).is_some() && bytes > 0 {
            to.copy_from_slice(&from[start..start + bytes]);
            return Ok(());
        }
        let sides = (TransferSide::Typed(self, count), TransferSide::Packed(to.len() as u64));
        zip_strips(sides.0, sides.1, |strip| strip.copy_slices(from, base, to, 0));
        Ok(())
    }

    /// Copies the packed entries `from` to the places of `count` instances in `to` (`MPI_Unpack`,
    /// MPI-2.2 §4.2). Displacement 0 is at byte `base` of `to`. If entries share a byte, the last one
    /// counts. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Count`] if `from` does not have exactly the bytes of the entries; [`Error::Argument`] if
    /// an entry leaves `to`.
    pub fn unpack(&self, count: usize, from: &[u8], to: &mut [u8], base: usize) -> Result<()> {
        let (start, bytes) = (base, from.len());
        let base = self.check(Call::Unpack, count, to.len(), base, bytes)?;
        if self.plain(count).is_some() && bytes > 0 {
            to[start..start + bytes].copy_from_slice(from);
            return Ok(());
        }
        let sides = (TransferSide::Packed(from.len() as u64), TransferSide::Typed(self, count));
        zip_strips(sides.0, sides.1, |strip| strip.copy_slices(from, 0, to, base));
        Ok(())
    }

    /// Checks that the buffers have the entries; returns `base` as an offset.
    #[inline]
    fn check(
        &self,
        call: Call,
        count: usize,
        laid_out: usize,
        base: usize,
        packed: usize,
    ) -> Result<i64> {
        // No slice has more than `i64::MAX` bytes, so nothing below overflows.
        let (offset, len) = (base as i64, laid_out as i64);
        let fits = |range: &Range<i64>| range.start >= -offset && range.end <= len - offset;
        match (self.bytes(count), self.range(count)) {
            (Some(bytes), Some(range))
                if bytes == packed as u64 && (bytes == 0 || offset >= 0 && fits(&range)) =>
            {
                Ok(offset)
            }
            _ => self.misfit(call, count, laid_out, base, packed),
        }
    }

    /// The error for invalid buffers.
    #[cold]
    #[inline(never)]
    fn misfit(
        &self,
        call: Call,
        count: usize,
        laid_out: usize,
        base: usize,
        packed: usize,
    ) -> Result<i64> {
        let needed = self.bytes(count).unwrap_or(u64::MAX) as usize;
        build::equally_long(call, "packed buffer, in bytes,", packed, needed)?;
        let range = self.range(count);
        let problem = format!(
            "{count} of {self:?} at byte {base}, with bytes {range:?} from there on, leave a \
             buffer of {laid_out} bytes"
        );
        build::refuse(call, problem)
    }
}
