//! A gathering: its members arrive one by one at a record that they find by themselves, and
//! continue when all have arrived. All surviving members continue, or none does. For communicators
//! that their members create without the other ranks (`create_group`, `shrink`).
//!
//! Arrivals are counted, and the outcome is decided, under a [`RobustExclusion`]. A rank that fails
//! inside leaves its step half done; the next rank inside can resume from any step
//! (models/gather.rs).

use super::RobustExclusion;
use crate::prim::{Fault, JobFailed, ParkWord, Site, Waiter, planted};

/// The number of members that have arrived. Zero bytes are its initial state.
#[repr(C)]
#[derive(Default)]
pub struct Gathering {
    come: ParkWord,
}

impl Gathering {
    /// How many members have arrived: a snapshot.
    #[allow(dead_code, reason = "for reports; the models write none")]
    pub fn come(&self) -> u32 {
        self.come.load()
    }
}

/// How a rank finds its gathering.
pub trait GatherPlace {
    /// Identifies a gathering.
    type At: Copy;
    /// Why there is none.
    type Error;

    /// Inside: finds or opens the gathering of these members and records that this rank has arrived.
    /// Returns whether all have.
    fn come(&self) -> Result<(Self::At, bool), Self::Error>;

    /// Inside: removes the gathering from those that can be found. A rank that has failed since may
    /// have done so already.
    fn close(&self, at: Self::At) -> Result<(), Self::Error>;

    /// Inside: this rank leaves an incomplete, closed gathering. The last surviving member that had
    /// arrived may free its memory.
    fn leave(&self, at: Self::At) -> Result<(), Self::Error>;

    /// The count of its members.
    fn words(&self, at: Self::At) -> Result<&Gathering, Self::Error>;

    /// Outside: runs `wait` with a waiter that ends when any member fails.
    fn wait(
        &self,
        at: Self::At,
        wait: &dyn Fn(&Waiter<'_>) -> Result<(), JobFailed>,
    ) -> Result<(), JobFailed>;

    /// The error of an incomplete gathering.
    fn failed(&self, failed: JobFailed) -> Self::Error;
}

/// Arrives at a gathering of `members` ranks, and returns it when all have arrived.
///
/// Blocks until then or until a member has failed. Then either every surviving member continues, or
/// every one gets the error. Members that continue see what others wrote before they arrived.
/// `sites` are those of the exclusion, which `waiter` waits for.
pub fn gather<P: GatherPlace>(
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
    // The outcome is decided below: a failed member may have arrived before, and others may be about
    // to arrive.
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
fn arrive<P: GatherPlace>(place: &P) -> Result<P::At, P::Error> {
    let (at, is_last) = place.come()?;
    let words = place.words(at)?;
    if planted(Fault::GatherClosedLate) {
        words.come.add_and_wake(1);
    }
    if is_last {
        // Before the members can continue: a rank that fails after the count leaves nothing open.
        place.close(at)?;
    }
    if !planted(Fault::GatherClosedLate) {
        words.come.add_and_wake(1);
    }
    Ok(at)
}

/// Inside: returns whether all have arrived. If not, it closes the gathering: the first member that
/// stops waiting decides for all.
fn settle<P: GatherPlace>(place: &P, at: P::At, members: u32) -> Result<bool, P::Error> {
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
