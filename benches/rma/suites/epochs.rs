//! Fence, barrier, post-start-complete-wait, lock_all and window creation by all ranks at once.

use crate::measure::{Case, measure};
use crate::pages::Pages;
use crate::{Options, limits, machine};
use onesided::{
    Access, Comm, FenceAssert, LockAssert, PostAssert, Rank, StartAssert, Window, WindowOptions,
};

const LIMIT: &str = "limit: barrier by hand";

pub fn run(world: &Comm, options: &Options) {
    let ranks = world.size();
    let new = || Window::<u64>::allocate(world, 512).expect("a window");
    let plain = new();
    let pages = Pages::locate(world, &plain, 0);
    let mut by_hand = limits::Barrier::new(pages, ranks, machine::cores());
    // In groups of what disturbs one another least: a rank that works on its own for long, as in
    // lock_all, makes the others' waits in a neighbouring fence sleep.
    let synchronising = vec![
        Case::new(LIMIT, 0, move |n| (0..n).for_each(|_| by_hand.wait())),
        fence(new()),
        Case::new("barrier", 0, |n| (0..n).for_each(|_| world.barrier().expect("barrier")))
            .against(LIMIT),
        ring(world, new()).against(LIMIT),
    ];
    measure(Some(world), ranks, synchronising, options);
    if ranks == 2 {
        let first = world.rank() == 0;
        let ping_pong = move |n| limits::ping_pong(pages, first, n);
        let ping_pong = Case::new("limit: cache line there and back", 0, ping_pong);
        let counted = notified(world).against("limit: cache line there and back");
        measure(Some(world), ranks, vec![ping_pong, counted], options);
    }
    measure(Some(world), ranks, vec![lock_all(world, new())], options);
    if ranks <= 8 {
        let create = |n| (0..n).for_each(|_| new().free().expect("no epoch is open"));
        let create = Case::new("window allocate + free", 4096, create);
        measure(Some(world), ranks, vec![create], options);
    }
}

/// As many fences as asked for, at least two.
fn fence<'a>(mut window: Window<u64>) -> Case<'a> {
    let run = move |n| {
        let mut epoch = window.fence(FenceAssert::NONE).expect("fence");
        for _ in 2..n {
            epoch = epoch.fence(FenceAssert::NONE).expect("fence");
        }
        epoch.close(FenceAssert::NONE).expect("fence");
    };
    Case::new("fence", 0, run).against(LIMIT)
}

/// Each rank exposes its part to the rank before it and puts 8 bytes to the rank behind it.
fn ring<'a>(world: &Comm, mut window: Window<u64>) -> Case<'a> {
    let (me, n) = (world.rank(), world.size());
    let (next, before) = ((me + 1) % n, (me + n - 1) % n);
    let group = |rank| world.group().incl(&[rank]).expect("a rank of the world");
    let (targets, origins) = (group(next), group(before));
    let value = [u64::from(me)];
    let run = move |times| {
        let (mut access, mut exposure) = window.sides();
        for _ in 0..times {
            let exposed = exposure.post(&origins, PostAssert::NONE).expect("post");
            let epoch = access.start(&targets, StartAssert::NONE).expect("start");
            epoch.put(&value, Rank(next), 0).expect("put");
            epoch.complete().expect("complete");
            exposed.wait().expect("wait");
        }
    };
    Case::new("PSCW ring epoch with put", 8, run)
}

/// 8 bytes to the other rank and 8 bytes back, each counted where it arrives.
fn notified<'a>(world: &Comm) -> Case<'a> {
    let counted = WindowOptions::new().notifications(1);
    let mut window: Window<u64> = counted.allocate(world, 1).expect("a window");
    let (first, other) = (world.rank() == 0, Rank(1 - world.rank()));
    let value = [1];
    let run = move |n| {
        let epoch = window.lock_all(LockAssert::NONE).expect("lock_all");
        let wait = || epoch.window().wait_notify(0, 1).expect("wait_notify");
        for _ in 0..n {
            if !first {
                wait();
            }
            epoch.put_notify(&value, other, 0, 0).expect("put_notify");
            if first {
                wait();
            }
        }
        epoch.unlock_all().expect("unlock_all");
    };
    Case::new("put_notify + wait_notify, there and back", 0, run)
}

/// lock_all and unlock_all by all ranks at once; time per call of one rank.
fn lock_all<'a>(world: &'a Comm, mut window: Window<u64>) -> Case<'a> {
    let run = move |n| {
        for _ in 0..n {
            let epoch = window.lock_all(LockAssert::NONE).expect("lock_all");
            epoch.unlock_all().expect("unlock_all");
        }
        world.barrier().expect("the job goes on");
    };
    Case::new("lock_all + unlock_all", 0, run)
}
