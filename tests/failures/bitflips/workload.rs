//! What the ranks do: every kind of call, over and over, with results that are known.

use super::driver::RANKS;
use super::flipper::Flipper;
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, FenceAssert, LockType, Op, Rank, Result, Universe, WindowOptions};
use onesided_tools::{WindowMutex, WindowQueue};
use std::time::Duration;

/// Times that the program is gone through.
const ROUNDS: u64 = 4;
/// Elements of each part: pages of its own, apart from the words of its window.
const LEN: u64 = 1024;
/// Far more seconds of processor time than the program takes: a rank that spins is killed.
const SECONDS: u64 = 1;

struct Rig<'a> {
    universe: &'a Universe,
    comm: &'a Comm,
    flipper: &'a Flipper,
    round: u64,
}

/// The program of a rank.
pub fn rank(seed: u64) {
    let second = Duration::from_secs(SECONDS).as_secs();
    let limit = nix::sys::resource::Resource::RLIMIT_CPU;
    nix::sys::resource::setrlimit(limit, second, second + 1).expect("a limit can be lowered");
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        println!("\nthe library panics: {place}: {panic}");
        std::process::exit(99);
    }));
    let universe = Universe::init().unwrap_or_else(|error| give_up(&error));
    // Libtest's other thread calls nothing: so a rank that sleeps for ever is found out.
    universe.vouch_for_one_thread();
    let comm = universe.world();
    let flipper = Flipper::new(comm, if comm.rank() == 0 { seed } else { 0 });
    for round in 0..ROUNDS {
        let rig = Rig { universe: &universe, comm, flipper: &flipper, round };
        rig.go().unwrap_or_else(|error| give_up(&error));
    }
}

fn give_up(error: &onesided::Error) -> ! {
    println!("\nthe call fails: {error}");
    std::process::exit(3);
}

/// Ends the job if what was found is not what must be there.
fn check<T: PartialEq + std::fmt::Debug>(what: &str, found: T, right: T) {
    if found != right {
        println!("\nthe result is wrong: {what}");
        std::process::exit(4);
    }
}

