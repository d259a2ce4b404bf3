//! Fence, barrier, post-start-complete-wait, lock_all and window creation by all ranks at once.

use crate::by_hand::{Barrier, Dissemination, Handshake, Wait};
use crate::freed::Freed;
use crate::measure::{Case, measure};
use crate::pages::Pages;
use crate::{Options, limits};
use onesided::{Access, Comm, Rank, Window, WindowOptions};

pub const FENCE: &str = "fence";
pub const RING_EPOCH: &str = "PSCW ring epoch with put";
const SPINS: &str = "limit: barrier by hand";
const FLAGS: &str = "limit: barrier by hand, dissemination";
const FUTEX: &str = "limit: barrier by hand, futex";
pub const BARRIERS: &str =
    "limit: barrier by hand|limit: barrier by hand, dissemination|limit: barrier by hand, futex";
pub const RING: &str = "limit: ring handshake by hand";
pub const LOCK_ALL: &str = "lock_all + unlock_all by one rank";
const HALO: &str = "limit: halo handshake by hand";
const HALO_AT_ONCE: &str = "baseline: halo handshake by hand, all targets first";
const HALO_BY_TARGET: &str = "baseline: halo handshake by hand, target by target";
const ANNOUNCED: &str = "baseline: announcement + put + barrier by hand";
const BARRIERS_AROUND: &str = "baseline: barrier + put + barrier by hand";

/// Words of a row that is put to each neighbour of the halo.
const ROW: usize = 64;

pub fn run(world: &Comm, options: &Options) {
    let ranks = world.size();
    let new = || Freed::new(Window::<u64>::allocate(world, 512));
    let words = (32 << 10).max(512 * ranks as usize);
    let plain = Freed::new(Window::<u64>::allocate(world, words));
    let pages = Pages::locate(world, &plain, 0);
    let mut free = 256;
    let mut words = |count: usize| {
        free += count;
        free - count
    };
    let busy = Wait::busy(ranks);
    let mut counter = Barrier::new(pages, words(Barrier::WORDS), ranks, busy);
    let mut sleeps = Barrier::new(pages, words(Barrier::WORDS), ranks, Wait::Futex);
    let flags = words(Dissemination::words(ranks));
    let mut flags = Dissemination::new(pages, flags, world.rank().0, ranks, busy);
    let handshakes = [(); 5].map(|()| words(Handshake::words(ranks)));
    let barriers = [(); 2].map(|()| words(Barrier::WORDS));
    // Each rank writes words of its own, wherever they would be in a program.
    let row = words(ROW * ranks as usize) + ROW * world.rank().index();
    // In groups of what disturbs one another least: a rank that works on its own for long, as in
    // lock_all, makes the others' waits in a neighbouring fence sleep.
    let synchronising = vec![
        Case::new(SPINS, 0, move |n| (0..n).for_each(|_| counter.wait())),
        Case::new(FLAGS, 0, move |n| (0..n).for_each(|_| flags.wait())),
        fence(new(), FENCE).against(BARRIERS),
        Case::new("barrier", 0, |n| (0..n).for_each(|_| world.barrier().expect("barrier")))
            .against(BARRIERS),
        ring_by_hand(world, pages, handshakes[0], row),
        ring(world, new()),
        halo_by_hand(world, pages, handshakes[1], row, HALO),
        halo(world),
    ];
    measure(Some(world), ranks, synchronising, options);
    openings(world, pages, (&handshakes[2..], barriers), row, options);
    let sleeps = Case::new(FUTEX, 0, move |n| (0..n).for_each(|_| sleeps.wait()));
    measure(Some(world), ranks, vec![sleeps], options);
    if ranks == 2 {
        let first = world.rank() == 0;
        let ping_pong = move |n| limits::ping_pong(pages, first, n);
        let ping_pong = Case::new("limit: cache line there and back", 0, ping_pong);
        let counted = notified(world).against("limit: cache line there and back");
        measure(Some(world), ranks, vec![ping_pong, counted], options);
    }
    measure(Some(world), ranks, vec![lock_all(world, new())], options);
    lock_all_alone(world, new(), options);
    if ranks <= 8 {
        let create = |n| (0..n).for_each(|_| drop(new()));
        let create = Case::new("window allocate + free", 4096, create);
        measure(Some(world), ranks, vec![create], options);
    }
}

