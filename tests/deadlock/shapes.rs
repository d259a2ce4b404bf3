//! Programs that deadlock, each as short as it can be.

use super::Shape;
use onesided::engine::Win;
use onesided::{Comm, FenceAssert, Group, LockAssert, LockType, Op, PostAssert, Rank, StartAssert};
use onesided::{Universe, Until, Window, WindowMutex, WindowOptions, WindowQueue};
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
    win.lock(LockType::Shared, Rank(to), LockAssert::NONE).unwrap();
    win.notify(Rank(to), 0).unwrap();
    win.unlock(Rank(to)).unwrap();
}

/// MPI-2.2 Figure 11.7: the receive stands before the complete.
fn figure_11_7(universe: &Universe) {
    let world = universe.world();
    let (win, mail) = (window(world, "data"), window(world, "mail"));
    if world.rank() == 0 {
        win.start(&ranks(world, &[1]), StartAssert::NONE).unwrap();
        win.put(&[1u64], Rank(1), 0).unwrap();
        mail.wait_notify(0, 1).unwrap(); // @receive
        win.complete().unwrap();
    } else {
        win.post(&ranks(world, &[0]), PostAssert::NONE).unwrap();
        win.wait().unwrap(); // @wait-117
        send(&mail, 0);
    }
}

/// MPI-2.2 §11.7.2: "the order of the post and start calls is reversed, at each process".
fn start_before_post(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    let other = ranks(world, &[1 - world.rank()]);
    let (mut access, mut exposure) = window.sides();
    let epoch = access.start(&other, StartAssert::NONE).unwrap(); // @start-first
    let exposed = exposure.post(&other, PostAssert::NONE).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
}

/// The same place: "if the order of the complete and wait calls is reversed, at each process".
fn wait_before_complete(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    let other = ranks(world, &[1 - world.rank()]);
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&other, PostAssert::NONE).unwrap();
    let epoch = access.start(&other, StartAssert::NONE).unwrap();
    exposed.wait().unwrap(); // @wait-first
    epoch.complete().unwrap();
}

/// Every rank locks its own part, then the next one's.
fn lock_order(universe: &Universe) {
    let world = universe.world();
    let window: Window<u64> = WindowOptions::new().name("forks").allocate(world, 1).unwrap();
    let (own, next) = (world.rank(), (world.rank() + 1) % world.size());
    let first = window.lock(LockType::Exclusive, Rank(own), LockAssert::NONE).unwrap();
    world.barrier().unwrap();
    let _second = window.lock(LockType::Exclusive, Rank(next), LockAssert::NONE).unwrap(); // @fork
    first.unlock().unwrap();
}

fn origin_that_is_not_asked(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank() {
        0 => {
            win.post(&ranks(world, &[1, 2]), PostAssert::NONE).unwrap();
            win.wait().unwrap(); // @two-origins
        }
        1 => {
            win.start(&ranks(world, &[0]), StartAssert::NONE).unwrap();
            win.complete().unwrap();
        }
        _ => {}
    }
    world.barrier().unwrap(); // @groups-barrier
}

fn target_that_posts_for_another(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank() {
        0 => win.start(&ranks(world, &[1]), StartAssert::NONE).unwrap(), // @not-posted-for
        1 => {
            win.post(&ranks(world, &[2]), PostAssert::NONE).unwrap();
            win.wait().unwrap(); // @posted-for-2
        }
        _ => world.barrier().unwrap(), // @third
    }
}

fn missing_unlock(universe: &Universe) {
    let world = universe.world();
    let window: Window<u64> = WindowOptions::new().name("w").allocate(world, 1).unwrap();
    let lock = || window.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap(); // @lock-held
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

fn fence_by_some(universe: &Universe) {
    let world = universe.world();
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    if world.rank() == 2 {
        world.barrier().unwrap(); // @no-fence
    } else {
        window.fence(FenceAssert::NONE).unwrap().close(FenceAssert::NONE).unwrap(); // @some-fence
    }
}

fn collective_against_fence(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    match world.rank() {
        0 => drop(world.allreduce(&[1u64], Op::Sum).unwrap()), // @allreduce
        _ => win.fence(FenceAssert::NONE).unwrap(),            // @fence-against
    }
}

fn origin_that_has_left(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.post(&ranks(world, &[1]), PostAssert::NONE).unwrap();
        win.wait().unwrap(); // @no-complete
    }
}

