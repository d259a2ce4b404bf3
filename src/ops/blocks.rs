//! The update under the accumulates between layouts: strips of blocks that belong to each other, of
//! the origin, the target and the result.
//!
//! Each element is updated as [`super::accumulate`] says. Those that instructions update are
//! announced once for as long as they stay in one stripe; where many lie close to each other, they
//! are gathered, combined by a vectorised loop, and put back, while nobody else is in their stripes
//! ([`super::bulk`]); all others the same way under the target's exclusion. Long blocks go as slices do.
#![allow(unsafe_code, reason = "updates checked target memory, block by block")]

use super::bulk::MANY;
use super::local::{load, store};
use super::update::{BATCH, Update, pass_middle};
use crate::datatype::Element;
use crate::datatype::functions::update_native;
use crate::error::Result;
use crate::op::{Carrier, Op};
use crate::prim::Site;
use crate::shm::{Lane, Piece, Process, Strip, copy_strip};
use crate::window::{Via, Win};
use std::slice::from_raw_parts;

/// From so many elements on a block goes as a slice.
const LONG: usize = if MANY < BATCH { MANY } else { BATCH };
/// Elements of a batch that no kernel copies: each may have a cache line of its own, and all of these
/// are still in the nearest cache when they are put back.
const CLOSE: usize = 128;
/// Blocks that are updated by instructions before there is another look whether many are near.
const SPREAD: usize = 64;
/// The sides of a strip.
const ORIGIN: usize = 0;
const TARGET: usize = 1;
const RESULT: usize = 2;

/// A checked accumulate. All blocks that its strips name are entries of the layouts that have been
/// checked; those of sides that are not there are never looked at.
pub(super) struct Blocks<'a, T> {
    pub(super) win: &'a Win,
    pub(super) update: Update<'a, T>,
    /// Where displacement 0 of the origin lies, if there is one; else the operation is
    /// [`Op::NoOp`].
    pub(super) origin: Option<*const u8>,
    /// As much of the result.
    pub(super) result: Option<*mut u8>,
    /// Room for a batch of target values, and behind it for one of origin values.
    pub(super) room: Vec<T>,
    /// Elements that are done.
    pub(super) done: usize,
}

