//! The ranks of a job as seen from outside: by the launcher, and by `rmarun --status`.
//!
//! The sentences of a report are the launcher's. This module only reads the words of a status slot. That
//! is part of the contract: only this library knows where they are, and in which order a rank writes
//! them.

use crate::call::Call;
use crate::error::{Error, Result};
use crate::shm::{CallWord, File, RankSlot, RecordedCall, Segment, WindowHeader};
use crate::statistics::RankStatistics;
use std::os::fd::RawFd;
use std::path::PathBuf;

pub use crate::prim::{Awaited, AwaitedKind, AwaitedRead, Sleep};

/// The status of a rank, as it has recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankStatus {
    /// It has mapped the segment.
    pub joined: bool,
    /// It has finalized.
    pub finished: bool,
    /// It has not done before what `--strict` makes an error.
    pub has_left: bool,
    /// Its present call.
    pub call: Call,
    /// The name of the call's window.
    pub window: Option<String>,
    /// Since when it has been in that call, or in none, in nanoseconds of CLOCK_MONOTONIC: some tenths of a second too
    /// early in a call, and too late in none. `None` if it has not been for that long.
    pub since: Option<u64>,
}

/// Whether a rank sleeps, in a few words of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// It has mapped the segment.
    pub joined: bool,
    /// It has finalized.
    pub finished: bool,
    /// The process that has joined, by its number in its own namespace.
    pub pid: u32,
    /// How many of its threads make no calls, besides one that makes all.
    pub idle_threads: u32,
    /// Its latest sleep in a wait of the library.
    pub sleep: Sleep,
}

/// A call that a rank has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCall {
    /// The call.
    pub call: Call,
    /// The name of its window.
    pub window: Option<String>,
    /// The rank of the window or communicator that it is for.
    pub target: Option<u32>,
    /// The bytes that it moves.
    pub bytes: Option<u64>,
    /// When it began, in nanoseconds of CLOCK_MONOTONIC; some tenths of a second too early. `None` in a job without a
    /// launcher.
    pub began: Option<u64>,
    /// The address to which it returns, as the program's file has it ([`View::program`]).
    pub caller: Option<u64>,
    /// It has not ended.
    pub is_under_way: bool,
}

/// The ranks of a job, by their records in its segment.
#[derive(Clone, Copy)]
pub struct View<'a> {
    segment: &'a Segment,
}

impl<'a> View<'a> {
    pub(super) fn of(segment: &'a Segment) -> View<'a> {
        View { segment }
    }

    /// How many ranks the job has.
    pub fn ranks(&self) -> u32 {
        self.segment.layout().ranks
    }

    fn slot(&self, rank: u32) -> Result<&'a RankSlot> {
        self.segment.slot(rank)
    }

    /// Whether a rank sleeps.
    pub fn standing(&self, rank: u32) -> Result<Standing> {
        let slot = self.slot(rank)?;
        Ok(Standing {
            joined: slot.joined.is_set(),
            finished: slot.finished.is_set(),
            pid: slot.pid.load(),
            idle_threads: slot.idle_threads.load(),
            sleep: slot.wait.sleep(),
        })
    }

    /// The status of rank `rank`.
    pub fn status(&self, rank: u32) -> Result<RankStatus> {
        let slot = self.slot(rank)?;
        let (call, window) = match self.is_recorded() {
            true => CallWord::read(slot.calls.present()),
            false => (Call::NotRecorded, 0),
        };
        let (joined, finished) = (slot.joined.is_set(), slot.finished.is_set());
        Ok(RankStatus {
            joined,
            finished,
            since: slot.calls.since().filter(|_| joined && !finished),
            has_left: slot.has_left.is_set(),
            call,
            window: self.name_of(window),
        })
    }

    /// Whether the ranks record their last calls.
    pub fn is_recorded(&self) -> bool {
        !self.segment.layout().is_unrecorded
    }

    /// Looks at the ranks: from such looks their last calls have their times. For the launcher alone.
    pub fn look(&self) {
        let now = monotonic();
        let slots = (0..self.ranks()).filter(|_| self.is_recorded());
        let joined =
            slots.filter_map(|rank| self.slot(rank).ok()).filter(|slot| slot.joined.is_set());
        joined.for_each(|slot| slot.calls.look(now));
    }

    /// How many calls of rank `rank` have ended; `None` if they are not recorded.
    pub fn calls(&self, rank: u32) -> Result<Option<u64>> {
        let ended = self.slot(rank)?.calls.ended();
        Ok(self.is_recorded().then_some(ended))
    }

    /// What a rank has counted; `None` if the job counts nothing.
    pub fn statistics(&self, rank: u32) -> Result<Option<RankStatistics>> {
        RankStatistics::of(self.segment, rank)
    }