fn too_few_notifications(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    match world.rank() {
        0 => win.wait_notify(0, 3).unwrap(), // @three-notifications
        _ => {
            (0..2).for_each(|_| send(&win, 0));
            world.barrier().unwrap(); // @two-sent
        }
    }
}

fn never_written(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "flag"));
    win.wait_until(world.rank().into(), Until::Ne, 0u64).map(drop).unwrap(); // @never-written
}

fn one_has_left(universe: &Universe) {
    let world = universe.world();
    if world.rank() != 1 {
        world.barrier().unwrap(); // @one-has-left
    }
}

fn one_has_left_and_one_computes(universe: &Universe) {
    let world = universe.world();
    match world.rank() {
        0 => world.barrier().unwrap(), // @left-while-computing
        1 => {}
        _ => std::thread::sleep(super::HANG),
    }
}

/// Everybody receives from the left before it sends to the right.
fn ring(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    win.wait_notify(0, 1).unwrap(); // @ring
    send(&win, (world.rank() + 1) % world.size());
}

fn start_on_itself(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "own"));
    win.start(&ranks(world, &[0]), StartAssert::NONE).unwrap(); // @own-start
}

fn lock_all_behind_a_lock(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Exclusive, Rank(1), LockAssert::NONE).unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-lock
    } else {
        world.barrier().unwrap();
        win.lock_all(LockAssert::NONE).unwrap(); // @lock-all
    }
}

fn lock_behind_lock_all(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock_all(LockAssert::NONE).unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-lock-all
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap(); // @behind-lock-all
    }
}

fn lock_behind_shared(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Shared, Rank(0), LockAssert::NONE).unwrap();
        world.barrier().unwrap();
        world.barrier().unwrap(); // @holds-shared
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap(); // @behind-shared
    }
}

fn lock_of_one_that_has_left(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.lock(LockType::Exclusive, Rank(1), LockAssert::NONE).unwrap();
        world.barrier().unwrap();
    } else {
        world.barrier().unwrap();
        win.lock(LockType::Shared, Rank(1), LockAssert::NONE).unwrap(); // @left-with-lock
    }
}

