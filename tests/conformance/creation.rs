//! MPI-2.2 §11.2: windows over memory of the program, their end, and what is known of them.
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

use super::rule::{Rule, Section, rule, unseen};
use crate::support::interleave::{free, load, put, refusal, store, words};
use crate::support::spmd;
use onesided::engine::{ExposedBytes, Win};
use onesided::hooks::{Event, Site, delay};
use onesided::{Comm, ErrorClass, FenceAssert, WindowOptions};
use std::rc::Rc;

pub const SECTION: Section =
    Section { edition: "MPI-2.2", clause: "11.2.1", title: "Window creation", rules: RULES };

const RULES: &[Rule] = &[
    rule(
        "1",
        "win_create is a collective call by all processes in the group of comm",
        &[
            "windows/communicators::every_epoch_works_over_split_communicators",
            "windows/memory::more_than_the_segment_is_refused_on_every_rank",
            "windows/flavours/create::memory_without_an_address_is_refused_on_all_ranks",
        ],
    ),
    rule(
        "2",
        "each process exposes a window of existing memory to the processes in the group of comm",
        &[
            "windows/flavours/create::create_over_a_vector_on_four_ranks",
            "windows/flavours/create::create_over_memory_of_the_segment_on_four_ranks",
        ],
    ),
    rule(
        "3",
        "a process may elect to expose no memory by specifying size = 0",
        &["windows/flavours/create::nobody_exposes_anything_and_some_expose_nothing"],
    ),
    rule(
        "4",
        "the target displacement is scaled by the factor disp_unit that the target gave at creation",
        &[
            "communication/operations::put_reaches_every_rank_at_the_displacement_given",
            "communication/operations::sizes_and_units_differ_from_rank_to_rank",
        ],
    ),
    rule(
        "5",
        "size is an address-sized integer, so as to allow windows of more than 4 GB",
        &["conformance/creation::rule_5_windows_may_span_more_than_four_gibibytes"],
    ),
    rule(
        "6",
        "no_locks: the implementation may assume that the window is never locked",
        &["windows/objects::windows_without_locks_refuse_them"],
    ),
    rule(
        "7",
        "the processes may specify windows that differ in location, size and displacement unit",
        &[
            "windows/flavours/create::parts_of_one_window_may_differ_in_kind",
            "communication/operations::sizes_and_units_differ_from_rank_to_rank",
        ],
    ),
    rule(
        "8",
        "... and in their info arguments",
        &["windows/objects::windows_without_locks_refuse_them"],
    ),
    rule(
        "9",
        "the same area in memory may appear in multiple windows",
        &[
            "windows/flavours/create::overlapping_windows_share_their_bytes_but_lend_no_slices",
            "conformance/semantics::overlapping_windows_pass_updates_on_by_fences",
        ],
    ),
    unseen(
        "10",
        "concurrent communications to distinct, overlapping windows may lead to erroneous results",
        "binds the program; here there is one copy of the memory, and accumulates of two windows \
         are atomic against each other only where an instruction does them",
    ),
    rule(
        "11",
        "a window can be created in any part of the process memory",
        &["conformance/creation::rule_11_any_part_of_the_process_memory"],
    ),
    unseen(
        "12",
        "implementors should document any performance impact of window alignment",
        "docs/performance.md does",
    ),
    rule(
        "13",
        "win_free frees the window and returns a null handle",
        &["windows/memory::freed_windows_give_their_memory_back", "types::window_after_free"],
    ),
    rule(
        "14",
        "win_free is a collective call by all processes in the group of the window",
        &[
            "windows/memory::free_of_different_windows_is_a_mismatch_on_every_rank",
            "collectives/basic::a_window_freed_on_one_rank_only_is_a_mismatch",
        ],
    ),
    rule(
        "15",
        "win_free can be invoked only after the process has completed its involvement in RMA \
         communications on the window",
        &[
            "windows/memory::free_with_an_open_epoch_fails_on_every_rank",
            "windows/memory::free_with_operations_since_the_last_fence_fails_on_every_rank",
            "windows/memory::free_in_a_fence_epoch_without_operations_is_legal",
            "synchronization/epochs::free_in_every_state",
            "types::window_freed_in_an_epoch",
        ],
    ),
    rule(
        "16",
        "when win_free returns, the window memory can be freed",
        &[
            "windows/flavours/create::overlapping_windows_share_their_bytes_but_lend_no_slices",
            "windows/memory::a_window_is_zero_also_where_another_was",
        ],
    ),
    rule(
        "17",
        "no process can return from free until all processes in the group called free",
        &["conformance/creation::rule_17_nobody_returns_from_free_before_all_have_called_it"],
    ),
];

