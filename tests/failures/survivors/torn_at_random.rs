//! Ranks that are killed at a random time while they write: what was not reported is whole.
//!
//! `ONESIDED_TORN_VICTIMS` is how many die in each job.

use crate::support;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onesided::engine::{ExposedBytes, Layout, Origin, Win};
use onesided::{Comm, Datatype, DerivedDatatype, Op, Rank, Torn, WindowOptions};
use std::time::{Duration, Instant};

/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;
/// The number of pieces that each victim writes in turn, the first one again after the last.
const PIECES: usize = 4;

/// Fillings of pieces: from 1 to this number, in turn. A zero has never been written.
const FILLINGS: usize = 251;

/// The filling that comes `steps` after `filling`.
fn later(filling: u8, steps: usize) -> u8 {
    ((usize::from(filling) - 1 + steps) % FILLINGS) as u8 + 1
}

/// Where in its window a victim writes.
#[derive(Clone, Copy, Debug)]
struct Place {
    target: Rank,
    /// The first byte.
    start: usize,
}

/// What the victims do with a piece full of a byte, again and again.
type Write = fn(&Win, &[u8], Place);

/// How many ranks die in a job.
#[allow(clippy::disallowed_methods, reason = "a longer run is asked for by hand")]
fn victims() -> u32 {
    std::env::var("ONESIDED_TORN_VICTIMS").map_or(5, |n| n.parse().expect("a number"))
}

/// Kills one victim after the other at a random time, and looks at what it has left. `places` returns
/// where each writes.
fn killed_at_random(make: impl FnOnce(&Comm) -> Win, place: impl Fn(u32) -> Place, write: Write) {
    let ranks = victims() + 1;
    let outcome = support::job(ranks, &["--on-failure=continue"], |world| {
        let win = make(world);
        let processes = world.allgather(&[std::process::id()]).unwrap();
        win.lock_all().unwrap();
        world.barrier().unwrap();
        if world.rank() != 0 {
            write_until_killed(world, &win, place(world.rank().0), write);
        }
        let processes = Processes(processes);
        for victim in 1..ranks {
            world.signal(BEGIN);
            world.await_signal(BEGUN, victim);
            kill_after_a_while(world, victim, processes.0[victim as usize]);
            let torn = win.torn().into_iter().filter(|torn| torn.origin == Rank(victim));
            check(&win, place(victim), &torn.collect::<Vec<_>>());
        }
        win.unlock_all().unwrap();
    });
    let Some(outcome) = outcome else { return };
    let ended = format!("rmarun: {} of {ranks} ranks failed; job ended, exit code 137", ranks - 1);
    assert!(outcome.output.contains(&ended), "{}", outcome.output);
}

/// The processes of the ranks, of which all die with the first if that one fails.
struct Processes(Vec<u32>);

impl Drop for Processes {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for process in &self.0[1..] {
                // Those that are dead already cannot be killed.
                let _ = kill(Pid::from_raw(*process as i32), Signal::SIGKILL);
            }
        }
    }
}

/// The next victim begins; one at a time, so that it runs when it is killed.
const BEGIN: usize = 0;
/// It has written all its pieces once.
const BEGUN: usize = 1;

fn write_until_killed(world: &Comm, win: &Win, place: Place, write: Write) -> ! {
    world.await_signal(BEGIN, world.rank().0);
    let mut piece = vec![1; PIECE];
    for n in 0.. {
        if n == PIECES {
            world.signal(BEGUN);
        }
        let start = place.start + n % PIECES * PIECE;
        write(win, &piece, Place { start, ..place });
        let next = later(piece[0], 1);
        piece.fill(next);
    }
    unreachable!("it is killed");
}

