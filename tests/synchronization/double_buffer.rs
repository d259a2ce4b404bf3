//! Example 11.10 of MPI-2.2 §11.5: double buffering with NOCHECK on two windows.
#![cfg(feature = "test-hooks")]
#![allow(unsafe_code, reason = "asserts NOCHECK in start")]

use crate::support::interleave::{
    before, free, get, group, load, notify_when_asleep, put, store, words,
};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::hooks::{Event, ProcSync, Site};
use onesided::{Comm, Group, PostAssert, StartAssert};
use std::rc::Rc;

/// Arrays A0 and A1 of one rank, one word each, and what it last got from its neighbours.
#[derive(Clone, Default)]
struct Arrays {
    a: [u64; 2],
    halo: [Vec<u64>; 2],
}

impl Arrays {
    fn new(rank: u32, neighbours: usize) -> Arrays {
        let rank = u64::from(rank);
        Arrays { a: [rank + 1, 7 * rank + 3], halo: [vec![0; neighbours], vec![0; neighbours]] }
    }

    /// `update2(A_own, A_other)`: depends on the other array and what was got of it.
    fn update2(&mut self, own: usize) {
        let of_other = self.halo[1 - own]
            .iter()
            .fold(self.a[1 - own], |sum, word| sum.wrapping_mul(31).wrapping_add(*word));
        self.a[own] = self.a[own].wrapping_mul(3).wrapping_add(of_other);
    }

    /// `update1(A_own)`: depends on this array only.
    fn update1(&mut self, own: usize) {
        self.a[own] = self.a[own].wrapping_mul(5).wrapping_add(1);
    }
}

/// The neighbours of a rank in a ring of `n`, each once.
fn neighbours(rank: u32, n: u32) -> Vec<u32> {
    let mut both = vec![(rank + n - 1) % n, (rank + 1) % n];
    both.dedup();
    both
}

/// All ranks' arrays after `iterations`, computed sequentially.
fn oracle(n: u32, iterations: u32) -> Vec<Arrays> {
    let mut all: Vec<Arrays> =
        (0..n).map(|rank| Arrays::new(rank, neighbours(rank, n).len())).collect();
    for phase in 0..2 * iterations {
        let (sent, computed) = if phase % 2 == 0 { (0, 1) } else { (1, 0) };
        all.iter_mut().for_each(|arrays| arrays.update2(computed));
        let words: Vec<u64> = all.iter().map(|arrays| arrays.a[sent]).collect();
        for (rank, arrays) in (0..n).zip(&mut all) {
            arrays.halo[sent] =
                neighbours(rank, n).iter().map(|other| words[*other as usize]).collect();
            arrays.update1(computed);
        }
    }
    all
}

/// How neighbours' values travel: the example gets; "put calls can be used, instead of get calls,
/// if the area used by the update call is disjoint from the area modified by the communication".
#[derive(Clone, Copy, PartialEq)]
enum By {
    Get,
    Put,
}

struct Program {
    wins: [Rc<Win>; 2],
    neighbours: Vec<u32>,
    group: Group,
    by: By,
    arrays: Arrays,
}

impl Program {
    fn new(world: &Comm, by: By) -> Program {
        let neighbours = neighbours(world.rank().0, world.size());
        let arrays = Arrays::new(world.rank().0, neighbours.len());
        // A word, then one per rank for what neighbours put.
        let wins = [(); 2].map(|()| words(world, 1 + u64::from(world.size())));
        (0..2).for_each(|i| store(&wins[i], 0, arrays.a[i]));
        Program { wins, group: group(world, &neighbours), neighbours, by, arrays }
    }

    fn post(&self, window: usize) {
        let noput = if self.by == By::Get { PostAssert::NOPUT } else { PostAssert::NONE };
        self.wins[window].post_with(&self.group, PostAssert::NOCHECK | noput).unwrap();
    }

    fn communicate(&self, window: usize) -> Vec<u64> {
        let win = &self.wins[window];
        let me = u64::from(win.comm().rank());
        match self.by {
            By::Get => self.neighbours.iter().map(|from| get(win, *from, 0)).collect(),
            By::Put => {
                let word = load(win, 0);
                self.neighbours.iter().for_each(|to| put(win, word, *to, 1 + me));
                Vec::new()
            }
        }
    }

    /// Half an iteration: communication on one array, computation on the other.
    fn phase(&mut self, sent: usize, posts_next: bool) {
        let computed = 1 - sent;
        self.arrays.update2(computed);
        // SAFETY: every neighbour has posted this window: before the barrier, or before it
        // completed on the other window, for which this rank has waited.
        let nocheck = unsafe { StartAssert::nocheck() };
        self.wins[sent].start_with(&self.group, nocheck).unwrap();
        let got = self.communicate(sent);
        self.arrays.update1(computed);
        store(&self.wins[computed], 0, self.arrays.a[computed]);
        if posts_next {
            self.post(computed);
        }
        self.wins[sent].complete().unwrap();
        let world = self.wins[sent].comm();
        world.signal(world.rank().index());
        self.wins[sent].wait().unwrap();
        self.arrays.halo[sent] = match self.by {
            By::Get => got,
            By::Put => {
                let from = self.neighbours.iter();
                from.map(|from| load(&self.wins[sent], 1 + u64::from(*from))).collect()
            }
        };
    }
}

