//! Threads of a rank, in programs whose threads are followed (`rmacc -race`).
//!
//! 1. A clock has a number for each slot of each rank. A thread has a slot, and a task while it runs. Where threads are
//!    not followed, all have the first slot: a rank then counts as one thread.
//! 2. What synchronises threads is an object with a clock: a mutex, a barrier, the creation of a thread, its end. A
//!    thread publishes to it before it releases others, and merges it after they have released it.
//! 3. A thread whose creation was not seen knows what all others know. A slot is used again, and its number goes on: what
//!    the earlier thread did counts as done by the later one. Without a free slot, a thread shares the first one.
//!    So less is reported where threads are not known, never more.

use super::{CheckState, Checker, learn};
use crate::mixer::Mixer;
use crate::prim::{Waiter, Word64};
use crate::sync::clock;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::{OnceLock, Weak};

/// Where a stamp has the slot.
const SLOT_SHIFT: u32 = 56;

/// The stamp of what all threads know.
pub(super) const ALWAYS: u64 = u64::MAX;

/// The number of the calling thread in its process, if threads are followed.
static FOLLOWED: OnceLock<fn() -> usize> = OnceLock::new();

thread_local! {
    /// The slot of this thread, or of the task that it runs.
    static SLOT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Threads have clocks of their own from now on; `myself` returns the number of the calling one.
pub(crate) fn follow(myself: fn() -> usize) {
    FOLLOWED.get_or_init(|| myself);
}

/// Whether they have.
#[inline]
pub(crate) fn are_followed() -> bool {
    FOLLOWED.get().is_some()
}

/// The slot of this thread, if it has one.
#[inline]
pub(super) fn known_slot() -> Option<usize> {
    if are_followed() { SLOT.get().map(|slot| slot as usize) } else { Some(0) }
}

/// Runs `f` in the place of the thread with a slot.
pub(super) fn as_thread<R>(slot: u32, f: impl FnOnce() -> R) -> R {
    let before = SLOT.replace(Some(slot));
    let done = f();
    SLOT.set(before);
    done
}

/// The clock of a thread when it has done something: its slot, and the number of that. Never zero.
#[inline]
pub(super) fn stamp(slot: usize, clock: &[u64], (rank, ranks): (u32, usize)) -> u64 {
    let number = clock.get(slot * ranks + rank as usize).copied().unwrap_or(1);
    (slot as u64) << SLOT_SHIFT | number
}

/// The slot of a stamp.
pub(super) fn slot_of(stamp: u64) -> u32 {
    (stamp >> SLOT_SHIFT) as u32
}

/// Which number of a clock has to reach which value, so that a thread with the clock knows of what a rank has stamped so.
#[inline]
pub(super) fn required((rank, ranks): (u32, usize), stamp: u64) -> (usize, u64) {
    let at = slot_of(stamp) as usize * ranks + rank as usize;
    (at, stamp & ((1 << SLOT_SHIFT) - 1))
}

/// Whether a thread with this clock knows of what a rank has stamped so. Stamps were read from the segment: of one that
/// no clock has, because it was overwritten, it does.
#[inline]
pub(super) fn knows(clock: &[u64], of: (u32, usize), stamp: u64) -> bool {
    let (at, number) = required(of, stamp);
    clock.get(at).is_none_or(|known| number <= *known)
}

/// The threads of this process, and what synchronises them.
pub(super) struct Threads {
    /// By their slots.
    all: Vec<ThreadClock>,
    /// Slots that no thread has, the one that has been free for the longest first.
    free: Vec<u32>,
    /// The slot of the thread that has the lock of the state.
    current: usize,
    /// How often what a thread knows has changed, from 1 on.
    changes: u64,
    /// That number at the latest change that was not one of the thread's own number alone.
    learned: u64,
    objects: HashMap<usize, Vec<u64>, BuildHasherDefault<Mixer>>,
    rank: u32,
    ranks: usize,
    /// Slots that a rank may have.
    most: usize,
}

/// What a thread knows.
struct ThreadClock {
    clock: Vec<u64>,
    /// Its number in the process; zero of a task.
    thread: usize,
    is_used: bool,
    /// Whether others may know its number, so that what it does next has another one.
    is_published: bool,
    /// What it knew at its last fence that releases.
    fence: Option<Vec<u64>>,
    /// What was released for objects that it has read, for its next fence that acquires.
    read: Option<Vec<u64>>,
}

impl ThreadClock {
    fn new(clock: Vec<u64>, thread: usize) -> ThreadClock {
        let is_published = false;
        ThreadClock { clock, thread, is_used: true, is_published, fence: None, read: None }
    }
}

impl Threads {
    /// Of a rank of a job of `ranks`, with clocks of `clocks` numbers. The present thread is the first one.
    pub(super) fn new(rank: u32, ranks: usize, clocks: usize) -> Threads {
        let mut clock = vec![0; clocks];
        clock[rank as usize] = 1;
        let thread = FOLLOWED.get().map_or(0, |myself| myself());
        SLOT.set(Some(0));
        Threads {
            all: vec![ThreadClock::new(clock, thread)],
            free: Vec::new(),
            current: 0,
            changes: 1,
            learned: 1,
            objects: HashMap::default(),
            rank,
            ranks,
            most: clocks / ranks,
        }
    }

    /// This thread has the lock of the state. Returns whether it is new.
    #[inline]
    pub(super) fn enter(&mut self) -> bool {
        FOLLOWED.get().is_some_and(|myself| self.enter_followed(*myself))
    }

    #[inline(never)]
    fn enter_followed(&mut self, myself: fn() -> usize) -> bool {
        let slot = SLOT.get();
        if slot.is_none() {
            let mut knows = vec![0; self.all[0].clock.len()];
            for slot in 0..self.all.len() {
                self.current = slot;
                // It also knows what they do until they publish the next time.
                self.begin();
                if self.all[slot].is_used {
                    merge(&mut knows, &self.all[slot].clock);
                }
            }
            self.take(knows, myself());
        }
        self.current = SLOT.get().unwrap_or_default() as usize;
        slot.is_none()
    }

    /// This thread has a slot from now on, and knows that.
    fn take(&mut self, knows: Vec<u64>, thread: usize) {
        let slot = if self.all.len() < self.most {
            let clock = vec![0; knows.len()];
            self.all.push(ThreadClock::new(clock, thread));
            self.all.len() - 1
        } else if self.free.is_empty() {
            0
        } else {
            self.free.remove(0) as usize
        };
        let own = slot * self.ranks + self.rank as usize;
        self.learns();
        let of = &mut self.all[slot];
        match slot {
            0 => merge(&mut of.clock, &knows),
            _ => {
                let number = of.clock[own].max(knows[own]) + 1;
                *of = ThreadClock::new(knows, thread);
                of.clock[own] = number;
            }
        }
        SLOT.set(Some(slot as u32));
        self.current = slot;
    }

    /// No thread has this slot any more.
    fn free(&mut self, slot: usize) {
        if slot != 0 && self.all[slot].is_used {
            self.all[slot].is_used = false;
            self.free.push(slot as u32);
        }
    }

    /// How many slots have been in use.
    pub(super) fn used(&self) -> usize {
        self.all.len()
    }

    /// A number that stays the same as long as all that the only thread knows does. `None` if there are several.
    #[inline]
    pub(super) fn changes(&self) -> Option<u64> {
        (self.all.len() == 1).then_some(self.changes)
    }

    /// What a thread knows of others has changed.
    fn learns(&mut self) {
        self.changes += 1;
        self.learned = self.changes;
    }

    /// Whether more of the clock than this thread's own number may have changed since that number of changes. With several
    /// threads it always may.
    #[inline]
    pub(super) fn has_learned_since(&self, changes: u64) -> bool {
        self.learned > changes || self.all.len() != 1
    }

    #[inline]
    pub(super) fn current(&self) -> usize {
        self.current
    }

    fn mine(&mut self) -> &mut ThreadClock {
        &mut self.all[self.current]
    }

    /// The clock of this thread.
    #[inline]
    pub(super) fn clock(&self) -> &[u64] {
        &self.all[self.current].clock
    }

    /// The same, until [`Threads::put_back`].
    #[inline]
    pub(super) fn take_clock(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.all[self.current].clock)
    }

    #[inline]
    pub(super) fn put_back(&mut self, clock: Vec<u64>) {
        self.all[self.current].clock = clock;
    }

    /// The same, to change it.
    pub(super) fn clock_mut(&mut self) -> &mut [u64] {
        self.learns();
        &mut self.all[self.current].clock
    }

    /// Merges words into the first `width` numbers of this thread's clock, as [`clock::merge`].
    #[inline]
    pub(super) fn merge(
        &mut self,
        words: &[Word64],
        width: usize,
        mut learn: impl FnMut(usize, Range<u64>),
    ) {
        let (clock, mut grows) = (&mut self.all[self.current].clock[..width], false);
        clock::merge(clock, words, |number, learnt| {
            grows = true;
            learn(number, learnt);
        });
        if grows {
            self.learns();
        }
    }

    /// The same of the first numbers of another clock.
    #[inline]
    pub(super) fn merge_numbers(
        &mut self,
        other: &[u64],
        mut learn: impl FnMut(usize, Range<u64>),
    ) {
        let (clock, mut grows) = (&mut self.all[self.current].clock, false);
        for (number, (known, other)) in clock.iter_mut().zip(other).enumerate() {
            if *known < *other {
                learn(number, *known..*other);
                *known = *other;
                grows = true;
            }
        }
        if grows {
            self.learns();
        }
    }

    /// This thread has published its clock.
    #[inline]
    pub(super) fn published(&mut self) {
        self.all[self.current].is_published = true;
    }

    /// Before a [`Threads::stamp`]: the number of this thread grows if it was published. Returns whether it was.
    #[inline]
    pub(super) fn begin(&mut self) -> bool {
        let own = self.own();
        let of = &mut self.all[self.current];
        if !of.is_published {
            return false;
        }
        of.is_published = false;
        of.clock[own] += 1;
        self.changes += 1;
        true
    }

    /// For each thread the number of a clock that it alone raises, and its value.
    pub(super) fn own_numbers(&self) -> impl Iterator<Item = (usize, u64)> {
        let of = |(slot, thread): (usize, &ThreadClock)| {
            let at = slot * self.ranks + self.rank as usize;
            Some((at, *thread.clock.get(at)?))
        };
        self.all.iter().enumerate().filter_map(of)
    }

    /// [`stamp`] of this thread now.
    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        stamp(self.current, self.clock(), (self.rank, self.ranks))
    }

    /// The number of this thread's clock that it alone raises.
    #[inline]
    pub(super) fn own(&self) -> usize {
        self.current * self.ranks + self.rank as usize
    }
}

