//! Whether a program conflicts, from the tables of docs/check.md: it follows who knows that each access is complete.
//! There are no clocks here, so a fault of the check's clocks is not repeated.

use crate::program::{Kind, Memory, Program, Step, Turn};
use onesided::LockType;
use std::collections::BTreeMap;

const RULES: &str = include_str!("../../docs/check.md");

/// What two kinds of accesses are, by the names of the table.
pub struct Rules(BTreeMap<(String, String), String>);

impl Rules {
    /// Those of the documentation.
    pub fn read() -> Rules {
        let mut rows = RULES.lines().skip_while(|line| !line.starts_with("| | put |"));
        let cells =
            |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let columns = cells(rows.next().expect("docs/check.md has the table"));
        let mut rules = BTreeMap::new();
        for line in rows.skip(1).take_while(|line| line.starts_with('|')) {
            let row = cells(line);
            for (column, cell) in columns.iter().zip(&row).skip(2) {
                if !column.is_empty() {
                    rules.insert((row[1].clone(), column.clone()), cell.clone());
                }
            }
        }
        assert_eq!(rules.len(), 36);
        Rules(rules)
    }

    /// Whether the two accesses conflict if nothing orders them.
    fn conflict(&self, [(a, _, from), (b, _, to)]: [(Kind, u32, u64); 2]) -> bool {
        if !overlap([(a, 0, from), (b, 0, to)]) {
            return false;
        }
        match self.0[&(row_of(a).to_owned(), row_of(b).to_owned())].as_str() {
            "conflict" => true,
            "same datatype" => a.datatype() != b.datatype(),
            "fine" => false,
            other => panic!("docs/check.md has {other}"),
        }
    }
}

/// Whether two accesses have a byte together.
fn overlap([(a, _, from), (b, _, to)]: [(Kind, u32, u64); 2]) -> bool {
    a.bytes(from).iter().any(|byte| b.bytes(to).contains(byte))
}

/// The row and column of the table.
pub fn row_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Put | Kind::PutStrided | Kind::Rput => "put",
        Kind::Get | Kind::GetStrided | Kind::Rget => "get",
        Kind::GetNoOp | Kind::FetchNoOp | Kind::RgetNoOp => "fetch",
        Kind::Load => "load",
        Kind::Store | Kind::OwnStore => "store",
        Kind::Accumulate
        | Kind::Replace
        | Kind::GetAccumulate
        | Kind::FetchAndOp
        | Kind::CompareAndSwap
        | Kind::AccumulateBytes
        | Kind::AccumulateStrided
        | Kind::Raccumulate => "update",
    }
}

/// Whether a rank, or what passes knowledge between ranks, knows of each access that it is complete; and, of a store of rank 0,
/// that it is in the public copy of the separate memory model.
type Known = [bool; 4];

const NOTHING: Known = [false; 4];
/// Where the latter begins.
const PUBLIC: usize = 2;

/// What the check reports of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    Conflict,
    /// The separate memory model alone forbids it.
    Separate,
}

/// What carries knowledge from rank to rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Carrier {
    /// What was before an unlock of an exclusive lock, or of any.
    Exclusive,
    Any,
    Post,
    Complete,
    /// What an accumulate finds that fetches: of an element.
    Element(u64),
    Notification,
}

/// When what an accumulate fetches is the program's.
#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code, reason = "programs in Rust and in C have other ones")]
pub enum Results {
    /// When its call returns, as in Rust.
    AtOnce,
    /// When it is complete in its process, as in C.
    WhenComplete,
    /// Then it also takes effect, and no earlier (`--check=late`).
    Late,
}

/// An accumulate that is not complete in its process.
struct Open {
    rank: u32,
    /// The access of the program, or one of its own fetches.
    access: Option<usize>,
    elements: Vec<Carrier>,
    updates: bool,
    fetches: bool,
    /// What it has found already.
    found: Known,
}

struct History<'p> {
    program: &'p Program,
    results: Results,
    /// In the order of their calls.
    open: Vec<Open>,
    ranks: [Known; 3],
    carriers: BTreeMap<Carrier, Known>,
    is_issued: [bool; 2],
    /// What the private copy of rank 0 has.
    private: Known,
    /// Whether the separate model forbids the second access.
    is_separate: bool,
}

fn join(all: impl IntoIterator<Item = Known>) -> Known {
    let all = all.into_iter();
    all.fold(NOTHING, |all, one| std::array::from_fn(|at| all[at] | one[at]))
}

