//! Where the data of a view lies in the file (MPI-4.1 §14.3): instances of the filetype one behind the other, from
//! the displacement on.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use onesided::CommittedDatatype;

/// The places of the data that a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The first byte of data in the file.
    start: u64,
    /// From one instance to the next.
    extent: u64,
    /// Bytes of data in an instance.
    size: u64,
    /// The pieces of an instance, in the order of the file.
    pieces: Vec<Piece>,
}

/// Bytes of an instance that lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    offset: u64,
    bytes: u64,
    /// Data in the pieces before it.
    before: u64,
}

impl Tiles {
    /// Every byte of the file.
    pub fn bytes() -> Tiles {
        let pieces = vec![Piece { offset: 0, bytes: 1, before: 0 }];
        Tiles { start: 0, extent: 1, size: 1, pieces }
    }

    /// The places by a displacement and a filetype. `is_written` forbids overlaps (MPI-4.1 §14.3).
    pub fn new(disp: u64, filetype: &CommittedDatatype, is_written: bool) -> Outcome<Tiles> {
        let wrong = |why: &str| Failure::new(MPI_ERR_TYPE, format!("the filetype {why}"));
        let mut end = 0;
        for (offset, _) in filetype.pieces(2) {
            if offset < end {
                return Err(wrong("has displacements that are negative or that decrease"));
            }
            end = offset;
        }
        if is_written && filetype.overlaps(2) {
            return Err(wrong("overlaps itself, and the file is opened for writing"));
        }
        let first = filetype.pieces(1).next().map_or(0, |(offset, _)| offset as u64);
        let mut tiles = Tiles {
            start: disp.saturating_add(first),
            extent: filetype.datatype().extent() as u64,
            size: 0,
            pieces: Vec::new(),
        };
        for (offset, bytes) in filetype.pieces(1) {
            tiles.add(offset as u64 - first, bytes);
        }
        Ok(tiles)
    }

    fn add(&mut self, offset: u64, bytes: u64) {
        let before = self.size;
        self.size += bytes;
        match self.pieces.last_mut() {
            Some(last) if last.offset + last.bytes == offset => last.bytes += bytes,
            _ => self.pieces.push(Piece { offset, bytes, before }),
        }
    }

    /// The place in the file of a byte of the data, and how many follow it there without a gap.
    pub fn place(&self, data: u64) -> Outcome<(u64, u64)> {
        let found = self.find(data).filter(|(_, bytes)| *bytes > 0);
        found.ok_or_else(|| {
            let why = match self.size {
                0 => "the view shows no bytes of the file".into(),
                _ => format!("byte {data} of the view is behind the largest file"),
            };
            Failure::new(MPI_ERR_ARG, why)
        })
    }

    fn find(&self, data: u64) -> Option<(u64, u64)> {
        let most = i64::MAX as u64;
        if let [Piece { bytes, .. }] = self.pieces[..]
            && bytes == self.extent
        {
            let place = self.start.checked_add(data)?;
            return Some((place, most.checked_sub(place)?));
        }
        let (tile, within) = (data.checked_div(self.size)?, data % self.size);
        let k = self.pieces.partition_point(|piece| piece.before <= within) - 1;
        let Piece { offset, bytes, before } = self.pieces[k];
        let inside = within - before;
        let start = tile.checked_mul(self.extent)?.checked_add(self.start)?;
        let place = start.checked_add(offset + inside)?;
        Some((place, (bytes - inside).min(most.checked_sub(place)?)))
    }

    /// Bytes of a piece, on average.
    pub fn mean_piece(&self) -> u64 {
        self.size / (self.pieces.len() as u64).max(1)
    }

    /// Bytes of data in the first `end` bytes of the file.
    pub fn data_before(&self, end: u64) -> u64 {
        let inside = end.saturating_sub(self.start);
        if inside == 0 || self.size == 0 || self.extent == 0 {
            return 0;
        }
        let (tile, within) = (inside / self.extent, inside % self.extent);
        let part = |piece: &Piece| within.saturating_sub(piece.offset).min(piece.bytes);
        tile * self.size + self.pieces.iter().map(part).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onesided::{Datatype, DerivedDatatype};

    /// Two integers with one between them, at a distance of four.
    fn gap() -> CommittedDatatype {
        let vector = DerivedDatatype::vector(2, 1, 2, Datatype::I32).unwrap();
        DerivedDatatype::resized(0, 16, vector).unwrap().commit()
    }

    #[test]
    fn data_lies_in_the_pieces_of_the_instances() {
        let tiles = Tiles::new(100, &gap(), true).unwrap();
        let found: Vec<_> = [0, 3, 4, 8, 15].map(|data| tiles.find(data).unwrap()).into();
        assert_eq!(found, [(100, 4), (103, 1), (108, 4), (116, 4), (127, 1)]);
        let ends = [0, 100, 101, 104, 107, 109, 112, 116, 117].map(|end| tiles.data_before(end));
        assert_eq!(ends, [0, 0, 1, 4, 4, 5, 8, 8, 9]);
    }

    #[test]
    fn bytes_lie_side_by_side() {
        let tiles = Tiles::new(8, &Datatype::I64.into(), true).unwrap();
        assert_eq!(tiles.find(5), Some((13, i64::MAX as u64 - 13)));
        assert_eq!((tiles.data_before(7), tiles.data_before(20)), (0, 12));
        assert_eq!(tiles.find(u64::MAX - 8), None);
        let last = i64::MAX as u64 - 9;
        assert_eq!(tiles.place(last).unwrap(), (i64::MAX as u64 - 1, 1));
        assert!(tiles.place(last + 1).is_err());
        assert_eq!(Tiles::bytes(), Tiles::new(0, &Datatype::U8.into(), true).unwrap());
    }

    #[test]
    fn a_filetype_does_not_go_backwards() {
        let back = DerivedDatatype::indexed(&[1, 1], &[2, 0], Datatype::I32).unwrap().commit();
        assert!(Tiles::new(0, &back, false).is_err());
        let same = DerivedDatatype::indexed(&[2, 1], &[0, 1], Datatype::I32).unwrap().commit();
        assert!(Tiles::new(0, &same, true).is_err());
        assert!(Tiles::new(0, &same, false).is_ok());
        let before = DerivedDatatype::indexed(&[1], &[-1], Datatype::I32).unwrap().commit();
        assert!(Tiles::new(0, &before, false).is_err());
    }

    #[test]
    fn nothing_has_no_place() {
        let nothing = DerivedDatatype::contiguous(0, Datatype::I32).unwrap().commit();
        let tiles = Tiles::new(0, &nothing, true).unwrap();
        assert!(tiles.place(0).is_err());
        assert_eq!(tiles.data_before(100), 0);
    }
}
