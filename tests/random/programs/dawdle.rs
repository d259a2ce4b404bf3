//! Ranks that are late at a random synchronisation event.

use crate::programs::program::Program;
use crate::support::choices::Choices;
use crate::support::dawdle::{EVENTS, dawdle};

/// Lets this rank give way a few times when it next comes to some event; one phase in four.
pub fn somewhere(program: &Program, phase: usize, rank: u32) {
    let parts = program.windows.iter().flat_map(|window| &window.parts);
    let bytes: u64 = parts.map(|part| part.bytes).sum();
    let choices = &mut Choices(bytes << 32 | (phase as u64) << 16 | u64::from(rank));
    if choices.below(4) == 0 {
        let at = EVENTS[choices.below(EVENTS.len() as u64) as usize];
        dawdle(at, choices.below(6));
    }
}
