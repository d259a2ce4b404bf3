//! Ranks that come one by one to a place that they find by themselves, and go on when all have come:
//! all who live, or none. For communicators that their members make without the other ranks.
//!
//! How many have come is counted, and decided upon, inside an exclusion that outlives its holder. A rank
//! that fails inside leaves its step half done; each step is such that the next rank inside can go on
//! from there (models/gather.rs).

use super::RobustExclusion;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, planted};

/// The members that have come, as a number. Zero bytes are its initial state.
#[repr(C)]
#[derive(Default)]
pub struct Gathering {
    come: ParkWord,
}

impl Gathering {
    /// How many have come: a snapshot.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn come(&self) -> u32 {
        self.come.load()
    }
}

/// How a rank finds the gathering that it belongs to.
pub trait Place {
    /// Which gathering it is.
    type At: Copy;
    /// Why there is none.
    type Error;

    /// Inside: finds the open gathering of these members, or opens one, and writes down that this rank
    /// has come. Says whether all have.
    fn come(&self) -> Result<(Self::At, bool), Self::Error>;

    /// Inside: nobody finds that gathering any more. It may have been closed before, by a rank that has
    /// failed since.
    fn close(&self, at: Self::At) -> Result<(), Self::Error>;

    /// Inside: this rank looks at a gathering no more that not all have come to, and that is closed. Who
    /// is the last of those that have come to it and live may give its memory back.
    fn leave(&self, at: Self::At) -> Result<(), Self::Error>;

    /// Where its members are counted.
    fn words(&self, at: Self::At) -> Result<&Gathering, Self::Error>;

    /// Outside: runs `wait` with a waiter that the failure of any member ends.
    fn wait(
        &self,
        at: Self::At,
        wait: &dyn Fn(&Waiter<'_>) -> Result<(), JobFailed>,
    ) -> Result<(), JobFailed>;

    /// The error of a gathering that not all have come to.
    fn failed(&self, failed: JobFailed) -> Self::Error;
}

/// Comes to a gathering of `members` ranks, and returns which it is when all have come.
///
/// Blocks until then, or until one of them has failed: then either every member that lives goes on, or
/// every one gets the error. What members have written before they came is seen by all who go on.
/// `sites` are those of the exclusion, which `waiter` waits for.
pub fn gather<P: Place>(
    exclusion: &RobustExclusion,
    sites: (Site, Site),
    place: &P,
    members: u32,
    waiter: &Waiter<'_>,
) -> Result<P::At, P::Error> {
    let arrived = exclusion.run(sites, waiter, |_| arrive(place));
    let at = arrived.map_err(|failed| place.failed(failed))??;
    let words = place.words(at)?;
    let all_come =
        |waiter: &Waiter<'_>| waiter.until(&words.come, |come| come >= members).map(drop);
    // Whether they have come, or one of them never will, is decided below: who has failed may have
    // come, and others may be on their way.
    let waited = place.wait(at, &all_come);
    if planted(Fault::GatherDecidesAlone)
        && let Err(failed) = waited
    {
        return Err(place.failed(failed));
    }
    let settled = exclusion.run(sites, waiter, |_| settle(place, at, members));
    match settled.map_err(|failed| place.failed(failed))?? {
        true => Ok(at),
        false => Err(place.failed(JobFailed)),
    }
}

/// Inside: counts this rank.
fn arrive<P: Place>(place: &P) -> Result<P::At, P::Error> {
    let (at, is_last) = place.come()?;
    let words = place.words(at)?;
    if planted(Fault::GatherClosedLate) {
        words.come.add_and_wake(1);
    }
    if is_last {
        // Before they can go on: who fails behind the count has left nothing open.
        place.close(at)?;
    }
    if !planted(Fault::GatherClosedLate) {
        words.come.add_and_wake(1);
    }
    Ok(at)
}

/// Inside: whether all have come. If not, nobody else comes to this one any more: the first member that
/// does not want to wait decides for all.
fn settle<P: Place>(place: &P, at: P::At, members: u32) -> Result<bool, P::Error> {
    let all = place.words(at)?.come.load() == members;
    if !all {
        if !planted(Fault::GatherLeftOpen) {
            place.close(at)?;
        }
        if !planted(Fault::GatherNotLeft) {
            place.leave(at)?;
        }
    }
    Ok(all)
}