impl Rig<'_> {
    fn me(&self) -> u64 {
        u64::from(self.comm.rank())
    }

    fn next(&self) -> Rank {
        Rank((self.comm.rank().0 + 1) % RANKS)
    }

    fn previous(&self) -> u64 {
        (self.me() + u64::from(RANKS) - 1) % u64::from(RANKS)
    }

    /// What a rank writes in this round.
    fn number(&self, rank: u64) -> u64 {
        1000 * self.round + rank + 1
    }

    fn go(&self) -> Result<()> {
        let parts: [fn(&Self) -> Result<()>; 9] = [
            Self::fences,
            Self::locks,
            Self::posts,
            Self::notifications,
            Self::attachments,
            Self::private,
            Self::communicators,
            Self::tools,
            Self::memory,
        ];
        parts.iter().try_for_each(|part| {
            self.flipper.step();
            part(self)?;
            self.flipper.step();
            Ok(())
        })
    }

    fn window(&self, options: WindowOptions) -> Result<Win> {
        let win = options.allocate_bytes(self.comm, 8 * LEN, 8)?;
        self.flipper.spare_window(&win);
        self.flipper.step();
        Ok(win)
    }

    fn found(&self, win: &Win, at: u64) -> Result<u64> {
        let mut found = [0];
        win.load(at, &mut found)?;
        Ok(found[0])
    }

    fn fences(&self) -> Result<()> {
        let win = self.window(WindowOptions::new().name("fenced"))?;
        win.fence()?;
        win.put(&[self.number(self.me())], self.next(), LEN - 1)?;
        self.flipper.step();
        win.fence_with(FenceAssert::NOSUCCEED)?;
        check("a put", self.found(&win, LEN - 1)?, self.number(self.previous()));
        win.free()
    }

    fn locks(&self) -> Result<()> {
        let win = self.window(WindowOptions::new().name("locked"))?;
        for target in (0..RANKS).map(Rank) {
            win.lock(LockType::Exclusive, target)?;
            // No instruction does it: under the exclusion.
            win.accumulate(&[1.5f64, 2.5], Op::Prod, target, 7)?;
            win.accumulate(&[1u64], Op::Sum, target, 3)?;
            self.flipper.step();
            win.unlock(target)?;
        }
        win.lock_all()?;
        win.fetch_and_op(&1u64, &mut 0, Op::Sum, self.next(), 4)?;
        win.flush(self.next())?;
        win.unlock_all()?;
        self.comm.barrier()?;
        check("accumulates", self.found(&win, 3)?, u64::from(RANKS));
        check("a fetch_and_op", self.found(&win, 4)?, 1);
        win.free()
    }

    fn posts(&self) -> Result<()> {
        let win = self.window(WindowOptions::new().name("posted"))?;
        let group = |rank: u64| self.comm.group().incl(&[rank as u32]);
        for _ in 0..2 {
            win.post(&group(self.previous())?)?;
            win.start(&group(u64::from(self.next().0))?)?;
            win.put(&[self.number(self.me())], self.next(), 5)?;
            self.flipper.step();
            win.complete()?;
            win.wait()?;
        }
        check("a put after start", self.found(&win, 5)?, self.number(self.previous()));
        win.free()
    }

    fn notifications(&self) -> Result<()> {
        let win = self.window(WindowOptions::new().name("notified").notifications(3))?;
        win.lock_all()?;
        win.put_notify(&[self.number(self.me())], self.next(), 6, 2)?;
        self.flipper.step();
        win.wait_notify(2, 1)?;
        check("a put that notifies", self.found(&win, 6)?, self.number(self.previous()));
        win.unlock_all()?;
        win.free()
    }

    fn attachments(&self) -> Result<()> {
        let win = WindowOptions::new().name("attached").create_dynamic_bytes(self.comm)?;
        let mut memory = self.universe.alloc_mem::<u64>(LEN as usize)?;
        let mut private = vec![0u64; 16];
        let starts = [memory.as_mut_ptr(), private.as_mut_ptr()];
        self.flipper.spare(starts[0].cast(), 8 * LEN);
        for (start, elements) in starts.iter().zip([LEN, 16]) {
            // SAFETY: the memory outlives its attachment.
            unsafe { win.attach(ExposedBytes::new(start.cast(), 8 * elements)) }?;
        }
        let all = self.comm.allgather(&starts.map(|start| start as u64))?;
        let theirs = &all[2 * self.next().index()..][..2];
        win.lock_all()?;
        self.flipper.step();
        for start in theirs {
            win.put(&[self.number(self.me())], self.next(), start + 8)?;
        }
        win.unlock_all()?;
        self.comm.barrier()?;
        starts.iter().try_for_each(|start| win.detach(start.cast()))?;
        check(
            "puts to attached memory",
            [memory[1], private[1]],
            [self.number(self.previous()); 2],
        );
        win.free()
    }

    fn private(&self) -> Result<()> {
        let mut memory = vec![0u64; 16];
        let options = WindowOptions::new().name("private");
        // SAFETY: the memory outlives the window.
        let win = unsafe {
            options.create_bytes(self.comm, ExposedBytes::new(memory.as_mut_ptr().cast(), 128), 8)
        }?;
        win.fence()?;
        win.put(&[self.number(self.me())], self.next(), 2)?;
        self.flipper.step();
        win.fence_with(FenceAssert::NOSUCCEED)?;
        check("a put to private memory", memory[2], self.number(self.previous()));
        win.free()
    }

    fn communicators(&self) -> Result<()> {
        let copy = self.comm.dup()?;
        self.flipper.step();
        let sum = copy.allreduce(&[self.me()], Op::Sum)?;
        check("a sum", sum, vec![u64::from(RANKS * (RANKS - 1) / 2)]);
        let half = self.comm.split(Some(self.comm.rank().0 % 2), 0)?;
        if self.me() < 2 {
            let pair = self.comm.create_group(&self.comm.group().incl(&[0, 1])?, 7)?;
            pair.barrier()?;
            pair.free()?;
        }
        self.flipper.step();
        let lists = self.comm.allgatherv(&vec![self.me(); self.me() as usize])?;
        check("lists", lists, vec![vec![], vec![1], vec![2, 2]]);
        half.map_or(Ok(()), Comm::free)?;
        copy.free()
    }

    fn tools(&self) -> Result<()> {
        let mutex = WindowMutex::new(self.comm, Rank(1))?;
        mutex.lock()?.unlock()?;
        self.flipper.step();
        mutex.free()?;
        let queue = WindowQueue::<u64>::new(self.comm, Rank(2), 2)?;
        queue.push(self.number(0))?;
        self.flipper.step();
        check("an item", queue.pop()?, self.number(0));
        self.comm.barrier()?;
        queue.free()
    }

    fn memory(&self) -> Result<()> {
        let blocks = (1..6).map(|k| self.universe.alloc_mem::<u64>(k * 100));
        let blocks: Vec<_> = blocks.collect::<Result<_>>()?;
        self.flipper.step();
        drop(blocks);
        self.comm.barrier()
    }
}
