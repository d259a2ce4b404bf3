//! Ranks that are late at a synchronisation event, so that interleavings differ.

use onesided::hooks::{Event, ProcSync, Site, delay};

/// Where a rank may dawdle.
pub const EVENTS: [Event; 12] = [
    Event::MemSync(Site::FencePre),
    Event::ProcSync(ProcSync::FenceArrive),
    Event::MemSync(Site::FencePost),
    Event::MemSync(Site::PostPre),
    Event::ProcSync(ProcSync::Post),
    Event::MemSync(Site::StartPost),
    Event::ProcSync(ProcSync::Complete),
    Event::MemSync(Site::WaitPost),
    Event::MemSync(Site::LockPost),
    Event::MemSync(Site::LockAllPost),
    Event::ProcSync(ProcSync::LockReleased),
    Event::MemSync(Site::ParkWaiter),
];

/// Lets this rank give way the given number of times when it next comes to `event`.
pub fn dawdle(event: Event, times: u64) {
    delay(event, move || (0..times).for_each(|_| std::thread::yield_now()));
}
