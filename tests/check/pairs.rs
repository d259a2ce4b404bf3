//! Every pair of accesses, with everything that may stand between them: programs as data, which one job
//! interprets. Ranks 1 and 2 access the part of rank 0. Signals that the library does not see force the
//! order in time.

use crate::support::job;
use onesided::engine::{Layout, Origin, OriginMut, Win};
use onesided::{
    Comm, Datatype, DerivedDatatype, FenceAssert, Group, LockType, Op, Rank, WindowOptions,
};
use std::collections::BTreeMap;

const RULES: &str = include_str!("../../docs/check.md");

/// How rank 1 or 2 accesses rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Put,
    Get,
    Update,
    /// An update of another datatype.
    Other,
    Fetch,
    /// A put or a get with gaps, which touches the same bytes.
    PutStrided,
    GetStrided,
}

/// Which bytes: 4 from the beginning, or the 4 behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    First,
    Behind,
}

/// What stands between the access of rank 1 and that of rank 2.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    FlushOnly,
    BarrierOnly,
    FlushAndBarrier,
    MessageOnly,
    FlushAndMessage,
    FlushAndLongMessage,
    FlushAndReceipt,
    FlushAndSendBack,
    FlushAndBroadcast,
    FlushAndBroadcastBack,
    FlushAndReduce,
    FlushAndAllreduce,
    SameFence,
    Fences,
    SharedLocks,
    ExclusiveLocks,
    SharedThenExclusive,
    UnlockAndBarrier,
    SameExposure,
    Exposures,
    FetchAndFetch,
}

use Between::*;

const KINDS: [Kind; 7] = [
    Kind::Put,
    Kind::Get,
    Kind::Update,
    Kind::Other,
    Kind::Fetch,
    Kind::PutStrided,
    Kind::GetStrided,
];

/// All, and whether each orders the accesses.
const BETWEEN: [(Between, bool); 22] = [
    (Nothing, false),
    (FlushOnly, false),
    (BarrierOnly, false),
    (FlushAndBarrier, true),
    (MessageOnly, false),
    (FlushAndMessage, true),
    (FlushAndLongMessage, true),
    (FlushAndReceipt, true),
    (FlushAndSendBack, false),
    (FlushAndBroadcast, true),
    (FlushAndBroadcastBack, false),
    (FlushAndReduce, true),
    (FlushAndAllreduce, true),
    (SameFence, false),
    (Fences, true),
    (SharedLocks, false),
    (ExclusiveLocks, true),
    (SharedThenExclusive, true),
    (UnlockAndBarrier, true),
    (SameExposure, false),
    (Exposures, true),
    (FetchAndFetch, true),
];

impl Kind {
    /// Its row and column in the table of rules.
    fn name(self) -> &'static str {
        match self {
            Kind::Put | Kind::PutStrided => "put",
            Kind::Get | Kind::GetStrided => "get",
            Kind::Update | Kind::Other => "update",
            Kind::Fetch => "fetch",
        }
    }

    fn access(self, win: &Win, place: Place) {
        let (target, disp) = (Rank(0), if place == Place::First { 0 } else { 4 });
        let (from, mut into) = ([1u8; 4], [0u8; 4]);
        match self {
            Kind::Put => win.put(&[1u8; 4], target, disp),
            Kind::Get => win.get(&mut into, target, disp),
            Kind::Update => win.accumulate(&[1u32], Op::Sum, target, disp),
            Kind::Other => win.accumulate(&[1u8; 4], Op::Sum, target, disp),
            Kind::Fetch => win.get_accumulate(&[], &mut [0u32], Op::NoOp, target, disp),
            Kind::PutStrided => {
                let strided = strided();
                // SAFETY: 4 bytes, which live until the call returns.
                let origin = unsafe { Origin::new(from.as_ptr(), 4, Datatype::U8) };
                win.put_layout(origin, target, disp, Layout::new(1, &strided))
            }
            Kind::GetStrided => {
                let strided = strided();
                // SAFETY: 4 bytes, which live until the call returns.
                // SAFETY: as above.
                let origin = unsafe { OriginMut::new(into.as_mut_ptr(), 4, Datatype::U8) };
                win.get_layout(origin, target, disp, Layout::new(1, &strided))
            }
        }
        .expect("the access is allowed");
    }
}

