//! Test builds only (feature `test-hooks`). A recorder has the synchronisation events. A test can delay a
//! rank at each of them, to force an interleaving without sleeps, or let it fail there by the process's
//! one trap.
//!
//! Without the feature [`before`] is empty and the rest does not exist.

use super::{ProcSync, Site, Step};

/// A synchronisation event of the calling rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A memory barrier.
    MemSync(Site),
    /// A synchronisation between processes.
    ProcSync(ProcSync),
    /// A place between two steps of a call.
    Step(Step),
}

/// Called immediately before each event.
#[cfg(any(loom, not(feature = "test-hooks")))]
#[inline(always)]
pub fn before(_: Event) {}

#[cfg(all(not(loom), feature = "test-hooks"))]
pub use recorder::{before, delay, record};
#[cfg(all(not(loom), feature = "test-hooks"))]
pub use trap::{name_of, named, names, set_trap};

#[cfg(all(not(loom), feature = "test-hooks"))]
#[path = "trap.rs"]
mod trap;

#[cfg(all(not(loom), feature = "test-hooks"))]
mod recorder {
    use super::Event;
    use std::cell::RefCell;

    type Delay = (Event, Box<dyn FnOnce()>);

    thread_local! {
        static EVENTS: RefCell<Option<Vec<Event>>> = const { RefCell::new(None) };
        static DELAYS: RefCell<Vec<Delay>> = const { RefCell::new(Vec::new()) };
    }

    /// Records the event, runs the first delay registered for it, once, and springs the trap.
    pub fn before(event: Event) {
        // A thread that ends may pass sites while its locals, delays among them, are dropped.
        let _ = EVENTS.try_with(|events| {
            if let Some(events) = &mut *events.borrow_mut() {
                events.push(event);
            }
        });
        let delay = DELAYS.try_with(|delays| {
            let mut delays = delays.borrow_mut();
            delays.iter().position(|(at, _)| *at == event).map(|i| delays.remove(i).1)
        });
        if let Ok(Some(delay)) = delay {
            delay();
        }
        super::trap::spring(event);
    }

    /// Runs `f` and returns its result with the events of this thread during it.
    pub fn record<R>(f: impl FnOnce() -> R) -> (R, Vec<Event>) {
        EVENTS.set(Some(Vec::new()));
        let result = f();
        (result, EVENTS.take().unwrap_or_default())
    }

    /// Registers `f` to run immediately before the next `event` of this thread.
    pub fn delay(event: Event, f: impl FnOnce() + 'static) {
        DELAYS.with_borrow_mut(|delays| delays.push((event, Box::new(f))));
    }
}
