//! Ranks that are late at a random synchronisation event, so that interleavings differ.

use crate::choices::Choices;
use crate::program::Program;
use onesided::hooks::{Event, ProcSync, Site, delay};

const EVENTS: [Event; 12] = [
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

/// Lets this rank give way a few times when it next comes to some event; one phase in four.
pub fn somewhere(program: &Program, phase: usize, rank: u32) {
    let parts = program.windows.iter().flat_map(|window| &window.parts);
    let bytes: u64 = parts.map(|part| part.bytes).sum();
    let choices = &mut Choices(bytes << 32 | (phase as u64) << 16 | u64::from(rank));
    if choices.below(4) == 0 {
        let at = EVENTS[choices.below(EVENTS.len() as u64) as usize];
        let times = choices.below(6);
        delay(at, move || (0..times).for_each(|_| std::thread::yield_now()));
    }
}
