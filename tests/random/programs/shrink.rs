//! From a program that fails to a small one that fails.

use crate::programs::layout::Layout;
use crate::programs::legal;
use crate::programs::program::{Act, Completion, Kind, Members, Program};

/// The smallest failing program that leaving out and simplifying leads to. `fails` may be asked
/// often, and `budget` times at most.
pub fn shrink(program: Program, budget: usize, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let (mut best, mut asked) = (program, 0);
    loop {
        let found = candidates(&best).into_iter().find(|candidate| {
            let legal = *candidate != best && asked < budget && legal::check(candidate).is_ok();
            asked += usize::from(legal);
            legal && fails(candidate)
        });
        match found {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Simpler programs, those that leave out most first.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        all.push(candidate);
    };
    leave_out(program, &mut offer);
    simplify(program, &mut offer);
    all
}

type Offer<'a> = &'a mut dyn FnMut(&dyn Fn(&mut Program));

fn leave_out(program: &Program, offer: Offer<'_>) {
    for phase in 0..program.phases.len() {
        offer(&|p| p.phases = vec![p.phases[phase].clone()]);
    }
    for phase in (0..program.phases.len()).rev() {
        offer(&|p| drop(p.phases.remove(phase)));
    }
    for window in 0..program.windows.len() {
        if program.phases.iter().all(|phase| phase.window != window) {
            offer(&|p| remove_window(p, window));
        }
    }
    for_each_rank(program, |phase, rank| {
        offer(&|p| p.phases[phase].ranks[rank].iter_mut().for_each(|s| s.acts.clear()));
    });
    for_each_session(program, |phase, rank, session| {
        // Of active epochs the one session stays.
        if program.phases[phase].ranks[rank].len() > 1 {
            offer(&|p| drop(p.phases[phase].ranks[rank].remove(session)));
        }
        for act in (0..program.phases[phase].ranks[rank][session].acts.len()).rev() {
            offer(&|p| {
                p.phases[phase].ranks[rank][session].acts.remove(act);
            });
        }
    });
}

fn simplify(program: &Program, offer: Offer<'_>) {
    for phase in 0..program.phases.len() {
        offer(&|p| p.phases[phase].asserts = false);
    }
    if program.members == Members::Reversed {
        offer(&|p| p.members = Members::World);
    }
    for_each_session(program, |phase, rank, session| {
        for act in 0..program.phases[phase].ranks[rank][session].acts.len() {
            let single = |p: &mut Program, f: &dyn Fn(&mut Act)| {
                f(&mut p.phases[phase].ranks[rank][session].acts[act]);
            };
            offer(&|p| single(p, &|act| act.completion = Completion::Call));
            offer(&|p| single(p, &|act| act.own = Layout::Contiguous));
            offer(&|p| single(p, &|act| act.layout = Layout::Contiguous));
            offer(&|p| single(p, &|act| act.count = act.count.min(act.layout.elements())));
            offer(&|p| single(p, &|act| act.disp = 0));
            offer(&|p| single(p, &|act| act.value = 0));
        }
    });
    for window in 0..program.windows.len() {
        offer(&|p| {
            for part in &mut p.windows[window].parts {
                (part.unit, part.skew, part.private) = (1, 0, false);
            }
        });
    }
}

fn remove_window(program: &mut Program, window: usize) {
    program.windows.remove(window);
    for phase in &mut program.phases {
        phase.window -= usize::from(phase.window > window);
    }
}

fn for_each_rank(program: &Program, mut f: impl FnMut(usize, usize)) {
    for (number, phase) in program.phases.iter().enumerate() {
        let busy = |rank: &usize| phase.ranks[*rank].iter().any(|s| !s.acts.is_empty());
        (0..phase.ranks.len()).filter(busy).for_each(|rank| f(number, rank));
    }
}

fn for_each_session(program: &Program, mut f: impl FnMut(usize, usize, usize)) {
    for (number, phase) in program.phases.iter().enumerate() {
        for (rank, sessions) in phase.ranks.iter().enumerate() {
            (0..sessions.len()).for_each(|session| f(number, rank, session));
        }
    }
}

/// Acts that are operations, for judging how small a program is.
pub fn operations(program: &Program) -> usize {
    let sessions = program.phases.iter().flat_map(|phase| phase.ranks.iter().flatten());
    let acts = sessions.flat_map(|session| &session.acts);
    acts.filter(|act| !matches!(act.kind, Kind::Flush(_))).count()
}
