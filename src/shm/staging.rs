//! How a rank writes longer data to the segment that another rank reads soon after.
//!
//! To write a line that another processor has read, a processor takes it from the other's cache. Where the two share no cache,
//! that takes ten times as long as to *stream* the line: to store it to memory, past the caches. The reader of a streamed line
//! waits for memory, too. Which way is better depends on the distance of the processors, which changes in a virtual machine
//! while the program runs, on what else uses the memory, and on the length of the data. So a rank times how long it writes
//! by each way, and streams data of a class of lengths where writing them through the caches takes much longer.
//!
//! It streams less often where ranks have to share processors, because the reader may find the lines in the cache of its own
//! processor, and where it writes to many buffers in turn, because writes through the caches then leave them in a cache that
//! the processors share.

use super::copy::can_stream;
use crate::prim::{Word32, event_time};

/// Less is never streamed: the reader's wait for memory takes longer than the writer saves.
pub(super) const SHORTEST: usize = 4 << 10;
/// Lengths from each of these on have costs of their own.
const CLASSES: [usize; 3] = [0, 32 << 10, 512 << 10];
/// In each class a rank streams if writing through the caches takes more than that many halves of the time. The longest data
/// do not fit the writer's own cache. Most of them are in one that it shares with a near reader before that reads them.
const HALVES: [u32; CLASSES.len()] = [3, 3, 5];
/// The same where the caches are of more use to the reader or the writer.
const HALVES_HIGH: u32 = 8;
/// The first writes of a class are streamed, and timed; then begins a trial.
const FIRST: u32 = 8;
/// Later one of this number is timed that goes past the caches where others do not, or begins a trial to go through them.
const TRIAL: u32 = 64;
/// Of the others one of this number is timed.
const TIMED: u32 = 4;
/// A trial is this number of bytes in a row: as many as a rank has in all buffers that it uses in turn, which are fewer where
/// ranks share processors. Only then are the lines again where writes through the caches leave them.
const TURN: [u32; 2] = [2 << 20, 256 << 10];
/// A write counts for at least this number of these bytes.
const LEAST: u32 = 16 << 10;
/// Until the next trial there are at least this number of times its writes. At first there are only as many as there were
/// before, which have touched new pages.
const REST: u32 = 256;
/// After this number of writes a rank asks again whether ranks share processors.
const ASKED: u32 = 256;

/// What another rank does with the data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadAs {
    Copied,
    /// It copies them, and this rank waits for what the reader gives at the same time.
    Exchanged,
    /// It combines the elements one by one, and so waits for memory longer.
    Combined,
}

/// What this process knows of one class of lengths.
#[derive(Default)]
struct Pace {
    /// Writes so far.
    writes: Word32,
    /// How long a line has lately taken through the caches and streamed, in sixteenths of a nanosecond. Zero if that is not
    /// known.
    costs: [Word32; 2],
    /// Bytes that have gone through the caches since others were streamed for good.
    cached: Word32,
    /// Writes of this trial; 0 in none.
    tried: Word32,
    /// The number of the write from which on a trial may begin.
    rested: Word32,
}

/// What this process knows of all.
#[derive(Default)]
pub(super) struct Paces {
    /// Writes so far.
    writes: Word32,
    /// 1 where ranks share processors.
    is_shared: Word32,
    classes: [Pace; CLASSES.len()],
}

/// How some data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) streams: bool,
    /// When it began, if it is timed.
    begun: Option<u64>,
}

fn class(bytes: usize) -> usize {
    CLASSES.iter().rposition(|first| bytes >= *first).unwrap_or_default()
}