/// As many fences as asked for, at least two.
pub fn fence<'a>(mut window: Freed<Window<u64>>, what: &'static str) -> Case<'a> {
    let run = move |n| {
        let mut epoch = window.fence().expect("fence");
        for _ in 2..n {
            epoch = epoch.fence().expect("fence");
        }
        epoch.close().expect("fence");
    };
    Case::new(what, 0, run)
}

/// Each rank exposes its part to the rank before it and puts 8 bytes to the rank behind it.
pub fn ring<'a>(world: &Comm, window: Freed<Window<u64>>) -> Case<'a> {
    let (me, n) = (world.rank().0, world.size());
    let (next, before) = ((me + 1) % n, (me + n - 1) % n);
    let run = exchange(world, window, &[next], &[before], vec![u64::from(me)]);
    Case::new(RING_EPOCH, 8, run).against(RING)
}

/// Each rank puts a row to each of its neighbours in a plane.
fn halo<'a>(world: &Comm) -> Case<'a> {
    let window = Freed::new(Window::allocate(world, ROW * world.ranks().len()));
    let neighbours = neighbours(world);
    let run = exchange(world, window, &neighbours, &neighbours, vec![1; ROW]);
    Case::new("PSCW 2-D halo epoch with puts", 8 * ROW as u64, run).against(HALO)
}

/// Epochs by post, start, complete and wait, with a put to each target.
fn exchange<'a>(
    world: &Comm,
    mut window: Freed<Window<u64>>,
    targets: &[u32],
    origins: &[u32],
    row: Vec<u64>,
) -> impl FnMut(u32) + 'a {
    let group = |ranks: &[u32]| world.group().incl(ranks).expect("ranks of the world");
    let (to, from) = (group(targets), group(origins));
    let targets = targets.to_vec();
    // Everyone has a place of its own in the parts of its targets.
    let place = u64::from(world.rank()) * row.len() as u64;
    move |times| {
        let (mut access, mut exposure) = window.sides();
        for _ in 0..times {
            let exposed = exposure.post(&from).expect("post");
            let epoch = access.start(&to).expect("start");
            for target in &targets {
                epoch.put(&row, Rank(*target), place as usize).expect("put");
            }
            epoch.complete().expect("complete");
            exposed.wait().expect("wait");
        }
    }
}

fn ring_by_hand<'a>(world: &Comm, pages: Pages, at: usize, row: usize) -> Case<'a> {
    let (me, n) = (world.rank().0, world.size());
    let targets = [(me + 1) % n];
    let mut by_hand = Handshake::new(pages, at, me, &targets, Wait::busy(n));
    let run = move |times| {
        for _ in 0..times {
            by_hand.epoch(|| limits::copy_known_to(&[1], pages, row, 1));
        }
    };
    Case::new(RING, 8, run)
}

/// [`HALO_BY_TARGET`]: each put waits for the post of its own target only, as behind a start that does not wait.
fn halo_by_hand<'a>(
    world: &Comm,
    pages: Pages,
    at: usize,
    row: usize,
    what: &'static str,
) -> Case<'a> {
    let me = world.rank().0;
    let targets = neighbours(world);
    let mut by_hand = Handshake::new(pages, at, me, &targets, Wait::busy(world.size()));
    let run = move |times| {
        for _ in 0..times {
            let put = || limits::copy_known_to(&[1; ROW], pages, row, 1);
            match what == HALO_BY_TARGET {
                true => by_hand.epoch_by_target(put),
                false => by_hand.epoch(|| targets.iter().for_each(|_| put())),
            }
        }
    };
    Case::new(what, 8 * ROW as u64, run)
}

