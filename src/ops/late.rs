//! Operations of a job of `rmarun --check=late`: each takes effect when a call completes it, and no earlier.
//!
//! 1. Every check is made when the operation is issued, so errors are those of its call.
//! 2. What it reads in this process is read when it takes effect, or before that when it is complete here. What it writes
//!    here has the bytes [`CANARY`] until it takes effect.
//! 3. A buffer that is only valid until the call returns ([`Origin::lasting`]) is read by the call; an operation that
//!    would write one takes effect at once.
//! 4. A result in memory that this rank exposes is written at once too: the check of stores would take a later
//!    change for one that the program makes behind the synchronisation.

use super::Transfer;
use super::buffer::{Buffer, BufferMut, HeldDatatype, Origin, Scratch, scratch};
use super::layout::{Layout, LocalLayout};
use super::update::{Swap, Update, Updating};
use crate::call::Call;
use crate::check::{AccessKind, ByteRun, Checker, Delayed};
use crate::datatype::Integer;
use crate::error::{Error, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::shm::Direction;
use crate::window::{Communication, LateParts, Target};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// The bytes of a result that an operation has not written.
const CANARY: u8 = 0xee;

/// What operations of a window that take effect late need.
pub(super) struct Lateness<'w> {
    pub(super) parts: &'w Arc<LateParts>,
    pub(super) checker: &'w Checker,
}

/// A buffer that an operation reads.
struct LateOrigin {
    buffer: Buffer,
    /// Its memory, when it is a copy.
    copy: Option<Scratch>,
}

impl LateOrigin {
    fn new(origin: &Origin<'_>) -> LateOrigin {
        LateOrigin { buffer: Buffer::of(origin), copy: None }
    }

    /// Reads the program's buffer, which from now on is the program's again.
    fn read(&mut self) {
        let Buffer { count, datatype, .. } = &self.buffer;
        if self.copy.is_none()
            && let Some((memory, mut copy)) = scratch(*count, datatype)
        {
            copy.copy_from(&self.buffer);
            (self.buffer, self.copy) = (copy.into_read(), Some(memory));
        }
    }
}

