//! Job failure: a rank stops after any of its steps, the launcher sets the failed word at any
//! later time, and every wait for that rank ends with an error.

use crate::explore::{BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model};
use crate::prim::{JobFailed, Site};
use crate::sync::{
    BarrierWords, Exclusion, FenceKind, LockAllWords, LockSide, LockType, LockWords, PostSlot,
    PostTable, PscwWords, Queueing, Round, collective, complete, fence, lock, lock_all, post,
    start_one, started, unlock_all, unlock_queued, wait,
};
use crate::world::{Job, Message, Nodes, each, run};

/// The models of this protocol: each scenario, stopped after each number of the victim's steps, polling
/// and asleep. Asleep, the launcher's step is the last one of the victim's thread, which has nothing left
/// to do. The failure still comes at any later time, and two threads can be explored exhaustively where
/// three cannot.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for scenario in SCENARIOS {
        for stop in 0..=scenario.victim.len() {
            let name = format!("{}, stopped after step {stop}", scenario.name);
            let model = |by| {
                Model::new("failure", &name, 2, move |_| fails(scenario, stop, by))
                    .within(BOUND_2, EXHAUSTIVE)
            };
            let has_lock = scenario.name.contains("lock");
            let separate = model(Launcher::Separate);
            models.push(if has_lock { separate.within(BOUND_2, BOUND_5) } else { separate });
            let asleep = model(Launcher::AfterVictim).parked();
            let asleep = asleep.within(BOUND_2, BOUND_3);
            if has_lock {
                models.push(asleep.clone().contending());
            }
            models.push(asleep);
        }
    }
    let inside = |by| {
        Model::new("failure", "accumulate", 2, move |_| stopped_inside(by))
            .within(BOUND_2, EXHAUSTIVE)
    };
    models.push(inside(Launcher::Separate));
    // Too long asleep without a bound; its lock is that of the scenario "exclusive lock".
    models.push(inside(Launcher::AfterVictim).parked().within(BOUND_2, BOUND_3));
    models
}

/// Which thread sets the failed word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Launcher {
    /// One of its own.
    Separate,
    /// The victim's, when it has stopped.
    AfterVictim,
}

impl Launcher {
    fn threads(self) -> usize {
        if self == Launcher::Separate { 3 } else { 2 }
    }
}

type Step = fn(&World, &mut Memory) -> Result<(), JobFailed>;

/// What the victim does, and what the survivor does meanwhile.
struct Scenario {
    name: &'static str,
    victim: &'static [Step],
    survivor: &'static [Step],
    /// How many steps of the victim come before the survivor's first (fewer if it stops).
    lead: u32,
    /// The survivor's steps that can succeed, by the number of steps after which the victim
    /// stopped. The next one waits for the victim for ever.
    succeed: &'static [usize],
}

/// Victim and survivor do the same two steps, each of which waits for the other rank.
const fn together(name: &'static str, steps: &'static [Step; 2]) -> Scenario {
    Scenario { name, victim: steps, survivor: steps, lead: 0, succeed: &[0, 1, 2] }
}

/// The victim holds what the survivor wants, unless it stops before or after.
const fn held(
    name: &'static str,
    victim: &'static [Step; 2],
    survivor: &'static [Step; 2],
) -> Scenario {
    Scenario { name, victim, survivor, lead: 1, succeed: &[2, 0, 2] }
}

const SCENARIOS: &[Scenario] = &[
    together("fence", &[fenced, fenced]),
    together("collective", &[collected, collected]),
    Scenario {
        name: "start",
        victim: &[published, posted, waited],
        survivor: &[found, begun, completed],
        lead: 0,
        succeed: &[0, 1, 3, 3],
    },
    Scenario {
        name: "wait",
        victim: &[begun, completed],
        survivor: &[posted, waited],
        lead: 0,
        succeed: &[1, 1, 2],
    },
    held("shared lock", &[exclusive, exclusive_over], &[shared, shared_over]),
    held("exclusive lock", &[exclusive, exclusive_over], &[exclusive, exclusive_over]),
    held(
        "exclusive lock of a shared one",
        &[shared, shared_over],
        &[exclusive_after_all, exclusive_over],
    ),
    held("exclusive lock under lock_all", &[all, all_over], &[exclusive, exclusive_over]),
    held(
        "exclusive lock under lock_all, biased",
        &[all_again, all_over],
        &[exclusive, exclusive_over],
    ),
    held("lock_all", &[exclusive, exclusive_over], &[all, all_over]),
];

#[derive(Default)]
struct World {
    job: Job,
    barrier: BarrierWords,
    pscw: PscwWords,
    table: PostTable,
    slots: Vec<PostSlot>,
    window: LockAllWords,
    target: LockWords,
    nodes: Nodes,
    exclusion: Exclusion,
    /// Waits that no failure ends: the launcher's, and those of the test itself.
    outside: Job,
    steps_done: Message,
    stopped: Message,
    survivor_done: Message,
}

#[derive(Default)]
struct Memory {
    round: Round,
    posts: u32,
    completes: u32,
}

