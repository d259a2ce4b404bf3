//! Members that find each other: one fails before it comes, inside, or behind, or while it gives up what
//! another one failed in.

use crate::explore::{BOUND_1, BOUND_2, BOUND_3, Model};
use crate::prim::{FailedWord, Failure, JobFailed, Site, Waiter, mem_sync};
use crate::sync::{GatherPlace, Gathering, RobustExclusion, gather};
use crate::world::{Data, Job, each, run};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

const SITES: (Site, Site) = (Site::HeapPost, Site::HeapPre);
/// Gatherings that may be opened: who gives one up comes to the next.
const PLACES: usize = 6;

const STOPS: [Stop; 6] =
    [Stop::Never, Stop::Before, Stop::Marked, Stop::Closing, Stop::Closed, Stop::Counted];

/// The models of this protocol. A gathering is two visits to the exclusion and a wait for each rank:
/// three ranks are explored with one preemption, and asleep where one of them does nothing.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for stop in STOPS {
        let model = |ranks: usize, times: usize, name: &str| {
            let stops = move |rank| if rank + 1 == ranks { stop } else { Stop::Never };
            let name = format!("fails {stop:?}{name}");
            Model::new("gather", &name, ranks, move |n| gathers(n, times, stops))
        };
        let (once, twice) = (model(2, 1, ""), model(2, 2, " twice"));
        let three = model(3, 1, "").within(BOUND_1, BOUND_1);
        models.push(once.clone().parked().within(BOUND_2, BOUND_3));
        models.push(once.within(BOUND_3, BOUND_3));
        models.push(twice.clone().parked().within(BOUND_1, BOUND_2));
        models.push(twice.within(if stop == Stop::Never { BOUND_1 } else { BOUND_2 }, BOUND_2));
        match stop {
            // Long, and for two survivors nothing that the others do not show.
            Stop::Never | Stop::Closing | Stop::Closed => {}
            Stop::Before => models.extend([three.clone().parked(), three]),
            _ => models.push(three),
        }
    }
    // One never comes; another one fails in giving that up.
    let stops = |rank| [Stop::Never, Stop::Closed, Stop::Before][rank];
    let two = Model::new("gather", "gives up and fails", 3, move |n| gathers(n, 1, stops));
    models.extend([two.clone().parked().within(BOUND_1, BOUND_1), two.within(BOUND_1, BOUND_1)]);
    models
}

/// Where a rank stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Never,
    /// It does not come.
    Before,
    /// It has written down that it has come; it is not counted.
    Marked,
    /// It is about to close the gathering.
    Closing,
    /// It has closed the gathering; it is not counted, or has not left.
    Closed,
    /// It is counted, and does not wait.
    Counted,
}

struct World {
    job: Job,
    /// One word for each rank.
    dead: Vec<FailedWord>,
    exclusion: RobustExclusion,
    /// Behind the exclusion: which gathering is open, from 1; how many there have been; and who has come.
    open: Data,
    opened: Data,
    marks: Vec<Vec<Data>>,
    words: Vec<Gathering>,
    /// Which gatherings' memory has been given back.
    freed: Vec<Data>,
    /// What each survivor got.
    outcomes: Mutex<Vec<Vec<bool>>>,
}

fn world(ranks: usize) -> World {
    World {
        job: Job::default(),
        dead: each(ranks),
        exclusion: RobustExclusion::default(),
        open: Data::default(),
        opened: Data::default(),
        marks: (0..PLACES).map(|_| each(ranks)).collect(),
        words: each(PLACES),
        freed: each(PLACES),
        outcomes: Mutex::default(),
    }
}

impl World {
    /// The memory of each gathering that one of `survivors` has given up has been given back once.
    fn assert_given_back(&self, survivors: &[usize]) {
        for (at, marks) in self.marks.iter().enumerate() {
            let has_come = survivors.iter().any(|rank| marks[*rank].get() != 0);
            let is_given_up = has_come && (self.words[at].come() as usize) < marks.len();
            assert_eq!(self.freed[at].get() == 1, is_given_up, "memory of a gathering");
        }
    }
}

/// The failure of any rank ends a wait for the members; of the exclusion, none does.
struct Members<'w> {
    dead: &'w [FailedWord],
    ends_waits: bool,
}

impl Failure for Members<'_> {
    fn is_set(&self) -> bool {
        self.ends_waits && self.dead.iter().any(FailedWord::is_set)
    }
    fn has_failed(&self, rank: u32) -> bool {
        self.dead[rank as usize].is_set()
    }
    /// A job has one alarm for all failures.
    fn word(&self) -> &FailedWord {
        &self.dead[0]
    }
}

/// As a rank finds it; what `src/comm/create_group.rs` keeps in the segment's list.
struct Here<'w> {
    w: &'w World,
    rank: usize,
    stop: Stop,
}

impl Here<'_> {
    /// What a rank stops by that stops inside: as a process that is killed, it does not leave.
    fn stops_at(&self, here: Stop) {
        if self.stop == here {
            resume_unwind(Box::new(Stopped));
        }
    }
}