/// How a compare_and_swap of a datatype takes effect.
type SwapEffect = fn(Swap<'_>, Communication<'_>, &Target<'_>) -> Result<()>;

/// A [`SwapEffect`].
fn swap_at<T: Integer>(
    mut swap: Swap<'_>,
    parts: Communication<'_>,
    target: &Target<'_>,
) -> Result<()> {
    let (new, compare) = (swap.new.element::<T>(), swap.compare.element::<T>());
    let before = parts.swap_late(target, &new, &compare)?;
    swap.result.set_element(before);
    Ok(())
}

#[derive(Clone, Copy)]
enum LateWork {
    Transfer(Direction),
    Update(Op),
    Swap(SwapEffect),
}

/// An operation that was issued, and has not taken effect.
pub(super) struct LateOperation {
    parts: Weak<LateParts>,
    call: Call,
    at: &'static Location<'static>,
    target: Rank,
    disp: u64,
    /// The target's side: instances of a datatype.
    layout: (usize, HeldDatatype),
    runs: Vec<ByteRun>,
    work: LateWork,
    /// Of a compare_and_swap the new value and the compared one.
    origins: Vec<LateOrigin>,
    result: Option<BufferMut>,
}

impl LateOperation {
    pub(super) fn transfer(late: &Lateness<'_>, transfer: &Transfer<'_>) -> Option<LateOperation> {
        let &Transfer { call, direction, own, is_lasting, target, disp, ref layout, at, .. } =
            transfer;
        let (read, written) = match direction {
            Direction::Put => (Some(own), None),
            Direction::Get => (None, Some(own)),
        };
        let buffers = (read, written, is_lasting);
        let work = LateWork::Transfer(direction);
        LateOperation::new(late, (call, at), (target, disp, layout), work, buffers)
    }

    pub(super) fn update(late: &Lateness<'_>, update: &Update<'_>) -> Option<LateOperation> {
        let &Update { call, op, origin, result, is_lasting, target, disp, ref layout, at, .. } =
            update;
        let (work, buffers) = (LateWork::Update(op), (origin, result, is_lasting));
        LateOperation::new(late, (call, at), (target, disp, layout), work, buffers)
    }

    pub(super) fn swap<T: Integer>(late: &Lateness<'_>, swap: &Swap<'_>) -> Option<LateOperation> {
        let Swap { new, compare, result, target, disp } = swap;
        let of_call = (Call::CompareAndSwap, Location::caller());
        let is_lasting = new.is_lasting && compare.is_lasting && result.is_lasting;
        let buffers = (Some(LocalLayout::from(new)), Some(LocalLayout::from(result)), is_lasting);
        let (at, work) = ((*target, *disp, &result.layout), LateWork::Swap(swap_at::<T>));
        let mut operation = LateOperation::new(late, of_call, at, work, buffers)?;
        operation.origins.push(LateOrigin::new(compare));
        Some(operation)
    }

    /// `None` if it has to take effect at once.
    fn new(
        late: &Lateness<'_>,
        (call, at): (Call, &'static Location<'static>),
        (target, disp, layout): (Rank, u64, &Layout<'_>),
        work: LateWork,
        (read, written, is_lasting): (Option<LocalLayout<'_>>, Option<LocalLayout<'_>>, bool),
    ) -> Option<LateOperation> {
        if let Some(written) = written {
            let mut pieces = written.layout.pieces(written.zero).into_iter();
            if !is_lasting || pieces.any(|(at, bytes)| late.checker.is_exposed(at, bytes)) {
                return None;
            }
        }
        let mut origins: Vec<_> = read.iter().map(|read| LateOrigin::new(&read.origin())).collect();
        if !is_lasting {
            origins.iter_mut().for_each(LateOrigin::read);
        }
        let result = written.map(|written| {
            let mut result = BufferMut::of(&written.origin_mut());
            let bytes = result.bytes().unwrap_or_default();
            result.unpack(&vec![CANARY; bytes as usize]);
            result
        });
        let (count, datatype) = layout.parts();
        let layout = (count, HeldDatatype::of(datatype));
        let (parts, runs) = (Arc::downgrade(late.parts), Vec::new());
        Some(LateOperation { parts, call, at, target, disp, layout, runs, work, origins, result })
    }

    /// These bytes of the target's part.
    pub(super) fn accessing(self, runs: Vec<ByteRun>) -> LateOperation {
        LateOperation { runs, ..self }
    }

    fn kind(&self) -> AccessKind {
        match self.work {
            LateWork::Transfer(Direction::Put) => AccessKind::Put,
            LateWork::Transfer(Direction::Get) => AccessKind::Get,
            LateWork::Update(Op::NoOp) => AccessKind::Fetch,
            LateWork::Update(_) | LateWork::Swap(_) => AccessKind::Update,
        }
    }

    fn run(&mut self, parts: Communication<'_>) -> Result<()> {
        let Communication { calls, memory } = parts;
        let &mut LateOperation { call, target, disp, .. } = self;
        let kind = self.kind();
        let (runs, datatype) = (std::mem::take(&mut self.runs), self.layout.1.clone());
        let layout = Layout::new(self.layout.0, &*datatype);
        let target = memory.around(calls, call, target.0, disp, &layout.range())?;
        parts.take_effect((call, kind), &target, runs, || self.run_on(parts, &target, layout))
    }

    fn run_on(
        &mut self,
        parts: Communication<'_>,
        on: &Target<'_>,
        layout: Layout<'_>,
    ) -> Result<()> {
        let LateOperation { call, at, target, disp, work, .. } = *self;
        let mut read = self.origins.iter().map(|origin| origin.buffer.origin());
        let origin = read.next();
        let local = origin.as_ref().map(LocalLayout::from);
        let result = self.result.as_mut().map(BufferMut::origin_mut);
        let written = result.as_ref().map(LocalLayout::from);
        let (is_lasting, results) = (true, None);
        match work {
            LateWork::Transfer(direction) => {
                let Some(own) = local.or(written) else { return Ok(()) };
                let transfer = Transfer {
                    call,
                    direction,
                    own,
                    is_lasting,
                    target,
                    disp,
                    layout,
                    results,
                    at,
                };
                parts.move_recorded(&transfer, on)
            }
            LateWork::Update(op) => {
                let (origin, result) = (local, written);
                let update = Update {
                    call,
                    op,
                    origin,
                    result,
                    is_lasting,
                    target,
                    disp,
                    layout,
                    results,
                    at,
                };
                let Some(datatype) = layout.uniform() else { return Ok(()) };
                datatype.visit(Updating { parts, update: &update, target: on })
            }
            LateWork::Swap(effect) => {
                let (Some(new), Some(compare), Some(result)) = (origin, read.next(), result) else {
                    return Ok(());
                };
                effect(Swap { new, compare, result, target, disp }, parts, on)
            }
        }
    }
}

impl Delayed for LateOperation {
    fn has_result(&self) -> bool {
        self.result.is_some()
    }

    fn read(&mut self) {
        self.origins.iter_mut().for_each(LateOrigin::read);
    }

    fn take_effect(&mut self) -> Result<()> {
        // Without its window nothing completes it any more.
        self.parts.upgrade().map_or(Ok(()), |parts| self.run(parts.communication()))
    }

    fn failed(&self, error: &Error) {
        if let Some(parts) = self.parts.upgrade() {
            parts.communication().calls.handle(error);
        }
    }
}
