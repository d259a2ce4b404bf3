//! The accumulates between any layouts: the checks, and the walk over two or three sides.
//! [`super::blocks`] updates what lies there.

use super::blocks::Blocks;
use super::layout::{Layout, Located};
use super::untyped::{Origin, OriginMut};
use super::update::Update;
use crate::call::Call;
use crate::datatype::{Datatype, Element, Side, Visitor, zip_sides};
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::shm::Recording;
use crate::window::{Target, Win};

/// An accumulate with its buffers.
struct Combine<'w, 'd> {
    win: &'w Win,
    call: Call,
    op: Op,
    /// Not there for [`Op::NoOp`].
    origin: Option<Origin<'d>>,
    result: Option<OriginMut<'d>>,
    target: Rank,
    disp: u64,
    layout: Layout<'d>,
}

impl Win {
    /// As [`Win::accumulate`], from any layout to any other (`MPI_Accumulate`, MPI-2.2 §11.3.4).
    /// All basic elements of both have one predefined datatype.
    ///
    /// # Errors
    /// As [`Win::put_layout`] and [`Win::accumulate`];
    /// [`Error::Datatype`](crate::Error::Datatype) if the basic elements are of several datatypes.
    pub fn accumulate_layout(
        &self,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.accumulate_layout_as(Call::Accumulate, origin, op, target, disp, layout)
    }

    /// [`Win::accumulate_layout`] for `call`.
    pub(super) fn accumulate_layout_as(
        &self,
        call: Call,
        origin: Origin<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let origin = Some(origin);
        Combine { win: self, call, op, origin, result: None, target, disp, layout }.run()
    }

    /// As [`Win::get_accumulate`], with any layouts (`MPI_Get_accumulate`, MPI-4.1 §12.3.4):
    /// `result` receives all elements of `layout`, of which the origin's are combined into the
    /// first. With [`Op::NoOp`] `origin` is not looked at.
    ///
    /// # Errors
    /// As [`Win::accumulate_layout`], for the result too.
    pub fn get_accumulate_layout(
        &self,
        origin: Origin<'_>,
        result: OriginMut<'_>,
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let call = Call::GetAccumulate;
        self.get_accumulate_layout_as(call, (origin, result), op, target, disp, layout)
    }

    /// [`Win::get_accumulate_layout`] for `call`.
    pub(super) fn get_accumulate_layout_as(
        &self,
        call: Call,
        (origin, result): (Origin<'_>, OriginMut<'_>),
        op: Op,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let (origin, result) = (Some(origin).filter(|_| op != Op::NoOp), Some(result));
        Combine { win: self, call, op, origin, result, target, disp, layout }.run()
    }
}

impl Combine<'_, '_> {
    fn run(mut self) -> Result<()> {
        let Combine { win, call, target, .. } = self;
        if target == Rank::NULL {
            return win.within(call, || win.null_target(call).map(|_| ()));
        }
        match self.datatype() {
            Ok(Some(datatype)) => datatype.visit(&mut self),
            Ok(None) => win.within(call, || {
                // No element anywhere: what remains to be checked is the target.
                win.target(call, target, self.disp, &self.layout.range()).map(|_| ())
            }),
            Err(error) => win.within(call, || Err(error)),
        }
    }

    /// The one predefined datatype of everything, if there are elements.
    fn datatype(&self) -> Result<Option<Datatype>> {
        let origin = self.origin.as_ref().map(|origin| origin.layout);
        let result = self.result.as_ref().map(|result| result.layout);
        let mut datatype = None;
        for layout in [Some(self.layout), origin, result].into_iter().flatten() {
            if layout.elements() == 0 {
                continue;
            }
            let uniform = layout.uniform();
            if uniform.is_none() || datatype.is_some() && uniform != datatype {
                let why = "all basic elements of an accumulate, on every side, must have the same \
                           predefined datatype";
                return Err(self.win.unfit(self.call, &layout, why));
            }
            datatype = uniform;
        }
        Ok(datatype)
    }

