//! The twins of the cases that do not compile: each is a program, and a test that runs it as a job of one.
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "shows what unsafe calls look like"
)]

use crate::support::program;

/// Twins by name: their modules and tests.
macro_rules! twins {
    ($($name:ident)*) => {$(
        mod $name;

        #[test]
        fn $name() {
            program($name::main);
        }
    )*};
}

twins! {
    accumulate_of_a_struct
    assertion_of_another_call
    batch_outlives_its_epoch
    buffer_access
    buffer_batch
    buffer_fence
    buffer_lock
    buffer_lock_all
    buffer_lock_batch
    buffer_step
    compare_and_swap_of_floats
    derive_of_another_type
    element_of_ones_own
    field_that_is_not_plain
    guard_made_by_hand
    nocheck_without_unsafe
    not_an_element
    operation_after_the_end_access
    operation_after_the_end_batch
    operation_after_the_end_fence
    operation_after_the_end_lock
    operation_after_the_end_lock_all
    operation_after_the_end_lock_batch
    operation_on_the_window
    padding_in_a_struct
    rank_and_displacement_swapped
    second_epoch_by_way_of_a_guard
    slice_escapes_its_epoch
    threads_end_an_epoch
    two_epochs
    two_exposures
    uncommitted_datatype
    user_operation_in_accumulate
    window_after_free
    window_freed_in_an_epoch
    window_used_beside_a_local_slice
    wrong_element_type
}