/// Bytes 0, 2, 64 and 66.
fn strided() -> onesided::CommittedDatatype {
    let all = DerivedDatatype::indexed(&[1, 1, 1, 1], &[0, 2, 64, 66], Datatype::U8);
    all.expect("the offsets are valid").commit()
}

/// Whether the two access common bytes.
fn overlap(a: (Kind, Place), b: (Kind, Place)) -> bool {
    let bytes = |(kind, place): (Kind, Place)| {
        let first = if place == Place::First { 0 } else { 4 };
        let all: &[u64] = match kind {
            Kind::PutStrided | Kind::GetStrided => &[0, 2, 64, 66],
            _ => &[0, 1, 2, 3],
        };
        all.iter().map(|by| first + by).collect::<Vec<_>>()
    };
    bytes(a).iter().any(|byte| bytes(b).contains(byte))
}

/// The rules, from the documentation.
fn rules() -> BTreeMap<(String, String), String> {
    let mut rows = RULES.lines().skip_while(|line| !line.starts_with("| | put |"));
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
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
    rules
}

/// The ranks of a case: the window, and the groups that post and start name.
struct Case<'c> {
    world: &'c Comm,
    win: Win,
    /// How often each signal has been raised before.
    raised: [u32; 2],
}

/// Raised by the rank that has accessed first.
const ACCESSED: usize = 0;
/// Raised by the other one.
const BOTH: usize = 1;

