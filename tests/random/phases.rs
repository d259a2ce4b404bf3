//! Random legal programs against a sequential oracle.
//!
//! A program is a sequence of phases, the same on every rank, drawn from a seed. In each phase every
//! word of every window has one role: it is put by one rank, or accumulated by several with one
//! operation whose order is no matter, or read by several. So its outcome is determined, whatever
//! the interleaving, and every rank compares what it finds with what the oracle computed. Ranks
//! dawdle at random synchronisation events.
#![cfg(feature = "test-hooks")]

use crate::support::choices::Choices;
use crate::support::dawdle::{EVENTS, dawdle};
use crate::support::interleave::{free, get, group, load, put, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, LockAssert, LockType, Op, PostAssert, Rank, StartAssert};

/// Words of each rank's part.
const WORDS: u64 = 12;
const OPS: [Op; 8] = [Op::Sum, Op::Prod, Op::Max, Op::Min, Op::Band, Op::Bor, Op::Bxor, Op::NoOp];

/// What happens to one word in one phase, and by which ranks.
#[derive(Clone)]
enum Role {
    Put(u32, u64),
    Accumulate(Op, Vec<(u32, u64)>),
    Read(Vec<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Fence,
    Pscw,
    Exclusive,
    Shared,
    All,
}

const HOW: [How; 5] = [How::Fence, How::Pscw, How::Exclusive, How::Shared, How::All];

/// One phase: how it is synchronised, and the role of every word of every rank.
struct Phase {
    how: How,
    roles: Vec<Vec<Role>>,
    /// Whether assertions that hold are asserted.
    asserts: bool,
}

fn some_ranks(choices: &mut Choices, n: u32) -> Vec<u32> {
    let bits = choices.next();
    (0..n).filter(|rank| bits >> rank & 1 == 1).collect()
}

impl Role {
    fn draw(choices: &mut Choices, n: u32) -> Role {
        match choices.below(4) {
            0 => Role::Put(choices.below(u64::from(n)) as u32, choices.next()),
            1 | 2 => {
                let op = OPS[choices.below(8) as usize];
                let ranks = some_ranks(choices, n);
                Role::Accumulate(op, ranks.into_iter().map(|r| (r, choices.next())).collect())
            }
            _ => Role::Read(some_ranks(choices, n)),
        }
    }

    fn involves(&self, rank: u32) -> bool {
        match self {
            Role::Put(origin, _) => *origin == rank,
            Role::Accumulate(_, origins) => origins.iter().any(|(origin, _)| *origin == rank),
            Role::Read(ranks) => ranks.contains(&rank),
        }
    }

    /// The word after the phase.
    fn outcome(&self, word: u64) -> u64 {
        match self {
            Role::Put(_, value) => *value,
            Role::Accumulate(op, values) => {
                values.iter().fold(word, |word, (_, value)| apply(*op, word, *value))
            }
            Role::Read(_) => word,
        }
    }

    /// This rank's part of it; `old` is the word before the phase.
    fn perform(&self, win: &Win, target: u32, disp: u64, old: u64) {
        let me = win.comm().rank();
        match self {
            Role::Put(_, value) => put(win, *value, target, disp),
            Role::Read(_) => assert_eq!(get(win, target, disp), old, "rank {target} at {disp}"),
            Role::Accumulate(op, values) => {
                let mine = values.iter().filter(|(origin, _)| *origin == me);
                for (_, value) in mine {
                    win.accumulate(&[*value], *op, Rank(target), disp).unwrap();
                }
            }
        }
    }
}

fn apply(op: Op, word: u64, value: u64) -> u64 {
    match op {
        Op::Sum => word.wrapping_add(value),
        Op::Prod => word.wrapping_mul(value),
        Op::Max => word.max(value),
        Op::Min => word.min(value),
        Op::Band => word & value,
        Op::Bor => word | value,
        Op::Bxor => word ^ value,
        _ => word,
    }
}

impl Phase {
    fn draw(choices: &mut Choices, n: u32) -> Phase {
        let how = HOW[choices.below(5) as usize];
        let asserts = choices.below(2) == 0;
        let mut part = || (0..WORDS).map(|_| Role::draw(choices, n)).collect();
        Phase { how, roles: (0..n).map(|_| part()).collect(), asserts }
    }

    /// Whether `origin` accesses `target`.
    fn reaches(&self, origin: u32, target: u32) -> bool {
        self.roles[target as usize].iter().any(|role| role.involves(origin))
    }

    /// This rank's operations on `target`, in an order of its own.
    fn operate(&self, win: &Win, target: u32, before: &[Vec<u64>], order: &mut Choices) {
        for disp in order.permutation(WORDS) {
            let role = &self.roles[target as usize][disp as usize];
            if role.involves(win.comm().rank()) {
                role.perform(win, target, disp, before[target as usize][disp as usize]);
            }
        }
    }

