//! Reads and writes (MPI-4.1 §14.4). A rank moves the bytes itself, piece by piece of its view; so a call that the
//! standard calls collective needs no other rank, unless ranks take turns.

use super::agreement::agree;
use super::conversion::zeros;
use super::sieve::Sieve;
use super::{File, View, view};
use crate::abi::*;
use crate::arguments::{Address, Number};
use crate::calls::{check_buffer, elements};
use crate::datatype::usable;
use crate::failure::{Failure, Outcome};
use crate::status;
use onesided::{CommittedDatatype, Rank};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

/// Which way the data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// What gives the place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// An explicit offset in etypes.
    At(i64),
    /// The individual file pointer.
    Own,
    /// The shared file pointer.
    Shared,
    /// The shared file pointer, in the order of the ranks. Collective.
    Ordered,
}

impl Pointer {
    /// Whether both are of the same kind.
    pub fn is_like(self, other: Pointer) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Memory of the program.
pub struct Buffer {
    pub start: Address,
    pub count: usize,
    pub handle: MPI_Datatype,
    pub datatype: &'static CommittedDatatype,
    /// Bytes of data in memory.
    pub bytes: usize,
}

impl Buffer {
    pub fn new<C: Number>(start: Address, count: C, handle: MPI_Datatype) -> Outcome<Buffer> {
        let (count, datatype) = (elements(count)?, usable(handle)?);
        check_buffer(start, count, datatype)?;
        let bytes = datatype.bytes(count).and_then(|bytes| isize::try_from(bytes).ok());
        match bytes {
            Some(bytes) => Ok(Buffer { start, count, handle, datatype, bytes: bytes as usize }),
            None => {
                let why = format!("{count} elements have more bytes than a file");
                Err(Failure::new(MPI_ERR_COUNT, why))
            }
        }
    }

    /// Where the data lies, if it is one block.
    fn block(&self) -> Option<Address> {
        let range = self.datatype.range(self.count)?;
        let is_block = self.datatype.is_contiguous(self.count);
        is_block.then(|| self.start.offset(range.start as isize))
    }

    /// The data side by side.
    pub fn packed(&self) -> Outcome<Vec<u8>> {
        let mut packed = zeros(self.bytes as u64)?;
        self.start.origin(self.count, self.datatype).pack(&mut packed)?;
        Ok(packed)
    }
}

impl File {
    /// An access, and the bytes that it has moved.
    pub fn access(
        &self,
        direction: Direction,
        pointer: Pointer,
        buffer: Outcome<Buffer>,
    ) -> Outcome<MPI_Status> {
        let view = self.view();
        let asked = self.asked(&view, direction, pointer, buffer);
        let (at, buffer) = match pointer {
            Pointer::Ordered => {
                let own = asked.as_ref().map_or(0, |(etypes, _)| *etypes);
                // A rank whose call is refused takes its turn without data.
                let at = self.turn(own)?;
                (at, asked?.1)
            }
            _ => {
                let (etypes, buffer) = asked?;
                (self.place(pointer, etypes)?, buffer)
            }
        };
        let moves = || match direction {
            Direction::Read => self.read(&view, at, &buffer),
            Direction::Write => self.write(&view, at, &buffer),
        };
        let moved = if self.is_atomic() { self.shared.alone(moves)? } else { moves()? };
        Ok(status::EMPTY.with_bytes(moved as u64))
    }

    /// The etypes of an access that is legal for the file, and its buffer.
    fn asked(
        &self,
        view: &View,
        direction: Direction,
        pointer: Pointer,
        buffer: Outcome<Buffer>,
    ) -> Outcome<(u64, Buffer)> {
        match direction {
            Direction::Read => self.check_reads()?,
            Direction::Write => self.check_writes()?,
        }
        if let Pointer::At(_) | Pointer::Own = pointer {
            self.check_random()?;
        }
        let buffer = buffer?;
        Ok((view.etypes_of(buffer.bytes_in(view.representation())?)?, buffer))
    }

