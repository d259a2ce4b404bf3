//! Waiting for what other ranks write to the own part: for a value, and for notifications.

use super::{Window, WindowView};
use crate::datatype::{Element, Integer};
use crate::error::Result;
use crate::window::Until;

/// Defines the calls for a window and for the view of one that a guard lends.
macro_rules! waiting {
    ($type:ty, $window:ident => $win:expr) => {
        impl<T: Element> $type {
            /// Waits until the element at `disp` of this rank's own part compares with `value` as
            /// `until` says, and returns it. Which writes are noticed: see
            /// [`Win::wait_until`](crate::engine::Win::wait_until).
            ///
            /// Local, in any epoch and in none; blocks until then.
            ///
            /// # Errors
            /// [`Error::Range`](crate::Error::Range), [`Error::Alignment`](crate::Error::Alignment),
            /// in dynamic windows [`Error::NotAttached`](crate::Error::NotAttached);
            /// [`Error::RankFailed`](crate::Error::RankFailed).
            #[track_caller]
            pub fn wait_until(&self, disp: u64, until: Until, value: T) -> Result<T>
            where
                T: Integer,
            {
                let $window = self;
                $win.wait_until(disp, until, value)
            }

            /// As `wait_until` if that would not block; `None`, without any effect, if it would.
            /// Local; never blocks.
            ///
            /// # Errors
            /// As `wait_until`.
            pub fn test_until(&self, disp: u64, until: Until, value: T) -> Result<Option<T>>
            where
                T: Integer,
            {
                let $window = self;
                $win.test_until(disp, until, value)
            }

            /// Waits until `count` notifications of this rank's counter number `counter` have come
            /// that were not consumed, and consumes them; the data of the operations can then be
            /// read. See [`WindowOptions::notifications`](crate::WindowOptions::notifications) and
            /// [`Access::put_notify`](crate::Access::put_notify).
            ///
            /// Local, in any epoch and in none; blocks until the last of them.
            ///
            /// # Errors
            /// [`Error::Argument`](crate::Error::Argument) for a counter that this rank has not, or
            /// 2³¹ notifications or more; [`Error::RankFailed`](crate::Error::RankFailed).
            #[track_caller]
            pub fn wait_notify(&self, counter: u32, count: u32) -> Result<()> {
                let $window = self;
                $win.wait_notify(counter, count)
            }

            /// As `wait_notify` if that would not block, and `true`; else no effect, and `false`.
            /// Local; never blocks.
            ///
            /// # Errors
            /// As `wait_notify`.
            pub fn test_notify(&self, counter: u32, count: u32) -> Result<bool> {
                let $window = self;
                $win.test_notify(counter, count)
            }

            /// How many notifications of this rank's counter number `counter` have come that were
            /// not consumed. Local; never blocks.
            ///
            /// # Errors
            /// [`Error::Argument`](crate::Error::Argument) for a counter that this rank has not.
            pub fn notifications(&self, counter: u32) -> Result<u32> {
                let $window = self;
                $win.notifications(counter)
            }
        }
    };
}

waiting!(Window<T>, window => window.win);
waiting!(WindowView<'_, T>, view => view.window.win);
