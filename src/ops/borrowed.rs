//! The buffers that the guard of an epoch keeps borrowed.

use crate::foreign::Results;
use std::fmt;
use std::marker::PhantomData;

/// Keeps the origin buffers of an epoch borrowed until the epoch's guard is gone. Under another MPI it then
/// writes the results into them.
///
/// Invariant in `'b`, so that no operation can be given a buffer that is borrowed for less; and
/// with a destructor, so that the borrow lasts until the guard is dropped, used or not.
pub struct Buffers<'b> {
    results: Results,
    borrowed: PhantomData<fn(&'b mut ()) -> &'b mut ()>,
}

impl Buffers<'_> {
    pub(crate) fn new() -> Self {
        Buffers { results: Results::default(), borrowed: PhantomData }
    }

    /// What dropping it does, where nothing else remains to be dropped: a call that ends the epoch can follow without
    /// coming back to the guard.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        self.results.deliver();
    }

    /// For results in buffers that are borrowed for `'b`.
    #[inline(always)]
    pub(super) fn results(&self) -> &Results {
        &self.results
    }
}

impl fmt::Debug for Buffers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

impl Drop for Buffers<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.end();
    }
}
