//! Calls that must be refused, with which class, and without any effect.

use crate::programs::buffer::{Buffer, FRESH};
use crate::programs::exposed::Exposed;
use crate::programs::layout::Layout;
use crate::programs::program::{Access, Act, Mistake};
use onesided::engine::{self, Win};
use onesided::{Datatype, DerivedDatatype, ErrorClass, LockType, Op, Rank, Request, Result};

/// The most bytes that a mistake of layouts moves.
const MOST: u64 = 3;

/// The class of the call's error in such an epoch, on a target with a part of the given number of
/// bytes; `None` where it might be legal, or wrong in two ways.
pub fn expected(
    mistake: Mistake,
    access: &Access,
    target: Option<u32>,
    part: u64,
) -> Option<ErrorClass> {
    use Access::*;
    let reached = target.is_some() && access.reaches(target);
    let unreached = target.is_some() && !reached;
    let sync = |wrong: bool| wrong.then_some(ErrorClass::RmaSync);
    if *access == Nothing {
        return None;
    }
    match mistake {
        Mistake::Outside | Mistake::LayoutOutside => reached.then_some(ErrorClass::RmaRange),
        Mistake::NoSuchRank => Some(ErrorClass::Rank),
        Mistake::Unreached => sync(unreached),
        Mistake::UndefinedOp => Some(ErrorClass::Op),
        Mistake::Lengths => Some(ErrorClass::Count),
        Mistake::LayoutOverlaps | Mistake::LayoutElements => {
            (reached && part >= MOST).then_some(ErrorClass::Type)
        }
        Mistake::Request => sync(reached && matches!(access, Fence | Start(_))),
        Mistake::Fence => sync(*access != Fence),
        Mistake::Lock => sync(match access {
            Fence => false,
            Locks(_) => reached,
            _ => target.is_some(),
        }),
        Mistake::LockAll => sync(*access != Fence),
        Mistake::Unlock => sync(target.is_some() && !(matches!(access, Locks(_)) && reached)),
        Mistake::Flush => sync(match access {
            Fence | Start(_) => target.is_some(),
            Locks(_) => unreached,
            _ => false,
        }),
        Mistake::Complete => sync(!matches!(access, Start(_))),
        Mistake::Wait => sync(!matches!(access, Start(_))),
    }
}

/// Makes the mistake; returns what is wrong with its error.
pub fn make(
    exposed: &Exposed,
    mistake: Mistake,
    access: &Access,
    act: &Act,
) -> std::result::Result<(), String> {
    let mut result = Buffer::fresh(Layout::Contiguous, Datatype::U8, MOST);
    let answer = call(exposed, mistake, act, &mut result);
    let class = expected(mistake, access, act.target, exposed.bytes(act.target));
    if answer.as_ref().map_err(|error| error.class()).err() != class {
        return Err(format!("{answer:?} instead of {class:?}"));
    }
    match result.elements()?.iter().all(|byte| *byte == FRESH) {
        true => Ok(()),
        false => Err("refused, and written to".into()),
    }
}

fn call(exposed: &Exposed, mistake: Mistake, act: &Act, result: &mut Buffer) -> Result<()> {
    let (win, value) = (&exposed.win, act.value);
    let target = act.target.map_or(Rank::NULL, Rank);
    let ranks = win.comm().size();
    match mistake {
        Mistake::Outside => {
            outside_the_part(win, value, target, exposed.outside(act.target, value))
        }
        Mistake::NoSuchRank => win.put(&[1u8], Rank(ranks + value as u32 % 5), 0),
        Mistake::Unreached => win.put(&[1u8], target, 0),
        Mistake::UndefinedOp => win.accumulate(&[1.0], Op::Band, target, 0),
        Mistake::Lengths => win.get_accumulate(&[1, 2], &mut [0], Op::Sum, target, 0),
        Mistake::LayoutOutside | Mistake::LayoutOverlaps | Mistake::LayoutElements => {
            between_layouts(exposed, mistake, act, result)
        }
        Mistake::Request => request(win, value, target),
        Mistake::Fence => win.fence(),
        Mistake::Lock => win.lock(LockType::Shared, target),
        Mistake::LockAll => win.lock_all(),
        Mistake::Unlock => win.unlock(target),
        Mistake::Flush => win.flush(target),
        Mistake::Complete => win.complete(),
        Mistake::Wait => win.wait(),
    }
}

fn outside_the_part(win: &Win, value: u64, target: Rank, disp: u64) -> Result<()> {
    match value % 4 {
        0 => win.put(&[1u8], target, disp),
        1 => win.get(&mut [1u64], target, disp),
        2 => win.accumulate(&[1u16], Op::Sum, target, disp),
        _ => win.compare_and_swap(&1u32, &0, &mut 0, target, disp),
    }
}

fn request(win: &Win, value: u64, target: Rank) -> Result<()> {
    let mut result = [0u8];
    let request = match value % 4 {
        0 => win.rput(&[1u8], target, 0),
        1 => win.rget(&mut result, target, 0),
        2 => win.raccumulate(&[1u8], Op::Sum, target, 0),
        _ => win.rget_accumulate(&[1u8], &mut result, Op::Sum, target, 0),
    };
    request.map(Request::wait)
}

/// Operations on single bytes, with too many of them on one side or with a wrong target layout.
fn between_layouts(
    exposed: &Exposed,
    mistake: Mistake,
    act: &Act,
    result: &mut Buffer,
) -> Result<()> {
    let (win, byte, value) = (&exposed.win, Datatype::U8, act.value);
    let target = act.target.map_or(Rank::NULL, Rank);
    let disp = exposed.disp(act.target, 0);
    let fetches = value & 1 == 1 && mistake != Mistake::LayoutOverlaps;
    // Two bytes as blocks of one instance, or as instances.
    let two = |stride| match value & 8 {
        0 => Ok((2, 1, DerivedDatatype::hvector(2, 1, stride, byte)?)),
        _ => Ok((2, 2, DerivedDatatype::resized(0, stride, byte)?)),
    };
    let (own, count, datatype) = match mistake {
        // One byte in the part, if there is any, and one behind it or before it.
        Mistake::LayoutOutside if value & 4 == 0 => two(exposed.bytes(act.target).max(1) as i64)?,
        Mistake::LayoutOutside => two(-1)?,
        Mistake::LayoutOverlaps => two(0)?,
        _ if fetches => (2, 1, DerivedDatatype::vector(3, 1, 1, byte)?),
        _ => (3, 1, DerivedDatatype::vector(2, 1, 2, byte)?),
    };
    let origin = Buffer::of(Layout::Contiguous, byte, &[7; MOST as usize]);
    let datatype = datatype.commit();
    let (from, layout) = (origin.origin(own, byte.into()), engine::Layout::new(count, &datatype));
    let into = result.origin_mut(own, byte.into());
    match (fetches, value & 2 == 0) {
        (false, true) => win.put_layout(from, target, disp, layout),
        (false, false) => win.accumulate_layout(from, Op::Sum, target, disp, layout),
        (true, true) => win.get_layout(into, target, disp, layout),
        (true, false) => win.get_accumulate_layout(from, into, Op::Sum, target, disp, layout),
    }
}