impl Paces {
    /// How this rank writes that many bytes, at least [`SHORTEST`], now. `is_enough`: whether each rank can have a processor
    /// for itself, of those of the ranks that have joined. `cycles`: whether it then writes longer data to many buffers in
    /// turn.
    pub(super) fn begin(
        &self,
        bytes: usize,
        read_as: ReadAs,
        is_enough: impl FnOnce() -> bool,
        cycles: bool,
    ) -> Way {
        if !can_stream() {
            return Way { streams: false, begun: None };
        }
        let writes = self.writes.load();
        self.writes.store(writes.wrapping_add(1));
        if writes.is_multiple_of(ASKED) {
            self.is_shared.store(u32::from(!is_enough()));
        }
        let class = class(bytes);
        let halves = match read_as {
            ReadAs::Combined => HALVES_HIGH,
            ReadAs::Exchanged if class == 0 => HALVES_HIGH,
            _ if cycles && class > 0 || self.is_shared.load() != 0 => HALVES_HIGH,
            ReadAs::Copied | ReadAs::Exchanged => HALVES[class],
        };
        let (streams, is_timed) = self.classes[class].next(bytes, halves);
        Way { streams, begun: is_timed.then(event_time) }
    }

    /// It has written them.
    pub(super) fn end(&self, bytes: usize, way: Way) {
        if let Some(begun) = way.begun {
            let took = event_time().saturating_sub(begun);
            let line = took.saturating_mul(1024) / bytes as u64;
            let turn = TURN[self.is_shared.load().min(1) as usize];
            self.classes[class(bytes)].record(way.streams, line, turn);
        }
    }
}

impl Pace {
    /// Whether the next data, of that many bytes, are streamed, and whether that is timed.
    fn next(&self, bytes: usize, halves: u32) -> (bool, bool) {
        let writes = self.writes.load();
        self.writes.store(writes.checked_add(1).unwrap_or_else(|| {
            self.rested.store(0);
            FIRST
        }));
        if writes < FIRST {
            return (true, true);
        }
        // Spread evenly, whatever pattern the program's calls have.
        let spread = writes.wrapping_mul(0x9e37_79b9);
        let is_chosen = spread < u32::MAX / TRIAL;
        let [cached, streamed] = self.costs.each_ref().map(Word32::load);
        let mut tried = self.tried.load();
        let streams = u64::from(cached) * 2 > u64::from(streamed) * u64::from(halves);
        let may_begin = (is_chosen || writes < TRIAL) && writes >= self.rested.load();
        if tried > 0 || writes == FIRST || streams && may_begin {
            if tried == 0 {
                self.costs[0].store(u32::MAX);
            }
            tried += 1;
            self.tried.store(tried);
        } else if streams {
            self.cached.store(0);
            return (true, spread > u32::MAX - u32::MAX / TIMED);
        } else if is_chosen {
            return (true, true);
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).max(LEAST);
        self.cached.store(self.cached.load().saturating_add(bytes));
        (false, tried > 0 || spread > u32::MAX - u32::MAX / TIMED)
    }

    /// A line took that many sixteenths of a nanosecond. One write that was interrupted changes little.
    fn record(&self, streams: bool, took: u64, turn: u32) {
        let took = u32::try_from(took).unwrap_or(u32::MAX).max(1);
        if !streams && self.tried.load() > 0 {
            return self.record_trial(took, turn);
        }
        let cost = &self.costs[usize::from(streams)];
        cost.store(match cost.load() {
            0 => took,
            // The first ones touch new pages.
            before if self.writes.load() <= FIRST => took.min(before),
            before if took > before => before.saturating_add((before / 8).max(1)),
            before => before - (before - took).div_ceil(4),
        });
    }

