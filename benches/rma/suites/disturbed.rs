//! What two ranks take to synchronise in the ten milliseconds after something has disturbed them: the start
//! of the job, a rank that sleeps, a burst of other processes, a rank that is stopped and continued.
//!
//! Ranks run where the launcher and the kernel put them. A job gives one sample of each row, so that the
//! samples of a row are of as many starts.

use super::{epochs, messages};
use crate::freed::Freed;
use crate::machine::{self, BusyProcesses};
use crate::measure::{self, Case};
use crate::pages::Pages;
use crate::{Options, limits, report};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onesided::{Access, Comm, Rank, Window};
use std::time::{Duration, Instant};

/// How long is measured after a disturbance.
const WINDOW: Duration = Duration::from_millis(10);
/// How long ranks go on before they count as undisturbed.
const CALM: Duration = Duration::from_millis(300);
/// How long a rank is away.
const ASLEEP: Duration = Duration::from_secs(1);
const STOPPED: Duration = Duration::from_millis(50);
/// How long other processes compute.
const BURST: Duration = Duration::from_millis(100);

/// What the machine itself takes between the two processors that the ranks are on, measured behind each window:
/// how far from each other they are may change on a virtual machine.
const LIMIT: &str = "limit: cache line there and back, where the ranks are";
const WAYS: u32 = 2000;

/// What is done to the ranks before a window, in the order of a job.
const DISTURBANCES: [Disturbance; 5] = [
    ("start of the job", |_| {}),
    (UNDISTURBED, |_| {}),
    ("a rank asleep for 1 s", asleep),
    ("a burst of busy processes", burst),
    ("a rank stopped and continued", stopped),
];
type Disturbance = (&'static str, fn(&Comm));
const UNDISTURBED: &str = "undisturbed";

/// The name of a row.
fn name(operation: &str, after: &str) -> String {
    format!("{operation}, {after}")
}

pub fn run(world: &Comm, options: &Options) {
    let window = || Freed::new(Window::<u64>::allocate(world, 512));
    let barrier = |n| (0..n).for_each(|_| world.barrier().expect("barrier"));
    let cases = [
        put_and_fence(world, window()),
        epochs::ring(world, window()),
        Case::new("barrier", 0, barrier),
        messages::short(world),
        epochs::notified(world),
    ];
    let plain = window();
    let pages = Pages::locate(world, &plain, 0);
    for mut case in cases.into_iter().filter(|case| options.wants(case.what())) {
        for (after, disturb) in DISTURBANCES {
            if after == UNDISTURBED {
                case.samples_for(world, CALM);
            }
            disturb(world);
            let samples = case.samples_for(world, WINDOW);
            let limit =
                if after == UNDISTURBED { String::new() } else { name(case.what(), UNDISTURBED) };
            let began = Instant::now();
            limits::ping_pong(pages, world.rank() == 0, WAYS);
            let way = began.elapsed().as_nanos() as f64 / f64::from(WAYS);
            if world.rank() == 0 {
                measure::print(LIMIT, "", world.size(), 0, &[way]);
                let row = report::Row::new("", "", 0, 0, samples);
                measure::print(&name(case.what(), after), &limit, world.size(), 0, &[row.median()]);
            }
        }
    }
}

/// 8 bytes to the other rank, and a fence.
fn put_and_fence<'a>(world: &Comm, mut window: Freed<Window<u64>>) -> Case<'a> {
    let (other, value) = (Rank(1 - world.rank().0), [1]);
    let run = move |n| {
        let mut epoch = window.fence().expect("fence");
        for _ in 1..n {
            epoch.put(&value, other, 0).expect("put");
            epoch = epoch.fence().expect("fence");
        }
        epoch.close().expect("fence");
    };
    Case::new("put + fence", 8, run)
}

/// Rank 1 sleeps; the other waits for it.
fn asleep(world: &Comm) {
    if world.rank() == 1 {
        machine::sleep(ASLEEP);
    }
    world.barrier().expect("barrier");
}

/// Other processes keep all processors busy for a while, and are gone.
fn burst(world: &Comm) {
    if world.rank() == 0 {
        let busy = BusyProcesses::start();
        machine::sleep(BURST);
        drop(busy);
    }
    world.barrier().expect("barrier");
}

/// Rank 1 is stopped while it waits, and continued.
fn stopped(world: &Comm) {
    let mut process = [std::process::id()];
    world.broadcast(&mut process, Rank(1)).expect("broadcast");
    if world.rank() == 0 {
        let process = Pid::from_raw(process[0] as i32);
        kill(process, Signal::SIGSTOP).expect("the other rank runs");
        machine::sleep(STOPPED);
        kill(process, Signal::SIGCONT).expect("the other rank is stopped");
    }
    world.barrier().expect("barrier");
}