fn mutex_held(universe: &Universe) {
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

fn queue_empty(universe: &Universe) {
    let queue = WindowQueue::<u64>::new(universe.world(), Rank(0), 4).unwrap();
    queue.pop().map(drop).unwrap(); // @pop
}

fn group_incomplete(universe: &Universe) {
    let world = universe.world();
    let all = ranks(world, &[0, 1]);
    match world.rank() {
        0 => drop(world.create_group(&all, 7).unwrap()), // @create-group
        _ => world.barrier().unwrap(),                   // @no-create-group
    }
}

fn window_freed_by_one(universe: &Universe) {
    let world = universe.world();
    let (win, other) = (window(world, "w"), world.dup().unwrap());
    match world.rank() {
        0 => win.free().unwrap(),      // @free
        _ => other.barrier().unwrap(), // @not-freed
    }
}

fn two_communicators(universe: &Universe) {
    let world = universe.world();
    let (one, other) = (world.dup().unwrap(), world.dup().unwrap());
    match world.rank() % 2 {
        0 => one.barrier().unwrap(),   // @one-comm
        _ => other.barrier().unwrap(), // @other-comm
    }
}

/// Two ranks that have survived a third wait for each other.
fn survivors(universe: &Universe) {
    let world = universe.world();
    let (one, other) = (ranks(world, &[0, 1]), ranks(world, &[0, 1]));
    if world.rank() == 2 {
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    let one = world.create_group(&one, 1).unwrap();
    let other = world.create_group(&other, 2).unwrap();
    match world.rank() {
        0 => one.barrier().unwrap(),   // @one-survivor
        _ => other.barrier().unwrap(), // @other-survivor
    }
}

const END: i32 = 123;

const fn shape(
    name: &'static str,
    ranks: u32,
    body: fn(&Universe),
    says: &'static [&'static str],
) -> Shape {
    Shape { name, ranks, options: &[], body, code: END, says }
}

const PAIR: &str =
    "deadlock: rank 0 waits for rank 1, which waits for rank 0; job ended, exit code 123";
const ALL_TWO: &str =
    "deadlock: all 2 ranks wait, and none can be woken by another; job ended, exit code 123";

pub const SHAPES: &[Shape] = &[
    shape(
        "figure_11_7",
        2,
        figure_11_7,
        &[
            ALL_TWO,
            "rank 0 in wait_notify on window 'mail' waits for 1 notification of counter 0, \
         of which 0 have come (@receive)",
            "rank 1 in wait on window 'data' waits for a complete by rank 0 (@wait-117)",
        ],
    ),
    shape(
        "start_before_post",
        2,
        start_before_post,
        &[
            PAIR,
            "rank 0 in start on window 'halo' waits for a post by rank 1 (@start-first)",
            "rank 1 in start on window 'halo' waits for a post by rank 0 (@start-first)",
        ],
    ),
    shape(
        "wait_before_complete",
        2,
        wait_before_complete,
        &[
            PAIR,
            "rank 0 in wait on window 'halo' waits for a complete by rank 1 (@wait-first)",
            "rank 1 in wait on window 'halo' waits for a complete by rank 0 (@wait-first)",
        ],
    ),
    shape(
        "lock_order_of_two",
        2,
        lock_order,
        &[
            PAIR,
            "rank 0 in lock on window 'forks' waits for the lock of rank 1, held exclusively by rank 1 \
         (@fork)",
            "rank 1 in lock on window 'forks' waits for the lock of rank 0, held exclusively by rank 0 \
         (@fork)",
        ],
    ),
    shape(
        "lock_order_of_three",
        3,
        lock_order,
        &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0; job \
         ended, exit code 123",
            "rank 0 in lock on window 'forks' waits for the lock of rank 1, held exclusively by rank 1 \
         (@fork)",
            "rank 1 in lock on window 'forks' waits for the lock of rank 2, held exclusively by rank 2 \
         (@fork)",
            "rank 2 in lock on window 'forks' waits for the lock of rank 0, held exclusively by rank 0 \
         (@fork)",
        ],
    ),
    shape(
        "origin_that_is_not_asked",
        3,
        origin_that_is_not_asked,
        &[
            "deadlock: all 3 ranks wait, and none can be woken by another; job ended, exit code 123",
            "rank 0 in wait on window 'w' waits for 1 of 2 completes, by ranks 1 and 2 (@two-origins)",
            "ranks 1 and 2 in barrier wait for rank 0 to arrive (@groups-barrier)",
        ],
    ),
    shape(
        "target_that_posts_for_another",
        3,
        target_that_posts_for_another,
        &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0; job \
         ended, exit code 123",
            "rank 0 in start on window 'w' waits for a post by rank 1 (@not-posted-for)",
            "rank 1 in wait on window 'w' waits for a complete by rank 2 (@posted-for-2)",
            "rank 2 in barrier waits for ranks 0 and 1 to arrive (@third)",
        ],
    ),
    shape(
        "missing_unlock",
        2,
        missing_unlock,
        &[
            PAIR,
            "rank 0 in barrier waits for rank 1 to arrive (@still-locked)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held exclusively by rank 0 \
         (@lock-held)",
        ],
    ),
    shape(
        "fence_by_some",
        3,
        fence_by_some,
        &[
            "deadlock: rank 0 waits for rank 2, which waits for rank 0; job ended, exit code 123",
            "ranks 0 and 1 in fence on window 'halo' wait for rank 2 to arrive (@some-fence)",
            "rank 2 in barrier waits for ranks 0 and 1 to arrive (@no-fence)",
        ],
    ),
    shape(
        "collective_against_fence",
        2,
        collective_against_fence,
        &[
            PAIR,
            "rank 0 in allreduce waits for rank 1 to arrive (@allreduce)",
            "rank 1 in fence on window 'w' waits for rank 0 to arrive (@fence-against)",
        ],
    ),
    shape(
        "origin_that_has_left",
        2,
        origin_that_has_left,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "rank 0 in wait on window 'w' waits for a complete by rank 1, which has left the job \
         (@no-complete)",
        ],
    ),
    shape(
        "too_few_notifications",
        2,
        too_few_notifications,
        &[
            ALL_TWO,
            "rank 0 in wait_notify on window 'mail' waits for 3 notifications of counter 0, \
         of which 2 have come (@three-notifications)",
            "rank 1 in barrier waits for rank 0 to arrive (@two-sent)",
        ],
    ),
    shape(
        "never_written",
        2,
        never_written,
        &[
            ALL_TWO,
            "rank 0 in wait_until on window 'flag' waits for a write to displacement 0 of the \
         part of rank 0 (@never-written)",
            "rank 1 in wait_until on window 'flag' waits for a write to displacement 1 of the \
         part of rank 1 (@never-written)",
        ],
    ),
    shape(
        "one_has_left",
        4,
        one_has_left,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "ranks 0, 2 and 3 in barrier wait for rank 1, which has left the job (@one-has-left)",
        ],
    ),
    shape(
        "one_has_left_and_one_computes",
        3,
        one_has_left_and_one_computes,
        &[
            "deadlock: rank 0 waits for rank 1, which has left the job; job ended, exit code 123",
            "rank 0 in barrier waits for ranks 1 and 2 to arrive, of which rank 1 has left the job \
         (@left-while-computing)",
        ],
    ),
    shape(
        "ring",
        4,
        ring,
        &[
            "deadlock: all 4 ranks wait, and none can be woken by another; job ended, exit code 123",
            "ranks 0-3 in wait_notify on window 'mail' wait for 1 notification of counter 0, \
         of which 0 have come (@ring)",
        ],
    ),
    shape(
        "start_on_itself",
        1,
        start_on_itself,
        &[
            "deadlock: rank 0 waits for itself; job ended, exit code 123",
            "rank 0 in start on window 'own' waits for a post by rank 0 (@own-start)",
        ],
    ),
    shape(
        "lock_all_behind_a_lock",
        2,
        lock_all_behind_a_lock,
        &[
            PAIR,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-lock)",
            "rank 1 in lock_all on window 'w' waits for a lock held exclusively by rank 0 (@lock-all)",
        ],
    ),
    shape(
        "lock_behind_lock_all",
        2,
        lock_behind_lock_all,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-lock-all)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held by others in lock_all \
         (@behind-lock-all)",
        ],
    ),
    shape(
        "lock_behind_shared",
        2,
        lock_behind_shared,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-shared)",
            "rank 1 in lock on window 'w' waits for the lock of rank 0, held by others (@behind-shared)",
        ],
    ),
    shape(
        "lock_of_one_that_has_left",
        2,
        lock_of_one_that_has_left,
        &[
            "deadlock: rank 1 waits for rank 0, which has left the job; job ended, exit code 123",
            "rank 1 in lock on window 'w' waits for the lock of rank 1, held exclusively by rank 0, \
         which has left the job (@left-with-lock)",
        ],
    ),
    shape(
        "mutex_held",
        2,
        mutex_held,
        &[
            ALL_TWO,
            "rank 0 in barrier waits for rank 1 to arrive (@holds-mutex)",
            "rank 1 in mutex lock on window 'mutex' waits for its turn (@mutex)",
        ],
    ),
    shape(
        "queue_empty",
        2,
        queue_empty,
        &[ALL_TWO, "ranks 0 and 1 in queue pop on window 'queue' wait for an item (@pop)"],
    ),
    shape(
        "group_incomplete",
        2,
        group_incomplete,
        &[
            PAIR,
            "rank 0 in communicator create_group waits for rank 1 to arrive (@create-group)",
            "rank 1 in barrier waits for rank 0 to arrive (@no-create-group)",
        ],
    ),
    shape(
        "window_freed_by_one",
        2,
        window_freed_by_one,
        &[
            PAIR,
            "rank 0 in window free on window 'w' waits for rank 1 to arrive (@free)",
            "rank 1 in barrier waits for rank 0 to arrive (@not-freed)",
        ],
    ),
    Shape {
        options: &["--on-failure=continue"],
        ..shape(
            "survivors",
            3,
            survivors,
            &[
                "rank 2 (* was killed by signal 9 (SIGKILL) outside the library; the others go on",
                PAIR,
                "rank 0 in barrier waits for rank 1 to arrive (@one-survivor)",
                "rank 1 in barrier waits for rank 0 to arrive (@other-survivor)",
            ],
        )
    },
    shape(
        "two_communicators",
        4,
        two_communicators,
        &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 0; job ended, exit code 123",
            "ranks 0 and 2 in barrier wait for ranks 1 and 3 to arrive (@one-comm)",
            "ranks 1 and 3 in barrier wait for ranks 0 and 2 to arrive (@other-comm)",
        ],
    ),
];
