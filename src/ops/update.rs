//! The accumulates: one description, one route.
//!
//! Every element is updated atomically against every other accumulate of the window, whatever mix of calls: an
//! element of 1, 2, 4 or 8 bytes at an address aligned to its size by one atomic instruction, or a loop around
//! one, or, with many others, while nobody else is in its shard; any other element, and any in private
//! memory, under the target's accumulate exclusion. Which of the two depends on size and address alone, so two
//! accumulates on the same element always choose the same (MPI-2.2 §11.7.1 promises no more: same location, same
//! predefined datatype).
//!
//! [`super::atomic`] has the first lines of the route, what most accumulates are: one element or a few, mapped,
//! and nothing is wrong. All else, and every refusal, is [`Win::update_slowly`]; [`super::bulk`] updates then.

use super::bulk::Blocks;
use super::layout::{Layout, LocalLayout};
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Operation;
use crate::datatype::{Datatype, Element, TransferSide, Visitor, zip_sides};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::shm::Recording;
use crate::window::{Target, Win};

/// An accumulate of elements of one predefined datatype, with its buffers.
///
/// Whoever makes one has the right to read the origin's entries and to write the result's, by
/// [`Origin::new`] and [`OriginMut::new`], or because they are those of slices.
pub(super) struct Update<'d> {
    pub(super) call: Call,
    pub(super) op: Op,
    /// Not there for [`Op::NoOp`].
    pub(super) origin: Option<LocalLayout<'d>>,
    /// Where the values before go, in the calls that fetch.
    pub(super) result: Option<LocalLayout<'d>>,
    pub(super) target: Rank,
    pub(super) disp: u64,
    /// The target's side.
    pub(super) layout: Layout<'d>,
}

impl<'d> Update<'d> {
    /// Of as many elements as a slice has.
    pub(super) fn slice<T: Element>(
        call: Call,
        origin: &'d [T],
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Update<'d> {
        let origin = Origin::of_slice(origin);
        Update::new(call, (origin, None), op, target, disp, origin.layout)
    }

    /// As [`Update::slice`], which fetches.
    pub(super) fn fetching<T: Element>(
        call: Call,
        (origin, result): (&'d [T], &'d mut [T]),
        op: Op,
        target: Rank,
        disp: u64,
    ) -> Update<'d> {
        let (origin, result) = (Origin::of_slice(origin), OriginMut::of_slice(result));
        let layout = result.layout;
        Update::new(call, (origin, Some(result)), op, target, disp, layout)
    }

    /// Between any layouts.
    pub(super) fn new(
        call: Call,
        (origin, result): (Origin<'d>, Option<OriginMut<'d>>),
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'d>,
    ) -> Update<'d> {
        let origin = (op != Op::NoOp || result.is_none()).then(|| LocalLayout::from(&origin));
        let result = result.as_ref().map(LocalLayout::from);
        Update { call, op, origin, result, target, disp, layout }
    }

    /// The buffers of this process.
    fn own(&self) -> impl Iterator<Item = &LocalLayout<'d>> {
        self.origin.iter().chain(&self.result)
    }
}

impl Win {
    /// The other half of every accumulate: any layouts, any memory, and why one is refused.
    #[inline(never)]
    pub(super) fn update_slowly(&self, update: &Update<'_>) -> Result<()> {
        self.within(update.call, || {
            match self.datatype_of(update) {
                Ok(Some(datatype)) => datatype.visit(SlowUpdate { win: self, update }),
                _ if update.target == Rank::NULL => self.null_target(update.call).map(|_| ()),
                // No element anywhere: what remains to be checked is the target.
                Ok(None) => {
                    let Update { call, target, disp, ref layout, .. } = *update;
                    self.target(call, target, disp, &layout.range()).map(|_| ())
                }
                Err(error) => Err(error),
            }
        })
    }

    /// The one predefined datatype of everything, if there are elements.
    fn datatype_of(&self, update: &Update<'_>) -> Result<Option<Datatype>> {
        let mut datatype = None;
        for layout in [&update.layout].into_iter().chain(update.own().map(|own| &own.layout)) {
            if layout.is_empty() {
                continue;
            }
            let uniform = layout.uniform();
            if uniform.is_none() || datatype.is_some() && uniform != datatype {
                let why = "all basic elements of an accumulate, on every side, must have the same \
                           predefined datatype";
                return Err(self.unfit(update.call, layout, why));
            }
            datatype = uniform;
        }
        Ok(datatype)
    }

