//! How often each rank of a job that `rmarun --stats` has started makes which calls, and for how long it waits.
//!
//! In such a job every call takes its slow path, as in a checked one, so the fast paths know nothing of this. A call is
//! counted where its record in the rank's slot begins and ends (`context.rs`), a wait in the one loop that waits
//! (`prim/wait.rs`). Of calls that a call of the library makes itself only the outer one is counted.

use crate::call::Call;
use crate::error::Result;
use crate::mixer::Mixer;
use crate::prim::{Account, WaitLog, has_binding, line_by_binding, monotonic};
use crate::shm::{
    CallStatisticsWords, CallWord, Placed, Segment, StatisticsWords, TextWords,
    WaitStatisticsWords, WindowHeader,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A binding finds the line of a call by unwinding the stack, which takes microseconds: shorter waits have no line
/// there.
const LONG_FOR_BINDING: u64 = 50_000;

thread_local! {
    /// The outermost call that this thread is in, or was in last.
    static CURRENT: Cell<CurrentCall> =
        const { Cell::new(CurrentCall { depth: 0, what: 0, bytes: 0, begun: 0 }) };
}

#[derive(Clone, Copy)]
struct CurrentCall {
    /// How many calls this thread is in, each inside the one before.
    depth: u32,
    /// [`CallWord::of`] the call and its window.
    what: u64,
    bytes: u64,
    begun: u64,
}

/// What this process counts.
pub(crate) struct Statistics {
    segment: Arc<Segment>,
    words: Placed<StatisticsWords>,
    places: Mutex<Places>,
}

/// Where the records are.
#[derive(Default)]
struct Places {
    calls: HashMap<u64, usize, BuildHasherDefault<Mixer>>,
    waits: HashMap<(u64, LineOfWait), usize>,
}

/// A line of the program.
#[derive(PartialEq, Eq, Hash)]
enum LineOfWait {
    At(&'static Location<'static>),
    /// As a binding has found it; empty if it is unknown.
    Text(String),
}

impl Statistics {
    /// Those of a rank, if its job has them.
    pub(crate) fn join(segment: &Arc<Segment>, rank: u32) -> Result<Option<Arc<Statistics>>> {
        let Some(at) = segment.layout().statistics_of(rank) else { return Ok(None) };
        let words: Placed<StatisticsWords> = segment.place(at)?;
        words.joined.store(monotonic());
        let (segment, places) = (segment.clone(), Mutex::default());
        Ok(Some(Arc::new(Statistics { segment, words, places })))
    }

    /// The rank leaves the job.
    pub(crate) fn leave(&self) {
        self.words.left.store(monotonic());
    }

    /// This thread begins a call on the window with that mark (zero for none), of that many bytes.
    #[cold]
    pub(crate) fn begin(&self, call: Call, window: u64, bytes: u64) {
        let current = CURRENT.get();
        CURRENT.set(match current.depth {
            0 => {
                let what = CallWord::of(call, window);
                CurrentCall { depth: 1, what, bytes, begun: monotonic() }
            }
            depth => CurrentCall { depth: depth + 1, ..current },
        });
    }

    /// A call of this thread has ended. It is counted unless it was made inside another one.
    #[cold]
    pub(crate) fn end(&self) {
        let call = CURRENT.get();
        let depth = call.depth.saturating_sub(1);
        CURRENT.set(CurrentCall { depth, ..call });
        if depth == 0 {
            self.count(&call, monotonic().saturating_sub(call.begun));
        }
    }

    fn count(&self, call: &CurrentCall, lasted: u64) {
        let mut places = self.places();
        let number = places.calls.len();
        let at = *places.calls.entry(call.what).or_insert(number);
        let record = self.record(&self.words.calls, at);
        if at == number {
            record.what.store(call.what);
            record.window.set(&self.name_of(call.what));
        }
        record.lasted.add(lasted);
        record.bytes.store(record.bytes.load() + call.bytes);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record with that number; the last one if the table has fewer.
    fn record<'w, T>(&self, all: &'w [T], at: usize) -> &'w T {
        if at >= all.len() {
            self.words.is_full.store(1);
        }
        &all[at.min(all.len() - 1)]
    }

    /// The name of a call's window; empty without one.
    fn name_of(&self, what: u64) -> String {
        let block = WindowHeader::block_of(CallWord::read(what).1);
        let header = self.segment.mapping().view::<WindowHeader>(block).ok();
        header.filter(|_| block != 0).map(WindowHeader::name).unwrap_or_default()
    }
}