    /// The trial ends after `turn` bytes. The best time in its second half counts.
    fn record_trial(&self, took: u32, turn: u32) {
        let (cached, tried, cost) = (self.cached.load(), self.tried.load(), &self.costs[0]);
        if cached > turn / 2 {
            cost.store(cost.load().min(took));
        }
        if cached > turn {
            self.tried.store(0);
            let writes = self.writes.load();
            let rest = tried.saturating_mul(REST).min(writes);
            self.rested.store(writes.saturating_add(rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_classes() {
        assert_eq!([4096, 32767, 32768, (512 << 10) - 1].map(class), [0, 0, 1, 1]);
        assert_eq!([512 << 10, 1 << 30].map(class), [2, 2]);
    }

    const MANY: u32 = 1 << 12;

    /// How many of the next data are streamed, where a line takes so long to each of several targets in turn.
    fn streamed(pace: &Pace, targets: &[[u64; 2]], writes: u32) -> u32 {
        let mut all = 0;
        for (_, [cached, streamed]) in (0..writes).zip(targets.iter().cycle()) {
            let (streams, is_timed) = pace.next(1 << 16, 3);
            all += u32::from(streams);
            if is_timed {
                pace.record(streams, if streams { *streamed } else { *cached }, TURN[0]);
            }
        }
        all
    }

    /// Most of them are, but for trials.
    fn streams(pace: &Pace, targets: &[[u64; 2]]) -> bool {
        let few = MANY / 32;
        let all = streamed(pace, targets, MANY);
        assert!(all < few || all > MANY - few, "{all} of {MANY}");
        all > few
    }

    const NEAR: [u64; 2] = [36, 32];
    const FAR: [u64; 2] = [400, 32];

    #[test]
    fn a_rank_follows_what_is_faster() {
        let pace = Pace::default();
        assert_eq!(streamed(&pace, &[NEAR], FIRST), FIRST);
        for _ in 0..2 {
            streamed(&pace, &[NEAR], MANY);
            assert!(!streams(&pace, &[NEAR]));
            streamed(&pace, &[FAR], 200);
            assert!(streams(&pace, &[FAR]), "soon after the distance has changed");
        }
    }

    #[test]
    fn no_pattern_of_calls_hides_a_target() {
        for targets in 2..=16 {
            let pace = Pace::default();
            let mut all = vec![NEAR; targets];
            streamed(&pace, &all, MANY);
            assert!(!streams(&pace, &all));
            all[1..].fill(FAR);
            streamed(&pace, &all, MANY);
            assert!(streams(&pace, &all), "{targets} targets in turn");
        }
    }

    #[test]
    fn interruptions_change_little() {
        let (first, later) = (Pace::default(), Pace::default());
        let (streams_first, _) = first.next(1 << 16, 3);
        first.record(streams_first, 2_500_000, TURN[0]);
        streamed(&first, &[NEAR], MANY);
        assert!(!streams(&first, &[NEAR]));
        streamed(&later, &[NEAR], MANY);
        later.record(false, 2_500_000, TURN[0]);
        assert!(!streams(&later, &[NEAR]));
    }

    /// Lines that were streamed are not where a later write through the caches finds them soon.
    #[test]
    fn a_trial_waits_until_all_buffers_have_been_written() {
        let pace = Pace::default();
        let buffers = TURN[0] >> 16;
        let mut were_streamed = vec![true; buffers as usize];
        let mut all = 0;
        for write in 0..MANY {
            let (streams, _) = pace.next(1 << 16, 3);
            let before = &mut were_streamed[(write % buffers) as usize];
            let cost = match (streams, *before) {
                (true, _) => 36,
                (false, true) => 120,
                (false, false) => 27,
            };
            pace.record(streams, cost, TURN[0]);
            *before = streams;
            all += u32::from(streams);
        }
        assert!(all < MANY / 16, "{all} of {MANY}");
    }

    #[test]
    fn what_takes_little_longer_is_streamed_where_the_caches_are_of_no_more_use() {
        let streams = |is_enough, cycles, costs: [u64; 2]| {
            let paces = Paces::default();
            let pace = &paces.classes[class(1 << 16)];
            let begin = || paces.begin(1 << 16, ReadAs::Copied, || is_enough, cycles);
            let mut all = 0;
            for _ in 0..MANY {
                let way = begin();
                pace.record(way.streams, costs[usize::from(way.streams)], TURN[0]);
                all += u32::from(way.streams);
            }
            all > MANY / 2
        };
        for (costs, expected) in [([64, 32], [true, false, false]), ([320, 32], [true; 3])] {
            let cases = [(true, false), (true, true), (false, false)];
            let answers = cases.map(|(is_enough, cycles)| streams(is_enough, cycles, costs));
            assert_eq!(answers, expected.map(|streams| streams && can_stream()));
        }
    }
}
