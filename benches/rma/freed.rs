//! Objects that a drop frees, on all ranks at the same place of the program.

use onesided::engine::Win;
use onesided::{Element, Pod, Result, Window};
use onesided_tools::{DistributedCounter, WindowMutex, WindowQueue};
use std::ops::{Deref, DerefMut};

/// An object of all ranks, which all of them drop.
pub struct Freed<T: CollectiveFree>(Option<T>);

/// Objects that all ranks free together.
pub trait CollectiveFree: Sized {
    /// Collective.
    fn free(self) -> Result<()>;
}

impl<T: CollectiveFree> Freed<T> {
    /// A new object.
    pub fn new(made: Result<T>) -> Freed<T> {
        Freed(Some(made.expect("memory for a small object")))
    }
}

impl<T: CollectiveFree> Deref for Freed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect("only a drop takes it")
    }
}

impl<T: CollectiveFree> DerefMut for Freed<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only a drop takes it")
    }
}

impl<T: CollectiveFree> Drop for Freed<T> {
    fn drop(&mut self) {
        // A rank that panics ends the job.
        if let Some(object) = self.0.take().filter(|_| !std::thread::panicking()) {
            object.free().expect("no rank uses it any more");
        }
    }
}

impl<T: Pod> CollectiveFree for Window<T> {
    fn free(self) -> Result<()> {
        Window::free(self)
    }
}

impl CollectiveFree for Win {
    fn free(self) -> Result<()> {
        Win::free(self)
    }
}

impl CollectiveFree for WindowMutex {
    fn free(self) -> Result<()> {
        WindowMutex::free(self)
    }
}

impl<T: Element> CollectiveFree for WindowQueue<T> {
    fn free(self) -> Result<()> {
        WindowQueue::free(self)
    }
}

impl CollectiveFree for DistributedCounter {
    fn free(self) -> Result<()> {
        DistributedCounter::free(self)
    }
}
