//! Long random walks through the epochs of a window, against a model of the standard's rules: two
//! ranks do the same at the same time, legal or not, and each call must end as in the model.

use crate::support::spmd;
use onesided::engine::Win;
use onesided::{Comm, ErrorClass, FenceAssert, LockType, Rank, Result, WindowOptions};

/// What a rank may be doing, seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Access {
    #[default]
    None,
    /// With operations or without.
    Fence(bool),
    Started,
    /// Whether the own part and the other's are locked; one of them is.
    Locked {
        own: bool,
        other: bool,
    },
    LockedAll,
}

#[derive(Clone, Copy, Debug, Default)]
struct Model {
    access: Access,
    exposed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Fence,
    FenceAndNoMore,
    Start,
    Complete,
    Post,
    Wait,
    Test,
    Lock(bool),
    Unlock(bool),
    LockAll,
    UnlockAll,
    Flush(bool),
    FlushAll,
    Put(bool),
    PutOutside,
}

/// `true` means the own part, `false` the other's.
const STEPS: [Step; 19] = [
    Step::Fence,
    Step::FenceAndNoMore,
    Step::Start,
    Step::Complete,
    Step::Post,
    Step::Wait,
    Step::Test,
    Step::Lock(true),
    Step::Lock(false),
    Step::Unlock(true),
    Step::Unlock(false),
    Step::LockAll,
    Step::UnlockAll,
    Step::Flush(true),
    Step::Flush(false),
    Step::FlushAll,
    Step::Put(true),
    Step::Put(false),
    Step::PutOutside,
];

impl Model {
    fn holds(self, own: bool) -> bool {
        match self.access {
            Access::Locked { own: true, .. } if own => true,
            Access::Locked { other: true, .. } if !own => true,
            _ => false,
        }
    }

    /// Whether an epoch of another kind may begin.
    fn is_idle(self) -> bool {
        matches!(self.access, Access::None | Access::Fence(false))
    }

    fn reaches(self, own: bool) -> bool {
        matches!(self.access, Access::Fence(_) | Access::LockedAll) || self.holds(own)
    }

    fn is_legal(self, step: Step) -> bool {
        let locks = matches!(self.access, Access::Locked { .. } | Access::LockedAll);
        match step {
            Step::Fence | Step::FenceAndNoMore => {
                matches!(self.access, Access::None | Access::Fence(_)) && !self.exposed
            }
            Step::Start => self.is_idle(),
            Step::Complete => self.access == Access::Started,
            // Whatever this rank has locked, the other has locked of this one.
            Step::Post => !self.exposed && !locks && self.access != Access::Fence(true),
            Step::Wait | Step::Test => self.exposed,
            Step::Lock(own) => {
                let may = self.is_idle() || matches!(self.access, Access::Locked { .. });
                may && !self.holds(own) && !self.exposed
            }
            Step::Unlock(own) => self.holds(own),
            Step::LockAll => self.is_idle() && !self.exposed,
            Step::UnlockAll => self.access == Access::LockedAll,
            Step::Flush(own) => self.access == Access::LockedAll || self.holds(own),
            Step::FlushAll => locks,
            Step::Put(own) => self.reaches(own),
            Step::PutOutside => self.reaches(false),
        }
    }

    fn take(&mut self, step: Step) {
        let (own, other) = (self.holds(true), self.holds(false));
        self.access = match step {
            Step::Fence => Access::Fence(false),
            Step::FenceAndNoMore | Step::Complete | Step::UnlockAll => Access::None,
            Step::Start => Access::Started,
            Step::Lock(mine) => Access::Locked { own: own || mine, other: other || !mine },
            Step::Unlock(mine) if own && other => Access::Locked { own: !mine, other: mine },
            Step::Unlock(_) => Access::None,
            Step::LockAll => Access::LockedAll,
            Step::Put(_) if matches!(self.access, Access::Fence(_)) => Access::Fence(true),
            _ => self.access,
        };
        match step {
            Step::Post => self.exposed = true,
            Step::Wait | Step::Test => self.exposed = false,
            _ => {}
        }
    }
}

/// Takes the step for real; posts and starts are for no rank, so nothing blocks.
fn call(win: &Win, step: Step) -> Result<()> {
    let (me, empty) = (win.comm().rank().0, onesided::Group::empty());
    let rank = |own: bool| Rank(if own { me } else { 1 - me });
    match step {
        Step::Fence => win.fence(),
        Step::FenceAndNoMore => win.fence_with(FenceAssert::NOSUCCEED),
        Step::Start => win.start(&empty),
        Step::Complete => win.complete(),
        Step::Post => win.post(&empty),
        Step::Wait => win.wait(),
        Step::Test => win.test().map(|done| assert!(done, "nobody was posted for")),
        Step::Lock(own) => win.lock(LockType::Shared, rank(own)),
        Step::Unlock(own) => win.unlock(rank(own)),
        Step::LockAll => win.lock_all(),
        Step::UnlockAll => win.unlock_all(),
        Step::Flush(own) => win.flush(rank(own)),
        Step::FlushAll => win.flush_all(),
        Step::Put(own) => win.put(&[1u64], rank(own), u64::from(own)),
        Step::PutOutside => win.put(&[1u64], rank(false), 2),
    }
}

fn walk(world: &Comm, mut bits: u64, steps: u32) {
    let win = WindowOptions::new().allocate_bytes(world, 16, 8).unwrap();
    let mut model = Model::default();
    for number in 0..steps {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = STEPS[(bits >> 33) as usize % STEPS.len()];
        let result = call(&win, step);
        // No rank is ahead: what a check sees of the other rank is what the model has.
        world.barrier().unwrap();
        let context = format!("step {number}, {step:?} in {model:?}: {result:?}");
        if matches!(step, Step::PutOutside) {
            let class =
                if model.is_legal(step) { ErrorClass::RmaRange } else { ErrorClass::RmaSync };
            assert_eq!(result.unwrap_err().class(), class, "{context}");
        } else if model.is_legal(step) {
            result.expect(&context);
            model.take(step);
        } else {
            assert_eq!(result.expect_err(&context).class(), ErrorClass::RmaSync, "{context}");
        }
    }
}

#[test]
fn every_call_of_a_random_walk_ends_as_the_model_says() {
    spmd(2, |world| {
        for seed in 0..20 {
            walk(world, seed, 2500);
        }
    });
}

#[test]
#[ignore = "takes a minute"]
fn a_million_steps_end_as_the_model_says() {
    spmd(2, |world| {
        for seed in 1000..1400 {
            walk(world, seed, 2500);
        }
    });
}
