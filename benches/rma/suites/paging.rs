//! What the info keys for the pages of a window do (`onesided_populate`, `onesided_huge_pages`): rank 0
//! puts to the part of rank 1.

use crate::Options;
use crate::freed::Freed;
use crate::measure::{Case, measure};
use onesided::{Access, Comm, Info, Rank, Window, WindowOptions};
use std::hint::black_box;

const TARGET: Rank = Rank(1);
const BYTES: usize = 64 << 20;
const WORDS: usize = BYTES / 8;
/// An odd number of words apart, so that neither the processor nor a page keeps what comes next.
const STRIDE: usize = 1_000_003;

/// A set of keys, the row of the first puts, that of puts all over the part.
const SETTINGS: [(&[&str], &str, &str); 4] = [
    (&[], "allocate, put to each page, free", "put all over the part"),
    (
        &["onesided_populate"],
        "allocate, put to each page, free: populated",
        "put all over the part: populated",
    ),
    (
        &["onesided_huge_pages"],
        "allocate, put to each page, free: huge pages",
        "put all over the part: huge pages",
    ),
    (
        &["onesided_huge_pages", "onesided_populate"],
        "allocate, put to each page, free: both",
        "put all over the part: both",
    ),
];

pub fn run(world: &Comm, options: &Options) {
    let first = SETTINGS.iter().map(|(keys, first, _)| {
        let run = move |n| (0..n).for_each(|_| touch(world, new(world, keys)));
        Case::new(first, BYTES as u64, run)
    });
    measure(Some(world), world.size(), first.collect(), options);
    let mut windows: Vec<Freed<Window<u64>>> =
        SETTINGS.iter().map(|(keys, ..)| new(world, keys)).collect();
    if world.rank() == 0 {
        for (window, (keys, _, all_over)) in windows.iter().zip(&SETTINGS) {
            // The kernel may have huge pages for shared memory switched off.
            let refused = keys.iter().filter(|key| window.info().get(key) != Some("true"));
            refused.for_each(|key| eprintln!("paging: {all_over}: the kernel does not do {key}"));
        }
        let cases = windows.iter_mut().zip(SETTINGS).map(|(window, (.., what))| {
            let mut at = 0;
            Case::new(what, 8, move |n| at = all_over(window, at, n))
        });
        measure(None, world.size(), cases.collect(), options);
    }
}

fn new(world: &Comm, keys: &[&str]) -> Freed<Window<u64>> {
    let mut info = Info::new();
    keys.iter().for_each(|key| info.set(key, "true").expect("a legal key"));
    Freed::new(WindowOptions::new().info(&info).allocate(world, WORDS))
}

/// Rank 0 puts a word to each page of the part of rank 1.
fn touch(world: &Comm, mut window: Freed<Window<u64>>) {
    const PAGE: usize = 4096 / 8;
    if world.rank() == 0 {
        let epoch = window.lock_all().expect("no rank holds a lock");
        let batch = epoch.batch();
        for at in (0..WORDS).step_by(PAGE) {
            batch.put(black_box(&[1]), TARGET, at).expect("put");
        }
        drop(batch);
        epoch.unlock_all().expect("the epoch is open");
    }
}

/// Puts words far from one another, from word `at` on; where the next would go.
fn all_over(window: &mut Window<u64>, mut at: usize, n: u32) -> usize {
    let epoch = window.lock_all().expect("no rank holds a lock");
    let batch = epoch.batch();
    for _ in 0..n {
        batch.put(black_box(&[1]), TARGET, at).expect("put");
        at = (at + STRIDE) % WORDS;
    }
    drop(batch);
    epoch.unlock_all().expect("the epoch is open");
    at
}
