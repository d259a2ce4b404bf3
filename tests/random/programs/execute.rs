//! Runs a program on the ranks of a job and compares with the oracle.

use crate::programs::dawdle;
use crate::programs::exposed::{self, Exposed, Window};
use crate::programs::operate::{Hands, ends};
use crate::programs::oracle::{Given, Model, races};
use crate::programs::program::{Access, Completion, Kind, Phase, Program, Session, Sync, Use};
use crate::programs::sabotage::Sabotage;
use crate::programs::transfer::{self, Buffers, Types};
use crate::programs::value::size;
use onesided::engine::Win;
use onesided::{
    Comm, FenceAssert, Group, LockAssert, LockType, PostAssert, Rank, StartAssert, Universe,
};

/// Runs the program; returns what this rank finds wrong. Collective over the job.
pub fn run(universe: &Universe, program: &Program, sabotage: Sabotage) -> Vec<String> {
    let Some(comm) = exposed::communicator(universe, program.members) else { return Vec::new() };
    let mut windows = Window::all(universe, &comm, program);
    let mut run = Run { comm: &comm, program, sabotage, wrong: Vec::new(), what: String::new() };
    let mut model = Model::new(program);
    for (number, phase) in program.phases.iter().enumerate() {
        run.what = format!("phase {number}");
        dawdle::somewhere(program, number, comm.rank().0);
        run.phase(phase, &mut windows[phase.window], &mut model);
    }
    let wrong = run.wrong;
    windows.into_iter().for_each(Window::free);
    comm.barrier().expect("a barrier");
    wrong
}

struct Run<'a> {
    comm: &'a Comm,
    program: &'a Program,
    sabotage: Sabotage,
    wrong: Vec<String>,
    /// Where in the program this rank is.
    what: String,
}

impl Run<'_> {
    fn phase(&mut self, phase: &Phase, window: &mut Window, model: &mut Model) {
        let me = self.comm.rank().index();
        let given = match (&mut *window, phase.sync) {
            (Window::Typed(window), _) => {
                let given = window.phase(phase).into_iter().zip(phase.acts_of(me as u32));
                given.map(|(given, (_, act))| self.sabotage.given_typed(act, given)).collect()
            }
            (Window::Engine(exposed), Sync::Fence) => self.fence(phase, exposed),
            (Window::Engine(exposed), Sync::Pscw) => self.pscw(phase, exposed),
            (Window::Engine(exposed), Sync::Passive) => self.passive(phase, exposed),
        };
        let own = window.own();
        let all = races(self.program, phase).then(|| self.share(phase, &given));
        let outcome = model.run(self.program, phase, all.as_ref());
        for fault in outcome.faults {
            self.complain(format!("rank {}, act {}: {}", fault.rank, fault.act, fault.why));
        }
        let acts = phase.acts_of(me as u32).zip(&given).zip(&outcome.expected[me]);
        for (((_, act), given), expected) in acts {
            let differs = |(e, g): (&Option<u8>, &u8)| e.is_some_and(|e| e != *g);
            if expected.iter().zip(given).any(differs) {
                self.complain(format!("{act:?}\n   was given {given:?}, not {expected:?}"));
            }
        }
        let expected = &model.windows[phase.window][me].bytes;
        if own != *expected {
            self.complain(format!("the own part is\n   {own:?}, not\n   {expected:?}"));
        }
    }

    fn complain(&mut self, what: String) {
        self.wrong.push(format!("rank {}, {}: {what}", self.comm.rank().0, self.what));
    }

    /// Gives all ranks the results of each.
    fn share(&self, phase: &Phase, given: &[Vec<u8>]) -> Given {
        let all = self.comm.allgatherv(&given.concat()).expect("all that was given");
        let mut shared = Given::new();
        for (rank, mut rest) in all.iter().map(Vec::as_slice).enumerate() {
            let mut of_rank = Vec::new();
            for (_, act) in phase.acts_of(rank as u32) {
                let bytes = if act.fetches() { act.count as usize * size(act.datatype) } else { 0 };
                // Less, where a call was refused; that rank has complained.
                let (first, others) = rest.split_at(bytes.min(rest.len()));
                of_rank.push(first.to_vec());
                rest = others;
            }
            shared.push(of_rank);
        }
        shared
    }

    /// One access epoch with its acts; returns what each was given.
    fn session(&mut self, phase: &Phase, exposed: &Exposed, session: &Session) -> Vec<Vec<u8>> {
        let (acts, sabotage) = (&session.acts, self.sabotage);
        let types: Vec<Types> = acts.iter().map(|act| Types::new(act, sabotage)).collect();
        let mut buffers: Vec<Buffers> = acts.iter().map(Buffers::new).collect();
        let mut requests = Vec::new();
        open(&exposed.win, &session.access, phase);
        let hands = Hands { exposed, sabotage };
        let mut given = hands.acts(session, &types, &mut buffers, &mut requests);
        transfer::complete_all(requests);
        let mut look = |completion| {
            for ((act, given), buffers) in acts.iter().zip(&mut given).zip(&mut buffers) {
                if act.completion == completion && act.is_general() && given.is_ok() {
                    *given = buffers.given(act, sabotage);
                    buffers.reuse();
                }
            }
        };
        look(Completion::Together);
        close(&exposed.win, &session.access);
        look(Completion::Dropped);
        if ends(&session.access) {
            look(Completion::Call);
        }
        let given = acts.iter().zip(given).map(|(act, given)| {
            given.unwrap_or_else(|wrong| {
                self.complain(format!("{act:?}: {wrong}"));
                vec![0; if act.fetches() { act.count as usize * size(act.datatype) } else { 0 }]
            })
        });
        given.collect()
    }

    fn sessions(&mut self, phase: &Phase, exposed: &Exposed) -> Vec<Vec<u8>> {
        let sessions = &phase.ranks[self.comm.rank().index()];
        sessions.iter().flat_map(|session| self.session(phase, exposed, session)).collect()
    }

    fn fence(&mut self, phase: &Phase, exposed: &Exposed) -> Vec<Vec<u8>> {
        let [first, last] = match phase.asserts {
            true => Has::new(phase, self.comm.rank().0).fence_asserts(),
            false => [FenceAssert::NONE; 2],
        };
        exposed.win.fence_with(first).expect("the first fence");
        let given = self.sessions(phase, exposed);
        exposed.win.fence_with(last).expect("the second fence");
        given
    }

    fn pscw(&mut self, phase: &Phase, exposed: &Exposed) -> Vec<Vec<u8>> {
        let (win, me) = (&exposed.win, self.comm.rank().0);
        let has = Has::new(phase, me);
        let origins = (0..phase.ranks.len()).rev().filter(|origin| phase.starts(*origin, me));
        let origins = group(self.comm, origins.map(|origin| origin as u32));
        let posts = !origins.is_empty() || phase.asserts;
        if posts {
            let mut assert = PostAssert::NONE;
            if phase.asserts {
                let noput = if has.written { PostAssert::NONE } else { PostAssert::NOPUT };
                assert = PostAssert::NOCHECK | noput;
            }
            win.post_with(&origins, assert).expect("post");
        }
        if phase.asserts {
            self.comm.barrier().expect("a barrier");
        }
        let given = self.sessions(phase, exposed);
        while posts && phase.asserts && !win.test().expect("test") {
            std::thread::yield_now();
        }
        if posts && !phase.asserts {
            win.wait().expect("wait");
        }
        given
    }

    fn passive(&mut self, phase: &Phase, exposed: &Exposed) -> Vec<Vec<u8>> {
        self.comm.barrier().expect("a barrier");
        let given = self.sessions(phase, exposed);
        exposed.win.sync();
        self.comm.barrier().expect("a barrier");
        exposed.win.sync();
        given
    }
}

