//! Long collectives in pieces: each piece is staged as a collective of its own, after all ranks have agreed on
//! the first. So copies in and copies out run at the same time on different ranks, through memory that stays in
//! the processors' caches.

use super::buffer::{Buffer, BufferMut, Combine, HeldDatatype};
use super::form::{Awaits, ShortForm};
use super::plan::Plan;
use super::staged::{BufferParts, Give, Take, list_bytes};
use crate::call::Call;
use crate::comm::{CHUNK, Description};
use crate::error::Result;
use crate::group::Rank;
use std::ops::Range;

/// `count` instances in the fewest nearly equal parts of at most `most`.
fn cut(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    divided(count, count.div_ceil(most))
}

/// `count` instances in that many nearly equal parts.
fn divided(count: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let start = move |k: usize| (count as u128 * k as u128 / parts as u128) as usize;
    (0..parts).map(move |k| start(k)..start(k + 1))
}

/// A piece of which all ranks give something.
fn waiting((call, what): (Call, Description), give: Give, take: Take) -> ShortForm {
    let length = give.length();
    ShortForm::moving(call, what, (give, length), take, Awaits::All)
}

impl Plan<'_> {
    /// Whether data that are no short form are staged in pieces, as all ranks know that make a call that waits.
    pub(super) fn has_pieces(&self) -> bool {
        self.waits() && self.is_staged() && self.comm.longest_staged() > CHUNK as u64
    }

    /// The same of a reduction, which is cut between elements: by an operation of the standard.
    pub(super) fn has_pieces_to_combine(&self, mine: &Buffer, result: Option<&BufferMut>) -> bool {
        let is_predefined = |buffer: &Buffer| matches!(buffer.datatype, HeldDatatype::Lasting(_));
        let is_of_elements =
            is_predefined(mine) && result.is_none_or(|result| is_predefined(result.as_read()));
        self.has_pieces()
            && is_of_elements
            && self.combine.as_ref().is_some_and(Combine::is_predefined)
    }

    /// The first of the pieces is the short form, which waits for all.
    fn stage_pieces(&mut self, mut pieces: impl Iterator<Item = ShortForm> + Send + 'static) {
        if let Some(ShortForm { what, give, take, .. }) = pieces.next() {
            (self.what, self.give, self.take) = (Some(what), give, take);
            self.pieces = Some(Box::new(pieces));
        }
    }

    /// The call of each piece.
    fn piece(&self) -> (Call, Description) {
        (self.call, self.description().piece())
    }

    /// The bytes of a buffer, which are read from the first piece on.
    fn bytes_to_read(&mut self, buffer: &Buffer) -> Result<Buffer> {
        if let Some(bytes) = buffer.as_bytes() {
            return Ok(bytes);
        }
        let mut packed = self.scratch(self.bytes(buffer)? as usize, &HeldDatatype::bytes())?;
        packed.copy_from(buffer);
        Ok(packed.read())
    }

    /// The bytes of a buffer, which are all written, and are there after the last piece.
    fn bytes_to_write(&mut self, buffer: BufferMut) -> Result<BufferMut> {
        if let Some(bytes) = buffer.as_bytes() {
            return Ok(bytes);
        }
        let bytes = self.bytes(buffer.as_read())? as usize;
        let packed = self.scratch(bytes, &HeldDatatype::bytes())?;
        self.copy(packed.read(), buffer);
        Ok(packed)
    }

    pub(super) fn broadcast_by_pieces(&mut self, buffer: BufferMut, root: Rank) -> Result<()> {
        let (is_root, (call, what)) = (self.rank == root.0, self.piece());
        let all = match is_root {
            true => BufferMut::only_read(self.bytes_to_read(buffer.as_read())?),
            false => self.bytes_to_write(buffer)?,
        };
        let pieces = cut(all.count(), self.comm.longest_staged() as usize);
        self.stage_pieces(pieces.map(move |piece| {
            let part = (all.part(piece.start, piece.len()), piece.len() as u64);
            ShortForm::broadcasting(call, what, part, root, is_root)
        }));
        Ok(())
    }

    /// Of each piece the root combines all contributions.
    pub(super) fn reduce_by_pieces(
        &mut self,
        mine: Buffer,
        result: Option<BufferMut>,
        combine: Combine,
    ) {
        let ((call, what), rank, ranks) = (self.piece(), self.rank, self.ranks);
        let is_disjoint = result.as_ref().is_some_and(|result| mine.is_disjoint(result));
        self.stage_pieces(self.cut_elements(&mine).map(move |piece| {
            let result = result.as_ref().map(|result| result.part(piece.start, piece.len()));
            let mine = mine.part(piece.start, piece.len());
            let bytes = mine.bytes().unwrap_or(u64::MAX);
            if let Some(result) = result.as_ref().filter(|_| is_disjoint) {
                let own = Box::new((rank, mine));
                let take = Take::CombinedWith(own, ranks, 0, result.clone(), combine.clone());
                return waiting((call, what), Give::Nothing, take);
            }
            ShortForm::combining(call, what, ranks, (mine, bytes), result, combine.clone())
        }));
    }

    /// Of each piece each rank combines one part of all contributions, and gives it to the others.
    pub(super) fn allreduce_by_pieces(
        &mut self,
        mine: Buffer,
        result: BufferMut,
        combine: Combine,
    ) {
        let ((call, what), rank, ranks) = (self.piece(), self.rank as usize, self.ranks);
        let is_disjoint = mine.is_disjoint(&result);
        let bytes = move |buffer: &Buffer| buffer.bytes().unwrap_or(u64::MAX);
        self.stage_pieces(self.cut_elements(&mine).flat_map(move |piece| {
            let mine = mine.part(piece.start, piece.len());
            let parts = divided(piece.len(), ranks as usize);
            let parts = parts.map(|part| result.part(piece.start + part.start, part.len()));
            let mut parts: Vec<BufferMut> = parts.collect();
            let before = parts[..rank].iter().map(|part| bytes(part.as_read())).sum();
            let own = std::mem::replace(&mut parts[rank], BufferMut::empty());
            let (read, combine) = (own.read(), combine.clone());
            let (give, take) = match is_disjoint {
                true => {
                    let first = parts[..rank].iter().map(BufferMut::count).sum();
                    let given = mine.part(first, own.count());
                    let around = first..first + own.count();
                    let given = Box::new((rank as u32, given));
                    let take = Take::CombinedWith(given, ranks, before, own, combine);
                    (Give::CombinedAround(mine, around), take)
                }
                false => (Give::Combined(mine), Take::Combined(ranks, before, own, combine)),
            };
            let combined = waiting((call, what), give, take);
            [combined, waiting((call, what), Give::One(read), Take::Others(None, parts))]
        }));
    }

    fn cut_elements(&self, mine: &Buffer) -> impl Iterator<Item = Range<usize>> + use<> {
        let each = mine.bytes().unwrap_or(u64::MAX) / mine.count as u64;
        cut(mine.count, (self.comm.longest_staged() / each) as usize)
    }

    /// `all` has a part for each rank.
    pub(super) fn allgather_by_pieces(&mut self, gives: &Buffer, all: BufferMut) -> Result<()> {
        let (gives, all) = (self.bytes_to_read(gives)?, self.bytes_to_write(all)?);
        let ((call, what), ranks) = (self.piece(), self.ranks);
        let (each, own) = (gives.count, self.rank as usize);
        let pieces = cut(each, self.comm.longest_staged() as usize);
        let is_there = gives.is_at(&all.part(own * each, each));
        self.stage_pieces(pieces.map(move |piece| {
            let part = |rank| all.part(rank as usize * each + piece.start, piece.len());
            let mut parts: Vec<BufferMut> = (0..ranks).map(part).collect();
            let given = gives.part(piece.start, piece.len());
            let own = std::mem::replace(&mut parts[own], BufferMut::empty());
            let own = (!is_there).then(|| (given.clone(), own));
            waiting((call, what), Give::One(given), Take::Others(own, parts))
        }));
        Ok(())
    }

    /// Both have a part for each rank; if they are the same, all of a piece is staged before any is written.
    pub(super) fn alltoall_by_pieces(
        &mut self,
        outgoing: &Buffer,
        incoming: BufferMut,
    ) -> Result<()> {
        let (outgoing, incoming) = (self.bytes_to_read(outgoing)?, self.bytes_to_write(incoming)?);
        let ((call, what), rank, ranks) = (self.piece(), self.rank, self.ranks);
        let each = outgoing.count / ranks as usize;
        let own = rank as usize * each;
        if !outgoing.is_at(&incoming) {
            incoming.part(own, each).copy_from(&outgoing.part(own, each));
        }
        let others = self.comm.longest_staged() - list_bytes(ranks as usize);
        let pieces = cut(each, (others / u64::from(ranks - 1)) as usize);
        self.stage_pieces(pieces.map(move |piece| {
            let place = |part: u32| (part as usize * each + piece.start, piece.len());
            let given = (0..ranks).map(|to| match place(to) {
                _ if to == rank => Buffer::empty(),
                (first, length) => outgoing.part(first, length),
            });
            let taken = (0..ranks).map(|from| match place(from) {
                _ if from == rank => BufferMut::empty(),
                (first, length) => incoming.part(first, length),
            });
            let taken = BufferParts::Listed(taken.collect());
            let give = Give::Listed(given.collect());
            waiting((call, what), give, Take::Listed(0..ranks, rank, taken))
        }));
        Ok(())
    }
}
