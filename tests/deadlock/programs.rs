//! Programs that deadlock, each as short as it can be.

use onesided::engine::Win;
use onesided::{Access, Comm, Group, LockType, Op, Rank, Shape};
use onesided::{Universe, Until, Window, WindowMemory, WindowOptions};
use onesided_tools::{WindowMutex, WindowQueue};
use std::mem::ManuallyDrop;

/// A window of eight words per rank, with two notification counters.
pub fn window(world: &Comm, name: &str) -> Win {
    let options = WindowOptions::new().name(name).notifications(2);
    options.allocate_bytes(world, 64, 8).unwrap()
}

pub fn ranks(world: &Comm, ranks: &[u32]) -> Group {
    world.group().incl(ranks).unwrap()
}

/// A message to another rank, which receives it by `wait_notify(0, 1)`.
pub fn send(win: &Win, to: u32) {
    win.lock(LockType::Shared, Rank(to)).unwrap();
    win.notify(Rank(to), 0).unwrap();
    win.unlock(Rank(to)).unwrap();
}

/// MPI-2.2 Figure 11.7: the receive stands before the complete.
pub fn figure_11_7(universe: &Universe) {
    let world = universe.world();
    let (win, mail) = (window(world, "data"), window(world, "mail"));
    if world.rank() == 0 {
        win.start(&ranks(world, &[1])).unwrap();
        win.put(&[1u64], Rank(1), 0).unwrap();
        mail.wait_notify(0, 1).unwrap(); // @receive
        win.complete().unwrap();
    } else {
        win.post(&ranks(world, &[0])).unwrap();
        win.wait().unwrap(); // @wait-117
        send(&mail, 0);
    }
}

/// MPI-2.2 §11.7.2: "the order of the post and start calls is reversed, at each process".
pub fn start_before_post(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    let other = ranks(world, &[1 - world.rank().0]);
    let (mut access, mut exposure) = window.sides();
    let epoch = access.start(&other).unwrap(); // @start-first
    let exposed = exposure.post(&other).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
}

/// The same place: "if the order of the complete and wait calls is reversed, at each process".
pub fn wait_before_complete(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    let other = ranks(world, &[1 - world.rank().0]);
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&other).unwrap();
    let epoch = access.start(&other).unwrap();
    exposed.wait().unwrap(); // @wait-first
    epoch.complete().unwrap();
}

/// The thread of rank 0 that has written its private memory does not hide the deadlock; rank 1 has none.
pub fn after_many_pieces(universe: &Universe) {
    let world = universe.world();
    let memory: WindowMemory<u64> = match world.rank().0 {
        0 => vec![0; 2000].into(),
        _ => universe.alloc_mem(2000).unwrap().into(),
    };
    let mut window = WindowOptions::new().name("halo").create(world, memory).unwrap();
    let column = Shape::strided(1000, 1, 2).unwrap();
    let epoch = window.fence().unwrap();
    epoch.put_shaped(&[7; 1000], Rank(0), 0, &column).unwrap();
    epoch.close().unwrap();
    if world.rank() == 0 {
        window.fence().unwrap().close().unwrap(); // @fence-alone
    } else {
        world.barrier().unwrap(); // @barrier-alone
    }
}

/// Every rank locks its own part, then the next one's.
pub fn lock_order(universe: &Universe) {
    let world = universe.world();
    let window: Window<u64> = WindowOptions::new().name("forks").allocate(world, 1).unwrap();
    let (own, next) = (world.rank().0, (world.rank().0 + 1) % world.size());
    let first = window.lock(LockType::Exclusive, Rank(own)).unwrap();
    world.barrier().unwrap();
    let _second = window.lock(LockType::Exclusive, Rank(next)).unwrap(); // @fork
    first.unlock().unwrap();
}

pub fn origin_that_is_not_asked(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank().0 {
        0 => {
            win.post(&ranks(world, &[1, 2])).unwrap();
            win.wait().unwrap(); // @two-origins
        }
        1 => {
            win.start(&ranks(world, &[0])).unwrap();
            win.complete().unwrap();
        }
        _ => {}
    }
    world.barrier().unwrap(); // @groups-barrier
}

