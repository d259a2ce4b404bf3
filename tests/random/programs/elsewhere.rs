//! Programs for ranks under another MPI's launcher (docs/foreign.md).

use crate::programs::legal;
use crate::programs::program::{Act, Kind, Made, Program, Use};
use onesided::Datatype;

/// The program without updates of pairs with padding, of which another MPI moves the value and the index alone, where
/// it knows of them; `None` if it needs them.
pub fn without_padding(mut program: Program) -> Option<Program> {
    let has_padding = |act: &Act| {
        matches!(act.datatype, Datatype::DoubleInt | Datatype::LongInt | Datatype::ShortInt)
    };
    let sessions = program.phases.iter_mut().flat_map(|phase| phase.ranks.iter_mut().flatten());
    sessions.for_each(|session| {
        session.acts.retain(|act| !has_padding(act) || act.used() != Use::Update);
    });
    legal::check(&program).is_ok().then_some(program)
}

/// The program with allocated windows in place of those that ranks of several nodes cannot share.
pub fn on_several_nodes(mut program: Program) -> Program {
    let made = program.windows.iter_mut().map(|window| &mut window.made);
    made.filter(|made| **made == Made::Shared).for_each(|made| *made = Made::Allocate);
    let sessions = program.phases.iter_mut().flat_map(|phase| phase.ranks.iter_mut().flatten());
    sessions.for_each(|session| {
        session.acts.retain(|act| !matches!(act.kind, Kind::DirectLoad | Kind::DirectStore));
    });
    program
}
