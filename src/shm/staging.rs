//! How a rank writes longer data to the segment that another rank reads soon after.
//!
//! To write a line that another processor has read, a processor takes it from the other's cache. Where the two share no cache,
//! that takes ten times as long as to *stream* the line: to store it to memory, past the caches. The reader of a streamed line
//! has to wait for memory, too. Which way is better depends on the distance of the processors, which changes in a virtual
//! machine while the program runs, on what else uses the memory, and on the length of the data. So a rank measures both
//! ways, and streams data of a class of lengths where writing them through the caches takes much longer.
//!
//! Ranks that share a processor do not stream: they find the lines in its own cache.

use super::copy::can_stream;
use crate::prim::{Word32, event_time};

/// Less is never streamed: it then takes longer to arrive.
pub(super) const SHORTEST: usize = 4 << 10;
/// Lengths from each of these on have costs of their own.
const CLASSES: [usize; 3] = [0, 32 << 10, 512 << 10];
/// In each class a rank streams if writing through the caches takes more than that many halves of the time. The longest data
/// leave its caches while they are written, so the reader finds them sooner than in memory.
const HALVES: [u32; CLASSES.len()] = [3, 3, 5];
/// At first a rank goes both ways in turn, that often. Then, of each [`PERIOD`] times, it goes the other way [`TRIALS`] times.
const FIRST: u32 = 32;
const PERIOD: u32 = 256;
const TRIALS: u32 = 4;
/// Of the others every fourth is timed.
const TIMED: u32 = 4;

/// What this process knows of one class of lengths.
#[derive(Default)]
struct Pace {
    /// How often it has written such data.
    times: Word32,
    /// How long a line has lately taken through the caches and streamed, in sixteenths of a nanosecond. Zero if that is not
    /// known.
    costs: [Word32; 2],
}

/// What this process knows of all.
#[derive(Default)]
pub(super) struct Paces {
    /// 1 if each rank has a processor for itself.
    is_alone: Word32,
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
    /// Each rank of the job has a processor for itself.
    pub(super) fn admit(&self) {
        self.is_alone.store(u32::from(can_stream()));
    }

    /// How this rank writes that many bytes, at least [`SHORTEST`], now.
    pub(super) fn begin(&self, bytes: usize) -> Way {
        if self.is_alone.load() == 0 {
            return Way { streams: false, begun: None };
        }
        let class = class(bytes);
        let (streams, is_timed) = self.classes[class].next(HALVES[class]);
        Way { streams, begun: is_timed.then(event_time) }
    }

    /// It has written them.
    pub(super) fn end(&self, bytes: usize, way: Way) {
        if let Some(begun) = way.begun {
            let took = event_time().saturating_sub(begun);
            self.classes[class(bytes)].record(way.streams, took * 1024 / bytes as u64);
        }
    }
}

impl Pace {
    /// Whether the next data are streamed, and whether that is timed.
    fn next(&self, halves: u32) -> (bool, bool) {
        let times = self.times.load();
        self.times.store(times.checked_add(1).unwrap_or(FIRST));
        if times < FIRST {
            return (times.is_multiple_of(2), true);
        }
        let [cached, streamed] = self.costs.each_ref().map(Word32::load);
        let is_better = u64::from(cached) * 2 > u64::from(streamed) * u64::from(halves);
        let is_trial = times % PERIOD < TRIALS;
        (is_better != is_trial, is_trial || times.is_multiple_of(TIMED))
    }

    /// A line took that many sixteenths of a nanosecond. One that was interrupted changes little.
    fn record(&self, streams: bool, took: u64) {
        let cost = &self.costs[usize::from(streams)];
        let (before, took) = (cost.load(), u32::try_from(took).unwrap_or(u32::MAX));
        cost.store(match before {
            0 => took.max(1),
            _ if took > before => before.saturating_add((before / 8).max(1)),
            // Sooner: the first ones touch new pages.
            _ => before - (before - took) / 4,
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

    /// How many of the next data are streamed, where a line takes so long.
    fn streamed(pace: &Pace, [cached, streamed]: [u64; 2], times: u32) -> usize {
        let mut all = 0;
        for _ in 0..times {
            let (streams, is_timed) = pace.next(3);
            all += usize::from(streams);
            if is_timed {
                pace.record(streams, if streams { streamed } else { cached });
            }
        }
        all
    }

    #[test]
    fn a_rank_follows_what_is_faster() {
        const TRIALS: usize = super::TRIALS as usize;
        let (pace, near, far) = (Pace::default(), [36, 32], [400, 32]);
        assert_eq!(streamed(&pace, near, FIRST), FIRST as usize / 2);
        assert!(streamed(&pace, near, PERIOD) <= TRIALS);
        assert!(streamed(&pace, far, PERIOD) > PERIOD as usize - 100, "the distance has changed");
        assert!(streamed(&pace, far, PERIOD) >= PERIOD as usize - TRIALS);
        streamed(&pace, near, 10 * PERIOD);
        assert!(streamed(&pace, near, PERIOD) <= TRIALS, "and again");
    }

    #[test]
    fn interruptions_change_nothing() {
        let pace = Pace::default();
        streamed(&pace, [40, 32], PERIOD);
        pace.record(false, 1_000_000);
        assert!(streamed(&pace, [40, 32], PERIOD) <= TRIALS as usize);
    }

    #[test]
    fn ranks_that_share_a_processor_do_not_stream() {
        let paces = Paces::default();
        let never = Way { streams: false, begun: None };
        assert!((0..PERIOD).all(|_| paces.begin(1 << 16) == never));
    }
}