/// One rank per phase is held at one of these places until its neighbours stand in front of a wait:
/// of this phase's, or of the next one's where the rank has let them go on already.
const PLACES: [(Event, u32); 6] = [
    (Event::MemSync(Site::StartPost), 0),
    (Event::MemSync(Site::PostPre), 0),
    (Event::MemSync(Site::CompletePre), 0),
    (Event::ProcSync(ProcSync::Complete), 0),
    (Event::ProcSync(ProcSync::Wait), 1),
    (Event::MemSync(Site::WaitPost), 1),
];

fn hold_one(program: &Program, world: &Comm, phase: u32, phases: u32) {
    let (event, ahead) = PLACES[(phase / world.size()) as usize % PLACES.len()];
    let neighbours_phase = phase + ahead;
    // The last phase posts nothing; and a rank that lets its neighbours go ahead must not be followed
    // by a neighbour that does not.
    let is_last = phase + 1 == phases || (ahead == 1 && (phase + 1).is_multiple_of(world.size()));
    if world.rank().0 != phase % world.size() || is_last {
        return;
    }
    let neighbours = program.neighbours.clone();
    before(&program.wins[0], event, move |win| {
        for neighbour in neighbours {
            win.comm().await_signal(neighbour as usize, neighbours_phase + 1);
        }
    });
}

fn example_11_10(n: u32, by: By) {
    spmd(n, |world| {
        let iterations = 6 * n;
        let phases = 2 * iterations;
        let mut program = Program::new(world, by);
        program.post(0);
        // "The barrier is needed because the start call inside the loop uses the nocheck option."
        world.barrier().unwrap();
        for phase in 0..phases {
            hold_one(&program, world, phase, phases);
            program.phase(phase as usize % 2, phase + 1 < phases);
        }
        let expected = &oracle(n, iterations)[world.rank().index()];
        assert_eq!(program.arrays.a, expected.a);
        assert_eq!(program.arrays.halo, expected.halo);
        program.wins.into_iter().for_each(free);
    });
}

/// MPI-2.2 §11.5, Example 11.10: "A process posts the local window associated with win0 before it
/// completes RMA accesses to the remote windows associated with win1. [...] Therefore, the nocheck
/// option can be used with the calls to MPI_WIN_START." NOCHECK is asserted on both windows in
/// every round, also in the later ones, where Open MPI's counting of NOCHECK posts breaks.
#[test]
fn example_11_10_double_buffer_with_nocheck_posts_on_both_windows() {
    example_11_10(4, By::Get);
}

/// With two ranks each is the other's only neighbour.
#[test]
fn example_11_10_double_buffer_of_two_ranks() {
    example_11_10(2, By::Get);
}

/// With more ranks than the machine has cores.
#[test]
fn example_11_10_double_buffer_of_eight_ranks() {
    example_11_10(8, By::Get);
}

/// MPI-2.2 §11.5, end of Example 11.10: the same by puts into areas that no update reads.
#[test]
fn example_11_10_double_buffer_by_put() {
    example_11_10(5, By::Put);
}

/// "The nocheck option can be specified in a start call if and only if it is specified in each
/// matching post call" (MPI-2.2 §11.4.4): epochs with it and without may follow each other on one
/// window, and neither counts for the other. In the checked ones the target posts only when the
/// origin sleeps in start.
#[test]
fn nocheck_and_checked_epochs_may_follow_each_other() {
    spmd(2, |world| {
        let win = words(world, 1);
        let peer = group(world, &[1 - world.rank().0]);
        let (mut with, mut without) = (0, 0);
        for (round, nocheck) in (1..=40).zip([true, false, false, true, true, false].iter().cycle())
        {
            *(if *nocheck { &mut with } else { &mut without }) += 1;
            if world.rank() == 0 {
                let assert = match nocheck {
                    // SAFETY: the target has posted before it raised the signal.
                    true => unsafe { StartAssert::nocheck() },
                    false => StartAssert::NONE,
                };
                match nocheck {
                    true => world.await_signal(1, with),
                    false => notify_when_asleep(&win, 0),
                }
                win.start_with(&peer, assert).unwrap();
                let word = get(&win, 1, 0);
                win.complete().unwrap();
                assert_eq!(word, round);
                continue;
            }
            if !nocheck {
                world.await_signal(0, without);
            }
            store(&win, 0, round);
            let assert = if *nocheck { PostAssert::NOCHECK } else { PostAssert::NONE };
            win.post_with(&peer, assert).unwrap();
            if *nocheck {
                world.signal(1);
            }
            win.wait().unwrap();
        }
        free(win);
    });
}