struct Stopped;

impl GatherPlace for Here<'_> {
    type At = usize;
    type Error = JobFailed;

    fn come(&self) -> Result<(usize, bool), JobFailed> {
        let Here { w, rank, .. } = self;
        if w.open.get() == 0 {
            w.opened.set(w.opened.get() + 1);
            w.open.set(w.opened.get());
        }
        let at = w.open.get() as usize - 1;
        assert_eq!(w.marks[at][*rank].get(), 0, "a rank comes to the same gathering twice");
        w.marks[at][*rank].set(1);
        let all = w.marks[at].iter().all(|mark| mark.get() == 1);
        self.stops_at(Stop::Marked);
        Ok((at, all))
    }

    fn close(&self, at: usize) -> Result<(), JobFailed> {
        self.stops_at(Stop::Closing);
        if self.w.open.get() as usize == at + 1 {
            self.w.open.set(0);
            self.stops_at(Stop::Closed);
        }
        Ok(())
    }

    fn leave(&self, at: usize) -> Result<(), JobFailed> {
        let Here { w, rank, .. } = self;
        assert_eq!(w.marks[at][*rank].get(), 1, "a rank leaves what it has not come to, or twice");
        w.marks[at][*rank].set(2);
        let looks_no_more = |(mark, dead): (&Data, &FailedWord)| mark.get() != 1 || dead.is_set();
        if w.marks[at].iter().zip(&w.dead).all(looks_no_more) {
            w.freed[at].set(w.freed[at].get() + 1);
            assert_eq!(w.freed[at].get(), 1, "given back twice");
        }
        Ok(())
    }

    fn words(&self, at: usize) -> Result<&Gathering, JobFailed> {
        assert_eq!(self.w.freed[at].get(), 0, "a rank looks at what has been given back");
        Ok(&self.w.words[at])
    }

    fn wait(
        &self,
        _: usize,
        wait: &dyn Fn(&Waiter<'_>) -> Result<(), JobFailed>,
    ) -> Result<(), JobFailed> {
        self.stops_at(Stop::Counted);
        let failed = Members { dead: &self.w.dead, ends_waits: true };
        wait(&Waiter { rank: self.rank as u32, failed: &failed, ..self.w.job.waiter() })
    }

    fn failed(&self, failed: JobFailed) -> JobFailed {
        failed
    }
}

/// The same members gather `times` times, one after the other.
fn gathers(ranks: usize, times: usize, stops: impl Fn(usize) -> Stop + Copy + Send + 'static) {
    let rank = move |w: &World, rank| comes(w, (ranks, times), rank, stops(rank));
    let w = run(ranks, move || world(ranks), rank);
    let outcomes = w.outcomes.lock().unwrap();
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "not alike: {outcomes:?}");
    let stopped: Vec<Stop> = (0..ranks).map(stops).filter(|stop| *stop != Stop::Never).collect();
    // A member that is not the last to arrive closes nothing, and so does not stop at that step.
    let closes = |stop: &Stop| matches!(stop, Stop::Closing | Stop::Closed);
    let can_come = stopped.iter().all(|stop| closes(stop) || *stop == Stop::Counted);
    let can_again = stopped.iter().all(closes);
    for outcome in outcomes.iter() {
        assert!(!outcome[0] || can_come, "a rank has gone on without one that has not come");
        assert!(!outcome.get(1).is_some_and(|come| *come) || can_again, "the dead have come again");
        let all = outcome.iter().all(|come| *come);
        assert!(all || !stopped.is_empty(), "a wait has ended although nobody has failed");
    }
    w.assert_given_back(&(0..ranks).filter(|rank| stops(*rank) == Stop::Never).collect::<Vec<_>>());
}

/// One rank; behind its end, its thread is the launcher's.
fn comes(w: &World, (ranks, times): (usize, usize), rank: usize, stop: Stop) {
    let failed = Members { dead: &w.dead, ends_waits: false };
    let waiter = Waiter { rank: rank as u32, failed: &failed, ..w.job.waiter() };
    let here = Here { w, rank, stop };
    let come = |_| gather(&w.exclusion, SITES, &here, ranks as u32, &waiter).is_ok();
    let come = || (0..times).map(come).collect::<Vec<bool>>();
    let outcome = match stop {
        Stop::Before => None,
        _ => catch_unwind(AssertUnwindSafe(come)).map_err(is_a_stop).ok(),
    };
    match (stop, outcome) {
        (Stop::Never, Some(outcome)) => w.outcomes.lock().unwrap().push(outcome),
        _ => {
            mem_sync(Site::NoticePre);
            w.dead[rank].set(1);
            Failure::word(&failed).sound();
        }
    }
}

fn is_a_stop(why: Box<dyn std::any::Any + Send>) {
    if !why.is::<Stopped>() {
        resume_unwind(why);
    }
}
