//! MPI-2.2 §11.7: when an operation completes, and when an update becomes visible.

use super::rule::{Rule, Section, rule, unseen};
use crate::support::interleave::{free, get, load, lock, store, unlock, words};
use crate::support::spmd;
use onesided::engine::Win;
use onesided::{Access, Comm, FenceAssert, LockType, Memory, Rank};
use onesided::{Window, WindowMemory};

pub const SECTION: Section = Section {
    edition: "MPI-2.2",
    clause: "11.7",
    title: "Semantics and correctness",
    rules: RULES,
};

const RULES: &[Rule] = &[
    rule(
        "1",
        "an operation is completed at the origin by the ensuing complete, fence or unlock",
        &[
            "conformance/semantics::completion_of_1_rank",
            "conformance/semantics::completion_of_2_ranks",
            "conformance/semantics::completion_of_8_ranks",
            "types::buffer_access",
            "types::buffer_fence",
            "types::buffer_lock",
        ],
    ),
    rule(
        "2",
        "completed at the origin by fence, it is completed at the target by the matching fence",
        &[
            "synchronization/fence::a_fence_completes_every_operation_whoever_is_late",
            "conformance/semantics::completion_of_3_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "3",
        "completed at the origin by complete, it is completed at the target by the matching wait",
        &[
            "synchronization/pscw::figure_11_1_wait_follows_the_origins_operations",
            "conformance/semantics::completion_of_4_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "4",
        "completed at the origin by unlock, it is completed at the target by that same unlock",
        &[
            "synchronization/lock::example_11_5_unlock_completes_the_put_at_origin_and_target",
            "conformance/semantics::completion_of_5_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "5",
        "an update of the private copy is visible in the public copy at latest after the owner's \
         post, fence or unlock",
        &[
            "synchronization/semantics::example_11_11_a_local_store_is_public_after_unlock",
            "synchronization/semantics::example_11_14_a_store_before_post_is_public_and_one_after_it_may_not_be",
            "conformance/semantics::completion_of_6_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "6",
        "an update of the public copy is visible in the private copy at latest after the owner's \
         wait, fence or lock",
        &[
            "synchronization/semantics::example_11_12_a_put_is_in_the_private_copy_after_lock",
            "synchronization/semantics::example_11_15_a_put_under_a_lock_is_in_the_private_copy_after_wait",
            "conformance/semantics::completion_of_7_ranks",
            "conformance/semantics::completion_of_8_ranks",
        ],
    ),
    rule(
        "7",
        "fence(win1), then fence(win2) by the owner make updates of win1 visible in an overlapping \
         win2",
        &["conformance/semantics::overlapping_windows_pass_updates_on_by_fences"],
    ),
    rule(
        "C1",
        "a location must not be accessed locally once an update to it has started, until it is \
         visible in the private copy",
        &[
            "types::window_used_beside_a_local_slice",
            "types::slice_escapes_its_epoch",
            "windows/local_slices::no_slice_while_a_fence_epoch_is_open_anywhere",
            "windows/local_slices::no_slice_while_others_wait_to_end_a_fence_epoch",
        ],
    ),
    rule(
        "C2",
        "a location must not be accessed as a target once an update to it has started, until it is \
         visible in the public copy; except by accumulates",
        &[
            "communication/engine::an_origin_inside_the_target_range_is_a_conflict",
            "synchronization/flush::a_put_under_a_held_lock_is_old_or_new_until_unlock",
            "communication/atomicity::concurrent_accumulates_have_the_outcome_of_some_serial_order",
        ],
    ),
    unseen(
        "C3",
        "a put or accumulate must not access a window once a local update, or an update of another \
         overlapping window, has started in it, even at disjoint locations",
        "binds the program; harmless here, where there is one copy of every byte",
    ),
    rule(
        "8",
        "synchronization mode may be changed after fence, wait or unlock",
        &["synchronization/semantics::one_window_may_change_its_synchronisation_mode"],
    ),
    rule(
        "9",
        "... and so may the window by which a location of two windows is accessed",
        &["conformance/semantics::overlapping_windows_pass_updates_on_by_fences"],
    ),
    rule(
        "Ex. 11.11",
        "rule 5: a local store is public after unlock",
        &["synchronization/semantics::example_11_11_a_local_store_is_public_after_unlock"],
    ),
    rule(
        "Ex. 11.12",
        "rule 6: a put is in the private copy after lock",
        &["synchronization/semantics::example_11_12_a_put_is_in_the_private_copy_after_lock"],
    ),
    rule(
        "Ex. 11.13",
        "a store before a shared lock need not be seen until unlock",
        &[
            "synchronization/semantics::example_11_13_a_store_before_the_lock_is_old_or_new_until_unlock",
        ],
    ),
    rule(
        "Ex. 11.14",
        "a store before post is seen, one after it need not be; a local put is seen",
        &[
            "synchronization/semantics::example_11_14_a_store_before_post_is_public_and_one_after_it_may_not_be",
            "synchronization/semantics::example_11_14_with_a_local_put_instead_of_the_store",
        ],
    ),
    rule(
        "Ex. 11.15",
        "a put under a lock need not be in the private copy until wait",
        &[
            "synchronization/semantics::example_11_15_a_put_under_a_lock_is_in_the_private_copy_after_wait",
        ],
    ),
];

/// What every rank does to every rank in one epoch: puts its word from a buffer that is written
/// over as soon as the epoch is over, and gets the word that the target's owner has stored.
struct Epoch<'w> {
    win: &'w Win,
    word: u64,
    origins: Vec<[u64; 1]>,
    found: Vec<[u64; 1]>,
}

impl Epoch<'_> {
    fn new(win: &Win, word: u64) -> Epoch<'_> {
        let n = win.comm().ranks().len();
        Epoch { win, word, origins: vec![[word + 1]; n], found: vec![[0]; n] }
    }

    fn operate(&mut self, target: u32) {
        let own = u64::from(self.win.comm().rank());
        let at = target as usize;
        self.win.put(&self.origins[at], Rank(target), 1 + own).unwrap();
        self.win.get(&mut self.found[at], Rank(target), 0).unwrap();
    }

    /// Rules 1 and 5, at the origin, behind the call that ends the access epoch.
    fn is_complete_here(&mut self) {
        self.origins.fill([u64::MAX]);
        assert!(self.found.iter().all(|found| found[0] == self.word), "{:?}", self.found);
    }

    /// Rules 2 to 4 and 6, at the target, behind the call that ends the exposure epoch.
    fn is_complete_there(&self) {
        for origin in 0..u64::from(self.win.comm().size()) {
            assert_eq!(load(self.win, 1 + origin), self.word + 1, "put by rank {origin}");
        }
    }
}

fn by_fence(win: &Win, word: u64) {
    store(win, 0, word);
    win.fence().unwrap();
    let mut epoch = Epoch::new(win, word);
    (0..win.comm().size()).for_each(|target| epoch.operate(target));
    win.fence_with(FenceAssert::NOSUCCEED).unwrap();
    epoch.is_complete_here();
    epoch.is_complete_there();
    win.comm().barrier().unwrap();
}

fn by_complete_and_wait(win: &Win, word: u64) {
    let all = win.comm().group();
    store(win, 0, word);
    win.post(&all).unwrap();
    win.start(&all).unwrap();
    let mut epoch = Epoch::new(win, word);
    (0..win.comm().size()).for_each(|target| epoch.operate(target));
    win.complete().unwrap();
    epoch.is_complete_here();
    win.wait().unwrap();
    epoch.is_complete_there();
    win.comm().barrier().unwrap();
}

/// The meetings in between are signals, which order no memory: the locks must.
fn by_locks(win: &Win, word: u64, meet: &mut impl FnMut()) {
    let (me, n) = (win.comm().rank().0, win.comm().size());
    lock(win, LockType::Exclusive, me);
    store(win, 0, word);
    unlock(win, me);
    meet();
    let mut epoch = Epoch::new(win, word);
    for target in (0..n).map(|k| (me + k) % n) {
        lock(win, LockType::Shared, target);
        epoch.operate(target);
        unlock(win, target);
        // Rule 4: complete at the target, for every reader.
        lock(win, LockType::Shared, target);
        assert_eq!(get(win, target, 1 + u64::from(me)), word + 1);
        unlock(win, target);
    }
    epoch.is_complete_here();
    meet();
    lock(win, LockType::Exclusive, me);
    epoch.is_complete_there();
    unlock(win, me);
    meet();
}

/// Completion rules 1 to 6, by each kind of synchronization. In every round another rank comes
/// last: it enters the round when all others have signalled that they are about to.
fn completion(n: u32) {
    const ROUNDS: u32 = 12;
    spmd(n, |world: &Comm| {
        let win = words(world, 1 + u64::from(n));
        let mut meetings = 0;
        let mut meet = || {
            world.signal(1);
            meetings += n;
            world.await_signal(1, meetings);
        };
        for round in 0..ROUNDS {
            if world.rank().0 == round % n {
                world.await_signal(0, (round + 1) * (n - 1));
            } else {
                world.signal(0);
            }
            let word = 100 * u64::from(round + 1);
            by_fence(&win, word);
            by_complete_and_wait(&win, word + 10);
            by_locks(&win, word + 20, &mut meet);
        }
        free(win);
    });
}

#[test]
fn completion_of_1_rank() {
    completion(1);
}

#[test]
fn completion_of_2_ranks() {
    completion(2);
}

#[test]
fn completion_of_3_ranks() {
    completion(3);
}

#[test]
fn completion_of_4_ranks() {
    completion(4);
}

#[test]
fn completion_of_5_ranks() {
    completion(5);
}

#[test]
fn completion_of_6_ranks() {
    completion(6);
}

#[test]
fn completion_of_7_ranks() {
    completion(7);
}

#[test]
fn completion_of_8_ranks() {
    completion(8);
}

/// "A call to MPI_WIN_FENCE(0, win1) by the window owner makes visible in the process memory
/// previous updates to window win1 by remote processes. A subsequent call to MPI_WIN_FENCE(0,
/// win2) makes these updates visible in the public copy of win2." Over private memory, where the
/// kernel moves the bytes.
#[test]
fn overlapping_windows_pass_updates_on_by_fences() {
    spmd(4, |world| {
        let (me, n) = (world.rank().0, world.size());
        let memory: WindowMemory<u64> = Memory::from(vec![0; 2]).into();
        let mut first = Window::create(world, memory.part(0..2).unwrap()).unwrap();
        let mut second = Window::create(world, memory.part(1..2).unwrap()).unwrap();
        for round in 1..=20 {
            let word = [100 * round + u64::from(me)];
            let epoch = first.fence().unwrap();
            epoch.put(&word, Rank((me + 1) % n), 1).unwrap();
            epoch.close().unwrap();
            let mut found = [0];
            let epoch = second.fence().unwrap();
            epoch.get(&mut found, Rank((me + 2) % n), 0).unwrap();
            epoch.close().unwrap();
            assert_eq!(found, [100 * round + u64::from((me + 1) % n)]);
        }
        first.free().unwrap();
        second.free().unwrap();
    });
}