impl Case<'_> {
    fn rank(&self) -> u32 {
        self.world.rank().0
    }

    fn group(&self, ranks: &[u32]) -> Group {
        self.world.group().incl(ranks).expect("ranks of the world")
    }

    /// Rank 1 accesses, then rank 2: by `act`, which is called with whether it is the first of the two.
    fn in_turn(&self, first: u32, mut act: impl FnMut()) {
        match self.rank() {
            0 => {}
            rank if rank == first => {
                act();
                self.world.signal(ACCESSED);
                self.world.await_signal(BOTH, self.raised[BOTH] + 1);
            }
            _ => {
                self.world.await_signal(ACCESSED, self.raised[ACCESSED] + 1);
                act();
                self.world.signal(BOTH);
            }
        }
    }

    fn barrier(&self) {
        self.world.barrier().expect("all ranks live");
    }

    /// Runs `body` while this rank holds lock_all.
    fn passive(&self, body: impl FnOnce()) {
        self.win.lock_all().expect("no epoch is open");
        body();
        self.win.unlock_all().expect("lock_all is held");
    }

    fn locked(&self, kind: LockType, access: &dyn Fn()) {
        self.win.lock(kind, Rank(0)).expect("no epoch is open");
        access();
        self.win.unlock(Rank(0)).expect("it is locked");
    }

    fn flush(&self) {
        self.win.flush(Rank(0)).expect("lock_all is held");
    }

    /// Rank 1 accesses, and completes that if it `flushes`; all synchronise; rank 2 accesses.
    fn around(&self, flushes: bool, access: &dyn Fn(), synchronise: impl FnOnce()) {
        self.passive(|| {
            if self.rank() == 1 {
                access();
                if flushes {
                    self.flush();
                }
            }
            synchronise();
            if self.rank() == 2 {
                access();
            }
        });
    }

    fn message(&self, bytes: usize) {
        let (world, mut all) = (self.world, vec![0u8; bytes]);
        match self.rank() {
            1 => world.send(&all, Rank(2), 7).expect("rank 2 receives"),
            2 => drop(world.recv(&mut all, Rank(1), 7).expect("rank 1 sends")),
            _ => {}
        }
    }

    /// A message of rank 2 to rank 1, which waits for the receive or not.
    fn message_back(&self, is_synchronous: bool) {
        let world = self.world;
        match self.rank() {
            1 => drop(world.recv(&mut [0u8], Rank(2), 7).expect("rank 2 sends")),
            2 if is_synchronous => world.ssend(&[0u8], Rank(1), 7).expect("rank 1 receives"),
            2 => world.send(&[0u8], Rank(1), 7).expect("rank 1 receives"),
            _ => {}
        }
    }

    fn broadcast(&self, root: u32) {
        let mut word = [u64::from(self.rank())];
        self.world.broadcast(&mut word, Rank(root)).expect("all ranks live");
    }

    /// Rank 1 has flushed before rank 2 broadcasts to it.
    fn broadcast_back(&self) {
        match self.rank() {
            1 => self.world.signal(ACCESSED),
            2 => self.world.await_signal(ACCESSED, self.raised[ACCESSED] + 1),
            _ => {}
        }
        self.broadcast(2);
    }

    fn run(&self, between: Between, first: u32, access: impl Fn(&Win)) {
        let access: &dyn Fn() = &|| access(&self.win);
        let sum = || drop(self.world.allreduce(&[1u64], Op::Sum).expect("all ranks live"));
        let reduce = || drop(self.world.reduce(&[1u64], Op::Sum, Rank(2)).expect("all live"));
        match between {
            Nothing => self.passive(|| self.in_turn(first, access)),
            FlushOnly => self.passive(|| {
                self.in_turn(first, || {
                    access();
                    self.flush();
                });
            }),
            BarrierOnly => self.around(false, access, || self.barrier()),
            FlushAndBarrier => self.around(true, access, || self.barrier()),
            MessageOnly => self.around(false, access, || self.message(4)),
            FlushAndMessage => self.around(true, access, || self.message(4)),
            FlushAndLongMessage => self.around(true, access, || self.message(100_000)),
            FlushAndReceipt => self.around(true, access, || self.message_back(true)),
            FlushAndSendBack => self.around(true, access, || self.message_back(false)),
            FlushAndBroadcast => self.around(true, access, || self.broadcast(1)),
            FlushAndBroadcastBack => self.around(true, access, || self.broadcast_back()),
            FlushAndReduce => self.around(true, access, reduce),
            FlushAndAllreduce => self.around(true, access, sum),
            _ => self.run_epochs(between, first, access),
        }
    }

    fn run_epochs(&self, between: Between, first: u32, access: &dyn Fn()) {
        let of_first = |one, other| if self.rank() == first { one } else { other };
        match between {
            SharedLocks => self.in_turn(first, || self.locked(LockType::Shared, access)),
            ExclusiveLocks => self.in_turn(first, || self.locked(LockType::Exclusive, access)),
            SharedThenExclusive => self.in_turn(first, || {
                self.locked(of_first(LockType::Shared, LockType::Exclusive), access);
            }),
            UnlockAndBarrier => {
                if self.rank() == 1 {
                    self.locked(LockType::Shared, access);
                }
                self.barrier();
                if self.rank() == 2 {
                    self.locked(LockType::Shared, access);
                }
            }
            SameExposure | Exposures => self.expose(between == SameExposure, first, access),
            FetchAndFetch => self.passive(|| self.in_turn(first, || self.between_fetches(access))),
            _ => self.fences(between == SameFence, first, access),
        }
    }

    /// The fetch before orders this rank behind the one that has fetched last.
    fn between_fetches(&self, access: &dyn Fn()) {
        let fetch = || self.win.fetch_and_op(&1u64, &mut 0, Op::Sum, Rank(0), 120);
        fetch().expect("lock_all is held");
        access();
        self.flush();
        fetch().expect("lock_all is held");
    }

    /// Both access between two fences, or in epochs of their own.
    fn fences(&self, is_one: bool, first: u32, access: &dyn Fn()) {
        self.win.fence().expect("no epoch is open");
        if is_one {
            self.in_turn(first, access);
        } else {
            if self.rank() == 1 {
                access();
            }
            self.win.fence().expect("a fence epoch is open");
            if self.rank() == 2 {
                access();
            }
        }
        self.win.fence_with(FenceAssert::NOSUCCEED).expect("a fence epoch is open");
    }

    /// Post, start, complete, wait: one exposure for both ranks, or one for each.
    fn expose(&self, is_one: bool, first: u32, access: &dyn Fn()) {
        let (win, both) = (&self.win, [1, 2]);
        let exposures: &[&[u32]] = if is_one { &[&both] } else { &[&[1], &[2]] };
        for origins in exposures {
            match self.rank() {
                0 => {
                    win.post(&self.group(origins)).expect("not exposed");
                    win.wait().expect("exposed");
                }
                rank if origins.contains(&rank) => {
                    win.start(&self.group(&[0])).expect("no epoch is open");
                    if is_one {
                        self.in_turn(first, access)
                    } else {
                        access()
                    }
                    win.complete().expect("started");
                }
                _ => {}
            }
        }
    }
}