impl<T: Element> Blocks<'_, T> {
    /// Updates the blocks of a strip. Blocks while others update elements around them.
    pub(super) fn strip(&mut self, strip: &Strip<'_, 3>) -> Result<()> {
        let elements = strip.bytes / size_of::<T>();
        let is_foreign = self.update.target.via == Via::Foreign;
        if T::DATATYPE.is_padded() && elements > 1 && !is_foreign {
            return each_alone(strip, size_of::<T>(), |alone| self.strip(alone));
        }
        if elements >= LONG || is_foreign {
            return (0..strip.blocks).try_for_each(|block| self.long(&strip.part(block, 1)));
        }
        let mut rest = *strip;
        loop {
            let done = match self.is_native(self.target(&rest, 0)) {
                true => self.native(&rest)?,
                false => self.excluded(&rest)?,
            };
            if done == rest.blocks {
                return Ok(());
            }
            rest = rest.part(done, rest.blocks - done);
        }
    }

    /// The address of a block at the target.
    #[inline(always)]
    fn target(&self, strip: &Strip<'_, 3>, block: usize) -> *mut u8 {
        self.update.target.at.wrapping_offset(strip.lanes[TARGET].block(block) as isize)
    }

    /// Whether the elements of a block at `at` are updated by instructions.
    #[inline(always)]
    fn is_native(&self, at: *mut u8) -> bool {
        let mapped = self.update.target.via == Via::Mapped;
        T::Carrier::IS_NATIVE && mapped && (at as usize).is_multiple_of(size_of::<T>())
    }

    /// The only block of a strip, as an operation on slices.
    fn long(&mut self, strip: &Strip<'_, 3>) -> Result<()> {
        let n = strip.bytes / size_of::<T>();
        let [from, at, into] = strip.lanes.map(|lane| lane.block(0));
        let update = Update { target: self.update.target.part(at), ..self.update };
        let (mut operands, mut before) = (Vec::new(), Vec::new());
        let operands: &[T] = match self.origin.map(|origin| origin.wrapping_offset(from as isize)) {
            None => &[],
            // SAFETY: as many elements of the origin, which nobody writes meanwhile; aligned.
            Some(from) if from.cast::<T>().is_aligned() && !T::DATATYPE.is_padded() => unsafe {
                from_raw_parts(from.cast(), n)
            },
            Some(from) => {
                let at = |i: usize| from.wrapping_add(i * size_of::<T>());
                // SAFETY: an element of the origin.
                operands.extend((0..n).map(|i| unsafe { load::<T>(at(i)) }));
                &operands
            }
        };
        if self.result.is_some() {
            before.resize(n, T::zeroed());
        }
        let done = self.win.update_many(&update, n, operands, &mut before)?;
        let operand = |i: usize| operands.get(i).copied().unwrap_or(T::zeroed());
        self.win.update(&update, done..n, operand, |i, old| {
            if let Some(before) = before.get_mut(i) {
                *before = old;
            }
        })?;
        if let Some(result) = self.result {
            let to = result.wrapping_offset(into as isize);
            for (i, value) in before.iter().enumerate() {
                // SAFETY: an element of the result; `before` is this function's own.
                unsafe { store(value, to.wrapping_add(i * size_of::<T>())) };
            }
        }
        Ok(())
    }

    /// Updates blocks that instructions update, from the first on; how many.
    fn native(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        let elements = strip.bytes / size_of::<T>();
        // A loop over the target would write the padding of pairs.
        if strip.blocks * elements < MANY || T::DATATYPE.is_padded() {
            return self.by_instructions(strip);
        }
        let (near, first, end) = self.near(strip);
        if near * elements >= MANY {
            let part = strip.part(0, near);
            let (win, call) = (self.win, self.update.call);
            self.make_room();
            let bytes = end as usize - first as usize;
            let updated = win.exclusively(call, first, bytes, || self.batches(&part, None))?;
            if let Some(updated) = updated {
                return updated.map(|()| near);
            }
        }
        self.by_instructions(&strip.part(0, near.max(strip.blocks.min(SPREAD))))
    }

    /// How many blocks, from the first on, instructions update, all within the memory that one
    /// update of many elements reaches; where they begin, and where they end.
    fn near(&self, strip: &Strip<'_, 3>) -> (usize, *mut u8, *mut u8) {
        let at = self.target(strip, 0);
        let reach = self.win.reach_of_many(at);
        let (mut low, mut high) = (at as usize, at as usize);
        let is_near = |block: &usize| {
            let first = self.target(strip, *block);
            let (begin, end) = (first as usize, first as usize + strip.bytes);
            let near = reach.start <= begin && end <= reach.end && self.is_native(first);
            if near {
                (low, high) = (low.min(begin), high.max(end));
            }
            near
        };
        let blocks = (0..strip.blocks).take_while(is_near).count();
        (blocks, at.with_addr(low), at.with_addr(high))
    }

    /// Updates native blocks, the first and those that follow it, element by element, announced as
    /// long as they stay in one stripe; how many.
    fn by_instructions(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        // Copies, which need not be read again behind every update.
        let (win, strip, target) = (self.win, *strip, self.update.target.at);
        let Update { op, operation, call, .. } = self.update;
        let one = One { op, function: operation.one, origin: self.origin, result: self.result };
        let place = |side: usize, block, within: usize| {
            (strip.lanes[side].block(block) as isize).wrapping_add(within as isize)
        };
        let done = self.done;
        let (mut block, mut within, mut is_native) = (0, 0, true);
        while block < strip.blocks && is_native {
            let first = target.wrapping_offset(place(TARGET, block, within));
            let stripe = win.stripe_of(first);
            win.by_instructions(call, first, || {
                while block < strip.blocks {
                    let at = target.wrapping_offset(place(TARGET, block, within));
                    is_native = (at as usize).is_multiple_of(size_of::<T>());
                    if !is_native || !stripe.contains(&(at as usize)) {
                        return;
                    }
                    let done = done + (block * strip.bytes + within) / size_of::<T>();
                    pass_middle(done..done + 1);
                    one.update(at.cast(), |side| place(side, block, within));
                    within += size_of::<T>();
                    if within == strip.bytes {
                        (block, within) = (block + 1, 0);
                    }
                }
            })?;
        }
        self.done += block * (strip.bytes / size_of::<T>());
        Ok(block)
    }

    /// Updates blocks that no instruction updates, from the first on, under one grant of the
    /// target's exclusion; how many. Blocks while it is held.
    fn excluded(&mut self, strip: &Strip<'_, 3>) -> Result<usize> {
        let most = strip.blocks.min(BATCH / (strip.bytes / size_of::<T>()));
        let is_native = |block: &usize| self.is_native(self.target(strip, *block));
        let blocks = (1..most).find(is_native).unwrap_or(most);
        self.make_room();
        let (win, call) = (self.win, self.update.call);
        let sites = (Site::AccumulatePost, Site::AccumulatePre);
        let exclusion = &win.words_of(self.update.target.rank).accumulate;
        let process = match self.update.target.via {
            Via::Kernel(process) => Some(process),
            // Of another MPI, all blocks have gone as slices.
            Via::Mapped | Via::Own | Via::Foreign => None,
        };
        let part = strip.part(0, blocks);
        let updated = exclusion.run(sites, &win.excluded(), || self.batches(&part, process));
        updated.map_err(|failed| win.job_failed(failed, call))??;
        Ok(blocks)
    }

    /// Before others are kept out: nothing is taken from the heap meanwhile.
    fn make_room(&mut self) {
        if self.room.is_empty() {
            self.room.resize(2 * BATCH, T::zeroed());
        }
    }

    /// Updates blocks, a batch at a time, while nobody else updates their elements.
    fn batches(&mut self, strip: &Strip<'_, 3>, process: Option<Process>) -> Result<()> {
        let most = if process.is_some() { BATCH } else { CLOSE };
        let most = (most / (strip.bytes / size_of::<T>())).max(1);
        (0..strip.blocks).step_by(most).try_for_each(|first| {
            let part = strip.part(first, most.min(strip.blocks - first));
            self.batch(&part, process)
        })
    }

    fn batch(&mut self, strip: &Strip<'_, 3>, process: Option<Process>) -> Result<()> {
        let n = strip.blocks * strip.bytes / size_of::<T>();
        pass_middle(self.done..self.done + n);
        self.done += n;
        let (values, operands) = self.room.split_at_mut(BATCH);
        let (values, operands) = (values[..n].as_mut_ptr(), operands[..n].as_mut_ptr());
        let target = self.update.target.at;
        let [origin_lane, lane, result_lane] = strip.lanes;
        let (bytes, blocks) = (strip.bytes, strip.blocks);
        let packed = Lane::even(0, bytes as i64);
        let between = |from, to| Strip { lanes: [from, to], bytes, blocks };
        match process {
            // SAFETY: 1. entries of the target; room for as many. 2. It is this process's own.
            None => unsafe { copy_elements::<T>(target, values.cast(), &between(lane, packed)) },
            Some(process) => self.by_the_kernel(strip, values, |pieces| {
                // SAFETY: 1. room for as many elements. 2. One behind the other.
                unsafe { process.read_pieces(pieces) }
            })?,
        }
        if let Some(result) = self.result {
            // SAFETY: 1. as above; entries of the result. 2. As above.
            unsafe { copy_elements::<T>(values.cast(), result, &between(packed, result_lane)) };
        }
        if self.update.op == Op::NoOp {
            return Ok(());
        }
        if let Some(origin) = self.origin {
            // SAFETY: 1. entries of the origin; room for as many. 2. As above.
            unsafe { copy_elements::<T>(origin, operands.cast(), &between(origin_lane, packed)) };
        }
        // SAFETY: 1. and 2. `n` elements each, of a vector that only this thread has.
        unsafe { (self.update.operation.many)(values, operands, n) };
        match process {
            None => {
                // SAFETY: as of the other direction.
                unsafe { copy_elements::<T>(values.cast(), target, &between(packed, lane)) };
                Ok(())
            }
            Some(process) => self.by_the_kernel(strip, values, |pieces| {
                // SAFETY: `n` elements; the window exposes the others.
                unsafe { process.write_pieces(pieces) }
            }),
        }
    }

    /// Has the kernel move a batch between the target and `values`.
    fn by_the_kernel(
        &self,
        strip: &Strip<'_, 3>,
        values: *mut T,
        moved: impl FnOnce(&[Piece]) -> std::io::Result<()>,
    ) -> Result<()> {
        let pieces = |block: usize| {
            let own = values.cast::<u8>().wrapping_add(block * strip.bytes);
            let other = self.target(strip, block);
            let pieces = T::DATATYPE.numbers(strip.bytes).into_iter();
            pieces.filter(|(_, bytes)| *bytes > 0).map(move |(at, bytes)| Piece {
                own: own.wrapping_add(at),
                other: other.wrapping_add(at),
                bytes,
            })
        };
        let pieces: Vec<_> = (0..strip.blocks).flat_map(pieces).collect();
        let Update { call, ref target, .. } = self.update;
        moved(&pieces).map_err(|error| self.win.kernel_error(call, target.rank, error))
    }
}

