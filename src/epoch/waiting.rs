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
            pub fn test_notify(&self, counter: u32, count: u32) -> Result<bool> {
                let $window = self;
                $win.test_notify(counter, count)
            }

            /// The notifications of this rank's counter number `counter` that were not consumed. Local;
            /// never blocks.
            ///
            /// # Errors
            /// [`Error::Argument`] for a counter that does not exist.
            pub fn notifications(&self, counter: u32) -> Result<u32> {
                let $window = self;
                $win.notifications(counter)
            }
        }
    };
}

waiting!(Window<T>, window => window.win);
waiting!(WindowView<'_, T>, view => view.window.win);