    /// Where an access of that many etypes begins; moves the pointer.
    fn place(&self, pointer: Pointer, etypes: u64) -> Outcome<u64> {
        match pointer {
            Pointer::At(at) => view::offset(at),
            Pointer::Own => {
                let mut state = self.state();
                let at = state.position;
                state.position = at.saturating_add(etypes);
                Ok(at)
            }
            Pointer::Shared | Pointer::Ordered => self.shared.advance(etypes),
        }
    }

    /// Where the access of this rank begins, if all ranks access one behind the other. Collective.
    fn turn(&self, etypes: u64) -> Outcome<u64> {
        let all = self.comm.allgather(&[etypes])?;
        let total = all.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
        let own = self.comm.rank().0 as usize;
        let first = if own == 0 { self.shared.advance(total) } else { Ok(0) };
        let mut start = [*first.as_ref().unwrap_or(&0)];
        agree(&self.comm, first)?;
        self.comm.broadcast(&mut start, Rank(0))?;
        Ok(all[..own].iter().fold(start[0], |sum, one| sum.saturating_add(*one)))
    }

    fn write(&self, view: &View, at: u64, buffer: &Buffer) -> Outcome<usize> {
        if buffer.bytes == 0 {
            return Ok(0);
        }
        self.state().is_dirty = true;
        let representation = view.representation();
        match buffer.block().filter(|_| representation.is_memory()) {
            Some(start) => self.write_bytes(view, at, start.slice(buffer.bytes)?)?,
            None => self.write_bytes(view, at, &buffer.represented(representation)?)?,
        }
        Ok(buffer.bytes)
    }

    fn write_bytes(&self, view: &View, at: u64, mut bytes: &[u8]) -> Outcome {
        let mut data = first_byte(view, at, bytes.len())?;
        while !bytes.is_empty() {
            let (place, most) = view.tiles().place(data)?;
            let (piece, rest) = bytes.split_at(bytes.len().min(most as usize));
            let written = self.file.write_all_at(piece, place);
            written.map_err(|error| self.failure(&error))?;
            (bytes, data) = (rest, data + piece.len() as u64);
        }
        Ok(())
    }

    fn read(&self, view: &View, at: u64, buffer: &Buffer) -> Outcome<usize> {
        if buffer.bytes == 0 {
            return Ok(0);
        }
        let representation = view.representation();
        if !representation.is_memory() {
            let mut bytes = zeros(buffer.bytes_in(representation)?)?;
            let read = self.read_bytes(view, at, &mut bytes)?;
            return buffer.take(representation, &mut bytes[..read]);
        }
        if let Some(start) = buffer.block() {
            return self.read_bytes(view, at, start.slice_mut(buffer.bytes)?);
        }
        // Behind the end of the file the data stays as it is.
        let mut packed = buffer.packed()?;
        let read = self.read_bytes(view, at, &mut packed)?;
        buffer.start.origin_mut(buffer.count, buffer.datatype).unpack(&packed)?;
        Ok(read)
    }

    /// The number of bytes that could be read: fewer at the end of the file.
    fn read_bytes(&self, view: &View, at: u64, bytes: &mut [u8]) -> Outcome<usize> {
        let (mut data, mut read) = (first_byte(view, at, bytes.len())?, 0);
        let mut sieve = Sieve::new(&self.file, view.tiles(), data, bytes.len() as u64)?;
        while read < bytes.len() {
            let (place, most) = view.tiles().place(data)?;
            let end = bytes.len().min(read.saturating_add(most as usize));
            let piece = &mut bytes[read..end];
            let more = match &mut sieve {
                Some(sieve) => sieve.read(piece, place),
                None => self.file.read_at(piece, place),
            };
            match more {
                Ok(0) => break,
                Ok(more) => (read, data) = (read + more, data + more as u64),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Ok(read)
    }
}

/// Where the data of an access begins, if all of it has a place in the file: a refused call moves nothing.
fn first_byte(view: &View, at: u64, bytes: usize) -> Outcome<u64> {
    let data = view.data_at(at)?;
    view.tiles().place(data.saturating_add(bytes as u64 - 1))?;
    Ok(data)
}
