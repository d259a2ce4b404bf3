//! Window memory of the models: plain data, every access of which loom checks for a race.
#![allow(unsafe_code, reason = "loom's cell hands out raw pointers, as core's does")]

use loom::cell::UnsafeCell;

/// One element of a window.
#[derive(Default)]
pub struct Data(UnsafeCell<u32>);

// SAFETY: loom's cell compares the happens-before clocks of all accesses, and ends the model with
// a panic at the first pair that would race; model threads are coroutines on one OS thread.
unsafe impl Sync for Data {}

impl Data {
    /// A load of the window's memory.
    pub fn get(&self) -> u32 {
        // SAFETY: the pointer is valid during the closure, and loom has refused concurrent writes.
        self.0.with(|element| unsafe { *element })
    }

    /// A store to the window's memory.
    pub fn set(&self, value: u32) {
        // SAFETY: the pointer is valid during the closure, and loom has refused every concurrent
        // access.
        self.0.with_mut(|element| unsafe { *element = value });
    }
}
