//! Programs for ranks that share no memory, under another MPI's launcher (docs/foreign.md).

use crate::programs::legal;
use crate::programs::program::{Act, Kind, Made, Part, Program, Use};
use onesided::Datatype;

/// The program with other windows in place of those that ranks map or that have no memory, and without
/// accesses by address; `None` if it needs them.
pub fn without_shared_memory(mut program: Program) -> Option<Program> {
    for window in &mut program.windows {
        if matches!(window.made, Made::Shared | Made::Dynamic) {
            window.made = Made::Allocate;
            let plain = |part: &Part| Part { private: false, skew: 0, ..*part };
            window.parts = window.parts.iter().map(plain).collect();
        }
    }
    let is_left_out = |act: &Act| match act.kind {
        Kind::DirectLoad | Kind::DirectStore => true,
        _ => has_padding(act) && act.used() == Use::Update,
    };
    let sessions = program.phases.iter_mut().flat_map(|phase| phase.ranks.iter_mut().flatten());
    sessions.for_each(|session| session.acts.retain(|act| !is_left_out(act)));
    legal::check(&program).is_ok().then_some(program)
}

/// Of a pair with padding another MPI moves the value and the index alone, where it knows of them.
fn has_padding(act: &Act) -> bool {
    matches!(act.datatype, Datatype::DoubleInt | Datatype::LongInt | Datatype::ShortInt)
}
