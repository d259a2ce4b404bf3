//! A rank fetches by an accumulate what another rank's accumulate has left, and then accesses the element by itself.

use crate::support::job;
use onesided::engine::Win;
use onesided::{Comm, Op, Rank, WindowOptions};

/// The element of rank 0, in bytes.
const AT: u64 = 64;

/// What rank 0 does between rank 1's accumulate and its own store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Fetches,
    /// Rank 1 has flushed before, which rank 0 does not know.
    FetchesComplete,
    /// After win_sync, which makes known what a load of the element may see.
    SyncsAndFetches,
    FetchesAndUpdates,
    Swaps,
    /// By a get_accumulate of two elements.
    FetchesBoth,
    /// After a barrier with rank 1, which has not flushed.
    KnowsBefore,
    FetchesNothing,
    FetchesElsewhere,
    /// The first one of two elements. Rank 0 stores to the second one.
    FetchesFirst,
    /// Rank 1 has accumulated once more, by the same line.
    Again,
    /// Rank 2 gets, after a message of rank 0.
    OtherGets,
    /// Likewise, without the message.
    OtherGetsUnordered,
}

use Case::*;

const CASES: [(Case, bool); 13] = [
    (Fetches, true),
    (FetchesComplete, true),
    (SyncsAndFetches, true),
    (FetchesAndUpdates, true),
    (Swaps, true),
    (FetchesBoth, true),
    (KnowsBefore, false),
    (FetchesNothing, false),
    (FetchesElsewhere, false),
    (FetchesFirst, false),
    (Again, false),
    (OtherGets, true),
    (OtherGetsUnordered, false),
];

/// Each signal is raised once in each case.
struct Run<'r> {
    world: &'r Comm,
    win: &'r Win,
    case: Case,
    number: u32,
}

impl Run<'_> {
    fn raise(&self, signal: usize) {
        self.world.signal(signal);
    }

    /// Nothing that the check knows of orders what comes before and behind this.
    fn wait(&self, signal: usize) {
        self.world.await_signal(signal, self.number + 1);
    }

    fn fetch(&self) {
        let (mut one, mut both, mut half) = ([0u64], [0u64; 2], [0u32]);
        let to = Rank(0);
        match self.case {
            FetchesNothing => Ok(()),
            FetchesElsewhere => self.win.get_accumulate(&[], &mut one, Op::NoOp, to, AT + 8),
            FetchesFirst => self.win.get_accumulate(&[], &mut half, Op::NoOp, to, AT),
            FetchesBoth => self.win.get_accumulate(&[], &mut both, Op::NoOp, to, AT),
            FetchesAndUpdates => self.win.get_accumulate(&[2], &mut one, Op::Replace, to, AT),
            Swaps => self.win.compare_and_swap(&7u64, &1, &mut one[0], to, AT),
            _ => self.win.get_accumulate(&[], &mut one, Op::NoOp, to, AT),
        }
        .expect("lock_all is held");
    }

    fn store(&self) {
        let at = self.win.base().wrapping_add(AT as usize).cast::<u64>();
        // SAFETY: the part has 128 bytes, and is aligned. Other processes access it as the program lets them.
        unsafe { at.write_volatile(u64::MAX << if self.case == FetchesFirst { 32 } else { 0 }) };
    }

    fn by_rank_0(&self) {
        match self.case {
            KnowsBefore => self.world.barrier().expect("all ranks live"),
            _ => self.wait(0),
        }
        if self.case == SyncsAndFetches {
            self.win.sync();
        }
        self.fetch();
        self.win.flush(Rank(0)).expect("lock_all is held");
        self.raise(1);
        match self.case {
            OtherGets => self.world.send(&[0u8], Rank(2), 1).expect("it is received"),
            OtherGetsUnordered => {}
            Again => {
                self.wait(2);
                self.store();
            }
            _ => self.store(),
        }
    }

    fn by_rank_1(&self) {
        for time in 0..if self.case == Again { 2 } else { 1 } {
            if time == 1 {
                self.wait(1);
            }
            match self.case {
                FetchesFirst => self.win.accumulate(&[0u32, 1], Op::Sum, Rank(0), AT),
                _ => self.win.accumulate(&[1u64], Op::Sum, Rank(0), AT),
            }
            .expect("lock_all is held");
            if self.case == FetchesComplete {
                self.win.flush(Rank(0)).expect("lock_all is held");
            }
            if time == 0 {
                self.raise(0);
            }
        }
        self.raise(2);
        if self.case == KnowsBefore {
            self.world.barrier().expect("all ranks live");
        }
        // Its end of the epoch would complete the accumulate.
        self.wait(1);
    }

    fn by_rank_2(&self) {
        match self.case {
            OtherGets => drop(self.world.recv(&mut [0u8], Rank(0), 1).expect("it is sent")),
            OtherGetsUnordered => self.wait(1),
            KnowsBefore => return self.world.barrier().expect("all ranks live"),
            _ => return,
        }
        self.win.get(&mut [0u64], Rank(0), AT).expect("lock_all is held");
    }

    fn run(&self) {
        match self.world.rank().0 {
            0 => self.by_rank_0(),
            1 => self.by_rank_1(),
            _ => self.by_rank_2(),
        }
    }
}

/// Fails if ranks conflict in other cases than those that do.
fn conflicts(check: &str, cases: &[(Case, bool)]) {
    let outcome = job(3, &[check], |world| {
        let (mut faults, mut before) = (Vec::new(), 0);
        for (number, (case, is_fine)) in (0..).zip(cases.iter().copied()) {
            let win = WindowOptions::new().allocate_bytes(world, 128, 1).expect("memory");
            win.base();
            win.lock_all().expect("no epoch is open");
            Run { world, win: &win, case, number }.run();
            win.unlock_all().expect("lock_all is held");
            win.free().expect("no epoch is open");
            let found = world.conflicts().expect("the job is checked").times;
            if (found == before) != is_fine {
                faults.push(format!("{case:?}: {}", found - before));
            }
            before = found;
            world.barrier().expect("all ranks live");
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

#[test]
fn an_accumulate_that_a_fetch_has_found_is_complete_at_its_element() {
    conflicts("--check=report", &CASES);
}

#[test]
fn a_late_accumulate_is_found_when_it_is_complete() {
    conflicts("--check=late,report", &[(FetchesComplete, true), (FetchesNothing, false)]);
}
