//! Random programs that are legal: acts are proposed, and those that agree with the acts before
//! them stay.

use crate::programs::draw;
use crate::programs::layout::Layout;
use crate::programs::legal::{self, Placed};
use crate::programs::oracle::Model;
use crate::programs::program::*;
use crate::programs::typed;
use crate::programs::value::{is_defined, is_integer, size};
use crate::support::choices::Choices;
use onesided::{Datatype, Op};

/// The program of a seed.
pub fn program(seed: u64, ranks: u32) -> Program {
    let choices = &mut Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(ranks));
    let members = match choices.below(6) {
        0 => Members::Reversed,
        1 if ranks > 2 => Members::Fewer,
        _ => Members::World,
    };
    let mut program = Program { ranks, members, windows: Vec::new(), phases: Vec::new() };
    for _ in 0..1 + choices.below(5) / 4 {
        program.windows.push(window(choices, program.members()));
    }
    let mut model = Model::new(&program);
    let home = pick(choices, &Datatype::ALL);
    for _ in 0..1 + choices.below(6) {
        let mut phase = Draft { choices, program: &program, home }.phase();
        settle(&program, &mut phase, &mut model);
        program.phases.push(phase);
    }
    program
}

/// Takes out the acts whose outcome would not be determined, and runs the phase on the model.
fn settle(program: &Program, phase: &mut Phase, model: &mut Model) {
    loop {
        let mut after = model.clone();
        let outcome = after.run(program, phase, None);
        let Some(fault) = outcome.faults.first() else {
            *model = after;
            return;
        };
        let mut number = fault.act;
        for session in &mut phase.ranks[fault.rank as usize] {
            if number < session.acts.len() {
                session.acts.remove(number);
                break;
            }
            number -= session.acts.len();
        }
    }
}

fn pick<T: Copy>(choices: &mut Choices, all: &[T]) -> T {
    all[choices.below(all.len() as u64) as usize]
}

fn some_of(choices: &mut Choices, n: u32) -> Vec<u32> {
    let bits = choices.next();
    (0..n).filter(|rank| bits >> rank & 1 == 1).collect()
}

fn window(choices: &mut Choices, ranks: u32) -> WindowSpec {
    let typed = Made::Typed(pick(choices, &Datatype::ALL));
    let kinds = [
        Made::Allocate,
        Made::Allocate,
        Made::Create,
        Made::Create,
        Made::Shared,
        Made::Dynamic,
        typed,
    ];
    let made = pick(choices, &kinds);
    let roomy = [32, 48, 64, 96, 128, 200];
    let part = |choices: &mut Choices| {
        let bytes = match choices.below(8) {
            0 => choices.below(20),
            1 if made != Made::Dynamic => 0,
            _ => pick(choices, &roomy),
        };
        if let Made::Typed(datatype) = made {
            let unit = size(datatype) as u64;
            return Part { bytes: bytes / unit * unit, unit, private: false, skew: 0 };
        }
        let unit = if made == Made::Dynamic { 1 } else { pick(choices, &[1, 1, 2, 3, 4, 8, 16]) };
        let exposed = matches!(made, Made::Create | Made::Dynamic);
        let private = exposed && choices.below(2) == 0;
        let skew = if exposed && choices.below(3) == 0 { choices.below(8) } else { 0 };
        Part { bytes: bytes.max(u64::from(made == Made::Dynamic)), unit, private, skew }
    };
    WindowSpec { made, parts: (0..ranks).map(|_| part(choices)).collect() }
}

/// A phase that is being drawn.
struct Draft<'a> {
    choices: &'a mut Choices,
    program: &'a Program,
    /// The datatype that most acts of the program have.
    home: Datatype,
}

