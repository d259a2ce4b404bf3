//! The time of events, which come faster than the kernel's clock can be read: that clock once in a millisecond, and the
//! processor's counter between.

use super::{monotonic, processor};
use std::cell::Cell;
use std::sync::OnceLock;

/// How many nanoseconds the counter stands in for the clock.
const SPAN: u64 = 1_000_000;
/// How old the reading becomes from which on the rate is determined.
const BASE: u64 = 256 * SPAN;
/// A reading of the clock that takes more ticks was interrupted.
const INTERRUPTED: u64 = 2_048;

thread_local! {
    static CLOCK: EventClock = const { EventClock::new() };
}

/// Nanoseconds of CLOCK_MONOTONIC, to within two microseconds, which never decrease for a thread. Costs less than half of
/// [`monotonic`] where the kernel's clock is the processor's counter.
#[inline]
pub fn event_time() -> u64 {
    CLOCK.with(EventClock::now)
}

/// A tick of the counter, and the nanoseconds of the clock then.
type Reading = (u64, u64);

/// What a thread knows of both.
struct EventClock {
    /// The last reading.
    at: Cell<Reading>,
    /// How many ticks later it has to be read again; zero while the rate is not known. Less than 2^24.
    span: Cell<u64>,
    /// Nanoseconds of a tick, times 2^32.
    rate: Cell<u64>,
    /// The reading from which on the rate is determined.
    base: Cell<Reading>,
    /// The latest time that was returned.
    latest: Cell<u64>,
}

impl EventClock {
    const fn new() -> EventClock {
        let (at, base) = (Cell::new((0, 0)), Cell::new((0, 0)));
        EventClock { at, span: Cell::new(0), rate: Cell::new(0), base, latest: Cell::new(0) }
    }

    #[inline]
    fn now(&self) -> u64 {
        let (tick, time) = self.at.get();
        let since = processor::ticks().wrapping_sub(tick);
        let now = match since < self.span.get() {
            // The rate is less than 2^36.
            true => time + ((since * self.rate.get()) >> 32),
            false => self.read(),
        };
        let latest = now.max(self.latest.get());
        self.latest.set(latest);
        latest
    }

    /// Reads the clock, and determines the rate.
    #[cold]
    fn read(&self) -> u64 {
        let (before, time, after) = (processor::ticks(), monotonic(), processor::ticks());
        self.span.set(0);
        if !is_clock() || after.wrapping_sub(before) > INTERRUPTED {
            return time;
        }
        self.at.set((before, time));
        let (tick, begun) = self.base.get();
        let (ticks, lasted) = (before.wrapping_sub(tick), time.saturating_sub(begun));
        if begun != 0 && lasted < SPAN {
            return time;
        }
        let (known, rate) =
            (self.rate.get(), (u128::from(lasted) << 32) / u128::from(ticks.max(1)));
        let is_plausible = begun != 0 && (1 << 28..1 << 36).contains(&rate);
        let rate = if is_plausible { rate as u64 } else { 0 };
        if rate == 0 || known != 0 && rate.abs_diff(known) > known >> 10 {
            // The first reading, or the counter was set, which changes the rate by more than 1 in 1,000.
            self.base.set((before, time));
            self.rate.set(0);
            return time;
        }
        self.rate.set(rate);
        self.span.set((SPAN << 32) / rate);
        if lasted >= BASE {
            self.base.set((before, time));
        }
        time
    }
}

/// Whether the kernel's clock is the processor's counter: then it has found that the counter runs at one rate, and is
/// the same on all processors.
fn is_clock() -> bool {
    static IS_CLOCK: OnceLock<bool> = OnceLock::new();
    *IS_CLOCK.get_or_init(|| {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let source = std::fs::read_to_string(source).unwrap_or_default();
        cfg!(target_arch = "x86_64") && source.trim() == "tsc"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// The thread may be stopped between any two readings, so the time may be anywhere between those before and behind it.
    #[test]
    fn the_time_of_an_event_is_that_of_the_clock() {
        let (begun, mut latest, mut interpolated) = (Instant::now(), 0, 0);
        let clock = EventClock::new();
        while begun.elapsed() < Duration::from_millis(40) {
            let (before, now, after) = (monotonic(), clock.now(), monotonic());
            assert!(before <= now + 5_000 && now <= after + 5_000, "{before}, {now}, {after}");
            assert!(latest <= now, "{latest}, {now}");
            latest = now;
            interpolated += u32::from(clock.span.get() != 0);
        }
        assert_eq!(interpolated > 1000, is_clock(), "{interpolated}");
    }

    /// Without a counter there is never a rate.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_counter_that_was_set_is_not_believed() {
        let clock = EventClock::new();
        let now = monotonic();
        // The counter was greater before; then its rate was another one. Both times the clock is read.
        for (tick, rate) in [(u64::MAX - 5, 1 << 40), (0, 1 << 20)] {
            clock.at.set((tick, now));
            clock.base.set((tick, now - BASE));
            clock.rate.set(rate);
            clock.span.set(1 << 20);
            let (before, now, after) = (monotonic(), clock.now(), monotonic());
            assert!((before..=after).contains(&now), "{before}, {now}, {after}");
            assert_eq!(clock.span.get(), 0);
        }
    }
}