    fn run(&self, win: &Win, before: &[Vec<u64>], order: &mut Choices) {
        match self.how {
            How::Fence => self.run_fence(win, before, order),
            How::Pscw => self.run_pscw(win, before, order),
            _ => {
                win.comm().barrier().unwrap();
                self.run_locks(win, before, order);
                win.comm().barrier().unwrap();
            }
        }
    }

    fn run_fence(&self, win: &Win, before: &[Vec<u64>], order: &mut Choices) {
        let if_asserted = |assert| if self.asserts { assert } else { FenceAssert::NONE };
        win.fence(if_asserted(FenceAssert::NOPRECEDE)).unwrap();
        for target in order.permutation(u64::from(win.comm().size())) {
            self.operate(win, target as u32, before, order);
        }
        win.fence(if_asserted(FenceAssert::NOSUCCEED | FenceAssert::NOSTORE)).unwrap();
    }

    fn run_pscw(&self, win: &Win, before: &[Vec<u64>], order: &mut Choices) {
        let (world, me) = (win.comm(), win.comm().rank());
        let ranks = order.permutation(u64::from(world.size()));
        let ranks = || ranks.iter().map(|rank| *rank as u32);
        let origins: Vec<u32> = ranks().filter(|origin| self.reaches(*origin, me)).collect();
        let targets: Vec<u32> = ranks().filter(|target| self.reaches(me, *target)).collect();
        win.post(&group(world, &origins), PostAssert::NONE).unwrap();
        win.start(&group(world, &targets), StartAssert::NONE).unwrap();
        targets.iter().for_each(|target| self.operate(win, *target, before, order));
        win.complete().unwrap();
        while self.asserts && !win.test().unwrap() {
            std::thread::yield_now();
        }
        if !self.asserts {
            win.wait().unwrap();
        }
    }

    fn run_locks(&self, win: &Win, before: &[Vec<u64>], order: &mut Choices) {
        let lock_type = match self.how {
            How::Exclusive => LockType::Exclusive,
            _ => LockType::Shared,
        };
        if self.how == How::All {
            win.lock_all(LockAssert::NONE).unwrap();
        }
        for target in order.permutation(u64::from(win.comm().size())) {
            if self.how == How::All {
                self.operate(win, target as u32, before, order);
                win.flush(Rank(target as u32)).unwrap();
                continue;
            }
            win.lock(lock_type, Rank(target as u32), LockAssert::NONE).unwrap();
            self.operate(win, target as u32, before, order);
            win.unlock(Rank(target as u32)).unwrap();
        }
        if self.how == How::All {
            win.unlock_all().unwrap();
        }
    }
}

fn check_own_part(win: &Win, how: How, expected: &[u64], what: &str) {
    let own = Rank(win.comm().rank());
    let is_passive = !matches!(how, How::Fence | How::Pscw);
    if is_passive {
        win.lock(LockType::Shared, own, LockAssert::NONE).unwrap();
    }
    let found: Vec<u64> = (0..WORDS).map(|disp| load(win, disp)).collect();
    assert_eq!(found, expected, "{what}");
    if is_passive {
        win.unlock(own).unwrap();
    }
}

fn program(world: &Comm, seed: u64, phases: u32) {
    let (me, n) = (world.rank(), world.size());
    let win = words(world, WORDS);
    let mut choices = Choices(seed);
    let mut order = Choices(seed ^ u64::from(me + 1) << 40);
    let mut model = vec![vec![0; WORDS as usize]; n as usize];
    for number in 0..phases {
        let phase = Phase::draw(&mut choices, n);
        let event = EVENTS[order.below(EVENTS.len() as u64) as usize];
        dawdle(event, order.below(6));
        phase.run(&win, &model, &mut order);
        for (part, roles) in model.iter_mut().zip(&phase.roles) {
            part.iter_mut().zip(roles).for_each(|(word, role)| *word = role.outcome(*word));
        }
        let what = format!("seed {seed}, {n} ranks, phase {number} ({:?})", phase.how);
        check_own_part(&win, phase.how, &model[me as usize], &what);
    }
    free(win);
}

/// Many short programs: windows are allocated and freed, and states meet that long ones leave behind.
fn programs(n: u32, seeds: std::ops::Range<u64>, phases: u32) {
    spmd(n, |world| {
        for seed in seeds {
            if world.rank() == 0 {
                println!("seed {seed}");
            }
            program(world, seed, phases);
        }
    });
}

#[test]
fn random_programs_of_two_ranks() {
    programs(2, 0..60, 10);
}

#[test]
fn random_programs_of_three_ranks() {
    programs(3, 100..140, 10);
}

#[test]
fn random_programs_of_five_ranks() {
    programs(5, 200..220, 15);
}

#[test]
fn random_programs_of_eight_ranks() {
    programs(8, 300..310, 15);
}

#[test]
fn one_long_random_program() {
    programs(4, 1000..1001, 300);
}
