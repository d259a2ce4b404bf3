//! Waiting for writes of other ranks to this rank's part: for a value, and for notifications.

use super::{Window, WindowView};
use crate::datatype::Integer;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::window::Until;
use bytemuck::Pod;

/// Defines the calls for a window and for the view of one that a guard lends.
macro_rules! waiting {
    ($type:ty, $window:ident => $win:expr) => {
        impl<T: Pod> $type {
            /// Waits until the element at `disp` of this rank's own part satisfies the comparison
            /// `until` with `value`, and returns it. [`Win::wait_until`](crate::engine::Win::wait_until)
            /// lists the writes that it notices.
            ///
            /// Local, in any epoch and in none; blocks until then.
            ///
            /// # Errors
            /// [`Error::Range`], [`Error::Alignment`], in dynamic windows [`Error::NotAttached`];
            /// [`Error::RankFailed`].
            ///
            /// ```
            /// # use onesided::prelude::*;
            /// # use onesided::Until;
            /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
            /// # let world = universe.world();
            /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            /// # let mut window = Window::<u32>::allocate(world, 4)?;
            /// let epoch = window.lock_all()?;
            /// epoch.fetch_and_op_flush(7, Op::Replace, other, 0)?;
            /// assert_eq!(epoch.window().wait_until(0, Until::Ne, 0)?, 7);
            /// epoch.unlock_all()?;
            /// # window.free()
            /// # });
            /// ```
            #[track_caller]
            pub fn wait_until(&self, disp: usize, until: Until, value: T) -> Result<T>
            where
                T: Integer,
            {
                let $window = self;
                $win.wait_until(disp as u64, until, value)
            }

            /// `wait_until` if that would not block; `None`, without any effect, if it would.
            /// Local; never blocks.
            ///
            /// # Errors
            /// [`Error::Range`], [`Error::Alignment`], in dynamic windows [`Error::NotAttached`].
            ///
            /// ```
            /// # use onesided::prelude::*;
            /// # use onesided::Until;
            /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
            /// # let world = universe.world();
            /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            /// # let mut window = Window::<u32>::allocate(world, 4)?;
            /// assert_eq!(window.test_until(0, Until::Ge, 1)?, None);
            /// window.store(0, &[5])?;
            /// assert_eq!(window.test_until(0, Until::Ge, 1)?, Some(5));
            /// # window.free()
            /// # });
            /// ```
            pub fn test_until(&self, disp: usize, until: Until, value: T) -> Result<Option<T>>
            where
                T: Integer,
            {
                let $window = self;
                $win.test_until(disp as u64, until, value)
            }

            /// Waits for `count` notifications of this rank's counter number `counter` that were not
            /// consumed, and consumes them; the data of their operations can then be read. See
            /// [`WindowOptions::notifications`](crate::WindowOptions::notifications) and
            /// [`Access::put_notify`](crate::Access::put_notify).
            ///
            /// Local, in any epoch and in none; blocks until the last of them.
            ///
            /// # Errors
            /// [`Error::Argument`] for a counter that does not exist, or for 2³¹ notifications or more;
            /// [`Error::RankFailed`].
            ///
            /// ```
            /// # use onesided::prelude::*;
            /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
            /// # let world = universe.world();
            /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
            /// let epoch = window.lock_all()?;
            /// epoch.notify(other, 0)?;
            /// epoch.window().wait_notify(0, 1)?;
            /// epoch.unlock_all()?;
            /// # window.free()
            /// # });
            /// ```
            #[track_caller]
            pub fn wait_notify(&self, counter: u32, count: u32) -> Result<()> {
                let $window = self;
                $win.wait_notify(counter, count)
            }

            /// `wait_notify` if that would not block: returns `true`. Otherwise it returns `false`,
            /// without any effect. Local; never blocks.
            ///
            /// # Errors
            /// [`Error::Argument`] for a counter that does not exist, or for 2³¹ notifications or more.
            ///
            /// ```
            /// # use onesided::prelude::*;
            /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
            /// # let world = universe.world();
            /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
            /// let epoch = window.lock_all()?;
            /// epoch.notify(other, 0)?;
            /// while !epoch.window().test_notify(0, 1)? {
            ///     std::thread::yield_now(); // or other work
            /// }
            /// epoch.unlock_all()?;
            /// # window.free()
            /// # });
            /// ```
            pub fn test_notify(&self, counter: u32, count: u32) -> Result<bool> {
                let $window = self;
                $win.test_notify(counter, count)
            }

            /// The notifications of this rank's counter number `counter` that were not consumed. Local;
            /// never blocks.
            ///
            /// # Errors
            /// [`Error::Argument`] for a counter that does not exist.
            ///
            /// ```
            /// # use onesided::prelude::*;
            /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
            /// # let world = universe.world();
            /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
            /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
            /// assert_eq!(window.notifications(0)?, 0);
            /// world.barrier()?;
            /// let epoch = window.lock_all()?;
            /// epoch.notify(other, 0)?;
            /// world.barrier()?;
            /// assert_eq!(epoch.window().notifications(0)?, 1);
            /// epoch.unlock_all()?;
            /// # window.free()
            /// # });
            /// ```
            pub fn notifications(&self, counter: u32) -> Result<u32> {
                let $window = self;
                $win.notifications(counter)
            }
        }
    };
}

waiting!(Window<T>, window => window.win);
waiting!(WindowView<'_, T>, view => view.window.win);
