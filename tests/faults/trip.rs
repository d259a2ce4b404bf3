//! One walk of a rank with some others: over the world, or, in a job that goes on, over those who live.
//!
//! In such a job a rank dies somewhere in the walk. [`Trip::keep`] mends the window that the walk was
//! at, [`Aftermath`] looks at what must be as before and goes on with it, and [`survive`] walks again
//! with the rest, until all have died that are to die. What each rank prints of that must fit what the
//! others print ([`crate::survivors`]).

use crate::aftermath::Aftermath;
use crate::walk::walk;
use onesided::hooks::{arm_fault, name_of, record};
use onesided::{Comm, Element, Error, FenceAssert, LockType};
use onesided::{Rank, Result, Universe, Window};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Faults for phases of a job that goes on, as `rank:phase/site:nth:action` with commas.
pub const PHASES: &str = "ONESIDED_TEST_PHASES";

/// Which signals the ranks of the latest walk use.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// How often each phase has passed each site; `None` without a record.
static PASSED: Mutex<Option<BTreeMap<String, u64>>> = Mutex::new(None);

pub struct Trip<'u> {
    pub universe: &'u Universe,
    pub comm: Comm,
    /// From 1.
    pub round: u32,
    /// Whether the job goes on when a rank fails.
    pub goes_on: bool,
}

impl Trip<'_> {
    /// This rank's number in the job.
    pub fn rank(&self) -> u32 {
        self.universe.world().rank().0
    }

    /// How many ranks those who walk have lost.
    pub fn lost(&self) -> usize {
        (self.universe.world().size() - self.comm.size()) as usize
    }

    /// By this signal rank 0 announces that it holds the lock.
    pub fn held(&self) -> usize {
        2 * self.lost()
    }

    /// By this one the others tell that they are about to sleep.
    pub fn asleep(&self) -> usize {
        2 * self.lost() + 1
    }

    /// Announces that this rank is about to sleep. Should it never come to that, because a rank dies
    /// before, then the next sleep announces it, in the walk that this rank is in then: one time too
    /// many, which lets rank 0 go on early, is better than one too few.
    pub fn report_asleep(&self) -> impl FnOnce() + 'static {
        GENERATION.store(self.asleep(), Relaxed);
        let world = self.universe.world().clone();
        move || world.signal(GENERATION.load(Relaxed))
    }

    /// Prints something that all survivors must print alike.
    pub fn report(&self, what: &str, outcome: &str) {
        if self.goes_on {
            let (lost, round, rank) = (self.lost(), self.round, self.rank());
            crate::report(&format!("\nagreed {rank} {lost}.{round}.{what} {outcome}\n"));
        }
    }

    /// Runs a call that makes or frees something on all ranks that live, or on none.
    pub fn make<R>(&self, what: &str, call: impl FnOnce() -> Result<R>) -> Result<R> {
        let made = phase(self, what, call);
        self.report(what, if made.is_ok() { "yes" } else { "no" });
        made
    }

    /// Runs `body`, and gives the window back. Where a rank has failed, the window is mended, must
    /// pass `check`, is used again and then given back; the error remains.
    pub fn keep<T: Element>(
        &self,
        name: &str,
        mut window: Window<T>,
        check: impl Fn(&Window<T>, &Comm) -> Result<()>,
        body: impl FnOnce(&mut Window<T>) -> Result<()>,
    ) -> Result<()> {
        // Not every body ends with a meeting, and who has freed a window cannot mend it with others.
        let result = body(&mut window).and_then(|()| self.comm.barrier());
        match &result {
            Ok(()) => return self.make(&format!("free-{name}"), || window.free()),
            Err(error) if self.goes_on => self.must_be_loss(error),
            Err(_) => return result,
        }
        // Another one may die meanwhile; the last fence returns the same to all.
        while let Err(error) = self.mend(&mut window, &check) {
            self.must_be_loss(&error);
        }
        if let Err(error) = self.make(&format!("free-mended-{name}"), || window.free()) {
            self.must_be_loss(&error);
        }
        result
    }

    fn mend<T: Element>(
        &self,
        window: &mut Window<T>,
        check: &impl Fn(&Window<T>, &Comm) -> Result<()>,
    ) -> Result<()> {
        phase(self, "recover", || window.recover()).expect("those who live recover a window");
        check(window, &self.rest())?;
        window.fence()?.close_with(FenceAssert::NOSUCCEED)?;
        let own = self.comm.rank();
        window.lock(LockType::Exclusive, own)?.unlock()?;
        window.fence()?.close_with(FenceAssert::NOSUCCEED)
    }

    /// A communicator of those who live.
    pub fn rest(&self) -> Comm {
        let rest =
            phase(self, "shrink", || self.comm.shrink()).expect("those who live find together");
        let members = rest.group();
        assert!(members.world_ranks().contains(&Rank(self.rank())));
        assert!(members.difference(&self.comm.group()).world_ranks().is_empty());
        rest
    }

    /// The only error there is when a rank has died.
    #[track_caller]
    pub fn must_be_loss(&self, error: &Error) {
        let failed = self.comm.failed();
        let named = match error {
            Error::RankFailed { failed, .. } => *failed,
            // Its private memory is gone.
            Error::Unreachable { owner, .. } => self.comm.group().world_ranks()[owner.index()],
            other => panic!("no loss: {other}"),
        };
        assert!(
            failed.world_ranks().contains(&Rank(named.0)),
            "{error}; but {failed:?} have failed"
        );
        crate::report(&format!("\nmissed {} {named}\n", self.rank()));
    }
}