pub fn target_that_posts_for_another(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank().0 {
        0 => win.start(&ranks(world, &[1])).unwrap(), // @not-posted-for
        1 => {
            win.post(&ranks(world, &[2])).unwrap();
            win.wait().unwrap(); // @posted-for-2
        }
        _ => world.barrier().unwrap(), // @third
    }
}

pub fn missing_unlock(universe: &Universe) {
    let world = universe.world();
    let window: Window<u64> = WindowOptions::new().name("w").allocate(world, 1).unwrap();
    let lock = || window.lock(LockType::Exclusive, Rank(0)).unwrap(); // @lock-held
    if world.rank() == 0 {
        let _forgotten = ManuallyDrop::new(lock());
        world.barrier().unwrap();
        world.barrier().unwrap(); // @still-locked
    } else {
        world.barrier().unwrap();
        drop(lock());
        world.barrier().unwrap();
    }
}

pub fn fence_by_some(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    if world.rank() == 2 {
        world.barrier().unwrap(); // @no-fence
    } else {
        window.fence().unwrap().close().unwrap(); // @some-fence
    }
}

/// Ranks that combine their arrivals in a tree.
pub fn fence_by_ten_of_eleven(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    window.fence().unwrap().close().unwrap();
    if world.rank() == 4 {
        world.barrier().unwrap(); // @no-fence-of-eleven
    } else {
        window.fence().unwrap().close().unwrap(); // @fence-of-ten
    }
}

pub fn collective_against_fence(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank().0 {
        0 => drop(world.allreduce(&[1u64], Op::Sum).unwrap()), // @allreduce
        _ => win.fence().unwrap(),                             // @fence-against
    }
}

pub fn fences_of_two_windows(universe: &Universe) {
    let world = universe.world();
    let (a, b) = (window(world, "a"), window(world, "b"));
    match world.rank().0 {
        0 => a.fence().unwrap(), // @fence-a
        _ => b.fence().unwrap(), // @fence-b
    }
}

pub fn fence_against_free(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank().0 {
        0 => win.fence().unwrap(), // @fence-not-free
        _ => win.free().unwrap(),  // @free-not-fence
    }
}

pub fn origin_that_has_left(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.post(&ranks(world, &[1])).unwrap();
        win.wait().unwrap(); // @no-complete
    }
}

pub fn too_few_notifications(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    match world.rank().0 {
        0 => win.wait_notify(0, 3).unwrap(), // @three-notifications
        _ => {
            (0..2).for_each(|_| send(&win, 0));
            world.barrier().unwrap(); // @two-sent
        }
    }
}

pub fn never_written(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "flag"));
    win.wait_until(world.rank().0.into(), Until::Ne, 0u64).map(drop).unwrap(); // @never-written
}

pub fn one_has_left(universe: &Universe) {
    let world = universe.world();
    if world.rank() != 1 {
        world.barrier().unwrap(); // @one-has-left
    }
}

pub fn one_has_left_and_one_computes(universe: &Universe) {
    let world = universe.world();
    match world.rank().0 {
        0 => world.barrier().unwrap(), // @left-while-computing
        1 => {}
        _ => std::thread::sleep(super::HANG),
    }
}

/// Every rank receives from the left before it sends to the right.
pub fn ring(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    win.wait_notify(0, 1).unwrap(); // @ring
    send(&win, (world.rank().0 + 1) % world.size());
}

pub fn start_on_itself(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "own"));
    win.start(&ranks(world, &[0])).unwrap(); // @own-start
}

pub fn lock_all_behind_a_lock(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Exclusive, Rank(1)).unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-lock
    } else {
        world.barrier().unwrap();
        win.lock_all().unwrap(); // @lock-all
    }
}

pub fn lock_behind_lock_all(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock_all().unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-lock-all
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Exclusive, Rank(0)).unwrap(); // @behind-lock-all
    }
}