pub const ATTRIBUTES: Section = Section {
    edition: "MPI-2.2",
    clause: "11.2.2",
    title: "Window attributes",
    rules: &[
        rule(
            "1",
            "MPI_WIN_BASE, MPI_WIN_SIZE and MPI_WIN_DISP_UNIT are cached with a window",
            &[
                "windows/memory::attributes_are_those_given",
                "conformance/creation::rule_11_any_part_of_the_process_memory",
            ],
        ),
        rule(
            "2",
            "win_get_group returns a duplicate of the group of the communicator used to create \
             the window",
            &[
                "windows/memory::attributes_are_those_given",
                "windows/communicators::windows_outlive_the_communicator_they_were_made_over",
            ],
        ),
        rule(
            "3",
            "user attributes are kept by keys, with copy and delete callbacks (§6.7.3)",
            &["windows/objects::attributes_come_and_go_with_their_callbacks"],
        ),
        rule(
            "4",
            "MPI_WIN_CREATE_FLAVOR is cached with a window (MPI-4.1 §12.2.6)",
            &["windows/flavours/create::create_over_a_vector_on_four_ranks"],
        ),
        rule(
            "5",
            "MPI_WIN_MODEL is cached with a window (MPI-4.1 §12.2.6)",
            &["windows/objects::the_memory_model_of_every_flavour_is_unified"],
        ),
    ],
};

/// The window of `bytes` bytes at `start`, with single bytes as displacement unit.
fn exposed(world: &Comm, start: *mut u8, bytes: u64) -> Rc<Win> {
    // SAFETY: each caller keeps the memory until it has freed the window, and accesses it only by
    // the window or while no other rank does.
    Rc::new(
        unsafe { WindowOptions::new().create_bytes(world, ExposedBytes::new(start, bytes), 1) }
            .unwrap(),
    )
}

/// Zeroed pages cost nothing until they are touched.
#[test]
fn rule_5_windows_may_span_more_than_four_gibibytes() {
    const LEN: u64 = (4 << 30) + 16;
    spmd(2, |world| {
        let mut memory = vec![0u8; if world.rank() == 0 { LEN as usize } else { 0 }];
        let win = exposed(world, memory.as_mut_ptr(), memory.len() as u64);
        win.fence().unwrap();
        if world.rank() == 1 {
            put(&win, 7, 0, LEN - 8);
            assert_eq!(refusal(win.put(&[1u64], onesided::Rank(0), LEN - 7)), ErrorClass::RmaRange);
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        if world.rank() == 0 {
            assert_eq!((load(&win, LEN - 8), load(&win, (LEN - 8) % (1 << 32))), (7, 0));
        }
        free(win);
    });
}

#[test]
fn rule_11_any_part_of_the_process_memory() {
    static mut STATIC: [u64; 2] = [0; 2];
    spmd(3, |world| {
        let mut on_the_stack = [0u64; 2];
        let mut on_the_heap = vec![0u64; 2];
        let start = match world.rank().0 {
            0 => &raw mut STATIC,
            1 => &raw mut on_the_stack,
            _ => on_the_heap.as_mut_ptr().cast(),
        };
        let win = exposed(world, start.cast(), 16);
        assert_eq!(win.base(), start.cast());
        let (me, n) = (world.rank().0, world.size());
        store(&win, 8, 10);
        win.fence().unwrap();
        put(&win, u64::from(me), (me + 1) % n, 0);
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        // SAFETY: behind the last fence only this rank accesses its memory.
        assert_eq!(unsafe { start.read() }, [u64::from((me + n - 1) % n), 10]);
        free(win);
    });
}

/// The rank that comes last calls free when all others sleep in it.
#[test]
fn rule_17_nobody_returns_from_free_before_all_have_called_it() {
    spmd(4, |world| {
        for round in 1..=8 {
            let win = words(world, 1);
            if world.rank().0 == round % 4 {
                world.await_signal(0, 3 * round);
            } else {
                let comm = world.clone();
                delay(Event::MemSync(Site::ParkBarrier), move || comm.signal(0));
            }
            free(win);
        }
    });
}
