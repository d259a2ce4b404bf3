//! Where the elements of an act lie in a buffer: as data, and as a datatype of the library.
//!
//! The places are computed from the standard (MPI-2.2 §4.1), not by the library.

use onesided::{CommittedDatatype, Datatype, DerivedDatatype, Order, Result};

/// Instances of a datatype, one extent apart. Displacements, strides and lengths of blocks are in
/// elements, by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    Contiguous,
    Vector {
        blocks: i64,
        length: i64,
        stride: i64,
    },
    /// The stride in bytes.
    Hvector {
        blocks: i64,
        length: i64,
        stride: i64,
    },
    Indexed {
        lengths: [i64; 2],
        at: [i64; 2],
    },
    IndexedBlock {
        length: i64,
        at: [i64; 3],
    },
    /// Of an array whose rows lie behind one another.
    Subarray {
        sizes: [i64; 2],
        subsizes: [i64; 2],
        starts: [i64; 2],
    },
    /// Of an array whose columns lie behind one another.
    FortranSubarray {
        sizes: [i64; 2],
        subsizes: [i64; 2],
        starts: [i64; 2],
    },
    /// Displacements and extent in bytes.
    Struct {
        lengths: [i64; 2],
        at: [i64; 2],
        extent: i64,
    },
    /// One element, with markers in bytes.
    Resized {
        lower: i64,
        extent: i64,
    },
}

impl Layout {
    /// First byte and elements of the blocks of one instance, in the order of the type map.
    fn blocks(&self, size: i64) -> Vec<(i64, i64)> {
        match *self {
            Layout::Contiguous | Layout::Resized { .. } => vec![(0, 1)],
            Layout::Vector { blocks, length, stride } => {
                (0..blocks).map(|k| (k * stride * size, length)).collect()
            }
            Layout::Hvector { blocks, length, stride } => {
                (0..blocks).map(|k| (k * stride, length)).collect()
            }
            Layout::Indexed { lengths, at } => {
                at.iter().zip(lengths).map(|(at, length)| (at * size, length)).collect()
            }
            Layout::IndexedBlock { length, at } => at.map(|at| (at * size, length)).into(),
            Layout::Subarray { sizes, subsizes, starts } => {
                let row = |row| ((starts[0] + row) * sizes[1] + starts[1]) * size;
                (0..subsizes[0]).map(|k| (row(k), subsizes[1])).collect()
            }
            Layout::FortranSubarray { sizes, subsizes, starts } => {
                let column = |column| ((starts[1] + column) * sizes[0] + starts[0]) * size;
                (0..subsizes[1]).map(|k| (column(k), subsizes[0])).collect()
            }
            Layout::Struct { lengths, at, .. } => at.into_iter().zip(lengths).collect(),
        }
    }

    /// From an instance to the next.
    fn extent(&self, size: i64) -> i64 {
        match *self {
            Layout::Subarray { sizes, .. } | Layout::FortranSubarray { sizes, .. } => {
                sizes[0] * sizes[1] * size
            }
            Layout::Struct { extent, .. } | Layout::Resized { extent, .. } => extent,
            _ => {
                let blocks = self.blocks(size).into_iter().filter(|(_, length)| *length > 0);
                let (starts, ends): (Vec<_>, Vec<_>) =
                    blocks.map(|(at, length)| (at, at + length * size)).unzip();
                ends.iter().max().unwrap_or(&0) - starts.iter().min().unwrap_or(&0)
            }
        }
    }

    /// Elements of one instance.
    pub fn elements(&self) -> u64 {
        self.blocks(1).iter().map(|(_, length)| *length as u64).sum()
    }

    /// Whether the given number of elements are whole instances.
    pub fn divides(&self, count: u64) -> bool {
        let elements = self.elements();
        elements > 0 && count.is_multiple_of(elements)
    }

    /// Instances with the given number of elements.
    pub fn instances(&self, count: u64) -> usize {
        (count / self.elements()) as usize
    }

