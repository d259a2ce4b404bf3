//! Small pieces of a file that lie near one another, read together.

use super::tiles::Tiles;
use crate::failure::Outcome;
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::os::unix::fs::FileExt;

/// The most bytes that are read together.
const MOST: u64 = 256 << 10;

/// A piece of this size is worth a read of its own.
const LARGE: u64 = 4 << 10;

/// Bytes of a file, some of which a view shows.
pub struct Sieve<'f> {
    file: &'f File,
    /// The end of the data that is wanted.
    end: u64,
    /// The place of the bytes that have been read.
    start: u64,
    bytes: Vec<u8>,
}

impl<'f> Sieve<'f> {
    /// For `bytes` bytes of the data of a view, from byte `data` on; `None` if each piece is better read alone.
    pub fn new(file: &'f File, tiles: &Tiles, data: u64, bytes: u64) -> Outcome<Option<Sieve<'f>>> {
        let ((start, first), (last, _)) = (tiles.place(data)?, tiles.place(data + bytes - 1)?);
        let is_dense = (last - start) / 16 <= bytes;
        if bytes <= first || !is_dense || tiles.mean_piece() >= LARGE {
            return Ok(None);
        }
        Ok(Some(Sieve { file, end: last + 1, start, bytes: Vec::new() }))
    }

    /// Reads a piece: fewer bytes at the end of the file.
    pub fn read(&mut self, piece: &mut [u8], place: u64) -> Result<usize> {
        let has =
            |sieve: &Self| place + piece.len() as u64 <= sieve.start + sieve.bytes.len() as u64;
        if !has(self) {
            self.fill(place, piece.len() as u64)?;
        }
        let from = &self.bytes[((place - self.start) as usize).min(self.bytes.len())..];
        let read = from.len().min(piece.len());
        piece[..read].copy_from_slice(&from[..read]);
        Ok(read)
    }

    /// Reads from a place on: a piece, and up to the end of what is wanted or of the file.
    fn fill(&mut self, place: u64, piece: u64) -> Result<()> {
        self.start = place;
        self.bytes.resize(self.end.saturating_sub(place).max(piece).min(MOST) as usize, 0);
        let mut filled = 0;
        while filled < self.bytes.len() {
            match self.file.read_at(&mut self.bytes[filled..], place + filled as u64) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.truncate(filled);
        Ok(())
    }
}