impl WaitLog for Statistics {
    fn waited(&self, account: Option<&Account<'_>>, nanoseconds: u64) {
        let CurrentCall { depth, what, .. } = CURRENT.get();
        if depth == 0 {
            // A thread of the library, which serves other ranks.
            return;
        }
        let line = match account {
            Some(account) if !has_binding() => LineOfWait::At(account.at),
            _ if nanoseconds < LONG_FOR_BINDING => LineOfWait::Text(String::new()),
            _ => LineOfWait::Text(line_by_binding().unwrap_or_default()),
        };
        let mut places = self.places();
        let (number, text) = (places.waits.len(), line.text());
        let at = *places.waits.entry((what, line)).or_insert(number);
        let record = self.record(&self.words.waits, at);
        if at == number {
            record.what.store(what);
            record.window.set(&self.name_of(what));
            record.line.set(&text);
        }
        record.lasted.add(nanoseconds);
    }
}

impl LineOfWait {
    fn text(&self) -> String {
        match self {
            LineOfWait::At(at) => format!("{}:{}", at.file(), at.line()),
            LineOfWait::Text(text) => text.clone(),
        }
    }
}

/// What a rank has counted, as the launcher reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankStatistics {
    /// From joining to leaving, or until now, in nanoseconds; zero for a rank that has not joined.
    pub nanoseconds: u64,
    /// Its calls on each window.
    pub calls: Vec<CallStatistics>,
    /// Its waits by call, window and line.
    pub waits: Vec<WaitStatistics>,
    /// One of its tables was full: the last record has the sum of several.
    pub is_full: bool,
}

/// How often a rank has made a call on a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStatistics {
    /// The call.
    pub call: Call,
    /// The name of its window at the first of these calls; empty without one.
    pub window: String,
    /// How often, and how long all of them and the longest lasted.
    pub lasted: Times,
    /// The bytes of all operations together.
    pub bytes: u64,
}

/// How often a rank has waited in a call on a window in one line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStatistics {
    /// The call.
    pub call: Call,
    /// The name of its window, as above.
    pub window: String,
    /// File and line; empty if they are unknown.
    pub line: String,
    /// How often, and how long.
    pub lasted: Times,
}

/// How often, and for how long in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How often.
    pub times: u64,
    /// All together.
    pub nanoseconds: u64,
    /// The longest.
    pub longest: u64,
}

impl Times {
    /// Of both.
    pub fn and(self, other: Times) -> Times {
        Times {
            times: self.times + other.times,
            nanoseconds: self.nanoseconds + other.nanoseconds,
            longest: self.longest.max(other.longest),
        }
    }
}

impl RankStatistics {
    /// Those of a rank; `None` if its job has none.
    pub(crate) fn of(segment: &Segment, rank: u32) -> Result<Option<RankStatistics>> {
        let Some(at) = segment.layout().statistics_of(rank) else { return Ok(None) };
        let words: &StatisticsWords = segment.mapping().view(at)?;
        let (joined, left) = (words.joined.load(), words.left.load());
        let end = if left == 0 { monotonic() } else { left };
        let nanoseconds = if joined == 0 { 0 } else { end.saturating_sub(joined) };
        let calls = words.calls.iter().map(CallStatistics::of);
        let waits = words.waits.iter().map(WaitStatistics::of);
        Ok(Some(RankStatistics {
            nanoseconds,
            calls: calls.take_while(|call| call.lasted.times > 0).collect(),
            waits: waits.take_while(|wait| wait.lasted.times > 0).collect(),
            is_full: words.is_full.load() != 0,
        }))
    }
}

impl CallStatistics {
    fn of(words: &CallStatisticsWords) -> CallStatistics {
        let call = CallWord::read(words.what.load()).0;
        let lasted = Times::of(&words.lasted);
        CallStatistics { call, window: text(&words.window), lasted, bytes: words.bytes.load() }
    }
}

impl WaitStatistics {
    fn of(words: &WaitStatisticsWords) -> WaitStatistics {
        let call = CallWord::read(words.what.load()).0;
        let lasted = Times::of(&words.lasted);
        WaitStatistics { call, window: text(&words.window), line: words.line.get(), lasted }
    }
}

impl Times {
    fn of(words: &crate::shm::TimesWords) -> Times {
        let [times, nanoseconds, longest] =
            [&words.times, &words.nanoseconds, &words.longest].map(|word| word.load());
        Times { times, nanoseconds, longest }
    }
}

fn text<const N: usize>(words: &TextWords<N>) -> String {
    words.get()
}