impl Draft<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.choices.below(n)
    }

    fn phase(&mut self) -> Phase {
        let members = self.program.members();
        let window = self.below(self.program.windows.len() as u64) as usize;
        let sync = pick(self.choices, &[Sync::Fence, Sync::Pscw, Sync::Passive, Sync::Passive]);
        let asserts = self.below(2) == 0;
        let ranks = (0..members).map(|_| self.sessions(sync, members)).collect();
        let mut phase = Phase { window, sync, asserts, ranks };
        // In some phases all ranks want the same few elements.
        let shared_act = (self.below(2) == 0).then(|| self.update(&phase));
        let mut guests = 3 + self.below(6);
        for _ in 0..self.below(12 * u64::from(members) + 1) {
            let rank = self.below(u64::from(members)) as u32;
            let joins = guests > 0 && self.below(2) == 0;
            let shared_act = shared_act.as_ref().filter(|_| joins);
            guests -= u64::from(shared_act.is_some());
            self.propose(&mut phase, rank, shared_act);
        }
        phase
    }

    fn sessions(&mut self, sync: Sync, members: u32) -> Vec<Session> {
        let session = |access| Session { access, acts: Vec::new() };
        match sync {
            Sync::Fence => vec![session(Access::Fence)],
            Sync::Pscw if self.below(5) == 0 => vec![session(Access::Nothing)],
            Sync::Pscw => vec![session(Access::Start(some_of(self.choices, members)))],
            Sync::Passive => {
                (0..1 + self.below(3)).map(|_| session(self.passive(members))).collect()
            }
        }
    }

    fn passive(&mut self, members: u32) -> Access {
        match self.below(5) {
            0 => Access::All,
            1 => Access::Nothing,
            2 => {
                let targets = some_of(self.choices, members);
                let lock = |target| (target, self.below(3) == 0);
                let locks: Vec<_> = targets.into_iter().map(lock).collect();
                if locks.is_empty() { Access::Nothing } else { Access::Locks(locks) }
            }
            _ => {
                let target = self.below(u64::from(members)) as u32;
                Access::Locks(vec![(target, self.below(2) == 0)])
            }
        }
    }

    /// Adds an act to a session of `rank` if it may be added.
    fn propose(&mut self, phase: &mut Phase, rank: u32, shared_act: Option<&Act>) {
        let sessions = phase.ranks[rank as usize].len() as u64;
        let number = self.below(sessions) as usize;
        let mut act = self.act(phase, rank);
        if let Some(shared_act) = shared_act {
            act = Act { value: act.value, ..shared_act.clone() };
            if self.below(4) == 0 {
                act.kind = self.relative(act.kind);
            }
        }
        let session = &phase.ranks[rank as usize][number];
        if matches!(session.access, Access::Nothing) && phase.sync == Sync::Passive {
            // Guarded updates can stand nowhere else.
            if matches!(act.op(), Some(Op::Sum)) && is_integer(act.datatype) {
                act.kind = Kind::Guarded;
            }
        }
        self.aim(&session.access, rank, &mut act);
        let requests = matches!(session.access, Access::All | Access::Locks(_));
        act.completion = match requests && act.is_general() && self.below(2) == 0 {
            true => pick(self.choices, &Completion::ALL),
            false => Completion::Call,
        };
        let flushes = legal::flushes(&session.acts, &act);
        let new = Placed { rank, session: number, flushes, act: &act };
        let stands = legal::may_stand(self.program, phase, rank, &session.access, &act);
        let agrees = |old: &Placed<'_>| legal::agree(self.program, phase.window, *old, new);
        if stands
            && crate::programs::oracle::fits(self.program, phase, &act)
            && legal::placed(phase).iter().all(agrees)
        {
            phase.ranks[rank as usize][number].acts.push(act);
        }
    }

    /// An act that others may join.
    fn update(&mut self, phase: &Phase) -> Act {
        let draws = (0..20).map(|_| self.act(phase, 0));
        let draws: Vec<Act> = draws.collect();
        let update = draws.iter().find(|act| act.used() == Use::Update);
        update.unwrap_or(&draws[0]).clone()
    }

    /// Another act on the same elements that may meet it.
    fn relative(&mut self, kind: Kind) -> Kind {
        match kind {
            Kind::Accumulate(op) => {
                pick(self.choices, &[Kind::GetAccumulate(op), Kind::GetAccumulate(Op::NoOp)])
            }
            Kind::GetAccumulate(op) => Kind::Accumulate(op),
            Kind::FetchAndOp(op) => {
                pick(self.choices, &[Kind::GetAccumulate(op), Kind::FetchAndOp(Op::NoOp)])
            }
            Kind::CompareAndSwap => Kind::FetchAndOp(Op::NoOp),
            kind => kind,
        }
    }

    /// Chooses the target anew where the session or the kind of act leaves little choice.
    fn aim(&mut self, access: &Access, rank: u32, act: &mut Act) {
        let reached = match access {
            _ if matches!(act.kind, Kind::Load | Kind::Store) => vec![rank],
            _ if matches!(act.kind, Kind::Wrong(mistake) if !mistake.needs_reach()) => return,
            Access::Start(targets) => targets.clone(),
            Access::Locks(locks) => locks.iter().map(|lock| lock.0).collect(),
            _ => return,
        };
        if act.target.is_some_and(|target| !reached.contains(&target)) && !reached.is_empty() {
            act.target = Some(pick(self.choices, &reached));
        }
    }

    /// Any act, whether or not it may stand somewhere.
    fn act(&mut self, phase: &Phase, rank: u32) -> Act {
        let members = u64::from(self.program.members());
        let spec = &self.program.windows[phase.window];
        let (made, home) = match spec.made {
            Made::Typed(datatype) => (spec.made, datatype),
            made => (made, self.home),
        };
        let datatype = match self.below(4) {
            _ if matches!(made, Made::Typed(_)) => home,
            0 => pick(self.choices, &Datatype::ALL),
            1 => Datatype::U8,
            _ => home,
        };
        let target = self.below(members) as u32;
        let part = spec.parts[target as usize];
        let kind = self.kind(datatype);
        let target = match self.below(30) {
            0 => None,
            _ if matches!(kind, Kind::Load | Kind::Store) => Some(rank),
            _ => Some(target),
        };
        let (value, completion) = (self.choices.next() >> 40, Completion::Call);
        let (layout, own) = (Layout::Contiguous, Layout::Contiguous);
        let (disp, count) = (0, 0);
        let mut act = Act { kind, datatype, target, disp, count, value, layout, own, completion };
        self.lay(&mut act, made, part);
        act
    }

    /// Chooses where the elements of an act lie, and how many they are.
    fn lay(&mut self, act: &mut Act, made: Made, part: Part) {
        let size = size(act.datatype);
        let single = matches!(act.kind, Kind::FetchAndOp(_) | Kind::CompareAndSwap);
        act.count = if single { 1 } else { self.below((part.bytes / size as u64).min(5) + 1) };
        if act.is_general() && self.below(2) == 0 {
            self.derive(act, made, part);
        }
        let range = act.layout.range(size, act.count);
        // The entries have to lie in the part, not the displacement.
        let first = range.start.min(0).unsigned_abs().div_ceil(part.unit);
        let last = part.bytes.saturating_sub(range.end.max(0) as u64) / part.unit;
        act.disp = first + self.below((last + 1).saturating_sub(first).max(1));
        if !single && act.count > 0 && self.below(3) != 0 {
            // Where other elements of the datatype begin too.
            act.disp -= act.disp % (size as u64 / part.unit).max(1);
        }
    }

    /// Chooses derived datatypes; of several draws, the first that the window can have.
    fn derive(&mut self, act: &mut Act, made: Made, part: Part) {
        let (size, is_typed) = (size(act.datatype), matches!(made, Made::Typed(_)));
        let draws: Vec<Layout> = (0..8).map(|_| draw::layout(self.choices, size)).collect();
        let instances = if is_typed { 1 } else { self.below(4) };
        let can_be = |layout: &Layout, count| {
            layout.divides(count) && (!is_typed || typed::has_shape(*layout, count))
        };
        let fits = |layout: &&Layout| {
            let count = instances * layout.elements();
            let range = layout.range(size, count);
            can_be(layout, count) && (range.end - range.start) as u64 <= part.bytes
        };
        let Some(layout) = draws.iter().find(fits) else { return };
        (act.layout, act.count) = (*layout, instances * layout.elements());
        let own = match self.below(4) {
            0 => Some(layout),
            1 => None,
            _ => draws.iter().rev().find(|own| can_be(own, act.count)),
        };
        if let Some(own) = own.filter(|own| !own.overlaps(size, act.count)) {
            act.own = *own;
        }
    }

    fn kind(&mut self, datatype: Datatype) -> Kind {
        let ops: Vec<Op> = Op::ALL.into_iter().filter(|op| is_defined(*op, datatype)).collect();
        let op = pick(self.choices, &ops);
        match self.below(24) {
            0..4 => Kind::Put,
            4..8 => Kind::Get,
            8..11 => Kind::Accumulate(op),
            11..14 => Kind::GetAccumulate(op),
            14..16 => Kind::FetchAndOp(op),
            16 if is_integer(datatype) => Kind::CompareAndSwap,
            17 => Kind::Load,
            18 => Kind::Store,
            19 => pick(self.choices, &[Kind::DirectLoad, Kind::DirectStore]),
            20..22 => Kind::Wrong(pick(self.choices, &Mistake::ALL)),
            _ => {
                let flush = [Flush::One, Flush::All, Flush::Local, Flush::LocalAll];
                Kind::Flush(pick(self.choices, &flush))
            }
        }
    }
}