    /// Does it as an operation on slices, if it is one.
    fn as_slices<E: Element>(&mut self) -> Option<Result<()>> {
        let Combine { win, call, op, target, disp, .. } = *self;
        let bytes = self.layout.plain()?;
        let origin = match &self.origin {
            Some(origin) => origin.slice::<E>()?,
            None => &[],
        };
        if self.origin.is_some() && size_of_val(origin) != bytes {
            return None;
        }
        let Some(result) = &mut self.result else {
            return Some(win.accumulate_as(call, origin, op, target, disp));
        };
        let result = result.slice::<E>().filter(|result| size_of_val(*result) == bytes)?;
        Some(win.fetch(call, origin, result, op, target, disp))
    }

    /// Every check; the target, if there is something to do.
    fn checked(&self) -> Result<Option<Target<'_>>> {
        let &Combine { win, call, target, disp, ref layout, .. } = self;
        let origin = self.origin.as_ref().map(Located::from);
        let result = self.result.as_ref().map(Located::from);
        for own in [origin, result].iter().flatten() {
            win.check_reach(call, &own.layout.with_padding())?;
        }
        // What reaches farther than can be said is refused with its range.
        let is_known = layout.known_range().is_some();
        if let Some(origin) = origin.as_ref().filter(|_| is_known) {
            win.check_fits(call, &origin.layout, layout)?;
        }
        if let Some(result) = &result {
            if is_known {
                win.check_fits(call, layout, &result.layout)?;
            }
            win.check_entries_apart(call, &result.layout)?;
        }
        let Some(target) = win.target(call, target, disp, &layout.range())? else {
            return Ok(None);
        };
        win.check_entries_apart(call, layout)?;
        for own in [origin, result].iter().flatten() {
            win.check_apart_from(call, &target, disp, layout, own)?;
        }
        win.note_operation();
        Ok(Some(target))
    }

    fn all<E: Element>(&self) -> Result<()> {
        self.win.operation::<E>(self.call, self.op)?;
        let Some(target) = self.checked()? else { return Ok(()) };
        let recording = self.recording(&target);
        let elements = |origin: &Origin<'_>| origin.layout.elements();
        let is_short = self.origin.as_ref().map(elements) < Some(self.layout.elements());
        // What the origin has no element for is fetched only, and so is, before, the rest.
        let fetched = match self.result.is_some() && is_short {
            true => self.walk::<E>(&target, None),
            false => Ok(()),
        };
        let done = match (&self.origin, fetched) {
            (Some(origin), Ok(())) => self.walk::<E>(&target, Some(origin)),
            (_, fetched) => fetched,
        };
        recording.end();
        done
    }

    /// Updates the elements that the sides have in common, from the first on.
    fn walk<E: Element>(&self, target: &Target<'_>, origin: Option<&Origin<'_>>) -> Result<()> {
        let Combine { win, call, ref layout, ref result, .. } = *self;
        let op = if origin.is_some() { self.op } else { Op::NoOp };
        let update =
            Update { op, operation: win.operation(call, op)?, call, target: target.part(0) };
        // Where each element lies, pairs with their padding, which nobody touches.
        let layout = layout.with_padding();
        // A side that is not there is as long as the target, and never looked at.
        let absent = Side::Packed(layout.bytes().unwrap_or(u64::MAX));
        let sides = [
            origin.map_or(absent, |origin| origin.layout.with_padding().side()),
            layout.side(),
            result.as_ref().map_or(absent, |result| result.layout.with_padding().side()),
        ];
        let mut blocks = Blocks::<E> {
            win,
            update,
            origin: origin.map(|origin| origin.start),
            result: result.as_ref().map(|result| result.start),
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

    /// Says that everything from the first element to the last is written.
    fn recording(&self, target: &Target<'_>) -> Recording<'_> {
        match self.origin {
            Some(_) => {
                self.win.record_around(self.call, target.rank, target.start, &self.layout.range())
            }
            None => Recording::Nothing,
        }
    }
}

impl Visitor for &mut Combine<'_, '_> {
    type Output = Result<()>;
    fn visit<E: Element>(self) -> Result<()> {
        match self.as_slices::<E>() {
            Some(done) => done,
            None => self.win.within(self.call, || self.all::<E>()),
        }
    }
}