/// What an opening of an epoch that waits for less than all ranks, or all of the group, would be worth.
fn openings(
    world: &Comm,
    pages: Pages,
    (handshakes, barriers): (&[usize], [usize; 2]),
    row: usize,
    options: &Options,
) {
    let openings = vec![
        halo_by_hand(world, pages, handshakes[0], row, HALO_AT_ONCE),
        halo_by_hand(world, pages, handshakes[1], row, HALO_BY_TARGET),
        fence_by_hand(world, pages, (barriers[0], handshakes[2]), row, false),
        fence_by_hand(world, pages, (barriers[1], handshakes[2]), row, true),
    ];
    measure(Some(world), world.size(), openings, options);
}

/// An epoch between two barriers, with a put to the next rank. `announced`: the first is none, and the put
/// waits for the announcement of its target only, as behind a fence with NOPRECEDE that does not wait.
fn fence_by_hand<'a>(
    world: &Comm,
    pages: Pages,
    (barrier, announcements): (usize, usize),
    row: usize,
    announced: bool,
) -> Case<'a> {
    let (me, n) = (world.rank().0, world.size());
    let mut barrier = Barrier::new(pages, barrier, n, Wait::busy(n));
    let mut target = Handshake::new(pages, announcements, me, &[(me + 1) % n], Wait::busy(n));
    let run = move |times| {
        for _ in 0..times {
            if announced {
                target.open()
            } else {
                barrier.wait()
            }
            limits::copy_known_to(&[1], pages, row, 1);
            barrier.wait();
        }
    };
    Case::new(if announced { ANNOUNCED } else { BARRIERS_AROUND }, 8, run)
}

/// A rank's place where all ranks are laid out in a plane, as square as it goes.
pub struct Plane {
    pub rows: u32,
    pub columns: u32,
    pub row: u32,
    pub column: u32,
    /// The ranks above, below, left and right.
    pub beside: [Option<u32>; 4],
}

/// The place of rank `me`.
pub fn plane(me: u32, ranks: u32) -> Plane {
    let columns = (1..=ranks).filter(|c| ranks.is_multiple_of(*c) && c * c <= ranks).max();
    let columns = columns.expect("one column always fits");
    let (row, column) = (me / columns, me % columns);
    let beside = [
        (row > 0).then(|| me - columns),
        (me + columns < ranks).then_some(me + columns),
        (column > 0).then(|| me - 1),
        (column + 1 < columns).then_some(me + 1),
    ];
    Plane { rows: ranks / columns, columns, row, column, beside }
}

fn neighbours(world: &Comm) -> Vec<u32> {
    plane(world.rank().0, world.size()).beside.into_iter().flatten().collect()
}

/// 8 bytes to the other rank and 8 bytes back, each counted where it arrives.
pub fn notified<'a>(world: &Comm) -> Case<'a> {
    let counted = WindowOptions::new().notifications(1);
    let mut window = Freed::new(counted.allocate::<u64>(world, 1));
    let (first, other) = (world.rank() == 0, Rank(1 - world.rank().0));
    let value = [1];
    let run = move |n| {
        let epoch = window.lock_all().expect("lock_all");
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
fn lock_all<'a>(world: &'a Comm, mut window: Freed<Window<u64>>) -> Case<'a> {
    let run = move |n| {
        for _ in 0..n {
            let epoch = window.lock_all().expect("lock_all");
            epoch.unlock_all().expect("unlock_all");
        }
        world.barrier().expect("the job goes on");
    };
    Case::new("lock_all + unlock_all", 0, run)
}

/// lock_all and unlock_all by rank 0 alone, while the others wait in a barrier.
fn lock_all_alone(world: &Comm, mut window: Freed<Window<u64>>, options: &Options) {
    if world.rank() == 0 {
        let run = |n| {
            for _ in 0..n {
                let epoch = window.lock_all().expect("lock_all");
                epoch.unlock_all().expect("unlock_all");
            }
        };
        let alone = Case::new(LOCK_ALL, 0, run);
        measure(None, world.size(), vec![alone], options);
    }
    world.barrier().expect("the job goes on");
}