impl Between {
    /// Whether either rank may come first, by signals.
    fn is_free(self) -> bool {
        matches!(
            self,
            Nothing
                | FlushOnly
                | SameFence
                | SharedLocks
                | ExclusiveLocks
                | SharedThenExclusive
                | SameExposure
                | FetchAndFetch
        )
    }

    /// How often a case with it raises each signal.
    fn raises(self) -> [u32; 2] {
        let accessed = self.is_free() || self == FlushAndBroadcastBack;
        [accessed.into(), self.is_free().into()]
    }
}

/// Runs every case with these between, in both orders where the order is free.
fn all(between: &[(Between, bool)]) {
    let outcome = job(3, &["--check=report"], |world| {
        let (rules, mut faults, mut cases) = (rules(), Vec::new(), 0);
        let (mut raised, mut before) = ([0; 2], 0);
        let pairs = || KINDS.iter().flat_map(|a| KINDS.iter().map(move |b| (*a, *b)));
        for (between, orders) in between.iter().copied() {
            let firsts: &[u32] = if between.is_free() { &[1, 2] } else { &[1] };
            for ((a, b), place) in
                pairs().flat_map(|pair| [Place::First, Place::Behind].map(|p| (pair, p)))
            {
                for first in firsts.iter().copied() {
                    let (a, b) = ((a, Place::First), (b, place));
                    let win = WindowOptions::new().allocate_bytes(world, 128, 1).expect("memory");
                    let case = Case { world, win, raised };
                    let access = if world.rank() == 1 { a } else { b };
                    case.run(between, first, |win| access.0.access(win, access.1));
                    case.win.free().expect("no epoch is open");
                    raised.iter_mut().zip(between.raises()).for_each(|(all, more)| *all += more);
                    let found = world.conflicts().expect("the job is checked").times;
                    let is_expected = !orders && conflict(&rules, a, b);
                    if (found > before) != is_expected {
                        faults
                            .push(format!("{between:?} {a:?} {b:?}, rank {first} first: {found}"));
                    }
                    (before, cases) = (found, cases + 1);
                    world.barrier().expect("all ranks live");
                }
            }
        }
        assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

/// Whether the two conflict if nothing orders them.
fn conflict(
    rules: &BTreeMap<(String, String), String>,
    a: (Kind, Place),
    b: (Kind, Place),
) -> bool {
    let rule = &rules[&(a.0.name().to_owned(), b.0.name().to_owned())];
    let is_wrong = match rule.as_str() {
        "conflict" => true,
        "same datatype" => (a.0 == Kind::Other) != (b.0 == Kind::Other),
        "fine" => false,
        other => panic!("docs/check.md has {other}"),
    };
    is_wrong && overlap(a, b)
}

#[test]
fn pairs_in_passive_epochs() {
    all(&BETWEEN[..13]);
}

#[test]
fn pairs_in_other_epochs() {
    all(&BETWEEN[13..]);
}
