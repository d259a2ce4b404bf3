//! How a rank writes longer data to the segment that another rank reads soon after.
//!
//! To write a line that another processor has read, a processor takes it from the other's cache. Where the two share no cache,
//! that takes ten times as long as to *stream* the line: to store it to memory, past the caches. The reader of a streamed line
//! waits for memory, too. Which way is better depends on the distance of the processors, which changes in a virtual machine
//! while the program runs, on what else uses the memory, and on the length of the data. So a rank times how long it writes
//! by each way, and streams data of a class of lengths where writing them through the caches takes much longer.
//!
//! Where ranks have to share processors a rank streams less often: the reader may find the lines in the cache of its own
//! processor.

use super::copy::can_stream;
use crate::prim::{Word32, event_time};

/// Less is never streamed: the reader's wait for memory takes longer than the writer saves.
pub(super) const SHORTEST: usize = 4 << 10;
/// Lengths from each of these on have costs of their own.
const CLASSES: [usize; 3] = [0, 32 << 10, 512 << 10];
/// In each class a rank streams if writing through the caches takes more than that many halves of the time. The longest data
/// do not fit the writer's own cache. Most of them are in one that it shares with a near reader before that reads them.
const HALVES: [u32; CLASSES.len()] = [3, 3, 5];
/// At least this number, in every class, for data that the reader combines, for short data that it gives as much for, and
/// where ranks share processors.
const HALVES_HIGH: u32 = 8;
/// The first writes of a class go either way, and all are timed.
const FIRST: u32 = 32;
/// Later one of this number goes the other way and is timed.
const TRIAL: u32 = 64;
/// Of the others one of this number is timed.
const TIMED: u32 = 4;
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
}

/// What this process knows of all.
#[derive(Default)]
pub(super) struct Paces {
    /// Writes so far.
    writes: Word32,
    /// The least number of [`HALVES`]; 0 if this process cannot stream.
    least: Word32,
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
    /// for itself, of those of the ranks that have joined.
    pub(super) fn begin(
        &self,
        bytes: usize,
        read_as: ReadAs,
        is_enough: impl FnOnce() -> bool,
    ) -> Way {
        let writes = self.writes.load();
        self.writes.store(writes.wrapping_add(1));
        if writes.is_multiple_of(ASKED) {
            self.least.store(match can_stream() {
                true if is_enough() => 1,
                true => HALVES_HIGH,
                false => 0,
            });
        }
        let least = self.least.load();
        if least == 0 {
            return Way { streams: false, begun: None };
        }
        let class = class(bytes);
        let halves = match read_as {
            ReadAs::Exchanged if class == 0 => HALVES_HIGH,
            ReadAs::Copied | ReadAs::Exchanged => HALVES[class],
            ReadAs::Combined => HALVES_HIGH,
        };
        let (streams, is_timed) = self.classes[class].next(halves.max(least));
        Way { streams, begun: is_timed.then(event_time) }
    }

    /// It has written them.
    pub(super) fn end(&self, bytes: usize, way: Way) {
        if let Some(begun) = way.begun {
            let took = event_time().saturating_sub(begun);
            let line = took.saturating_mul(1024) / bytes as u64;
            self.classes[class(bytes)].record(way.streams, line);
        }
    }
}

impl Pace {
    /// Whether the next data are streamed, and whether that is timed.
    fn next(&self, halves: u32) -> (bool, bool) {
        let writes = self.writes.load();
        self.writes.store(writes.checked_add(1).unwrap_or(FIRST));
        // Spread evenly, whatever pattern the program's calls have.
        let spread = writes.wrapping_mul(0x9e37_79b9);
        if writes < FIRST {
            return (spread > u32::MAX / 2, true);
        }
        let [cached, streamed] = self.costs.each_ref().map(Word32::load);
        let is_better = u64::from(cached) * 2 > u64::from(streamed) * u64::from(halves);
        let is_trial = spread < u32::MAX / TRIAL;
        (is_better != is_trial, is_trial || spread > u32::MAX - u32::MAX / TIMED)
    }

    /// A line took that many sixteenths of a nanosecond. One write that was interrupted changes little.
    fn record(&self, streams: bool, took: u64) {
        let cost = &self.costs[usize::from(streams)];
        let (before, took) = (cost.load(), u32::try_from(took).unwrap_or(u32::MAX).max(1));
        cost.store(match before {
            0 => took,
            // The first ones touch new pages.
            _ if self.writes.load() <= FIRST => took.min(before),
            _ if took > before => before.saturating_add((before / 8).max(1)),
            _ => before - (before - took).div_ceil(4),
        });
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
            let (streams, is_timed) = pace.next(3);
            all += u32::from(streams);
            if is_timed {
                pace.record(streams, if streams { *streamed } else { *cached });
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
        let first = streamed(&pace, &[NEAR], FIRST);
        assert!((FIRST / 3..=2 * FIRST / 3).contains(&first), "{first} of the first");
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
            assert!(!streams(&pace, &all));
            all[1..].fill(FAR);
            streamed(&pace, &all, MANY);
            assert!(streams(&pace, &all), "{targets} targets in turn");
        }
    }

    #[test]
    fn interruptions_change_little() {
        let (first, later) = (Pace::default(), Pace::default());
        let (streams_first, _) = first.next(3);
        first.record(streams_first, 2_500_000);
        assert!(!streams(&first, &[NEAR]));
        streamed(&later, &[NEAR], MANY);
        later.record(false, 2_500_000);
        assert!(!streams(&later, &[NEAR]));
    }

    #[test]
    fn ranks_that_share_processors_stream_where_that_saves_more() {
        let streamed = |is_enough, costs: [u64; 2]| {
            let paces = Paces::default();
            let pace = &paces.classes[class(1 << 16)];
            let begin = || paces.begin(1 << 16, ReadAs::Copied, || is_enough);
            for _ in 0..FIRST {
                let way = begin();
                pace.record(way.streams, costs[usize::from(way.streams)]);
            }
            (FIRST..ASKED).filter(|_| begin().streams).count() > ASKED as usize / 2
        };
        let (twice, ten_times) = ([64, 32], [320, 32]);
        let answers = [(true, twice), (false, twice), (true, ten_times), (false, ten_times)]
            .map(|(is_enough, costs)| streamed(is_enough, costs));
        assert_eq!(answers, [true, false, true, true].map(|streams| streams && can_stream()));
    }
}
