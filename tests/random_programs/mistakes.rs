//! Calls that must be refused, with which class, and without any effect.

use crate::program::{Access, Act, Mistake};
use onesided::engine::Win;
use onesided::{Error, ErrorClass, FenceAssert, LockAssert, LockType, Op, Rank, Result};

/// The class with which the call is refused in such an epoch; `None` where it might be legal.
pub fn expected(mistake: Mistake, access: &Access, target: Option<u32>) -> Option<ErrorClass> {
    use Access::*;
    let reached = target.is_some() && access.reaches(target);
    let unreached = target.is_some() && !reached;
    let sync = |wrong: bool| wrong.then_some(ErrorClass::RmaSync);
    if *access == Nothing {
        return None;
    }
    match mistake {
        Mistake::Beyond => reached.then_some(ErrorClass::RmaRange),
        Mistake::NoSuchRank => Some(ErrorClass::Rank),
        Mistake::Unreached => sync(unreached),
        Mistake::UndefinedOp => Some(ErrorClass::Op),
        Mistake::Lengths => Some(ErrorClass::Count),
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

/// Makes the mistake; `beyond` is a displacement that leaves the target's part.
pub fn make(win: &Win, mistake: Mistake, act: &Act, beyond: u64) -> std::result::Result<(), Error> {
    let target = act.target.map_or(Rank::NULL, Rank);
    let ranks = win.comm().size();
    match mistake {
        Mistake::Beyond => beyond_the_part(win, act.value, target, beyond),
        Mistake::NoSuchRank => win.put(&[1u8], Rank(ranks + act.value as u32 % 5), 0),
        Mistake::Unreached => win.put(&[1u8], target, 0),
        Mistake::UndefinedOp => win.accumulate(&[1.0], Op::Band, target, 0),
        Mistake::Lengths => win.get_accumulate(&[1, 2], &mut [0], Op::Sum, target, 0),
        Mistake::Fence => win.fence(FenceAssert::NONE),
        Mistake::Lock => win.lock(LockType::Shared, target, LockAssert::NONE),
        Mistake::LockAll => win.lock_all(LockAssert::NONE),
        Mistake::Unlock => win.unlock(target),
        Mistake::Flush => win.flush(target),
        Mistake::Complete => win.complete(),
        Mistake::Wait => win.wait(),
    }
}

fn beyond_the_part(win: &Win, value: u64, target: Rank, disp: u64) -> Result<()> {
    match value % 4 {
        0 => win.put(&[1u8], target, disp),
        1 => win.get(&mut [1u64], target, disp),
        2 => win.accumulate(&[1u16], Op::Sum, target, disp),
        _ => win.compare_and_swap(&1u32, &0, &mut 0, target, disp),
    }
}