/// Walks, and goes on with those who live whenever a rank has died, until `deaths` have come.
pub fn survive(universe: &Universe, deaths: u32) {
    let goes_on = true;
    let mut trip = Trip { universe, comm: universe.world().clone(), round: 1, goes_on };
    while let Err(error) = generation(&mut trip, deaths) {
        trip.must_be_loss(&error);
        let rest = trip.rest();
        let members: Vec<String> = rest.group().world_ranks().iter().map(Rank::to_string).collect();
        trip.report("rest", &members.join("."));
        trip = Trip { universe, comm: rest, round: 1, goes_on };
    }
    crate::report(&format!("\nsurvived {} {}\n", trip.rank(), trip.comm.size()));
}

/// Walks with the same ranks, once if none of them is still to die.
fn generation(trip: &mut Trip<'_>, deaths: u32) -> Result<()> {
    let aftermath = Aftermath::prepare(trip)?;
    loop {
        if let Err(error) = walk(trip) {
            trip.must_be_loss(&error);
            aftermath.go_on(trip);
            return Err(error);
        }
        if trip.lost() >= deaths as usize {
            return aftermath.end(trip);
        }
        trip.round += 1;
    }
}

/// Runs a part of the program in which a rank may have to fail.
pub fn phase<R>(trip: &Trip<'_>, what: &str, body: impl FnOnce() -> R) -> R {
    let wishes = std::env::var(PHASES).unwrap_or_default();
    let prefix = format!("{}:{what}/", trip.rank());
    let wish = wishes.split(',').find_map(|wish| wish.strip_prefix(&prefix));
    if let Some(wish) = wish {
        arm_fault(trip.rank(), &format!("{}:{wish}", trip.rank())).expect("a fault as documented");
    }
    if PASSED.lock().expect("one thread").is_none() {
        return body();
    }
    let (result, events) = record(body);
    if let Some(passed) = &mut *PASSED.lock().expect("one thread") {
        for event in events {
            *passed.entry(format!("{what}/{}", name_of(event))).or_default() += 1;
        }
    }
    result
}

/// Runs `body`; returns how often each of its phases has passed each site.
pub fn recorded(body: impl FnOnce()) -> BTreeMap<String, u64> {
    *PASSED.lock().expect("one thread") = Some(BTreeMap::new());
    body();
    PASSED.lock().expect("one thread").take().unwrap_or_default()
}