fn merge(clock: &mut [u64], other: &[u64]) {
    clock.iter_mut().zip(other).for_each(|(clock, other)| *clock = (*clock).max(*other));
}

/// What synchronises the threads of this process. All of this may block while other ranks access its parts.
impl Checker {
    /// This thread has a slot from now on, or a number of its own: after [`Threads::enter`] and [`Threads::take`].
    pub(super) fn entered(&self, state: &CheckState) {
        clock::raise_one(&self.words.slots, state.threads.used() as u64);
        self.know_own(&state.threads);
        let windows = state.windows.iter().filter_map(Weak::upgrade);
        windows.for_each(|window| window.ignore_stores(window.rank));
    }

    /// The slot of this thread.
    pub(super) fn slot(&self) -> usize {
        known_slot().unwrap_or_else(|| self.state().threads.current)
    }

    /// This thread is about to release others that wait for `object`.
    pub(crate) fn released(&self, waiter: &Waiter<'_>, object: usize) {
        self.settle(waiter);
        let state = &mut *self.state();
        let Threads { all, objects, current, .. } = &mut state.threads;
        let clock = &all[*current].clock;
        merge(objects.entry(object).or_insert_with(|| vec![0; clock.len()]), clock);
        self.published(state);
    }

    /// Others have released this thread that waited for `object`.
    pub(crate) fn acquired(&self, waiter: &Waiter<'_>, object: usize) {
        self.settle(waiter);
        let state = &mut *self.state();
        if let Some(of) = state.threads.objects.get(&object).cloned() {
            self.learn(state, &of);
        }
    }

