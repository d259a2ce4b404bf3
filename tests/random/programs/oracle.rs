//! The program run by one process: what every window holds, and what every act fetches.
//!
//! Elements that several ranks update in one phase have no order of their own. With what the ranks
//! were given the oracle takes over the value that an order explains, or reports that none does;
//! without (when legality is decided) it works on with bytes that are not known.

use crate::programs::program::{Act, Kind, Part, Phase, Program, Use};
use crate::programs::race::{Step, outcomes};
use crate::programs::value::{is_exact, is_integer, padding, size};
use onesided::{Datatype, Op};
use std::collections::BTreeMap;
use std::ops::Range;

/// What the acts of each rank were given, in their order; empty where nothing.
pub type Given = Vec<Vec<Vec<u8>>>;

/// The bytes of one rank's part of a window, and which of them are known.
#[derive(Clone)]
pub struct Bytes {
    pub bytes: Vec<u8>,
    known: Vec<bool>,
}

/// All windows, by window and rank.
#[derive(Clone)]
pub struct Model {
    pub windows: Vec<Vec<Bytes>>,
}

/// Something impossible: an error of the program while legality is decided, otherwise one of the library.
#[derive(Debug)]
pub struct Fault {
    pub rank: u32,
    /// Number of the act among its rank's in the phase.
    pub act: usize,
    pub why: String,
}

/// What a phase should give to each act; `None` where only the orders of updates decide.
#[derive(Default)]
pub struct Outcome {
    pub expected: Vec<Vec<Vec<Option<u8>>>>,
    pub faults: Vec<Fault>,
}

/// One element's update by one act.
struct Update<'a> {
    rank: u32,
    number: usize,
    act: &'a Act,
    element: usize,
}

type Updates<'a> = BTreeMap<(u32, usize), Vec<Update<'a>>>;

impl Bytes {
    fn zeroed(len: u64) -> Bytes {
        Bytes { bytes: vec![0; len as usize], known: vec![true; len as usize] }
    }

    /// Whether the numbers of an element are.
    fn are_known(&self, at: &Range<usize>, datatype: Datatype) -> bool {
        let padding = padding(datatype);
        let bytes = self.known[at.clone()].iter().enumerate();
        bytes.filter(|(byte, _)| !padding.contains(byte)).all(|(_, known)| *known)
    }

    /// An element, with padding of zeros.
    fn element(&self, at: &Range<usize>, datatype: Datatype) -> Vec<u8> {
        let mut bytes = self.bytes[at.clone()].to_vec();
        bytes[padding(datatype)].fill(0);
        bytes
    }

    /// Writes an element; its `padding` stays what it is.
    fn set(&mut self, at: Range<usize>, padding: Range<usize>, value: &[u8], known: bool) {
        for byte in (0..value.len()).filter(|byte| !padding.contains(byte)) {
            self.bytes[at.start + byte] = value[byte];
            self.known[at.start + byte] = known;
        }
    }
}

impl Step {
    fn new(act: &Act, element: usize) -> Step {
        let size = size(act.datatype);
        let origin = act.origin()[element * size..][..size].to_vec();
        Step { op: act.op(), origin, compare: act.compare(), found: None }
    }
}

/// The elements that more than one rank updates in the phase.
fn contested<'a>(program: &Program, phase: &'a Phase) -> Updates<'a> {
    let mut updates = Updates::new();
    for rank in 0..phase.ranks.len() as u32 {
        for (number, (_, act)) in phase.acts_of(rank).enumerate() {
            if act.used() != Use::Update {
                continue;
            }
            let target = act.target.expect("an update has a target");
            let unit = program.windows[phase.window].parts[target as usize].unit;
            for (element, at) in act.elements(unit).enumerate() {
                let update = Update { rank, number, act, element };
                updates.entry((target, at.start)).or_default().push(update);
            }
        }
    }
    updates.retain(|_, all| all.iter().any(|update| update.rank != all[0].rank));
    updates
}

/// Whether the oracle needs what the ranks were given in the phase.
pub fn races(program: &Program, phase: &Phase) -> bool {
    contested(program, phase).values().flatten().any(|update| update.act.fetches())
}

impl Model {
    pub fn new(program: &Program) -> Model {
        let part = |part: &Part| Bytes::zeroed(part.bytes);
        let windows = program.windows.iter().map(|w| w.parts.iter().map(part).collect());
        Model { windows: windows.collect() }
    }

    /// Runs a phase.
    pub fn run(&mut self, program: &Program, phase: &Phase, given: Option<&Given>) -> Outcome {
        let contested = contested(program, phase);
        let mut outcome = Outcome::default();
        for rank in 0..phase.ranks.len() as u32 {
            let mut expected = Vec::new();
            for (act_number, (_, act)) in phase.acts_of(rank).enumerate() {
                let done = self.act(program, phase.window, act, &contested);
                expected.push(done.unwrap_or_else(|why| {
                    outcome.faults.push(Fault { rank, act: act_number, why: why.into() });
                    Vec::new()
                }));
            }
            outcome.expected.push(expected);
        }
        for ((target, start), updates) in &contested {
            let part = &mut self.windows[phase.window][*target as usize];
            if let Err(why) = part.race(*start, updates, given) {
                let last = updates.last().expect("several");
                outcome.faults.push(Fault { rank: last.rank, act: last.number, why });
            }
        }
        outcome
    }