pub fn lock_behind_shared(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Shared, Rank(0)).unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-shared
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Exclusive, Rank(0)).unwrap(); // @behind-shared
    }
}

pub fn lock_of_one_that_has_left(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Exclusive, Rank(1)).unwrap();
        world.barrier().unwrap();
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Shared, Rank(1)).unwrap(); // @left-with-lock
    }
}

pub fn mutex_held(universe: &Universe) {
    let world = universe.world();
    let mutex = WindowMutex::new(world, Rank(0)).unwrap();
    if world.rank() == 0 {
        let _held = mutex.lock().unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-mutex
    } else {
        world.barrier().unwrap();
        drop(mutex.lock().unwrap()); // @mutex
    }
}

pub fn queue_empty(universe: &Universe) {
    let queue = WindowQueue::<u64>::new(universe.world(), Rank(0), 4).unwrap();
    queue.pop().map(drop).unwrap(); // @pop
}

pub fn group_incomplete(universe: &Universe) {
    let world = universe.world();
    let all = ranks(world, &[0, 1]);
    match world.rank().0 {
        0 => drop(world.create_group(&all, 7).unwrap()), // @create-group
        _ => world.barrier().unwrap(),                   // @no-create-group
    }
}

pub fn window_freed_by_one(universe: &Universe) {
    let world = universe.world();
    let (win, other) = (window(world, "w"), world.dup().unwrap());
    match world.rank().0 {
        0 => win.free().unwrap(),      // @free
        _ => other.barrier().unwrap(), // @not-freed
    }
}

pub fn two_communicators(universe: &Universe) {
    let world = universe.world();
    let (one, other) = (world.dup().unwrap(), world.dup().unwrap());
    match world.rank().0 % 2 {
        0 => one.barrier().unwrap(),   // @one-comm
        _ => other.barrier().unwrap(), // @other-comm
    }
}

/// Two ranks that have survived a third wait for each other.
pub fn survivors(universe: &Universe) {
    let world = universe.world();
    let (one, other) = (ranks(world, &[0, 1]), ranks(world, &[0, 1]));
    if world.rank() == 2 {
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    let one = world.create_group(&one, 1).unwrap();
    let other = world.create_group(&other, 2).unwrap();
    match world.rank().0 {
        0 => one.barrier().unwrap(),   // @one-survivor
        _ => other.barrier().unwrap(), // @other-survivor
    }
}

/// MPI-2.2 Example 3.7: each receives before it sends.
pub fn receive_from_each_other(universe: &Universe) {
    let world = universe.world();
    let other = Rank(1 - world.rank().0);
    world.recv(&mut [0u8], other, 5).unwrap(); // @recv-first
    world.send(&[0u8], other, 5).unwrap();
}

/// MPI-2.2 Example 3.8, with messages that are too long for a block.
pub fn send_to_each_other(universe: &Universe) {
    let world = universe.world();
    let other = Rank(1 - world.rank().0);
    world.send(&vec![0u8; 2 << 20], other, 2).unwrap(); // @send-first
    world.recv(&mut vec![0u8; 2 << 20], other, 2).unwrap();
}

/// No rank sends; one waits for any rank, one elsewhere with a receive posted, one has left.
pub fn receive_from_no_rank(universe: &Universe) {
    let world = universe.world();
    match world.rank().0 {
        0 => drop(world.probe(onesided::Source::Any, onesided::Tag::Any)), // @probe-any
        1 => {
            let receive = world.irecv(vec![0u8], Rank(0), 0).unwrap();
            world.barrier().unwrap(); // @barrier-posted
            drop(receive);
        }
        _ => {}
    }
}

/// The rank that should send has left.
pub fn receive_from_who_left(universe: &Universe) {
    let world = universe.world();
    match world.rank().0 {
        0 => drop(world.recv(&mut [0u8], Rank(1), onesided::Tag::Any)), // @recv-left
        1 => {}
        _ => std::thread::sleep(std::time::Duration::from_secs(3600)),
    }
}
