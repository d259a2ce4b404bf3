//! Which processors the ranks may run on.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeMap;
use std::io;

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindTo {
    /// The processors of rmarun itself.
    None,
    /// The hardware threads of one core.
    Core,
    /// One hardware thread.
    HardwareThread,
}

/// The sets of processors that ranks are bound to in turn; none where they are not bound.
pub struct Binding(Vec<CpuSet>);

impl Binding {
    /// The sets, from the processors of rmarun itself.
    pub fn new(to: BindTo) -> io::Result<Binding> {
        if to == BindTo::None {
            return Ok(Binding(Vec::new()));
        }
        let allowed = sched_getaffinity(None)?;
        let mut sets = BTreeMap::<usize, CpuSet>::new();
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
            let first = if to == BindTo::Core { first_of_core(cpu) } else { cpu };
            sets.entry(first).or_default().set(cpu);
        }
        Ok(Binding(sets.into_values().collect()))
    }

    /// The processors of that rank, if it is bound.
    pub fn of(&self, rank: u32) -> Option<CpuSet> {
        self.0.get(rank as usize % self.0.len().max(1)).copied()
    }
}

/// The first hardware thread of this one's core; itself if the kernel does not report it.
fn first_of_core(cpu: usize) -> usize {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let siblings = std::fs::read_to_string(file).unwrap_or_default();
    let first = siblings.split(|letter: char| !letter.is_ascii_digit()).next();
    first.and_then(|first| first.parse().ok()).unwrap_or(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_is_in_one_set() {
        let allowed = sched_getaffinity(None).unwrap();
        for to in [BindTo::Core, BindTo::HardwareThread] {
            let Binding(sets) = Binding::new(to).unwrap();
            assert_eq!(sets.iter().map(CpuSet::count).sum::<u32>(), allowed.count());
            let is_whole = |cpu: &usize| sets.iter().filter(|set| set.is_set(*cpu)).count() == 1;
            assert_eq!(Binding(sets.clone()).of(sets.len() as u32), Some(sets[0]));
            assert!(
                (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).all(|cpu| is_whole(&cpu))
            );
        }
        assert!(Binding::new(BindTo::None).unwrap().of(0).is_none());
    }
}