    /// This thread is at a fence of its language: what it does before is ordered before what others do who read an object
    /// that it writes behind the fence, and have a fence then ([`Checker::written`], [`Checker::read`]).
    pub(crate) fn fence(&self, waiter: &Waiter<'_>, (releases, acquires): (bool, bool)) {
        self.settle(waiter);
        let row = self.row(self.rank);
        let state = &mut *self.state();
        if let Some(of) = state.threads.mine().read.take_if(|_| acquires) {
            state.threads.merge_numbers(&of, |number, learnt| learn(&row[number], learnt.end));
        }
        if releases {
            let of = state.threads.mine();
            of.fence = Some(of.clock.clone());
            self.published(state);
        }
    }

    /// This thread is about to write an object at an address by an operation that releases nothing itself. In a part of a window
    /// other ranks may read it.
    pub(crate) fn written(&self, waiter: &Waiter<'_>, (object, address): (usize, usize)) {
        self.settle(waiter);
        let (parts, width) = (self.in_parts(&(address..address + 1)), self.width());
        let Threads { all, objects, current, .. } = &mut self.state().threads;
        let Some(fence) = &all[*current].fence else { return };
        merge(objects.entry(object).or_insert_with(|| vec![0; fence.len()]), fence);
        for (window, rank, run) in &parts {
            let clocks = window.elements(*rank, *run);
            clocks.for_each(|words| clock::raise_earlier(words, &fence[..width]));
        }
    }

