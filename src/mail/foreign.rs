//! Records by another MPI: the data of a record, and behind them its words.

use super::outgoing::{Head, RecordKind, damaged};
use crate::error::{Error, Result};
use crate::foreign::{self, ForeignError, ForeignResult};

/// The words of a record.
type Words = [u64; 6];

/// Sends a record with these data to a rank of the job. Does not block.
pub(crate) fn send(to: u32, head: &Head, data: Box<[u8]>) -> ForeignResult<()> {
    let Head { kind, tag, context: [place_of, made], bytes, token, place } = *head;
    let first = u64::from(tag as u32) << 32 | u64::from(kind as u32);
    let words: Words = [first, place_of, made, bytes, token, place];
    // Behind the data, so that the receiver cuts them off without a copy.
    let mut record = Vec::from(data);
    record.extend_from_slice(bytemuck::bytes_of(&words));
    foreign::send_record(to, record.into())
}

/// A record that has arrived.
pub(crate) struct ForeignRecord {
    /// A rank of the job.
    pub(crate) sender: u32,
    pub(crate) head: Head,
    pub(crate) data: Box<[u8]>,
}

/// The next one. Does not block.
pub(crate) fn next(refused: impl Fn(ForeignError) -> Error) -> Result<Option<ForeignRecord>> {
    let Some((sender, record)) = foreign::next_record().map_err(refused)? else { return Ok(None) };
    let mut data = Vec::from(record);
    let cut = data.len().checked_sub(size_of::<Words>()).ok_or_else(damaged)?;
    let [first, place_of, made, bytes, token, place]: Words =
        bytemuck::pod_read_unaligned(&data[cut..]);
    data.truncate(cut);
    let kind = RecordKind::of_word(first as u32).ok_or_else(damaged)?;
    let (tag, context) = ((first >> 32) as i32, [place_of, made]);
    let is_whole = kind != RecordKind::Data || bytes == cut as u64;
    let head = Head { kind, tag, context, bytes, token, place };
    match is_whole && tag >= 0 {
        true => Ok(Some(ForeignRecord { sender, head, data: data.into() })),
        false => Err(damaged()),
    }
}