    pub(super) fn operation<T: Element>(
        &self,
        call: Call,
        op: Op,
    ) -> Result<&'static Operation<T>> {
        T::operation(op).ok_or_else(|| {
            let (op, datatype) = (op.name(), T::DATATYPE.name());
            Error::Operation { at: self.place(call), op, datatype }
        })
    }

    /// Every check of an update; the target, if there is something to do.
    fn target_of(&self, update: &Update<'_>) -> Result<Option<Target<'_>>> {
        let &Update { call, target, disp, ref layout, .. } = update;
        for own in update.own() {
            self.check_reach(call, &own.layout.with_padding())?;
        }
        // What reaches farther than can be said is refused with its range.
        let is_known = layout.known_range().is_some();
        if let Some(origin) = update.origin.as_ref().filter(|_| is_known) {
            self.check_fits(call, &origin.layout, layout)?;
        }
        if let Some(result) = &update.result {
            if is_known {
                self.check_fits(call, layout, &result.layout)?;
            }
            self.check_entries_disjoint(call, &result.layout)?;
        }
        let Some(target) = self.target(call, target, disp, &layout.range())? else {
            return Ok(None);
        };
        self.check_entries_disjoint(call, layout)?;
        for own in update.own() {
            self.check_disjoint_from(call, &target, disp, layout, own)?;
        }
        self.note_operation();
        Ok(Some(target))
    }
}

/// The rest of [`Win::update_slowly`], of elements whose type is known.
struct SlowUpdate<'w, 'd> {
    win: &'w Win,
    update: &'w Update<'d>,
}

impl Visitor for SlowUpdate<'_, '_> {
    type Output = Result<()>;

    fn visit<E: Element>(self) -> Result<()> {
        let SlowUpdate { win, update } = self;
        win.operation::<E>(update.call, update.op)?;
        if update.target == Rank::NULL {
            return win.null_target(update.call).map(|_| ());
        }
        let Some(target) = win.target_of(update)? else { return Ok(()) };
        let recording = self.recording::<E>(&target);
        let is_short = update.origin.as_ref().map(|origin| origin.layout.elements())
            < Some(update.layout.elements());
        // What the origin has no element for is fetched only, and so is, before, the rest.
        let fetched = match update.result.is_some() && is_short {
            true => self.walk::<E>(&target, None),
            false => Ok(()),
        };
        let done = match (&update.origin, fetched) {
            (Some(origin), Ok(())) => self.walk::<E>(&target, Some(origin)),
            (_, fetched) => fetched,
        };
        recording.end();
        done
    }
}

impl SlowUpdate<'_, '_> {
    /// Says that everything from the first element to the last is written, unless that is one instruction.
    fn recording<E: Element>(&self, target: &Target<'_>) -> Recording<'_> {
        let &SlowUpdate { win, update } = self;
        let is_one = update.layout.is_single::<E>() && target.native::<E>().is_some();
        match update.op == Op::NoOp || is_one {
            true => Recording::Nothing,
            false => {
                win.record_around(update.call, target.rank, target.start, &update.layout.range())
            }
        }
    }

    /// Updates the elements that the sides have in common, from the first on.
    fn walk<E: Element>(
        &self,
        target: &Target<'_>,
        origin: Option<&LocalLayout<'_>>,
    ) -> Result<()> {
        let Update { call, ref layout, ref result, .. } = *self.update;
        let op = if origin.is_some() { self.update.op } else { Op::NoOp };
        // Where each element lies, pairs with their padding, which nobody touches.
        let layout = layout.with_padding();
        // A side that is not there is as long as the target, and never looked at.
        let absent = TransferSide::Packed(layout.bytes().unwrap_or(u64::MAX));
        let [from, into] = [origin, result.as_ref()].map(|own| match own {
            Some(own) => own.layout.with_padding().side(),
            None => absent,
        });
        let sides = [from, layout.side(), into];
        let mut blocks = Blocks::<E> {
            win: self.win,
            call,
            op,
            operation: self.win.operation(call, op)?,
            target,
            origin: origin.map(|origin| origin.zero),
            result: result.as_ref().map(|result| result.zero.cast_mut()),
            room: Vec::new(),
            done: 0,
        };
        let mut done = Ok(());
        zip_sides(sides, |strip| {
            done = blocks.strip(strip);
            done.is_ok()
        });
        done
    }
}