/// What a phase does with a rank's part.
pub struct Has {
    /// Whether any rank puts or accumulates to it.
    written: bool,
    /// Whether its own rank stores to it.
    stores: bool,
}

impl Has {
    pub fn new(phase: &Phase, rank: u32) -> Has {
        let acts = |rank: usize| phase.acts_of(rank as u32).map(|(_, act)| act);
        let mut all = (0..phase.ranks.len()).flat_map(acts);
        let writes = |used| matches!(used, Use::Write | Use::Update);
        let written = all.any(|act| act.target == Some(rank) && writes(act.used()));
        let stores = acts(rank as usize).any(|act| matches!(act.kind, Kind::Store));
        Has { written, stores }
    }

    /// What the first and the last fence of the phase may assert.
    pub fn fence_asserts(&self) -> [FenceAssert; 2] {
        let noput = if self.written { FenceAssert::NONE } else { FenceAssert::NOPUT };
        let nostore = if self.stores { FenceAssert::NONE } else { FenceAssert::NOSTORE };
        [FenceAssert::NOPRECEDE | noput, FenceAssert::NOSUCCEED | nostore]
    }
}

/// Ranks of the communicator as a group.
pub fn group(comm: &Comm, ranks: impl Iterator<Item = u32>) -> Group {
    comm.group().incl(&ranks.collect::<Vec<_>>()).expect("ranks of the communicator")
}

fn open(win: &Win, access: &Access, phase: &Phase) {
    match access {
        Access::Fence | Access::Nothing => {}
        Access::Start(targets) => {
            // SAFETY: with assertions every rank posts NOCHECK, and then passes a barrier.
            #[allow(unsafe_code, reason = "asserts what `Run::pscw` sees to")]
            let nocheck = unsafe { StartAssert::nocheck() };
            let assert = if phase.asserts { nocheck } else { StartAssert::NONE };
            win.start_with(&group(win.comm(), targets.iter().copied()), assert).expect("start");
        }
        Access::Locks(locks) => {
            for (target, exclusive) in locks {
                let kind = if *exclusive { LockType::Exclusive } else { LockType::Shared };
                win.lock_with(kind, Rank(*target), lock_assert(phase)).expect("a lock");
            }
        }
        Access::All => win.lock_all_with(lock_assert(phase)).expect("lock_all"),
    }
}

fn lock_assert(phase: &Phase) -> LockAssert {
    let excludes = |session: &Session| {
        let exclusive = matches!(&session.access, Access::Locks(l) if l.iter().any(|lock| lock.1));
        exclusive || session.acts.iter().any(|act| act.kind == Kind::Guarded)
    };
    if !phase.asserts || phase.ranks.iter().flatten().any(excludes) {
        return LockAssert::NONE;
    }
    // SAFETY: no rank requests an exclusive lock in the phase, which barriers enclose.
    #[allow(unsafe_code, reason = "asserts what has just been checked")]
    unsafe {
        LockAssert::nocheck()
    }
}

fn close(win: &Win, access: &Access) {
    match access {
        Access::Fence | Access::Nothing => {}
        Access::Start(_) => win.complete().expect("complete"),
        Access::Locks(locks) => {
            locks.iter().for_each(|(target, _)| win.unlock(Rank(*target)).expect("unlock"));
        }
        Access::All => win.unlock_all().expect("unlock_all"),
    }
}
