//! Our lock against pthread's: the same random sections, the same outcome.
//!
//! Every rank runs the same random sequence of shared and exclusive sections once under
//! [`Window::lock`] and once under a process-shared `pthread_rwlock` (raw_sync). What the lock
//! protects is a record of equal words in rank 0's window, reached by put and get both times.
#![allow(unsafe_code, reason = "maps a file and places a pthread lock in it")]

use crate::support::spmd;
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::memfd::{MFdFlags, memfd_create};
use onesided::{Comm, LockAssert, LockType, Rank, Window};
use raw_sync::locks::{LockImpl, LockInit, RwLock};
use std::fs::File;
use std::os::fd::AsRawFd;

const OWNER: Rank = Rank(0);
const SECTIONS: usize = 400;
const WORDS: usize = 8;

/// One critical section of one rank.
#[derive(Clone, Copy)]
struct Section {
    kind: LockType,
    /// Whether it gives its processor away in the middle, so that a lock that fails to keep the
    /// others out is found out.
    pauses: bool,
}

/// The sections of one rank: an xorshift sequence, so that a failure can be repeated.
fn sections(seed: u64, rank: u32) -> Vec<Section> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(rank) + 1);
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut section = || {
        let drawn = draw() >> 32;
        let kind = if drawn.is_multiple_of(3) { LockType::Exclusive } else { LockType::Shared };
        Section { kind, pauses: drawn & 0x70 == 0 }
    };
    (0..SECTIONS).map(|_| section()).collect()
}

/// The record as one section sees and changes it: `get` and `put` move word `i`.
fn inside(section: Section, get: &dyn Fn(usize) -> u64, put: &dyn Fn(usize, u64)) {
    let first = get(0);
    for i in 0..WORDS {
        if section.pauses && i == WORDS / 2 {
            std::thread::yield_now();
        }
        assert_eq!(get(i), first, "a torn record: word {i} differs from word 0");
        if section.kind == LockType::Exclusive && i > 0 {
            put(i, first + 1);
        }
    }
    if section.kind == LockType::Exclusive {
        assert_eq!(get(0), first, "somebody else was inside");
        put(0, first + 1);
    }
}

/// Runs the sections under our lock; the record's counter at the end.
fn by_window_lock(world: &Comm, sections: &[Section]) -> u64 {
    let window = Window::<u64>::allocate(world, WORDS).unwrap();
    for section in sections {
        let epoch = window.lock(section.kind, OWNER, LockAssert::NONE).unwrap();
        let get = |i: usize| {
            let mut word = [0];
            let batch = epoch.batch();
            batch.get(&mut word, i as u64).unwrap();
            batch.flush().unwrap();
            word[0]
        };
        let put = |i: usize, value| {
            let word = [value];
            let batch = epoch.batch();
            batch.put(&word, i as u64).unwrap();
            batch.flush().unwrap();
        };
        inside(*section, &get, &put);
        epoch.unlock().unwrap();
    }
    counter(world, window)
}

/// Runs the sections under pthread's lock, inside one lock_all epoch that orders nothing.
fn by_pthread_lock(world: &Comm, sections: &[Section], lock: &dyn LockImpl) -> u64 {
    let mut window = Window::<u64>::allocate(world, WORDS).unwrap();
    let epoch = window.lock_all(LockAssert::NONE).unwrap();
    let get = |i: usize| {
        let mut word = [0];
        epoch.get_flush(&mut word, OWNER, i as u64).unwrap();
        word[0]
    };
    let put = |i: usize, value| epoch.put_flush(&[value], OWNER, i as u64).unwrap();
    for section in sections {
        match section.kind {
            LockType::Exclusive => {
                let _held = lock.lock().unwrap();
                inside(*section, &get, &put);
            }
            LockType::Shared => {
                let _held = lock.rlock().unwrap();
                inside(*section, &get, &put);
            }
        }
    }
    epoch.unlock_all().unwrap();
    counter(world, window)
}

/// Word 0 of the record once every rank is done.
fn counter(world: &Comm, window: Window<u64>) -> u64 {
    world.barrier().unwrap();
    let mut value = [window.load_one(0).unwrap()];
    world.broadcast(&mut value, OWNER).unwrap();
    window.free().unwrap();
    value[0]
}

/// A page that all ranks map: rank 0's memory file, opened by the others through /proc.
fn shared_page(world: &Comm) -> MmapRaw {
    let mut whose = [0u64; 2];
    let made = (world.rank() == 0).then(|| {
        let file = File::from(memfd_create(c"pthread", MFdFlags::MFD_CLOEXEC).unwrap());
        file.set_len(4096).unwrap();
        whose = [u64::from(std::process::id()), file.as_raw_fd() as u64];
        file
    });
    world.broadcast(&mut whose, OWNER).unwrap();
    let [pid, fd] = whose;
    let file = made.unwrap_or_else(|| {
        let path = format!("/proc/{pid}/fd/{fd}");
        File::options().read(true).write(true).open(path).unwrap()
    });
    let map = MmapOptions::new().len(4096).map_raw(&file).unwrap();
    // Rank 0's descriptor must outlive the others' opening.
    world.barrier().unwrap();
    map
}

/// The pthread lock at the start of the page, made by rank 0.
fn pthread_lock(world: &Comm, page: &MmapRaw) -> Box<dyn LockImpl> {
    let (at, data) = (page.as_mut_ptr(), std::ptr::null_mut());
    assert!(RwLock::size_of(Some(at)) <= page.len());
    // SAFETY: the page is mapped, writable and long enough, and holds nothing else.
    let made = (world.rank() == 0).then(|| unsafe { RwLock::new(at, data) }.unwrap().0);
    world.barrier().unwrap();
    made.unwrap_or_else(|| {
        // SAFETY: as above, and rank 0 has made the lock.
        unsafe { RwLock::from_existing(at, data) }.unwrap().0
    })
}

fn both_agree(world: &Comm) {
    let page = shared_page(world);
    let lock = pthread_lock(world, &page);
    for seed in 1..=5 {
        let mine = sections(seed, world.rank());
        let exclusive = (0..world.size())
            .flat_map(|rank| sections(seed, rank))
            .filter(|section| section.kind == LockType::Exclusive)
            .count() as u64;
        assert_eq!(by_window_lock(world, &mine), exclusive, "window lock, seed {seed}");
        assert_eq!(by_pthread_lock(world, &mine, &*lock), exclusive, "pthread, seed {seed}");
    }
    drop(lock);
    world.barrier().unwrap();
}

#[test]
fn one_rank_alone() {
    spmd(1, both_agree);
}

#[test]
fn two_ranks() {
    spmd(2, both_agree);
}

#[test]
fn four_ranks() {
    spmd(4, both_agree);
}

#[test]
fn nine_ranks() {
    spmd(9, both_agree);
}
