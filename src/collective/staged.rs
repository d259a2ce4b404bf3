//! The short form of a collective: what a rank stages, and what it takes from the staging area when all
//! have arrived.

use super::buffer::{Buffer, BufferMut, Has, HeldDatatype};
use crate::comm::Staged;
use crate::error::Result;
use crate::ops::HasDatatype;
use crate::shm::{ReadAs, Segment};
use bytemuck::Pod;
use std::borrow::Borrow;
use std::slice::from_ref;

/// Parts of a buffer, one for each rank.
pub(super) enum BufferParts<B> {
    /// The same number of instances each, one behind the other, the same on all ranks.
    Equal(B, usize),
    Listed(Vec<B>),
}

/// A buffer that can be divided into parts.
pub(super) trait Cut: Clone {
    fn cut(&self, first: usize, count: usize) -> Self;
    /// How many instances it has.
    fn instances(&self) -> usize;
}

impl<D: HasDatatype> Cut for Buffer<D> {
    fn cut(&self, first: usize, count: usize) -> Buffer<D> {
        self.part(first, count)
    }
    fn instances(&self) -> usize {
        self.count
    }
}

impl<D: HasDatatype> Cut for BufferMut<D> {
    fn cut(&self, first: usize, count: usize) -> BufferMut<D> {
        self.part(first, count)
    }
    fn instances(&self) -> usize {
        self.count()
    }
}

impl<B: Cut> BufferParts<B> {
    /// That of a rank, which has one.
    pub(super) fn of(&self, rank: u32) -> B {
        match self {
            BufferParts::Equal(all, count) => all.cut(rank as usize * count, *count),
            BufferParts::Listed(parts) => parts[rank as usize].clone(),
        }
    }
}

impl BufferParts<Buffer> {
    /// The slice of each rank.
    pub(super) fn slices<T: Pod>(parts: &[&[T]]) -> BufferParts<Buffer> {
        BufferParts::Listed(parts.iter().map(|part| Buffer::slice(part)).collect())
    }
}

impl BufferParts<BufferMut> {
    /// `each` elements of each rank.
    pub(super) fn elements<T: Pod>(all: &mut [T], each: usize) -> BufferParts<BufferMut> {
        BufferParts::Equal(BufferMut::slice(all), each)
    }

    /// The vector of each rank.
    pub(super) fn vectors<T: Pod>(parts: &mut [Vec<T>]) -> BufferParts<BufferMut> {
        BufferParts::Listed(parts.iter_mut().map(|part| BufferMut::slice(part)).collect())
    }

    /// The same parts, to be read.
    pub(super) fn read(&self) -> BufferParts<Buffer> {
        match self {
            BufferParts::Equal(all, count) => BufferParts::Equal(all.read(), *count),
            BufferParts::Listed(parts) => {
                BufferParts::Listed(parts.iter().map(BufferMut::read).collect())
            }
        }
    }
}

/// What a rank stages.
#[derive(Default)]
pub(super) enum Give<D = HeldDatatype> {
    #[default]
    Nothing,
    One(Buffer<D>),
    /// Elements that others combine.
    Combined(Buffer<D>),
    /// The same but for some instances in the middle, which no other combines.
    CombinedAround(Buffer<D>, std::ops::Range<usize>),
    /// Behind a list of where each begins, a `u32` for each rank.
    Listed(Vec<Buffer<D>>),
}

/// What it takes from what all have staged.
#[derive(Default)]
pub(super) enum Take<D: Has = HeldDatatype> {
    #[default]
    Nothing,
    /// The contribution of one rank, from that byte on.
    From(u32, u64, BufferMut<D>),
    /// The contributions of that many ranks, from that byte on.
    Each(u32, u64, BufferParts<BufferMut<D>>),
    /// Those of all other ranks, whose own part is empty here; that is copied from where it is, if anything.
    Others(Option<(Buffer<D>, BufferMut<D>)>, Vec<BufferMut<D>>),
    /// The part for this rank, from one rank or from each of that many, which stage lists of parts.
    Listed(std::ops::Range<u32>, u32, BufferParts<BufferMut<D>>),
    /// The combination of the first ranks' contributions from that byte on.
    Combined(u32, u64, BufferMut<D>, D::Combine),
    /// The same with the own contribution where it is.
    CombinedWith(Box<OwnPart>, u32, u64, BufferMut<D>, D::Combine),
}

/// A rank, and its contribution, which it has not staged.
pub(super) type OwnPart = (u32, Buffer);

impl Give {
    /// The buffers that it reads.
    pub(super) fn buffers(&self) -> &[Buffer] {
        match self {
            Give::Nothing => &[],
            Give::One(one) | Give::Combined(one) | Give::CombinedAround(one, _) => from_ref(one),
            Give::Listed(all) => all,
        }
    }
}

impl Take {
    /// The buffers that it writes.
    pub(super) fn buffers(&self) -> &[BufferMut] {
        match self {
            Take::Nothing => &[],
            Take::From(_, _, into)
            | Take::Combined(_, _, into, _)
            | Take::CombinedWith(.., into, _)
            | Take::Each(_, _, BufferParts::Equal(into, _))
            | Take::Listed(_, _, BufferParts::Equal(into, _)) => from_ref(into),
            Take::Others(_, all)
            | Take::Each(_, _, BufferParts::Listed(all))
            | Take::Listed(_, _, BufferParts::Listed(all)) => all,
        }
    }
}