/// Calls `each` with strips of the same elements, each in a block of its own.
fn each_alone(
    strip: &Strip<'_, 3>,
    bytes: usize,
    mut each: impl FnMut(&Strip<'_, 3>) -> Result<()>,
) -> Result<()> {
    (0..strip.blocks).try_for_each(|block| {
        let lanes = strip.lanes.map(|lane| Lane::even(lane.block(block), bytes as i64));
        each(&Strip { lanes, bytes, blocks: strip.bytes / bytes })
    })
}

/// As [`copy_strip`], of elements, each of them in a block of its own if it is a pair with padding, which
/// stays as it is.
///
/// # Safety
/// As [`copy_strip`], of the numbers of all elements.
#[inline(always)]
unsafe fn copy_elements<T: Element>(from: *const u8, to: *mut u8, strip: &Strip<'_>) {
    if !T::DATATYPE.is_padded() {
        // SAFETY: the caller's obligations.
        return unsafe { copy_strip(from, to, strip) };
    }
    for block in 0..strip.blocks {
        let [from_at, to_at] = strip.lanes.each_ref().map(|lane| lane.block(block) as isize);
        // SAFETY: the caller's obligation 1.
        let value = unsafe { load::<T>(from.wrapping_offset(from_at)) };
        // SAFETY: the caller's obligations 1 and 2.
        unsafe { store(&value, to.wrapping_offset(to_at)) };
    }
}

/// The update of one element by an instruction.
struct One<T> {
    op: Op,
    function: fn(T, T) -> T,
    /// As in [`Blocks`].
    origin: Option<*const u8>,
    result: Option<*mut u8>,
}

impl<T: Element> One<T> {
    /// Of the element at `at`, which is an entry of the target, announced and native; `place` says
    /// where in the others it is.
    #[inline(always)]
    fn update(&self, at: *mut T::Carrier, place: impl Fn(usize) -> isize) {
        let operand = match self.origin {
            // SAFETY: an element of the origin.
            Some(origin) => unsafe { load(origin.wrapping_offset(place(ORIGIN))) },
            None => T::zeroed(),
        };
        // SAFETY: 1. and 2. an element of the target, native. 3. by invariant 4 of `shm`.
        let old = unsafe { update_native(at, self.op, self.function, operand) };
        if let Some(result) = self.result {
            // SAFETY: an element of the result; `old` is this function's own.
            unsafe { store(&old, result.wrapping_offset(place(RESULT))) };
        }
    }
}
