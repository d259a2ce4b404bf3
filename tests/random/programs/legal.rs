//! Which programs are legal (MPI-4.1 §12.7), decided apart from the generator: the shrinker and the
//! stored programs need it too.

use crate::programs::layout::Layout;
use crate::programs::mistakes;
use crate::programs::oracle::{Fault, Model, fits};
use crate::programs::program::{
    Access, Act, Completion, Flush, Kind, Made, Phase, Program, Sync, Use, WindowSpec,
};
use crate::programs::typed;
use crate::programs::value::size;
use onesided::Op;
use std::ops::Range;

/// An act in its place.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    pub rank: u32,
    pub session: usize,
    /// Flushes of the target before it in the session.
    pub flushes: usize,
    pub act: &'a Act,
}

/// The acts of a phase in their places.
pub fn placed(phase: &Phase) -> Vec<Placed<'_>> {
    let mut all = Vec::new();
    for (rank, sessions) in phase.ranks.iter().enumerate() {
        for (number, session) in sessions.iter().enumerate() {
            for (k, act) in session.acts.iter().enumerate() {
                let flushes = flushes(&session.acts[..k], act);
                all.push(Placed { rank: rank as u32, session: number, flushes, act });
            }
        }
    }
    all
}

/// How often the target of `act` is flushed in the acts before it.
pub fn flushes(before: &[Act], act: &Act) -> usize {
    let flushes = before.iter().filter(|flush| match flush.kind {
        Kind::Flush(Flush::All) => true,
        Kind::Flush(Flush::One) => flush.target == act.target,
        _ => false,
    });
    flushes.count()
}

/// Whether two acts of one phase may be in it together.
pub fn agree(program: &Program, window: usize, a: Placed<'_>, b: Placed<'_>) -> bool {
    let uses = (a.act.used(), b.act.used());
    let harmless =
        uses.0 == Use::Nothing || uses.1 == Use::Nothing || uses == (Use::Read, Use::Read);
    if harmless || a.act.target != b.act.target {
        return true;
    }
    let target = a.act.target.expect("a used target");
    let unit = program.windows[window].parts[target as usize].unit;
    let are_disjoint = a.act.elements(unit).all(|x| b.act.elements(unit).all(|y| !meet(&x, &y)));
    are_disjoint
        || are_ordered(a, b)
        || are_compatible_updates(unit, a.act, b.act, a.rank == b.rank)
}

/// Acts of one rank that synchronisation orders. A flush orders operations, not local accesses.
fn are_ordered(a: Placed<'_>, b: Placed<'_>) -> bool {
    use Kind::*;
    let is_local = |act: &Act| matches!(act.kind, Load | Store | DirectLoad | DirectStore);
    let flushed = a.flushes != b.flushes && !is_local(a.act) && !is_local(b.act);
    a.rank == b.rank && (a.session != b.session || flushed)
}

/// Accumulates of the same elements by the same datatype; those of different ranks by the same
/// operation or NO_OP (`same_op_no_op`).
fn are_compatible_updates(unit: u64, a: &Act, b: &Act, of_one_rank: bool) -> bool {
    let same_or_disjoint = |x: &Range<usize>, y: &Range<usize>| x == y || !meet(x, y);
    let same_elements = a.datatype == b.datatype
        && (a.used(), b.used()) == (Use::Update, Use::Update)
        && a.elements(unit).all(|x| b.elements(unit).all(|y| same_or_disjoint(&x, &y)));
    let (x, y) = (a.op(), b.op());
    same_elements && (of_one_rank || x == y || [x, y].contains(&Some(Op::NoOp)))
}

/// Whether bytes are in both ranges.
fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Whether the layouts of the act are of its number of elements, and no two elements are written
/// to one place.
fn are_layouts_sound(act: &Act) -> bool {
    let (size, count) = (size(act.datatype), act.count);
    let fixed = (Layout::Contiguous, Layout::Contiguous, Completion::Call);
    let writes = act.used() != Use::Read;
    (act.is_general() || (act.layout, act.own, act.completion) == fixed)
        && act.layout.divides(count)
        && act.own.divides(count)
        && !(writes && act.layout.overlaps(size, count))
        && !act.own.overlaps(size, count)
}

/// Whether a session is one for the act, by the kind of its phase and epoch.
pub fn may_stand(program: &Program, phase: &Phase, rank: u32, access: &Access, act: &Act) -> bool {
    let own = act.target == Some(rank);
    let is_passive = phase.sync == Sync::Passive;
    let alone = *access == Access::Nothing;
    let requests = matches!(access, Access::All | Access::Locks(_));
    if !are_layouts_sound(act) || act.completion != Completion::Call && !requests {
        return false;
    }
    if let Made::Typed(datatype) = program.windows[phase.window].made
        && !typed::is_possible(datatype, phase, access, act)
    {
        return false;
    }
    match act.kind {
        // A local access of nothing beyond the part is refused; an operation is not.
        Kind::Load | Kind::Store => own && act.count > 0,
        Kind::DirectLoad | Kind::DirectStore => {
            let shared = program.windows[phase.window].made == Made::Shared;
            shared && is_passive && act.target.is_some()
        }
        Kind::Guarded => alone && is_passive && act.target.is_some(),
        Kind::Wrong(mistake) => {
            let parts = &program.windows[phase.window].parts;
            let part = act.target.map_or(0, |target| parts[target as usize].bytes);
            mistakes::expected(mistake, access, act.target, part).is_some()
        }
        Kind::Flush(Flush::All | Flush::LocalAll) => {
            matches!(access, Access::All | Access::Locks(_))
        }
        Kind::Flush(_) if matches!(access, Access::Fence | Access::Start(_)) => false,
        _ => !alone && access.reaches(act.target),
    }
}

/// Why the program is none, if so; `Err` names a fault that one act less may mend.
pub fn check(program: &Program) -> Result<(), Fault> {
    if !program.windows.iter().all(WindowSpec::is_sound) {
        return Err(Fault { rank: 0, act: 0, why: "a window that cannot be made".into() });
    }
    let mut model = Model::new(program);
    program.phases.iter().try_for_each(|phase| check_phase(program, phase, &mut model))
}

fn check_phase(program: &Program, phase: &Phase, model: &mut Model) -> Result<(), Fault> {
    for (rank, sessions) in phase.ranks.iter().enumerate() {
        for (session, act) in sessions.iter().flat_map(|s| s.acts.iter().map(move |a| (s, a))) {
            let stands = may_stand(program, phase, rank as u32, &session.access, act);
            if !stands || !fits(program, phase, act) {
                let why = format!("{act:?} in {:?}", session.access);
                return Err(Fault { rank: rank as u32, act: 0, why });
            }
        }
    }
    let all = placed(phase);
    for (k, a) in all.iter().enumerate() {
        if let Some(b) = all[..k].iter().find(|b| !agree(program, phase.window, *a, **b)) {
            let why = format!("{:?} and, of rank {}, {:?}", a.act, b.rank, b.act);
            return Err(Fault { rank: a.rank, act: 0, why });
        }
    }
    let outcome = model.run(program, phase, None);
    outcome.faults.into_iter().next().map_or(Ok(()), Err)
}
