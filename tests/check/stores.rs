//! Stores of a program to its own part of a window, which no call reports, and accesses of another rank: what orders
//! them, in both orders, in allocated and in private memory.

use crate::support::job;
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, FenceAssert, Group, LockType, Op, Rank, WindowOptions};

/// How rank 1 accesses 4 bytes of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Put,
    Get,
    Update,
    Fetch,
}

/// What stands between that access and the store of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    /// Rank 1 holds lock_all.
    Nothing,
    Flush,
    Barrier,
    FlushAndBarrier,
    FlushAndMessage,
    SameFence,
    Fences,
    /// Rank 1 alone holds the lock.
    LockOfOrigin,
    Locks,
    SameExposure,
    Exposures,
    FlushAndValue,
}

use Between::*;

const KINDS: [Kind; 4] = [Kind::Put, Kind::Get, Kind::Update, Kind::Fetch];

/// All, and whether each orders the access before the store, and the store before the access.
const BETWEEN: [(Between, bool, bool); 12] = [
    (Nothing, false, false),
    (Flush, false, false),
    (Barrier, false, true),
    (FlushAndBarrier, true, true),
    (FlushAndMessage, true, true),
    (SameFence, false, false),
    (Fences, true, true),
    (LockOfOrigin, false, false),
    (Locks, true, true),
    (SameExposure, false, false),
    (Exposures, true, true),
    (FlushAndValue, true, true),
];

impl Kind {
    fn access(self, win: &Win, value: u32) {
        let (target, disp, mut into) = (Rank(0), 8, [0u32]);
        match self {
            Kind::Put => win.put(&[value], target, disp),
            Kind::Get => win.get(&mut into, target, disp),
            Kind::Update => win.accumulate(&[1u32], Op::Sum, target, disp),
            Kind::Fetch => win.get_accumulate(&[], &mut into, Op::NoOp, target, disp),
        }
        .expect("the access is allowed");
    }
}

/// A window of at least 64 bytes a rank.
struct Case<'c> {
    world: &'c Comm,
    win: Win,
    kind: Kind,
    /// Where rank 0 stores: the bytes that rank 1 accesses, or those behind them.
    at: usize,
    store_first: bool,
    /// How often each signal has been raised before.
    raised: [u32; 2],
}