/// A number from a clock, which no two runs share.
fn dice() -> u64 {
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() as u64;
    (now ^ now >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33
}

fn kill_after_a_while(world: &Comm, victim: u32, process: u32) {
    let (began, wait) = (Instant::now(), Duration::from_micros(dice() % 5_000));
    while began.elapsed() < wait {
        std::hint::spin_loop();
    }
    kill(Pid::from_raw(process as i32), Signal::SIGKILL).unwrap();
    while !world.failed().world_ranks().contains(&Rank(victim)) {
        std::thread::yield_now();
    }
}

/// Every piece that is not reported has one filling, and they follow one another; what is reported is
/// exactly a piece, of which every byte is of the filling before, or of that which is its turn.
fn check(win: &Win, place: Place, torn: &[Torn]) {
    let mut all = vec![0; PIECES * PIECE];
    win.get(&mut all, place.target, place.start as u64).unwrap();
    let pieces: Vec<&[u8]> = all.chunks(PIECE).collect();
    let follows = |k: usize| pieces[(k + 1) % PIECES][0] == later(pieces[k][0], 1);
    let (last, whole) = match torn {
        [] => ((0..PIECES).find(|k| !follows(*k)).expect("one is the last"), PIECES),
        [torn] => {
            assert_eq!((torn.target, torn.bytes), (place.target, PIECE as u64), "{torn:?}");
            let into = (torn.start as usize).checked_sub(place.start).expect("its own pieces");
            assert!(into.is_multiple_of(PIECE) && into / PIECE < PIECES, "{torn:?}");
            ((into / PIECE + PIECES - 1) % PIECES, PIECES - 1)
        }
        more => panic!("one thread writes one piece at a time: {more:?}"),
    };
    for back in 0..whole {
        let k = (last + PIECES - back) % PIECES;
        let filling = later(pieces[last][0], FILLINGS - back);
        let other = pieces[k].iter().position(|byte| *byte != filling);
        assert_eq!(other, None, "piece {k} of {place:?} is half written, and not in {torn:?}");
    }
    if whole < PIECES {
        let (old, new) = (later(pieces[last][0], FILLINGS - whole), later(pieces[last][0], 1));
        let stray = pieces[(last + 1) % PIECES].iter().find(|byte| ![old, new].contains(byte));
        assert_eq!(stray, None, "neither {old} nor {new}");
    }
}

/// Bytes of a rank's part of a window that all victims write to.
fn space(rank: u32) -> usize {
    if rank == 0 { victims() as usize * PIECES * PIECE } else { 0 }
}

/// A window of the segment, with room at rank 0. Displacements are bytes.
fn allocated(world: &Comm) -> Win {
    WindowOptions::new().allocate_bytes(world, space(world.rank().0) as u64, 1).unwrap()
}

/// In the part of rank 0.
fn at_rank_0(victim: u32) -> Place {
    Place { target: Rank(0), start: (victim as usize - 1) * PIECES * PIECE }
}

#[test]
fn puts() {
    killed_at_random(allocated, at_rank_0, |win, piece, to| {
        win.put(piece, to.target, to.start as u64).unwrap();
    });
}

#[test]
fn puts_to_private_memory() {
    let private = |world: &Comm| {
        let memory = vec![0u8; space(world.rank().0)].leak();
        let (start, bytes) = (memory.as_mut_ptr(), memory.len() as u64);
        // SAFETY: 1. it is leaked. 2. the reference is not used again.
        unsafe { WindowOptions::new().create_bytes(world, ExposedBytes::new(start, bytes), 1) }
            .unwrap()
    };
    killed_at_random(private, at_rank_0, |win, piece, to| {
        win.put(piece, to.target, to.start as u64).unwrap();
    });
}

#[test]
fn accumulates() {
    killed_at_random(allocated, at_rank_0, |win, piece, to| {
        let words: &[u64] = bytemuck::cast_slice(piece);
        win.accumulate(words, Op::Replace, to.target, to.start as u64).unwrap();
    });
}

/// Rows of 4 KiB, the even ones and then the odd ones.
fn put_in_rows(win: &Win, piece: &[u8], to: Place) {
    let rows = PIECE / 4096;
    let even = (0..rows as i64).step_by(2).map(|row| row * 4096);
    let starts: Vec<i64> = even.clone().chain(even.map(|at| at + 4096)).collect();
    let layout = DerivedDatatype::hindexed(&vec![4096; rows], &starts, Datatype::U8).unwrap();
    let layout = layout.commit();
    // SAFETY: 1. and 2. a slice.
    let origin = unsafe { Origin::new(piece.as_ptr(), PIECE, Datatype::U8) };
    win.put_layout(origin, to.target, to.start as u64, Layout::new(1, &layout)).unwrap();
}

#[test]
fn layouts() {
    killed_at_random(allocated, at_rank_0, put_in_rows);
}

#[test]
fn local_stores() {
    let own = |victim| Place { target: Rank(victim), start: 0 };
    let allocated = |world: &Comm| {
        WindowOptions::new().allocate_bytes(world, (PIECES * PIECE) as u64, 1).unwrap()
    };
    killed_at_random(allocated, own, |win, piece, to| win.store(to.start as u64, piece).unwrap());
}