impl<D: Has> Take<D> {
    /// The bytes that the program gets, unless it is a list of parts.
    #[cold]
    pub(super) fn bytes(&self) -> u64 {
        let bytes = match self {
            Take::Nothing
            | Take::Listed(..)
            | Take::Others(..)
            | Take::Each(_, _, BufferParts::Listed(_)) => None,
            Take::Each(_, _, BufferParts::Equal(all, _)) => all.as_read().bytes(),
            Take::From(_, _, into)
            | Take::Combined(_, _, into, _)
            | Take::CombinedWith(.., into, _) => into.as_read().bytes(),
        };
        bytes.unwrap_or_default()
    }
}

/// Bytes of a list of where parts begin.
pub(super) fn list_bytes(parts: usize) -> u64 {
    (parts * size_of::<u32>()).next_multiple_of(16) as u64
}

impl Give {
    pub(super) fn of(parts: BufferParts<Buffer>) -> Give {
        match parts {
            BufferParts::Equal(all, _) => Give::One(all),
            BufferParts::Listed(parts) => Give::Listed(parts),
        }
    }

    /// Its bytes.
    pub(super) fn length(&self) -> usize {
        let bytes = |buffer: &Buffer| buffer.bytes().unwrap_or(u64::MAX);
        let length = match self {
            Give::Nothing => 0,
            Give::One(buffer) | Give::Combined(buffer) | Give::CombinedAround(buffer, _) => {
                bytes(buffer)
            }
            Give::Listed(parts) => {
                parts.iter().map(bytes).fold(list_bytes(parts.len()), u64::saturating_add)
            }
        };
        length.try_into().unwrap_or(usize::MAX)
    }

    /// Its bytes, of which it has no list.
    pub(super) fn packed(&self) -> Box<[u8]> {
        match self {
            Give::One(buffer) | Give::Combined(buffer) | Give::CombinedAround(buffer, _) => {
                buffer.packed()
            }
            Give::Nothing | Give::Listed(_) => Box::default(),
        }
    }
}

impl<D: HasDatatype> Give<D> {
    /// Copies it to `offset` of the segment, where it fits. `read_as`: what others do with it, unless they combine it.
    #[inline]
    pub(super) fn write(&self, segment: &Segment, offset: u64, read_as: ReadAs) -> Result<()> {
        match self {
            Give::Nothing => Ok(()),
            Give::One(buffer) => buffer.pack_into(segment, offset, read_as).map(drop),
            Give::Combined(buffer) => buffer.pack_into(segment, offset, ReadAs::Combined).map(drop),
            Give::CombinedAround(buffer, own) => write_around(buffer, own, segment, offset),
            Give::Listed(parts) => write_listed(parts, segment, offset, read_as),
        }
    }
}

/// The instances before and behind some of them, each where it is among all.
#[inline(never)]
fn write_around<D: HasDatatype>(
    buffer: &Buffer<D>,
    own: &std::ops::Range<usize>,
    segment: &Segment,
    offset: u64,
) -> Result<()> {
    let behind = buffer.part(own.end, buffer.count - own.end);
    let before = buffer.part(0, own.end).bytes().unwrap_or(u64::MAX);
    buffer.part(0, own.start).pack_into(segment, offset, ReadAs::Combined)?;
    behind.pack_into(segment, offset + before, ReadAs::Combined).map(drop)
}

#[inline(never)]
fn write_listed<D: HasDatatype>(
    parts: &[Buffer<D>],
    segment: &Segment,
    offset: u64,
    read_as: ReadAs,
) -> Result<()> {
    let mut begins = Vec::with_capacity(parts.len());
    let mut next = list_bytes(parts.len());
    for part in parts {
        begins.push(next as u32);
        next += part.pack_into(segment, offset + next, read_as)?;
    }
    segment.mapping().write(offset, bytemuck::cast_slice(&begins))
}

impl<D: Has> Take<D> {
    /// Copies and combines what this rank gets.
    #[inline]
    pub(super) fn take(&mut self, staged: &Staged<'_>) -> Result<()> {
        match self {
            Take::Nothing => Ok(()),
            Take::From(rank, first, into) => into.take(staged, *rank, *first),
            Take::Combined(ranks, first, result, combine) if *ranks > 0 => {
                result.take_combined(staged, (*ranks, *first), None, (*combine).borrow())
            }
            _ => self.take_parts(staged),
        }
    }

    fn take_parts(&mut self, staged: &Staged<'_>) -> Result<()> {
        match self {
            Take::Each(ranks, first, parts) => {
                (0..*ranks).try_for_each(|rank| parts.of(rank).take(staged, rank, *first))
            }
            Take::Others(own, parts) => {
                own.iter_mut().for_each(|(from, to)| to.copy_from(from));
                (0..).zip(parts).try_for_each(|(rank, part)| part.take(staged, rank, 0))
            }
            Take::Listed(ranks, own, parts) => ranks.clone().try_for_each(|rank| {
                let mut first = 0u32;
                let to = bytemuck::bytes_of_mut(&mut first);
                staged.bytes(rank, *own as usize * size_of::<u32>(), to)?;
                let part = if ranks.len() == 1 { 0 } else { rank };
                parts.of(part).take(staged, rank, first.into())
            }),
            Take::CombinedWith(own, ranks, first, result, combine) => {
                let (rank, own) = &**own;
                let own = Some((*rank, own));
                result.take_combined(staged, (*ranks, *first), own, (*combine).borrow())
            }
            Take::Nothing | Take::From(..) | Take::Combined(..) => Ok(()),
        }
    }
}