impl History<'_> {
    fn give(&mut self, rank: u32, to: Carrier) {
        let known = join([self.ranks[rank as usize], self.of(to)]);
        self.carriers.insert(to, known);
    }

    fn take(&mut self, rank: u32, from: Carrier) {
        self.ranks[rank as usize] = join([self.ranks[rank as usize], self.of(from)]);
    }

    fn of(&self, carrier: Carrier) -> Known {
        self.carriers.get(&carrier).copied().unwrap_or_default()
    }

    /// The accesses of a rank that are issued are complete now, if `are` returns true for them.
    fn complete(&mut self, rank: u32, are: impl Fn(usize, Kind) -> bool) {
        for (access, (kind, of, _)) in self.program.accesses.iter().enumerate() {
            if *of == rank && self.is_issued[access] && are(access, *kind) {
                self.ranks[rank as usize][access] = true;
            }
        }
    }

    /// The ranks of a turn take their steps. Returns whether an access is not ordered behind the other one.
    fn turn(&mut self, turn: &Turn) -> bool {
        let before = self.ranks;
        let mut is_unordered = false;
        for (rank, step) in turn {
            match step {
                Step::Access(access) => is_unordered |= self.access(*rank, *access),
                step => self.step(*rank, *step),
            }
            if let Step::Fence | Step::LastFence = step {
                continue;
            }
            self.together(&before, *rank, *step);
        }
        if let Some((_, Step::Fence | Step::LastFence)) = turn.first() {
            self.ranks = [join(self.ranks); 3];
            self.private = self.ranks[0];
        }
        is_unordered
    }

    fn access(&mut self, rank: u32, access: usize) -> bool {
        let (kind, _, disp) = self.program.accesses[access];
        let other = 1 - access;
        let is_unordered = self.is_issued[other] && !self.ranks[rank as usize][other];
        self.is_separate |= self.is_issued[other] && self.separately(rank, access, is_unordered);
        self.is_issued[access] = true;
        if kind.is_local() {
            self.ranks[rank as usize][access] = true;
        }
        if kind.datatype().is_some() {
            self.pass_elements((rank, access), kind, disp);
        }
        is_unordered
    }

    /// Whether the separate model alone forbids an access behind the other one.
    fn separately(&self, rank: u32, access: usize, is_unordered: bool) -> bool {
        let other = 1 - access;
        let [before, after] = [other, access].map(|access| row_of(self.program.accesses[access].0));
        let is_missing = match (before, after) {
            ("put" | "update", "load" | "store") => !self.private[other],
            ("store", "put" | "get" | "update" | "fetch") => {
                !self.ranks[rank as usize][PUBLIC + other]
            }
            _ => return false,
        };
        // A store and an update of other bytes of one part.
        let updates = |row: &str| matches!(row, "put" | "update" | "store");
        let is_disjoint = !overlap(self.program.accesses) && updates(before) && updates(after);
        let is_ordered = overlap(self.program.accesses) && !is_unordered;
        is_disjoint && (is_unordered || is_missing) || is_ordered && is_missing
    }

    /// An accumulate that fetches is ordered behind those that it finds.
    fn pass_elements(&mut self, (rank, access): (u32, usize), kind: Kind, disp: u64) {
        let fetches = matches!(
            kind,
            Kind::GetAccumulate
                | Kind::GetNoOp
                | Kind::FetchAndOp
                | Kind::FetchNoOp
                | Kind::CompareAndSwap
                | Kind::RgetNoOp
        );
        let elements = kind.bytes(disp).map(|byte| Carrier::Element(byte / 8)).into();
        let (updates, found) = (row_of(kind) == "update", NOTHING);
        self.accumulate(Open { rank, access: Some(access), elements, updates, fetches, found });
    }

    /// An accumulate is issued.
    fn accumulate(&mut self, mut of: Open) {
        if self.results != Results::Late {
            self.take_effect(&mut of);
        }
        match self.results {
            Results::AtOnce => self.receive(&of),
            _ => self.open.push(of),
        }
    }

    fn take_effect(&mut self, of: &mut Open) {
        for element in std::mem::take(&mut of.elements) {
            if of.updates {
                self.give(of.rank, element);
            }
            if of.fetches {
                of.found = join([of.found, self.of(element)]);
            }
        }
    }

    /// The result is the program's.
    fn receive(&mut self, of: &Open) {
        self.ranks[of.rank as usize] = join([self.ranks[of.rank as usize], of.found]);
    }

    /// The accumulates of a rank are complete in its process, if `are` returns true for them. Late ones take effect in the
    /// order of their calls: all, if they are complete at the target, otherwise up to the last one that has a result.
    fn finish(&mut self, rank: u32, are: impl Fn(&Open) -> bool, are_at_target: bool) {
        let is_due = |of: &Open| of.rank == rank && are(of) && (are_at_target || of.fetches);
        let last = self.open.iter().rposition(is_due).map_or(0, |last| last + 1);
        let mut open = std::mem::take(&mut self.open);
        for of in open[..last].iter_mut().filter(|of| of.rank == rank) {
            self.take_effect(of);
        }
        open.retain(|of| {
            let is_done = of.rank == rank && are(of) && of.elements.is_empty();
            if is_done {
                self.receive(of);
            }
            !is_done
        });
        self.open = open;
    }

    /// What of a rank is complete behind a step.
    fn complete_by(&mut self, rank: u32, step: Step) {
        let reads = |kind: Kind| matches!(row_of(kind), "get" | "fetch");
        match step {
            Step::Flush
            | Step::FlushAll
            | Step::UnlockAll
            | Step::Complete
            | Step::Unlock(_)
            | Step::Fence
            | Step::LastFence
            | Step::Notify => {
                self.complete(rank, |_, _| true);
                self.finish(rank, |_| true, true);
            }
            // A get that is complete in its process has read.
            Step::FlushLocal | Step::FlushLocalAll => {
                self.complete(rank, |_, kind| reads(kind));
                self.finish(rank, |_| true, false);
            }
            Step::EndRequest(access) => {
                self.complete(rank, |one, kind| one == access && reads(kind));
                self.finish(rank, |of| of.access == Some(access), false);
            }
            _ => {}
        }
    }

    /// The stores of rank 0 are in the public copy, if it takes a step that makes them visible there.
    fn publish(&mut self, rank: u32, step: Step) {
        if rank == 0
            && matches!(
                step,
                Step::Fence | Step::LastFence | Step::Post(_) | Step::Unlock(_) | Step::UnlockAll
            )
        {
            let stores = |access: usize| row_of(self.program.accesses[access].0) == "store";
            for access in (0..2).filter(|access| self.is_issued[*access] && stores(*access)) {
                self.ranks[0][PUBLIC + access] = true;
            }
        }
    }

    /// A step that a rank takes alone, or its own side of one.
    fn step(&mut self, rank: u32, step: Step) {
        self.complete_by(rank, step);
        self.publish(rank, step);
        match step {
            Step::LockAll | Step::Lock(LockType::Shared) => self.take(rank, Carrier::Exclusive),
            Step::Lock(LockType::Exclusive) => self.take(rank, Carrier::Any),
            Step::UnlockAll | Step::Unlock(_) => {
                self.give(rank, Carrier::Any);
                if step == Step::Unlock(LockType::Exclusive) {
                    self.give(rank, Carrier::Exclusive);
                }
            }
            Step::Post(_) => self.give(rank, Carrier::Post),
            Step::Start => self.take(rank, Carrier::Post),
            Step::Complete => self.give(rank, Carrier::Complete),
            Step::Wait => self.take(rank, Carrier::Complete),
            Step::Fetch => {
                let (elements, found) = (vec![Carrier::Element(15)], NOTHING);
                let (updates, fetches, access) = (true, true, None);
                self.accumulate(Open { rank, access, elements, updates, fetches, found });
            }
            Step::Notify => self.give(rank, Carrier::Notification),
            Step::AwaitNotification => self.take(rank, Carrier::Notification),
            _ => {}
        }
        if rank == 0 && matches!(step, Step::LockAll | Step::Lock(_) | Step::Wait) {
            self.private = self.ranks[0];
        }
    }

    /// What a rank learns from those that take the step with it, which knew `before`.
    fn together(&mut self, before: &[Known; 3], rank: u32, step: Step) {
        let learnt = match step {
            Step::Barrier | Step::Allreduce => join(*before),
            Step::Broadcast(root) => before[root as usize],
            Step::Reduce(root) if root == rank => join(*before),
            Step::Receive(from) => before[from as usize],
            // Its receiver has begun to receive.
            Step::SendSynchronously(to) => before[to as usize],
            _ => return,
        };
        self.ranks[rank as usize] = join([self.ranks[rank as usize], learnt]);
    }
}

/// What a program is if its ranks take these turns.
pub fn verdict(rules: &Rules, program: &Program, turns: &[Turn], results: Results) -> Verdict {
    let mut history = History {
        program,
        results,
        open: Vec::new(),
        ranks: [NOTHING; 3],
        carriers: BTreeMap::new(),
        is_issued: [false; 2],
        private: NOTHING,
        is_separate: false,
    };
    let unordered: Vec<bool> = turns.iter().map(|turn| history.turn(turn)).collect();
    // Other windows have the unified model, or are checked by it alone.
    let may_be_separate = !matches!(program.memory, Memory::Shared | Memory::Attached);
    match unordered.contains(&true) && rules.conflict(program.accesses) {
        true => Verdict::Conflict,
        false if history.is_separate && may_be_separate => Verdict::Separate,
        false => Verdict::Fine,
    }
}
