//! Post, start, complete, wait, test (MPI-2.2 §11.4.2).

use super::access::{
    Access,
    sealed::{Guard, Lends},
};
use super::{Buffers, Window, WindowView};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::Group;
use crate::window::{LeftEpoch, PostAssert, StartAssert};
use bytemuck::Pod;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// The side on which this rank is an origin; see [`Window::sides`].
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let (mut access, mut exposure) = window.sides();
/// let exposed = exposure.post(&world.group())?;
/// let epoch = access.start(&world.group())?; // waits for the posts of both ranks
/// epoch.put(&[1], other, 0)?;
/// epoch.complete()?;
/// exposed.wait()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
pub struct AccessSide<'w, T: Pod> {
    pub(super) window: &'w Window<T>,
}

/// The side on which this rank is a target; see [`Window::sides`].
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let (mut access, mut exposure) = window.sides();
/// if me == 0 {
///     let exposed = exposure.post(&world.group().incl(&[1])?)?;
///     exposed.wait()?; // for the complete of rank 1
/// } else {
///     access.start(&world.group().incl(&[0])?)?.complete()?;
/// }
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
pub struct ExposureSide<'w, T: Pod> {
    pub(super) window: &'w Window<T>,
}

/// The epoch from start to complete: this rank may access the ranks of the group given to start.
///
/// Dropping it completes.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let group = world.group().incl(&[other])?;
/// let mine = [me];
/// let (mut access, mut exposure) = window.sides();
/// let exposed = exposure.post(&group)?;
/// let epoch = access.start(&group)?;
/// epoch.put(&mine, other, 0)?;
/// epoch.complete()?; // the buffer is free again
/// exposed.wait()?; // the number of the other rank is here
/// assert_eq!(window.load_one(0)?, other.0);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the epoch ends when the guard is dropped"]
pub struct AccessEpoch<'a, 'b, T: Pod> {
    window: &'a Window<T>,
    buffers: Buffers<'b>,
}

/// The epoch from post to wait: the ranks of the group given to post may access this rank's part.
///
/// If it is dropped, it stays open, because ending it would wait for other ranks. Errors of later calls then name
/// the line of the post, and so does the rank when it leaves the job.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let group = world.group().incl(&[other])?;
/// let mine = [me];
/// let (mut access, mut exposure) = window.sides();
/// let mut exposed = exposure.post(&group)?;
/// let epoch = access.start(&group)?;
/// epoch.put(&mine, other, 0)?;
/// epoch.complete()?;
/// // Each look waits no longer than it takes to look.
/// while let Some(open) = exposed.test()? {
///     exposed = open;
/// }
/// assert_eq!(window.load_one(0)?, other.0);
/// window.free()?;
/// # Ok(())
/// # });
/// ```
#[derive(Debug)]
#[must_use = "the epoch stays open until it is waited for"]
pub struct ExposureEpoch<'a, T: Pod> {
    window: &'a Window<T>,
    began: &'static Location<'static>,
}

impl<T: Pod> AccessSide<'_, T> {
    /// `MPI_Win_start` (MPI-4.1 §12.5.2): opens an access epoch on the ranks of `targets`.
    ///
    /// Local; blocks until each of them has posted for this rank, unless NOCHECK is asserted.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::RankFailed`].
    #[doc(alias = "MPI_Win_start")]
    #[track_caller]
    pub fn start<'b>(&mut self, targets: &Group) -> Result<AccessEpoch<'_, 'b, T>> {
        self.start_with(targets, StartAssert::NONE)
    }

    /// [`AccessSide::start`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`AccessSide::start`].
    #[track_caller]
    pub fn start_with<'b>(
        &mut self,
        targets: &Group,
        assert: StartAssert,
    ) -> Result<AccessEpoch<'_, 'b, T>> {
        self.window.win.start_with(targets, assert)?;
        Ok(AccessEpoch { window: self.window, buffers: Buffers::new() })
    }
}

impl<T: Pod> ExposureSide<'_, T> {
    /// `MPI_Win_post` (MPI-4.1 §12.5.2): exposes this rank's part to the ranks of `origins`.
    ///
    /// Local; never blocks for another rank's call.
    ///
    /// # Errors
    /// [`Error::Epoch`], [`Error::Group`], [`Error::NoMemory`].
    #[doc(alias = "MPI_Win_post")]
    #[track_caller]
    pub fn post(&mut self, origins: &Group) -> Result<ExposureEpoch<'_, T>> {
        self.post_with(origins, PostAssert::NONE)
    }

    /// [`ExposureSide::post`] with assertions: see [assertions](crate::assertions).
    ///
    /// # Errors
    /// Those of [`ExposureSide::post`].
    #[track_caller]
    pub fn post_with(
        &mut self,
        origins: &Group,
        assert: PostAssert,
    ) -> Result<ExposureEpoch<'_, T>> {
        self.window.win.post_with(origins, assert)?;
        Ok(ExposureEpoch { window: self.window, began: Location::caller() })
    }
}

impl<T: Pod> AccessEpoch<'_, '_, T> {
    /// `MPI_Win_complete`: the operations are complete at the origin when it returns, and at a target
    /// when its wait has returned. Local; never blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the epoch is open.
    #[doc(alias = "MPI_Win_complete")]
    pub fn complete(self) -> Result<()> {
        let mut epoch = ManuallyDrop::new(self);
        epoch.buffers.end();
        epoch.window.win.complete()
    }

    /// The window, for local loads and stores.
    pub fn window(&self) -> WindowView<'_, T> {
        WindowView { window: self.window }
    }
}

impl<T: Pod> Drop for AccessEpoch<'_, '_, T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Cannot fail: the epoch is open.
            let _ = self.window.win.complete();
        }
    }
}

impl<T: Pod> Guard<T> for AccessEpoch<'_, '_, T> {
    #[inline]
    fn window(&self) -> &Window<T> {
        self.window
    }
}

impl<'b, T: Pod> Lends<'b, T> for AccessEpoch<'_, 'b, T> {
    #[inline(always)]
    fn buffers(&self) -> &Buffers<'b> {
        &self.buffers
    }
}

impl<'b, T: Pod> Access<'b, T> for AccessEpoch<'_, 'b, T> {}

impl<T: Pod> ExposureEpoch<'_, T> {
    /// `MPI_Win_wait`: closes the epoch. Local; blocks until every rank of the group given to
    /// post has completed.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    #[doc(alias = "MPI_Win_wait")]
    #[track_caller]
    pub fn wait(self) -> Result<()> {
        ManuallyDrop::new(self).window.win.wait()
    }

    /// `MPI_Win_test`: returns `None` if every origin has completed; the epoch is then closed as by
    /// [`ExposureEpoch::wait`]. Otherwise it has no effect and returns the open epoch. Local; never
    /// blocks.
    ///
    /// # Errors
    /// None at present: the guard is the proof that the epoch is open.
    #[doc(alias = "MPI_Win_test")]
    pub fn test(self) -> Result<Option<Self>> {
        Ok(if self.window.win.test()? { None } else { Some(self) })
    }

    /// The window, for local loads and stores.
    pub fn window(&self) -> WindowView<'_, T> {
        WindowView { window: self.window }
    }
}

impl<T: Pod> Drop for ExposureEpoch<'_, T> {
    fn drop(&mut self) {
        self.window.win.calls.dropped(LeftEpoch::Exposure, self.began);
    }
}