impl Case<'_> {
    fn rank(&self) -> u32 {
        self.world.rank().0
    }

    /// The store of rank 0, or the access of rank 1.
    fn act(&self) {
        if self.rank() == 1 {
            self.kind.access(&self.win, 0xa5a5_a5a5);
            return;
        }
        let at = self.win.base().wrapping_add(self.at).cast::<u32>();
        // SAFETY: the part has 64 bytes, and is aligned. Other processes access it as the program lets them.
        let before = unsafe { at.read_volatile() };
        // SAFETY: as above.
        unsafe { at.write_volatile(before ^ 0x0101_0101) };
    }

    fn is_first(&self) -> bool {
        self.store_first == (self.rank() == 0)
    }

    /// One rank acts after the other, which nothing but signals orders.
    fn in_turn(&self, act: impl FnOnce()) {
        match self.is_first() {
            true => {
                act();
                self.world.signal(0);
                self.world.await_signal(1, self.raised[1] + 1);
            }
            false => {
                self.world.await_signal(0, self.raised[0] + 1);
                act();
                self.world.signal(1);
            }
        }
    }

    /// Rank 1 holds lock_all meanwhile.
    fn passive(&self, body: impl FnOnce()) {
        match self.rank() {
            0 => body(),
            _ => {
                self.win.lock_all().expect("no epoch is open");
                body();
                self.win.unlock_all().expect("lock_all is held");
            }
        }
    }

    fn flush(&self) {
        if self.rank() == 1 {
            self.win.flush(Rank(0)).expect("lock_all is held");
        }
    }

    fn act_and_flush(&self) {
        self.act();
        self.flush();
    }

    /// The first rank acts, both synchronise, the other one acts.
    fn around(&self, act: impl Fn(), synchronise: impl FnOnce()) {
        if self.is_first() {
            act();
        }
        synchronise();
        if !self.is_first() {
            act();
        }
    }

    fn barrier(&self) {
        self.world.barrier().expect("all ranks live");
    }

    fn message(&self) {
        match self.is_first() {
            true => self.world.send(&[0u8], Rank(1 - self.rank()), 7).expect("it is received"),
            false => {
                self.world.recv(&mut [0u8], Rank(1 - self.rank()), 7).expect("it is sent");
            }
        }
    }

    /// The first rank puts a value behind its access; the other one waits for it.
    fn value(&self) {
        let at = Rank(1 - self.rank());
        match (self.is_first(), self.rank()) {
            (true, 0) => {
                self.win.lock(LockType::Shared, at).expect("no epoch is open");
                self.win.put(&[1u64], at, 48).expect("it is locked");
                self.win.unlock(at).expect("it is locked");
            }
            (true, _) => {
                self.win.put(&[1u64], at, 48).expect("lock_all is held");
                self.flush();
            }
            _ => {
                self.win.wait_until(48, onesided::Until::Eq, 1u64).expect("it is put");
            }
        }
    }

    fn fence(&self, assert: FenceAssert) {
        self.win.fence_with(assert).expect("no other epoch is open");
    }

    fn group(&self, rank: u32) -> Group {
        self.world.group().incl(&[rank]).expect("a rank of the world")
    }

    fn locked(&self, act: impl FnOnce()) {
        self.win.lock(LockType::Exclusive, Rank(0)).expect("no epoch is open");
        act();
        self.win.unlock(Rank(0)).expect("it is locked");
    }

    fn run(&self, between: Between) {
        match between {
            Nothing => self.passive(|| self.in_turn(|| self.act())),
            Flush => self.passive(|| self.in_turn(|| self.act_and_flush())),
            Barrier => self.passive(|| self.around(|| self.act(), || self.barrier())),
            FlushAndBarrier => {
                self.passive(|| self.around(|| self.act_and_flush(), || self.barrier()));
            }
            FlushAndMessage => {
                self.passive(|| self.around(|| self.act_and_flush(), || self.message()));
            }
            FlushAndValue => self.passive(|| self.around(|| self.act_and_flush(), || self.value())),
            LockOfOrigin => self.in_turn(|| match self.rank() {
                0 => self.act(),
                _ => self.locked(|| self.act()),
            }),
            Locks => self.in_turn(|| self.locked(|| self.act())),
            SameFence | Fences => {
                self.fence(FenceAssert::NONE);
                match between {
                    SameFence => self.in_turn(|| self.act()),
                    _ => self.around(|| self.act(), || self.fence(FenceAssert::NONE)),
                }
                self.fence(FenceAssert::NOSUCCEED);
            }
            SameExposure | Exposures => self.expose(between == SameExposure),
        }
    }

    /// The store stands in the exposure, or outside of it.
    fn expose(&self, inside: bool) {
        let win = &self.win;
        if self.rank() == 1 {
            win.start(&self.group(0)).expect("no epoch is open");
            if inside {
                self.in_turn(|| self.act())
            } else {
                self.act()
            }
            return win.complete().expect("started");
        }
        if !inside && self.store_first {
            self.act();
        }
        win.post(&self.group(1)).expect("not exposed");
        if inside {
            self.in_turn(|| self.act());
        }
        win.wait().expect("exposed");
        if !inside && !self.store_first {
            self.act();
        }
    }
}

impl Between {
    fn raises(self) -> bool {
        matches!(self, Nothing | Flush | SameFence | LockOfOrigin | Locks | SameExposure)
    }
}

/// The memory of a window.
#[derive(Clone, Copy)]
enum Own {
    /// Allocated; the program asks for its address at once.
    Known,
    /// The same when it stores.
    Hidden,
    Private,
}