    /// First byte of each of the given number of elements of `size` bytes, from displacement 0 on.
    pub fn offsets(&self, size: usize, count: u64) -> impl Iterator<Item = i64> + use<> {
        let size = size as i64;
        let (extent, mut instance) = (self.extent(size), Vec::new());
        for (at, length) in self.blocks(size) {
            instance.extend((0..length).map(|k| at + k * size));
        }
        let per = instance.len().max(1);
        (0..count as usize).map(move |k| (k / per) as i64 * extent + instance[k % per])
    }

    /// From the first to behind the last byte of the given number of elements.
    pub fn range(&self, size: usize, count: u64) -> std::ops::Range<i64> {
        let first = self.offsets(size, count).min().unwrap_or(0);
        first..self.offsets(size, count).max().map_or(0, |last| last + size as i64)
    }

    /// Whether elements of `size` bytes share a byte.
    pub fn overlaps(&self, size: usize, count: u64) -> bool {
        let mut offsets: Vec<i64> = self.offsets(size, count).collect();
        offsets.sort_unstable();
        offsets.windows(2).any(|pair| pair[1] - pair[0] < size as i64)
    }

    /// The library's datatype of one instance.
    pub fn datatype(&self, element: Datatype) -> Result<CommittedDatatype> {
        let sizes = |sizes: [i64; 2]| sizes.map(|size| size as usize);
        let array = |all: [[i64; 2]; 3], order| {
            let [all, sub, starts] = all.map(sizes);
            DerivedDatatype::subarray(&all, &sub, &starts, order, element)
        };
        let datatype = match *self {
            Layout::Contiguous => return Ok(<&CommittedDatatype>::from(element).clone()),
            Layout::Vector { blocks, length, stride } => {
                DerivedDatatype::vector(blocks as usize, length as usize, stride, element)
            }
            Layout::Hvector { blocks, length, stride } => {
                DerivedDatatype::hvector(blocks as usize, length as usize, stride, element)
            }
            Layout::Indexed { lengths, at } => {
                DerivedDatatype::indexed(&sizes(lengths), &at, element)
            }
            Layout::IndexedBlock { length, at } => {
                DerivedDatatype::indexed_block(length as usize, &at, element)
            }
            Layout::Subarray { sizes, subsizes, starts } => {
                array([sizes, subsizes, starts], Order::C)
            }
            Layout::FortranSubarray { sizes, subsizes, starts } => {
                array([sizes, subsizes, starts], Order::Fortran)
            }
            Layout::Struct { lengths, at, extent } => {
                // A block as a member of its own, and one as several of them.
                let first = DerivedDatatype::contiguous(lengths[0] as usize, element)?;
                let lengths = [1, lengths[1] as usize];
                let members = DerivedDatatype::structure(&lengths, &at, &[first, element.into()])?;
                DerivedDatatype::resized(0, extent, members)
            }
            Layout::Resized { lower, extent } => DerivedDatatype::resized(lower, extent, element),
        };
        Ok(datatype?.commit())
    }

    /// The layout of that name with those numbers, in the order of the fields.
    pub fn named(name: &str, numbers: &[i64]) -> Option<Layout> {
        Some(match (name, numbers) {
            ("Contiguous", &[]) => Layout::Contiguous,
            ("Vector", &[blocks, length, stride]) => Layout::Vector { blocks, length, stride },
            ("Hvector", &[blocks, length, stride]) => Layout::Hvector { blocks, length, stride },
            ("Indexed", &[a, b, c, d]) => Layout::Indexed { lengths: [a, b], at: [c, d] },
            ("IndexedBlock", &[length, a, b, c]) => Layout::IndexedBlock { length, at: [a, b, c] },
            ("Subarray", &[a, b, c, d, e, f]) => {
                Layout::Subarray { sizes: [a, b], subsizes: [c, d], starts: [e, f] }
            }
            ("FortranSubarray", &[a, b, c, d, e, f]) => {
                Layout::FortranSubarray { sizes: [a, b], subsizes: [c, d], starts: [e, f] }
            }
            ("Struct", &[a, b, c, d, extent]) => {
                Layout::Struct { lengths: [a, b], at: [c, d], extent }
            }
            ("Resized", &[lower, extent]) => Layout::Resized { lower, extent },
            _ => return None,
        })
    }
}
