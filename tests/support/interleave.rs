//! What the tests of the specification share: windows of words, and interleavings forced by delay
//! points and signals.
//!
//! Three ways to bring ranks into an order, none of which waits for a time:
//!
//! * [`hold`] stops a rank immediately before an event until a signal is raised;
//! * [`tell`] raises a signal immediately before an event;
//! * [`tell_when_asleep`] raises a signal when the rank is about to sleep inside its next call,
//!   which proves that the call blocks: whatever happens afterwards precedes its return.
//!
//! Signals are counted since the job began, so every use of a number gives how often it must have
//! been raised. [`free`] fails if a delay point set by [`hold`] or [`tell`] was never reached.
use onesided::engine::Win;
use onesided::hooks::{self, Event, Site, delay};
use onesided::{Comm, ErrorClass, Group, LockType, Rank, Result, WindowOptions};
use std::rc::Rc;

/// A window of `len` words of 64 bits per rank.
pub fn words(world: &Comm, len: u64) -> Rc<Win> {
    Rc::new(WindowOptions::new().allocate_bytes(world, 8 * len, 8).unwrap())
}

/// Frees the window; fails if a delay point that holds it was never reached.
pub fn free(win: Rc<Win>) {
    Rc::into_inner(win).expect("every delay point is reached").free().unwrap();
}

/// The group of these ranks of the world.
pub fn group(world: &Comm, ranks: &[u32]) -> Group {
    world.group().incl(ranks).unwrap()
}

/// Every rank but this one.
pub fn others(world: &Comm) -> Vec<u32> {
    (0..world.size()).filter(|rank| *rank != world.rank().0).collect()
}

/// Locks one target.
pub fn lock(win: &Win, lock_type: LockType, target: u32) {
    win.lock(lock_type, Rank(target)).unwrap();
}

/// Unlocks one target.
pub fn unlock(win: &Win, target: u32) {
    win.unlock(Rank(target)).unwrap();
}

/// The word at `disp` of this rank's own part, by a local load.
pub fn load(win: &Win, disp: u64) -> u64 {
    let mut word = [0];
    win.load(disp, &mut word).unwrap();
    word[0]
}

/// Local store of one word.
pub fn store(win: &Win, disp: u64, word: u64) {
    win.store(disp, &[word]).unwrap();
}

/// One word of `target`; for use in an epoch that has it (operations are eager, but the value
/// counts only after the epoch).
pub fn get(win: &Win, target: u32, disp: u64) -> u64 {
    let mut word = [0];
    win.get(&mut word, Rank(target), disp).unwrap();
    word[0]
}

/// Puts one word.
pub fn put(win: &Win, word: u64, target: u32, disp: u64) {
    win.put(&[word], Rank(target), disp).unwrap();
}

/// Gets one word in a lock epoch of its own.
pub fn locked_get(win: &Win, lock_type: LockType, target: u32, disp: u64) -> u64 {
    win.lock(lock_type, Rank(target)).unwrap();
    let word = get(win, target, disp);
    win.unlock(Rank(target)).unwrap();
    word
}

/// Puts one word in a lock epoch of its own.
pub fn locked_put(win: &Win, lock_type: LockType, word: u64, target: u32, disp: u64) {
    win.lock(lock_type, Rank(target)).unwrap();
    put(win, word, target, disp);
    win.unlock(Rank(target)).unwrap();
}

/// Runs `f` immediately before the next `event` of this rank.
pub fn before(win: &Rc<Win>, event: Event, f: impl FnOnce(&Win) + 'static) {
    let win = win.clone();
    delay(event, move || f(&win));
}

/// Holds this rank immediately before its next `event` until `signal` was raised `times` times.
pub fn hold(win: &Rc<Win>, event: Event, signal: usize, times: u32) {
    before(win, event, move |win| win.comm().await_signal(signal, times));
}

/// Raises `signal` immediately before the next `event` of this rank.
pub fn notify(win: &Rc<Win>, event: Event, signal: usize) {
    before(win, event, move |win| win.comm().signal(signal));
}

/// Raises `signal` when this rank is about to sleep: to be called immediately before a call that
/// must block until the rank that awaits the signal continues.
pub fn notify_when_asleep(win: &Rc<Win>, signal: usize) {
    notify(win, Event::MemSync(Site::ParkWaiter), signal);
}

/// The same before a collective of a few ranks, whose sleepers execute a barrier of all ranks.
pub fn notify_when_asleep_together(win: &Rc<Win>, signal: usize) {
    notify(win, Event::MemSync(Site::ParkBarrier), signal);
}

/// [`hooks::record`] of what passes between ranks: without the turn of this rank's threads, which goes
/// by the protocol of the shards (`src/shm/biased.rs`).
pub fn record<R>(f: impl FnOnce() -> R) -> (R, Vec<Event>) {
    use Site::{ShardAnnounce, ShardLook, ShardWithdraw, ShardWithdrawn};
    let turn = [ShardAnnounce, ShardLook, ShardWithdraw, ShardWithdrawn].map(Event::MemSync);
    let (result, mut events) = hooks::record(f);
    events.retain(|event| !turn.contains(event));
    (result, events)
}

/// The class of the error that a refused call returned.
pub fn refusal<T>(result: Result<T>) -> ErrorClass {
    match result {
        Ok(_) => panic!("the call must be refused"),
        Err(error) => error.class(),
    }
}