/// A window of that many bytes a rank.
fn window(world: &Comm, own: Own, bytes: u64) -> Win {
    let allocate = || WindowOptions::new().allocate_bytes(world, bytes, 1).expect("memory");
    match own {
        Own::Hidden => allocate(),
        Own::Known => {
            let win = allocate();
            win.base();
            win
        }
        Own::Private => {
            const PAGE: usize = 4096;
            // A long part begins at a page, so that the kernel can record writes to it.
            let memory: &'static mut [u64] = vec![0; bytes as usize / 8 + PAGE / 8].leak();
            let skipped = memory.as_ptr().align_offset(if bytes < PAGE as u64 { 8 } else { PAGE });
            let memory = &mut memory[skipped..][..bytes as usize / 8];
            // SAFETY: the memory lives as long as the process, and is used through the window's base alone.
            let exposed = unsafe { ExposedBytes::new(memory.as_mut_ptr().cast(), bytes) };
            WindowOptions::new().create_bytes(world, exposed, 1).expect("the memory lives")
        }
    }
}

/// All cases in windows of that many bytes a rank, each after some barriers.
fn all(own: Own, bytes: u64, barriers: usize) {
    let outcome = job(2, &["--check=report"], |world| {
        let (mut faults, mut cases, mut raised, mut before) = (Vec::new(), 0, [0; 2], 0);
        let pairs = || KINDS.iter().flat_map(|kind| [8, 12].map(|at| (*kind, at)));
        for (between, access_before, store_before) in BETWEEN {
            for ((kind, at), store_first) in
                pairs().flat_map(|pair| [false, true].map(|first| (pair, first)))
            {
                let win = window(world, own, bytes);
                (0..barriers).for_each(|_| world.barrier().expect("all ranks live"));
                let case = Case { world, win, kind, at, store_first, raised };
                case.run(between);
                case.win.free().expect("no epoch is open");
                raised.iter_mut().for_each(|all| *all += u32::from(between.raises()));
                let found = world.conflicts().expect("the job is checked").times;
                let orders = if store_first { store_before } else { access_before };
                if (found > before) != (!orders && at == 8) {
                    faults.push(format!("{between:?} {kind:?} {at} {store_first}: {found}"));
                }
                (before, cases) = (found, cases + 1);
                world.barrier().expect("all ranks live");
            }
        }
        assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
        assert_eq!(cases, 192);
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

#[test]
fn stores_to_allocated_memory() {
    all(Own::Known, 64, 0);
}

#[test]
fn stores_to_memory_that_was_hidden() {
    all(Own::Hidden, 64, 0);
}

#[test]
fn stores_to_private_memory() {
    all(Own::Private, 64, 0);
}

/// Their owner rests in barriers and fences.
#[test]
fn stores_to_long_parts() {
    all(Own::Known, 100 << 10, 0);
}

/// Likewise, once the program has asked for the address.
#[test]
fn stores_to_long_parts_that_were_hidden() {
    all(Own::Hidden, 100 << 10, 0);
}

/// Likewise.
#[test]
fn stores_to_long_parts_of_private_memory() {
    all(Own::Private, 100 << 10, 0);
}

/// The owner has compared their pages so often that the kernel then records the writes to them, where it can.
#[test]
fn stores_to_quiet_parts() {
    all(Own::Known, 100 << 10, 5);
}

/// Likewise.
#[test]
fn stores_to_quiet_parts_of_private_memory() {
    all(Own::Private, 100 << 10, 5);
}

/// Operations on no rank are nothing, and those on a rank that the window does not have fail, in windows of equal parts and
/// of parts that differ.
#[test]
fn operations_without_a_target() {
    let outcome = job(2, &["--check"], |world| {
        for bytes in [64, 64 * (1 + u64::from(world.rank().0))] {
            let win = WindowOptions::new().allocate_bytes(world, bytes, 1).unwrap();
            win.lock_all().expect("no epoch is open");
            let all = |target| {
                let (mut into, mut before) = ([0u32], 0);
                [
                    win.put(&[1u32], target, 0),
                    win.get(&mut into, target, 0),
                    win.accumulate(&[1u32], Op::Sum, target, 0),
                    win.accumulate(&[1u32, 2], Op::Sum, target, 0),
                    win.compare_and_swap(&0u32, &1, &mut before, target, 0),
                ]
            };
            assert!(all(Rank::NULL).iter().all(Result::is_ok));
            assert!(all(Rank(2)).iter().all(Result::is_err));
            win.unlock_all().expect("lock_all is held");
            win.free().expect("no epoch is open");
        }
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}