/// One execution. Rank 0 is the survivor, 1 the victim, 2 the launcher if it is apart.
fn fails(scenario: &'static Scenario, stop: usize, launcher: Launcher) {
    let world = || World { slots: each(1), nodes: Nodes::biasing(), ..World::default() };
    let failed = stop < scenario.victim.len();
    run(launcher.threads(), world, move |w, me| match me {
        0 => survives(scenario, stop, w),
        1 => {
            let mut memory = Memory::default();
            for step in &scenario.victim[..stop] {
                assert!(step(w, &mut memory).is_ok(), "failed before the failure");
                if scenario.lead > 0 {
                    w.steps_done.send();
                }
            }
            if launcher == Launcher::Separate {
                w.stopped.send();
            } else if failed {
                w.job.failed.set(2);
            }
        }
        _ => {
            w.stopped.receive(&w.outside, 1);
            if failed {
                w.job.failed.set(2);
            }
        }
    });
}

fn survives(scenario: &Scenario, stop: usize, w: &World) {
    if !w.steps_done.received(&w.job, scenario.lead.min(stop as u32)) {
        return;
    }
    let mut memory = Memory::default();
    let succeeded =
        scenario.survivor.iter().take_while(|step| step(w, &mut memory).is_ok()).count();
    let most = scenario.succeed[stop];
    assert!(succeeded <= most, "a wait for a rank that stopped has succeeded");
    let failed = stop < scenario.victim.len();
    assert!(failed || succeeded == most, "a wait ended although the job has not failed");
}

/// The victim is inside an accumulate until the survivor has got its error.
fn stopped_inside(launcher: Launcher) {
    const SITES: (Site, Site) = (Site::AccumulatePost, Site::AccumulatePre);
    let world = World::default;
    run(launcher.threads(), world, move |w, me| match me {
        0 => {
            w.stopped.receive(&w.outside, 1);
            let waited = w.exclusion.run(SITES, &w.job.waiter(), || ());
            assert_eq!(waited, Err(JobFailed), "two ranks inside");
            w.survivor_done.send();
        }
        1 => {
            let inside = w.exclusion.run(SITES, &w.job.waiter(), || {
                w.stopped.send();
                if launcher == Launcher::AfterVictim {
                    w.job.failed.set(2);
                }
                w.survivor_done.receive(&w.outside, 1);
            });
            assert!(inside.is_ok(), "failed before the failure");
        }
        _ => {
            w.stopped.receive(&w.outside, 1);
            w.job.failed.set(2);
        }
    });
}

fn fenced(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    fence(&w.barrier, 2, &mut memory.round, FenceKind::Barrier, || (), || (), &w.job.waiter())
}

fn collected(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    collective(&w.barrier, 2, &mut memory.round, &w.job.waiter())
}

fn published(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    w.table.publish(1, &w.slots);
    Ok(())
}

fn found(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    w.table.find(&w.job.waiter()).map(drop)
}

fn posted(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    post(w.slots.iter());
    Ok(())
}

fn begun(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    start_one(&w.slots[0], &mut memory.posts, &w.job.waiter())?;
    started();
    Ok(())
}

fn completed(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    complete(std::iter::once(&w.pscw));
    Ok(())
}

fn waited(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    wait(&w.pscw, 1, &mut memory.completes, &w.job.waiter())
}

fn locked(w: &World, held: LockType) -> Result<(), JobFailed> {
    w.nodes.locker(0, 0, |locker| {
        lock(&w.window, &w.target, held, locker, Queueing::Fair, &w.job.waiter())
    })
}

fn unlocked(w: &World, held: LockType) -> Result<(), JobFailed> {
    w.nodes.locker(0, 0, |locker| unlock_queued(&w.window, &w.target, held, locker));
    Ok(())
}

fn exclusive(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    locked(w, LockType::Exclusive)
}

/// Of a target that only this rank may hold exclusively: where that fails, no rank holds the window's
/// lock.
fn exclusive_after_all(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    // From the first one on, exclusive lockers take the window's lock.
    all(w, memory)?;
    all_over(w, memory)?;
    let locked = locked(w, LockType::Exclusive);
    assert!(locked.is_ok() || !w.window.is_held(LockSide::RightShared), "keeps the window's lock");
    locked
}

fn exclusive_over(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    unlocked(w, LockType::Exclusive)
}

fn shared(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    locked(w, LockType::Shared)
}

fn shared_over(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    unlocked(w, LockType::Shared)
}

fn all(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    lock_all(&w.window, [&w.target], w.nodes.reader(0), &w.job.waiter())
}

/// By the word of the rank: the first one biases the window.
fn all_again(w: &World, memory: &mut Memory) -> Result<(), JobFailed> {
    all(w, memory)?;
    all_over(w, memory)?;
    all(w, memory)
}

fn all_over(w: &World, _: &mut Memory) -> Result<(), JobFailed> {
    unlock_all(&w.window, w.nodes.reader(0).node);
    Ok(())
}
