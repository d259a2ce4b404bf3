//! Put and get between any two layouts, block by block and without a copy in between.
#![allow(unsafe_code, reason = "copies between an origin buffer and checked target memory")]

use super::layout::{Layout, Located, are_far};
use super::target::Target;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::{Side, zip_strips};
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::prim::Step;
use crate::shm::{Piece, Process, Recording, Strip, copy_past, copy_strip_past};
use crate::window::{Via, Win};

/// Which way a transfer goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Put,
    Get,
}

/// A transfer between the origin's memory and a target.
///
/// Whoever makes one has the right to read the origin's entries (to write them, for a get), by
/// `Origin::new` or `OriginMut::new`.
struct Transfer<'d> {
    call: Call,
    way: Way,
    /// The origin's side.
    own: Located<'d>,
    /// The target's.
    layout: Layout<'d>,
}

impl<'d> Transfer<'d> {
    /// What is read, and what is written.
    #[inline(always)]
    fn sides(&self) -> (Layout<'d>, Layout<'d>) {
        match self.way {
            Way::Put => (self.own.layout, self.layout),
            Way::Get => (self.layout, self.own.layout),
        }
    }

    /// Reading and writing address of something at `own` and `at`.
    #[inline(always)]
    fn directed(&self, at: *mut u8) -> (*const u8, *mut u8) {
        match self.way {
            Way::Put => (self.own.zero, at),
            Way::Get => (at, self.own.zero.cast_mut()),
        }
    }

    /// The bytes, if both layouts are as many from displacement 0 on, of the same elements.
    #[inline(always)]
    fn plain(&self) -> Option<usize> {
        let bytes = self.own.layout.plain()?;
        let (own, other) = (self.own.layout.datatype.uniform(), self.layout.datatype.uniform());
        let same = self.layout.plain() == Some(bytes) && own == other && own.is_some();
        // More than that is no slice.
        (same && bytes <= isize::MAX as usize).then_some(bytes)
    }
}

impl Win {
    /// As [`Win::put`], from any layout to any other (`MPI_Put`, MPI-2.2 §11.3.1). The entries of
    /// the origin, in the order of its type map, go to the first entries of `layout`, whose
    /// displacement 0 is at `disp`.
    ///
    /// # Errors
    /// As [`Win::put`]; [`Error::LayoutRange`]; [`Error::Datatype`] if the origin's elements are
    /// not those, or the first of those, of `layout`, or if two entries of `layout` share a byte.
    #[inline]
    pub fn put_layout(
        &self,
        origin: Origin<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.put_layout_as(Call::Put, origin, target, disp, layout)
    }

    /// [`Win::put_layout`] for `call`.
    #[inline]
    pub(super) fn put_layout_as(
        &self,
        call: Call,
        origin: Origin<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let own = Located::from(&origin);
        self.transfer(&Transfer { call, way: Way::Put, own, layout }, target, disp)
    }

    /// As [`Win::get`], from any layout to any other (`MPI_Get`, MPI-2.2 §11.3.2). The entries of
    /// `layout`, whose displacement 0 is at `disp`, go to the first entries of the origin.
    ///
    /// # Errors
    /// As [`Win::put_layout`], with the sides exchanged.
    #[inline]
    pub fn get_layout(
        &self,
        origin: OriginMut<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        self.get_layout_as(Call::Get, origin, target, disp, layout)
    }

    /// [`Win::get_layout`] for `call`.
    #[inline]
    pub(super) fn get_layout_as(
        &self,
        call: Call,
        origin: OriginMut<'_>,
        target: Rank,
        disp: u64,
        layout: Layout<'_>,
    ) -> Result<()> {
        let own = Located::from(&origin);
        self.transfer(&Transfer { call, way: Way::Get, own, layout }, target, disp)
    }