    /// One act, but for elements that others update too; returns what it fetches.
    fn act(
        &mut self,
        program: &Program,
        window: usize,
        act: &Act,
        contested: &Updates<'_>,
    ) -> Result<Vec<Option<u8>>, &'static str> {
        let mut fetched = Vec::new();
        if act.used() == Use::Nothing {
            return Ok(fetched);
        }
        let target = act.target.expect("a used target");
        let unit = program.windows[window].parts[target as usize].unit;
        let part = &mut self.windows[window][target as usize];
        let (origin, size) = (act.origin(), size(act.datatype));
        for (element, at) in act.elements(unit).enumerate() {
            let is_contested = contested.contains_key(&(target, at.start));
            if is_contested && act.used() == Use::Update {
                fetched.extend(std::iter::repeat_n(None, if act.fetches() { size } else { 0 }));
                continue;
            }
            if act.fetches() {
                let padding = padding(act.datatype);
                let bytes = part.bytes[at.clone()].iter().zip(&part.known[at.clone()]).enumerate();
                fetched.extend(bytes.map(|(byte, (value, known))| {
                    (*known && !padding.contains(&byte)).then_some(*value)
                }));
            }
            match act.used() {
                Use::Write => {
                    // A store of the owner's is one of all bytes.
                    let is_store = act.kind != Kind::Put;
                    let stays = if is_store { 0..0 } else { padding(act.datatype) };
                    part.set(at, stays, &origin[element * size..][..size], true);
                }
                Use::Update => part.update(at, &Step::new(act, element), act)?,
                _ => {}
            }
        }
        Ok(fetched)
    }
}

impl Bytes {
    /// An update without rivals.
    fn update(&mut self, at: Range<usize>, step: &Step, act: &Act) -> Result<(), &'static str> {
        let (known, old) = (self.are_known(&at, act.datatype), self.element(&at, act.datatype));
        let moves = matches!(step.op, None | Some(Op::Replace | Op::NoOp));
        if !known && !moves && !is_integer(act.datatype) {
            return Err("arithmetic with numbers that are not known");
        }
        if step.op.is_some_and(|op| !is_exact(op, act.datatype, &old)) {
            return Err("arithmetic with numbers that are not finite");
        }
        let value = step.after(act.datatype, &old);
        // What was partly known before NO_OP is all unknown after it: nothing is lost by that.
        self.set(at, padding(act.datatype), &value, known || step.op == Some(Op::Replace));
        Ok(())
    }

    /// The updates of one element by several ranks.
    fn race(
        &mut self,
        start: usize,
        updates: &[Update<'_>],
        given: Option<&Given>,
    ) -> Result<(), String> {
        let datatype = updates[0].act.datatype;
        let size = size(datatype);
        let at = start..start + size;
        let all_fetch = updates.iter().all(|update| update.act.fetches());
        if !self.are_known(&at, datatype) && (!all_fetch || !is_integer(datatype)) {
            return Err("a race for bytes that are not known".into());
        }
        let mut ranks: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for update in updates {
            let mut step = Step::new(update.act, update.element);
            if let Some(given) = given.filter(|_| update.act.fetches()) {
                let result = &given[update.rank as usize][update.number];
                step.found = result.get(update.element * size..).map(|result| {
                    let mut found = result[..size].to_vec();
                    found[padding(datatype)].fill(0);
                    found
                });
            }
            ranks.entry(update.rank).or_default().push(step);
        }
        let ranks: Vec<Vec<Step>> = ranks.into_values().collect();
        let ends = outcomes(datatype, &self.element(&at, datatype), &ranks)?;
        match (ends.first(), ends.len()) {
            (Some(end), 1) => {
                let known = self.are_known(&at, datatype);
                self.set(at, padding(datatype), end, known);
                Ok(())
            }
            (Some(_), _) if given.is_none() && all_fetch => {
                self.known[at].fill(false);
                Ok(())
            }
            (Some(_), _) => Err("the order of updates matters".into()),
            (None, _) => Err(format!(
                "no order of the updates of the bytes from {start} on, which were {:?}, explains \
                 what they were given",
                &self.bytes[at]
            )),
        }
    }
}

/// Whether the act, of a rank that may do it, stays within the target's part.
pub fn fits(program: &Program, phase: &Phase, act: &Act) -> bool {
    let Some(target) = act.target.filter(|_| act.used() != Use::Nothing) else { return true };
    let part = program.windows[phase.window].parts[target as usize];
    act.elements(part.unit).all(|at| at.end as u64 <= part.bytes)
}
