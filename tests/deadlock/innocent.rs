//! Programs that look like a deadlock for a while, or may not be ended for one.

use super::Shape;
use super::programs::{ranks, send, window};
use nix::libc::c_int;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, fork};
use onesided::engine::Win;
use onesided::{LockType, Rank, Universe, Until};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_millis(1500);

fn asleep_outside(universe: &Universe) {
    if universe.world().rank() == 1 {
        sleep(LONG);
    }
    universe.world().barrier().unwrap();
}

fn another_thread_posts(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    if world.rank() == 0 {
        win.start(&ranks(world, &[1])).unwrap();
        win.complete().unwrap();
        return world.barrier().unwrap();
    }
    scope(|threads| {
        threads.spawn(|| {
            sleep(LONG);
            win.post(&ranks(world, &[0])).unwrap();
            win.wait().unwrap();
        });
        world.barrier().unwrap();
    });
}

/// Stopped while it sleeps in a wait that is over.
fn stopped(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    let mut shell = None;
    if world.rank() == 1 {
        let pid = std::process::id();
        let script = format!("sleep 0.5; kill -STOP {pid}; sleep 2; kill -CONT {pid}");
        shell = Some(Command::new("sh").args(["-c", &script]).spawn().unwrap());
        win.wait_notify(0, 1).unwrap();
    } else {
        sleep(Duration::from_secs(1));
        send(&win, 1);
    }
    world.barrier().unwrap();
    if let Some(mut shell) = shell {
        shell.wait().unwrap();
    }
}

fn polls(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    if world.rank() == 1 {
        let begin = Instant::now();
        while begin.elapsed() < LONG {
            assert!(!win.test_notify(0, 1).unwrap());
            std::thread::yield_now();
        }
    }
    world.barrier().unwrap();
}

/// A child process of a rank goes on: calls that synchronise are refused to it, but operations in an
/// epoch that was open are not looked at so closely.
#[allow(unsafe_code, reason = "forks")]
fn forked(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    if world.rank() == 1 {
        win.wait_notify(0, 1).unwrap();
        return world.barrier().unwrap();
    }
    win.lock_all().unwrap();
    // SAFETY: the rank has one thread; the child calls the library, sleeps and ends.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => {
            world.barrier().unwrap();
            nix::sys::wait::waitpid(child, None).unwrap();
            win.unlock_all().unwrap();
        }
        ForkResult::Child => {
            sleep(LONG);
            win.notify(Rank(1), 0).unwrap();
            nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
        }
    }
}

/// Ranks take turns to wait for each other, sleeping a little outside in between.
fn slow_ping_pong(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "mail"));
    for turn in 0..8 {
        if turn % 2 == world.rank().0 {
            sleep(Duration::from_millis(220));
            send(&win, 1 - world.rank().0);
        } else {
            win.wait_notify(0, 1).unwrap();
        }
    }
}

/// Two readers and a writer behind which they queue, who all get it in the end.
fn slow_locks(universe: &Universe) {
    let (world, win) = (universe.world(), window(universe.world(), "w"));
    for turn in 0..6 {
        let kind = if turn % 2 == 0 { LockType::Exclusive } else { LockType::Shared };
        win.lock(kind, Rank(0)).unwrap();
        sleep(Duration::from_millis(60));
        win.unlock(Rank(0)).unwrap();
    }
    world.barrier().unwrap();
}

/// Deadlocked until the alarm ends one of them.
fn deadlocked_with_an_alarm(universe: &Universe) {
    let world = universe.world();
    let other = world.dup().unwrap();
    if world.rank() == 1 {
        nix::unistd::alarm::set(2);
        other.barrier().unwrap(); // @alarm-other
    } else {
        world.barrier().unwrap(); // @alarm-world
    }
}

fn waits_for_an_outsider(universe: &Universe) {
    nix::unistd::alarm::set(2);
    let win = window(universe.world(), "flag");
    win.wait_until(0, Until::Ne, 0u64).map(drop).unwrap();
}

/// The window of the handler below.
static WIN: Mutex<Option<Arc<Win>>> = Mutex::new(None);

extern "C" fn notifies(_: c_int) {
    if let Some(win) = &*WIN.lock().unwrap() {
        let _ = win.notify(win.comm().rank(), 0);
    }
}

/// Every rank waits for an action of its own signal handler, which runs after some seconds.
#[allow(unsafe_code, reason = "installs the handler of a signal")]
fn woken_by_a_handler_after(universe: &Universe, seconds: u32) {
    let win = Arc::new(window(universe.world(), "mail"));
    *WIN.lock().unwrap() = Some(win.clone());
    win.lock_all().unwrap();
    // SAFETY: the rank has one thread; the handler runs while it waits, and notifies.
    unsafe { signal(Signal::SIGALRM, SigHandler::Handler(notifies)) }.unwrap();
    nix::unistd::alarm::set(seconds);
    win.wait_notify(0, 1).unwrap(); // @handler
    win.unlock_all().unwrap();
    *WIN.lock().unwrap() = None;
}

fn woken_by_a_handler(universe: &Universe) {
    woken_by_a_handler_after(universe, 2);
}

fn suspected(universe: &Universe) {
    woken_by_a_handler_after(universe, 14);
}

const fn shape(name: &'static str, ranks: u32, body: fn(&Universe)) -> Shape {
    Shape { name, ranks, options: &[], body, code: 0, expected: &[] }
}

pub const SHAPES: &[Shape] = &[
    shape("asleep_outside", 3, asleep_outside),
    shape("another_thread_posts", 2, another_thread_posts),
    shape("stopped", 2, stopped),
    shape("polls", 3, polls),
    shape("forked", 2, forked),
    shape("slow_ping_pong", 2, slow_ping_pong),
    shape("slow_locks", 3, slow_locks),
    shape("woken_by_a_handler", 2, woken_by_a_handler),
    Shape {
        expected: &[
            "deadlock suspected: all 2 ranks wait, and none can be woken by another; \
             only the handler of a signal could wake one; job goes on",
            "ranks 0 and 1 in wait_notify on window 'mail' wait for 1 notification of counter 0, \
             of which 0 have come (@handler)",
        ],
        ..shape("suspected", 2, suspected)
    },
    Shape {
        options: &["--deadlock=report"],
        code: 142,
        expected: &[
            "deadlock: rank 0 waits for rank 1, which waits for rank 0 (in different collectives); job goes on",
            "rank 0 in barrier waits for rank 1 to arrive (@alarm-world)",
            "rank 1 in barrier waits for rank 0 to arrive (@alarm-other)",
            "rank 1 (* was killed by signal 14 (SIGALRM) in barrier; job ended, exit code 142",
        ],
        ..shape("report_and_go_on", 2, deadlocked_with_an_alarm)
    },
    Shape {
        options: &["--segment=onesided-deadlock-outsider"],
        code: 142,
        expected: &[
            "rank 0 (* was killed by signal 14 (SIGALRM) in wait_until on window 'flag'; job ended, \
             exit code 142",
        ],
        ..shape("waits_for_an_outsider", 1, waits_for_an_outsider)
    },
];