    #[inline(always)]
    fn transfer(&self, transfer: &Transfer<'_>, target: Rank, disp: u64) -> Result<()> {
        let _call = self.enter(transfer.call);
        if let Some(bytes) = transfer.plain()
            && let Some(at) = self.mapped(target, disp, bytes, transfer.own.zero)
        {
            let ((from, to), start) = (transfer.directed(at), || self.start_of(target.0, disp));
            match transfer.way {
                // SAFETY: 1. `Transfer` for the own side, `mapped` for the other. 2. `mapped`.
                Way::Put => unsafe { self.copy_out(transfer.call, target, start, from, to, bytes) },
                // SAFETY: as above.
                Way::Get => unsafe { copy_past(Step::MidGet, from, to, bytes) },
            }
            return Ok(());
        }
        if let Some(at) = self.mapped_layout(transfer, target, disp) {
            self.note_operation();
            let recording = self.recording(transfer, target, disp);
            move_strips(transfer, at);
            recording.end();
            return Ok(());
        }
        self.handled(self.transfer_beyond(transfer, target, disp))
    }

    /// Says that everything from the first entry of the target to the last is written, if that is
    /// the side that is.
    #[inline(always)]
    fn recording(&self, transfer: &Transfer<'_>, target: Rank, disp: u64) -> Recording<'_> {
        match transfer.way {
            Way::Put => self.record_around(transfer.call, target, disp, &transfer.layout.range()),
            Way::Get => Recording::Nothing,
        }
    }

    /// The address of the displacement, if the target's entries are mapped and nothing is wrong
    /// with either side. Where there is none, [`Win::transfer_beyond`] finds out why.
    #[inline(always)]
    fn mapped_layout(&self, transfer: &Transfer<'_>, target: Rank, disp: u64) -> Option<*mut u8> {
        let (from, to) = transfer.sides();
        let Transfer { own, layout, .. } = transfer;
        let (own_range, range) = (own.layout.known_range()?, layout.known_range()?);
        if range.is_empty() || !from.fits_into(&to) || from.elements() == 0 || to.overlaps() {
            return None;
        }
        let zero = self.mapped_around(target, disp, &range)?;
        are_far((own.zero, &own_range), (zero, &range)).then_some(zero)
    }

    /// A transfer with memory that is not mapped, or a reason for none.
    #[cold]
    fn transfer_beyond(&self, transfer: &Transfer<'_>, target: Rank, disp: u64) -> Result<()> {
        let &Transfer { call, own, layout, .. } = transfer;
        if target == Rank::NULL {
            return self.null_target(call).map(|_| ());
        }
        let (from, to) = transfer.sides();
        self.check_reach(call, &own.layout)?;
        if layout.known_range().is_some() {
            self.check_fits(call, &from, &to)?;
        }
        let Some(target) = self.target_around(call, target, disp, &layout.range())? else {
            return Ok(());
        };
        self.check_entries_apart(call, &to)?;
        self.check_apart_from(call, &target, disp, &layout, &own)?;
        self.note_operation();
        if from.elements() == 0 {
            return Ok(());
        }
        let recording = self.recording(transfer, Rank(target.rank), disp);
        let moved = match target.via {
            Via::Mapped | Via::Own => {
                move_strips(transfer, target.at);
                Ok(())
            }
            Via::Kernel(process) => {
                let moved =
                    move_pieces(transfer, target.at, |batch| move_batch(transfer, process, batch));
                moved.map_err(|error| self.kernel_error(call, target.rank, error))
            }
            Via::Foreign => move_pieces(transfer, target.at, |batch| {
                let put = matches!(transfer.way, Way::Put);
                // SAFETY: `Transfer` for the own pieces; those that are written do not overlap.
                unsafe { self.move_by(call, target.rank, put, batch) }
            }),
        };
        recording.end();
        moved
    }

    /// Refuses what the other side has no room for.
    pub(super) fn check_fits(&self, call: Call, from: &Layout<'_>, to: &Layout<'_>) -> Result<()> {
        if from.fits_into(to) {
            return Ok(());
        }
        let why = "its basic elements are not those, or the first of those, of the other side";
        Err(self.unfit(call, from, why))
    }

    /// Refuses a buffer of this process that no address space holds.
    pub(super) fn check_reach(&self, call: Call, own: &Layout<'_>) -> Result<()> {
        match own.known_range() {
            Some(_) => Ok(()),
            None => {
                let buffer = format!("the buffer of {} x {:?}", own.count, own.datatype);
                Err(Error::Reach { at: self.place(call), buffer })
            }
        }
    }

    /// Refuses to write two entries to one byte (MPI-2.2 §11.3.1, §11.3.2).
    pub(super) fn check_entries_apart(&self, call: Call, to: &Layout<'_>) -> Result<()> {
        match to.overlaps() {
            true => Err(self.unfit(call, to, "entries that are written to share a byte")),
            false => Ok(()),
        }
    }

    /// A layout that the call cannot take.
    #[cold]
    pub(super) fn unfit(&self, call: Call, layout: &Layout<'_>, why: &'static str) -> Error {
        let datatype = match layout.count {
            1 => format!("{:?}", layout.datatype),
            count => format!("{count} x {:?}", layout.datatype),
        };
        Error::Datatype { at: self.place(call), datatype, why }
    }

    /// Refuses an origin an entry of which overlaps a target entry of the same operation.
    pub(super) fn check_apart_from(
        &self,
        call: Call,
        target: &Target<'_>,
        disp: u64,
        layout: &Layout<'_>,
        own: &Located<'_>,
    ) -> Result<()> {
        let other = Located { zero: target.at, layout: *layout };
        if matches!(target.via, Via::Kernel(_) | Via::Foreign) || own.is_apart_from(&other) {
            return Ok(());
        }
        let bytes = layout.datatype.bytes(layout.count).unwrap_or(u64::MAX);
        Err(self.conflict(call, target.rank, disp, bytes))
    }
}

/// Moves every strip of a transfer, which has been checked, with a target at `at`.
#[inline(always)]
fn move_strips(transfer: &Transfer<'_>, at: *mut u8) {
    let ((from, to), bases) = (transfer.sides(), transfer.directed(at));
    let middle = match transfer.way {
        Way::Put => Step::MidPut,
        Way::Get => Step::MidGet,
    };
    // SAFETY: 1. `Transfer` for the own side; the target's entries lie in its part. 2. The sides have
    // been found apart.
    unsafe { copy_sides(middle, (bases.0, from.side()), (bases.1, to.side())) };
}

/// Copies entry by entry between sides whose displacement 0 lies there.
///
/// # Safety
/// 1. The entries that both have are valid for reads, and for writes.
/// 2. No entry of one overlaps an entry of the other.
#[inline(never)]
pub(super) unsafe fn copy_sides(
    middle: Step,
    from: (*const u8, Side<'_>),
    to: (*mut u8, Side<'_>),
) {
    zip_strips(from.1, to.1, |strip| {
        // SAFETY: 1. and 2. of the caller.
        unsafe { copy_strip_past(middle, from.0, to.0, strip) };
    });
}

/// As [`move_strips`], with a target that is not addressed in this process, by batches of pieces.
fn move_pieces<E>(
    transfer: &Transfer<'_>,
    at: *mut u8,
    move_batch: impl Fn(&[Piece]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let (from, to) = transfer.sides();
    let (mut pieces, mut moved) = (Vec::with_capacity(BATCH), Ok(()));
    zip_strips(from.side(), to.side(), |strip| {
        for block in 0..strip.blocks {
            if moved.is_err() {
                return;
            }
            pieces.push(piece(transfer, strip, block, at));
            if pieces.len() == BATCH {
                moved = move_batch(&pieces);
                pieces.clear();
            }
        }
    });
    moved.and_then(|()| move_batch(&pieces))
}

/// Pieces that are collected before the kernel is asked to move them.
const BATCH: usize = 512;

/// A block of a strip.
fn piece(transfer: &Transfer<'_>, strip: &Strip<'_>, block: usize, at: *mut u8) -> Piece {
    let [from, to] = strip.lanes;
    let (own, other) = match transfer.way {
        Way::Put => (from, to),
        Way::Get => (to, from),
    };
    let own = transfer.own.zero.wrapping_offset(own.block(block) as isize).cast_mut();
    Piece { own, other: at.wrapping_offset(other.block(block) as isize), bytes: strip.bytes }
}

fn move_batch(transfer: &Transfer<'_>, process: Process, batch: &[Piece]) -> std::io::Result<()> {
    match transfer.way {
        // SAFETY: `Transfer` for the own pieces; the window exposes the others.
        Way::Put => unsafe { process.write_pieces(batch) },
        // SAFETY: 1. as above. 2. The own layout has been found not to overlap itself.
        Way::Get => unsafe { process.read_pieces(batch) },
    }
}
