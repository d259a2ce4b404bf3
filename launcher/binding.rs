//! Which processors the ranks may run on.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeMap;
use std::io;

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindTo {
    /// All processors that the ranks may use.
    None,
    /// The processors of one socket.
    Socket,
    /// The hardware threads of one core.
    Core,
    /// One hardware thread.
    HardwareThread,
}

/// The order in which ranks take what they are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapBy {
    /// By the numbers of the processors.
    Core,
    /// One of each socket in turn.
    Socket,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placing {
    pub to: BindTo,
    pub by: MapBy,
    /// The only processors that the ranks may use.
    pub only: Option<Vec<usize>>,
}

/// The sets of processors that ranks are bound to in turn; none where they have those of rmarun.
pub struct Binding(Vec<CpuSet>);

impl Binding {
    /// The sets, from the processors of rmarun itself.
    pub fn new(placing: &Placing) -> io::Result<Binding> {
        let Placing { to, by, only } = placing;
        if *to == BindTo::None && only.is_none() {
            return Ok(Binding(Vec::new()));
        }
        let mut allowed = sched_getaffinity(None)?;
        if let Some(only) = only {
            if let Some(cpu) = only.iter().find(|cpu| !allowed.is_set(**cpu)) {
                let why = format!("rmarun may not use processor {cpu} (--cpu-set)");
                return Err(io::Error::other(why));
            }
            let others = (0..CpuSet::MAX_CPU).filter(|cpu| !only.contains(cpu));
            others.for_each(|cpu| allowed.unset(cpu));
        }
        // By the socket and the first processor of each set.
        let mut sets = BTreeMap::<(usize, usize), CpuSet>::new();
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
            let key = match to {
                BindTo::None => (0, 0),
                BindTo::Socket => (socket_of(cpu), 0),
                BindTo::Core => (socket_of(cpu), first_of_core(cpu)),
                BindTo::HardwareThread => (socket_of(cpu), cpu),
            };
            sets.entry(key).or_default().set(cpu);
        }
        Ok(Binding(in_turn(sets, *by)))
    }

    /// The processors of that rank, if it is bound.
    pub fn of(&self, rank: u32) -> Option<CpuSet> {
        self.0.get(rank as usize % self.0.len().max(1)).copied()
    }

    /// The same for messages, as in 0-3,8; "all" if it is not bound.
    pub fn text(&self, rank: u32) -> String {
        self.of(rank).map_or_else(|| "all".to_owned(), |set| list(&set))
    }
}

/// The sets in the order of their first processors, or one of each socket in turn.
fn in_turn(sets: BTreeMap<(usize, usize), CpuSet>, by: MapBy) -> Vec<CpuSet> {
    let mut ordered: Vec<_> = sets.into_iter().collect();
    match by {
        MapBy::Core => {
            let first = |set: &CpuSet| (0..CpuSet::MAX_CPU).find(|cpu| set.is_set(*cpu));
            ordered.sort_by_key(|(_, set)| first(set));
        }
        MapBy::Socket => {
            let mut before = BTreeMap::<usize, usize>::new();
            ordered.sort_by_cached_key(|((socket, _), _)| {
                let place = before.entry(*socket).or_default();
                *place += 1;
                (*place, *socket)
            });
        }
    }
    ordered.into_iter().map(|(_, set)| set).collect()
}

fn list(set: &CpuSet) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)) {
        match ranges.last_mut().filter(|(_, last)| last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => ranges.push((cpu, cpu)),
        }
    }
    let text = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

/// The number of its socket; 0 if the kernel does not report it.
fn socket_of(cpu: usize) -> usize {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    let socket = std::fs::read_to_string(file).unwrap_or_default();
    socket.trim().parse().unwrap_or(0)
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

    fn placing(to: BindTo, only: Option<Vec<usize>>) -> Placing {
        Placing { to, by: MapBy::Core, only }
    }

    #[test]
    fn every_processor_is_in_one_set() {
        let allowed = sched_getaffinity(None).unwrap();
        for to in [BindTo::Socket, BindTo::Core, BindTo::HardwareThread] {
            let Binding(sets) = Binding::new(&placing(to, None)).unwrap();
            assert_eq!(sets.iter().map(CpuSet::count).sum::<u32>(), allowed.count());
            let is_whole = |cpu: &usize| sets.iter().filter(|set| set.is_set(*cpu)).count() == 1;
            assert_eq!(Binding(sets.clone()).of(sets.len() as u32), Some(sets[0]));
            assert!(
                (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).all(|cpu| is_whole(&cpu))
            );
        }
        assert!(Binding::new(&placing(BindTo::None, None)).unwrap().of(0).is_none());
    }

    #[test]
    fn only_the_processors_of_the_list_are_used() {
        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
        for to in [BindTo::None, BindTo::Core] {
            let binding = Binding::new(&placing(to, Some(vec![first]))).unwrap();
            assert_eq!((binding.text(0), binding.text(7)), (first.to_string(), first.to_string()));
        }
        let error = Binding::new(&placing(BindTo::None, Some(vec![CpuSet::MAX_CPU - 1])));
        assert!(error.err().unwrap().to_string().contains("--cpu-set"));
    }

    #[test]
    fn sockets_are_taken_one_after_the_other_or_in_turn() {
        let set = |cpu: usize| {
            let mut set = CpuSet::new();
            set.set(cpu);
            set
        };
        // Two sockets, whose cores have numbers in turn.
        let sets: BTreeMap<_, _> = (0..6).map(|cpu| ((cpu % 2, cpu), set(cpu))).collect();
        let order = |by| in_turn(sets.clone(), by).iter().map(list).collect::<Vec<_>>().join(" ");
        assert_eq!(order(MapBy::Core), "0 1 2 3 4 5");
        let sets: BTreeMap<_, _> = (0..6).map(|cpu| ((cpu / 3, cpu), set(cpu))).collect();
        let order = |by| in_turn(sets.clone(), by).iter().map(list).collect::<Vec<_>>().join(" ");
        assert_eq!(
            (order(MapBy::Core), order(MapBy::Socket)),
            ("0 1 2 3 4 5".into(), "0 3 1 4 2 5".into())
        );
    }

    #[test]
    fn a_list_has_ranges() {
        let mut set = CpuSet::new();
        [0, 1, 2, 3, 8, 10, 11].iter().for_each(|cpu| set.set(*cpu));
        assert_eq!(list(&set), "0-3,8,10-11");
    }
}
