//! What those who live find when a rank has died: what must be as it was, what must say so, and what
//! must work again.

use crate::trip::{Trip, phase};
use onesided::engine::Win;
use onesided::{
    Access, Comm, Error, FenceAssert, LockType, Op, Rank, Result, Window, WindowOptions,
};

/// Words of each rank that stay unchanged after their first write; the words after them are written later.
const RETAINED: usize = 64;
const COUNT: u64 = RETAINED as u64;
const TURNS: u64 = COUNT + 1;

/// What a walk has beside it.
pub struct Aftermath {
    /// A window that the walk does not use.
    bystander: Win,
    /// Communicators of two ranks, or of one.
    pair: Comm,
}

fn pattern(rank: u32) -> Vec<u64> {
    (0..RETAINED as u64).map(|at| u64::from(rank + 1) << 32 | at).collect()
}

impl Aftermath {
    pub fn prepare(trip: &Trip<'_>) -> Result<Aftermath> {
        let comm = &trip.comm;
        let bytes = (RETAINED as u64 + 2) * 8;
        let options = WindowOptions::new().name("bystander");
        let bystander = trip.make("bystander", || options.allocate_bytes(comm, bytes, 8))?;
        bystander.store(0, &pattern(comm.rank().0))?;
        let pair =
            trip.make("pairs", || comm.split(Some(comm.rank().0 / 2), 0))?.expect("a colour");
        comm.barrier()?;
        Ok(Aftermath { bystander, pair })
    }

    /// No rank has died.
    pub fn end(self, trip: &Trip<'_>) -> Result<()> {
        let pair = format!("free-pair-{}", trip.comm.rank().0 / 2);
        trip.make(&pair, || self.pair.free())?;
        trip.make("free-bystander", || self.bystander.free())
    }

    /// A rank has died.
    pub fn go_on(mut self, trip: &Trip<'_>) {
        goes_on_without(trip);
        self.is_as_before(trip);
        loop {
            let before = trip.comm.failed();
            let lost = phase(trip, "recover", || self.bystander.recover());
            let lost = lost.expect("those who live recover a window");
            let known =
                |world: &Rank| lost.iter().any(|rank| world_rank(&trip.comm, *rank) == world.0);
            assert!(before.world_ranks().iter().all(known), "{before:?}, but {lost:?} are missing");
            // Another one may die meanwhile; the last fence returns the same to all.
            match phase(trip, "use", || self.works_again(trip, &lost)) {
                Ok(()) => break,
                Err(error) => trip.must_be_loss(&error),
            }
        }
        if let Err(error) = trip.make("free-mended-bystander", || self.bystander.free()) {
            trip.must_be_loss(&error);
        }
    }

    /// Calls that need no failed rank work; calls that need one return the error.
    fn is_as_before(&self, trip: &Trip<'_>) {
        let (comm, win) = (&trip.comm, &self.bystander);
        match self.pair.barrier() {
            Ok(()) if trip.lost() == 0 => crate::report(&format!("\npaired {}\n", trip.rank())),
            Ok(()) => {}
            Err(Error::RankFailed { failed, .. }) => {
                assert!(self.pair.failed().world_ranks().contains(&Rank(failed.0)));
            }
            Err(other) => panic!("{other}"),
        }
        // Shared locks, which no rank is kept from, also of the dead.
        for rank in 0..comm.size() {
            let target = Rank(rank);
            win.lock(LockType::Shared, target).expect("no rank holds a lock");
            must_be_unchanged(win, target);
            win.flush(target).expect("it waits for no rank");
            win.unlock(target).expect("it waits for no rank");
        }
        let failed = comm.failed();
        must_fail(trip, win.start(&failed));
        must_fail(trip, win.fence());
    }

    /// Every kind of epoch, among those who live and with the parts of those who are dead.
    fn works_again(&self, trip: &Trip<'_>, lost: &[Rank]) -> Result<()> {
        let (comm, win) = (&trip.comm, &self.bystander);
        let size = u64::from(comm.size());
        let zero = [0u64];
        win.store(COUNT, &zero)?;
        win.fence()?;
        for rank in 0..comm.size() {
            win.accumulate(&[1u64], Op::Sum, Rank(rank), COUNT)?;
        }
        win.fence_with(FenceAssert::NOSUCCEED)?;
        let mut count = [0u64];
        win.load(COUNT, &mut count)?;
        let living = size - lost.len() as u64;
        assert!((living..=size).contains(&count[0]), "{living} of {size} live, {} came", count[0]);
        for rank in 0..comm.size() {
            win.lock(LockType::Exclusive, Rank(rank))?;
            must_be_unchanged(win, Rank(rank));
            let mut turns = [0u64];
            win.get(&mut turns, Rank(rank), TURNS)?;
            win.put(&[turns[0] + 1], Rank(rank), TURNS)?;
            win.unlock(Rank(rank))?;
        }
        win.fence_with(FenceAssert::NOSUCCEED)?;
        let mut turns = [0u64];
        win.load(TURNS, &mut turns)?;
        assert!(turns[0] >= living, "{living} have had the lock, {} have counted", turns[0]);
        self.posts_again(trip, lost)?;
        win.fence_with(FenceAssert::NOSUCCEED)
    }

    fn posts_again(&self, trip: &Trip<'_>, lost: &[Rank]) -> Result<()> {
        let (comm, win) = (&trip.comm, &self.bystander);
        let numbers: Vec<u32> = lost.iter().map(|rank| rank.0).collect();
        let living = comm.group().excl(&numbers)?;
        let others = living.difference(&comm.group().incl(&[comm.rank().0])?);
        win.post(&others)?;
        win.start(&others)?;
        win.complete()?;
        win.wait()?;
        let dead = comm.group().incl(&numbers)?;
        must_fail(trip, win.start(&dead));
        must_fail(trip, win.post(&dead));
        Ok(())
    }
}

fn world_rank(comm: &Comm, rank: Rank) -> u32 {
    comm.group().world_ranks()[rank.index()].0
}

/// In an epoch that reaches the rank.
fn must_be_unchanged(win: &Win, target: Rank) {
    let mut words = vec![0u64; RETAINED];
    win.get(&mut words, target, 0).expect("the memory of the dead is there");
    assert_eq!(words, pattern(target.0), "of {target:?}");
}

#[track_caller]
fn must_fail(trip: &Trip<'_>, result: Result<()>) {
    trip.must_be_loss(&result.expect_err("no dead rank is waited for"));
}

/// What is this rank's alone, or the job's, is as before.
fn goes_on_without(trip: &Trip<'_>) {
    let mut memory = trip.universe.alloc_mem::<u64>(100).expect("the allocator goes on");
    memory.fill(7);
    let own = Window::<u64>::allocate(trip.universe.self_comm(), 4).expect("it is local");
    let held = own.lock(LockType::Exclusive, Rank(0)).expect("no rank holds it");
    held.put(&[5], Rank(0), 1).expect("it waits for no rank");
    held.unlock().expect("it waits for no rank");
    assert_eq!(own.load_one(1).expect("in range"), 5);
    own.free().expect("it is local");
}