    /// It has read one by an operation that acquires nothing itself.
    pub(crate) fn read(&self, waiter: &Waiter<'_>, (object, address): (usize, usize)) {
        self.settle(waiter);
        let (parts, width) = (self.in_parts(&(address..address + 1)), self.width());
        let Threads { all, objects, current, .. } = &mut self.state().threads;
        let of = objects.get(&object);
        if of.is_none() && parts.is_empty() {
            return;
        }
        let ThreadClock { clock, read, .. } = &mut all[*current];
        let read = read.get_or_insert_with(|| vec![0; clock.len()]);
        of.into_iter().for_each(|of| merge(read, of));
        for (window, rank, run) in &parts {
            let clocks = window.elements(*rank, *run);
            clocks.for_each(|words| clock::merge(&mut read[..width], words, |_, _| ()));
        }
    }

    /// `object` is gone, and its address may be another one's.
    pub(crate) fn forgotten(&self, object: usize) {
        self.state().threads.objects.remove(&object);
    }

    /// This thread begins, after what was released for `object`.
    pub(crate) fn thread_began(&self, waiter: &Waiter<'_>, object: usize) {
        if SLOT.get().is_some() {
            return self.acquired(waiter, object);
        }
        let myself = FOLLOWED.get().map_or(0, |myself| myself());
        self.begin(object, myself);
    }

    /// A task begins on this thread, after what was released for `object`. Returns what [`Checker::task_ended`] needs.
    pub(crate) fn task_began(&self, waiter: &Waiter<'_>, object: usize) -> Option<u32> {
        self.settle(waiter);
        let before = SLOT.get();
        self.begin(object, 0);
        before
    }

    fn begin(&self, object: usize, thread: usize) {
        // Not as the present thread: it has no slot yet, or that of the thread that runs the task.
        let mut state = self.lock_state();
        let threads = &mut state.threads;
        let of_none = || vec![0; threads.all[0].clock.len()];
        let knows = threads.objects.get(&object).cloned().unwrap_or_else(of_none);
        threads.take(knows, thread);
        self.entered(&state);
    }

    /// The task that this thread has run is over.
    pub(crate) fn task_ended(&self, waiter: &Waiter<'_>, before: Option<u32>) {
        self.settle(waiter);
        let threads = &mut self.state().threads;
        let slot = threads.current;
        if before != Some(slot as u32) {
            threads.free(slot);
        }
        SLOT.set(before);
    }

    /// A thread has ended, and this one has waited for it.
    pub(crate) fn thread_joined(&self, waiter: &Waiter<'_>, thread: usize) {
        let is_it = |of: &ThreadClock| of.is_used && of.thread == thread;
        // A thread without a slot of its own has shared the first one.
        let slot = self.state().threads.all.iter().position(is_it).unwrap_or_default();
        as_thread(slot as u32, || self.settle(waiter));
        self.settle(waiter);
        let state = &mut *self.state();
        let of = state.threads.all[slot].clock.clone();
        self.learn(state, &of);
        state.threads.free(slot);
    }

    /// This thread knows what another one has known.
    fn learn(&self, state: &mut CheckState, of: &[u64]) {
        merge(state.threads.clock_mut(), of);
    }
}