    /// The last calls of rank `rank`, the latest last. A window whose memory has been used again has no name.
    pub fn last_calls(&self, rank: u32) -> Result<Vec<LastCall>> {
        let slot = self.slot(rank)?;
        let (calls, program) = (slot.calls.read(), slot.program.get());
        let named = |recorded: &RecordedCall| {
            let RecordedCall { call, window, operation, began, caller, is_under_way } = *recorded;
            let caller = caller.and_then(|at| at.checked_sub(program.as_ref()?.0));
            let target = operation.and_then(|(target, _)| target);
            let bytes = operation.map(|(_, bytes)| bytes).filter(|bytes| *bytes != 0);
            let window = self.name_of(window);
            LastCall { call, window, target, bytes, began, caller, is_under_way }
        };
        Ok(calls.iter().map(named).collect())
    }

    /// The file of the program that rank `rank` runs; `None` if the program is not in C.
    pub fn program(&self, rank: u32) -> Result<Option<PathBuf>> {
        Ok(self.slot(rank)?.program.get().map(|(_, path)| path.into()))
    }

    /// The name of a recorded window, unless its block is another's now.
    fn name_of(&self, mark: u64) -> Option<String> {
        let block = WindowHeader::block_of(mark);
        let header = self.segment.mapping().view::<WindowHeader>(block).ok();
        header.filter(|header| block != 0 && header.has_mark(mark)).map(WindowHeader::name)
    }

    /// The call in which a rank waits, and the name of its window.
    pub fn call_of(&self, awaited: &AwaitedRead) -> (Call, Option<String>) {
        let (call, window) = CallWord::read(awaited.doing);
        (call, self.name_of(window))
    }

    /// Since when a rank sleeps in a wait, if it does.
    pub fn asleep_since(&self, rank: u32) -> Result<Option<u64>> {
        let wait = &self.slot(rank)?.wait;
        let before = wait.sleep();
        let since = wait.since();
        Ok((before.lasts() && wait.sleep().number == before.number).then_some(since))
    }

    /// What a rank waits for, if it sleeps.
    pub fn awaited(&self, rank: u32) -> Result<Option<AwaitedRead>> {
        let wait = &self.slot(rank)?.wait;
        let before = wait.sleep();
        let awaited = wait.read();
        // Written before the sleep was announced. If that still lasts, it was not written for another.
        Ok((before.lasts() && wait.sleep().number == before.number).then_some(awaited))
    }
}

/// What tools read of a rank at the moment, and of its job.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Calls that it has ended, those inside other calls included.
    pub calls: u64,
    /// How often its waits have slept.
    pub sleeps: u64,
    /// What a wake-up has lately cost a rank, in nanoseconds.
    pub waking: u64,
    /// How often a wait looks before it yields or sleeps.
    pub spins: u32,
    /// Ranks of the job for each processor that those which have joined may use, rounded up.
    pub sharing: u32,
    /// Ranks of the job.
    pub ranks: u32,
    /// Bytes of the segment.
    pub segment: u64,
    /// Bytes of the segment in use: the fixed part, and what is allocated.
    pub used: u64,
    /// Bytes of the segment that have memory.
    pub in_memory: u64,
    /// Bytes of memory that can still be allocated.
    pub available: u64,
    /// The job records the last calls of each rank.
    pub is_recorded: bool,
    /// The job counts calls.
    pub is_counted: bool,
    /// The job checks accesses for conflicts.
    pub is_checked: bool,
    /// Whether calls that begin now are in the trace; `None` without one.
    pub is_traced: Option<bool>,
}

/// The segment of another job, read-only.
pub struct Observed {
    segment: Segment,
}

impl Observed {
    /// Opens the segment behind descriptor `number` of process `pid`.
    ///
    /// # Errors
    /// [`Error::NotInJob`] if it is not the segment of a job, or one of another version of the library;
    /// [`Error::System`] if it cannot be opened.
    pub fn open(pid: u32, number: RawFd) -> Result<Observed> {
        Ok(Observed { segment: Segment::observe(File::open_proc(pid, number, false)?)? })
    }

    /// The ranks of the job.
    pub fn view(&self) -> View<'_> {
        View::of(&self.segment)
    }
}

/// Whether an error of [`Observed::open`] is about the version of a segment.
pub fn is_of_another_version(error: &Error) -> bool {
    matches!(error, Error::NotInJob { what } if what == crate::shm::OTHER_VERSION)
}

/// Nanoseconds of the clock that ranks use for the beginning of a sleep.
pub fn monotonic() -> u64 {
    crate::prim::monotonic()
}
